/*
 * namespace_ahead.c - namespaces that know nothing of a run, made before its chain starts.
 *
 * A network namespace takes longer to make than everything else that this link
 * does. Whoever starts a chain can have it made meanwhile, on another processor
 * and together with those of users, IPC and host names, by a process that
 * namespace_start_ahead() starts. It says how it went by a number (--ahead-ready),
 * and lives until the link has entered what it made, by its pidfd (--ahead).
 *
 * Should:  do the same steps as namespace_maps.c does without, and name the same
 *          one where the machine refuses.
 * Mustn't: go on without that number, or make up for what it does not say: nothing
 *          is known then.
 */
#include "namespace.h"

#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define AHEAD_PIDFD 0x1000 /* CLONE_PIDFD */

#define READY_LOCAL (UINT64_C(1) << 32) /* user, IPC and host names; below it, a step that was refused */
#define READY_NET   (UINT64_C(2) << 32) /* and the network */

struct ahead {
    int ready; /* an event, on which a number says how it went */
    bool net;
    pid_t parent;
    uid_t uid;
    gid_t gid;
};

/* --- steps that both ways have in common: raw calls, since errno may be another process's ----------------
 */

/* namespace_write_file() - write TEXT to the file NAME. Return: 0 or -errno; -EIO where not all was taken. */
int namespace_write_file(const char *name, const char *text)
{
    long fd = kernel_call(SYS_openat, AT_FDCWD, KERNEL_PTR(name), O_WRONLY | O_CLOEXEC, 0, 0, 0);
    long size = (long)strlen(text), wrote;

    if (fd < 0)
        return (int)fd;
    wrote = kernel_call(SYS_write, fd, KERNEL_PTR(text), size, 0, 0, 0);
    kernel_call(SYS_close, fd, 0, 0, 0, 0, 0);
    if (wrote < 0)
        return (int)wrote;
    return wrote == size ? 0 : -EIO;
}

/* Writes `ID ID 1` to a map. */
static int write_map(const char *name, unsigned id)
{
    char text[32], *at = text + sizeof(text) - 3;
    unsigned rest;

    memcpy(at, " 1", 3);
    for (int times = 0; times < 2; times++) {
        if (times > 0)
            *--at = ' ';
        rest = id;
        do
            *--at = (char)('0' + rest % 10);
        while ((rest /= 10) > 0);
    }
    return namespace_write_file(name, at);
}

/* namespace_map_own() - map one's own ids onto themselves, from within a new user namespace. Return: 0 or
 * -errno. */
int namespace_map_own(uid_t uid, gid_t gid)
{
    int error = namespace_write_file("/proc/self/setgroups", "deny");

    if (!error)
        error = write_map("/proc/self/uid_map", uid);
    return error ? error : write_map("/proc/self/gid_map", gid);
}

/*
 * namespace_raise_loopback() - let the new network namespace have a loopback that is up.
 * @ret_up: filled with whether it is, where the kernel says that it has been raised
 *
 * Return: 0 or -errno.
 */
int namespace_raise_loopback(bool *ret_up)
{
    struct ifreq request = {.ifr_name = "lo"};
    long fd = kernel_call(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0, 0, 0, 0), r;

    if (fd < 0)
        return (int)fd;
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    r = kernel_call(SYS_ioctl, fd, SIOCSIFFLAGS, KERNEL_PTR(&request), 0, 0, 0);
    request.ifr_flags = 0;
    if (r == 0)
        r = kernel_call(SYS_ioctl, fd, SIOCGIFFLAGS, KERNEL_PTR(&request), 0, 0, 0);
    *ret_up = request.ifr_flags & IFF_UP;
    kernel_call(SYS_close, fd, 0, 0, 0, 0, 0);
    return (int)r;
}

/*
 * namespace_open_ports() - let whoever is in the new network namespace listen on every port: its own servers
 * and tests ask for 80.
 *
 * Nothing is claimed by it. Where the kernel has no such setting, or /proc/sys is read-only as in most
 * containers, a bind() below 1024 answers EACCES as it does outside.
 */
void namespace_open_ports(void)
{
    (void)namespace_write_file("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0");
}

/* --- made ------------------------------------------------------------------------------------------------
 */

/* Return: 0, or -errno with the step that was refused; none where an answer was a lie. */
static int make_all(const struct ahead *ahead, enum channel_cannot *ret_step)
{
    bool net = ahead->net, up = true;
    long r;

    *ret_step = CANNOT_MAPS;
    r = namespace_map_own(ahead->uid, ahead->gid);
    if (r < 0)
        return (int)r;
    *ret_step = CANNOT_MOUNT;
    r = kernel_call(SYS_unshare, CLONE_NEWIPC | CLONE_NEWUTS, 0, 0, 0, 0, 0);
    if (r < 0 || !net)
        return (int)r;
    *ret_step = CANNOT_NET;
    r = kernel_call(SYS_unshare, CLONE_NEWNET, 0, 0, 0, 0, 0);
    if (r == 0) {
        namespace_open_ports();
        r = namespace_raise_loopback(&up);
    }
    if (up)
        return (int)r;
    *ret_step = CANNOT_NOTHING;
    return -EPROTO;
}

