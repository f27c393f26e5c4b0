/*
 * listed.c - with a list of hosts: whatever is not on it, by every way that leads out.
 *
 * Each run stands in a small Internet of its own (world.h), in which both are there: a host that is listed,
 * and others. The control has no list. Each act goes to the listed host first, in the same way: that it
 * arrived there shows that there was a network, and that what did not arrive was refused.
 *
 * Should:  put the mark where only what is refused can carry it.
 * Mustn't: try what no list claims to see: later requests of a connection, what is said inside TLS.
 */
#include "listed.h"
#include "battery.h"
#include "list.h"
#include "place.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PROXY_PORT = 3128 };

/* --- before ----------------------------------------------------------------------------------------------
 */

static int read_list(struct trial *trial, struct list *ret_list)
{
    const char *why = list_read(trial->battery, ret_list);

    return why ? place_skip(trial, why) : 0;
}

/* Orders for OTHER: a host that is not listed, on the port of one that is; and the world that both are in. */
static int prepare_to(struct trial *trial, const struct list *list, const char *other, struct world *world)
{
    snprintf(OTHER(&trial->order), PLACE_SIZE, "%s", other);
    snprintf(HOST(&trial->order), PLACE_SIZE, "%s", list->host);
    OTHER_PORT(&trial->order) = HOST_PORT(&trial->order) = list->port;
    world->proxy_port = list->port == PROXY_PORT ? PROXY_PORT + 1 : PROXY_PORT;
    world->ports[0] = list->port;
    world->ports[1] = list->other_port;
    world->ports[2] = list->second_port;
    trial->order.number[2] = world->proxy_port;
    trial->order.number[3] = list->wildcard;
    list_add_options(trial);
    return world->name && !list->named ? place_skip(trial, "no rule is of a name") : world_make(trial, world);
}

/* To PLACE, written with BEFORE. */
#define TO(to, before, place)                                                                                \
    static int prepare_##to(struct trial *trial)                                                             \
    {                                                                                                        \
        struct world world = {.name = NULL};                                                                 \
        struct list list;                                                                                    \
        char other[PLACE_SIZE];                                                                              \
        int result = read_list(trial, &list);                                                                \
                                                                                                             \
        snprintf(other, sizeof(other), "%s%s", before, place);                                               \
        return result ? result : prepare_to(trial, &list, other, &world);                                    \
    }

TO(name, "", list.other)
TO(four, "", list.four)
TO(six, "", list.six)
TO(mapped, "::ffff:", list.four)
TO(pool, "", "198.18.77.77") /* as a name is given one inside, and no name has it */

/* The listed host, on another port. */
static int prepare_on(struct trial *trial, const struct list *list, long port)
{
    struct world world = {.name = NULL};
    int result = prepare_to(trial, list, list->host, &world);

    OTHER_PORT(&trial->order) = port;
    return result;
}

/* One that nobody is listed with. */
static int prepare_port(struct trial *trial)
{
    struct list list;
    int result = read_list(trial, &list);

    return result ? result : prepare_on(trial, &list, list.other_port);
}

/* That of another listed host. */
static int prepare_crossed(struct trial *trial)
{
    struct list list;
    int result = read_list(trial, &list);

    if (result == 0 && !*list.second)
        result = place_skip(trial, "no two rules have different ports");
    return result ? result : prepare_on(trial, &list, list.second_port);
}

/* What must be of a name. */
static int prepare_of_name(struct trial *trial, const struct list *list)
{
    struct world world = {.name = list->host, .four = WORLD_HOST};

    return prepare_to(trial, list, list->other, &world);
}

static int prepare_named(struct trial *trial)
{
    struct list list;
    int result = read_list(trial, &list);

    return result ? result : prepare_of_name(trial, &list);
}

