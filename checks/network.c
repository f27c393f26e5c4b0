/*
 * network.c - sockets of every family, to somebody who listens outside.
 */
#include "network.h"
#include "foreign.h"
#include "place.h"

#include "links/kernel_abi.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { ARRIVES_MS = 300, MPTCP = 262, FASTOPEN = 0x20000000 };

static union name loopback(long port)
{
    union name name = {.in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)}};

    name.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return name;
}

static int send_mark(int fd, const struct order *order)
{
    return send(fd, order->mark, MARK_SIZE - 1, MSG_NOSIGNAL) == MARK_SIZE - 1 ? 0 : errno;
}

/* What was refused does not arrive; anything else may take a moment. */
static int patience_of(const struct trial *trial)
{
    return trial->answer.errnum ? 0 : ARRIVES_MS;
}

/* The mark comes out of FD, soon. */
static int receives(int fd, const char *mark, int patience)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    char text[4 * MARK_SIZE] = "";

    if (poll(&ready, 1, patience) <= 0)
        return 0;
    return recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT) > 0 && strstr(text, mark) != NULL;
}

static int prepare_inet(struct trial *trial, int type, int protocol)
{
    union name name = loopback(0);
    socklen_t size = sizeof(name.in);
    int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol), queue = 5,
        result = place_keep(trial, 0, fd);

    if (result < 0)
        return result;
    if (protocol == 0 && type == SOCK_STREAM)
        setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN, &queue, sizeof(queue));
    if (bind(fd, &name.any, size) != 0 || (type == SOCK_STREAM && listen(fd, 5) != 0) ||
        getsockname(fd, &name.any, &size) != 0)
        return -errno;
    trial->order.number[0] = ntohs(name.in.sin_port);
    return 0;
}

static int prepare_tcp(struct trial *trial)
{
    return prepare_inet(trial, SOCK_STREAM, 0);
}

static int prepare_udp(struct trial *trial)
{
    return prepare_inet(trial, SOCK_DGRAM, 0);
}

static int prepare_mptcp(struct trial *trial)
{
    int result = prepare_inet(trial, SOCK_STREAM, MPTCP);

    return result == -EPROTONOSUPPORT || result == -ENOPROTOOPT
               ? place_skip(trial, "this kernel has no MPTCP")
               : result;
}

/* Somebody connected to fd[0] and said the mark. */
int look_accepted(struct trial *trial)
{
    struct pollfd ready = {.fd = trial->fd[0], .events = POLLIN};
    int peer, result;

    if (poll(&ready, 1, patience_of(trial)) <= 0)
        return 0;
    peer = accept4(trial->fd[0], NULL, NULL, SOCK_CLOEXEC);
    if (peer < 0)
        return errno == EAGAIN ? 0 : -errno;
    result = receives(peer, trial->order.mark, ARRIVES_MS);
    close(peer);
    return result;
}

int look_received(struct trial *trial)
{
    return receives(trial->fd[0], trial->order.mark, patience_of(trial));
}

int socket_connect(const struct order *order, const union name *name, socklen_t size, int type, int protocol)
{
    int fd = socket(name->any.sa_family, type, protocol);

    if (fd < 0 || connect(fd, &name->any, size) != 0)
        return errno;
    return send_mark(fd, order);
}

static int act_tcp(const struct order *order, struct answer *answer)
{
    union name name = loopback(order->number[0]);

    (void)answer;
    return socket_connect(order, &name, sizeof(name.in), SOCK_STREAM, 0);
}

static int act_mapped(const struct order *order, struct answer *answer)
{
    union name name = {.in6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)order->number[0])}};

    (void)answer;
    name.in6.sin6_addr.s6_addr[10] = name.in6.sin6_addr.s6_addr[11] = 0xff;
    name.in6.sin6_addr.s6_addr[12] = 127;
    name.in6.sin6_addr.s6_addr[15] = 1;
    return socket_connect(order, &name, sizeof(name.in6), SOCK_STREAM, 0);
}

/* To IPv6 loopback, where somebody listens as well. */
static int prepare_inet6(struct trial *trial, int type)
{
    union name name = {.in6 = {.sin6_family = AF_INET6}};
    socklen_t size = sizeof(name.in6);
    int fd = socket(AF_INET6, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    name.in6.sin6_addr.s6_addr[15] = 1;
    if (fd < 0 || bind(fd, &name.any, size) != 0) {
        if (fd >= 0)
            close(fd);
        return place_skip(trial, "there is no IPv6 here");
    }
    trial->fd[0] = fd;
    if ((type == SOCK_STREAM && listen(fd, 5) != 0) || getsockname(fd, &name.any, &size) != 0)
        return -errno;
    trial->order.number[0] = ntohs(name.in6.sin6_port);
    return 0;
}

static int prepare_tcp6(struct trial *trial)
{
    return prepare_inet6(trial, SOCK_STREAM);
}

static int prepare_udp6(struct trial *trial)
{
    return prepare_inet6(trial, SOCK_DGRAM);
}

static int connect_inet6(const struct order *order, int type)
{
    union name name = {.in6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)order->number[0])}};

    name.in6.sin6_addr.s6_addr[15] = 1;
    return socket_connect(order, &name, sizeof(name.in6), type, 0);
}

