/*
 * gateway_talk.c - what is said to the gateway, and what it says: network/protocol.h.
 *
 * Should:  take what it tells for what it is, texts from outside.
 * Mustn't: wait for it in the loop.
 */
#include "run/gateway.h"

#include "links/pass.h"
#include "network/protocol.h"
#include "policy/policy_rules.h"
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

/* @fd: goes along; -1: none. The command runs, and so does the loop: it does not wait. Return: 0 or -errno.
 */
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
        r = pass_descriptors(gateway->fd, writer->text.data, writer->text.length, &fd, fd >= 0,
                             gateway->begun ? PASS_NOW : PASS_PATIENTLY);
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
    bool listed = network->listed && !gateway->plan->advisory;
    struct writer writer;

    begin(&writer, "start");
    writer_strings(&writer, "rules", network->rules.items);
    writer_text(&writer, "upstream", gateway->resolved->policy->upstream);
    writer_text(&writer, "pool4", listed ? NETWORK_POOL4 : NULL);
    writer_text(&writer, "pool6", listed ? NETWORK_POOL6 : NULL);
    if (gateway->asks && listed)
        writer_bool(&writer, "asks", true);
    return send_packet(gateway, &writer, -1);
}

/* Sends what is written, with a descriptor, which is closed here. */
static int say_with(struct gateway *gateway, struct writer *writer, int *fd)
{
    int r = send_packet(gateway, writer, *fd);

    *fd = fd_close(*fd);
    return r;
}

/* One listener, which is closed here. @role: NULL: one that leads to the port PORT. */
static int say_listener(struct gateway *gateway, const char *type, const char *role, const char *name,
                        unsigned port, int *fd)
{
    struct writer writer;

    if (*fd < 0)
        return 0;
    begin(&writer, type);
    if (role)
        writer_text(&writer, "role", role);
    else
        writer_integer(&writer, "port", port);
    if (name)
        writer_text(&writer, "name", name);
    return say_with(gateway, &writer, fd);
}

