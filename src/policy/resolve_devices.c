/*
 * resolve_devices.c - no device node is read because `/` may be read.
 *
 * A grant to read `/` reaches /dev as well: the caller's terminals (a command that opens /dev/pts/N reads
 * what is typed there, whatever session it is in), consoles, input devices, disks. So /dev is taken out of
 * what may be read as a whole, by the layer that hides paths, and what was granted in it is shown again.
 *
 * The same devices may be mounted a second time (a container that got the host's /dev, a chroot): these
 * mounts are taken out as well, or the claims are lowered.
 *
 * Should:  keep the list of /dev readable (names are no secret) and shared memory usable.
 * Mustn't: let a name below /dev be read that was not granted as a device; make a level of a directory in
 * which readable names appear later (/proc).
 */
#include "policy/resolve_internal.h"

#include <fcntl.h>
#include <sys/sysmacros.h>

#define SIBLINGS_MOST 512 /* as for what is hidden */

/* Directories in /dev that hold files, not devices. */
static const char *const file_places[] = {"/dev/shm", "/dev/mqueue", "/dev/hugepages"};

static bool is_file_place(const char *path)
{
    for (size_t i = 0; i < ARRAY_SIZE(file_places); i++)
        if (path_contains(file_places[i], path))
            return true;
    return false;
}

static bool is_granted_device(const struct resolved *resolved, const char *path)
{
    for (size_t i = 0; i < resolved->path_count; i++)
        if (resolved->paths[i].grant == GRANT_DEVICE && strcmp(resolved->paths[i].path, path) == 0)
            return true;
    return false;
}

/* Somebody asked to read a device by --read: that is what --device is for. */
static int refuse_read(struct resolving *resolving)
{
    for (size_t i = 0; i < resolving->read_named.count; i++) {
        const char *path = resolving->read_named.items[i];

        if (!path_contains("/dev", path) || is_file_place(path) ||
            is_granted_device(resolving->resolved, path))
            continue;
        error_set(resolving->error, ERROR_POLICY_INVALID, 0, "device-read",
                  "--read %s: it is a device, or holds some", QUOTE(path));
        error_surface(resolving->error, surface_table[SURFACE_FS_DEVICE].name);
        return error_hint(resolving->error, "name the node that is needed: --device PATH");
    }
    return 0;
}

static struct hide_level *find_level(struct resolved *resolved, const char *path)
{
    for (size_t i = 0; i < resolved->level_count; i++)
        if (strcmp(resolved->paths[resolved->levels[i].path].path, path) == 0)
            return &resolved->levels[i];
    return NULL;
}

/* Makes the opened directory a level. Return: 0 or -ENOMEM. */
static int add_level(struct resolving *resolving, struct opened *directory, struct hide_level **ret)
{
    struct resolved *resolved = resolving->resolved;
    size_t index;

    if (!array_more(&resolved->levels, resolved->level_count, sizeof(*resolved->levels)) ||
        resolving_add(resolving, directory, GRANT_NONE, false, true, &index) < 0)
        return -ENOMEM;
    *ret = &resolved->levels[resolved->level_count++];
    **ret = (struct hide_level){.path = index};
    return 0;
}

/* The level of `/`, made if nothing else is hidden. Return: 0 or -ENOMEM. */
static int root_level(struct resolving *resolving, struct hide_level **ret)
{
    _cleanup_opened_ struct opened opened = {.fd = -1};
    int r;

    *ret = find_level(resolving->resolved, "/");
    if (*ret)
        return 0;
    r = path_open("/", &opened);
    return r < 0 ? r : add_level(resolving, &opened, ret);
}

/* --- the same devices, mounted elsewhere --------------------------------------------------------------- */

/* What a program may have in any case: null, zero, full, random, urandom, tty. Containers mount the first
 * over files that they mask. */
static bool is_harmless(const struct stat *st)
{
    static const unsigned minors[] = {3, 5, 7, 8, 9};

    for (size_t i = 0; i < ARRAY_SIZE(minors); i++)
        if (S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, minors[i]))
            return true;
    return S_ISCHR(st->st_mode) && st->st_rdev == makedev(5, 0);
}

static int count_one(const char *name, void *data)
{
    size_t *count = data;

    (void)name;
    return ++*count > SIBLINGS_MOST ? 1 : 0;
}

