/*
 * identity.h - act as another user for a moment, and come back; and who root is.
 */
#ifndef CONFINE_KERNEL_IDENTITY_H
#define CONFINE_KERNEL_IDENTITY_H

#include <stdbool.h>
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

/*
 * identity_is_root() - is the owner @uid of a file root, as far as can be told in here?
 *
 * In a user namespace without a number for root, root's files belong to the number that stands for all who
 * have none. Return: true for 0, and for that number in such a namespace, unless it is somebody's as well.
 */
bool identity_is_root(uid_t uid);

#endif
