/*
 * resolve_open.c - from a name to a descriptor, once.
 *
 * A name without links is opened by one openat2 that refuses links: what it
 * opens is what the name means. Anything else is walked here, one component at
 * a time and by descriptor, which also works where openat2 is refused (inside
 * another confinement).
 *
 * Should:  remember every link that led to an object.
 * Mustn't: look a name up a second time and trust the answer: the second look
 *          only ever compares.
 */
#include "policy/resolve_internal.h"

#include "kernel/object.h"
#include "links/kernel_abi.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as the kernel has it */

int path_parent(const char *path, char **ret_parent, const char **ret_name)
{
    const char *slash = strrchr(path, '/');

    if (!slash || !slash[1])
        return -EINVAL;
    *ret_parent = strndup(path, slash == path ? 1 : (size_t)(slash - path));
    *ret_name = slash + 1;
    return *ret_parent ? 0 : -ENOMEM;
}

void opened_free(struct opened *opened)
{
    opened->fd = fd_close(opened->fd);
    free(opened->path);
    opened->path = NULL;
    strings_free(&opened->links);
}

static uint64_t raise_from = UINT64_MAX; /* this descriptor */

/* The first of this resolving. */
static struct {
    char name[PATH_MAX];
    int error;
} unanswered;

void paths_begin(uint64_t limit)
{
    raise_from = limit / 2;
    unanswered.error = 0;
}

/* Descriptors are one per path. Never lowered again. */
static bool raise_descriptor_limit(void)
{
    struct rlimit limit;

    raise_from = UINT64_MAX;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max)
        return false;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

/* The upper half of the limit is for whoever opens something after the paths. Where it cannot be raised, that
 * is said by the first who has none left. */
static int leave_room(int fd)
{
    if (fd >= 0 && (uint64_t)fd >= raise_from)
        (void)raise_descriptor_limit();
    return fd;
}

int path_open_at(int at, const char *name, int flags)
{
    for (bool raised = false;; raised = true) {
        int fd = openat(at, name, O_PATH | O_CLOEXEC | flags);

        if (fd >= 0)
            return leave_room(fd);
        if (errno != EMFILE || raised || !raise_descriptor_limit())
            return -errno;
    }
}

/* The whole name in one call, refusing every link. Return: the descriptor or -errno. */
static int open_plain(const char *path)
{
    for (bool raised = false;; raised = true) {
        int fd = object_open(AT_FDCWD, path, 0, RESOLVE_NO_SYMLINKS);

        if (fd != -EMFILE || raised || !raise_descriptor_limit())
            return leave_room(fd);
    }
}

/* Takes `//`, `/./` and a final `/` out of an absolute name. @ret_plain: no `..` is in it. */
static char *clean_path(const char *absolute, bool *ret_plain)
{
    char *clean = malloc(strlen(absolute) + 2), *to = clean;

    *ret_plain = true;
    if (!clean)
        return NULL;
    for (const char *at = absolute; *at;) {
        size_t length;

        at += strspn(at, "/");
        length = strcspn(at, "/");
        if (length == 0)
            break;
        if (!(length == 1 && at[0] == '.')) {
            if (length == 2 && at[0] == '.' && at[1] == '.')
                *ret_plain = false;
            *to++ = '/';
            memcpy(to, at, length);
            to += length;
        }
        at += length;
    }
    if (to == clean)
        *to++ = '/';
    *to = '\0';
    return clean;
}

/* A walk in progress. */
struct walk {
    int fd;       /* where it stands */
    char *path;   /* canonical name of that, "" for the root */
    char *rest;   /* what is still to go */
    size_t links; /* followed so far */
    bool follow;
};

static int walk_root(struct walk *walk)
{
    int fd = path_open_at(AT_FDCWD, "/", O_DIRECTORY);

    if (fd < 0)
        return fd;
    fd_close(walk->fd);
    walk->fd = fd;
    walk->path[0] = '\0';
    return 0;
}

static int walk_up(struct walk *walk)
{
    int fd = path_open_at(walk->fd, "..", O_DIRECTORY | O_NOFOLLOW);
    char *slash = strrchr(walk->path, '/');

    if (fd < 0)
        return fd;
    fd_close(walk->fd);
    walk->fd = fd;
    if (slash)
        *slash = '\0';
    return 0;
}

/* The link behind LINK_FD is NAME where the walk stands: its text goes in front of the rest. */
static int walk_link(struct walk *walk, int link_fd, const struct stat *st, const char *name,
                     struct strings *links, uint64_t *root_links)
{
    char target[PATH_MAX], *rest;
    ssize_t length;

    if (!walk->follow || ++walk->links > LINKS_MAX)
        return -ELOOP;
    length = readlinkat(link_fd, "", target, sizeof(target) - 1);
    if (length < 0)
        return -errno;
    if (length == 0 || (size_t)length >= sizeof(target) - 1)
        return -ENOENT;
    target[length] = '\0';
    if (links && strings_addf(links, "%s/%s", walk->path, name) < 0)
        return -ENOMEM;
    if (links && st->st_uid == 0)
        *root_links |= UINT64_C(1) << (links->count - 1); /* at most LINKS_MAX */
    if (asprintf(&rest, "%s/%s", target, walk->rest) < 0)
        return -ENOMEM;
    free(walk->rest);
    walk->rest = rest;
    return target[0] == '/' ? walk_root(walk) : 0;
}

