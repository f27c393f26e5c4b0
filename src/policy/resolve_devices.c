/*
 * resolve_devices.c - no device node is read because `/` may be read.
 *
 * A grant to read `/` reaches /dev as well: the caller's terminals (a command that opens /dev/pts/N reads
 * what is typed there, whatever session it is in), consoles, input devices, disks. So /dev is taken out of
 * what may be read as a whole, by the layer that hides paths, and what was granted in it is shown again.
 *
 * Should:  keep the list of /dev readable (names are no secret) and shared memory usable.
 * Mustn't: let a name below /dev be read that was not granted as a device.
 */
#include "policy/resolve_internal.h"

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

/* The level of `/`, made if nothing else is hidden. Return: 0 or -ENOMEM. */
static int root_level(struct resolving *resolving, struct hide_level **ret)
{
    struct resolved *resolved = resolving->resolved;
    _cleanup_opened_ struct opened opened = {.fd = -1};
    size_t index;
    int r;

    for (size_t i = 0; i < resolved->level_count; i++)
        if (strcmp(resolved->paths[resolved->levels[i].path].path, "/") == 0) {
            *ret = &resolved->levels[i];
            return 0;
        }
    r = path_open("/", &opened);
    if (r == 0 && !array_more(&resolved->levels, resolved->level_count, sizeof(*resolved->levels)))
        r = -ENOMEM;
    if (r == 0)
        r = resolving_add(resolving, &opened, GRANT_NONE, false, true, &index);
    if (r < 0)
        return r;
    *ret = &resolved->levels[resolved->level_count++];
    **ret = (struct hide_level){.path = index};
    return 0;
}

/* resolve_devices() - take /dev out of what may be read. Return: 0 or a negative errno with the error set. */
int resolve_devices(struct resolving *resolving)
{
    struct hide_level *level;
    int r = refuse_read(resolving);

    if (r < 0)
        return r;
    r = root_level(resolving, &level);
    if (r == 0 && !strings_have(&level->except, "dev"))
        r = strings_add(&level->except, "dev");
    for (size_t i = 0; i < ARRAY_SIZE(file_places) && r == 0; i++) {
        _cleanup_opened_ struct opened opened = {.fd = -1};

        if (path_open(file_places[i], &opened) == 0)
            r = resolving_add(resolving, &opened, GRANT_SHOW, false, true, NULL);
    }
    return r < 0 ? error_no_memory(resolving->error) : 0;
}
