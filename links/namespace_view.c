/*
 * namespace_view.c - what there is to see: the host's tree, read-only, with private parts.
 *
 * The new mount namespace is the private copy already, so its root is changed
 * in place: nothing is cloned as a whole, moved, pivoted or unmounted. All that
 * is private is part of one tmpfs, mounted on /dev and covered by its own part.
 * Half of it, `still`, is seen through a read-only mount.
 *
 * Should:  take clones while everything is as it was: device nodes before
 *          NODEV, writable roots before RDONLY; believe each step by its effect.
 * Mustn't: create anything on the host's file systems, or leave a mount of
 *          theirs writable that is not a root of its own.
 */
#include "namespace.h"

#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#define INODE_BYTES  2048 /* one inode of the tmpfs per so many bytes of its size */
#define INODES_SPARE 4096

/* --- small steps ---------------------------------------------------------------------------------------- */

/* namespace_open_directory() - the directory NAME below DIRECTORY, no link. Return: a descriptor of the
 * caller's; ends the link on failure. */
int namespace_open_directory(const struct namespace *ns, int directory, const char *name)
{
    int fd = openat(directory, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        chain_fatal_errno(ns->chain, name, errno);
    return fd;
}

/* namespace_make_directory() - a directory of the pool, in the half that is seen read-only where STILL. */
void namespace_make_directory(const struct namespace *ns, bool still, const char *name, mode_t mode)
{
    if (mkdirat(still ? ns->draft : ns->pool, name, mode) != 0)
        chain_fatal_errno(ns->chain, name, errno);
}

/* namespace_attach_part() - the directory NAME of the pool on PLACE, as HALF (the pool, or its read-only
 * half) shows it. */
void namespace_attach_part(const struct namespace *ns, int half, const char *name, const char *place)
{
    int mount = mount_clone(half, name, 0), error;

    if (mount < 0)
        namespace_cannot(ns, CANNOT_MOUNT, place, -mount);
    error = mount_attach_at(mount, AT_FDCWD, place);
    if (error)
        namespace_cannot(ns, CANNOT_MOUNT, place, -error);
    close(mount);
}

static void change_root(const struct namespace *ns, uint64_t set, uint64_t propagation)
{
    const struct mount_attributes attributes = {.set = set, .propagation = propagation};
    int error = mount_change(AT_FDCWD, "/", MOUNT_TREE_RECURSIVE, &attributes);

    if (error)
        namespace_cannot(ns, CANNOT_MOUNT, "attributes of the root", -error);
}

/*
 * namespace_make_part() - a directory of the pool for one purpose.
 * @still: in the half that is seen read-only
 * @name:  filled with its name below the pool, or below the read-only half
 *
 * Return: its descriptor, for making things in it. Ends the link on failure.
 */
int namespace_make_part(struct namespace *ns, bool still, mode_t mode, char name[NAMESPACE_PART])
{
    snprintf(name, NAMESPACE_PART, "part%u", ns->parts++);
    namespace_make_directory(ns, still, name, mode);
    return namespace_open_directory(ns, still ? ns->draft : ns->pool, name);
}

/* namespace_make_point() - the mount point of an item that lies in a place, which holds nothing of itself. */
void namespace_make_point(const struct namespace *ns, const struct namespace_item *item)
{
    const struct namespace_item *place = item->above;
    char path[PATH_MAX], *end;

    if (item->length <= place->length)
        return;
    if (item->length - place->length > sizeof(path))
        chain_fatal_errno(ns->chain, item->name, ENAMETOOLONG);
    memcpy(path, item->name + place->length + 1, item->length - place->length);
    if (place->shared) {
        namespace_make_shared_point(ns, place->part, path, item->mode, item->name);
        return;
    }
    for (end = strchr(path, '/'); end; end = strchr(end + 1, '/')) {
        *end = '\0';
        if (mkdirat(place->part, path, 0755) != 0 && errno != EEXIST)
            chain_fatal_errno(ns->chain, item->name, errno);
        *end = '/';
    }
    if ((S_ISDIR(item->mode) ? mkdirat(place->part, path, 0755)
                             : mknodat(place->part, path, S_IFREG | 0444, 0)) != 0 &&
        errno != EEXIST)
        chain_fatal_errno(ns->chain, item->name, errno);
}

/* Puts the item's clone where its name leads in the view as it is now. */
static void attach_item(const struct namespace *ns, struct namespace_item *item)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    uint64_t attached = 0, seen = 1;
    int at, error;

    if (item->at >= 0) {
        at = item->at;
    } else if (item->above && item->above->part >= 0) {
        namespace_make_point(ns, item);
        at = (int)kernel_call(SYS_openat2, AT_FDCWD, KERNEL_PTR(item->name), KERNEL_PTR(&how), sizeof(how), 0,
                              0); /* private: nobody else is in there, and the point is another object */
    } else {
        at = namespace_open(ns, item, O_PATH);
    }
    if (at == -ENOSYS)
        namespace_cannot(ns, CANNOT_MOUNT, "openat2", ENOSYS);
    if (at < 0)
        chain_fatal_errno(ns->chain, item->name, -at);
    error = mount_attach(item->clone, at);
    if (error)
        namespace_cannot(ns, CANNOT_MOUNT, item->name, -error);
    if (mount_number(item->clone, "", &attached) != 0 || mount_number(AT_FDCWD, item->name, &seen) != 0 ||
        attached != seen)
        chain_fatal(ns->chain, item->name,
                    "was replaced while the view was built, or the kernel reported success without effect");
    close(at);
    close(item->clone);
    item->clone = item->at = -1;
    item->shown = true;
}