/* Can the command's user list it, and is it not too large? */
static bool can_be_level(const struct resolving *resolving, const struct opened *directory)
{
    const struct resolved *resolved = resolving->resolved;
    bool listable = resolved->uid == 0 || directory->st.st_uid == resolved->uid ||
                    (directory->st.st_mode & (S_IROTH | S_IRGRP));
    size_t count = 0;

    return listable && !resolved_under_writable(resolved, directory->path) &&
           !path_contains("/proc", directory->path) && !path_contains("/sys", directory->path) &&
           directory_names(directory->fd, count_one, &count) == 0;
}

/* Takes NAME out of the directory PATH, or with @look sees whether that is possible. Return: 1 when it was so
 * already and nothing below is granted, 0, or a negative errno (-EPERM: this directory cannot be a level). */
static int except_name(struct resolving *resolving, const char *path, const char *name, const char *below,
                       bool look)
{
    struct resolved *resolved = resolving->resolved;
    struct hide_level *level = find_level(resolved, path);
    _cleanup_opened_ struct opened opened = {.fd = -1};
    int r;

    if (level && strings_have(&level->except, name))
        return find_level(resolved, below) ? 0 : 1;
    if (!level) {
        r = path_open(path, &opened);
        if (r < 0 || strcmp(opened.path, path) != 0 || !can_be_level(resolving, &opened))
            return r == -ENOMEM ? r : -EPERM;
        if (look)
            return 0;
        if (add_level(resolving, &opened, &level) < 0)
            return -ENOMEM;
    }
    return look ? 0 : strings_add(&level->except, name);
}

/* Return: 0, -EPERM when it cannot be taken out (then nothing was changed), -ENOMEM. */
static int take_out(struct resolving *resolving, const char *mount, bool look)
{
    for (size_t i = 0; i < resolving->read_named.count; i++)
        if (path_contains(mount, resolving->read_named.items[i]))
            return -EPERM; /* somebody wants to read there */
    for (const char *slash = mount; slash; slash = strchr(slash + 1, '/')) {
        _cleanup_free_ char *directory = strndup(mount, slash == mount ? 1 : (size_t)(slash - mount));
        size_t length = strcspn(slash + 1, "/");
        _cleanup_free_ char *name = strndup(slash + 1, length);
        _cleanup_free_ char *below = strndup(mount, (size_t)(slash - mount) + 1 + length);
        int r = directory && name && below ? except_name(resolving, directory, name, below, look) : -ENOMEM;

        if (r != 0)
            return r > 0 ? 0 : r;
    }
    return 0;
}

static int take_mounts_out(struct resolving *resolving)
{
    struct strings mounts = {0};
    int r = device_mounts(&resolving->mounts, &mounts);

    if (r < 0 && r != -ENOMEM) {
        resolving->resolved->devices_elsewhere = true; /* nothing is known */
        r = 0;
    }
    for (size_t i = 0; i < mounts.count && r == 0; i++) {
        _cleanup_opened_ struct opened opened = {.fd = -1};

        r = path_open(mounts.items[i], &opened);
        if (r == 0 && !is_harmless(&opened.st))
            r = take_out(resolving, mounts.items[i], true) ?: take_out(resolving, mounts.items[i], false);
        if (r == -EPERM)
            resolving->resolved->devices_elsewhere = true;
        if (r != -ENOMEM)
            r = 0; /* out of the caller's reach, or noted */
    }
    strings_free(&mounts);
    return r;
}

/* resolve_devices() - take /dev out of what may be read. Return: 0 or a negative errno with the error set. */
int resolve_devices(struct resolving *resolving)
{
    struct hide_level *level;
    int r = refuse_read(resolving);

    if (r < 0)
        return r;
    r = root_level(resolving, &level);
    if (r < 0)
        return path_failed(resolving->error, "what is beside /dev", "/", -r);
    if (!strings_have(&level->except, "dev"))
        r = strings_add(&level->except, "dev");
    for (size_t i = 0; i < ARRAY_SIZE(file_places) && r == 0; i++) {
        _cleanup_opened_ struct opened opened = {.fd = -1};

        if (path_open(file_places[i], &opened) == 0)
            r = resolving_add(resolving, &opened, GRANT_SHOW, false, true, NULL);
    }
    if (r == 0)
        r = take_mounts_out(resolving);
    return r < 0 ? error_no_memory(resolving->error) : 0;
}
