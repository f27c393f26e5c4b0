/*
 * world_serve.c - whoever is reached in a small Internet: servers, name servers, a proxy. See world.h.
 *
 * Should:  answer whoever says one of the two marks, so that nobody has to wait for it.
 * Mustn't: decide anything: it says what came, and where.
 */
#include "battery.h"
#include "world.h"

#include "links/kernel_abi.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SOCKETS = 48, BUFFER = 2048, NAMES_PORT = 53, HEAD = 12 /* bytes of a message of DNS */ };

enum role {
    ROLE_NONE = 0,
    ROLE_LISTENER,  /* TCP, for everything */
    ROLE_DATAGRAMS, /* UDP */
    ROLE_NAMES,     /* questions by UDP */
    ROLE_STREAM,    /* connections from here on */
    ROLE_NAMES_STREAM,
    ROLE_PROXY,
    ROLE_SOCKS, /* it has greeted */
};

struct conversation {
    enum role role;
    long port; /* of a listener */
    size_t length;
    char data[BUFFER + 1];
};

struct serving {
    const struct trial *trial;
    const struct world *world;
    struct world_memory *memory;
    char witness[MARK_SIZE];
    struct pollfd sockets[SOCKETS]; /* the first is `sync` */
    struct conversation with[SOCKETS];
    size_t count;
};

/* Return: whether one of the two is there. */
static bool note(struct serving *serving, enum heard kind, const void *bytes, size_t size)
{
    bool mark = memmem(bytes, size, serving->trial->order.mark, MARK_SIZE - 1) != NULL;
    bool witness = memmem(bytes, size, serving->witness, MARK_SIZE - 1) != NULL;

    serving->memory->marks[kind] += mark;
    serving->memory->witnesses[kind] += witness;
    return mark || witness;
}

static int take_socket(struct serving *serving, int fd, enum role role, long port)
{
    if (fd < 0 || serving->count == SOCKETS) {
        if (fd >= 0)
            close(fd);
        return -EMFILE;
    }
    serving->sockets[serving->count] = (struct pollfd){.fd = fd, .events = POLLIN};
    serving->with[serving->count] = (struct conversation){.role = role, .port = port};
    serving->count++;
    return 0;
}

static void drop_socket(struct serving *serving, size_t i)
{
    close(serving->sockets[i].fd);
    serving->count--;
    serving->sockets[i] = serving->sockets[serving->count];
    serving->with[i] = serving->with[serving->count];
}

static void answer(int fd, const void *bytes, size_t size)
{
    if (send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        shutdown(fd, SHUT_RDWR); /* whoever does not read is not talked to any more */
}

/* --- names -----------------------------------------------------------------------------------------------
 */

/* Return: bytes up to the end of the name at HEAD, 0: there is none. */
static size_t read_question(const unsigned char *message, size_t length, char name[WORLD_NAME_SIZE])
{
    size_t at = HEAD, used = 0;

    while (at < length && message[at] != 0) {
        size_t label = message[at];

        if (label > 63 || at + 1 + label >= length || used + label + 1 >= WORLD_NAME_SIZE)
            return 0;
        memcpy(name + used, message + at + 1, label);
        used += label;
        name[used++] = '.';
        at += 1 + label;
    }
    name[used ? used - 1 : 0] = '\0';
    return at + 5 <= length ? at + 1 : 0;
}

/* Where a name leads. Return: bytes of the address, 0: nowhere. */
static size_t find_address(struct serving *serving, const char *name, unsigned type, unsigned char *address)
{
    bool known = serving->world->name && strcasecmp(name, serving->world->name) == 0;
    const char *four = known ? serving->world->four : WORLD_HOST, *six = known ? serving->world->six : NULL;

    serving->memory->asked += known;
    if (type == 1 && four && inet_pton(AF_INET, four, address) == 1)
        return 4;
    return type == 28 && six && inet_pton(AF_INET6, six, address) == 1 ? 16 : 0;
}

/* Return: bytes of the answer, 0: there is none. */
static size_t answer_question(struct serving *serving, const unsigned char *message, size_t length,
                              unsigned char reply[BUFFER])
{
    static const unsigned char record[] = {0xc0, HEAD, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0};
    char name[WORLD_NAME_SIZE];
    size_t end = read_question(message, length, name), address;

    note(serving, HEARD_QUESTION, message, length);
    if (end == 0)
        return 0;
    memcpy(reply, message, end + 4);
    reply[2] = 0x84;
    reply[3] = 0x80;
    memset(reply + 6, 0, HEAD - 6);
    memcpy(reply + end + 4, record, sizeof(record));
    address = find_address(serving, name, message[end + 1], reply + end + 4 + sizeof(record));
    if (address == 0)
        return end + 4;
    reply[7] = 1;
    reply[end + 4 + 3] = message[end + 1];
    reply[end + 4 + sizeof(record) - 1] = (unsigned char)address;
    return end + 4 + sizeof(record) + address;
}

static void hear_names(struct serving *serving, size_t i)
{
    _Alignas(struct cmsghdr) char control[64];
    unsigned char question[BUFFER], reply[2 * BUFFER];
    struct sockaddr_in from;
    struct iovec piece = {question, BUFFER / 2};
    struct msghdr message = {.msg_name = &from,
                             .msg_namelen = sizeof(from),
                             .msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};
    ssize_t got = recvmsg(serving->sockets[i].fd, &message, MSG_DONTWAIT);
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);

    if (got < HEAD || !head || head->cmsg_type != IP_PKTINFO)
        return;
    piece = (struct iovec){reply, answer_question(serving, question, (size_t)got, reply)};
    /* From where it came to. */
    ((struct in_pktinfo *)(void *)CMSG_DATA(head))->ipi_spec_dst =
        ((struct in_pktinfo *)(void *)CMSG_DATA(head))->ipi_addr;
    ((struct in_pktinfo *)(void *)CMSG_DATA(head))->ipi_ifindex = 0;
    if (piece.iov_len > 0)
        sendmsg(serving->sockets[i].fd, &message,
                MSG_DONTWAIT | MSG_NOSIGNAL); /* who hears nothing asks again */
}