/* --- clones --------------------------------------------------------------------------------------------- */

/* A root that lies in another is a part of it: two mounts would make link and rename between them EXDEV. */
static bool needs_clone(const struct namespace_item *item)
{
    const struct namespace_item *above = item->above;

    if (item->kind == KIND_RW)
        return !above || above->kind != KIND_RW;
    if (item->kind == KIND_RO || item->kind == KIND_SOCKET)
        return above && (above->part >= 0 || above->kind == KIND_COVER || above->kind == KIND_OVERLAY ||
                         above->kind == KIND_PLACE || (above->kind == KIND_HIDE && above->keeps));
    return item->kind == KIND_UPPER || item->kind == KIND_DEVICE;
}

/* Is what is opened now also what the item will be attached to? The root is changed in place, so it is where
 * nothing of the view will cover the name. */
static bool stays(const struct namespace_item *item)
{
    const struct namespace_item *above = item->above;

    while (above && above->kind == KIND_RO && !needs_clone(above))
        above = above->above;
    return item->kind == KIND_RW && !above;
}

static void clone_items(const struct namespace *ns, const bool kinds[KIND_COUNT])
{
    for (size_t i = 0; i < ns->count; i++) {
        struct namespace_item *item = ns->items[i];
        int fd;

        if (!kinds[item->kind] || !needs_clone(item))
            continue;
        fd = namespace_open(ns, item, O_PATH);
        if (fd == -ENOENT || fd == -ENOTDIR)
            chain_fatal(ns->chain, item->name, "was replaced while the view was built");
        if (fd < 0)
            chain_fatal_errno(ns->chain, item->name, -fd);
        item->clone = mount_clone(fd, "", S_ISDIR(item->mode) ? MOUNT_TREE_RECURSIVE : 0);
        if (item->clone < 0)
            namespace_cannot(ns, CANNOT_MOUNT, item->name, -item->clone);
        if (stays(item))
            item->at = fd;
        else
            close(fd);
    }
}

/* What an overlay shows that would else lie on a cover: opened while there is none. */
static void open_lowers(const struct namespace *ns)
{
    for (size_t i = 0; i < ns->count; i++) {
        struct namespace_item *item = ns->items[i];

        if (!namespace_has_lower(item))
            continue;
        item->lower = namespace_open(ns, item, O_PATH | O_DIRECTORY);
        if (item->lower == -ENOENT || item->lower == -ENOTDIR)
            chain_fatal(ns->chain, item->name, "was replaced while the view was built");
        if (item->lower < 0)
            chain_fatal_errno(ns->chain, item->name, -item->lower);
    }
}

/* --- the pool and its parts ----------------------------------------------------------------------------- */

/* namespace_tmpfs_options() - the options of a tmpfs of the size that was asked for, with MODE in octal. */
void namespace_tmpfs_options(const struct namespace *ns, const char *mode, char *options, size_t size)
{
    int length = snprintf(options, size, "mode=%s", mode);

    if (ns->tmp_size)
        snprintf(options + length, size - (size_t)length, ",size=%llu,nr_inodes=%llu",
                 (unsigned long long)ns->tmp_size,
                 (unsigned long long)(ns->tmp_size / INODE_BYTES + INODES_SPARE));
}

static void make_pool(struct namespace *ns)
{
    char options[96];
    struct statfs seen = {0};
    struct stat root;
    int clone, error;
    const struct mount_attributes read_only = {.set = MOUNT_READ_ONLY};

    namespace_tmpfs_options(ns, "0755", options, sizeof(options));
    if (mount("tmpfs", "/dev", "tmpfs", MS_NOSUID | MS_NODEV, options) != 0)
        namespace_cannot(ns, CANNOT_MOUNT, "tmpfs", errno);
    ns->pool = namespace_open_directory(ns, AT_FDCWD, "/dev");
    if (fstatfs(ns->pool, &seen) != 0 || fstat(ns->pool, &root) != 0)
        chain_fatal_errno(ns->chain, "tmpfs", errno);
    if (seen.f_type != MOUNT_TYPE_TMPFS || !(seen.f_flags & ST_NODEV) || (seen.f_flags & ST_RDONLY))
        chain_fatal(ns->chain, "tmpfs", "the kernel reported success but mounted none");
    ns->pool_device = root.st_dev;
    namespace_make_directory(ns, false, "still", 0755);
    ns->draft = namespace_open_directory(ns, ns->pool, "still");
    clone = mount_clone(ns->pool, "still", 0);
    if (clone < 0)
        namespace_cannot(ns, CANNOT_MOUNT, "tmpfs", -clone);
    error = mount_change(clone, "", 0, &read_only);
    if (!error)
        error = mount_attach(clone, ns->draft);
    if (error)
        namespace_cannot(ns, CANNOT_MOUNT, "tmpfs", -error);
    ns->still = clone;
    if (fstatfs(clone, &seen) != 0 || !(seen.f_flags & ST_RDONLY))
        chain_fatal(ns->chain, "tmpfs", "the kernel reported success but half of it is not read-only");
}

