/*
 * build_kernel.c - file systems of the kernel's own that lie in what is writable.
 *
 * Should:  refuse root what it could change the machine by: /proc/sys/kernel/core_pattern belongs to root,
 * and no capability is asked for. Mustn't: take a grant on what such a thing is mounted in for one on the
 * machine.
 */
#include "backend/build.h"

#include <errno.h>

static const char *find_writable(const struct resolved *resolved, const struct strings *mounts)
{
    for (size_t i = 0; i < mounts->count; i++)
        if (resolved_under_writable(resolved, mounts->items[i]))
            return mounts->items[i];
    return NULL;
}

int build_refuse_kernel(const struct builder *b, struct error *error)
{
    const struct view *view = &b->resolved->view;
    const char *found = find_writable(b->resolved, &view->procs);

    if (!found)
        found = find_writable(b->resolved, &view->kernel);
    if (b->resolved->uid != 0 || (!found && !view->procs_unknown))
        return 0;
    if (found)
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, EPERM, "kernel-in-writable",
                  "the command would run as root, and could change the machine by %s, a file system of the "
                  "kernel in what is writable",
                  QUOTE(found));
    else
        error_set(
            error, ERROR_SANDBOX_UNAVAILABLE, EPERM, "kernel-in-writable",
            "the command would run as root, and what is mounted in what is writable cannot be found out");
    error_surface(error, "fs.write");
    return error_hint(error, "unmount it, run as an ordinary user (--user UID), or use --backend namespace");
}
