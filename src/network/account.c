/*
 * account.c - what the supervisor is told of connections.
 *
 * The first thousand one by one, as they are decided and as they end; all others, and what could not be sent,
 * as sums by name, port, rule and refusal. So however much a command does, neither process remembers more
 * than these. What is allowed and what is refused have bounds of their own: a flood of the one kind hides
 * nothing of the other.
 *
 * Mustn't: lose a connection from the sums, or count what was refused as allowed.
 */
#include "network/gateway.h"

#include "network/protocol.h"
#include "util/writer.h"

#include <errno.h>
#include <stddef.h>

#define TALLIES_EACH                                                                                         \
    256 /* sums of a kind; what is different from all of them is added to the one without a name */

#define ERROR_SIZE 64 /* bytes of a sum's sentence */

enum { ALLOWED = 0, REFUSED, KINDS };

const char *const protocols[] = {
    [PROTOCOL_TCP] = "tcp",        [PROTOCOL_HTTP] = "http", [PROTOCOL_CONNECT] = "connect",
    [PROTOCOL_SOCKS5] = "socks5",  [PROTOCOL_DNS] = "dns",   [PROTOCOL_FORWARD] = "forward",
    [PROTOCOL_PUBLISH] = "publish"};

struct tally {
    char name[NAME_SIZE];
    bool rest;     /* what has no sum of its own */
    bool told;     /* of a name that was looked up: once by itself */
    unsigned type; /* of such a name: the record that was asked for first, whose questions are counted */
    uint16_t port;
    enum protocol protocol;
    enum reason reason;
    size_t rule;
    char option[OPTION_SIZE];
    uint64_t connections, sent, received; /* not told yet */
    uint64_t failed;                      /* of what was allowed: that brought nothing; not told yet */
    char error[ERROR_SIZE];               /* of the first of them */
};

static void write_start(struct writer *writer, const char *type)
{
    *writer = (struct writer){.compact = true};
    writer_object(writer, NULL);
    writer_text(writer, "type", type);
}

static bool say(struct gateway *gateway, struct writer *writer)
{
    writer_end(writer);
    return supervisor_say(gateway, &writer->text);
}

static void write_rule(const struct gateway *gateway, struct writer *writer, enum reason reason, size_t rule,
                       enum protocol protocol)
{
    struct text text = {0};

    if (reason == REASON_NONE && protocol != PROTOCOL_FORWARD && protocol != PROTOCOL_PUBLISH)
        rule_text(&gateway->rules.items[rule], &text);
    writer_text(writer, "rule", text.data);
    text_free(&text);
}

static int kind_of(enum reason reason)
{
    return reason == REASON_NONE ? ALLOWED : REFUSED;
}

static void write_refusal(struct writer *writer, enum reason reason, const char *option)
{
    writer_text(writer, "refused", reason == REASON_NONE ? NULL : reasons[reason]);
    writer_text(writer, "option", reason != REASON_NONE && option[0] ? option : NULL);
}

static void on_count(struct timer *timer)
{
    account_flush((struct gateway *)(void *)((char *)timer - offsetof(struct gateway, count_timer)));
}

static size_t count_tallies(const struct gateway *gateway)
{
    return gateway->tally_counts[ALLOWED] + gateway->tally_counts[REFUSED];
}

/* The sum with these words, or the one of its kind that has all the rest. Return: NULL without memory at all.
 */
static struct tally *find_tally(struct gateway *gateway, const struct tally *like)
{
    int kind = kind_of(like->reason);
    struct tally *tally;

    if (!gateway->tallies) {
        gateway->tallies = calloc((size_t)KINDS * TALLIES_EACH, sizeof(*gateway->tallies));
        if (!gateway->tallies)
            return NULL;
        for (size_t i = 0; i < KINDS; i++) {
            gateway->tallies[i].rest = true;
            gateway->tallies[i].reason = i == ALLOWED ? REASON_NONE : REASON_VARIOUS;
            gateway->tally_counts[i] = 1;
        }
    }
    for (size_t i = KINDS; i < count_tallies(gateway); i++) {
        tally = &gateway->tallies[i];
        if (tally->port == like->port && tally->protocol == like->protocol && tally->reason == like->reason &&
            tally->rule == like->rule && strcmp(tally->name, like->name) == 0)
            return tally;
    }
    if (gateway->tally_counts[kind] == TALLIES_EACH)
        return &gateway->tallies[kind];
    tally = &gateway->tallies[count_tallies(gateway)];
    gateway->tally_counts[kind]++;
    *tally = *like;
    return tally;
}

