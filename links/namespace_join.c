/*
 * namespace_join.c - the namespaces of a session, entered.
 *
 *     namespace-run --join-user FD --join-ipc FD --join-uts FD --join-pid FD
 *                   [--join-net FD] [--join-tmp FD --join-shm FD] ...
 *
 * The mount namespace is this run's own, made here. With --join-tmp and
 * --join-shm two mounts in it are the session's: detached copies, which whoever
 * keeps the session has made for this run.
 *
 * Should:  compare the number of every namespace with the one that was to be entered.
 * Mustn't: follow a link in the session's /tmp: other commands have written there.
 */
#include "namespace.h"

#include <sched.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

static const struct {
    const char *option;
    const char *name; /* below /proc/self/ns; NULL: a mount */
    int flag;
    bool needed;
} joins[JOIN_COUNT] = {
    [JOIN_USER] = {"--join-user", "user", CLONE_NEWUSER, true},
    [JOIN_IPC] = {"--join-ipc", "ipc", CLONE_NEWIPC, true},
    [JOIN_UTS] = {"--join-uts", "uts", CLONE_NEWUTS, true},
    [JOIN_PID] = {"--join-pid", "pid_for_children", CLONE_NEWPID, true},
    [JOIN_TMP] = {"--join-tmp", NULL, 0, false},
    [JOIN_SHM] = {"--join-shm", NULL, 0, false},
    [JOIN_NET] = {"--join-net", "net", CLONE_NEWNET, false},
};

/*
 * namespace_take_join() - take one of the --join options.
 * @at: as of chain_option()
 *
 * Return: whether it was one. Ends the link where its descriptor is none.
 */
bool namespace_take_join(struct namespace *ns, size_t *at)
{
    const char *value;

    for (size_t i = 0; i < JOIN_COUNT; i++)
        if (chain_option(ns->chain, at, joins[i].option, &value)) {
            ns->join[i] = chain_number(ns->chain, joins[i].option, value);
            if (ns->join[i] <= STDERR_FILENO || fcntl(ns->join[i], F_GETFD) < 0)
                chain_fatal(ns->chain, joins[i].option, "this descriptor is not open, or one of 0, 1 and 2");
            ns->joined = true;
            return true;
        }
    return false;
}

/* namespace_check_join() - refuse words that do not go together. Ends the link then. */
void namespace_check_join(const struct namespace *ns)
{
    if (ns->serve && (ns->join[JOIN_USER] < 0 || ns->join[JOIN_NET] < 0 || ns->channel < 0 || ns->hold ||
                      ns->net || ns->liveness >= 0 || ns->count > 0))
        chain_fatal(ns->chain, "--serve", "usage: needs --join-user, --join-net and --channel, and no more");
    if (ns->serve)
        return;
    for (size_t i = 0; i < JOIN_COUNT && ns->joined; i++)
        if (joins[i].needed && ns->join[i] < 0)
            chain_fatal(ns->chain, joins[i].option, "usage: a session has this one as well");
    if (ns->joined && (ns->hold || ns->net || ns->map_all || ns->wait_all))
        chain_fatal(ns->chain, "--join-user", "usage: not with --hold, --net, --map all or --wait-all");
    if (ns->joined && ns->liveness < 0)
        chain_fatal(ns->chain, "--join-user", "usage: needs --liveness");
    if (ns->hold &&
        (ns->liveness < 0 || ns->channel < 0 || ns->count > 0 || ns->terminal || ns->nest || ns->wait_all))
        chain_fatal(ns->chain, "--hold", "usage: needs --liveness and --channel, and shows nothing");
}

/* --- entering ------------------------------------------------------------------------------------------- */

