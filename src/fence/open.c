/*
 * open.c - find an object, ask, and open that very object.
 *
 * A name is looked up once, by the kernel, to an O_PATH descriptor: nothing is opened by that, so that a FIFO
 * does not wait and a device does nothing. Decided is on what that is, and opened is what that is, by
 * /proc/self/fd: whoever swaps links and directories meanwhile changes neither. What is to be made is one
 * name in a directory that is open, without following a link (O_EXCL). If something comes or goes in between,
 * all begins anew.
 *
 * Should:  cut a file short only after it was decided on. Mustn't: wait for anybody: a lease of somebody's on
 * the file is an error (EAGAIN).
 */
#include "fence/fence.h"

#include "kernel/object.h"
#include "links/kernel_abi.h"
#include "observe/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define LINKS_MOST 40 /* as the kernel */

/* Where the search stands. */
struct search {
    const struct fence *fence;
    unsigned flags;
    mode_t mode;
    int base; /* owned but at first */
    bool owned;
    unsigned links;
    char path[OBSERVE_PATH];
    struct fence_answer *answer;
};

/* What a step of it came to. */
enum step { STEP_DONE = 0, STEP_AGAIN };

static enum step fail(struct search *search, int errnum)
{
    search->answer->errnum = errnum;
    return STEP_DONE;
}

static int open_path(int base, const char *path, uint64_t flags)
{
    return object_open(base, path, flags, RESOLVE_NO_MAGICLINKS);
}

static int open_flags(unsigned flags)
{
    int access = flags & FENCE_WRITE ? (flags & FENCE_READ ? O_RDWR : O_WRONLY) : O_RDONLY;

    return access | (flags & FENCE_APPEND ? O_APPEND : 0) | O_CLOEXEC | O_NOCTTY;
}

/* --- what is there -------------------------------------------------------------------------------------- */

/* The same object once more, for what was asked. Return: a descriptor or -errno. */
static int reopen(const struct fence_object *object, unsigned flags)
{
    int fd =
        open(FD_NAME(object->fd), open_flags(flags) | O_NONBLOCK | (flags & FENCE_TRUNCATE ? O_TRUNC : 0));
    struct stat st;
    int r = 0;

    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) != 0 || fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) != 0)
        r = -errno;
    else if (!stat_same(&st, &object->st))
        r = -EIO; /* that is no /proc */
    if (r == 0)
        return fd;
    close(fd);
    return r;
}

/* Every right that was asked for. */
static bool may_open(const struct search *search, const struct fence_object *object)
{
    const struct fence *fence = search->fence;
    unsigned flags = search->flags;

    if (flags & FENCE_EXCLUSIVE)
        return fence_allows(fence, object, DENIAL_CREATE, search->answer);
    return (!(flags & FENCE_WRITE) || fence_allows(fence, object, DENIAL_WRITE, search->answer)) &&
           (!(flags & FENCE_READ) || fence_allows(fence, object, DENIAL_READ, search->answer));
}

static bool ends_in_slash(const char *path)
{
    return path[strlen(path) - 1] == '/';
}

static enum step use_found(struct search *search, struct fence_object *object)
{
    unsigned flags = search->flags;
    int r = fence_name(object);

    if (r == -EAGAIN)
        return STEP_AGAIN;
    if (r < 0)
        return fail(search, -r);
    if (!may_open(search, object))
        return STEP_DONE;
    if ((flags & FENCE_CREATE) && ends_in_slash(search->path))
        return fail(search, EISDIR);
    if (flags & FENCE_EXCLUSIVE)
        return fail(search, EEXIST);
    if (S_ISLNK(object->st.st_mode))
        return fail(search, ELOOP);
    if (S_ISDIR(object->st.st_mode) && (flags & (FENCE_WRITE | FENCE_CREATE | FENCE_TRUNCATE)))
        return fail(search, EISDIR);
    if (!S_ISDIR(object->st.st_mode) && (flags & FENCE_DIRECTORY))
        return fail(search, ENOTDIR);
    r = reopen(object, flags);
    if (r < 0)
        return fail(search, -r);
    search->answer->fd = r;
    return STEP_DONE;
}

