/*
 * namespace_hide.c - what is laid over single names: masks, overlays, copies.
 *
 * A mask is an empty object of mode 000 on a read-only mount: nobody opens it,
 * root without capabilities included. The kernel takes it away when the name is
 * replaced outside; a cover (an overlay with whiteouts) hides by name instead.
 *
 * The kernel lays overlays two deep, and a container's root is one. So one that
 * lies in a cover shows what is there without it: it is mounted in the cover,
 * and has no layer of it.
 *
 * Should:  see each of them under its name when it is there.
 * Mustn't: change the object beneath, or take another one for it.
 */
#include "namespace.h"

#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#define COPY_MAX        (1 << 20) /* bytes of a file that is copied */
#define DESCRIPTOR_NAME 32

/* Does the item lie at or below one of the names that the cover takes away? */
static bool is_covered(const struct namespace_item *item, const struct namespace_item *cover)
{
    const char *rest = item->name + cover->length + 1;

    for (size_t i = 0; cover->kind == KIND_COVER && item->length > cover->length && i < cover->name_count;
         i++) {
        const char *name = cover->names[2 * i + 1];
        size_t length = strlen(name);

        if (strncmp(rest, name, length) == 0 && (rest[length] == '\0' || rest[length] == '/'))
            return true;
    }
    return false;
}

/* Has something that comes and goes gone since it was named, or been closed to us? A second call says so:
 * then there is nothing to mask, as where it was so from the beginning. */
static bool is_gone(const struct namespace_item *item, int error)
{
    struct stat seen;

    return item->comes && (error == ENOENT || error == ENOTDIR || error == EACCES) &&
           fstatat(AT_FDCWD, item->name, &seen, AT_SYMLINK_NOFOLLOW) != 0 && errno == error;
}

/* Was it taken away, the object that AT is open on, and a mask with it? What has its name now came later, as
 * all that comes after the start. */
static bool is_removed(const struct namespace_item *item, int at)
{
    struct stat object = {.st_nlink = 1};

    return item->comes && fstat(at, &object) == 0 && object.st_nlink == 0;
}

/* The item as it is seen, or -1 where nothing of it is: it lies in a place or below what is hidden. */
static int open_seen(const struct namespace *ns, const struct namespace_item *item, int flags)
{
    const struct namespace_item *above = item->above;
    int fd = namespace_open(ns, item, flags);

    if ((fd == -ENOENT || fd == -ENOTDIR) && above &&
        (above->kind == KIND_PLACE || above->kind == KIND_HIDE || is_covered(item, above)))
        return -1;
    for (int tries = 0; fd < 0 && item->comes && tries < NAMESPACE_TRIES; tries++) {
        if (is_gone(item, -fd))
            return -1;
        fd = namespace_open(ns, item, flags);
    }
    if (fd == -ENOENT || fd == -ENOTDIR)
        chain_fatal(ns->chain, item->name, "was replaced while the view was built");
    if (fd < 0)
        chain_fatal_errno(ns->chain, item->name, -fd);
    return fd;
}

/* Puts NAME of the read-only half on what AT is open on; it is seen by the item's name, or the link ends. */
static void lay_over(const struct namespace *ns, struct namespace_item *item, const char *name, int at,
                     mode_t mode)
{
    struct stat seen = {0};
    int mount = mount_clone(ns->still, name, 0), error;

    if (mount < 0)
        namespace_cannot(ns, CANNOT_MOUNT, item->name, -mount);
    error = mount_attach(mount, at);
    if (error && !is_removed(item, at))
        namespace_cannot(ns, CANNOT_MOUNT, item->name, -error);
    close(mount);
    item->shown = fstatat(AT_FDCWD, item->name, &seen, AT_SYMLINK_NOFOLLOW) == 0 &&
                  seen.st_dev == ns->pool_device && (seen.st_mode & 07777) == mode;
    if (!item->shown && !is_removed(item, at))
        chain_fatal(ns->chain, item->name, "the kernel reported success but it is still there");
}

