/*
 * namespace_net.c - the network of the namespace: loopback, what else is local, and who listens there.
 *
 *     namespace-run --net [--address ADDRESS/BITS]... [--local NETWORK/BITS]...
 *                         [--listen tcp:ADDRESS:PORT|udp:ADDRESS:PORT]...
 *
 * There is no way out of the namespace. --address gives this machine an
 * address, --local makes all addresses of a network its own: a connection to
 * one of them is made in here, to a listener. These are made in here too, and
 * handed out over the channel: a socket stays in the namespace that it was
 * made in, wherever its descriptor goes.
 *
 * Should:  hand out every listener that was asked for, with its place among the words; leave out only those
 *          of IPv6, where this kernel has none.
 * Mustn't: keep one: what a process inside has, the command may get.
 */
#include "namespace.h"

#include "kernel_net.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define BACKLOG 4096 /* the kernel cuts it to what it allows */

struct place {
    sa_family_t family;
    uint8_t bytes[16];
    int number; /* bits, or the port */
    bool datagrams;
};

static size_t address_size(const struct place *place)
{
    return place->family == AF_INET ? 4 : 16;
}

static void raise_loopback(const struct namespace *ns)
{
    struct ifreq request = {.ifr_name = "lo"};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        namespace_cannot(ns, CANNOT_NET, "loopback", errno);
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    if (ioctl(fd, SIOCSIFFLAGS, &request) != 0)
        namespace_cannot(ns, CANNOT_NET, "loopback", errno);
    request.ifr_flags = 0;
    if (ioctl(fd, SIOCGIFFLAGS, &request) != 0)
        namespace_cannot(ns, CANNOT_NET, "loopback", errno);
    if (!(request.ifr_flags & IFF_UP))
        chain_fatal(ns->chain, "loopback", "the kernel reported success but it is not up");
    close(fd);
}

/* --- the words ------------------------------------------------------------------------------------------ */

enum form { FORM_ADDRESS, FORM_LOCAL, FORM_LISTEN, FORM_COUNT };

static const struct {
    const char *option, *usage;
    char before; /* what stands before the number */
    int most;
} forms[FORM_COUNT] = {
    [FORM_ADDRESS] = {"--address", "usage: ADDRESS/BITS", '/', 128},
    [FORM_LOCAL] = {"--local", "usage: NETWORK/BITS", '/', 128},
    [FORM_LISTEN] = {"--listen", "usage: tcp:ADDRESS:PORT or udp:ADDRESS:PORT", ':', 65535},
};

/* What WORD says. An IPv6 address stands in brackets. Return: whether it has the form. */
static bool read_place(const struct namespace *ns, enum form form, const char *word, struct place *place)
{
    const char *number = strrchr(word, forms[form].before);
    char address[64];
    size_t length;

    *place = (struct place){.datagrams = form == FORM_LISTEN && strncmp(word, "udp:", 4) == 0};
    if (form == FORM_LISTEN && !place->datagrams && strncmp(word, "tcp:", 4) != 0)
        return false;
    word += form == FORM_LISTEN ? 4 : 0;
    if (!number || number <= word)
        return false;
    length = (size_t)(number - word);
    place->family = word[0] == '[' ? AF_INET6 : AF_INET;
    if (place->family == AF_INET6 && (length < 3 || word[length - 1] != ']'))
        return false;
    word += place->family == AF_INET6 ? 1 : 0;
    length -= place->family == AF_INET6 ? 2 : 0;
    if (length >= sizeof(address))
        return false;
    memcpy(address, word, length);
    address[length] = '\0';
    place->number = chain_number(ns->chain, forms[form].option, number + 1);
    return inet_pton(place->family, address, place->bytes) == 1 && place->number <= forms[form].most &&
           (form == FORM_LISTEN || (size_t)place->number <= 8 * address_size(place));
}

/* Takes one of the options, if one stands AT. Return: which one, FORM_COUNT if none. */
static enum form take_place(const struct namespace *ns, size_t *at, struct place *place)
{
    const char *value;

