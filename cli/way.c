/*
 * way.c - the way to a name that a person gave us to open, walked directory by directory.
 *
 * The command of an earlier run may have prepared the way: a link or a directory in the workspace.
 *
 * Should:  look at each directory on the way.
 * Mustn't: pass through anything that the command can write, or through a link that is not the system's.
 */
#include "cli/way.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as the kernel has it */

int way_fail(const struct way *way, struct error *error, int errnum, const char *reason, const char *why)
{
    int result = error_set(error, ERROR_USAGE, errnum, reason, "%s %s: %s", way->what, QUOTE(way->name), why);

    return way->instead ? error_hint(error, "%s", way->instead) : result;
}

/* Does the command hold a writable grant on exactly this object? Everything below it is passed on the way. */
bool way_granted(const struct way *way, const struct stat *st)
{
    const struct resolved *resolved = way->resolved;

    for (size_t i = 0; resolved && i < resolved->path_count; i++)
        if (resolved->paths[i].grant == GRANT_WRITE && resolved->paths[i].device == st->st_dev &&
            resolved->paths[i].inode == st->st_ino)
            return true;
    return false;
}

static int check_directory(int fd, const struct way *way, struct error *error)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return way_fail(way, error, errno, "output-unusable", strerror(errno));
    if (!way_granted(way, &st))
        return 0;
    way_fail(way, error, EPERM, "output-in-grant",
             "it lies where the command may write, so it could be replaced");
    return error_hint(error, "choose a place outside the workspace, or fd:N");
}

/* Puts the target of the link NAME below FD in front of what is left of the way. */
static int expand_link(int fd, const char *component, char *rest, size_t size, const struct way *way,
                       struct error *error)
{
    char target[PATH_MAX], joined[2 * PATH_MAX];
    ssize_t length = readlinkat(fd, component, target, sizeof(target) - 1);
    struct stat st;

    if (length < 0)
        return way_fail(way, error, errno, "output-unusable", strerror(errno));
    target[length] = '\0';
    /* Only the system's own links are passed: any other one may have been made by a command of an earlier
     * run. Where commands run as root these cannot be told apart. */
    if (fstatat(fd, component, &st, AT_SYMLINK_NOFOLLOW) != 0 || st.st_uid != 0 ||
        (way->resolved ? way->resolved->uid : geteuid()) == 0) {
        way_fail(way, error, ELOOP, "output-behind-link", "a directory on the way is a link");
        return error_hint(error, "name the file itself, without the link");
    }
    if ((size_t)snprintf(joined, sizeof(joined), "%s/%s", target, rest) >= size)
        return way_fail(way, error, ENAMETOOLONG, "output-unusable", strerror(ENAMETOOLONG));
    memcpy(rest, joined, strlen(joined) + 1);
    return 0;
}

/* One step of walk_to(): opens the next component, or expands the link that it is. */
static int walk_step(int *fd, const char *component, char *rest, size_t size, int *links,
                     const struct way *way, struct error *error)
{
    _cleanup_fd_ int next = openat(*fd, component, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    int result;

    if (next < 0 || fstat(next, &st) != 0)
        return way_fail(way, error, errno, "output-unusable", strerror(errno));
    if (S_ISLNK(st.st_mode)) {
        if (++*links > LINKS_MAX)
            return way_fail(way, error, ELOOP, "output-unusable", strerror(ELOOP));
        result = expand_link(*fd, component, rest, size, way, error);
        if (result < 0 || *rest != '/')
            return result;
        fd_close(*fd);
        *fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        return *fd < 0 ? way_fail(way, error, errno, "output-unusable", strerror(errno))
                       : check_directory(*fd, way, error);
    }
    if (!S_ISDIR(st.st_mode))
        return way_fail(way, error, ENOTDIR, "output-unusable", strerror(ENOTDIR));
    fd_close(*fd);
    *fd = steal_fd(&next);
    return check_directory(*fd, way, error);
}

/* Does the directory FD, or one above it, belong to the command? */
static int check_above(int start, const struct way *way, struct error *error)
{
    _cleanup_fd_ int fd = fcntl(start, F_DUPFD_CLOEXEC, 3);
    struct stat st, above;

    if (fd < 0)
        return way_fail(way, error, errno, "output-unusable", strerror(errno));
    for (;;) {
        int up, result = check_directory(fd, way, error);

        if (result < 0)
            return result;
        up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (up < 0 || fstat(fd, &st) != 0 || fstat(up, &above) != 0) {
            result = way_fail(way, error, errno, "output-unusable", strerror(errno));
            fd_close(up);
            return result;
        }
        fd_close(fd);
        fd = up;
        if (stat_same(&st, &above))
            return 0;
    }
}

/* Takes the `..` at the beginning of a relative name: from the workspace they lead out of it, through
 * directories that the command can move only to where it may write, which is looked at behind the last of
 * them. */
static int leave_by_parents(int *fd, char *rest, const struct way *way, struct error *error)
{
    for (;;) {
        size_t word = strcspn(rest, "/"), length = word + strspn(rest + word, "/");
        bool parent = word == 2 && memcmp(rest, "..", 2) == 0;

        if (length == word || (!parent && !(word == 1 && *rest == '.')))
            return check_above(*fd, way, error);
        if (parent) {
            int up = openat(*fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

            if (up < 0)
                return way_fail(way, error, errno, "output-unusable", strerror(errno));
            fd_close(*fd);
            *fd = up;
        }
        memmove(rest, rest + length, strlen(rest + length) + 1);
    }
}

int way_walk(const struct way *way, char *rest, size_t size, int *ret_fd, struct error *error)
{
    const char *name = way->name;
    _cleanup_fd_ int fd = open(*name == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int links = 0, result;

    if (fd < 0)
        return way_fail(way, error, errno, "output-unusable", strerror(errno));
    if ((size_t)snprintf(rest, size, "%s", name) >= size)
        return way_fail(way, error, ENAMETOOLONG, "output-unusable", strerror(ENAMETOOLONG));
    result = *name == '/' ? check_directory(fd, way, error) : leave_by_parents(&fd, rest, way, error);
    while (result == 0) {
        char component[NAME_MAX + 1];
        char *start = rest + strspn(rest, "/"), *slash = strchr(start, '/');

        memmove(rest, start, strlen(start) + 1);
        if (!slash)
            break;
        slash = strchr(rest, '/');
        if ((size_t)(slash - rest) >= sizeof(component))
            return way_fail(way, error, ENAMETOOLONG, "output-unusable", strerror(ENAMETOOLONG));
        memcpy(component, rest, (size_t)(slash - rest));
        component[slash - rest] = '\0';
        memmove(rest, slash + 1, strlen(slash + 1) + 1);
        result = walk_step(&fd, component, rest, size, &links, way, error);
    }
    if (result == 0 && (!*rest || strcmp(rest, ".") == 0 || strcmp(rest, "..") == 0))
        result = way_fail(way, error, EISDIR, "output-unusable", "it is a directory");
    if (result == 0)
        *ret_fd = steal_fd(&fd);
    return result;
}
