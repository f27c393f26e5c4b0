/*
 * namespace_net.c - the network of the namespace: loopback, what else is local, and who listens there.
 *
 *     namespace-run --net [--address ADDRESS/BITS]... [--local NETWORK/BITS]...
 *                         [--listen tcp:ADDRESS:PORT|udp:ADDRESS:PORT]... [--nameless udp:ADDRESS:PORT]
 *
 * There is no way out of the namespace. --address gives this machine an
 * address, --local makes all addresses of a network its own: a connection to
 * one of them is made in here, to a listener. These are made in here too, and
 * handed out over the channel: a socket stays in the namespace that it was
 * made in, wherever its descriptor goes. On --nameless, process 1 answers every
 * question that there is no such name: a resolver that hears nothing waits.
 *
 * Should:  hand out every listener that was asked for, with its place among the words; leave out only those
 *          of IPv6, where this kernel has none.
 * Mustn't: keep one: what a process inside has, the command may get.
 */
#include "namespace.h"

#include "namespace_net.h"
#include "pass.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#define BACKLOG 4096 /* the kernel cuts it to what it allows */

/* --- the words ------------------------------------------------------------------------------------------ */

const struct net_form net_forms[FORM_COUNT] = {
    [FORM_ADDRESS] = {"--address", "usage: ADDRESS/BITS", '/', 128},
    [FORM_LOCAL] = {"--local", "usage: NETWORK/BITS", '/', 128},
    [FORM_LISTEN] = {"--listen", "usage: tcp:ADDRESS:PORT or udp:ADDRESS:PORT", ':', 65535},
    [FORM_NAMELESS] = {"--nameless", "usage: udp:ADDRESS:PORT", ':', 65535},
};

/* What WORD says. An IPv6 address stands in brackets. Return: whether it has the form. */
bool net_read_place(const struct namespace *ns, enum form form, const char *word, struct net_place *place)
{
    const char *number = strrchr(word, net_forms[form].before);
    char address[64];
    size_t length;

    bool socket = form == FORM_LISTEN || form == FORM_NAMELESS;

    *place = (struct net_place){.datagrams = socket && strncmp(word, "udp:", 4) == 0};
    if (socket && !place->datagrams && (form == FORM_NAMELESS || strncmp(word, "tcp:", 4) != 0))
        return false;
    word += socket ? 4 : 0;
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
    place->number = chain_number(ns->chain, net_forms[form].option, number + 1);
    return inet_pton(place->family, address, place->bytes) == 1 && place->number <= net_forms[form].most &&
           (socket || (size_t)place->number <= 8 * net_address_size(place));
}

/* Takes one of the options, if one stands AT. Return: which one, FORM_COUNT if none. */
static enum form take_place(const struct namespace *ns, size_t *at, struct net_place *place)
{
    const char *value;

    for (enum form form = 0; form < FORM_COUNT; form++) {
        if (!chain_option(ns->chain, at, net_forms[form].option, &value))
            continue;
        if (!net_read_place(ns, form, value, place))
            chain_fatal(ns->chain, net_forms[form].option, net_forms[form].usage);
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
    struct net_place place;
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
    struct net_place place;

    if (ns->entrance && (!ns->net || ns->channel < 0))
        chain_fatal(ns->chain, "--entrance", "usage: needs --net and --channel");
    if (ns->net_words > 0 && !ns->net)
        chain_fatal(ns->chain, "--listen", "usage: needs --net");
    if (ns->listens && ns->channel < 0)
        chain_fatal(ns->chain, "--listen", "usage: needs --channel");
    while (at < ns->net_end)
        if (take_place(ns, &at, &place) == FORM_COUNT)
            chain_fatal(ns->chain, ns->chain->argv[at], "usage: not between --address, --local and --listen");
}

/* --- who listens ---------------------------------------------------------------------------------------- */

struct batch {
    struct channel_listeners message;
    int fds[CHANNEL_DESCRIPTORS];
};

/* Hands descriptors out, and closes them here. */
static void send_out(const struct namespace *ns, const void *data, size_t length, const int *fds,
                     size_t count)
{
    int r = pass_descriptors(ns->channel, data, length, fds, count, PASS_PATIENTLY);

    if (r < 0)
        chain_fatal(ns->chain, "--channel", pass_strerror(-r));
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
    if (fcntl(fds[0], F_GETFD) >= 0)
        chain_fatal(ns->chain, "--listen", "the kernel reported success but did not close the listener");
}

static void hand_out(const struct namespace *ns, struct batch *batch)
{
    if (batch->message.count > 0)
        send_out(ns, &batch->message, sizeof(batch->message), batch->fds, batch->message.count);
    batch->message.count = 0;
}

/* Of a network, no address is the namespace's own yet: FREEBIND. One for all addresses may come to stand
 * beside one for a single address, on the same port: REUSEPORT. Return: a descriptor, or -errno. */
int net_open_listener(const struct net_place *place)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((in_port_t)place->number)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((in_port_t)place->number)};
    bool is_four = place->family == AF_INET;
    const struct sockaddr *address = is_four ? (void *)&four : (void *)&six;
    int one = 1, errnum,
        fd = socket(place->family,
                    (place->datagrams ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    memcpy(is_four ? (void *)&four.sin_addr : (void *)&six.sin6_addr, place->bytes, net_address_size(place));
    if (fd < 0)
        return -errno;
    if ((is_four || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) == 0) &&
        setsockopt(fd, is_four ? IPPROTO_IP : IPPROTO_IPV6, is_four ? NET_FREEBIND_4 : NET_FREEBIND_6, &one,
                   sizeof(one)) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)) == 0 &&
        bind(fd, address, is_four ? sizeof(four) : sizeof(six)) == 0 &&
        (place->datagrams || listen(fd, BACKLOG) == 0))
        return fd;
    errnum = errno;
    close(fd);
    return -errnum;
}

