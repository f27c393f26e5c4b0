/*
 * identity.c - act as another user for a moment; who root is in a user namespace.
 */
#include "kernel/identity.h"

#include "links/kernel_abi.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
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

#define MAP_TEXT      (64 * 1024) /* the kernel takes 340 lines */
#define OVERFLOW_USER 65534

/* Return: @text, NULL where it is not all of the file. */
static char *read_text(const char *path, char *text, size_t size)
{
    ssize_t length = file_read(AT_FDCWD, path, text, size);

    return length <= 0 || (size_t)length == size - 1 ? NULL : text;
}

/* Does a line of the map, `INSIDE OUTSIDE COUNT`, give @uid a meaning? */
static bool is_mapped(const char *map, uid_t uid)
{
    unsigned long inside, outside, count;
    int length;

    for (; sscanf(map, "%lu %lu %lu%n", &inside, &outside, &count, &length) == 3; map += length)
        if (uid >= inside && uid - inside < count)
            return true;
    return false;
}

bool identity_is_root(uid_t uid)
{
    static char map[MAP_TEXT];
    char number[32];
    unsigned long nobody;

    if (uid == 0)
        return true;
    nobody = read_text("/proc/sys/kernel/overflowuid", number, sizeof(number)) ? strtoul(number, NULL, 10)
                                                                               : OVERFLOW_USER;
    return uid == nobody && read_text("/proc/self/uid_map", map, sizeof(map)) && !is_mapped(map, 0) &&
           !is_mapped(map, uid);
}