static void hear_names_stream(struct serving *serving, size_t i)
{
    struct conversation *with = &serving->with[i];
    unsigned char reply[2 + 2 * BUFFER];
    size_t size, length = with->length >= 2
                              ? (size_t)(unsigned char)with->data[0] << 8 | (unsigned char)with->data[1]
                              : 0;

    if (with->length < 2 || with->length < 2 + length)
        return;
    size = answer_question(serving, (unsigned char *)with->data + 2, length, reply + 2);
    reply[0] = (unsigned char)(size >> 8);
    reply[1] = (unsigned char)size;
    answer(serving->sockets[i].fd, reply, 2 + size);
    with->length = 0;
}

/* --- everything else -------------------------------------------------------------------------------------
 */

static void hear_datagrams(struct serving *serving, size_t i)
{
    char data[BUFFER];
    ssize_t got = recv(serving->sockets[i].fd, data, sizeof(data), MSG_DONTWAIT);

    if (got > 0)
        note(serving, HEARD_DATAGRAM, data, (size_t)got);
}

static void hear_stream(struct serving *serving, size_t i)
{
    static const char good[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    struct conversation *with = &serving->with[i];
    char turned[PLACE_SIZE];

    if (!note(serving, HEARD_STREAM, with->data, with->length))
        return;
    if (!memmem(with->data, with->length, "HTTP/1.", 7)) {
        answer(serving->sockets[i].fd, "+", 1);
    } else if (memmem(with->data, with->length, "/turn", 5) && serving->world->turned) {
        snprintf(turned, sizeof(turned), "HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n",
                 serving->world->turned);
        answer(serving->sockets[i].fd, turned, strlen(turned));
    } else {
        answer(serving->sockets[i].fd, good, sizeof(good) - 1);
    }
    with->length = 0;
}

/* A proxy asks for the name that it is given, and goes wherever it is told: the rest is for the server. */
static void hear_proxy(struct serving *serving, size_t i)
{
    static const char granted[] = "HTTP/1.1 200 Connection established\r\n\r\n";
    struct conversation *with = &serving->with[i];
    bool connect = with->length >= 7 && memcmp(with->data, "CONNECT", 7) == 0;

    if (with->length > 0 && with->data[0] == 5) {
        with->role = ROLE_SOCKS;
        answer(serving->sockets[i].fd, "\5\0", 2);
        with->length = 0;
    } else if (connect && memmem(with->data, with->length, "\r\n\r\n", 4)) {
        note(serving, HEARD_QUESTION, with->data, with->length);
        with->role = ROLE_STREAM;
        answer(serving->sockets[i].fd, granted, sizeof(granted) - 1);
        with->length = 0;
    } else if (!connect && with->length >= 7) {
        with->role = ROLE_STREAM;
        hear_stream(serving, i);
    }
}

/* Granted, whatever it is; datagrams go to the server's first port. */
static void hear_socks(struct serving *serving, size_t i)
{
    unsigned char reply[] = {5, 0, 0, 1, 0, 0, 0, 0, 0, 0};
    struct conversation *with = &serving->with[i];

    if (with->length < sizeof(reply))
        return;
    note(serving, HEARD_QUESTION, with->data, with->length);
    inet_pton(AF_INET, WORLD_PROXY, reply + 4);
    reply[8] = (unsigned char)(serving->world->ports[0] >> 8);
    reply[9] = (unsigned char)serving->world->ports[0];
    with->role = ROLE_STREAM;
    with->length = 0;
    answer(serving->sockets[i].fd, reply, sizeof(reply));
}

static void hear_listener(struct serving *serving, size_t i)
{
    long port = serving->with[i].port;
    int fd = accept4(serving->sockets[i].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    take_socket(serving, fd,
                port == NAMES_PORT                   ? ROLE_NAMES_STREAM
                : port == serving->world->proxy_port ? ROLE_PROXY
                                                     : ROLE_STREAM,
                0);
}

static void (*const roles[])(struct serving *serving, size_t i) = {
    [ROLE_LISTENER] = hear_listener, [ROLE_DATAGRAMS] = hear_datagrams,       [ROLE_NAMES] = hear_names,
    [ROLE_STREAM] = hear_stream,     [ROLE_NAMES_STREAM] = hear_names_stream, [ROLE_PROXY] = hear_proxy,
    [ROLE_SOCKS] = hear_socks,
};

/* Something has come to the socket with this number. */
static void hear(struct serving *serving, size_t i)
{
    struct conversation *with = &serving->with[i];
    ssize_t got;

    if (with->role >= ROLE_STREAM) {
        got = recv(serving->sockets[i].fd, with->data + with->length, BUFFER - with->length, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (got <= 0) {
            drop_socket(serving, i);
            return;
        }
        with->length += (size_t)got;
    }
    roles[with->role](serving, i);
}

static int open_socket(int family, int type, long port)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const void *address = family == AF_INET6 ? (const void *)&six : (const void *)&four;
    int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, off = 0;

    if (fd < 0)
        return -errno;
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    else
        setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on));
    /* Answers leave from whatever address was meant. */
    if (setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &on, sizeof(on)) != 0 ||
        bind(fd, address, family == AF_INET6 ? sizeof(six) : sizeof(four)) != 0 ||
        (type == SOCK_STREAM && listen(fd, 16) != 0)) {
        int errnum = errno;

        close(fd);
        return -errnum;
    }
    return fd;
}

