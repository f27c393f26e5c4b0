/*
 * resolve_names.c - the names in a directory, without allocating: every run lists a few.
 */
#include "policy/resolve_internal.h"

#include "links/kernel_abi.h"

#include <fcntl.h>
#include <unistd.h>

static int visit_all(const char *entries, long size, int (*visit)(const char *name, void *data), void *data)
{
    int r = 0;

    for (long at = 0; at < size && r == 0;) {
        const char *name = entries + at + offsetof(struct kernel_dirent, name);
        uint16_t length;

        memcpy(&length, entries + at + offsetof(struct kernel_dirent, size), sizeof(length));
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
            r = visit(name, data);
        at += length;
    }
    return r;
}

int directory_names(int at, int (*visit)(const char *name, void *data), void *data)
{
    _cleanup_fd_ int fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char entries[2048]; /* on pages of the stack that are used anyway: each page more costs as much as a call
                         */
    long size;
    int r = 0;

    if (fd < 0)
        return -errno;
    do {
        size = kernel_call(SYS_getdents64, fd, KERNEL_PTR(entries), sizeof(entries), 0, 0, 0);
        if (size > 0)
            r = visit_all(entries, size, visit, data);
    } while (size > 0 && r == 0);
    return size < 0 ? (int)size : r;
}
