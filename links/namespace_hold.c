/*
 * namespace_hold.c - namespaces without a command: what the runs of a session have in common.
 *
 *     namespace-run --hold --liveness FD --channel FD [--map own|all] [--net] [--tmp-size BYTES]
 *
 * Makes user, ipc, uts, process and, with --net, network namespaces, and a
 * mount namespace with nothing in it but one tmpfs: /tmp and /dev/shm of every
 * run. Pid 1 becomes the child of whoever started this link; the descriptors go
 * over the channel (CHANNEL_HELD), and this process ends.
 *
 * Should:  leave pid 1 as the only process, and the descriptors as the only way in.
 * Mustn't: keep a mount of the host's: a session may live for days, and nobody
 *          could unmount anything meanwhile.
 */
#include "namespace.h"
#include "pass.h"

#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>

/* In the order of enum channel_join. */
static const char *const part_names[JOIN_COUNT] = {"user", "ipc", "uts", "pid_for_children",
                                                   "mnt",  "mnt", "net"};

static void make_shared(const struct namespace *ns)
{
    static const char *const names[] = {"tmp", "shm"};
    const struct mount_attributes private = {.propagation = MOUNT_PRIVATE};
    int error = mount_change(AT_FDCWD, "/", MOUNT_TREE_RECURSIVE, &private);
    struct statfs seen = {0};
    char options[96];

    if (error)
        namespace_cannot(ns, CANNOT_MOUNT, "attributes of the root", -error);
    namespace_tmpfs_options(ns, "0755", options, sizeof(options));
    if (mount("tmpfs", "/dev", "tmpfs", MS_NOSUID | MS_NODEV, options) != 0 || chdir("/dev") != 0)
        namespace_cannot(ns, CANNOT_MOUNT, "tmpfs", errno);
    if (statfs(".", &seen) != 0 || seen.f_type != MOUNT_TYPE_TMPFS)
        chain_fatal(ns->chain, "tmpfs", "the kernel reported success but mounted none");
    umask(0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (mkdir(names[i], 01777) != 0)
            chain_fatal_errno(ns->chain, names[i], errno);
}

/* Leaves every other mount of the host's. The file system that a machine started from cannot be left: there
 * the tmpfs is only laid over it. */
static void leave_host(const struct namespace *ns)
{
    struct statfs seen = {0};
    struct stat gone;

    if (syscall(SYS_pivot_root, ".", ".") == 0) {
        if (umount2(".", MNT_DETACH) != 0)
            namespace_cannot(ns, CANNOT_MOUNT, "mounts of the host", errno);
    } else if (errno != EINVAL || mount(".", "/", NULL, MS_MOVE, NULL) != 0 || chroot(".") != 0) {
        namespace_cannot(ns, CANNOT_MOUNT, "root of the session", errno);
    }
    if (chdir("/") != 0 || statfs("/", &seen) != 0 || seen.f_type != MOUNT_TYPE_TMPFS ||
        stat("/tmp", &gone) != 0 || stat("/proc", &gone) == 0 || errno != ENOENT)
        chain_fatal(ns->chain, "root of the session", "the kernel reported success but it is another one");
}

static pid_t start_init(const struct namespace *ns)
{
    long pid = kernel_call(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0, 0);

    if (pid < 0)
        chain_fatal_errno(ns->chain, "pid 1", (int)-pid);
    if (pid == 0)
        namespace_init(ns, -1);
    return (pid_t)pid;
}

static void hand_over(const struct namespace *ns, int directory, pid_t init)
{
    const struct channel_word word = {.type = CHANNEL_HELD, .value = init};
    int fds[JOIN_COUNT] = {0}, count = ns->net ? JOIN_COUNT : JOIN_NET, r;

    for (int i = 0; i < count; i++) {
        fds[i] = openat(directory, part_names[i], O_RDONLY | O_CLOEXEC);
        if (fds[i] < 0)
            chain_fatal_errno(ns->chain, part_names[i], errno);
    }
    r = pass_descriptors(ns->channel, &word, sizeof(word), fds, (size_t)count, PASS_PATIENTLY);
    if (r < 0)
        chain_fatal(ns->chain, "--channel", pass_strerror(-r));
}

/*
 * namespace_hold() - make the namespaces, start pid 1, hand the descriptors over and end.
 *
 * Pid 1 says NAMESPACE_READY on the liveness when it has given up what it must not have. Ends the link with
 * LINK_FAILED on any doubt, and pid 1 with the caller's end of the liveness.
 */
_Noreturn void namespace_hold(struct namespace *ns)
{
    sigset_t all;
    int directory;

    namespace_unshare(ns);
    directory = namespace_open_directory(ns, AT_FDCWD, "/proc/self/ns");
    make_shared(ns);
    leave_host(ns);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    hand_over(ns, directory, start_init(ns));
    _exit(0);
}