static int make_listener(const struct namespace *ns, const struct net_place *place)
{
    int fd = net_open_listener(place);

    if (fd < 0)
        namespace_cannot(ns, CANNOT_NET, "--listen", -fd);
    return fd;
}

static void make_local(const struct namespace *ns, int fd, const struct net_place *place, enum form form)
{
    int errnum = net_ask_local(ns, fd, place, form);

    if (errnum)
        namespace_cannot(ns, CANNOT_NET, net_forms[form].option, errnum);
}

/* Asked once. */
static bool has_six(void)
{
    static int has; /* 0: not asked */
    int fd = has == 0 ? socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;

    if (has == 0)
        has = fd >= 0 ? 1 : -1;
    if (fd >= 0)
        close(fd);
    return has > 0;
}

static int open_routes(const struct namespace *ns)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);

    if (fd < 0)
        namespace_cannot(ns, CANNOT_NET, "routes", errno);
    return fd;
}

/* Whoever has these may go into the network later, if the user namespace is his. */
static void hand_out_entrance(const struct namespace *ns)
{
    static const char *const names[] = {"/proc/self/ns/user", "/proc/self/ns/net"};
    struct channel_word word = {.type = CHANNEL_ENTRANCE};
    int fds[2];

    for (size_t i = 0; i < 2; i++) {
        fds[i] = open(names[i], O_RDONLY | O_CLOEXEC);
        if (fds[i] < 0)
            chain_fatal_errno(ns->chain, names[i], errno);
    }
    send_out(ns, &word, sizeof(word), fds, 2);
}

/*
 * namespace_build_net() - make the network of a namespace that this process is in, as the words say.
 *
 * @raise: it is as the kernel made it: loopback is not up, and low ports are root's
 *
 * The listeners are handed out, and closed here. Ends the link on any doubt.
 */
void namespace_build_net(struct namespace *ns, bool raise)
{
    struct batch batch = {.message = {.type = CHANNEL_LISTENERS}};
    size_t at = ns->net_words;
    uint32_t index = 0;
    struct net_place place;
    enum form form;
    int fd = -1;

    if (raise) {
        namespace_open_ports();
        net_raise_loopback(ns);
    }
    if (ns->entrance)
        hand_out_entrance(ns);
    if (at == 0)
        return;
    while (at < ns->net_end) {
        form = take_place(ns, &at, &place);
        index += form == FORM_LISTEN;
        if (place.family == AF_INET6 && !has_six())
            continue;
        if (form == FORM_NAMELESS) {
            ns->nameless = make_listener(ns, &place);
        } else if (form == FORM_LISTEN) {
            batch.fds[batch.message.count] = make_listener(ns, &place);
            batch.message.index[batch.message.count++] = index - 1;
        } else {
            fd = fd < 0 ? open_routes(ns) : fd;
            make_local(ns, fd, &place, form);
        }
        if (batch.message.count == CHANNEL_DESCRIPTORS)
            hand_out(ns, &batch);
    }
    hand_out(ns, &batch);
    if (fd >= 0)
        close(fd);
}
