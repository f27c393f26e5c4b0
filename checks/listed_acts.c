/*
 * listed_acts.c - what is said inside to hosts on a list, and to others. See listed.h.
 *
 * Each act goes to the listed host first, in the same way: that it arrived there shows that there was a
 * network, and that what did not arrive was refused.
 *
 * Should:  put the mark where only what is refused can carry it.
 * Mustn't: say it to the listed host by itself.
 */
#include "listed.h"
#include "network.h"
#include "place.h"
#include "talk.h"
#include "world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* To the listed host; what it came to is seen outside. */
static void say_witness(const struct order *order, way *goes)
{
    char witness[MARK_SIZE];

    witness_write(order, witness);
    goes(HOST(order), HOST_PORT(order), witness);
}

/* The same way to both. */
static int try_both(const struct order *order, way *goes)
{
    say_witness(order, goes);
    return goes(OTHER(order), OTHER_PORT(order), order->mark);
}

#define BOTH(name, way)                                                                                      \
    int listed_##name(const struct order *order, struct answer *answer)                                      \
    {                                                                                                        \
        (void)answer;                                                                                        \
        return try_both(order, way);                                                                         \
    }

BOTH(stream, talk_stream)
BOTH(tunnel, talk_tunnel)
BOTH(absolute, talk_absolute)
BOTH(socks, talk_socks)

int listed_datagram(const struct order *order, struct answer *answer)
{
    (void)answer;
    say_witness(order, talk_stream);
    return talk_datagram(OTHER(order), OTHER_PORT(order), order->mark);
}

/* To where the listed name is, by UDP, as a browser tries first. */
int listed_quic(const struct order *order, struct answer *answer)
{
    (void)answer;
    say_witness(order, talk_stream);
    return talk_datagram(HOST(order), HOST_PORT(order), order->mark);
}

/* What every program of a cloud can read without a password. */
int listed_metadata(const struct order *order, struct answer *answer)
{
    static const char *const addresses[] = {"169.254.169.254", "100.100.100.200", "fd00:ec2::254"};
    int result = 0;

    (void)answer;
    say_witness(order, talk_stream);
    for (size_t i = 0; i < ITEMS(addresses); i++)
        result = talk_stream(addresses[i], HOST_PORT(order), order->mark);
    return result;
}

/* --- names ---
 */

static int ask(const struct order *order, const char *below, unsigned type, bool stream)
{
    union name ignored;
    char name[MARK_SIZE + PLACE_SIZE];

    snprintf(name, sizeof(name), "%s.%s", order->mark, below);
    return talk_ask(name, type, stream, &ignored);
}

static int ask_each(const struct order *order, const char *below, const unsigned *types, size_t count,
                    bool stream)
{
    int result = 0;

    say_witness(order, talk_stream);
    for (size_t i = 0; i < count; i++)
        result = ask(order, below, types[i], stream);
    return result;
}

static const unsigned address_types[] = {1 /* A */, 28 /* AAAA */};
static const unsigned text_types[] = {16 /* TXT */, 15 /* MX */, 10 /* NULL */, 65 /* HTTPS */,
                                      255 /* ANY */};

int listed_ask(const struct order *order, struct answer *answer)
{
    (void)answer;
    return ask_each(order, OTHER(order), address_types, ITEMS(address_types), false);
}

int listed_ask_text(const struct order *order, struct answer *answer)
{
    (void)answer;
    return ask_each(order, OTHER(order), text_types, ITEMS(text_types), false);
}

int listed_ask_stream(const struct order *order, struct answer *answer)
{
    (void)answer;
    return ask_each(order, OTHER(order), address_types, ITEMS(address_types), true);
}

/* Other records of a name that is listed itself: whoever answers them hears what is asked for. */
int listed_ask_below(const struct order *order, struct answer *answer)
{
    (void)answer;
    return ask_each(order, HOST(order), address_types, ITEMS(address_types), false);
}

int listed_ask_elsewhere(const struct order *order, struct answer *answer)
{
    char name[MARK_SIZE + PLACE_SIZE];

    (void)answer;
    say_witness(order, talk_stream);
    snprintf(name, sizeof(name), "%s.%s", order->mark, HOST(order));
    return talk_ask_at(OTHER(order), name);
}

int listed_tunnel_name(const struct order *order, struct answer *answer)
{
    char name[MARK_SIZE + PLACE_SIZE], witness[MARK_SIZE];

    (void)answer;
    say_witness(order, talk_stream);
    witness_write(order, witness);
    snprintf(name, sizeof(name), "%s.%s", order->mark, OTHER(order));
    return talk_tunnel(name, OTHER_PORT(order), witness);
}