static int act_tcp6(const struct order *order, struct answer *answer)
{
    (void)answer;
    return connect_inet6(order, SOCK_STREAM);
}

static int act_udp6(const struct order *order, struct answer *answer)
{
    (void)answer;
    return connect_inet6(order, SOCK_DGRAM);
}

/* A family of its own that falls back to TCP. */
static int act_smc(const struct order *order, struct answer *answer)
{
    union name name = loopback(order->number[0]);
    int fd = socket(43, SOCK_STREAM, 0);

    (void)answer;
    if (fd < 0 || connect(fd, &name.any, sizeof(name.in)) != 0)
        return errno;
    return send_mark(fd, order);
}

static int act_fastopen(const struct order *order, struct answer *answer)
{
    union name name = loopback(order->number[0]);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    (void)answer;
    if (fd < 0)
        return errno;
    return sendto(fd, order->mark, MARK_SIZE - 1, FASTOPEN | MSG_NOSIGNAL, &name.any, sizeof(name.in)) < 0
               ? errno
               : 0;
}

static int act_mptcp(const struct order *order, struct answer *answer)
{
    union name name = loopback(order->number[0]);

    (void)answer;
    return socket_connect(order, &name, sizeof(name.in), SOCK_STREAM, MPTCP);
}

static int act_udp(const struct order *order, struct answer *answer)
{
    union name name = loopback(order->number[0]);

    (void)answer;
    return socket_connect(order, &name, sizeof(name.in), SOCK_DGRAM, 0);
}

static int act_udp_unconnected(const struct order *order, struct answer *answer)
{
    union name name = loopback(order->number[0]);
    struct iovec part = {(void *)(uintptr_t)order->mark, MARK_SIZE - 1};
    struct msghdr message = {
        .msg_name = &name, .msg_namelen = sizeof(name.in), .msg_iov = &part, .msg_iovlen = 1};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    (void)answer;
    if (fd < 0)
        return errno;
    return sendmsg(fd, &message, 0) < 0 ? errno : 0;
}

/* A question for a name that holds what is to be told, as a resolver passes it on. */
static int act_dns(const struct order *order, struct answer *answer)
{
    union name name = loopback(order->number[0]);
    unsigned char question[12 + 1 + MARK_SIZE - 1 + 1 + 4] = {0x12, 0x34, 1, 0, 0, 1, [12] = MARK_SIZE - 1};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    (void)answer;
    memcpy(question + 13, order->mark, MARK_SIZE - 1);
    question[sizeof(question) - 3] = question[sizeof(question) - 1] = 1;
    if (fd < 0)
        return errno;
    return sendto(fd, question, sizeof(question), 0, &name.any, sizeof(name.in)) < 0 ? errno : 0;
}

static int look_question(struct trial *trial)
{
    struct pollfd ready = {.fd = trial->fd[0], .events = POLLIN};
    char text[4 * MARK_SIZE];

    if (poll(&ready, 1, patience_of(trial)) <= 0)
        return 0;
    return recv(trial->fd[0], text, sizeof(text), MSG_DONTWAIT) > 13 + MARK_SIZE &&
           memcmp(text + 13, trial->order.mark, MARK_SIZE - 1) == 0;
}

static int listen_here(const struct order *order, struct answer *answer, int type)
{
    union name name = loopback(0);
    socklen_t size = sizeof(name.in);
    int fd = socket(AF_INET, type, 0);

    (void)order;
    if (fd < 0 || bind(fd, &name.any, size) != 0 || (type == SOCK_STREAM && listen(fd, 1) != 0) ||
        getsockname(fd, &name.any, &size) != 0)
        return errno;
    answer->number = ntohs(name.in.sin_port);
    return 0;
}

static int act_listen(const struct order *order, struct answer *answer)
{
    return listen_here(order, answer, SOCK_STREAM);
}

static int look_listens(struct trial *trial)
{
    union name name = loopback(trial->answer.number);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), result;

    if (fd < 0)
        return -errno;
    result = trial->answer.errnum == 0 && connect(fd, &name.any, sizeof(name.in)) == 0;
    close(fd);
    return result;
}

static int act_bind_udp(const struct order *order, struct answer *answer)
{
    return listen_here(order, answer, SOCK_DGRAM);
}

