/*
 * resolve_overlays.c - what a backend that mounts needs to lay a private cache over the user's own.
 *
 * The place keeps its name, so the tool finds there what the user has, and what
 * it writes goes to a directory of this workspace below the user's cache
 * directory, which nothing but the overlay reaches: it is in no grant.
 *
 * Two mounts mustn't share an upper: the kernel calls what follows undefined,
 * and it was seen to refuse every write into a directory that the other one
 * copied up. So there are several sets of uppers, and a lock says which are
 * taken. With all of them taken the variables have to do.
 *
 * An overlay costs a third of a millisecond or more, the making of its marks on
 * the disk: only tools that the workspace is seen to use get one. What a tool
 * had first it keeps, or what it fetched would be lost to the next run.
 *
 * Should:  leave out what an overlay would show or cover: hidden, protected and
 *          granted paths, or a place that the command may not read.
 * Mustn't: make anything at the place, or believe that a file system can be
 *          written through: it is asked whether it keeps an overlay's marks.
 */
#include "policy/resolve_internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SETS 8

/* File systems that are known to work below an overlay's writes. */
static const unsigned long upper_types[] = {
    0xef53,     /* ext4 */
    0x58465342, /* xfs */
    0x9123683e, /* btrfs */
    0xf2f52010, /* f2fs */
    0x2fc12fc1, /* zfs */
    0xca451a4e, /* bcachefs */
    0x01021994, /* tmpfs */
};

static bool carries_uppers(int fd)
{
    struct statfs statfs;
    bool known = false;

    if (fstatfs(fd, &statfs) != 0)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(upper_types); i++)
        known |= ((unsigned long)statfs.f_type & 0xffffffff) == upper_types[i];
    /* A file system without such attributes says EOPNOTSUPP. */
    return known && getxattr(FD_NAME(fd), "user.overlay.opaque", NULL, 0) < 0 && errno == ENODATA;
}

/* Does an overlay on @place stay clear of everything that the policy says? */
static bool stays_clear(const struct resolved *resolved, const char *place)
{
    bool readable = false;

    for (size_t i = 0; i < resolved->path_count; i++) {
        const struct resolved_path *path = &resolved->paths[i];

        if (path->grant == GRANT_NONE)
            continue;
        if (path->grant == GRANT_READ && path_contains(path->path, place))
            readable = true;
        else if (path_contains(place, path->path) ||
                 (path->grant == GRANT_WRITE && path_contains(path->path, place)))
            return false;
    }
    for (size_t i = 0; i < resolved->hidden_count; i++)
        if (path_contains(place, resolved->hidden[i].path) || path_contains(resolved->hidden[i].path, place))
            return false;
    for (size_t i = 0; i < resolved->protected_paths.count; i++)
        if (path_contains(place, resolved->protected_paths.items[i]))
            return false;
    return readable;
}

/* Opens @place below @home without following anything: a place elsewhere keeps its variable. */
static int open_place(const struct resolving *resolving, const struct opened *home, const char *place,
                      struct opened *opened)
{
    char name[64], *rest = name;
    int fd = fd_copy(home->fd, 3);

