/*
 * trust.c - who could have written a program, or put another one in its place.
 *
 * Should:  look at the program and every directory above it: whoever may write one of them chooses what runs.
 *          Name every link on the way to one: where a link lies is decided what it leads to.
 * Mustn't: take a link for what it leads to now.
 */
#include "kernel/trust.h"

#include "kernel/identity.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LINKS_MOST 40 /* as many as the kernel follows */

bool trust_group_is_alone(const char *path)
{
    return lgetxattr(path, "system.posix_acl_access", NULL, 0) < 0 &&
           (errno == ENODATA || errno == EOPNOTSUPP);
}

/* A private group (its number is the owner's) is the owner alone; root's group is root's. */
static bool others_can_write(const char *path, const struct stat *object, uid_t caller)
{
    bool private_group = object->st_gid == 0 || (object->st_uid == caller && object->st_gid == getgid());

    if (object->st_uid != caller && !identity_is_root(object->st_uid))
        return true;
    if (S_ISLNK(object->st_mode) || (S_ISDIR(object->st_mode) && (object->st_mode & S_ISVTX)))
        return false; /* others add names there, but cannot replace ours */
    return (object->st_mode & S_IWOTH) ||
           ((object->st_mode & S_IWGRP) && !(private_group && trust_group_is_alone(path)));
}

static int look_at(const char *path, uid_t caller)
{
    struct stat object;

    if (lstat(path, &object) != 0)
        return -errno;
    if (others_can_write(path, &object, caller))
        return -EPERM;
    return S_ISLNK(object.st_mode) ? -ELOOP : 0;
}

int trust_look(char *path, size_t known, uid_t caller, size_t *ret_bad)
{
    int r = known == 0 ? look_at("/", caller) : 0;

    *ret_bad = 1;
    for (char *next = strchr(path + known + 1, '/'); r == 0; next = strchr(next + 1, '/')) {
        if (next)
            *next = '\0';
        *ret_bad = strlen(path);
        r = look_at(path, caller);
        if (!next)
            break;
        *next = '/';
    }
    return r;
}

/* A name that is being followed: what has been found, and what is still to go. */
struct way {
    char found[PATH_MAX], rest[2 * PATH_MAX];
    size_t links;
};

/* The link at `found`: its text goes in front of the rest, from the directory that it lies in. */
static int follow_link(struct way *way, size_t directory, struct strings *places)
{
    char target[PATH_MAX];
    ssize_t length = readlink(way->found, target, sizeof(target) - 1);
    size_t rest = strlen(way->rest);

    if (length <= 0)
        return length < 0 ? -errno : -ENOENT;
    if (++way->links > LINKS_MOST)
        return -ELOOP;
    if ((size_t)length + rest + 2 > sizeof(way->rest) || (size_t)length == sizeof(target) - 1)
        return -ENAMETOOLONG;
    if (strings_add(places, way->found) < 0)
        return -ENOMEM;
    memmove(way->rest + length + 1, way->rest, rest + 1);
    memcpy(way->rest, target, (size_t)length);
    way->rest[length] = '/';
    way->found[target[0] == '/' ? 0 : directory] = '\0';
    return 0;
}

/* One component. Takes it off the rest. */
static int follow_step(struct way *way, struct strings *places)
{
    size_t skip = strspn(way->rest, "/"), length = strcspn(way->rest + skip, "/"), at = strlen(way->found);
    const char *name = way->rest + skip;
    struct stat object = {0};
    int r = 0;

    if (length == 2 && strncmp(name, "..", 2) == 0) {
        char *slash = strrchr(way->found, '/');

        if (slash)
            *slash = '\0';
    } else if (length > 0 && !(length == 1 && *name == '.')) {
        if (at + length + 2 > sizeof(way->found))
            return -ENAMETOOLONG;
        way->found[at] = '/';
        memcpy(way->found + at + 1, name, length);
        way->found[at + 1 + length] = '\0';
        r = lstat(way->found, &object) == 0 ? 0 : -errno;
    }
    memmove(way->rest, name + length, strlen(name + length) + 1);
    if (r == 0 && S_ISLNK(object.st_mode))
        r = follow_link(way, at, places);
    return r;
}

int trust_follow(const char *name, struct strings *places)
{
    _cleanup_free_ struct way *way = calloc(1, sizeof(*way));
    int r = 0;

    if (!way)
        return -ENOMEM;
    if (strlen(name) >= PATH_MAX)
        return -ENAMETOOLONG;
    memcpy(way->rest, name, strlen(name) + 1);
    while (r == 0 && way->rest[strspn(way->rest, "/")])
        r = follow_step(way, places);
    if (r == 0 || r == -ENOENT || r == -EACCES)
        r = strings_add(places, *way->found ? way->found : "/") < 0 ? -ENOMEM : r;
    return r;
}
