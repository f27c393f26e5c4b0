/*
 * listener.c - sockets on which the inside, or the host's loopback, comes to us.
 *
 * Should:  stop accepting where there is no room, and go on as soon as a connection has ended.
 * Mustn't: spin when descriptors have run out: what waits in the kernel's queue stays readable all the time.
 */
#include "network/gateway.h"

#include "network/dns.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>

#define ACCEPTS     64 /* in one turn */
#define DNS_PAIRS   64
#define DNS_CONTROL 64
#define DNS_MOST    4096 /* bytes of a question */
#define LISTENERS   16384

#define OF_NODE(NODE) ((struct listener *)(void *)((char *)(NODE)-offsetof(struct listener, node)))

/* DNS over TCP: one of them. */
struct dns_client {
    struct watch watch; /* first */
    struct node node;   /* in connections' list of gone ones never: it is freed by itself */
    struct timer timer;
    struct gateway *gateway;
    size_t length;
    unsigned char data[2 + DNS_MOST];
};

static void on_room(struct timer *timer)
{
    struct gateway *gateway = (struct gateway *)(void *)((char *)timer - offsetof(struct gateway, full));

    listener_room(gateway);
}

void listener_room(struct gateway *gateway)
{
    if (!gateway->stalled)
        return;
    gateway->stalled = false;
    for (struct node *at = gateway->listeners.after; at != &gateway->listeners; at = at->after)
        if (OF_NODE(at)->watch.events & EPOLLIN)
            watch_again(&gateway->loop, &OF_NODE(at)->watch);
}

/* No more can be accepted now. Return: true. */
static bool stall(struct gateway *gateway, bool files)
{
    gateway->stalled = true;
    if (files)
        timer_begin(&gateway->loop, &gateway->full, TIMER_SOON, on_room);
    return true;
}

/* Is there no room for one more? listener_room() comes back to it then. */
static bool is_full(struct gateway *gateway)
{
    return gateway->connection_count >= gateway->connection_most && stall(gateway, false);
}

static bool is_out_of_files(int errnum)
{
    return errnum == EMFILE || errnum == ENFILE || errnum == ENOBUFS || errnum == ENOMEM;
}

static void accept_some(struct watch *watch)
{
    struct listener *listener = (struct listener *)watch;
    struct gateway *gateway = listener->gateway;

    for (int i = 0; i < ACCEPTS; i++) {
        int fd;

        if (gateway->ended || is_full(gateway))
            return;
        fd = accept4(watch->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            connection_begin(listener, fd);
        } else if (errno == EAGAIN) {
            watch->events &= ~(uint32_t)EPOLLIN;
            return;
        } else if (is_out_of_files(errno) && stall(gateway, true)) {
            return;
        }
        /* Anything else concerns one connection that is gone already. */
    }
    watch_again(&gateway->loop, watch);
}

/* One question, one answer. Return: its length, 0: none. */
static size_t answer(struct gateway *gateway, const unsigned char *question, size_t length,
                     unsigned char *reply)
{
    char name[NAME_SIZE];
    size_t reply_length = 0;
    enum dns_said said =
        dns_answer(&gateway->rules, &gateway->pool, question, length, reply, &reply_length, name);

    if (said == DNS_REFUSED && name[0])
        account_name(gateway, name, dns_type(reply));
    if (gateway->pool.fresh)
        account_given(gateway, name);
    return said == DNS_NOTHING ? 0 : reply_length;
}

/* What of the control data says to which of our addresses it came: the answer must come from there. */
static void keep_address(struct msghdr *message)
{
    struct cmsghdr *control = CMSG_FIRSTHDR(message);

    if (!control || (control->cmsg_level == IPPROTO_IP && control->cmsg_type != IP_PKTINFO) ||
        (control->cmsg_level == IPPROTO_IPV6 && control->cmsg_type != IPV6_PKTINFO)) {
        message->msg_controllen = 0;
        return;
    }
    if (control->cmsg_level == IPPROTO_IP)
        ((struct in_pktinfo *)(void *)CMSG_DATA(control))->ipi_ifindex = 0;
    message->msg_controllen = CMSG_SPACE(control->cmsg_len - CMSG_LEN(0));
}

static void answer_datagrams(struct watch *watch)
{
    struct listener *listener = (struct listener *)watch;
    unsigned char question[DNS_MOST], reply[DNS_MESSAGE] = {0};

    for (int i = 0; i < DNS_PAIRS; i++) {
        _Alignas(struct cmsghdr) char control[DNS_CONTROL];
        struct sockaddr_storage from;
        struct iovec piece = {question, sizeof(question)};
        struct msghdr message = {.msg_name = &from,
                                 .msg_namelen = sizeof(from),
                                 .msg_iov = &piece,
                                 .msg_iovlen = 1,
                                 .msg_control = control,
                                 .msg_controllen = sizeof(control)};
        ssize_t got = recvmsg(watch->fd, &message, MSG_DONTWAIT);

        if (got < 0 && errno == EAGAIN) {
            watch->events &= ~(uint32_t)EPOLLIN;
            return;
        }
        if (got <= 0)
            continue;
        piece = (struct iovec){reply, answer(listener->gateway, question, (size_t)got, reply)};
        if (piece.iov_len == 0)
            continue;
        keep_address(&message);
        message.msg_flags = 0;
        sendmsg(watch->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL); /* a lost answer is asked for again */
    }
    watch_again(&listener->gateway->loop, watch);
}

