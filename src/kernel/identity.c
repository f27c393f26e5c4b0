/*
 * identity.c - act as another user for a moment.
 */
#include "kernel/identity.h"

#include "links/kernel_abi.h"

#include <errno.h>
#include <grp.h>
#include <sys/prctl.h>
#include <unistd.h>

int identity_enter(struct identity *identity, uid_t uid, gid_t gid)
{
    *identity = (struct identity){0};
    identity->group_count = getgroups(IDENTITY_GROUPS, identity->groups);
    if (identity->group_count < 0 || setgroups(0, NULL) != 0)
        return -errno;
    identity->entered = 1;
    if (setresgid(gid, gid, 0) == 0 && setresuid(uid, uid, 0) == 0) {
        /* A change of user makes the process undumpable, and its /proc/self root's. */
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
        return 0;
    }
    int errnum = errno;
    identity_leave(identity);
    return -errnum;
}

int identity_leave(struct identity *identity)
{
    if (!identity->entered)
        return 0;
    identity->entered = 0;
    if (setresuid(0, 0, 0) != 0 || setresgid(0, 0, 0) != 0 ||
        setgroups((size_t)identity->group_count, identity->groups) != 0)
        return -errno;
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    return 0;
}

int identity_enter_raw(uid_t uid, gid_t gid)
{
    long r = kernel_call(SYS_setgroups, 0, 0, 0, 0, 0, 0);

    if (r == 0)
        r = kernel_call(SYS_setresgid, gid, gid, 0, 0, 0, 0);
    if (r == 0)
        r = kernel_call(SYS_setresuid, uid, uid, 0, 0, 0, 0);
    return (int)r;
}

int identity_leave_raw(void)
{
    long r = kernel_call(SYS_setresuid, 0, 0, 0, 0, 0, 0);

    if (r == 0)
        r = kernel_call(SYS_setresgid, 0, 0, 0, 0, 0, 0);
    return (int)r;
}
