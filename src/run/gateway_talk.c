/*
 * gateway_talk.c - what is said to the gateway, and what it says: network/protocol.h.
 *
 * Should:  take what it tells for what it is, texts from outside.
 * Mustn't: wait for it in the loop.
 */
#include "run/gateway.h"

#include "network/protocol.h"
#include "run/supervise.h"
#include "util/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* --- to it ---------------------------------------------------------------------------------------------- */

static void begin(struct writer *writer, const char *type)
{
    *writer = (struct writer){.compact = true};
    writer_object(writer, NULL);
    writer_text(writer, "type", type);
}

/* @fd: goes along; -1: none. Return: 0 or -errno. */
static int send_packet(const struct gateway *gateway, struct writer *writer, int fd)
{
    int r;

    writer_end(writer);
    if (gateway->fd < 0)
        r = -ECONNRESET;
    else if (writer->text.failed)
        r = -ENOMEM;
    else if (writer->text.length > PROTOCOL_PACKET)
        r = -EMSGSIZE;
    else
        r = channel_send(gateway->fd, writer->text.data, writer->text.length, &fd, fd >= 0);
    text_free(&writer->text);
    return r;
}

int gateway_say(struct gateway *gateway, const char *type, const char *key, const char *text)
{
    struct writer writer;

    begin(&writer, type);
    if (key)
        writer_text(&writer, key, text);
    return send_packet(gateway, &writer, -1);
}

int gateway_say_start(struct gateway *gateway)
{
    const struct own_network *network = &gateway->resolved->network;
    bool listed = network->rules.count > 0;
    struct writer writer;

    begin(&writer, "start");
    writer_strings(&writer, "rules", network->rules.items);
    writer_text(&writer, "upstream", gateway->resolved->policy->upstream);
    writer_text(&writer, "pool4", listed ? NETWORK_POOL4 : NULL);
    writer_text(&writer, "pool6", listed ? NETWORK_POOL6 : NULL);
    return send_packet(gateway, &writer, -1);
}

/* One listener that leads to the port PORT, or that has a role. Closes it here. */
static int say_listener(struct gateway *gateway, const char *type, const char *role, unsigned port, int *fd)
{
    struct writer writer;
    int r;

    if (*fd < 0)
        return 0;
    begin(&writer, type);
    if (role)
        writer_text(&writer, "role", role);
    else
        writer_integer(&writer, "port", port);
    r = send_packet(gateway, &writer, *fd);
    *fd = fd_close(*fd);
    return r;
}

int gateway_say_listeners(struct gateway *gateway)
{
    static const char *const roles[] = {[LISTENER_TCP] = "tcp",
                                        [LISTENER_DNS] = "dns",
                                        [LISTENER_DNS_TCP] = "dns-tcp",
                                        [LISTENER_PROXY] = "proxy",
                                        [LISTENER_FORWARD] = NULL};
    const struct own_network *network = &gateway->resolved->network;
    int r = 0;

    for (size_t i = 0; i < network->listener_count && r == 0; i++) {
        const struct listener *listener = &network->listeners[i];

        r = say_listener(gateway, roles[listener->role] ? "listen" : "forward", roles[listener->role],
                         listener->host, &gateway->listeners[i]);
    }
    for (size_t i = 0; i < 2 * network->published_count && r == 0; i++)
        r = say_listener(gateway, "publish", NULL, network->published[i / 2].inside, &gateway->published[i]);
    return r;
}

/* --- from it -------------------------------------------------------------------------------------------- */

/* A copy of the member KEY. Return: NULL if there is none, or no memory (*FAILED). */
static char *take_text(const json_t *message, const char *key, bool *failed)
{
    const char *text = json_string_value(json_object_get(message, key));
    char *copy = text ? strdup(text) : NULL;

    *failed |= text && !copy;
    return copy;
}

