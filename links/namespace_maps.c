/*
 * namespace_maps.c - the namespaces, and whose ids are whose.
 *
 * One unshare makes them all, so that a false success of it shows at once: a
 * process that is still in its old namespaces cannot write an id map, and its
 * root is the same mount. Without a map nothing could be made in a tmpfs.
 *
 * Should:  map the caller's own id onto itself, or for --map all every id, by a
 *          helper that stays outside; say which step this machine refuses.
 * Mustn't: fall back from the full map to the own id: the caller decides.
 */
#include "namespace.h"

#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>

/* None for cgroups: the mounts of the host's hierarchies stay, read-only, and from within such a namespace
 * they begin above its root. A JVM on the first version of cgroups ends there, and on the second it misses
 * its limit. */
#define NAMESPACES (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS)
#define EVERY_ID   "0 0 4294967295"

/* The process outside that writes the full maps: only one with capabilities there may. */
struct helper {
    pid_t pid;
    int start; /* a byte is written here when the namespace is there */
    int done;  /* a byte comes back when the maps are written, else its end */
};

_Noreturn static void help(int start, int done, pid_t parent)
{
    char uid_map[32], gid_map[32], byte;
    int error;

    snprintf(uid_map, sizeof(uid_map), "/proc/%d/uid_map", parent);
    snprintf(gid_map, sizeof(gid_map), "/proc/%d/gid_map", parent);
    if (read(start, &byte, 1) != 1)
        _exit(LINK_FAILED);
    error = -namespace_write_file(uid_map, EVERY_ID);
    if (!error)
        error = -namespace_write_file(gid_map, EVERY_ID);
    byte = (char)error;
    _exit(write(done, &byte, 1) == 1 && !error ? 0 : LINK_FAILED);
}

static struct helper start_helper(const struct namespace *ns)
{
    int start[2], done[2];
    pid_t self = getpid();
    struct helper helper;

    if (pipe2(start, O_CLOEXEC) != 0 || pipe2(done, O_CLOEXEC) != 0)
        chain_fatal_errno(ns->chain, "pipe", errno);
    helper = (struct helper){.pid = fork(), .start = start[1], .done = done[0]};
    if (helper.pid < 0)
        chain_fatal_errno(ns->chain, "helper for the id maps", errno);
    if (helper.pid == 0) {
        if (getpid() == self)
            chain_fatal(ns->chain, "helper for the id maps", "the kernel reported success but made no child");
        close(start[1]);
        close(done[0]);
        help(start[0], done[1], self);
    }
    close(start[0]);
    close(done[1]);
    return helper;
}

static void write_all_ids(const struct namespace *ns, const struct helper *helper)
{
    char byte = 0;
    int error = EIO;

    if (write(helper->start, &byte, 1) == 1 && read(helper->done, &byte, 1) == 1)
        error = (unsigned char)byte;
    close(helper->start);
    close(helper->done);
    while (waitpid(helper->pid, NULL, 0) < 0)
        if (errno != EINTR)
            chain_fatal_errno(ns->chain, "helper for the id maps", errno);
    if (error)
        namespace_cannot(ns, CANNOT_MAPS, "id maps", error);
}

/* Which of them was it? All in one call failed and changed nothing, so each is asked for alone. */
_Noreturn static void explain_unshare(const struct namespace *ns, int errnum)
{
    if (unshare(CLONE_NEWUSER) != 0)
        namespace_cannot(ns, CANNOT_USERNS, "user namespace", errno);
    if (ns->net && unshare(CLONE_NEWNET) != 0)
        namespace_cannot(ns, CANNOT_NET, "network namespace", errno);
    namespace_cannot(ns, CANNOT_MOUNT, "namespaces", errnum);
}

/* namespace_root_mount() - the number of the mount that is the root: another one in another mount namespace.
 */
uint64_t namespace_root_mount(const struct namespace *ns)
{
    uint64_t number = 0;
    int error = mount_number(AT_FDCWD, "/", &number);

    if (error)
        chain_fatal_errno(ns->chain, "root", -error);
    return number;
}

/* All of them by one call. */
static void make_all(const struct namespace *ns)
{
    struct helper helper = {.pid = -1};
    uid_t uid = geteuid();
    gid_t gid = getegid();
    int error = 0;

    chain_set_dumpable(ns->chain, true); /* or /proc/self belongs to root, and no map can be written */
    if (ns->map_all)
        helper = start_helper(ns);
    if (unshare(NAMESPACES | (ns->net ? CLONE_NEWNET : 0)) != 0)
        explain_unshare(ns, errno);
    if (ns->map_all)
        write_all_ids(ns, &helper);
    else
        error = namespace_map_own(uid, gid);
    if (error)
        namespace_cannot(ns, CANNOT_MAPS, "id maps", -error);
    chain_set_dumpable(ns->chain, false);
}

/* Those that have been made are entered, and the others made. Return: whether the network's had been. */
static bool make_rest(struct namespace *ns)
{
    bool net = namespace_enter_ahead(ns);

    if (unshare(CLONE_NEWNS | CLONE_NEWPID) != 0)
        namespace_cannot(ns, CANNOT_MOUNT, "namespaces", errno);
    if (ns->net && !net && unshare(CLONE_NEWNET) != 0)
        namespace_cannot(ns, CANNOT_NET, "network namespace", errno);
    return net;
}

/*
 * namespace_unshare() - leave the caller's namespaces; afterwards this process has every capability in the
 * new ones, and none outside.
 */
void namespace_unshare(struct namespace *ns)
{
    uint64_t mount = namespace_root_mount(ns);
    bool raised = false;

    if (ns->ahead >= 0)
        raised = make_rest(ns);
    else
        make_all(ns);
    if (namespace_root_mount(ns) == mount)
        chain_fatal(ns->chain, "namespaces", "the kernel reported success but they are the old ones");
    if (ns->net)
        namespace_build_net(ns, !raised);
}