static void end_dns_client(struct dns_client *client)
{
    int fd = client->watch.fd;

    timer_end(&client->timer);
    watch_end(&client->watch);
    fd_close(fd);
    client->gateway->connection_count--;
    listener_room(client->gateway);
    free(client);
}

static void on_dns_time(struct timer *timer)
{
    end_dns_client((struct dns_client *)(void *)((char *)timer - offsetof(struct dns_client, timer)));
}

/* Return: false when the client is gone. */
static bool answer_stream(struct dns_client *client)
{
    unsigned char reply[2 + DNS_MESSAGE];

    while (client->length >= 2) {
        size_t length = (size_t)client->data[0] << 8 | client->data[1], reply_length;

        if (length > DNS_MOST)
            return false;
        if (client->length < 2 + length)
            return true;
        reply_length = answer(client->gateway, client->data + 2, length, reply + 2);
        reply[0] = (unsigned char)(reply_length >> 8);
        reply[1] = (unsigned char)reply_length;
        if (reply_length == 0 || send(client->watch.fd, reply, 2 + reply_length,
                                      MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)(2 + reply_length))
            return false; /* whoever does not read its answers needs none */
        client->length -= 2 + length;
        memmove(client->data, client->data + 2 + length, client->length);
    }
    return true;
}

static void read_dns_client(struct watch *watch)
{
    struct dns_client *client = (struct dns_client *)watch;
    ssize_t got =
        recv(watch->fd, client->data + client->length, sizeof(client->data) - client->length, MSG_DONTWAIT);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got > 0)
        client->length += (size_t)got;
    if (got <= 0 || !answer_stream(client))
        end_dns_client(client);
    else
        watch_again(&client->gateway->loop, watch);
}

static void accept_dns(struct watch *watch)
{
    struct gateway *gateway = ((struct listener *)watch)->gateway;

    while (!gateway->ended && !is_full(gateway)) {
        int fd = accept4(watch->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        struct dns_client *client;

        if (fd < 0 && errno == EAGAIN) {
            watch->events &= ~(uint32_t)EPOLLIN;
            return;
        }
        if (fd < 0 && is_out_of_files(errno) && stall(gateway, true))
            return;
        if (fd < 0)
            continue;
        client = calloc(1, sizeof(*client));
        if (!client || watch_begin(&gateway->loop, &client->watch, fd, read_dns_client) != 0) {
            free(client);
            fd_close(fd);
            continue;
        }
        client->gateway = gateway;
        gateway->connection_count++;
        timer_begin(&gateway->loop, &client->timer, TIMER_HANDSHAKE, on_dns_time);
    }
}

bool listener_has_port(const struct gateway *gateway, uint16_t port, const char *name)
{
    for (struct node *at = gateway->listeners.after; at != &gateway->listeners; at = at->after) {
        const struct listener *listener = OF_NODE(at);

        if (listener->role == ROLE_TCP && listener->port == port &&
            (!listener->pinned || (name && strcmp(listener->name, name) == 0)))
            return true;
    }
    return false;
}

static const struct {
    int type;
    void (*call)(struct watch *watch);
} roles[] = {
    [ROLE_TCP] = {SOCK_STREAM, accept_some},     [ROLE_DNS] = {SOCK_DGRAM, answer_datagrams},
    [ROLE_DNS_TCP] = {SOCK_STREAM, accept_dns},  [ROLE_PROXY] = {SOCK_STREAM, accept_some},
    [ROLE_FORWARD] = {SOCK_STREAM, accept_some}, [ROLE_PUBLISH] = {SOCK_STREAM, accept_some},
};

/* Answers leave from where the question came to. */
static void ask_for_addresses(int fd, int family)
{
    static const int on = 1;

    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on));
    else
        setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on));
}

int listener_begin(struct gateway *gateway, enum role role, uint16_t port, const char *name, int fd)
{
    struct sockaddr_storage own = {0};
    socklen_t length = sizeof(own), type_length = sizeof(int);
    struct listener *listener;
    struct address address;
    size_t count = 0;
    int type = 0, error;

    for (struct node *at = gateway->listeners.after; at != &gateway->listeners; at = at->after)
        count++;
    if (getsockname(fd, (struct sockaddr *)&own, &length) != 0 ||
        (own.ss_family != AF_INET && own.ss_family != AF_INET6) ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_length) != 0 || type != roles[role].type ||
        count >= LISTENERS) {
        fd_close(fd);
        return -EINVAL;
    }
    if (role == ROLE_DNS)
        ask_for_addresses(fd, own.ss_family);
    else if (role == ROLE_TCP)
        port = address_port((struct sockaddr *)&own);
    if (type == SOCK_STREAM)
        connection_set_options(fd);
    listener = calloc(1, sizeof(*listener));
    error = listener ? watch_begin(&gateway->loop, &listener->watch, fd, roles[role].call) : -ENOMEM;
    /* accept() must not wait when a connection has gone in between. */
    if (!error && fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
        error = -errno;
    if (!error && name) {
        listener->pinned = true;
        snprintf(listener->name, sizeof(listener->name), "%s", name);
        error = address_read((struct sockaddr *)&own, &address) ? pool_pin(&gateway->pool, name, &address)
                                                                : -EINVAL;
        /* Not of the pool: something else inside has this address for the name. It must be one, though. */
        if (error == -ENOENT && address_range(&address).kind != ADDRESS_NEVER)
            error = 0;
    }
    if (error) {
        free(listener);
        fd_close(fd);
        return error;
    }
    listener->gateway = gateway;
    listener->role = role;
    listener->port = port;
    node_add(&gateway->listeners, &listener->node);
    return 0;
}