static int prepare_below(struct trial *trial)
{
    struct list list;
    int result = read_list(trial, &list);

    if (result == 0 && list.wildcard)
        result = place_skip(trial, "the rule has all that is below its name");
    return result ? result : prepare_of_name(trial, &list);
}

/* The listed name leads where no list leads. */
static int prepare_leading(struct trial *trial, const char *four, const char *six, bool private)
{
    struct list list;
    struct world world = {.name = list.host, .four = four, .six = six, .no_witness = true};
    int result = read_list(trial, &list);

    if (result == 0 && private && list.private)
        result = place_skip(trial, "the rule allows private addresses");
    return result ? result : prepare_to(trial, &list, list.host, &world);
}

#define LEADING(name, four, six, private)                                                                    \
    static int prepare_##name(struct trial *trial)                                                           \
    {                                                                                                        \
        return prepare_leading(trial, four, six, private);                                                   \
    }

LEADING(loopback, "127.0.0.1", NULL, false)
LEADING(private, "10.9.8.7", NULL, true)
LEADING(own, WORLD_OWN, NULL, false)
LEADING(metadata, "169.254.169.254", NULL, false)
LEADING(mapped_loopback, NULL, "::ffff:127.0.0.1", false)
LEADING(translated, NULL, "64:ff9b::7f00:1", false)
LEADING(loopback_six, NULL, "::1", false)

/* Where the proxy is: the confinement says it, and the control is told of one that refuses nobody. */
static void enter_proxy(const struct trial *trial)
{
    char text[64];

    snprintf(text, sizeof(text), "http://" WORLD_PROXY ":%ld", trial->order.number[2]);
    if (trial->control && setenv("http_proxy", text, 1) != 0)
        _exit(CANNOT_ENTER);
}

static int with_proxy(struct trial *trial, int (*prepare)(struct trial *trial))
{
    int result = prepare(trial);

    trial->enter = enter_proxy;
    if (!trial->battery->proxy)
        place_option(trial, "--proxy-env");
    return result;
}

static int proxy_name(struct trial *trial)
{
    return with_proxy(trial, prepare_name);
}

static int proxy_named(struct trial *trial)
{
    return with_proxy(trial, prepare_named);
}

static int proxy_port(struct trial *trial)
{
    return with_proxy(trial, prepare_port);
}

static int proxy_four(struct trial *trial)
{
    return with_proxy(trial, prepare_four);
}

/* The listed host sends whoever asks for /turn to another one. */
static int prepare_turn(struct trial *trial)
{
    static char turned[PLACE_SIZE];
    struct world world = {.turned = turned};
    struct list list;
    int result = read_list(trial, &list);

    snprintf(turned, sizeof(turned), "http://%s:%ld/", list.other, list.port);
    return result ? result : prepare_to(trial, &list, list.other, &world);
}

/* --- outside ---------------------------------------------------------------------------------------------
 */

static int look_stream(struct trial *trial)
{
    return world_heard(trial, HEARD_STREAM);
}

static int look_datagram(struct trial *trial)
{
    return world_heard(trial, HEARD_DATAGRAM);
}

static int look_question(struct trial *trial)
{
    return world_heard(trial, HEARD_QUESTION);
}

#define LISTED(id, call, what, why, prepare, act, look)                                                      \
    {                                                                                                        \
        id, SURFACE_NET_LISTED, OWN_RUN | BEFORE_START | AFTER_END | OF_LIST, call, what, why, prepare, act, \
            look, NULL                                                                                       \
    }
#define BEYOND(id, call, what, prepare, act)                                                                 \
    LISTED(id, call, what, "whoever is not on the list must not be told anything", prepare, act, look_stream)
#define NAMES(id, call, what, prepare, act)                                                                  \
    LISTED(id, call, what, "whoever answers for a name reads what it is asked for", prepare, act,            \
           look_question)
#define BEHIND(id, call, what, prepare, act)                                                                 \
    LISTED(id, call, what, "behind one address there are many hosts, and most are not on the list", prepare, \
           act, look_stream)
