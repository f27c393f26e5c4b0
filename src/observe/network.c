/*
 * network.c - connecting, binding and sending, as the observer sees them.
 *
 * Should:  tell a stream from a datagram: what refuses one need not refuse the other.
 */
#include "observe/judge.h"
#include "observe/memory.h"
#include "observe/paths.h"
#include "observe/record.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

union address {
    struct sockaddr any;
    struct sockaddr_in inet;
    struct sockaddr_in6 inet6;
    struct sockaddr_un name;
    char bytes[sizeof(struct sockaddr_storage)];
};

/* The type of the thread's socket, 0: not known. The descriptor is ours for a moment, and used for nothing
 * else. */
static int type_of(pid_t pid, int fd)
{
    int type = 0, process, copy;
    socklen_t size = sizeof(type);

    process = (int)kernel_call(SYS_pidfd_open, pid, PIDFD_OF_THREAD, 0, 0, 0, 0);
    if (process < 0)
        process = (int)kernel_call(SYS_pidfd_open, pid, 0, 0, 0, 0, 0);
    if (process < 0)
        return 0;
    copy = (int)kernel_call(SYS_pidfd_getfd, process, fd, 0, 0, 0, 0);
    close(process);
    if (copy < 0)
        return 0;
    if (kernel_call(SYS_getsockopt, copy, SOL_SOCKET, SO_TYPE, KERNEL_PTR(&type), KERNEL_PTR(&size), 0) < 0)
        type = 0;
    close(copy);
    return type;
}

static void put_number(char *room, unsigned number)
{
    number_join(room, ":", number, "");
}

/* @name: room for the address as text, INET6_ADDRSTRLEN. Return: whether it has one. */
static bool read_peer(const union address *address, struct peer *peer, char *name)
{
    const struct in6_addr *six = &address->inet6.sin6_addr;
    bool plain = address->any.sa_family == AF_INET, four = plain || IN6_IS_ADDR_V4MAPPED(six);
    struct in_addr inside = address->inet.sin_addr;
    uint32_t number;

    if (!plain && four)
        memcpy(&inside, six->s6_addr + 12, sizeof(inside));
    number = ntohl(inside.s_addr);
    peer->inet = true;
    peer->any = four ? number == 0 : IN6_IS_ADDR_UNSPECIFIED(six);
    peer->loopback = peer->any || (four ? number >> 24 == 127 : IN6_IS_ADDR_LOOPBACK(six));
    peer->port = ntohs(plain ? address->inet.sin_port : address->inet6.sin6_port);
    return inet_ntop(four ? AF_INET : AF_INET6, four ? (const void *)&inside : six, name, INET6_ADDRSTRLEN);
}

/* With a list: who is there inside? */
static void look_inside(const struct judge *judge, const char *name, struct peer *peer)
{
    const struct own_network *network = &judge->rules.resolved->network;

    peer->local = network_has(network, name);
    /* Where somebody is asked, the supervisor knows who may be reached where all of them are listened to. */
    peer->listened =
        network_listens(network, name, peer->port, peer->datagram, judge->holds_connects && !peer->datagram);
}

static void judge_inet(const struct judge *judge, const struct notify_request *request,
                       enum denial_operation operation, const union address *address)
{
    char plain[INET6_ADDRSTRLEN], name[INET6_ADDRSTRLEN + 16];
    struct peer peer = {.datagram = operation == DENIAL_SEND};
    struct verdict verdict;
    bool six;
    int type;

    if (!read_peer(address, &peer, plain))
        return;
    if (judge->rules.listed)
        look_inside(judge, plain, &peer);
    verdict = evaluate_network(&judge->rules, operation, &peer);
    if (verdict.answer != ANSWER_REFUSED)
        return;
    type = type_of((pid_t)request->pid, (int)(uint32_t)request->call.args[0]);
    if (type != 0)
        peer.datagram = type == SOCK_DGRAM;
    if (judge->rules.listed)
        look_inside(judge, plain, &peer);
    verdict = evaluate_network(&judge->rules, operation, &peer);
    six = strchr(plain, ':');
    memcpy(name, "[", 2);
    memcpy(name + six, plain, strlen(plain) + 1);
    if (six)
        memcpy(name + 1 + strlen(plain), "]", 2);
    put_number(name + strlen(name), peer.port);
    judge_refuse(judge, request, operation, &verdict, name, true, false);
}

/* Is there a socket of this name out here, and none inside? One that is there is what the kernel connects to:
 * the same, or the command's own in a place that is private. @target: gets its canonical name. */
static bool is_socket_outside(struct target *target)
{
    struct stat st;
    int fd = target->object >= 0 && S_ISSOCK(target->st.st_mode) ? -1 : open_only(AT_FDCWD, target->path, 0);
    bool answer = fd >= 0 && fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) &&
                  path_of(fd, target->path, sizeof(target->path)) > 0;

    if (fd >= 0)
        close(fd);
    return answer;
}

static void judge_name(const struct judge *judge, const struct notify_request *request,
                       enum denial_operation operation, const union address *address)
{
    static struct target target;
    struct verdict verdict = {.answer = ANSWER_REFUSED, .surface = SURFACE_UNIX_PATH};

    if (address->name.sun_path[0] == '\0')
        return; /* no name in any file system */
    if (operation == DENIAL_BIND) {
        judge_make(judge, request, address->name.sun_path);
        return;
    }
    target_resolve(&target, (pid_t)request->pid, AT_FDCWD, address->name.sun_path, true);
    /* Where a directory is missing the way ends before it: the whole name is in a place that is private. */
    if (target.errnum == ENOENT && address->name.sun_path[0] == '/')
        memcpy(target.path, address->name.sun_path, strlen(address->name.sun_path) + 1);
    if (!target.outside && target.path[0] == '/' && is_socket_outside(&target))
        judge_refuse(judge, request, operation, &verdict, target.path, false, false);
    target_close(&target);
}

void judge_network(const struct judge *judge, const struct notify_request *request,
                   enum denial_operation operation)
{
    static union address address;
    unsigned argument = operation == DENIAL_SEND ? 4 : 1;
    uint64_t size = request->call.args[argument + 1];
    int r;

    if (size < sizeof(address.any.sa_family) || size > sizeof(address.bytes))
        return; /* EINVAL */
    memset(&address, 0, sizeof(address));
    r = memory_bytes((pid_t)request->pid, request->call.args[argument], &address, (size_t)size);
    if (r == -EFAULT)
        return;
    if (r < 0) {
        record_unreadable();
        return;
    }
    if (address.any.sa_family == AF_UNIX) {
        address.bytes[sizeof(address.bytes) - 1] = '\0';
        address.name.sun_path[sizeof(address.name.sun_path) - 1] = '\0';
        judge_name(judge, request, operation, &address);
    } else if ((address.any.sa_family == AF_INET && size >= sizeof(address.inet)) ||
               (address.any.sa_family == AF_INET6 && size >= 24)) {
        judge_inet(judge, request, operation, &address);
    }
}
