/*
 * object.c - what a name leads to, held and not opened.
 */
#include "kernel/object.h"

#include "links/kernel_abi.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/vfs.h>

const char *const object_nodes[] = {"/dev/null",    "/dev/zero", "/dev/full", "/dev/random",
                                    "/dev/urandom", "/dev/tty",  NULL};

int object_open(int base, const char *path, uint64_t flags, uint64_t resolve)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC | flags, .resolve = resolve};

    return (int)kernel_call(SYS_openat2, base, KERNEL_PTR(path), KERNEL_PTR(&how), sizeof(how), 0, 0);
}

bool object_is_proc(int fd)
{
    struct statfs seen;

    return fstatfs(fd, &seen) == 0 && seen.f_type == STATFS_PROC_TYPE;
}

bool object_read_only(int fd)
{
    struct statfs seen;

    return fstatfs(fd, &seen) == 0 && (seen.f_flags & STATFS_RDONLY);
}

bool object_permits(int fd, int mode)
{
    long r = kernel_call(SYS_faccessat2, fd, KERNEL_PTR(""), mode, AT_EACCESS_FLAG | AT_EMPTY_PATH, 0, 0);

    return r != -EACCES && r != -EPERM;
}
