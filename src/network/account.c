/*
 * account.c - what the supervisor is told of connections.
 *
 * The first thousand one by one, as they are decided and as they end; all others, and what could not be sent,
 * as sums by name, port, rule and refusal. So however much a command does, neither process remembers more
 * than these.
 *
 * Mustn't: lose a connection from the sums.
 */
#include "network/gateway.h"

#include "network/protocol.h"
#include "util/writer.h"

#include <errno.h>
#include <stddef.h>

#define TALLIES 512 /* sums; what is different from all of them is added to one without a name */

const char *const protocols[] = {
    [PROTOCOL_TCP] = "tcp",        [PROTOCOL_HTTP] = "http", [PROTOCOL_CONNECT] = "connect",
    [PROTOCOL_SOCKS5] = "socks5",  [PROTOCOL_DNS] = "dns",   [PROTOCOL_FORWARD] = "forward",
    [PROTOCOL_PUBLISH] = "publish"};

struct tally {
    char name[NAME_SIZE];
    bool rest; /* what has no sum of its own */
    uint16_t port;
    enum protocol protocol;
    enum reason reason;
    size_t rule;
    char option[OPTION_SIZE];
    uint64_t connections, sent, received; /* not told yet */
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

static void write_refusal(struct writer *writer, enum reason reason, const char *option)
{
    writer_text(writer, "refused", reason == REASON_NONE ? NULL : reasons[reason]);
    writer_text(writer, "option", reason != REASON_NONE && option[0] ? option : NULL);
}

static void on_count(struct timer *timer)
{
    account_flush((struct gateway *)(void *)((char *)timer - offsetof(struct gateway, count_timer)));
}

/* The sum with these words. Return: NULL without memory at all. */
static struct tally *find_tally(struct gateway *gateway, const struct tally *like, bool *ret_new)
{
    struct tally *tally;

    *ret_new = false;
    if (!gateway->tallies) {
        gateway->tallies = calloc(TALLIES, sizeof(*gateway->tallies));
        if (!gateway->tallies)
            return NULL;
        gateway->tallies[0].rest = true;
        gateway->tallies[0].reason = REASON_NONE;
        gateway->tally_count = 1;
    }
    for (size_t i = 1; i < gateway->tally_count; i++) {
        tally = &gateway->tallies[i];
        if (tally->port == like->port && tally->protocol == like->protocol && tally->reason == like->reason &&
            tally->rule == like->rule && strcmp(tally->name, like->name) == 0)
            return tally;
    }
    if (gateway->tally_count == TALLIES)
        return &gateway->tallies[0];
    *ret_new = true;
    tally = &gateway->tallies[gateway->tally_count++];
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

void account_flush(struct gateway *gateway)
{
    struct writer writer;

    timer_end(&gateway->count_timer);
    for (size_t i = 0; i < gateway->tally_count; i++) {
        struct tally *tally = &gateway->tallies[i];

        if (tally->connections == 0 && tally->sent == 0 && tally->received == 0)
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
        if (!say(gateway, &writer)) {
            timer_begin(&gateway->loop, &gateway->count_timer, TIMER_SOON, on_count);
            return;
        }
        tally->connections = tally->sent = tally->received = 0;
    }
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
    bool unused;

    connection->accounted = true;
    if (gateway->items < PROTOCOL_ITEMS) {
        write_start(&writer, "connection");
        writer_integer(&writer, "id", (int64_t)connection->id);
        writer_text(&writer, "name", target->is_address || !target->name[0] ? NULL : target->name);
        writer_text(&writer, "address", target->is_address ? target->name : NULL);
        writer_integer(&writer, "port", target->port);
        writer_text(&writer, "protocol", protocols[connection->protocol]);
        write_rule(gateway, &writer, verdict->reason, verdict->rule, connection->protocol);
        write_refusal(&writer, verdict->reason, verdict->option);
        connection->told = say(gateway, &writer);
        gateway->items += connection->told;
    }
    if (!connection->told) {
        like = tally_of(connection);
        count(gateway, find_tally(gateway, &like, &unused), 1, 0, 0);
    }
}

static void count_closed(struct connection *connection)
{
    struct gateway *gateway = connection->gateway;
    struct tally like = tally_of(connection);
    bool unused;

    if (connection->is_later &&
        !connection->told) { /* one more that was refused; it was counted as allowed */
        like.reason = connection->later;
        count(gateway, find_tally(gateway, &like, &unused), 1, connection->sent, connection->received);
        return;
    }
    count(gateway, find_tally(gateway, &like, &unused), 0, connection->sent, connection->received);
}

void account_closed(struct connection *connection, const char *error)
{
    struct gateway *gateway = connection->gateway;
    char address[ADDRESS_TEXT];
    struct writer writer;

    if (!connection->accounted || connection->verdict.reason != REASON_NONE)
        return;
    if (connection->told) {
        write_start(&writer, "closed");
        writer_integer(&writer, "id", (int64_t)connection->id);
        writer_text(&writer, "address",
                    connection->dialled ? address_text(&connection->address, address) : NULL);
        writer_integer(&writer, "sent", (int64_t)connection->sent);
        writer_integer(&writer, "received", (int64_t)connection->received);
        writer_integer(&writer, "ms", (int64_t)(gateway->loop.now - connection->began_ms));
        writer_text(&writer, "error", error);
        write_refusal(&writer, connection->is_later ? connection->later : REASON_NONE,
                      connection->verdict.option);
        if (say(gateway, &writer))
            return;
    }
    count_closed(connection);
}

void account_name(struct gateway *gateway, const char *name)
{
    struct tally like = {.protocol = PROTOCOL_DNS, .reason = REASON_NOT_LISTED}, *tally;
    struct writer writer;
    bool new;

    snprintf(like.name, sizeof(like.name), "%s", name);
    snprintf(like.option, sizeof(like.option), "--allow %s", name);
    tally = find_tally(gateway, &like, &new);
    if (new && gateway->items < PROTOCOL_ITEMS) {
        write_start(&writer, "connection");
        writer_integer(&writer, "id", (int64_t)++gateway->last_id);
        writer_text(&writer, "name", name);
        writer_null(&writer, "address");
        writer_integer(&writer, "port", 0);
        writer_text(&writer, "protocol", protocols[PROTOCOL_DNS]);
        writer_null(&writer, "rule");
        write_refusal(&writer, REASON_NOT_LISTED, like.option);
        if (say(gateway, &writer)) {
            gateway->items++;
            return;
        }
    }
    count(gateway, tally, 1, 0, 0);
}