static void tell(int ready, uint64_t value)
{
    kernel_call(SYS_write, ready, KERNEL_PTR(&value), sizeof(value), 0, 0, 0); /* or nobody ever reads it */
}

/* Raw calls: the libc's errno is another process's as well. */
static bool close_others(int kept)
{
    long r = kept > 0 ? kernel_call(SYS_close_range, 0, kept - 1, 0, 0, 0, 0) : 0;

    return r == 0 && kernel_call(SYS_close_range, kept + 1, 0xffffffffL, 0, 0, 0, 0) == 0;
}

/* The whole life of the process. Whatever cannot be is a number, or its end: then the link ends. */
static int run_ahead(void *data)
{
    const struct ahead *ahead = data;
    enum channel_cannot step = CANNOT_NOTHING;
    int ready = ahead->ready, r = -EPROTO;

    if (kernel_call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0, 0) == 0 &&
        kernel_call(SYS_getppid, 0, 0, 0, 0, 0, 0) == ahead->parent && close_others(ready))
        r = make_all(ahead, &step);
    if (r == 0)
        tell(ready, ahead->net ? READY_NET : READY_LOCAL);
    else if (step != CANNOT_NOTHING)
        tell(ready, (uint64_t)((int)step << 16 | -r));
    if (r != 0)
        kernel_call(SYS_exit_group, 0, 0, 0, 0, 0, 0);
    for (;;) /* until it is killed: whoever enters the namespaces needs it */
        kernel_call(SYS_ppoll, 0, 0, 0, 0, 0, 0);
    return 0; /* never: a clone begins in a function that returns */
}

/*
 * namespace_start_ahead() - let a process make namespaces for a chain that starts later.
 * @ready:       an eventfd
 * @net:         the network's as well
 * @ret_process: filled with its pidfd, close-on-exec
 *
 * It is a child of this process, ends with it, and is in a user namespace from its first moment; it has our
 * memory, so that no page is copied, and nothing else. Its exit signal is 0. Signals that this process blocks
 * do not reach it.
 *
 * Return: its pid, or -1 where there can be no such process; errno may be anything.
 */
pid_t namespace_start_ahead(int ready, bool net, int *ret_process)
{
    static char stack[4096] __attribute__((aligned(16)));
    static struct ahead ahead;

    ahead =
        (struct ahead){.ready = ready, .net = net, .parent = getpid(), .uid = geteuid(), .gid = getegid()};
    return clone(run_ahead, stack + sizeof(stack), CLONE_VM | CLONE_NEWUSER | AHEAD_PIDFD, &ahead,
                 ret_process);
}

/* --- entered ---------------------------------------------------------------------------------------------
 */

/* Return: whether there is a network namespace. */
static bool await_ready(const struct namespace *ns)
{
    struct pollfd ends[2] = {{.fd = ns->ahead_ready, .events = POLLIN}, {.fd = ns->ahead, .events = POLLIN}};
    uint64_t value = 0;

    while (poll(ends, 2, -1) < 0)
        if (errno != EINTR)
            chain_fatal_errno(ns->chain, "--ahead", errno);
    if (!ends[0].revents)
        chain_fatal(ns->chain, "--ahead", "who was to make the namespaces ended without a word");
    if (read(ns->ahead_ready, &value, sizeof(value)) != (ssize_t)sizeof(value))
        chain_fatal_errno(ns->chain, "--ahead-ready", errno);
    if (value == READY_LOCAL || value == READY_NET)
        return value == READY_NET;
    if (value >> 16 == 0 || value > INT32_MAX)
        chain_fatal(ns->chain, "--ahead-ready", "no such number");
    namespace_cannot(ns, (enum channel_cannot)(value >> 16), "namespaces", (int)(value & 0xffff));
}

static ino_t user_number(const struct namespace *ns)
{
    struct stat seen = {0};

    if (stat("/proc/self/ns/user", &seen) != 0)
        chain_fatal_errno(ns->chain, "user namespace", errno);
    return seen.st_ino;
}

/*
 * namespace_enter_ahead() - enter what was made ahead, all by one call, so that a false success of it shows;
 * the process that made it ends. Afterwards this process has every capability in the new user namespace.
 *
 * Return: whether a network namespace was among them. Ends the link on any doubt.
 */
bool namespace_enter_ahead(struct namespace *ns)
{
    bool net = await_ready(ns);
    ino_t before = user_number(ns);

    if (setns(ns->ahead, CLONE_NEWUSER | CLONE_NEWIPC | CLONE_NEWUTS | (net ? CLONE_NEWNET : 0)) != 0)
        chain_fatal_errno(ns->chain, "--ahead", errno);
    if (user_number(ns) == before)
        chain_fatal(ns->chain, "--ahead", "the kernel reported success but the namespaces are the old ones");
    kernel_call(SYS_pidfd_send_signal, ns->ahead, SIGKILL, 0, 0, 0,
                0); /* it ends with its parent at the latest */
    close(ns->ahead);
    close(ns->ahead_ready);
    ns->ahead = ns->ahead_ready = -1;
    return net;
}
