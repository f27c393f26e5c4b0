/*
 * decide.c - what is allowed on an object that is open.
 *
 * The rules go by names (observe/evaluate.c), and the name is asked of the kernel for the object that is
 * open: what links, `..`, slashes and letters were written does not matter. Names are not all: a file has
 * other ones, a mount shows a tree twice, some file systems do not tell `A` from `a`. So what is hidden and
 * protected is known by device and inode as well, on the object and on every directory above it.
 *
 * What holds is wider than in a run nowhere. It is narrower where a run has an object of its own (a place of
 * its own, /proc, a FIFO, /dev/null): whoever asks would get another one.
 *
 * Should:  look at the object, the directory that it is in, and those above it, from one to the next.
 * Mustn't: look a name up to decide, but to see that a directory has in it what is open.
 */
#include "fence/fence.h"

#include "kernel/object.h"
#include "links/kernel_abi.h"
#include "observe/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#define UP_MOST 4096 /* directories above each other; no name has more */

static int open_plain(const char *path, uint64_t flags)
{
    return object_open(AT_FDCWD, path, flags, RESOLVE_NO_SYMLINKS);
}

/* --- what the policy names ------------------------------------------------------------------------------ */

/* Keeps the object at PATH open: its number would go to another one with its end. What is not there any more
 * is held by its name alone. Return: 0 or -errno. */
static int add_mark(struct fence *fence, const char *path, enum denial_rule rule, size_t index)
{
    int fd = open_plain(path, 0), r = 0;
    struct stat st;

    if (fd < 0)
        return fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP ? 0 : fd;
    if (fstat(fd, &st) != 0)
        r = -errno;
    else if (!array_more(&fence->marks, fence->mark_count, sizeof(*fence->marks)))
        r = -ENOMEM;
    if (r < 0) {
        close(fd);
        return r;
    }
    fence->marks[fence->mark_count++] = (struct fence_mark){
        .fd = fd, .device = st.st_dev, .inode = st.st_ino, .rule = rule, .index = index, .path = path};
    return 0;
}

static int mark_hidden(struct fence *fence, const struct hidden *hidden, size_t count, size_t from)
{
    int r = 0;

    for (size_t i = 0; i < count && r == 0; i++)
        r = add_mark(fence, hidden[i].path, DENIAL_BY_HIDE, from + i);
    return r;
}

static int mark_protected(struct fence *fence)
{
    const struct strings *paths = &fence->resolved->protected_paths;
    int r = 0;

    for (size_t i = 0; i < paths->count && r == 0; i++)
        r = add_mark(fence, paths->items[i], DENIAL_BY_PROTECT, i);
    return r;
}

int fence_init(struct fence *fence, const struct resolved *resolved)
{
    int r = 0;

    *fence = (struct fence){.resolved = resolved};
    rules_fence(&fence->rules, resolved);
    if (fence->rules.decides && !resolved->open[SURFACE_FS_HIDDEN]) {
        r = mark_hidden(fence, resolved->hidden, resolved->hidden_count, 0);
        if (r == 0)
            r = mark_hidden(fence, resolved->around, resolved->around_count, resolved->hidden_count);
    }
    if (r == 0 && fence->rules.protects)
        r = mark_protected(fence);
    return r;
}

void fence_free(struct fence *fence)
{
    for (size_t i = 0; i < fence->mark_count; i++)
        close(fence->marks[i].fd);
    free(fence->marks);
    *fence = (struct fence){0};
}

/* --- an object and its name ----------------------------------------------------------------------------- */

void fence_release(struct fence_object *object)
{
    object->fd = fd_close(object->fd);
    object->parent = fd_close(object->parent);
}

