/*
 * namespace_maps.c - the namespaces, and whose ids are whose.
 *
 * One unshare makes them all, so that a false success of it shows at once: a
 * process that is still in its old namespaces cannot write an id map, and its
 * root is the same mount. Without a map nothing could be made in a tmpfs.
 *
 * Should:  map the caller's own id onto itself, or for --map all every id that
 *          there is here, by a helper that stays outside; say which step this
 *          machine refuses.
 * Mustn't: fall back from the full map to the own id: the caller decides.
 */
#include "namespace.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

/* None for cgroups: the mounts of the host's hierarchies stay, read-only, and from within such a namespace
 * they begin above its root. A JVM on the first version of cgroups ends there, and on the second it misses
 * its limit. */
#define NAMESPACES (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS)
#define MAP_BYTES  (16 * 1024) /* a map has 340 lines at most */

/* The process outside that writes the full maps: only one with capabilities there may. */
struct helper {
    pid_t pid;
    int start; /* a byte is written here when the namespace is there */
    int done;  /* a byte comes back when the maps are written, else its end */
};

/* Gives TARGET, a map, every id of ours, which is OWN, onto itself. In a container's user namespace that is
 * not every number there is. Return: 0 or -errno. */
static int map_each(const char *own, const char *target)
{
    char text[MAP_BYTES], lines[MAP_BYTES];
    size_t length = 0, size = 0;
    ssize_t got;
    int fd = open(own, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    while ((got = read(fd, text + length, sizeof(text) - 1 - length)) > 0)
        length += (size_t)got;
    close(fd);
    text[length] = '\0';
    for (char *at = text, *end; size < sizeof(lines); at = end) {
        unsigned long first = strtoul(at, &end, 10), count;

        if (end == at) /* the last line is over */
            return size > 0 ? namespace_write_file(target, lines) : -EINVAL;
        strtoul(end, &end, 10); /* whose number that is outside, which is not ours to say */
        count = strtoul(end, &end, 10);
        size += (size_t)snprintf(lines + size, sizeof(lines) - size, "%lu %lu %lu\n", first, first, count);
    }
    return -E2BIG;
}

_Noreturn static void help(int start, int done, pid_t parent)
{
    char uid_map[32], gid_map[32], byte;
    int error;

    snprintf(uid_map, sizeof(uid_map), "/proc/%d/uid_map", parent);
    snprintf(gid_map, sizeof(gid_map), "/proc/%d/gid_map", parent);
    if (read(start, &byte, 1) != 1)
        _exit(LINK_FAILED);
    error = -map_each("/proc/self/uid_map", uid_map);
    if (!error)
        error = -map_each("/proc/self/gid_map", gid_map);
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