/* One component. Takes it off the rest. */
static int walk_step(struct walk *walk, struct strings *links, uint64_t *root_links)
{
    _cleanup_free_ char *name = NULL;
    _cleanup_fd_ int fd = -1;
    size_t skip = strspn(walk->rest, "/"), length = strcspn(walk->rest + skip, "/");
    struct stat st;
    char *longer;

    name = strndup(walk->rest + skip, length);
    if (!name)
        return -ENOMEM;
    memmove(walk->rest, walk->rest + skip + length, strlen(walk->rest + skip + length) + 1);
    if (length == 0 || strcmp(name, ".") == 0)
        return 0;
    if (strcmp(name, "..") == 0)
        return walk_up(walk);
    fd = path_open_at(walk->fd, name, O_NOFOLLOW);
    if (fd < 0)
        return fd;
    if (fstat(fd, &st) != 0)
        return -errno;
    if (S_ISLNK(st.st_mode))
        return walk_link(walk, fd, &st, name, links, root_links);
    if (asprintf(&longer, "%s/%s", walk->path, name) < 0)
        return -ENOMEM;
    free(walk->path);
    walk->path = longer;
    fd_close(walk->fd);
    walk->fd = steal_fd(&fd);
    return 0;
}

/* Return: the descriptor or -errno. @links and @ret_path may be NULL; @root_links goes with @links. */
static int walk_path(const char *absolute, bool follow, struct strings *links, uint64_t *root_links,
                     char **ret_path)
{
    struct walk walk = {.fd = -1, .path = strdup(""), .rest = strdup(absolute), .follow = follow};
    int r = walk.path && walk.rest ? walk_root(&walk) : -ENOMEM;

    while (r == 0 && walk.rest[strspn(walk.rest, "/")])
        r = walk_step(&walk, links, root_links);
    if (r == 0 && ret_path) {
        *ret_path = *walk.path ? steal_pointer(&walk.path) : strdup("/");
        r = *ret_path ? 0 : -ENOMEM;
    }
    free(walk.path);
    free(walk.rest);
    if (r < 0)
        fd_close(walk.fd);
    return r < 0 ? r : walk.fd;
}

/* Does PATH, opened without following anything, lead to the object of ST? */
static int compare_again(const char *path, const struct stat *st)
{
    _cleanup_fd_ int fd = open_plain(path);
    struct stat again;

    if (fd == -ENOSYS || fd == -EPERM || fd == -ENAMETOOLONG)
        fd = walk_path(path, false, NULL, NULL, NULL);
    if (fd < 0)
        return fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM ? fd : -ESTALE;
    if (fstat(fd, &again) != 0)
        return -errno;
    return stat_same(&again, st) ? 0 : -ESTALE;
}

/* Neither there nor not there: what could not be looked at now can be read a moment later. */
static bool tells_nothing(int error)
{
    static const int errors[] = {EMFILE, ENFILE, EIO, EINTR, EAGAIN, ETIMEDOUT};
    size_t i = 0;

    while (i < ARRAY_SIZE(errors) && errors[i] != error)
        i++;
    return i < ARRAY_SIZE(errors);
}

int path_unanswered(const char **ret_name)
{
    *ret_name = unanswered.name;
    return unanswered.error;
}

int path_open(const char *absolute, struct opened *opened)
{
    bool plain;
    int r = 0;

    *opened = (struct opened){.fd = -1, .path = clean_path(absolute, &plain)};
    if (!opened->path)
        return -ENOMEM;
    opened->fd = plain ? open_plain(opened->path) : -ELOOP;
    if (opened->fd < 0) {
        r = opened->fd;
        /* Behind a link (/var/run) mostly nothing is: one call says so, the walk takes a dozen. */
        if (r == -ELOOP && fstatat(AT_FDCWD, absolute, &opened->st, 0) != 0 && errno == ENOENT)
            r = -ENOENT;
        if (r == -ELOOP || r == -ENOSYS || r == -EPERM || r == -ENAMETOOLONG) {
            free(opened->path);
            opened->path = NULL;
            r = opened->fd = walk_path(absolute, true, &opened->links, &opened->root_links, &opened->path);
            plain = false;
        }
    }
    if (r >= 0 && fstat(opened->fd, &opened->st) != 0)
        r = -errno;
    if (r >= 0 && !plain)
        r = compare_again(opened->path, &opened->st);
    if (r < 0) {
        if (tells_nothing(-r) && unanswered.error == 0) {
            unanswered.error = -r;
            snprintf(unanswered.name, sizeof(unanswered.name), "%s", absolute);
        }
        if (opened->fd < 0)
            opened->fd = -1;
        opened_free(opened);
        return r;
    }
    return 0;
}
