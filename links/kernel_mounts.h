/*
 * kernel_mounts.h - mounts and namespaces: the kernel's numbers, and raw calls.
 *
 * The names are ours, because a libc may have the kernel's in a header that is
 * included as well.
 *
 * Should:  be included through kernel_abi.h.
 * Mustn't: touch errno.
 */
#ifndef CONFINE_LINKS_KERNEL_MOUNTS_H
#define CONFINE_LINKS_KERNEL_MOUNTS_H

#include "kernel_calls.h"

#include <errno.h>
#include <fcntl.h>

#define MOUNT_TREE_CLONE     0x1        /* OPEN_TREE_CLONE */
#define MOUNT_TREE_CLOEXEC   O_CLOEXEC  /* OPEN_TREE_CLOEXEC */
#define MOUNT_TREE_RECURSIVE 0x8000     /* AT_RECURSIVE */
#define MOUNT_EMPTY_PATH     0x1000     /* AT_EMPTY_PATH */
#define MOUNT_MOVE_FROM_FD   0x04       /* MOVE_MOUNT_F_EMPTY_PATH */
#define MOUNT_MOVE_TO_FD     0x40       /* MOVE_MOUNT_T_EMPTY_PATH */
#define MOUNT_READ_ONLY      0x1        /* MOUNT_ATTR_RDONLY */
#define MOUNT_NO_SETUID      0x2        /* MOUNT_ATTR_NOSUID */
#define MOUNT_NO_DEVICES     0x4        /* MOUNT_ATTR_NODEV */
#define MOUNT_NO_EXECUTE     0x8        /* MOUNT_ATTR_NOEXEC */
#define MOUNT_PRIVATE        (1U << 18) /* MS_PRIVATE */

#define MOUNT_TYPE_TMPFS   0x01021994
#define MOUNT_TYPE_PROC    0x9fa0
#define MOUNT_TYPE_DEVPTS  0x1cd1
#define MOUNT_TYPE_OVERLAY 0x794c7630

/* Passed whole to mount_setattr. */
struct mount_attributes {
    uint64_t set;
    uint64_t clear;
    uint64_t propagation;
    uint64_t userns_fd;
};

_Static_assert(sizeof(struct mount_attributes) == 32, "the kernel's layout");

/* The front of the kernel's struct statx, as far as we look. */
struct mount_statx {
    uint32_t mask;
    uint32_t unused[35];
    uint64_t mount; /* STATX_MNT_ID */
    uint64_t rest[13];
};

_Static_assert(sizeof(struct mount_statx) == 256, "the kernel's layout");

#define MOUNT_STATX_MOUNT 0x1000U /* STATX_MNT_ID, Linux 5.8 */

/* mount_number() - which mount PATH (or DIRECTORY itself where PATH is empty) is on. Return: 0 and NUMBER, or
 * -errno. */
static inline int mount_number(int directory, const char *path, uint64_t *number)
{
    struct mount_statx seen = {0};
    int error = (int)kernel_call(SYS_statx, directory, KERNEL_PTR(path), MOUNT_EMPTY_PATH, MOUNT_STATX_MOUNT,
                                 KERNEL_PTR(&seen), 0);

    if (!error && !(seen.mask & MOUNT_STATX_MOUNT))
        error = -EOPNOTSUPP;
    *number = seen.mount;
    return error;
}

/* mount_clone() - a detached copy of the mount that PATH (below DIRECTORY, or DIRECTORY itself where PATH is
 * empty) lies on. Return: its descriptor (close-on-exec, the caller's), or -errno. */
static inline int mount_clone(int directory, const char *path, unsigned flags)
{
    return (int)kernel_call(SYS_open_tree, directory, KERNEL_PTR(path),
                            (long)(MOUNT_TREE_CLONE | MOUNT_TREE_CLOEXEC | MOUNT_EMPTY_PATH | flags), 0, 0,
                            0);
}

/* mount_attach() - put the detached mount MOUNT on what PLACE is open on. Return: 0 or -errno. */
static inline int mount_attach(int mount, int place)
{
    return (int)kernel_call(SYS_move_mount, mount, KERNEL_PTR(""), place, KERNEL_PTR(""),
                            MOUNT_MOVE_FROM_FD | MOUNT_MOVE_TO_FD, 0);
}

/* mount_attach_at() - put the detached mount MOUNT on PLACE below DIRECTORY; a link at its end is not
 * followed. Return: 0 or -errno. */
static inline int mount_attach_at(int mount, int directory, const char *place)
{
    return (int)kernel_call(SYS_move_mount, mount, KERNEL_PTR(""), directory, KERNEL_PTR(place),
                            MOUNT_MOVE_FROM_FD, 0);
}

/* mount_change() - set attributes of the mount that PATH (or DIRECTORY itself) lies on; FLAGS may hold
 * MOUNT_TREE_RECURSIVE. Return: 0 or -errno. */
static inline int mount_change(int directory, const char *path, unsigned flags,
                               const struct mount_attributes *attributes)
{
    return (int)kernel_call(SYS_mount_setattr, directory, KERNEL_PTR(path), (long)(flags | MOUNT_EMPTY_PATH),
                            KERNEL_PTR(attributes), sizeof(*attributes), 0);
}

#endif