    for (enum form form = 0; form < FORM_COUNT; form++) {
        if (!chain_option(ns->chain, at, forms[form].option, &value))
            continue;
        if (!read_place(ns, form, value, place))
            chain_fatal(ns->chain, forms[form].option, forms[form].usage);
        return form;
    }
    return FORM_COUNT;
}

/*
 * namespace_take_net() - take one of the options of this file.
 * @at: as of chain_option()
 *
 * Return: whether it was one. Ends the link where its value is none.
 */
bool namespace_take_net(struct namespace *ns, size_t *at)
{
    struct place place;
    size_t first = *at;
    enum form form = take_place(ns, at, &place);

    if (form == FORM_COUNT)
        return false;
    if (ns->net_words == 0)
        ns->net_words = first;
    ns->net_end = *at;
    ns->listens = ns->listens || form == FORM_LISTEN;
    return true;
}

/* namespace_check_net() - refuse words that do not go together. Ends the link then. */
void namespace_check_net(const struct namespace *ns)
{
    size_t at = ns->net_words;
    struct place place;

    if (ns->net_words > 0 && !ns->net)
        chain_fatal(ns->chain, "--listen", "usage: needs --net");
    if (ns->listens && ns->channel < 0)
        chain_fatal(ns->chain, "--listen", "usage: needs --channel");
    while (at < ns->net_end)
        if (take_place(ns, &at, &place) == FORM_COUNT)
            chain_fatal(ns->chain, ns->chain->argv[at], "usage: not between --address, --local and --listen");
}

/* --- what is local -------------------------------------------------------------------------------------- */

struct request {
    struct net_header header;
    uint8_t rest[64];
};

static void add(struct request *request, const void *data, size_t size)
{
    memcpy((uint8_t *)request + request->header.length, data, size);
    request->header.length += (uint32_t)size; /* every one is a multiple of four */
}

static void add_attribute(struct request *request, uint16_t type, const void *data, size_t size)
{
    const struct net_attribute attribute = {.length = (uint16_t)(sizeof(attribute) + size), .type = type};

    add(request, &attribute, sizeof(attribute));
    add(request, data, size);
}

static struct request make_request(const struct place *place, bool route)
{
    const struct net_address address = {.family = (uint8_t)place->family,
                                        .bits = (uint8_t)place->number,
                                        .flags = NET_ADDRESS_PERMANENT,
                                        .device = NET_LOOPBACK};
    const struct net_route to = {.family = (uint8_t)place->family,
                                 .to_bits = (uint8_t)place->number,
                                 .table = NET_ROUTE_TABLE_LOCAL,
                                 .protocol = NET_ROUTE_BY_KERNEL,
                                 .scope = NET_ROUTE_THIS_HOST,
                                 .type = NET_ROUTE_LOCAL};
    const uint32_t device = NET_LOOPBACK;
    struct request request = {.header = {.length = sizeof(request.header),
                                         .type = route ? NET_NEW_ROUTE : NET_NEW_ADDRESS,
                                         .flags = NET_REQUEST | NET_ACK | NET_CREATE}};

    if (route) {
        add(&request, &to, sizeof(to));
        if (place->number > 0)
            add_attribute(&request, NET_ROUTE_TO, place->bytes, address_size(place));
        add_attribute(&request, NET_ROUTE_OVER, &device, sizeof(device));
    } else {
        add(&request, &address, sizeof(address));
        add_attribute(&request, NET_ADDRESS_LOCAL, place->bytes, address_size(place));
        add_attribute(&request, NET_ADDRESS_ADDRESS, place->bytes, address_size(place));
    }
    return request;
}

