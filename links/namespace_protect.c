/*
 * namespace_protect.c - places that stay as they are, below a root that can be written.
 *
 * A read-only clone on the place itself keeps it; but its ancestors could be
 * renamed, and others put in their stead. rename and rmdir answer EBUSY for an
 * entry that is a mount point of any mount of the caller's namespace, by
 * whatever mount it was reached. So the ancestors are mount points in a second
 * clone of the root (the shadow), which nobody sees: the visible one has no
 * boundary that would make renames EXDEV.
 *
 * Should:  hold every ancestor between root and place; the deepest first,
 *          because a held one covers the way to those below.
 * Mustn't: take more than one boundary into the visible tree: the place.
 */
#include "namespace.h"

#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

/* namespace_protect() - make the item read-only where it lies in something that can be written. */
void namespace_protect(struct namespace *ns, struct namespace_item *item)
{
    const struct mount_attributes read_only = {.set = MOUNT_READ_ONLY};
    const struct namespace_item *above = item->above;
    struct statfs seen = {0};
    int at, mount, error;

    if (!above || (above->kind != KIND_RW && above->kind != KIND_OVERLAY))
        return; /* read-only, or not there, without that */
    at = namespace_open(ns, item, O_PATH);
    if (at < 0)
        chain_fatal(ns->chain, item->name, "was replaced while the view was built");
    mount = mount_clone(at, "", S_ISDIR(item->mode) ? MOUNT_TREE_RECURSIVE : 0);
    if (mount < 0)
        namespace_cannot(ns, CANNOT_MOUNT, item->name, -mount);
    error = mount_change(mount, "", MOUNT_TREE_RECURSIVE, &read_only);
    if (!error)
        error = mount_attach(mount, at);
    if (error)
        namespace_cannot(ns, CANNOT_MOUNT, item->name, -error);
    close(mount);
    close(at);
    if (statfs(item->name, &seen) != 0 || !(seen.f_flags & ST_RDONLY))
        chain_fatal(ns->chain, item->name, "the kernel reported success but it is not read-only");
    item->shown = true;
}

/* The item whose mount a protected place lies in: a root inside a root has none of its own. */
static struct namespace_item *root_of(const struct namespace_item *item)
{
    struct namespace_item *root = item->above;

    while (root->kind == KIND_RW && !root->shown)
        root = root->above;
    return root;
}

static int open_shadow(struct namespace *ns, struct namespace_item *root)
{
    char name[NAMESPACE_PART];
    int at, mount, part, error;

    if (root->shadow >= 0)
        return root->shadow;
    at = open(root->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (at < 0)
        chain_fatal_errno(ns->chain, root->name, errno);
    mount = mount_clone(at, "", MOUNT_TREE_RECURSIVE);
    if (mount < 0)
        namespace_cannot(ns, CANNOT_MOUNT, root->name, -mount);
    part = namespace_make_part(ns, false, 0700, name);
    error = mount_attach(mount, part);
    if (error)
        namespace_cannot(ns, CANNOT_MOUNT, root->name, -error);
    close(part);
    close(at);
    root->shadow = mount;
    return mount;
}

/* The ancestor whose name is the first LENGTH bytes of the item's. */
static void pin_ancestor(struct namespace *ns, struct namespace_item *root, const struct namespace_item *item,
                         size_t length)
{
    struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH};
    int shadow = open_shadow(ns, root), at, mount, error;
    char path[PATH_MAX];
    struct stat seen = {0};

    memcpy(path, item->name + root->length + 1, length - root->length - 1);
    path[length - root->length - 1] = '\0';
    at = (int)kernel_call(SYS_openat2, shadow, KERNEL_PTR(path), KERNEL_PTR(&how), sizeof(how), 0, 0);
    if (at < 0)
        chain_fatal(ns->chain, item->name, "was replaced while the view was built");
    mount = mount_clone(ns->still, "pin", 0);
    if (mount < 0)
        namespace_cannot(ns, CANNOT_MOUNT, item->name, -mount);
    error = mount_attach(mount, at);
    if (error)
        namespace_cannot(ns, CANNOT_MOUNT, item->name, -error);
    close(mount);
    close(at);
    if (fstatat(shadow, path, &seen, AT_SYMLINK_NOFOLLOW) != 0 || seen.st_dev != ns->pool_device)
        chain_fatal(ns->chain, item->name, "the kernel reported success but its directory is not held");
}

/* How much of the item's name is an ancestor of the place before it as well, in the same root. */
static size_t shared_length(const struct namespace *ns, size_t at, const struct namespace_item *root)
{
    const struct namespace_item *item = ns->items[at];
    size_t shared = root->length;

    while (at-- > 0) {
        const struct namespace_item *before = ns->items[at];

        if (before->kind != KIND_PROTECT || !before->shown || root_of(before) != root)
            continue;
        for (size_t i = 0; i < before->length && before->name[i] == item->name[i]; i++)
            if (before->name[i] == '/' && i > shared)
                shared = i;
        break;
    }
    return shared;
}

/* namespace_pin() - hold the ancestors of all protected places; the last thing that is done to the view. */
void namespace_pin(struct namespace *ns)
{
    bool made = false;

    /* Backwards: then the place that an ancestor is taken for stands before all others below that ancestor.
     */
    for (size_t i = ns->count; i-- > 0;) {
        struct namespace_item *item = ns->items[i], *root;
        size_t shared;

        if (item->kind != KIND_PROTECT || !item->shown)
            continue;
        root = root_of(item);
        shared = shared_length(ns, i, root);
        if (!made && mkdirat(ns->draft, "pin", 0) != 0)
            chain_fatal_errno(ns->chain, "pin", errno);
        made = true;
        for (size_t length = item->length; length-- > shared + 1;)
            if (item->name[length] == '/')
                pin_ancestor(ns, root, item, length);
    }
}