#define SPECIAL(id, call, what, prepare, act)                                                                \
    LISTED(id, call, what, "whoever owns a name decides where it leads", prepare, act, look_stream)

const struct attempt listed_attempts[] = {
    BEYOND("NET-24", "CONNECT 2130706433:PORT, 0x7f000001, 127.1, ...",
           "reach the machine itself through the proxy, by other spellings of its address", proxy_name,
           listed_spellings),
    SPECIAL("NET-25", "connect(NAME), which is 127.0.0.1",
            "reach the machine itself by a listed name that leads there", prepare_loopback, listed_stream),
    BEYOND("NET-27", "SOCKS5: OTHER\\0.NAME",
           "reach a host that is not listed by a name with an end in its middle", proxy_named, listed_zero),
    BEYOND("NET-28", "CONNECT OTHER:PORT", "reach a host that is not listed through the proxy", proxy_name,
           listed_tunnel),
    BEYOND("NET-29", "GET /; 302; connect(OTHER)", "follow a listed host to one that is not", prepare_turn,
           listed_turn),
    BEYOND("NET-31", "connect(169.254.169.254)", "reach the metadata of a cloud, where credentials are",
           prepare_name, listed_metadata),
    BEYOND("NET-49", "connect(OTHER)", "reach a host that is not listed by its name", prepare_name,
           listed_stream),
    BEYOND("NET-50", "connect(NAME, another port)", "reach a listed host on a port that is not listed",
           prepare_port, listed_stream),
    BEYOND("NET-51", "connect(198.18.77.77)", "reach somebody by an address that no name was given",
           prepare_pool, listed_stream),
    BEYOND("NET-52", "connect(93.184.5.5)", "reach an address that is not listed", prepare_four,
           listed_stream),
    BEYOND("NET-53", "connect(2600:1::5)", "reach an IPv6 address that is not listed", prepare_six,
           listed_stream),
    BEYOND("NET-54", "connect(::ffff:93.184.5.5)", "reach an address that is not listed, written as IPv6",
           prepare_mapped, listed_stream),
    LISTED("NET-55", "sendto(93.184.5.5, UDP)", "send a datagram to an address that is not listed",
           "whoever is not on the list must not be told anything", prepare_four, listed_datagram,
           look_datagram),
    LISTED("NET-56", "sendto(NAME, UDP)", "send a datagram to a listed host, which is listed for TCP",
           "what comes by UDP is decided by nobody", prepare_named, listed_quic, look_datagram),
    BEHIND("NET-57", "connect(NAME); ClientHello for OTHER", "ask a listed host for another one by TLS",
           prepare_named, listed_hello),
    BEHIND("NET-58", "connect(NAME); ClientHello for nobody", "ask a listed host for nobody by TLS",
           prepare_named, listed_hello_nameless),
    BEHIND("NET-59", "connect(NAME); ClientHello for OTHER in three records",
           "ask a listed host for another one by TLS, in pieces", prepare_named, listed_hello_pieces),
    BEHIND("NET-60", "connect(NAME); Host: OTHER", "ask a listed host for another one by HTTP", prepare_named,
           listed_header),
    BEHIND("NET-61", "connect(NAME); Host: NAME, Host: OTHER",
           "ask a listed host for two hosts at once by HTTP", prepare_named, listed_header_twice),
    BEHIND("NET-62", "connect(NAME); empty lines, get / HTTP/1.1, host:OTHER",
           "ask a listed host for another one by HTTP that only some read", prepare_named,
           listed_header_late),
    BEHIND("NET-63", "connect(NAME); Host: NAME, a line break, OTHER",
           "ask a listed host for another one in a folded line", prepare_named, listed_header_folded),
    BEHIND("NET-64", "connect(NAME); GET http://OTHER/",
           "ask a listed host for another one in the request line", prepare_named, listed_target),
    NAMES("NET-65", "A and AAAA of TEXT.OTHER", "tell something by questions for a name that is not listed",
          prepare_name, listed_ask),
    NAMES("NET-66", "TXT, MX, NULL, HTTPS, ANY of TEXT.OTHER",
          "tell something by questions for other records", prepare_name, listed_ask_text),
    NAMES("NET-67", "A of TEXT.OTHER, by TCP", "tell something by questions that come by TCP", prepare_name,
          listed_ask_stream),
    NAMES("NET-68", "A of TEXT.NAME", "tell something by questions for names below one that is listed alone",
          prepare_below, listed_ask_below),
    NAMES("NET-69", "A of TEXT.NAME, asked of 93.184.5.5", "ask a name server of one's own choice",
          prepare_four, listed_ask_elsewhere),
    NAMES("NET-70", "CONNECT TEXT.OTHER:PORT", "have the proxy ask for a name that is not listed", proxy_name,
          listed_tunnel_name),
    BEYOND("NET-71", "SOCKS5: OTHER", "reach a host that is not listed by SOCKS", proxy_name, listed_socks),
    BEYOND("NET-72", "SOCKS5: 93.184.5.5", "reach an address that is not listed by SOCKS", proxy_four,
           listed_socks),
    BEYOND("NET-73", "GET http://OTHER/", "reach a host that is not listed by a request to the proxy",
           proxy_name, listed_absolute),
    BEHIND("NET-74", "GET http://NAME/, Host: OTHER", "ask a listed host for another one through the proxy",
           proxy_named, listed_absolute_header),
    BEYOND("NET-75", "GET http://NAME/, GET http://OTHER/", "hide a request behind another one to the proxy",
           proxy_name, listed_pipelined),
    BEHIND("NET-76", "CONNECT NAME:PORT; ClientHello for OTHER",
           "ask a listed host for another one inside a tunnel", proxy_named, listed_hello_tunnel),
    LISTED("NET-77", "SOCKS5: UDP ASSOCIATE", "send datagrams through the proxy",
           "what comes by UDP is decided by nobody", proxy_four, listed_associate, look_datagram),
    BEYOND("NET-78", "connect(xNAME), connect(NAME.OTHER)", "reach hosts whose names look like a listed one",
           prepare_named, listed_confused),
    BEYOND("NET-79", "CONNECT xNAME, NAME.OTHER, NAME@OTHER", "have the proxy mistake names for a listed one",
           proxy_named, listed_confused_tunnel),
    SPECIAL("NET-80", "connect(NAME), which is 10.9.8.7",
            "reach a private network by a listed name that leads there", prepare_private, listed_stream),
    SPECIAL("NET-81", "connect(NAME), which is this machine",
            "reach the machine by a listed name that leads there", prepare_own, listed_stream),
    SPECIAL("NET-82", "connect(NAME), which is 169.254.169.254",
            "reach the metadata of a cloud by a listed name that leads there", prepare_metadata,
            listed_stream),
    SPECIAL("NET-83", "connect(NAME), which is ::1",
            "reach the machine by a listed name that leads there over IPv6", prepare_loopback_six,
            listed_stream),
    SPECIAL("NET-84", "connect(NAME), which is ::ffff:127.0.0.1",
            "reach the machine by a listed name whose address is in disguise", prepare_mapped_loopback,
            listed_stream),
    SPECIAL("NET-85", "connect(NAME), which is 64:ff9b::7f00:1",
            "reach the machine by a listed name whose address is to be translated", prepare_translated,
            listed_stream),
    BEYOND("NET-86", "connect(NAME, the port of another listed host)",
           "reach a listed host on a port that only another one is listed with", prepare_crossed,
           listed_stream),
    BEYOND("NET-87", "CONNECT NAME:another port",
           "reach a listed host through the proxy on a port that is not listed", proxy_port, listed_tunnel),
    {0},
};
