/*
 * look_links.c - where a link leads to, as far as that is in the trees.
 *
 * A link that was there before the run is nothing new, but what it leads to may be: whoever runs it outside
 * follows it. Whether that is new is told by its own time, or a directory's: what is above it changes by all
 * kinds of work, and is not asked.
 *
 * Should:  follow as the kernel does, name by name.
 * Mustn't: leave the roots, not by a look either: a name outside may be one that somebody answers (autofs).
 */
#include "sweep/look_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define LINKS_MOST 40 /* as many as the kernel follows */

/* What is left to be followed, and how far it has come. */
struct following {
    char rest[2 * PATH_MAX];
    char at[PATH_MAX]; /* canonical; empty: the root */
    unsigned links;
};

/* Is it a directory that a root is in? Its name is canonical, so there is no link in it. */
static bool is_above_root(const struct look *look, const char *path)
{
    for (size_t i = 0; i < look->root_count; i++)
        if (path_contains(path, look->roots[i].path))
            return true;
    return false;
}

/* What FD, a link, says stands before what is left. Return: 0 or -errno. */
static int take_link(struct following *following, int fd)
{
    char target[PATH_MAX];
    const ssize_t length = readlinkat(fd, "", target, sizeof(target));
    const size_t left = strlen(following->rest) + 1;

    if (length < 0)
        return -errno;
    if (++following->links > LINKS_MOST || (size_t)length + 1 + left > sizeof(following->rest))
        return -ELOOP;
    memmove(following->rest + length + 1, following->rest, left);
    memcpy(following->rest, target, (size_t)length);
    following->rest[length] = '/';
    if (following->rest[0] == '/')
        following->at[0] = '\0';
    return 0;
}

/* One name further. Return: 0 or -errno. */
static int take_name(const struct look *look, struct following *following, const char *name)
{
    const size_t length = strlen(following->at);
    struct stat status;
    _cleanup_fd_ int fd = -1;

    if (strcmp(name, "..") == 0) {
        char *slash = strrchr(following->at, '/');

        if (slash)
            *slash = '\0';
        return 0;
    }
    if (length + strlen(name) + 2 > sizeof(following->at))
        return -ENAMETOOLONG;
    snprintf(following->at + length, sizeof(following->at) - length, "/%s", name);
    if (!look_root_of(look, following->at))
        return is_above_root(look, following->at) ? 0 : -EXDEV;
    fd = look_open(look, following->at, O_PATH, NULL);
    if (fd < 0 || fstat(fd, &status) != 0)
        return fd < 0 ? fd : -errno;
    if (!S_ISLNK(status.st_mode))
        return 0;
    following->at[length] = '\0';
    return take_link(following, fd);
}

int look_follow(const struct look *look, const char *path, int flags, char **ret_path)
{
    struct following following = {.at = ""};

    if (strlen(path) >= PATH_MAX)
        return -ENAMETOOLONG;
    snprintf(following.rest, sizeof(following.rest), "%s", path);
    for (char *from = following.rest; *from; from = following.rest) {
        char name[NAME_MAX + 1];
        size_t length;
        int r;

        from += strspn(from, "/");
        length = strcspn(from, "/");
        if (length > NAME_MAX)
            return -ENAMETOOLONG;
        memcpy(name, from, length);
        name[length] = '\0';
        memmove(following.rest, from + length, strlen(from + length) + 1);
        r = length == 0 || strcmp(name, ".") == 0 ? 0 : take_name(look, &following, name);
        if (r < 0)
            return r;
    }
    return look_open(look, following.at[0] ? following.at : "/", flags, ret_path);
}
