/*
 * modes.c - what files' modes and owners let the command's user do.
 *
 * A child becomes that user, without capabilities, as the command will be, and asks the kernel.
 *
 * Should:  open nothing: a name is looked up, and what it leads to is asked about.
 * Mustn't: speak for the policy, or for mounts: a file system that is read-only is another matter.
 */
#include "cli/modes.h"

#include "host/child.h"
#include "kernel/object.h"
#include "observe/retreat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 2000

struct question {
    const struct resolved *resolved;
    const struct strings *paths;
};

/* Something is made in a directory that may be written and searched. */
static struct path_modes look_at_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    _cleanup_free_ char *parent = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : NULL;
    _cleanup_fd_ int fd = parent ? object_open(AT_FDCWD, parent, O_DIRECTORY, 0) : -ENOENT;

    return (struct path_modes){.known = fd >= 0, .write = fd >= 0 && object_permits(fd, W_OK | X_OK)};
}

static struct path_modes look(const char *path)
{
    _cleanup_fd_ int fd = object_open(AT_FDCWD, path, 0, 0);

    if (fd == -ENOENT)
        return look_at_parent(path);
    if (fd < 0) /* a directory on the way lets nobody through */
        return (struct path_modes){.known = fd == -EACCES, .there = fd == -EACCES};
    return (struct path_modes){
        .known = true, .there = true, .read = object_permits(fd, R_OK), .write = object_permits(fd, W_OK)};
}

static void ask(int answer, void *data)
{
    const struct question *question = data;

    if (retreat_user(question->resolved) < 0)
        return;
    for (size_t i = 0; i < question->paths->count; i++) {
        struct path_modes modes = look(question->paths->items[i]);

        if (write(answer, &modes, sizeof(modes)) != (ssize_t)sizeof(modes))
            return;
    }
}

struct path_modes *modes_look(const struct resolved *resolved, const struct strings *paths)
{
    struct question question = {resolved, paths};
    struct path_modes *modes = calloc(paths->count + 1, sizeof(*modes));
    size_t size = paths->count * sizeof(*modes);

    /* Unconfined, the command has what its caller has, capabilities too. */
    if (modes && resolved->mode != MODE_DANGER_FULL_ACCESS &&
        child_ask(ask, &question, modes, size, WAIT_MS) != (ssize_t)size)
        memset(modes, 0, size);
    return modes;
}