/* @directory: /proc/self/ns, open */
static void enter(const struct namespace *ns, int directory, enum channel_join which)
{
    struct stat wanted = {0}, seen = {.st_ino = 1};

    if (setns(ns->join[which], joins[which].flag) != 0)
        chain_fatal_errno(ns->chain, joins[which].option, errno);
    if (fstat(ns->join[which], &wanted) != 0 || fstatat(directory, joins[which].name, &seen, 0) != 0)
        chain_fatal_errno(ns->chain, joins[which].option, errno);
    if (wanted.st_dev != seen.st_dev || wanted.st_ino != seen.st_ino)
        chain_fatal(ns->chain, joins[which].option,
                    "the kernel reported success but it is another namespace");
}

static void take_shared(struct namespace *ns)
{
    for (int i = 0; i < 2; i++) {
        enum channel_join which = i == 0 ? JOIN_TMP : JOIN_SHM;
        struct statfs seen = {0};

        ns->shared[i] = ns->join[which];
        if (ns->shared[i] < 0)
            continue;
        if (fstatfs(ns->shared[i], &seen) != 0)
            chain_fatal_errno(ns->chain, joins[which].option, errno);
        if (seen.f_type != MOUNT_TYPE_TMPFS || !(seen.f_flags & ST_NODEV) || !(seen.f_flags & ST_NOSUID))
            chain_fatal(ns->chain, joins[which].option, "usage: a tmpfs without devices and set-id programs");
    }
}

/*
 * namespace_join() - leave the caller's namespaces for those of a session; afterwards this process has every
 * capability in them, and a mount namespace of its own.
 */
void namespace_join(struct namespace *ns)
{
    int directory = namespace_open_directory(ns, AT_FDCWD, "/proc/self/ns");
    uint64_t mount = namespace_root_mount(ns);

    enter(ns, directory, JOIN_USER);
    enter(ns, directory, JOIN_IPC);
    enter(ns, directory, JOIN_UTS);
    if (ns->join[JOIN_NET] >= 0)
        enter(ns, directory, JOIN_NET);
    take_shared(ns);
    if (unshare(CLONE_NEWNS) != 0)
        namespace_cannot(ns, CANNOT_MOUNT, "mount namespace", errno);
    if (namespace_root_mount(ns) == mount)
        chain_fatal(ns->chain, "mount namespace", "the kernel reported success but it is the old one");
    enter(ns, directory, JOIN_PID);
    close(directory);
    for (size_t i = 0; i < JOIN_COUNT; i++) {
        if (ns->join[i] < 0 || !joins[i].name)
            continue;
        close(ns->join[i]);
        if (fcntl(ns->join[i], F_GETFD) >= 0)
            chain_fatal(ns->chain, joins[i].option,
                        "the kernel reported success but did not close the descriptor");
    }
}

/* Goes on to, or makes, the directory NAME below PLACE. Return: its descriptor. */
static int step_into(const struct namespace *ns, int place, const char *name, const char *whole)
{
    int next;

    if (mkdirat(place, name, 0755) != 0 && errno != EEXIST)
        chain_fatal_errno(ns->chain, whole, errno);
    next = openat(place, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0)
        chain_fatal_errno(ns->chain, whole, errno);
    return next;
}

/*
 * namespace_make_shared_point() - a mount point in a place of the session's, one directory after the other.
 * @place: descriptor of the place
 * @path:  the point's name below it; changed
 * @mode:  of what is mounted there
 * @whole: for messages
 */
void namespace_make_shared_point(const struct namespace *ns, int place, char *path, mode_t mode,
                                 const char *whole)
{
    char *name = path, *end;
    int at = place;

    for (end = strchr(name, '/'); end; end = strchr(name, '/')) {
        int next;

        *end = '\0';
        next = step_into(ns, at, name, whole);
        if (at != place)
            close(at);
        at = next;
        name = end + 1;
    }
    if ((S_ISDIR(mode) ? mkdirat(at, name, 0755) : mknodat(at, name, S_IFREG | 0444, 0)) != 0 &&
        errno != EEXIST)
        chain_fatal_errno(ns->chain, whole, errno);
    if (at != place)
        close(at);
}
