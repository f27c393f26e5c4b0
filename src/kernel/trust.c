/*
 * trust.c - who could have written a program, or put another one in its place.
 *
 * Should:  look at the program and every directory above it: whoever may write one of them chooses what runs.
 * Mustn't: follow a link: what it leads to would have to be looked at as well, and anew each time.
 */
#include "kernel/trust.h"

#include "kernel/identity.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A private group (its number is the owner's) is the owner alone; root's group is root's. */
static bool others_can_write(const struct stat *object, uid_t caller)
{
    bool private_group = object->st_gid == 0 || (object->st_uid == caller && object->st_gid == getgid());

    if (object->st_uid != caller && !identity_is_root(object->st_uid))
        return true;
    if (S_ISDIR(object->st_mode) && (object->st_mode & S_ISVTX))
        return false; /* others add names there, but cannot replace ours */
    return (object->st_mode & S_IWOTH) || ((object->st_mode & S_IWGRP) && !private_group);
}

static int look_at(const char *path, uid_t caller)
{
    struct stat object;

    if (lstat(path, &object) != 0)
        return -errno;
    if (S_ISLNK(object.st_mode))
        return -ELOOP;
    return others_can_write(&object, caller) ? -EPERM : 0;
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