    snprintf(name, sizeof(name), "%s", place);
    for (char *step = strsep(&rest, "/"); step && fd >= 0; step = strsep(&rest, "/")) {
        int next = openat(fd, step, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        fd_close(fd);
        fd = next;
    }
    *opened = (struct opened){.fd = fd};
    if (fd < 0)
        return -ENOENT;
    /* Copying up gives the copy its owner and group, and strangers have no number inside. */
    if (fstat(fd, &opened->st) != 0 || opened->st.st_uid != resolving->resolved->uid ||
        opened->st.st_gid != resolving->resolved->gid)
        return -ENOENT;
    return asprintf(&opened->path, "%s/%s", home->path, place) < 0 ? -ENOMEM : 0;
}

/* The first set of uppers that is free, locked. Return: its number, or -1. */
static int take_set(struct resolving *resolving, const struct opened *home, const char *name)
{
    for (int set = 0; set < SETS; set++) {
        char number[4];
        _cleanup_fd_ int fd = -1, lock = -1;

        snprintf(number, sizeof(number), "%d", set);
        fd = cache_directory(resolving, home, (const char *[]){".cache", "confine", "overlays", name, number},
                             5, NULL);
        if (fd < 0 || !carries_uppers(fd))
            return -1;
        lock = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (lock < 0)
            return -1;
        if (flock(lock, LOCK_EX | LOCK_NB) == 0) {
            resolving->resolved->cache_lock = steal_fd(&lock);
            return set;
        }
        if (errno != EWOULDBLOCK)
            return -1;
    }
    return -1;
}

/* What one overlay needs, before it is known whether there is a set for it. */
struct overlay {
    struct opened place;
    size_t index;
};

/* Is one of the signs in the workspace, or where the command starts? */
static bool has_sign(const struct resolved *resolved, const struct cache *cache)
{
    for (size_t i = 0; i < ARRAY_SIZE(cache->signs) && cache->signs[i]; i++)
        if (faccessat(resolved->workspace_fd, cache->signs[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
            faccessat(resolved->cwd_fd, cache->signs[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            return true;
    return false;
}

/* Is there `~/.cache/confine/KIND/NAME/DIRECTORY`? Return: 1 yes, 0 no, -ENOMEM. */
static int has_private(const struct opened *home, const char *kind, const char *name, const char *directory)
{
    _cleanup_free_ char *path = NULL;

    if (asprintf(&path, ".cache/confine/%s/%s/%s", kind, name, directory) < 0)
        return -ENOMEM;
    return faccessat(home->fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Return: 1 when the cache is for an overlay, 0 when the variable is right, -ENOMEM. */
static int wants_overlay(const struct resolving *resolving, const struct opened *home,
                         const struct cache *cache, const char *name)
{
    char first[64];
    int r;

    if (!cache->places[0] || cache_is_own(resolving, home->path, cache) ||
        cache_is_set(resolving, home->path, cache->moved, cache->moved_usual))
        return 0;
    snprintf(first, sizeof(first), "0/%s", cache->directory);
    r = has_private(home, "overlays", name, first);
    if (r != 0)
        return r;
    if (!has_sign(resolving->resolved, cache))
        return 0;
    r = has_private(home, "caches", name, cache->directory);
    return r < 0 ? r : !r;
}

/* Return: 0 with the place open, -ENOENT, -ENOMEM. */
static int find_place(struct resolving *resolving, const struct opened *home, const struct cache *cache,
                      struct opened *place)
{
    int r = -ENOENT;

    for (size_t i = 0; i < ARRAY_SIZE(cache->places) && cache->places[i] && r == -ENOENT; i++) {
        opened_free(place);
        r = open_place(resolving, home, cache->places[i], place);
    }
    if (r == 0 && !stays_clear(resolving->resolved, place->path))
        r = -ENOENT;
    return r;
}

/* Takes @overlay's place over. Return: 0, -ENOENT, -ENOMEM. */
static int add_overlay(struct resolving *resolving, const struct opened *home, const char *name, int set,
                       struct overlay *overlay)
{
    struct resolved *resolved = resolving->resolved;
    const struct cache *cache = &cache_table[overlay->index];
    struct cache_choice *choice = &resolved->caches[overlay->index];
    _cleanup_opened_ struct opened upper = {.fd = -1};
    char number[4];
    size_t place_index, upper_index;
    int r = 0;

    snprintf(number, sizeof(number), "%d", set);
    upper.fd = cache_directory(
        resolving, home, (const char *[]){".cache", "confine", "overlays", name, number, cache->directory}, 6,
        NULL);
    if (upper.fd < 0 || fstat(upper.fd, &upper.st) != 0)
        return -ENOENT;
    if (asprintf(&upper.path, "%s/.cache/confine/overlays/%s/%s/%s", home->path, name, number,
                 cache->directory) < 0)
        return -ENOMEM;
    if (cache->overlaid && cache->usual)
        r = strings_addf(&choice->env_overlaid, "%s=%s/%s", cache->variable, home->path, cache->usual);
    else if (cache->overlaid)
        r = strings_addf(&choice->env_overlaid, "%s=%s", cache->variable, overlay->place.path);
    if (r == 0)
        r = resolving_add(resolving, &overlay->place, GRANT_NONE, false, true, &place_index);
    if (r == 0)
        r = resolving_add(resolving, &upper, GRANT_NONE, false, true, &upper_index);
    if (r == 0) {
        choice->place = place_index;
        choice->upper = upper_index;
    }
    return r;
}

static int add_overlays(struct resolving *resolving, const struct opened *home, struct overlay *overlays,
                        size_t count, const char *name)
{
    int set = take_set(resolving, home, name);
    int r = 0;

    for (size_t i = 0; i < count && set >= 0 && r != -ENOMEM; i++)
        r = add_overlay(resolving, home, name, set, &overlays[i]);
    return r;
}

/* Backends that cannot mount are only ever taken by name, or after those that can. */
static bool may_mount(const struct policy *policy)
{
    return !policy->backend || strcmp(policy->backend, "auto") == 0 ||
           strcmp(policy->backend, "namespace") == 0;
}

/* The private directory of the variables is there if and only if overlays can have theirs. */
static bool keeps_private(const struct resolving *resolving)
{
    const struct resolved *resolved = resolving->resolved;

    for (size_t i = 0; i < resolved->cache_count; i++)
        for (size_t j = 0; j < resolved->caches[i].env.count; j++)
            if (strstr(resolved->caches[i].env.items[j], "=" TMP_PLACEHOLDER "/"))
                return false;
    return resolved->cache_count > 0;
}

int resolve_overlays(struct resolving *resolving)
{
    const struct resolved *resolved = resolving->resolved;
    _cleanup_free_ struct overlay *overlays = NULL;
    _cleanup_opened_ struct opened home = {.fd = -1};
    _cleanup_free_ char *name = NULL;
    size_t count = 0;
    int r = 0;

    if (!may_mount(resolving->policy) || resolved->mode != MODE_WORKSPACE_WRITE || !resolved->workspace ||
        !keeps_private(resolving))
        return 0;
    name = cache_name(resolved->workspace);
    overlays = calloc(cache_table_count, sizeof(*overlays));
    if (!overlays || !name)
        return error_no_memory(resolving->error);
    r = open_cache_home(resolving, &home);
    if (r == 0 && is_private_place(home.path)) /* no place of it is seen inside */
        return 0;
    for (size_t i = 0; i < cache_table_count && r != -ENOMEM && home.fd >= 0; i++) {
        struct overlay *overlay = &overlays[count];

        *overlay = (struct overlay){.place = {.fd = -1}, .index = i};
        r = wants_overlay(resolving, &home, &cache_table[i], name);
        if (r > 0)
            r = find_place(resolving, &home, &cache_table[i], &overlay->place);
        else if (r == 0)
            r = -ENOENT;
        if (r == 0)
            count++;
        else
            opened_free(&overlay->place);
    }
    if (r != -ENOMEM && count > 0)
        r = add_overlays(resolving, &home, overlays, count, name);
    for (size_t i = 0; i < count; i++)
        opened_free(&overlays[i].place);
    return r == -ENOMEM ? error_no_memory(resolving->error) : 0;
}