static void count(struct gateway *gateway, struct tally *tally, uint64_t connections, uint64_t sent,
                  uint64_t received)
{
    if (!tally)
        return;
    tally->connections += connections;
    tally->sent += sent;
    tally->received += received;
    if (!gateway->count_timer.node.after)
        timer_begin(&gateway->loop, &gateway->count_timer, TIMER_SOON, on_count);
}

void account_given(struct gateway *gateway, const char *name)
{
    static const char *const keys[] = {"four", "six"};
    char text[ADDRESS_TEXT];
    struct address address;
    struct writer writer;

    if (gateway->given++ < PROTOCOL_ITEMS) {
        write_start(&writer, "given");
        writer_text(&writer, "name", name);
        for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
            writer_text(&writer, keys[i],
                        pool_address(&gateway->pool, gateway->pool.fresh, i == 1, &address)
                            ? address_text(&address, text)
                            : NULL);
        say(gateway, &writer);
    }
    gateway->pool.fresh = 0;
}

void account_flush(struct gateway *gateway)
{
    struct writer writer;

    timer_end(&gateway->count_timer);
    for (size_t i = 0; i < count_tallies(gateway); i++) {
        struct tally *tally = &gateway->tallies[i];

        if (tally->connections == 0 && tally->sent == 0 && tally->received == 0 && tally->failed == 0)
            continue;
        write_start(&writer, "counted");
        writer_text(&writer, "name", tally->rest ? NULL : tally->name);
        writer_integer(&writer, "port", tally->port);
        writer_text(&writer, "protocol", protocols[tally->protocol]);
        if (tally->rest)
            writer_null(&writer, "rule");
        else
            write_rule(gateway, &writer, tally->reason, tally->rule, tally->protocol);
        write_refusal(&writer, tally->reason, tally->option);
        writer_integer(&writer, "connections", (int64_t)tally->connections);
        writer_integer(&writer, "sent", (int64_t)tally->sent);
        writer_integer(&writer, "received", (int64_t)tally->received);
        writer_integer(&writer, "failed", (int64_t)tally->failed);
        writer_text(&writer, "error", tally->failed ? tally->error : NULL);
        if (!say(gateway, &writer)) {
            timer_begin(&gateway->loop, &gateway->count_timer, TIMER_SOON, on_count);
            return;
        }
        tally->connections = tally->sent = tally->received = tally->failed = 0;
    }
}

/* Of what a server inside says, the command is the one who sends. */
static void say_bytes(const struct connection *connection, uint64_t *ret_sent, uint64_t *ret_received)
{
    bool published = connection->protocol == PROTOCOL_PUBLISH;

    *ret_sent = published ? connection->received : connection->sent;
    *ret_received = published ? connection->sent : connection->received;
}

static struct tally tally_of(const struct connection *connection)
{
    struct tally like = {.port = connection->target.port,
                         .protocol = connection->protocol,
                         .reason = connection->verdict.reason,
                         .rule = connection->verdict.rule};

    snprintf(like.name, sizeof(like.name), "%s", connection->target.name);
    snprintf(like.option, sizeof(like.option), "%s", connection->verdict.option);
    return like;
}