static int64_t take_number(const json_t *message, const char *key, int64_t otherwise)
{
    const json_t *value = json_object_get(message, key);

    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

/* @id: -1: counted */
static int add_connection(struct gateway *gateway, const json_t *message, int64_t id)
{
    bool failed = false;
    struct connection connection = {.id = id,
                                    .name = take_text(message, "name", &failed),
                                    .address = take_text(message, "address", &failed),
                                    .protocol = take_text(message, "protocol", &failed),
                                    .rule = take_text(message, "rule", &failed),
                                    .refused = take_text(message, "refused", &failed),
                                    .option = take_text(message, "option", &failed),
                                    .port = take_number(message, "port", 0),
                                    .count = id < 0 ? take_number(message, "connections", 0) : 1,
                                    .sent = take_number(message, "sent", -1),
                                    .received = take_number(message, "received", -1),
                                    .ms = -1};

    if (failed || connections_add(&gateway->report->connections, &connection) < 0) {
        connection_free(&connection);
        return -ENOMEM;
    }
    return 0;
}

static int hear_connection(struct gateway *gateway, const json_t *message)
{
    int r = add_connection(gateway, message, take_number(message, "id", 0));
    const struct connections *connections = &gateway->report->connections;

    if (r == 0 && gateway->supervision)
        supervise_connection(gateway->supervision, &connections->items[connections->count - 1]);
    return r;
}

static int hear_counted(struct gateway *gateway, const json_t *message)
{
    return add_connection(gateway, message, -1);
}

/* What is known only now takes the place of what was. */
static void replace(char **text, const json_t *message, const char *key, bool *failed)
{
    char *newer = take_text(message, key, failed);

    if (!newer)
        return;
    free(*text);
    *text = newer;
}

static int hear_closed(struct gateway *gateway, const json_t *message)
{
    struct connection *connection =
        connections_find(&gateway->report->connections, take_number(message, "id", -1));
    bool failed = false;

    if (!connection)
        return -EPROTO;
    replace(&connection->address, message, "address", &failed);
    replace(&connection->refused, message, "refused", &failed);
    replace(&connection->option, message, "option", &failed);
    replace(&connection->error, message, "error", &failed);
    connection->sent = take_number(message, "sent", -1);
    connection->received = take_number(message, "received", -1);
    connection->ms = take_number(message, "ms", -1);
    if (gateway->supervision)
        supervise_connection(gateway->supervision, connection);
    return failed ? -ENOMEM : 0;
}

static int hear_confined(struct gateway *gateway, const json_t *message)
{
    (void)message;
    gateway->confined = true;
    return 0;
}

static int hear_ready(struct gateway *gateway, const json_t *message)
{
    (void)message;
    gateway->ready = true;
    return 0;
}

static int hear_ended(struct gateway *gateway, const json_t *message)
{
    (void)message;
    gateway->ended = true;
    return 0;
}

static int hear_failed(struct gateway *gateway, const json_t *message)
{
    const char *text = json_string_value(json_object_get(message, "message"));
    struct error *error = &gateway->report->error;

    if (error->code == ERROR_NONE)
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, EPROTO, "gateway-failed", "the gateway: %s",
                  text ? QUOTE(text) : "it failed");
    error_surface(error, "net.listed");
    return 0;
}

static const struct {
    const char *type;
    int (*hear)(struct gateway *gateway, const json_t *message);
} messages[] = {
    {"connection", hear_connection}, {"closed", hear_closed}, {"counted", hear_counted},
    {"confined", hear_confined},     {"ready", hear_ready},   {"failed", hear_failed},
    {"ended", hear_ended},
};

static int take_message(struct gateway *gateway, const json_t *message)
{
    const char *type = json_string_value(json_object_get(message, "type"));

    for (size_t i = 0; type && i < ARRAY_SIZE(messages); i++)
        if (strcmp(messages[i].type, type) == 0)
            return messages[i].hear(gateway, message);
    return -EPROTO;
}

int gateway_hear(struct gateway *gateway)
{
    static char packet[PROTOCOL_PACKET];
    struct document document;
    struct error error = {0};
    pid_t writer;
    ssize_t size;
    int r;

    if (gateway->fd < 0)
        return -ECONNRESET;
    size = channel_receive(gateway->fd, packet, sizeof(packet), 0, &writer);
    if (size == -ETIMEDOUT || size == -EAGAIN)
        return 0;
    if (size <= 0)
        return size == 0 ? -ECONNRESET : (int)size;
    r = document_parse(&document, "gateway", packet, (size_t)size, &error);
    if (r == 0)
        r = take_message(gateway, document.root);
    document_free(&document);
    return r < 0 ? r : 1;
}
