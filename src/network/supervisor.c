/*
 * supervisor.c - the channel; see protocol.h.
 *
 * Should:  never wait for the supervisor: what it does not take yet is kept, up to a bound.
 * Mustn't: guess. A message that is not exactly as agreed on ends the program.
 */
#include "network/gateway.h"

#include "network/protocol.h"
#include "util/writer.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/socket.h>

#define OUT_MOST   ((size_t)1024 * 1024) /* bytes that wait for the supervisor */
#define TELL_TURNS 4                     /* of the loop */

struct packet {
    struct node node; /* first */
    char *text;
    size_t length;
};

static const char *const role_names[] = {
    [ROLE_TCP] = "tcp", [ROLE_DNS] = "dns", [ROLE_DNS_TCP] = "dns-tcp", [ROLE_PROXY] = "proxy"};

/* Return: 1: sent, 0: not now, -errno. */
static int send_now(struct gateway *gateway, const char *text, size_t length)
{
    if (send(gateway->channel.fd, text, length, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)length)
        return 1;
    if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR) {
        gateway->channel.events &= ~(uint32_t)EPOLLOUT;
        return 0;
    }
    return -errno;
}

static void send_waiting(struct gateway *gateway)
{
    while (!list_empty(&gateway->out)) {
        struct packet *packet = (struct packet *)gateway->out.after;
        int sent = send_now(gateway, packet->text, packet->length);

        if (sent == 0)
            return;
        gateway->out_bytes -= packet->length;
        node_remove(&packet->node);
        free(packet->text);
        free(packet);
        if (sent < 0)
            gateway->loop.ended = true; /* it is gone */
    }
    if (gateway->ended)
        gateway->loop.ended = true;
}

bool supervisor_say(struct gateway *gateway, struct text *text)
{
    struct packet *packet = NULL;
    int sent = 0;

    if (!text->failed && text->length < PROTOCOL_PACKET) {
        if (list_empty(&gateway->out))
            sent = send_now(gateway, text->data, text->length);
        if (sent == 0 && gateway->out_bytes + text->length <= OUT_MOST)
            packet = malloc(sizeof(*packet));
    }
    if (packet) {
        *packet = (struct packet){.text = text->data, .length = text->length};
        gateway->out_bytes += text->length;
        node_add(&gateway->out, &packet->node);
        *text = (struct text){0};
    }
    text_free(text);
    return packet || sent > 0;
}

void supervisor_say_word(struct gateway *gateway, const char *type)
{
    struct writer writer = {.compact = true};

    writer_object(&writer, NULL);
    writer_text(&writer, "type", type);
    writer_end(&writer);
    supervisor_say(gateway, &writer.text);
}