void account_decided(struct connection *connection)
{
    struct gateway *gateway = connection->gateway;
    const struct target *target = &connection->target;
    const struct verdict *verdict = &connection->verdict;
    struct writer writer;
    struct tally like;

    connection->accounted = true;
    if (gateway->items[kind_of(verdict->reason)] < PROTOCOL_ITEMS) {
        write_start(&writer, "connection");
        writer_integer(&writer, "id", (int64_t)connection->id);
        writer_text(&writer, "name", target->is_address || !target->name[0] ? NULL : target->name);
        writer_text(&writer, "address", target->is_address ? target->name : NULL);
        writer_integer(&writer, "port", target->port);
        writer_text(&writer, "protocol", protocols[connection->protocol]);
        write_rule(gateway, &writer, verdict->reason, verdict->rule, connection->protocol);
        write_refusal(&writer, verdict->reason, verdict->option);
        connection->told = say(gateway, &writer);
        gateway->items[kind_of(verdict->reason)] += connection->told;
    }
    if (!connection->told) {
        like = tally_of(connection);
        count(gateway, find_tally(gateway, &like), 1, 0, 0);
    }
}

/* Nothing came back, and it was not the client that gave up. */
static void count_failed(struct tally *tally, const struct connection *connection, const char *error)
{
    static const char client[] = "the client ";

    if (!tally || !error || connection->received > 0 || strncmp(error, client, sizeof(client) - 1) == 0)
        return;
    if (tally->failed++ == 0)
        snprintf(tally->error, sizeof(tally->error), "%s", error);
}

static void count_closed(struct connection *connection, const char *error)
{
    struct gateway *gateway = connection->gateway;
    struct tally like = tally_of(connection);
    struct tally *tally;
    uint64_t sent, received;

    say_bytes(connection, &sent, &received);
    if (connection->is_later &&
        !connection->told) { /* one more that was refused; it was counted as allowed */
        like.reason = connection->later;
        count(gateway, find_tally(gateway, &like), 1, 0, 0);
        return;
    }
    tally = find_tally(gateway, &like);
    if (!connection->told)
        count_failed(tally, connection, error);
    count(gateway, tally, 0, sent, received);
}

void account_closed(struct connection *connection, const char *error)
{
    struct gateway *gateway = connection->gateway;
    char address[ADDRESS_TEXT];
    uint64_t sent, received;
    struct writer writer;

    if (!connection->accounted || connection->verdict.reason != REASON_NONE)
        return;
    if (connection->told) {
        say_bytes(connection, &sent, &received);
        write_start(&writer, "closed");
        writer_integer(&writer, "id", (int64_t)connection->id);
        writer_text(&writer, "address",
                    connection->dialled ? address_text(&connection->address, address) : NULL);
        writer_integer(&writer, "sent", (int64_t)sent);
        writer_integer(&writer, "received", (int64_t)received);
        writer_integer(&writer, "ms", (int64_t)(gateway->loop.now - connection->began_ms));
        writer_text(&writer, "error", error);
        write_refusal(&writer, connection->is_later ? connection->later : REASON_NONE,
                      connection->verdict.option);
        if (say(gateway, &writer))
            return;
    }
    count_closed(connection, error);
}

void account_anew(struct gateway *gateway)
{
    gateway->items[ALLOWED] = gateway->items[REFUSED] = 0;
    for (size_t i = 0; i < count_tallies(gateway); i++)
        gateway->tallies[i].told = false;
}

void account_name(struct gateway *gateway, const char *name, unsigned type)
{
    struct tally like = {.protocol = PROTOCOL_DNS, .reason = REASON_NOT_LISTED, .type = type}, *tally;
    struct writer writer;

    snprintf(like.name, sizeof(like.name), "%s", name);
    decide_option(name, like.option);
    tally = find_tally(gateway, &like);
    if (tally && !tally->rest && tally->type != type)
        return;
    if (tally && !tally->rest && !tally->told && gateway->items[REFUSED] < PROTOCOL_ITEMS) {
        tally->told = true;
        write_start(&writer, "connection");
        writer_integer(&writer, "id", (int64_t)++gateway->last_id);
        writer_text(&writer, "name", name);
        writer_null(&writer, "address");
        writer_integer(&writer, "port", 0);
        writer_text(&writer, "protocol", protocols[PROTOCOL_DNS]);
        writer_null(&writer, "rule");
        write_refusal(&writer, REASON_NOT_LISTED, like.option);
        if (say(gateway, &writer)) {
            gateway->items[REFUSED]++;
            return;
        }
    }
    count(gateway, tally, 1, 0, 0);
}
