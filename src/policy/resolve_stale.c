/*
 * resolve_stale.c - the empty caches of workspaces that are gone.
 *
 * Every workspace gets a directory for its private caches at its first run, and
 * most commands leave it empty. Whoever makes a workspace for each task would
 * gather them for good. So the first run in a workspace takes away those that
 * are empty and belong to a workspace that is not there any more.
 *
 * Mustn't: take one that holds anything: the kernel refuses that. Take one from
 *          a run in a workspace that cannot be seen from here, as another
 *          container or machine with the same home has: a day must have passed.
 *          Wait for a file system that does not answer: nothing is looked at
 *          across a mount.
 */
#include "policy/resolve_internal.h"

#include "kernel/object.h"
#include "links/kernel_abi.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* What is looked at in one run: some milliseconds. What is left over is the next new workspace's. */
#define LOOKED_AT 1000
#define DAY       (24L * 60 * 60)

/* The workspace that cache_name() made @name of, in @path. Return: whether there is one. */
static bool workspace_of(const char *name, char path[static PATH_MAX])
{
    size_t length = 0;

    path[length++] = '/';
    for (const char *at = name; *at; at++) {
        unsigned code;

        if (length + 1 >= PATH_MAX || (*at == '-' && path[length - 1] == '/'))
            return false;
        if (*at == '-')
            path[length++] = '/';
        else if (*at != '%')
            path[length++] = *at;
        else if (sscanf(at + 1, "%2x", &code) == 1 && code != 0 && at[1] && at[2]) {
            path[length++] = (char)code;
            at += 2;
        } else
            return false;
    }
    path[length] = '\0';
    return path[length - 1] != '/';
}

/* Is there nothing at @path? It is looked for from the deepest directory that it shares with @workspace,
 * which is there and answers, on the same mount and without following links. */
static bool is_gone(const char *path, const char *workspace)
{
    char shared[PATH_MAX];
    size_t from = 0;
    _cleanup_fd_ int base = -1, found = -1;

    for (size_t i = 0; path[i] && path[i] == workspace[i]; i++)
        if (path[i] == '/')
            from = i + 1;
    memcpy(shared, path, from);
    shared[from] = '\0';
    base = object_open(AT_FDCWD, shared, O_DIRECTORY, 0);
    if (base < 0)
        return false;
    found = object_open(base, path + from, O_NOFOLLOW, RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS);
    return found == -ENOENT || found == -ENOTDIR;
}

/* Has nothing been put in or taken out of it for a day? */
static bool is_old(int caches, const char *name)
{
    struct stat st;

    return fstatat(caches, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mtime < time(NULL) - DAY;
}

void forget_stale_caches(int own, const char *workspace)
{
    int fd = openat(own, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *caches = fd < 0 ? NULL : fdopendir(fd);
    char path[PATH_MAX];
    struct dirent *entry;

    if (!caches) {
        fd_close(fd);
        return;
    }
    for (size_t i = 0; i < LOOKED_AT && (entry = readdir(caches)); i++)
        if (entry->d_name[0] != '.' && workspace_of(entry->d_name, path) && is_gone(path, workspace) &&
            is_old(dirfd(caches), entry->d_name))
            unlinkat(dirfd(caches), entry->d_name, AT_REMOVEDIR);
    closedir(caches);
}