/* The two empty objects that every mask is a mount of; made when there is a first one. */
static void make_masks(struct namespace *ns)
{
    if (ns->masks)
        return;
    if (mkdirat(ns->draft, "void", 0) != 0 || mknodat(ns->draft, "null", S_IFREG, 0) != 0)
        chain_fatal_errno(ns->chain, "mask", errno);
    ns->masks = true;
}

/* A hidden directory with something visible below: nothing but the way to that, which cannot be listed. */
static void hide_around(struct namespace *ns, struct namespace_item *item)
{
    const bool private = item->above && item->above->part >= 0;
    char name[NAMESPACE_PART];
    int at;

    item->part = namespace_make_part(ns, true, 0111, name);
    if (private)
        namespace_make_point(ns, item);
    at = private ? open(item->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                 : open_seen(ns, item, O_PATH | O_DIRECTORY);
    if (at < 0)
        chain_fatal_errno(ns->chain, item->name, private ? errno : ENOENT);
    lay_over(ns, item, name, at, 0111);
    close(at);
}

/* namespace_hide() - mask an object, for all that opens its name. */
void namespace_hide(struct namespace *ns, struct namespace_item *item)
{
    int at;

    if (item->keeps) {
        hide_around(ns, item);
        return;
    }
    if (item->above && item->above->kind == KIND_HIDE && !item->above->keeps)
        return; /* with the directory that it lies in */
    at = open_seen(ns, item, O_PATH);
    if (at < 0)
        return;
    make_masks(ns);
    lay_over(ns, item, S_ISDIR(item->mode) ? "void" : "null", at, 0);
    close(at);
}

/* namespace_has_lower() - Return: whether an overlay on the item would have a cover for its layer, and what
 * is below that cover by the same name is the same directory. */
bool namespace_has_lower(const struct namespace_item *item)
{
    bool covered = false;

    if (item->kind != KIND_COVER && item->kind != KIND_OVERLAY)
        return false;
    for (const struct namespace_item *above = item->above; above; above = above->above) {
        if (above->kind == KIND_PLACE || above->kind == KIND_OVERLAY || above->kind == KIND_HIDE)
            return false;
        covered |= above->kind == KIND_COVER;
    }
    return covered;
}

/* The layer of the item that shows what is there: AT, as it is seen, if there is no other. */
static int lower_layer(const struct namespace_item *item, int at)
{
    return item->lower >= 0 ? item->lower : at;
}

/* An overlay on the item, which AT is open on. */
static void mount_overlay(const struct namespace *ns, struct namespace_item *item, int at,
                          const char *options, unsigned long flags)
{
    char target[DESCRIPTOR_NAME];
    struct statfs seen = {0};

    snprintf(target, sizeof(target), "/proc/self/fd/%d", at);
    if (mount("overlay", target, "overlay", flags, options) != 0) {
        if (ns->channel < 0 && item->kind == KIND_COVER) /* who listens begins again with masks */
            chain_fatal(ns->chain, item->name,
                        "the kernel lays no overlay here, and names in it can only be masked (`confine run`, "
                        "or --hide 'PATH?')");
        namespace_cannot(ns, CANNOT_OVERLAY, item->name, errno);
    }
    if (statfs(item->name, &seen) != 0 || seen.f_type != MOUNT_TYPE_OVERLAY ||
        !(seen.f_flags & ST_RDONLY) != !(flags & MS_RDONLY))
        chain_fatal(ns->chain, item->name, "the kernel reported success but there is no overlay");
    item->shown = true;
}

/* A whiteout for each name: one object, which the end has to take away once. */
static void make_whiteouts(const struct namespace *ns, const struct namespace_item *item, int part)
{
    const char *first = item->names[1];

    if (mknodat(part, first, S_IFCHR, makedev(0, 0)) != 0)
        namespace_cannot(ns, CANNOT_OVERLAY, item->name, errno);
    for (size_t i = 1; i < item->name_count; i++)
        if (linkat(part, first, part, item->names[2 * i + 1], 0) != 0 && errno != EEXIST)
            namespace_cannot(ns, CANNOT_OVERLAY, item->name, errno);
}

/* namespace_cover() - a directory without some names, whatever happens to them outside. */
void namespace_cover(struct namespace *ns, struct namespace_item *item)
{
    char options[128], part_name[NAMESPACE_PART];
    int at = open_seen(ns, item, O_PATH | O_DIRECTORY), part, cover;

    if (at < 0)
        return;
    part = namespace_make_part(ns, false, item->mode & 07777, part_name);
    make_whiteouts(ns, item, part);
    snprintf(options, sizeof(options), "lowerdir=/proc/self/fd/%d:/proc/self/fd/%d,userxattr", part,
             lower_layer(item, at));
    mount_overlay(ns, item, at, options, MS_RDONLY | MS_NOSUID | MS_NODEV);
    cover = open(item->name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (cover < 0)
        chain_fatal_errno(ns->chain, item->name, errno);
    for (size_t i = 0; i < item->name_count; i++) {
        struct stat seen;

        if (fstatat(cover, item->names[2 * i + 1], &seen, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT)
            chain_fatal(ns->chain, item->names[2 * i + 1], "is still there below its cover");
    }
    close(cover);
    close(part);
    close(at);
}

static int open_layer(const struct namespace *ns, const struct namespace_item *item, int upper,
                      const char *name)
{
    int fd;

    if (mkdirat(upper, name, 0700) != 0 && errno != EEXIST)
        chain_fatal_errno(ns->chain, item->upper->name, errno);
    fd = openat(upper, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        chain_fatal_errno(ns->chain, item->upper->name, errno);
    return fd;
}

/* namespace_overlay() - a directory that takes writes, and keeps them elsewhere. */
void namespace_overlay(struct namespace *ns, struct namespace_item *item)
{
    char options[160], name[NAMESPACE_PART];
    int at = open_seen(ns, item, O_PATH | O_DIRECTORY), part, upper, layer, work, error;

    if (at < 0)
        chain_fatal_errno(ns->chain, item->name, ENOENT);
    /* An overlay takes no layer of a detached mount, and none of a read-only one to write in. */
    part = namespace_make_part(ns, false, 0700, name);
    error = mount_attach(item->upper->clone, part);
    if (error)
        namespace_cannot(ns, CANNOT_MOUNT, item->upper->name, -error);
    upper = openat(ns->pool, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (upper < 0)
        chain_fatal_errno(ns->chain, item->upper->name, errno);
    layer = open_layer(ns, item, upper, "upper");
    work = open_layer(ns, item, upper, "work");
    snprintf(options, sizeof(options),
             "lowerdir=/proc/self/fd/%d,upperdir=/proc/self/fd/%d,workdir=/proc/self/fd/%d,userxattr",
             lower_layer(item, at), layer, work);
    mount_overlay(ns, item, at, options, MS_NOSUID | MS_NODEV);
    close(item->upper->clone);
    item->upper->clone = -1;
    close(layer);
    close(work);
    close(upper);
    close(part);
    close(at);
}

static void copy_content(const struct namespace *ns, const struct namespace_item *item, int from, int to)
{
    char block[16384];
    size_t total = 0;
    ssize_t got;

    while ((got = read(from, block, sizeof(block))) > 0) {
        total += (size_t)got;
        if (total > COPY_MAX)
            chain_fatal(ns->chain, item->name, "is larger than 1 MiB");
        if (write(to, block, (size_t)got) != got)
            chain_fatal(ns->chain, item->name, "cannot be copied");
    }
    if (got < 0)
        chain_fatal_errno(ns->chain, item->name, errno);
}

/* namespace_copy() - the same content in a file that belongs to the caller. */
void namespace_copy(struct namespace *ns, struct namespace_item *item)
{
    char name[NAMESPACE_PART];
    mode_t mode = (item->mode & 0755) | 0400;
    int from, to;

    if (!S_ISREG(item->mode))
        chain_fatal(ns->chain, item->name, "usage: only a regular file is copied");
    from = open_seen(ns, item, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (from < 0)
        return;
    snprintf(name, sizeof(name), "part%u", ns->parts++);
    to = openat(ns->draft, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (to < 0)
        chain_fatal_errno(ns->chain, item->name, errno);
    copy_content(ns, item, from, to);
    close(to);
    lay_over(ns, item, name, from, mode);
    close(from);
}
