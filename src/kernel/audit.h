/*
 * audit.h - may this process read the kernel's audit, and is it on? Reading only: nothing is switched, no
 * rule is loaded, and the daemon's place is never taken.
 */
#ifndef CONFINE_KERNEL_AUDIT_H
#define CONFINE_KERNEL_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Types of records, as the kernel has them. */
#define AUDIT_TYPE_SYSCALL 1300 /* what call it was */
#define AUDIT_TYPE_ACCESS  1423 /* Landlock has refused something */
#define AUDIT_TYPE_DOMAIN  1424 /* a layer of Landlock is first told of, or has gone */

/* audit_unreadable() - why not, as a static kebab-case word: `no-capability`, without asking the kernel for
 * more; `other-namespace`; `audit-refused`; `audit-off`; `audit-panics`. NULL: it can be read, and nobody
 * says that it is off. */
const char *audit_unreadable(void);

/* audit_listen() - a socket on which the records arrive, those that matter here alone; the caller's. Return:
 * it, or -errno. */
int audit_listen(void);

/* audit_receive() - the next message, without waiting. Return: its length; -EPERM: it was one, but not the
 * kernel's (whoever governs the network may write to the socket as well); or -errno. */
long audit_receive(int fd, void *room, size_t size);

struct audit_state {
    bool on;
    bool panics;   /* the kernel ends with the machine where a record is lost */
    uint32_t lost; /* records, since the machine started */
};

/* audit_status() - Return: 0, or -errno where that may not be asked. */
int audit_status(struct audit_state *state);

#endif