/* A port that is taken cannot be taken again. */
static int look_bound(struct trial *trial)
{
    union name name = loopback(trial->answer.number);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), result;

    if (fd < 0)
        return -errno;
    result = trial->answer.errnum == 0 && bind(fd, &name.any, sizeof(name.in)) != 0 && errno == EADDRINUSE;
    close(fd);
    return result;
}

static int act_socket(int family, int type, int protocol)
{
    return socket(family, type, protocol) < 0 ? errno : 0;
}

static int act_ping(const struct order *order, struct answer *answer)
{
    (void)order;
    (void)answer;
    return act_socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP);
}

static int act_raw(const struct order *order, struct answer *answer)
{
    (void)order;
    (void)answer;
    return act_socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
}

static int act_packet(const struct order *order, struct answer *answer)
{
    (void)order;
    (void)answer;
    return act_socket(AF_PACKET, SOCK_RAW, 0);
}

static int act_vsock(const struct order *order, struct answer *answer)
{
    (void)order;
    (void)answer;
    return act_socket(40, SOCK_STREAM, 0);
}

static int act_alg(const struct order *order, struct answer *answer)
{
    (void)order;
    (void)answer;
    return act_socket(38, SOCK_SEQPACKET, 0);
}

static int act_dccp(const struct order *order, struct answer *answer)
{
    (void)order;
    (void)answer;
    return act_socket(AF_INET, 6 /* SOCK_DCCP */, 33);
}

static int act_lite(const struct order *order, struct answer *answer)
{
    (void)order;
    (void)answer;
    return act_socket(AF_INET, SOCK_DGRAM, 136);
}

static int act_xdp(const struct order *order, struct answer *answer)
{
    (void)order;
    (void)answer;
    return act_socket(44, SOCK_RAW, 0);
}

static int act_route(const struct order *order, struct answer *answer)
{
    (void)order;
    (void)answer;
    return act_socket(AF_NETLINK, SOCK_RAW, 9 /* audit */);
}

static int act_sctp(const struct order *order, struct answer *answer)
{
    (void)order;
    (void)answer;
    return act_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
}

static int act_events(const struct order *order, struct answer *answer)
{
    struct {
        uint16_t family, pad;
        uint32_t port, groups;
    } name = {AF_NETLINK, 0, 0, 1};
    int fd = socket(AF_NETLINK, SOCK_DGRAM, 15 /* events of devices */);

    (void)order;
    (void)answer;
    return fd < 0 || bind(fd, (struct sockaddr *)(void *)&name, sizeof(name)) != 0 ? errno : 0;
}

/* Asks the kernel for the sockets that listen: ours is among them. */
static int act_diagnose(const struct order *order, struct answer *answer)
{
    struct {
        uint32_t length;
        uint16_t type, flags;
        uint32_t sequence, port;
        uint8_t family, protocol, extensions, pad;
        uint32_t states;
        uint8_t id[48];
    } question = {.length = sizeof(question),
                  .type = 20,
                  .flags = 0x301 /* all of them */,
                  .family = AF_INET,
                  .protocol = IPPROTO_TCP,
                  .states = 1 << 10};
    int fd = socket(AF_NETLINK, SOCK_RAW, 4 /* sockets */);
    static unsigned char text[1 << 16];
    ssize_t length;

    answer->number = 0;
    if (fd < 0 || send(fd, &question, sizeof(question), 0) < 0)
        return errno;
    while (answer->number == 0 && (length = recv(fd, text, sizeof(text), 0)) > 16) {
        for (size_t at = 0; at + 16 <= (size_t)length;) {
            uint32_t size;
            uint16_t type;

            memcpy(&size, text + at, sizeof(size));
            memcpy(&type, text + at + 4, sizeof(type));
            if (size < 16 || type != 20)
                return type == 3 || type == 2 ? (answer->number ? 0 : ENOENT) : EIO;
            /* The port of the source is behind four bytes of the message. */
            if (text[at + 20] == order->number[0] >> 8 && text[at + 21] == (order->number[0] & 255))
                answer->number = order->number[0];
            at += (size + 3) & ~3U;
        }
    }
    return answer->number ? 0 : ENOENT;
}

static int look_number(struct trial *trial)
{
    return trial->answer.errnum == 0 && trial->answer.number == trial->order.number[0];
}

static int act_foreign_entry(const struct order *order, struct answer *answer)
{
    (void)answer;
    return foreign_send(order->number[0], order->mark);
}

#if defined(__x86_64__)
static int act_foreign_sockets(const struct order *order, struct answer *answer)
{
    (void)answer;
    return foreign_send_old(order->number[0], order->mark);
}

static int act_x32(const struct order *order, struct answer *answer)
{
    union name name = loopback(order->number[0]);
    long fd = kernel_call(0x40000000L | SYS_socket, AF_INET, SOCK_DGRAM, 0, 0, 0, 0);

    (void)answer;
    if (fd < 0)
        return (int)-fd;
    return connect((int)fd, &name.any, sizeof(name.in)) != 0 ? errno : send_mark((int)fd, order);
}
#endif