/* Names that begin or end as the listed one does. */
static int try_confusions(const struct order *order, way *goes)
{
    char name[2 * PLACE_SIZE];
    const char *dot = order->number[3] ? strchr(HOST(order), '.') : NULL;
    int result;

    say_witness(order, goes);
    snprintf(name, sizeof(name), "x%s", dot ? dot + 1 : HOST(order));
    goes(name, OTHER_PORT(order), order->mark);
    snprintf(name, sizeof(name), "%s.%s", HOST(order), OTHER(order));
    result = goes(name, OTHER_PORT(order), order->mark);
    snprintf(name, sizeof(name), "%s@%s", HOST(order), OTHER(order));
    goes(name, OTHER_PORT(order), order->mark);
    return result;
}

int listed_confused(const struct order *order, struct answer *answer)
{
    (void)answer;
    return try_confusions(order, talk_stream);
}

int listed_confused_tunnel(const struct order *order, struct answer *answer)
{
    (void)answer;
    return try_confusions(order, talk_tunnel);
}

/* Two names in one, of which one reader sees the first, and another one the last. */
int listed_zero(const struct order *order, struct answer *answer)
{
    char name[2 * PLACE_SIZE];
    size_t first = strlen(OTHER(order)), last = strlen(HOST(order));

    (void)answer;
    say_witness(order, talk_socks);
    memcpy(name, OTHER(order), first + 1);
    name[first + 1] = '.';
    memcpy(name + first + 2, HOST(order), last + 1);
    return talk_socks_to(name, first + 2 + last, OTHER_PORT(order), order->mark);
}

/* The machine's own loopback, in spellings that some readers take for an address. */
int listed_spellings(const struct order *order, struct answer *answer)
{
    static const char *const spellings[] = {"127.0.0.1", "2130706433", "0x7f000001", "0177.0.0.1",
                                            "127.1",     "localhost",  "[::1]",      "[::ffff:127.0.0.1]"};
    int result = 0;

    (void)answer;
    say_witness(order, talk_tunnel);
    for (size_t i = 0; i < ITEMS(spellings); i++)
        result = talk_tunnel(spellings[i], HOST_PORT(order), order->mark);
    return result;
}

/* --- what is said on the way to the listed host ---
 */

static int say_to_host(const struct order *order, const void *bytes, size_t size)
{
    return talk_once(talk_dial(HOST(order), HOST_PORT(order), SOCK_STREAM), bytes, size);
}

static int hello_to_host(const struct order *order, const char *name, const char *text, int pieces)
{
    unsigned char bytes[1024];

    return say_to_host(order, bytes, talk_hello(name, text, pieces, bytes, sizeof(bytes)));
}

static int try_hello(const struct order *order, const char *name, int pieces)
{
    char witness[MARK_SIZE];

    witness_write(order, witness);
    hello_to_host(order, HOST(order), witness, 1);
    return hello_to_host(order, name, order->mark, pieces);
}

int listed_hello(const struct order *order, struct answer *answer)
{
    (void)answer;
    return try_hello(order, OTHER(order), 1);
}

int listed_hello_pieces(const struct order *order, struct answer *answer)
{
    (void)answer;
    return try_hello(order, OTHER(order), 3);
}

int listed_hello_nameless(const struct order *order, struct answer *answer)
{
    (void)answer;
    return try_hello(order, NULL, 1);
}

/* Through CONNECT, for the listed host. */
int listed_hello_tunnel(const struct order *order, struct answer *answer)
{
    unsigned char bytes[1024];

    (void)answer;
    say_witness(order, talk_tunnel);
    return talk_once(talk_tunnel_to(HOST(order), HOST_PORT(order)), bytes,
                     talk_hello(OTHER(order), order->mark, 1, bytes, sizeof(bytes)));
}

/* A request to the listed host whose head is FORM, with the mark's name of another one in it. */
static int try_request(const struct order *order, const char *form)
{
    char request[2 * PLACE_SIZE], other[MARK_SIZE + PLACE_SIZE];
    size_t at = 0;

    say_witness(order, talk_request);
    snprintf(other, sizeof(other), "%s.%.200s", order->mark, OTHER(order));
    for (; *form && at + sizeof(other) < sizeof(request); form++)
        if (*form == '%')
            at += (size_t)snprintf(request + at, sizeof(request) - at, "%s", other);
        else if (*form == '=')
            at += (size_t)snprintf(request + at, sizeof(request) - at, "%.200s", HOST(order));
        else
            request[at++] = *form;
    return say_to_host(order, request, at);
}