/* --- what is not ---------------------------------------------------------------------------------------- */

/* Parts @path into a directory and the last name, both in place. Return: whether there is such a name;
 * @ret_slash: one stood behind it */
static bool part_path(char *path, const char **ret_directory, const char **ret_name, bool *ret_slash)
{
    size_t length = strlen(path);
    char *slash;

    *ret_slash = false;
    while (length > 1 && path[length - 1] == '/') {
        path[--length] = '\0';
        *ret_slash = true;
    }
    slash = strrchr(path, '/');
    *ret_name = slash ? slash + 1 : path;
    *ret_directory = !slash ? "." : slash == path ? "/" : path;
    if (slash)
        *slash = '\0';
    return **ret_name && strcmp(*ret_name, ".") != 0 && strcmp(*ret_name, "..") != 0;
}

/* Takes the slashes off the end of PATH, else the last name. Return: false: nothing is left of it. */
static bool shorten(char *path)
{
    size_t length = strlen(path);

    if (length < 2 && (length == 0 || path[0] == '/'))
        return false;
    if (path[length - 1] == '/')
        while (length > 1 && path[length - 1] == '/')
            length--;
    else
        while (length > 0 && path[length - 1] != '/')
            length--;
    path[length] = '\0';
    return true;
}

/* What is wrong with the way is told only as far as the policy lets it be seen: whether something is there in
 * a hidden directory, and whether it is a file, is not. So the part of the way that is there is asked about.
 */
static enum step refuse(struct search *search, int errnum)
{
    struct fence_object object = FENCE_OBJECT_NONE;
    char path[OBSERVE_PATH];
    int r = -ENOENT;

    memcpy(path, search->path, strlen(search->path) + 1);
    while (r < 0 && shorten(path))
        r = open_path(search->base, *path ? path : ".", 0);
    if (r < 0)
        return fail(search, errnum);
    object.fd = r;
    r = fence_name(&object);
    if (r == 0 && fence_allows(search->fence, &object, DENIAL_READ, search->answer))
        r = -errnum;
    fence_release(&object);
    return r == -EAGAIN ? STEP_AGAIN : r < 0 ? fail(search, -r) : STEP_DONE;
}

/* A link that leads to nothing, in the directory of OBJECT: what is made is made there. */
static enum step follow(struct search *search, struct fence_object *object, const char *text, size_t length)
{
    if (search->flags & (FENCE_EXCLUSIVE | FENCE_NOFOLLOW))
        return refuse(search, search->flags & FENCE_EXCLUSIVE ? EEXIST : ELOOP);
    if (++search->links > LINKS_MOST)
        return fail(search, ELOOP);
    memcpy(search->path, text, length);
    search->path[length] = '\0';
    if (search->owned)
        close(search->base);
    search->base = steal_fd(&object->parent);
    search->owned = true;
    return STEP_AGAIN;
}

static enum step make(struct search *search, const struct fence_object *object, const char *name)
{
    int fd;

    if (!fence_allows(search->fence, object, DENIAL_CREATE, search->answer))
        return STEP_DONE;
    fd =
        openat(object->parent, name, open_flags(search->flags) | O_CREAT | O_EXCL | O_NOFOLLOW, search->mode);
    if (fd < 0)
        return errno == EEXIST ? STEP_AGAIN : fail(search, errno);
    search->answer->fd = fd;
    return STEP_DONE;
}

/* The directory PARENT and NAME in it, as what is not there. Return: 0 or -errno, as fence_name(). */
static int name_missing(struct fence_object *parent, const char *name, struct fence_object *object)
{
    int r = fence_name(parent);
    size_t length = strlen(parent->path), more = strlen(name);

    if (r < 0)
        return r;
    if (length + more + 2 > sizeof(object->path))
        return -ENAMETOOLONG;
    length = length > 1 ? length : 0;
    memcpy(object->path, parent->path, length);
    object->path[length] = '/';
    memcpy(object->path + length + 1, name, more + 1);
    object->parent = parent->fd;
    parent->fd = -1;
    return 0;
}