#define SENDS "a way to the network is a way to carry everything away that can be read"
#define TCP(id, call, what, prepare, act, look)                                                              \
    {                                                                                                        \
        id, SURFACE_NET_TCP, 0, call, what, SENDS, prepare, act, look, NULL                                  \
    }
#define UDP(id, call, what, act, look)                                                                       \
    {                                                                                                        \
        id, SURFACE_NET_UDP, 0, call, what, SENDS, prepare_udp, act, look, NULL                              \
    }
#define OTHER(id, call, what, act)                                                                           \
    {                                                                                                        \
        id, SURFACE_NET_OTHER, SEEN_INSIDE, call, what,                                                      \
            "each family is code of the kernel that few have tested", NULL, act, NULL, NULL                  \
    }

const struct attempt network_attempts[] = {
    TCP("NET-01", "connect(127.0.0.1)", "connect by TCP", prepare_tcp, act_tcp, look_accepted),
    TCP("NET-02", "connect(::ffff:127.0.0.1)", "connect by TCP to an IPv4 address written as IPv6",
        prepare_tcp, act_mapped, look_accepted),
    TCP("NET-03", "sendto(MSG_FASTOPEN)", "connect by sending", prepare_tcp, act_fastopen, look_accepted),
    TCP("NET-04", "socket(IPPROTO_MPTCP); connect()", "connect by MPTCP", prepare_mptcp, act_mptcp,
        look_accepted),
    OTHER("NET-05", "socket(IPPROTO_SCTP)", "make an SCTP socket", act_sctp),
    UDP("NET-06", "connect(UDP); send()", "send a datagram", act_udp, look_received),
    UDP("NET-07", "sendto(UDP, a question for a name)", "tell something by a question for a name", act_dns,
        look_question),
    TCP("NET-08", "bind(127.0.0.1); listen()", "be reached by TCP", NULL, act_listen, look_listens),
    OTHER("NET-10", "socket(SOCK_DGRAM, IPPROTO_ICMP)", "make an ICMP socket", act_ping),
    OTHER("NET-11", "socket(SOCK_RAW)", "make a raw socket", act_raw),
    OTHER("NET-12", "socket(AF_PACKET)", "make a packet socket", act_packet),
    {"NET-13", SURFACE_NET_OTHER, 0, "socket(NETLINK_SOCK_DIAG); dump",
     "ask the kernel which sockets listen outside", "it is a map of the services to attack", prepare_tcp,
     act_diagnose, look_number, NULL},
    OTHER("NET-19", "socket(AF_VSOCK)", "make a socket to the machine below", act_vsock),
    OTHER("NET-20", "socket(AF_ALG)", "use the kernel's ciphers", act_alg),
    UDP("NET-22", "socket(), connect(), write() of 32 bits",
        "send a datagram by the calls of 32-bit programs", act_foreign_entry, look_received),
#if defined(__x86_64__)
    UDP("NET-48", "int 0x80: socketcall(), write()", "send a datagram by the old call of 32-bit programs",
        act_foreign_sockets, look_received),
    UDP("NET-23", "socket | 0x40000000", "send a datagram by the calls of x32 programs", act_x32,
        look_received),
#endif
    OTHER("NET-32", "bind(NETLINK_KOBJECT_UEVENT)", "listen to the events of devices", act_events),
    UDP("NET-33", "sendmsg(UDP)", "send a datagram without connecting", act_udp_unconnected, look_received),
    {"NET-34", SURFACE_NET_UDP, 0, "bind(UDP, 127.0.0.1)", "take a UDP port of the host", SENDS, NULL,
     act_bind_udp, look_bound, NULL},
    TCP("NET-41", "connect(::1)", "connect by TCP over IPv6", prepare_tcp6, act_tcp6, look_accepted),
    {"NET-42", SURFACE_NET_UDP, 0, "connect(::1, UDP); send()", "send a datagram over IPv6", SENDS,
     prepare_udp6, act_udp6, look_received, NULL},
    TCP("NET-43", "socket(AF_SMC); connect()", "connect by a family that falls back to TCP", prepare_tcp,
        act_smc, look_accepted),
    OTHER("NET-44", "socket(SOCK_DCCP)", "make a DCCP socket", act_dccp),
    OTHER("NET-45", "socket(IPPROTO_UDPLITE)", "make a UDP-Lite socket", act_lite),
    OTHER("NET-46", "socket(AF_XDP)", "make a socket that bypasses the network stack", act_xdp),
    OTHER("NET-47", "socket(NETLINK_AUDIT)", "speak to the audit of the kernel", act_route),
    {0},
};
