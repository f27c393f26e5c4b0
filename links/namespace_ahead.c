/*
 * namespace_ahead.c - namespaces that know nothing of a run, made before its chain starts.
 *
 * A network namespace takes longer to make than everything else that this link
 * does. Whoever starts a chain can have it made meanwhile, on another processor
 * and together with those of users, IPC and host names, by a process that
 * namespace_start_ahead() starts, and that ends. They come as descriptors in one packet, which
 * lies in the socket of --ahead until the link enters them.
 *
 * Should:  do the same steps as namespace_maps.c does without, and name the same
 *          one where the machine refuses.
 * Mustn't: go on without the packet, or make up for what is not in it: who was
 *          to make the namespaces then said nothing, and nothing is known.
 */
#include "namespace.h"

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* In the order in which they are entered, and lie in the packet; the network last, where there is one. */
static const enum channel_join parts[] = {JOIN_USER, JOIN_IPC, JOIN_UTS, JOIN_NET};
#define AHEAD_MOST  (sizeof(parts) / sizeof(parts[0]))
#define AHEAD_LEAST (AHEAD_MOST - 1)

struct ahead {
    int socket;
    bool net;
    uid_t uid;
    gid_t gid;
};

union ahead_control {
    struct cmsghdr header;
    char room[CMSG_SPACE(AHEAD_MOST * sizeof(int))];
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
    if (r == 0)
        r = namespace_raise_loopback(&up);
    if (up)
        return (int)r;
    *ret_step = CANNOT_NOTHING;
    return -EPROTO;
}

static void tell(int socket, enum channel_cannot step, int errnum, bool net)
{
    static const char *const names[] = {"/proc/self/ns/user", "/proc/self/ns/ipc", "/proc/self/ns/uts",
                                        "/proc/self/ns/net"};
    struct channel_word word = {.type = step ? CHANNEL_CANNOT : CHANNEL_AHEAD,
                                .value = (int32_t)step << 16 | errnum};
    size_t count = step ? 0 : net ? AHEAD_MOST : AHEAD_LEAST;
    struct iovec part = {.iov_base = &word, .iov_len = sizeof(word)};
    union ahead_control control = {.room = ""};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    int fds[AHEAD_MOST];

    for (size_t i = 0; i < count; i++) {
        fds[i] = (int)kernel_call(SYS_openat, AT_FDCWD, KERNEL_PTR(names[i]), O_RDONLY | O_CLOEXEC, 0, 0, 0);
        if (fds[i] < 0)
            return;
    }
    if (count > 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(&control.header), fds, count * sizeof(int));
    }
    kernel_call(SYS_sendmsg, socket, KERNEL_PTR(&message), MSG_NOSIGNAL, 0, 0, 0); /* or nobody wants it */
}

/* The whole life of the process. Whatever cannot be is a packet, or none: then the link ends. */
static int run_ahead(void *data)
{
    const struct ahead *ahead = data;
    enum channel_cannot step = CANNOT_NOTHING;
    int socket = ahead->socket, keep[] = {socket}, r;

    if (namespace_keep(keep, 1)) {
        r = make_all(ahead, &step);
        if (r == 0 || step != CANNOT_NOTHING)
            tell(socket, r ? step : CANNOT_NOTHING, -r, ahead->net);
    }
    kernel_call(SYS_exit_group, 0, 0, 0, 0, 0, 0);
    return 0; /* the libc's clone ends with it */
}

/*
 * namespace_start_ahead() - let a process make namespaces for a chain that starts later.
 * @socket: of a pair, packets
 * @net:    the network's as well
 *
 * It is a child of this process, and in a user namespace from its first moment; it has our memory, so that no
 * page is copied, and nothing else. Its exit signal is 0. Signals that this process blocks do not reach it.
 *
 * Return: its pid, or -1 where there can be no such process; errno may be anything.
 */
pid_t namespace_start_ahead(int socket, bool net)
{
    static char stack[4096] __attribute__((aligned(16)));
    static struct ahead ahead;

    ahead = (struct ahead){.socket = socket, .net = net, .uid = geteuid(), .gid = getegid()};
    return clone(run_ahead, stack + sizeof(stack), CLONE_VM | CLONE_NEWUSER, &ahead);
}

/* --- entered ---------------------------------------------------------------------------------------------
 */

/* Takes the packet. Return: how many namespaces lay in it; their descriptors are in ns->join. */
static size_t take_packet(struct namespace *ns)
{
    struct channel_word word = {0};
    union ahead_control control;
    struct iovec part = {.iov_base = &word, .iov_len = sizeof(word)};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    int fds[AHEAD_MOST];
    size_t count = 0;
    ssize_t got;

    memset(&control, 0, sizeof(control));
    do
        got = recvmsg(ns->ahead, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        chain_fatal_errno(ns->chain, "--ahead", errno);
    if (got != (ssize_t)sizeof(word) || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
        chain_fatal(ns->chain, "--ahead", "who was to make the namespaces ended without a word");
    if (word.type == CHANNEL_CANNOT && word.value >> 16)
        namespace_cannot(ns, (enum channel_cannot)(word.value >> 16), "namespaces", word.value & 0xffff);
    if (message.msg_controllen >= sizeof(control.header) && control.header.cmsg_level == SOL_SOCKET &&
        control.header.cmsg_type == SCM_RIGHTS && control.header.cmsg_len >= CMSG_LEN(0))
        count = (control.header.cmsg_len - CMSG_LEN(0)) / sizeof(int);
    if (word.type != CHANNEL_AHEAD || count < AHEAD_LEAST || count > AHEAD_MOST)
        chain_fatal(ns->chain, "--ahead", "no such packet");
    memcpy(fds, CMSG_DATA(&control.header), count * sizeof(int));
    for (size_t i = 0; i < count; i++)
        ns->join[parts[i]] = fds[i];
    return count;
}

/*
 * namespace_enter_ahead() - enter what was made ahead; afterwards this process has every capability in the
 * new user namespace.
 *
 * Return: whether a network namespace was among them. Ends the link on any doubt.
 */
bool namespace_enter_ahead(struct namespace *ns)
{
    size_t count = take_packet(ns);
    int directory = namespace_open_directory(ns, AT_FDCWD, "/proc/self/ns");

    for (size_t i = 0; i < count; i++)
        namespace_enter(ns, directory, parts[i]);
    for (size_t i = 0; i < count; i++) {
        close(ns->join[parts[i]]);
        ns->join[parts[i]] = -1;
    }
    close(directory);
    close(ns->ahead);
    ns->ahead = -1;
    return count == AHEAD_MOST;
}