void supervisor_fail(struct gateway *gateway, const char *format, ...)
{
    struct writer writer = {.compact = true};
    char message[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    fprintf(stderr, "confine-gateway: fatal: %s\n", message);
    writer_object(&writer, NULL);
    writer_text(&writer, "type", "failed");
    writer_text(&writer, "message", message);
    writer_end(&writer);
    supervisor_say(gateway, &writer.text);
    gateway->loop.ended = true;
    gateway->status = 125;
}

void supervisor_want_socket(struct gateway *gateway, uint64_t id, bool six)
{
    struct writer writer = {.compact = true};

    writer_object(&writer, NULL);
    writer_text(&writer, "type", "wants-socket");
    writer_integer(&writer, "id", (int64_t)id);
    writer_integer(&writer, "family", six ? 6 : 4);
    writer_end(&writer);
    supervisor_say(gateway, &writer.text);
}

static void want_ports(struct gateway *gateway, const struct rule *rule)
{
    /* A name that was asked about has the address already that was given out for it. */
    const char *name = rule->wildcard || rule->address || gateway->rules.asks ? NULL : rule->name;

    for (size_t i = 0; i < rule->port_count; i++) {
        struct writer writer = {.compact = true};

        if (listener_has_port(gateway, rule->ports[i], name))
            continue;
        writer_object(&writer, NULL);
        writer_text(&writer, "type", "listen-wanted");
        writer_integer(&writer, "port", rule->ports[i]);
        writer_text(&writer, "name", name);
        writer_end(&writer);
        supervisor_say(gateway, &writer.text);
    }
}

/* --- what it says: each takes FD over. Return: NULL, or what is wrong
 * ---------------------------------------- */

/* A message and what was read of it so far: at the end nothing must be left. */
struct reader {
    json_t *message;
    size_t read;
    bool wrong;
};

/* The value of KEY, if it is there. */
static json_t *read_value(struct reader *reader, const char *key)
{
    json_t *value = json_object_get(reader->message, key);

    reader->read += value != NULL;
    return value;
}

/* A text; MAY_LACK: or none, or null. */
static const char *read_text(struct reader *reader, const char *key, bool may_lack)
{
    json_t *value = read_value(reader, key);

    if (!json_is_string(value) && !(may_lack && (!value || json_is_null(value))))
        reader->wrong = true;
    return json_string_value(value);
}

static json_int_t read_number(struct reader *reader, const char *key, json_int_t most)
{
    json_t *value = read_value(reader, key);

    if (!json_is_integer(value) || json_integer_value(value) < 1 || json_integer_value(value) > most)
        reader->wrong = true;
    return json_integer_value(value);
}

/* Was all as agreed on, and is nothing left? */
static bool is_read(const struct reader *reader)
{
    return !reader->wrong && json_object_size(reader->message) == reader->read + 1; /* and its type */
}

static const char *take_start(struct gateway *gateway, struct reader *reader, int fd)
{
    const char *upstream = read_text(reader, "upstream", true), *four = read_text(reader, "pool4", true);
    const char *six = read_text(reader, "pool6", true), *wrong = NULL;
    json_t *list = read_value(reader, "rules"), *asks = read_value(reader, "asks"), *item;
    size_t i;

    if (fd >= 0 || gateway->started || !json_is_array(list) || (asks && !json_is_true(asks)) ||
        !is_read(reader))
        return "start is not as agreed on";
    gateway->rules.asks = asks != NULL;
    json_array_foreach(list, i, item) if (!json_is_string(item) ||
                                          rules_add(&gateway->rules, json_string_value(item)) !=
                                              0) return "start has a rule that is none";
    if (pool_begin(&gateway->pool, four, six) != 0)
        return "start has a pool that is none";
    if (upstream)
        wrong = upstream_read(upstream, &gateway->upstream);
    gateway->started = true;
    if (!wrong)
        supervisor_say_word(gateway, "ready");
    return wrong;
}

static const char *begin_listener(struct gateway *gateway, enum role role, uint16_t port, const char *name,
                                  int fd)
{
    char canonical[NAME_SIZE];

    if (!gateway->started || fd < 0 ||
        (name &&
         (role != ROLE_TCP || !name_read(name, strlen(name), canonical) || strcmp(name, canonical) != 0))) {
        fd_close(fd);
        return "a listener is not as agreed on";
    }
    return listener_begin(gateway, role, port, name, fd) == 0 ? NULL : "a listener cannot be used";
}

static const char *take_listen(struct gateway *gateway, struct reader *reader, int fd)
{
    const char *role = read_text(reader, "role", false), *name = read_text(reader, "name", true);

    for (size_t i = 1; is_read(reader) && i < ARRAY_SIZE(role_names); i++)
        if (strcmp(role_names[i], role) == 0)
            return begin_listener(gateway, (enum role)i, 0, name, fd);
    fd_close(fd);
    return "listen is not as agreed on";
}

static const char *take_port(struct gateway *gateway, struct reader *reader, int fd, enum role role)
{
    json_int_t port = read_number(reader, "port", UINT16_MAX);

    if (is_read(reader))
        return begin_listener(gateway, role, (uint16_t)port, NULL, fd);
    fd_close(fd);
    return "a port is not as agreed on";
}

static const char *take_forward(struct gateway *gateway, struct reader *reader, int fd)
{
    return take_port(gateway, reader, fd, ROLE_FORWARD);
}

static const char *take_publish(struct gateway *gateway, struct reader *reader, int fd)
{
    return take_port(gateway, reader, fd, ROLE_PUBLISH);
}

static const char *take_socket(struct gateway *gateway, struct reader *reader, int fd)
{
    json_int_t id = read_number(reader, "id", INT64_MAX);

    if (!gateway->started || !is_read(reader)) {
        fd_close(fd);
        return "socket is not as agreed on";
    }
    connection_socket(gateway, (uint64_t)id, fd);
    return NULL;
}

/* The answer to `allow`. @reason: NULL: it is in force. */
static void answer_allow(struct gateway *gateway, const char *rule, const char *reason)
{
    struct writer writer = {.compact = true};

    writer_object(&writer, NULL);
    writer_text(&writer, "type", reason ? "allow-refused" : "allowed");
    writer_text(&writer, "rule", rule);
    if (reason)
        writer_text(&writer, "reason", reason);
    writer_end(&writer);
    supervisor_say(gateway, &writer.text);
}

static const char *take_allow(struct gateway *gateway, struct reader *reader, int fd)
{
    const char *rule = read_text(reader, "rule", false);
    int error;

    if (fd >= 0 || !gateway->started || !is_read(reader))
        return "allow is not as agreed on";
    error = rules_add(&gateway->rules, rule);
    if (error == 0) /* first: whoever hears the answer connects */
        want_ports(gateway, &gateway->rules.items[gateway->rules.count - 1]);
    answer_allow(gateway, rule,
                 error == 0         ? NULL
                 : error == -E2BIG  ? "there are too many rules"
                 : error == -EINVAL ? "this is no rule"
                                    : "there is no memory");
    return NULL;
}

/* The last word. Who has said all it had to say ends in peace. */
static void finish(struct gateway *gateway)
{
    gateway->ended = true;
    timer_end(&gateway->end_timer);
    while (!list_empty(&gateway->connections)) {
        struct connection *connection = (struct connection *)gateway->connections.after;
        bool done =
            connection->protocol == PROTOCOL_PUBLISH ? connection->server.ended : connection->client.ended;

        connection_close(connection, done && relay_is_drained(connection) ? NULL : "the run has ended");
    }
    account_flush(gateway);
    supervisor_say_word(gateway, "ended");
    if (list_empty(&gateway->out))
        gateway->loop.ended = true;
}

static void on_end_time(struct timer *timer)
{
    finish((struct gateway *)(void *)((char *)timer - offsetof(struct gateway, end_timer)));
}

/* What had come when it was asked for has been looked at after a few turns, however busy others are. */
static void tell(struct gateway *gateway)
{
    if (--gateway->telling > 0 && gateway->loop.came > 0) {
        watch_again(&gateway->loop, &gateway->channel);
        return;
    }
    gateway->telling = 0;
    account_flush(gateway);
    for (; gateway->tells > 0; gateway->tells--)
        supervisor_say_word(gateway, "told");
}

void supervisor_turned(struct gateway *gateway)
{
    if (gateway->telling > 0 && !gateway->ended && !gateway->loop.ended)
        tell(gateway);
    if (!gateway->ending || gateway->ended || gateway->loop.ended)
        return;
    for (struct node *at = gateway->connections.after; at != &gateway->connections; at = at->after)
        if (!relay_is_drained((struct connection *)at))
            return;
    /* As far as has been heard: so look once more, until nothing is left to be heard. */
    if (gateway->loop.came > 0)
        watch_again(&gateway->loop, &gateway->channel);
    else
        finish(gateway);
}

static const char *take_anew(struct gateway *gateway, struct reader *reader, int fd)
{
    if (fd >= 0 || !is_read(reader))
        return "anew is not as agreed on";
    account_flush(gateway);
    account_anew(gateway);
    return NULL;
}

static const char *take_tell(struct gateway *gateway, struct reader *reader, int fd)
{
    if (fd >= 0 || !is_read(reader))
        return "tell is not as agreed on";
    gateway->telling = TELL_TURNS;
    gateway->tells++;
    watch_again(&gateway->loop, &gateway->channel);
    return NULL;
}

static const char *take_end(struct gateway *gateway, struct reader *reader, int fd)
{
    if (fd >= 0 || !is_read(reader))
        return "end is not as agreed on";
    gateway->ending = true;
    timer_begin(&gateway->loop, &gateway->end_timer, TIMER_END, on_end_time);
    return NULL;
}

static const struct {
    const char *type;
    const char *(*take)(struct gateway *gateway, struct reader *reader, int fd);
} messages[] = {
    {"start", take_start},     {"listen", take_listen}, {"forward", take_forward},
    {"publish", take_publish}, {"socket", take_socket}, {"allow", take_allow},
    {"anew", take_anew},       {"tell", take_tell},     {"end", take_end},
};

static const char *take_message(struct gateway *gateway, const char *text, size_t length, int fd)
{
    json_t *message = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    const char *type = json_string_value(json_object_get(message, "type")),
               *wrong = "a message is not as agreed on";
    bool known = false;

    for (size_t i = 0; type && !known && i < ARRAY_SIZE(messages); i++)
        if (strcmp(messages[i].type, type) == 0) {
            wrong = messages[i].take(gateway, &(struct reader){.message = message}, fd);
            known = true;
        }
    if (!known)
        fd_close(fd);
    json_decref(message);
    return wrong;
}

/* The descriptor of a message. Return: -1: none, -2: more than one, or not all. */
static int read_descriptor(struct msghdr *header)
{
    int fd = -1;

    for (struct cmsghdr *control = CMSG_FIRSTHDR(header); control; control = CMSG_NXTHDR(header, control)) {
        if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS ||
            control->cmsg_len != CMSG_LEN(sizeof(int)) || fd >= 0)
            return -2;
        memcpy(&fd, CMSG_DATA(control), sizeof(fd));
    }
    return header->msg_flags & (MSG_CTRUNC | MSG_TRUNC) ? -2 : fd;
}

static void on_channel(struct watch *watch)
{
    struct gateway *gateway = (struct gateway *)(void *)((char *)watch - offsetof(struct gateway, channel));
    static char text[PROTOCOL_PACKET];

    if (watch->events & EPOLLOUT)
        send_waiting(gateway);
    while (!gateway->loop.ended && watch->events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP)) {
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
        struct iovec piece = {text, sizeof(text)};
        struct msghdr header = {
            .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
        ssize_t got = recvmsg(watch->fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        const char *wrong;
        int fd;

        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            watch->events &= ~(uint32_t)EPOLLIN;
            return;
        }
        if (got <= 0) { /* nobody is there any more */
            gateway->loop.ended = true;
            return;
        }
        fd = read_descriptor(&header);
        wrong = fd == -2 ? "a message has descriptors that it should not have"
                         : take_message(gateway, text, (size_t)got, fd);
        if (wrong)
            supervisor_fail(gateway, "%s", wrong);
    }
}

int supervisor_begin(struct gateway *gateway, int fd)
{
    list_begin(&gateway->out);
    return watch_begin(&gateway->loop, &gateway->channel, fd, on_channel);
}
