/*
 * identity.h - act as another user for a moment, and come back.
 */
#ifndef CONFINE_KERNEL_IDENTITY_H
#define CONFINE_KERNEL_IDENTITY_H

#include <sys/types.h>

#define IDENTITY_GROUPS 256

struct identity {
    gid_t groups[IDENTITY_GROUPS];
    int group_count;
    int entered;
};

/*
 * identity_enter() - become @uid and @gid, without supplementary groups, with root kept as the saved user.
 *
 * For root in a process with one thread. A control acted as root would prove nothing about another user.
 * Return: 0, or -errno and nothing has changed.
 */
int identity_enter(struct identity *identity, uid_t uid, gid_t gid);

/* identity_leave() - be root again. Does nothing if it was not entered. Return: 0 or -errno. */
int identity_leave(struct identity *identity);

/* identity_enter_raw(), identity_leave_raw() - the same in a vfork child: raw calls, nothing of the libc's.
 * Supplementary groups stay emptied. Return: 0 or -errno. */
int identity_enter_raw(uid_t uid, gid_t gid);
int identity_leave_raw(void);

#endif