/* Asks for one address or network, and hears the answer. */
static void make_local(const struct namespace *ns, int fd, const struct place *place, enum form form)
{
    const struct request request = make_request(place, form == FORM_LOCAL);
    struct {
        struct net_header header;
        struct net_answer answer;
        uint8_t rest[128];
    } reply = {.answer = {.error = -EPROTO}};
    ssize_t got = -1;

    if (send(fd, &request, request.header.length, 0) == (ssize_t)request.header.length)
        got = recv(fd, &reply, sizeof(reply), 0);
    if (got < 0)
        namespace_cannot(ns, CANNOT_NET, forms[form].option, errno);
    if (got < (ssize_t)(sizeof(reply.header) + sizeof(reply.answer)) || reply.header.type != NET_ANSWER)
        chain_fatal(ns->chain, forms[form].option, "the kernel answered something else");
    if (reply.answer.error != 0 && reply.answer.error != -EEXIST)
        namespace_cannot(ns, CANNOT_NET, forms[form].option, -reply.answer.error);
}

/* --- who listens ---------------------------------------------------------------------------------------- */

struct batch {
    struct channel_listeners message;
    int fds[CHANNEL_DESCRIPTORS];
};

static void hand_out(const struct namespace *ns, struct batch *batch)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(batch->fds))];
    } control;
    size_t size = batch->message.count * sizeof(int);
    struct iovec part = {.iov_base = &batch->message, .iov_len = sizeof(batch->message)};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(size)};

    if (size == 0)
        return;
    memset(&control, 0, sizeof(control));
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(size);
    memcpy(CMSG_DATA(&control.header), batch->fds, size);
    if (sendmsg(ns->channel, &message, MSG_NOSIGNAL) != (ssize_t)sizeof(batch->message))
        chain_fatal_errno(ns->chain, "--channel", errno);
    for (size_t i = 0; i < batch->message.count; i++)
        close(batch->fds[i]);
    if (fcntl(batch->fds[0], F_GETFD) >= 0)
        chain_fatal(ns->chain, "--listen", "the kernel reported success but did not close the listener");
    batch->message.count = 0;
}

/* Of a network, no address is the namespace's own yet: FREEBIND. */
static int make_listener(const struct namespace *ns, const struct place *place)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((in_port_t)place->number)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((in_port_t)place->number)};
    bool is_four = place->family == AF_INET;
    const struct sockaddr *address = is_four ? (void *)&four : (void *)&six;
    int one = 1, fd = socket(place->family,
                             (place->datagrams ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    memcpy(is_four ? (void *)&four.sin_addr : (void *)&six.sin6_addr, place->bytes, address_size(place));
    if (fd < 0)
        namespace_cannot(ns, CANNOT_NET, "--listen", errno);
    if ((!is_four && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) != 0) ||
        setsockopt(fd, is_four ? IPPROTO_IP : IPPROTO_IPV6, is_four ? NET_FREEBIND_4 : NET_FREEBIND_6, &one,
                   sizeof(one)) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 ||
        bind(fd, address, is_four ? sizeof(four) : sizeof(six)) != 0 ||
        (!place->datagrams && listen(fd, BACKLOG) != 0))
        namespace_cannot(ns, CANNOT_NET, "--listen", errno);
    return fd;
}

static bool has_six(void)
{
    int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/*
 * namespace_build_net() - make the network of a namespace that this process is in, as the words say.
 *
 * The listeners are handed out, and closed here. Ends the link on any doubt.
 */
void namespace_build_net(const struct namespace *ns)
{
    struct batch batch = {.message = {.type = CHANNEL_LISTENERS}};
    size_t at = ns->net_words;
    uint32_t index = 0;
    struct place place;
    enum form form;
    bool six;
    int fd;

    raise_loopback(ns);
    if (at == 0)
        return;
    six = has_six();
    fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd < 0)
        namespace_cannot(ns, CANNOT_NET, "routes", errno);
    while (at < ns->net_end) {
        form = take_place(ns, &at, &place);
        if (form != FORM_LISTEN) {
            if (place.family == AF_INET || six)
                make_local(ns, fd, &place, form);
            continue;
        }
        if (place.family == AF_INET || six) {
            batch.fds[batch.message.count] = make_listener(ns, &place);
            batch.message.index[batch.message.count++] = index;
        }
        index++;
        if (batch.message.count == CHANNEL_DESCRIPTORS)
            hand_out(ns, &batch);
    }
    hand_out(ns, &batch);
    close(fd);
}