int fence_name(struct fence_object *object)
{
    char directory[OBSERVE_PATH];
    const char *slash;
    struct stat st;
    ssize_t length;

    if (fstat(object->fd, &object->st) != 0)
        return -errno;
    length = path_of(object->fd, object->path, sizeof(object->path));
    if (length < 0)
        return (int)length;
    if (object->path[0] != '/') /* out of reach of our root, or no file at all */
        return -ESTALE;
    if (length == 1)
        return 0;
    slash = strrchr(object->path, '/');
    length = slash == object->path ? 1 : slash - object->path;
    memcpy(directory, object->path, (size_t)length);
    directory[length] = '\0';
    object->parent = open_plain(directory, O_DIRECTORY);
    if (object->parent < 0) {
        int r = object->parent;

        object->parent = -1;
        return r == -ENOENT || r == -ENOTDIR || r == -ELOOP ? -EAGAIN : r;
    }
    /* What was removed has ` (deleted)` behind its name, and what was moved is not there. */
    if (fstatat(object->parent, slash + 1, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? -EAGAIN : -errno;
    return stat_same(&st, &object->st) ? 0 : -EAGAIN;
}

/* --- the decision --------------------------------------------------------------------------------------- */

static bool changes(enum denial_operation operation)
{
    return operation != DENIAL_READ;
}

/* It is about a name in a directory, whatever is there. */
static bool names(enum denial_operation operation)
{
    return operation == DENIAL_CREATE || operation == DENIAL_REMOVE || operation == DENIAL_RENAME;
}

static bool deny(struct fence_answer *answer, enum surface surface, enum denial_rule rule, size_t index)
{
    answer->denied = true;
    answer->verdict = (struct verdict){ANSWER_REFUSED, surface, rule, index};
    return false;
}

/* What of the policy is this object, and reached by @path from there on? NULL: nothing. */
static const struct fence_mark *find_mark(const struct fence *fence, const struct stat *st,
                                          enum denial_operation operation, const char *path)
{
    for (size_t i = 0; i < fence->mark_count; i++) {
        const struct fence_mark *mark = &fence->marks[i];

        if (mark->inode != st->st_ino || mark->device != st->st_dev)
            continue;
        if (mark->rule == DENIAL_BY_HIDE ? rules_reaches(&fence->rules, mark->path, path)
                                         : !changes(operation))
            continue;
        return mark;
    }
    return NULL;
}

/* Looks at the object and at every directory above it. Return: 0 or -errno; @ret: NULL: none of them is. */
static int look_up(const struct fence *fence, const struct fence_object *object,
                   enum denial_operation operation, const struct fence_mark **ret)
{
    struct stat st = object->st, below;
    int at = object->parent, r = 0;

    *ret = object->fd >= 0 ? find_mark(fence, &st, operation, object->path) : NULL;
    if (at < 0)
        return 0;
    if (fstat(at, &st) != 0)
        return -errno;
    for (int up = 0; !*ret; up++) {
        int above;

        *ret = find_mark(fence, &st, operation, object->path);
        above = *ret ? -ENOENT : up < UP_MOST ? open_only(at, "..", O_DIRECTORY) : -ELOOP;
        below = st;
        if (above >= 0 && fstat(above, &st) != 0)
            r = -errno;
        else if (above < 0 && !*ret)
            r = above;
        if (at != object->parent)
            close(at);
        at = above;
        if (at < 0 || r < 0 || stat_same(&st, &below))
            break; /* the root is its own parent */
    }
    if (at >= 0 && at != object->parent)
        close(at);
    return r;
}

static bool is_special(mode_t type)
{
    return !S_ISREG(type) && !S_ISDIR(type) && !S_ISLNK(type);
}

static enum surface surface_of_kind(mode_t type)
{
    return S_ISCHR(type) || S_ISBLK(type) ? SURFACE_FS_DEVICE
           : S_ISSOCK(type)               ? SURFACE_UNIX_PATH
                                          : SURFACE_FS_SPECIAL;
}

/* Of /proc there is one for each set of processes, and `self` in it is whoever opens it. */
static bool is_of_processes(const struct fence_object *object)
{
    return object_is_proc(object->fd >= 0 ? object->fd : object->parent);
}

/* Would the file's mode, or its directory's, refuse it as well? Then no grant is worth asking for. */
static bool refuses_by_mode(const struct fence_object *object, enum denial_operation operation)
{
    bool in_directory = object->fd < 0 || names(operation);
    int fd = in_directory ? object->parent : object->fd;
    int access = !changes(operation) ? R_OK : in_directory ? W_OK | X_OK : W_OK;

    return !object_permits(fd, access);
}

static bool decide(const struct fence *fence, const struct fence_object *object,
                   enum denial_operation operation, struct fence_answer *answer)
{
    const struct rules *rules = &fence->rules;
    struct object seen = {.path = object->path,
                          .exists = object->fd >= 0,
                          .arrives = object->arrives,
                          .as_name = names(operation),
                          .type = object->fd >= 0 ? object->st.st_mode & S_IFMT : 0};
    enum surface surface = changes(operation) ? SURFACE_FS_WRITE : SURFACE_FS_READ;
    const struct fence_mark *mark = NULL;
    struct verdict verdict;
    int r = 0;

    answer->operation = operation;
    memcpy(answer->path, object->path, strlen(object->path) + 1);
    verdict = changes(operation) ? evaluate_change(rules, operation, &seen) : evaluate_read(rules, &seen);
    if (verdict.answer == ANSWER_REFUSED && verdict.rule != DENIAL_BY_DEFAULT)
        return deny(answer, verdict.surface, verdict.rule, verdict.index);
    if (object->fd >= 0 && is_special(seen.type) && !names(operation))
        return deny(answer, surface_of_kind(seen.type), DENIAL_BY_KIND, 0);
    if (is_of_processes(object) || rules_apart(rules, object->path))
        return deny(answer, surface, DENIAL_BY_PLACE, 0);
    if (verdict.answer == ANSWER_REFUSED)
        return deny(answer, verdict.surface, verdict.rule, verdict.index);
    if (fence->mark_count > 0)
        r = look_up(fence, object, operation, &mark);
    if (r < 0) {
        answer->errnum = -r;
        return false;
    }
    if (mark)
        return deny(answer, mark->rule == DENIAL_BY_HIDE ? SURFACE_FS_HIDDEN : SURFACE_FS_PROTECTED,
                    mark->rule, mark->index);
    return true;
}

bool fence_allows(const struct fence *fence, const struct fence_object *object,
                  enum denial_operation operation, struct fence_answer *answer)
{
    bool allowed = decide(fence, object, operation, answer);

    answer->by_mode = !allowed && answer->denied && refuses_by_mode(object, operation);
    return allowed;
}

int fence_ready(struct error *error)
{
    struct statfs seen;
    int fd = open_plain("/", O_DIRECTORY);

    if (fd >= 0)
        close(fd);
    if (fd < 0) {
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, -fd, "no-openat2",
                  "fence: this kernel, or a confinement around us, refuses openat2(): %s", strerror(-fd));
        return error_hint(error, "start the fence outside of that confinement");
    }
    if (statfs("/proc/self/fd", &seen) == 0 && seen.f_type == STATFS_PROC_TYPE)
        return 0;
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, ENOENT, "no-proc", "fence: /proc is not mounted here");
    return error_hint(error, "mount it: mount -t proc proc /proc");
}