int gateway_say_listeners(struct gateway *gateway)
{
    static const char *const roles[] = {[LISTENER_TCP] = "tcp",
                                        [LISTENER_DNS] = "dns",
                                        [LISTENER_DNS_TCP] = "dns-tcp",
                                        [LISTENER_PROXY] = "proxy",
                                        [LISTENER_FORWARD] = NULL};
    const struct own_network *network = &gateway->resolved->network;
    int r = say_listener(gateway, "listen", roles[LISTENER_PROXY], NULL, 0, &gateway->advisory);

    for (size_t i = 0; i < network->listener_count && r == 0; i++) {
        const struct listener *listener = &network->listeners[i];

        r = say_listener(gateway, roles[listener->role] ? "listen" : "forward", roles[listener->role],
                         listener->name, listener->host, &gateway->listeners[i]);
    }
    for (size_t i = 0; gateway->published && i < 2 * network->published_count && r == 0; i++)
        r = say_listener(gateway, "publish", NULL, NULL, network->published[i / 2].inside,
                         &gateway->published[i]);
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
    const size_t most = (size_t)2 * PROTOCOL_ITEMS; /* in a session others have it begin anew */
    bool failed = false;
    struct connection connection = {.id = gateway->report->connections.count < most ? id : -1,
                                    .name = take_text(message, "name", &failed),
                                    .address = take_text(message, "address", &failed),
                                    .protocol = take_text(message, "protocol", &failed),
                                    .rule = take_text(message, "rule", &failed),
                                    .refused = take_text(message, "refused", &failed),
                                    .option = take_text(message, "option", &failed),
                                    .error = id < 0 ? take_text(message, "error", &failed) : NULL,
                                    .failed = id < 0 ? take_number(message, "failed", 0) : 0,
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
    const struct connections *connections = &gateway->report->connections;
    const size_t before = connections->count;
    int r = add_connection(gateway, message, take_number(message, "id", 0));

    if (r == 0 && gateway->supervision && connections->count > before)
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
        return gateway->shared ? 0 : -EPROTO; /* it was there before this run */
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

/* --- what is asked for while the command runs --- */

/* One listener more, inside; it leads to the gateway at once. */
static int add_listener(struct gateway *gateway, const char *address, unsigned port, const char *name)
{
    char word[128];
    int fd, r;

    snprintf(word, sizeof(word), strchr(address, ':') ? "--listen tcp:[%s]:%u" : "--listen tcp:%s:%u",
             address, port);
    r = hand_ask(&gateway->hand, gateway->resolved, word, &fd);
    if (r == 0)
        r = gateway_note_listener(gateway, address, port);
    return r < 0 ? r : say_listener(gateway, "listen", "tcp", name, port, &fd);
}

/* The addresses of a name: those that it has, or the next ones. Return: false: there are none. */
static bool find_pin(struct gateway *gateway, const char *name, char four[NETWORK_ADDRESS],
                     char six[NETWORK_ADDRESS])
{
    const struct own_network *network = &gateway->resolved->network;
    size_t at = 0;

    if (network_pinned(network, name, four, six))
        return true;
    while (at < gateway->pinned.count && strcmp(gateway->pinned.items[at], name) != 0)
        at++;
    if (network->pinned + at >= NETWORK_PINNED_MOST ||
        (at == gateway->pinned.count && strings_add(&gateway->pinned, name) < 0))
        return false;
    network_pin(network->pinned + (unsigned)at, four, six);
    return true;
}

/* For the report, and for the answer to the rule, which comes behind it. */
static int add_not_listened(struct gateway *gateway, int64_t port, const char *why)
{
    int r = strings_addf(&gateway->unheard, "%d %s", (int)port, why);

    return r < 0 ? r
                 : strings_addf(&gateway->report->warnings,
                                "port-not-listened: nothing answers on port %d inside: %s", (int)port, why);
}

bool gateway_is_unheard(const char *text, int64_t port, const char *why, struct error *error)
{
    struct rule rule;

    for (size_t i = 0; rule_parse(text, &rule) && i < rule.port_count; i++) {
        if (rule.ports[i] != port)
            continue;
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, EADDRINUSE, "port-not-listened",
                  "allow: %s: nothing answers on port %d inside: %s", QUOTE(text), (int)port, QUOTE(why));
        error_hint(error, "end what listens there inside and say it again; where nothing does, begin anew");
        return true;
    }
    return false;
}

static int hear_not_listened(struct gateway *gateway, const json_t *message)
{
    const char *why = json_string_value(json_object_get(message, "reason"));

    return add_not_listened(gateway, take_number(message, "port", 0), why ? QUOTE(why) : "?");
}

/* A warning of the run, or where others hear what the gateway says, of theirs. */
static int warn_not_listened(struct gateway *gateway, int64_t port, int errnum)
{
    struct writer writer;
    int r = 0;

    if (!gateway->heard)
        return add_not_listened(gateway, port, strerror(errnum));
    begin(&writer, "not-listened");
    writer_integer(&writer, "port", port);
    writer_text(&writer, "reason", strerror(errnum));
    writer_end(&writer);
    if (writer.text.failed)
        r = -ENOMEM;
    else
        gateway->heard(gateway->hearer, false, writer.text.data, writer.text.length);
    text_free(&writer.text);
    return r;
}

/* The rule's port must be listened on, for one name or for all; IPv6 where there is IPv6. */
static int hear_listen_wanted(struct gateway *gateway, const json_t *message)
{
    const char *name = json_string_value(json_object_get(message, "name"));
    char four[NETWORK_ADDRESS] = "0.0.0.0", six[NETWORK_ADDRESS] = "::";
    int64_t port = take_number(message, "port", 0);
    int r;

    if (gateway->plan->advisory) /* all of it comes by the proxy */
        return 0;
    if (name && !find_pin(gateway, name, four, six))
        name = NULL;
    r = add_listener(gateway, four, (unsigned)port, name);
    if (r == 0)
        add_listener(gateway, six, (unsigned)port, name);
    if (r == -ENOMEM)
        return r;
    return r < 0 ? warn_not_listened(gateway, port, -r) : 0;
}

static int hear_given(struct gateway *gateway, const json_t *message)
{
    const char *name = json_string_value(json_object_get(message, "name"));

    return name ? gateway_note_given(gateway, name, json_string_value(json_object_get(message, "four")),
                                     json_string_value(json_object_get(message, "six")))
                : -EPROTO;
}

static int say_socket(struct gateway *gateway, int64_t id, int *fd)
{
    struct writer writer;

    begin(&writer, "socket");
    writer_integer(&writer, "id", id);
    return say_with(gateway, &writer, fd);
}

static int hear_wants_socket(struct gateway *gateway, const json_t *message)
{
    int fd = -1, r;

    /* Without one there is none: the gateway says so to whoever waits. */
    if (hand_ask(&gateway->hand, gateway->resolved,
                 take_number(message, "family", 4) == 6 ? "socket 6" : "socket 4", &fd) < 0)
        fd = -1;
    r = say_socket(gateway, take_number(message, "id", 0), &fd);
    /* Nor where others' descriptors fill up what this user may have under way: the run goes on. */
    return r == -ETOOMANYREFS ? say_socket(gateway, take_number(message, "id", 0), &fd) : r;
}

/* In a session every run hears it. */
static bool is_ours(const struct gateway *gateway, const char *rule)
{
    return !gateway->shared || strings_have(&gateway->asked, rule);
}

static int hear_allowed(struct gateway *gateway, const json_t *message)
{
    const char *rule = json_string_value(json_object_get(message, "rule"));
    struct error error = {0};
    bool unheard = false;

    if (!rule || !gateway->supervision)
        return -EPROTO;
    for (size_t i = 0; i < gateway->unheard.count && !unheard; i++) {
        char *why;
        long port = strtol(gateway->unheard.items[i], &why, 10);

        unheard = gateway_is_unheard(rule, port, why + 1, &error);
    }
    strings_free(&gateway->unheard);
    if (is_ours(gateway, rule))
        supervise_answered(gateway->supervision, rule, unheard ? &error : NULL);
    return 0;
}

static int hear_allow_refused(struct gateway *gateway, const json_t *message)
{
    const char *rule = json_string_value(json_object_get(message, "rule"));
    const char *reason = json_string_value(json_object_get(message, "reason"));
    struct error error = {0};

    if (!rule || !reason || !gateway->supervision)
        return -EPROTO;
    error_set(&error, ERROR_USAGE, EINVAL, "rule-refused", "allow: %s: %s", QUOTE(rule), QUOTE(reason));
    if (is_ours(gateway, rule))
        supervise_answered(gateway->supervision, rule, &error);
    return 0;
}

/* Addresses of the rule must lead to a listener. */
int gateway_allow(struct gateway *gateway, const char *text)
{
    char word[128], local[NETWORK_ADDRESS + 8];
    struct rule rule;
    int r = 0;

    if (!rule_parse(text, &rule))
        return -EINVAL;
    if (rule.address && !gateway->plan->advisory && network_local(&rule, local, sizeof(local))) {
        snprintf(word, sizeof(word), "--local %s", local);
        r = hand_ask(&gateway->hand, gateway->resolved, word, NULL);
    }
    return r < 0 ? r : gateway_say(gateway, "allow", "rule", text);
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

static int hear_told(struct gateway *gateway, const json_t *message)
{
    (void)message;
    gateway->told = true;
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
    bool passed_on; /* to the runs of a session, which hear nothing else */
} messages[] = {
    {"connection", hear_connection, true},
    {"closed", hear_closed, true},
    {"counted", hear_counted, true},
    {"told", hear_told, true},
    {"not-listened", hear_not_listened, true}, /* a keeper's word */
    {"confined", hear_confined},
    {"ready", hear_ready},
    {"failed", hear_failed},
    {"ended", hear_ended},
    {"listen-wanted", hear_listen_wanted},
    {"wants-socket", hear_wants_socket},
    {"given", hear_given},
    {"allowed", hear_allowed, true},
    {"allow-refused", hear_allow_refused, true},
};

/* Who keeps it for others says to whoever comes what is on the list. */
static int note_allowed(struct gateway *gateway, const json_t *message)
{
    const char *rule = json_string_value(json_object_get(message, "rule"));

    return rule && !strings_have(&gateway->asked, rule) ? strings_add(&gateway->asked, rule) : 0;
}

static int take_message(struct gateway *gateway, const json_t *message, const char *packet, size_t size)
{
    const char *type = json_string_value(json_object_get(message, "type"));

    for (size_t i = 0; type && i < ARRAY_SIZE(messages); i++) {
        if (strcmp(messages[i].type, type) != 0 || (gateway->shared && !messages[i].passed_on))
            continue;
        if (!gateway->heard || !messages[i].passed_on)
            return messages[i].hear(gateway, message);
        if (messages[i].hear == hear_allowed && note_allowed(gateway, message) < 0)
            return -ENOMEM;
        gateway->heard(gateway->hearer, messages[i].hear == hear_told, packet, size);
        return 0;
    }
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
        r = take_message(gateway, document.root, packet, (size_t)size);
    document_free(&document);
    return r < 0 ? r : 1;
}