/* --- the pass over all items ---------------------------------------------------------------------------- */

/* A place that the runs of a session have in common. */
static void attach_shared(const struct namespace *ns, struct namespace_item *place, int shared)
{
    int error = mount_attach_at(shared, AT_FDCWD, place->name);

    if (error)
        namespace_cannot(ns, CANNOT_MOUNT, place->name, -error);
    place->part = shared;
    place->shared = true;
}

static void attach_place(struct namespace *ns, struct namespace_item *place)
{
    bool tmp = strcmp(place->word, "tmp") == 0, still = !tmp && strcmp(place->word, "shm") != 0;
    int shared = still ? -1 : ns->shared[tmp ? 0 : 1];
    struct stat made = {0}, seen = {0};

    if (shared >= 0) {
        attach_shared(ns, place, shared);
    } else {
        namespace_make_directory(ns, still, place->word, still ? 0755 : 01777);
        place->part = namespace_open_directory(ns, still ? ns->draft : ns->pool, place->word);
        namespace_attach_part(ns, still ? ns->still : ns->pool, place->word, place->name);
    }
    if (fstat(place->part, &made) != 0 || stat(place->name, &seen) != 0 || seen.st_dev != made.st_dev ||
        (shared < 0 && seen.st_dev != ns->pool_device) || seen.st_ino != made.st_ino)
        chain_fatal(ns->chain, place->name, "the kernel reported success but it is not private");
    place->shown = true;
}

static void show_item(struct namespace *ns, struct namespace_item *item)
{
    static void (*const steps[KIND_COUNT])(struct namespace *, struct namespace_item *) = {
        [KIND_PLACE] = attach_place,  [KIND_OVERLAY] = namespace_overlay, [KIND_COVER] = namespace_cover,
        [KIND_COPY] = namespace_copy, [KIND_PROTECT] = namespace_protect, [KIND_HIDE] = namespace_hide,
    };

    if (steps[item->kind])
        steps[item->kind](ns, item);
    else if (item->clone >= 0 && item->kind != KIND_UPPER)
        attach_item(ns, item);
}

/* Each by its effect: the root's flags, and an act that changes nothing. */
static void check_view(const struct namespace *ns)
{
    const unsigned long wanted = ST_RDONLY | ST_NOSUID | ST_NODEV;
    struct statfs root = {0}, pts = {0}, null = {0};

    if (statfs("/", &root) != 0 || statfs("/dev/pts", &pts) != 0 || statfs("/dev/null", &null) != 0)
        chain_fatal_errno(ns->chain, "view", errno);
    if (((unsigned long)root.f_flags & wanted) != wanted)
        chain_fatal(ns->chain, "root", "the kernel reported success but it is not read-only");
    if (!(null.f_flags & ST_RDONLY) || !(null.f_flags & ST_NOSUID))
        chain_fatal(ns->chain, "/dev", "the kernel reported success but it is not read-only");
    if (pts.f_type != MOUNT_TYPE_DEVPTS)
        chain_fatal(ns->chain, "/dev/pts", "the kernel reported success but mounted none");
    if (rename("/proc", "/proc") == 0 || errno != EROFS)
        chain_fatal(ns->chain, "root", "the kernel reported success but it can be written");
}

/*
 * namespace_build_view() - everything that a mount can do; needs the capabilities of the new namespaces.
 *
 * Ends the link where any of it fails.
 */
void namespace_build_view(struct namespace *ns)
{
    static const bool devices[KIND_COUNT] = {[KIND_DEVICE] = true};
    static const bool writable[KIND_COUNT] = {[KIND_RW] = true, [KIND_UPPER] = true};
    static const bool readable[KIND_COUNT] = {[KIND_RO] = true, [KIND_SOCKET] = true};
    int clones[NAMESPACE_DEVICES];

    ns->umask = umask(0);
    namespace_clone_devices(ns, clones);
    clone_items(ns, devices);
    change_root(ns, MOUNT_NO_SETUID | MOUNT_NO_DEVICES, MOUNT_PRIVATE);
    clone_items(ns, writable);
    change_root(ns, MOUNT_READ_ONLY, 0);
    clone_items(ns, readable);
    open_lowers(ns);
    make_pool(ns);
    namespace_build_dev(ns, clones);
    for (size_t i = 0; i < ns->count; i++) {
        show_item(ns, ns->items[i]);
        if (ns->items[i]->lower >= 0)
            close(ns->items[i]->lower);
    }
    namespace_pin(ns);
    check_view(ns);
}