/* ERRNUM: why nothing was found. */
static enum step use_missing(struct search *search, int errnum, struct fence_object *parent,
                             struct fence_object *object)
{
    char path[OBSERVE_PATH], text[OBSERVE_PATH];
    const char *directory, *name;
    ssize_t length;
    bool slash;
    int r;

    memcpy(path, search->path, strlen(search->path) + 1);
    if (!part_path(path, &directory, &name, &slash))
        return refuse(search, errnum);
    r = open_path(search->base, directory, O_DIRECTORY);
    if (r < 0)
        return refuse(search, -r);
    parent->fd = r;
    r = name_missing(parent, name, object);
    if (r < 0)
        return r == -EAGAIN ? STEP_AGAIN : fail(search, -r);
    length = readlinkat(object->parent, name, text, sizeof(text) - 1);
    if (length > 0 && !slash)
        return follow(search, object, text, (size_t)length);
    return slash ? refuse(search, EISDIR) : make(search, object, name);
}

static enum step look(struct search *search)
{
    struct fence_object object = FENCE_OBJECT_NONE, parent = FENCE_OBJECT_NONE;
    bool follows = !(search->flags & (FENCE_NOFOLLOW | FENCE_EXCLUSIVE));
    bool makes = search->flags & FENCE_CREATE;
    int fd = open_path(search->base, search->path, follows ? 0 : O_NOFOLLOW);
    enum step step;

    if (fd >= 0) {
        object.fd = fd;
        step = use_found(search, &object);
    } else if (makes && (fd == -ENOENT || ends_in_slash(search->path))) {
        step = use_missing(search, -fd, &parent, &object);
    } else {
        step = refuse(search, -fd);
    }
    fence_release(&object);
    fence_release(&parent);
    return step;
}

/* Return: false: that is no path, and the answer says so. */
static bool begin(struct search *search, const struct fence *fence, const char *path, unsigned flags,
                  struct fence_answer *answer)
{
    size_t length = strlen(path);

    *search =
        (struct search){.fence = fence, .flags = flags, .base = fence->resolved->cwd_fd, .answer = answer};
    if (length == 0 || length >= sizeof(search->path)) {
        answer->errnum = length == 0 ? ENOENT : ENAMETOOLONG;
        return false;
    }
    memcpy(search->path, path, length + 1);
    return true;
}

int fence_entry(const struct fence *fence, const char *path, struct fence_object *object, char *name,
                bool *slash, struct fence_answer *answer)
{
    struct fence_object parent = FENCE_OBJECT_NONE;
    const char *directory, *last;
    char room[OBSERVE_PATH];
    struct search search;
    int r;

    if (!begin(&search, fence, path, 0, answer))
        return -answer->errnum;
    memcpy(room, path, strlen(path) + 1);
    if (!part_path(room, &directory, &last, slash))
        return -EINVAL; /* `.`, `..` and the root are no names that are made or removed */
    r = open_path(search.base, directory, O_DIRECTORY);
    if (r < 0)
        return refuse(&search, -r) == STEP_AGAIN ? -EAGAIN : answer->denied ? -ECANCELED : -answer->errnum;
    parent.fd = r;
    r = name_missing(&parent, last, object);
    fence_release(&parent);
    memcpy(name, last, strlen(last) + 1);
    return r;
}

void fence_open(const struct fence *fence, const char *path, unsigned flags, mode_t mode,
                struct fence_answer *answer)
{
    struct search search;
    enum step step = STEP_AGAIN;

    *answer = (struct fence_answer){.fd = -1};
    if (!begin(&search, fence, path, flags, answer))
        return;
    search.mode = mode;
    for (int tries = 0; tries < FENCE_TRIES && step == STEP_AGAIN; tries++)
        step = look(&search);
    if (step == STEP_AGAIN)
        answer->errnum = EAGAIN;
    if (search.owned)
        close(search.base);
}