#define REQUEST(name, form)                                                                                  \
    int listed_##name(const struct order *order, struct answer *answer)                                      \
    {                                                                                                        \
        (void)answer;                                                                                        \
        return try_request(order, form);                                                                     \
    }

/* `%`: the other host, with the mark in its name; `=`: the listed one. */
REQUEST(header, "GET / HTTP/1.1\r\nHost: %\r\n\r\n")
REQUEST(header_twice, "GET / HTTP/1.1\r\nHost: =\r\nHost: %\r\n\r\n")
REQUEST(header_late, "\r\n\r\nget / HTTP/1.1\r\nhost:%\r\n\r\n")
REQUEST(header_folded, "GET / HTTP/1.1\r\nHost: =\r\n %\r\n\r\n")
REQUEST(target, "GET http://%/ HTTP/1.1\r\nHost: =\r\n\r\n")

/* By the proxy: the request line has one, the head the other. */
int listed_absolute_header(const struct order *order, struct answer *answer)
{
    char request[3 * PLACE_SIZE];

    (void)answer;
    say_witness(order, talk_absolute);
    snprintf(request, sizeof(request), "GET http://%.200s:%ld/ HTTP/1.1\r\nHost: %s.%.200s\r\n\r\n",
             HOST(order), HOST_PORT(order), order->mark, OTHER(order));
    return talk_once(talk_proxy(), request, strlen(request));
}

/* A second request behind the first, to somebody else. */
int listed_pipelined(const struct order *order, struct answer *answer)
{
    char requests[4 * PLACE_SIZE], witness[MARK_SIZE], host[PLACE_SIZE], other[PLACE_SIZE];
    int fd = talk_proxy(), result = fd < 0 ? -fd : 0;

    (void)answer;
    witness_write(order, witness);
    talk_authority(HOST(order), HOST_PORT(order), host);
    talk_authority(OTHER(order), OTHER_PORT(order), other);
    snprintf(requests, sizeof(requests),
             "GET http://%.250s/%s HTTP/1.1\r\nHost: %.250s\r\n\r\n"
             "GET http://%.250s/%s HTTP/1.1\r\nHost: %.250s\r\n\r\n",
             host, witness, host, other, order->mark, other);
    if (result == 0)
        result = talk_say(fd, requests, strlen(requests), NULL);
    if (result == 0 && shutdown(fd, SHUT_WR) == 0)
        while (recv(fd, requests, sizeof(requests), 0) > 0)
            continue;
    if (fd >= 0)
        close(fd);
    return result;
}

/* Where the listed host says. */
int listed_turn(const struct order *order, struct answer *answer)
{
    char request[2 * PLACE_SIZE], said[DATA_SIZE], host[64], witness[MARK_SIZE], *at;
    int fd = talk_dial(HOST(order), HOST_PORT(order), SOCK_STREAM), result = fd < 0 ? -fd : 0;
    long port;

    (void)answer;
    witness_write(order, witness);
    snprintf(request, sizeof(request), "GET /turn/%s HTTP/1.1\r\nHost: %.200s\r\n\r\n", witness, HOST(order));
    if (result == 0)
        result = talk_say(fd, request, strlen(request), said);
    if (fd >= 0)
        close(fd);
    at = result == 0 ? strstr(said, "http://") : NULL;
    if (!at || sscanf(at, "http://%63[^:/]:%ld", host, &port) != 2)
        return result ? result : EPROTO;
    return talk_request(host, port, order->mark);
}

/* Datagrams by the proxy, to wherever. */
int listed_associate(const struct order *order, struct answer *answer)
{
    unsigned char datagram[10 + MARK_SIZE - 1] = {0, 0, 0, 1};
    char text[64];
    union name there = {0};
    int fd = talk_proxy(), result = fd < 0 ? -fd : talk_greet_socks(fd, 3, "0.0.0.0", 7, 0, &there);

    (void)answer;
    say_witness(order, talk_socks);
    memcpy(datagram + 10, order->mark, MARK_SIZE - 1);
    inet_pton(AF_INET, OTHER(order), datagram + 4);
    datagram[8] = (unsigned char)(OTHER_PORT(order) >> 8);
    datagram[9] = (unsigned char)OTHER_PORT(order);
    if (result == 0 && inet_ntop(AF_INET, &there.in.sin_addr, text, sizeof(text)))
        result = talk_send(text, ntohs(there.in.sin_port), datagram, sizeof(datagram));
    if (fd >= 0)
        close(fd);
    return result;
}
