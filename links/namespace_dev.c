/*
 * namespace_dev.c - a /dev of our own: few nodes, each of them the host's.
 *
 * Should:  be what its name says: each node is looked at, number and all.
 * Mustn't: let anybody change a node's mode or times: every one is on a
 *          read-only mount, and none can be executed.
 */
#include "namespace.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static const struct {
    const char *name;
    unsigned major;
    unsigned minor;
} base_devices[NAMESPACE_DEVICES] = {
    {"/dev/null", 1, 3},   {"/dev/zero", 1, 5},    {"/dev/full", 1, 7},
    {"/dev/random", 1, 8}, {"/dev/urandom", 1, 9}, {"/dev/tty", 5, 0},
};

static const struct {
    const char *target;
    const char *name;
} dev_links[] = {
    {"/proc/self/fd", "fd"},       {"/proc/self/fd/0", "stdin"}, {"/proc/self/fd/1", "stdout"},
    {"/proc/self/fd/2", "stderr"}, {"pts/ptmx", "ptmx"},
};

/* namespace_clone_devices() - the nodes that are always there, taken before anything forbids devices. */
void namespace_clone_devices(const struct namespace *ns, int clones[NAMESPACE_DEVICES])
{
    for (size_t i = 0; i < NAMESPACE_DEVICES; i++) {
        struct stat seen = {0};

        clones[i] = mount_clone(AT_FDCWD, base_devices[i].name, 0);
        if (clones[i] < 0)
            namespace_cannot(ns, CANNOT_MOUNT, base_devices[i].name, -clones[i]);
        if (fstat(clones[i], &seen) == 0 && !S_ISCHR(seen.st_mode)) /* it was made by a command of root's */
            namespace_cannot(ns, CANNOT_MOUNT, base_devices[i].name, ENOENT);
    }
}

/* Puts a clone on its point in our /dev, which nobody else can change. Return: the device's number. */
static dev_t attach_device(const struct namespace *ns, int clone, const char *name)
{
    int error = mount_attach_at(clone, AT_FDCWD, name);
    struct stat seen = {0};

    if (error)
        namespace_cannot(ns, CANNOT_MOUNT, name, -error);
    if (stat(name, &seen) != 0 || (!S_ISCHR(seen.st_mode) && !S_ISBLK(seen.st_mode)))
        chain_fatal(ns->chain, name, "the kernel reported success but there is no device");
    close(clone);
    return seen.st_rdev;
}

/* An empty file for each of the nodes to be mounted on: one file by all their names, which nobody ever sees.
 */
static void make_points(const struct namespace *ns, int dev)
{
    const char *first = base_devices[0].name + 5;

    if (mknodat(dev, first, S_IFREG | 0444, 0) != 0)
        chain_fatal_errno(ns->chain, base_devices[0].name, errno);
    for (size_t i = 1; i < NAMESPACE_DEVICES; i++)
        if (linkat(dev, first, dev, base_devices[i].name + 5, 0) != 0)
            chain_fatal_errno(ns->chain, base_devices[i].name, errno);
}

/* namespace_build_dev() - /dev, covering the pool; the clones are closed. */
void namespace_build_dev(struct namespace *ns, const int clones[NAMESPACE_DEVICES])
{
    const struct mount_attributes quiet = {.set = MOUNT_READ_ONLY | MOUNT_NO_SETUID | MOUNT_NO_EXECUTE};
    int dev, error;
    struct namespace_item place = {.name = "/dev", .length = 4, .kind = KIND_PLACE};

    namespace_make_directory(ns, true, "dev", 0755);
    place.part = dev = namespace_open_directory(ns, ns->draft, "dev");
    make_points(ns, dev);
    for (size_t i = 0; i < sizeof(dev_links) / sizeof(dev_links[0]); i++)
        if (symlinkat(dev_links[i].target, dev, dev_links[i].name) != 0)
            chain_fatal_errno(ns->chain, dev_links[i].name, errno);
    if (mkdirat(dev, "pts", 0755) != 0 || mkdirat(dev, "shm", 0755) != 0)
        chain_fatal_errno(ns->chain, "/dev", errno);
    namespace_attach_part(ns, ns->still, "dev", "/dev");
    for (size_t i = 0; i < NAMESPACE_DEVICES; i++)
        if (attach_device(ns, clones[i], base_devices[i].name) !=
            makedev(base_devices[i].major, base_devices[i].minor))
            chain_fatal(ns->chain, base_devices[i].name, "is not the device that it should be");
    for (size_t i = 0; i < ns->count; i++) {
        struct namespace_item *item = ns->items[i];

        if (item->kind != KIND_DEVICE)
            continue;
        if (strncmp(item->name, "/dev/", 5) != 0 || S_ISDIR(item->mode))
            chain_fatal(ns->chain, item->name, "usage: not a device below /dev");
        item->above = &place;
        namespace_make_point(ns, item);
        attach_device(ns, item->clone, item->name);
        item->above = NULL;
        item->clone = -1;
        item->shown = true;
    }
    error = mount_change(AT_FDCWD, "/dev", MOUNT_TREE_RECURSIVE, &quiet);
    if (error)
        namespace_cannot(ns, CANNOT_MOUNT, "/dev", -error);
    close(dev);
    if (mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620") !=
        0)
        namespace_cannot(ns, CANNOT_MOUNT, "/dev/pts", errno);
}