/* For both families, where there are two. */
static int open_both(struct serving *serving, int type, long port)
{
    int fd = open_socket(AF_INET6, type, port);

    if (fd == -EAFNOSUPPORT)
        fd = open_socket(AF_INET, type, port);
    return fd < 0 ? fd : take_socket(serving, fd, type == SOCK_STREAM ? ROLE_LISTENER : ROLE_DATAGRAMS, port);
}

static int open_all(struct serving *serving)
{
    int fd = open_socket(AF_INET, SOCK_DGRAM, NAMES_PORT);
    int result = fd < 0 ? fd : take_socket(serving, fd, ROLE_NAMES, NAMES_PORT);

    if (result == 0)
        result = open_both(serving, SOCK_STREAM, NAMES_PORT);
    if (result == 0)
        result = open_both(serving, SOCK_STREAM, serving->world->proxy_port);
    for (size_t i = 0; result == 0 && i < WORLD_PORTS && serving->world->ports[i]; i++) {
        result = open_both(serving, SOCK_STREAM, serving->world->ports[i]);
        if (result == 0)
            result = open_both(serving, SOCK_DGRAM, serving->world->ports[i]);
    }
    return result;
}

/* Nobody's rights are needed any more. */
static int give_up_rights(const struct battery *battery)
{
    if (battery->root && (setresgid(battery->gid, battery->gid, battery->gid) != 0 ||
                          setresuid(battery->uid, battery->uid, battery->uid) != 0))
        return -errno;
    return prctl(PR_SET_DUMPABLE, 1) != 0 ? -errno : 0;
}

_Noreturn void world_serve(const struct trial *trial, const struct world *world, int sync)
{
    static struct serving serving;
    int result;

    serving = (struct serving){.trial = trial, .world = world, .memory = (void *)trial->memory};
    witness_write(&trial->order, serving.witness);
    take_socket(&serving, sync, ROLE_NONE, 0);
    result = open_all(&serving);
    if (result == 0)
        result = give_up_rights(trial->battery);
    if (write(sync, &result, sizeof(result)) != (ssize_t)sizeof(result) || result < 0)
        _exit(0);
    for (;;) {
        int ready = poll(serving.sockets, serving.count, -1);
        char byte;

        for (size_t i = serving.count; i-- > 1;)
            if (serving.sockets[i].revents)
                hear(&serving, i);
        /* Everything that came before it has been heard when nothing else is there. */
        if (ready == 1 && serving.sockets[0].revents &&
            (read(sync, &byte, 1) != 1 || write(sync, &byte, 1) != 1))
            _exit(0);
    }
}
