/*
 * proxy.c - clients that say themselves where to: CONNECT, requests in absolute form, SOCKS5. One port, told
 * apart by the first byte.
 *
 * Should:  tell the client in its own protocol what was refused, and what would allow it.
 * Mustn't: repeat in an answer any byte that a client chose, but for a name in canonical form.
 */
#include "network/gateway.h"

#include "network/socks5.h"

#include <errno.h>
#include <stddef.h>

#define CLIENT_CONNECTION(WATCH)                                                                             \
    ((struct connection *)(void *)((char *)(WATCH)-offsetof(struct connection, client.watch)))

/* What was asked for, for a person; it is no name. */
static void show_name(struct connection *connection, const char *bytes, size_t length)
{
    char *to = connection->target.name;
    size_t at = 0;

    connection->target.is_address = false;
    for (size_t i = 0; i < length && at + 5 < sizeof(connection->target.name); i++) {
        unsigned char byte = (unsigned char)bytes[i];

        if (byte > ' ' && byte < 0x7f && byte != '\\' && byte != '"')
            to[at++] = (char)byte;
        else
            at += (size_t)snprintf(to + at, sizeof(connection->target.name) - at, "\\x%02x", byte);
    }
    to[at] = '\0';
}

/* The first LENGTH bytes of the head are done with. */
static void consume(struct connection *connection, size_t length)
{
    struct text *head = &connection->head;

    memmove(head->data, head->data + length, head->length - length);
    head->length -= length;
}

/* A request that goes on as a new one, alone on its connection. */
static void begin_request(struct connection *connection, const struct http_head *request, size_t length)
{
    const struct upstream *upstream = &connection->gateway->upstream;

    connection->protocol = PROTOCOL_HTTP;
    if (request->method.length < sizeof(connection->method))
        memcpy(connection->method, request->method.at, request->method.length);
    http_write_request(request, &connection->target, upstream->set ? HTTP_WRITE_ABSOLUTE : HTTP_WRITE_ORIGIN,
                       upstream->set ? upstream->authorization : "", &connection->first);
    http_body_begin(&connection->body, request->body);
    connection->filters[FROM_CLIENT] = filter_body;
    connection->filters[FROM_SERVER] = filter_answer;
    consume(connection, length);
    connection->sent += length;
    if (connection->first.failed)
        connection_close(connection, "no memory");
    else
        connection_go(connection);
}

static bool wants_upgrade(const struct http_head *request)
{
    for (size_t i = 0; i < request->header_count; i++)
        if (http_piece_is(&request->headers[i].name, "upgrade"))
            return true;
    return false;
}

/* Is a request that was dialled here for the name that was dialled? */
static bool is_meant(const struct http_head *request, const struct target *target)
{
    if (request->form != HTTP_ORIGIN)
        return false;
    return !request->has_host || ((request->target.port == 0 || request->target.port == target->port) &&
                                  strcmp(request->target.name, target->name) == 0);
}

/* A client that does not know of us, where another proxy is behind us. */
static void read_plain(struct connection *connection)
{
    struct http_head request;
    int looks = http_looks(connection->head.data, connection->head.length);
    ssize_t length = looks == 1 ? http_request(connection->head.data, connection->head.length, &request) : 0;

    if (looks < 0) {
        connection_go(connection);
        return;
    }
    if (length == 0 && connection->head.length < HTTP_HEAD)
        return;
    if (length <= 0)
        connection_refuse(connection, REASON_BAD_REQUEST);
    else if (!is_meant(&request, &connection->target))
        connection_refuse(connection, REASON_HTTP_HOST);
    else if (wants_upgrade(&request))
        connection_go(connection);
    else
        begin_request(connection, &request, (size_t)length);
}

static void read_http(struct connection *connection)
{
    struct http_head request;
    ssize_t length = http_request(connection->head.data, connection->head.length, &request);

    if (length == 0)
        return;
    if (length < 0) {
        size_t line = 0;

        while (line < connection->head.length && line < 128 && connection->head.data[line] != '\r' &&
               connection->head.data[line] != '\n')
            line++;
        show_name(connection, connection->head.data, line);
        connection_refuse(connection, length == -EAFNOSUPPORT ? REASON_BAD_NAME : REASON_BAD_REQUEST);
        return;
    }
    connection->target = request.target;
    if (request.form != HTTP_CONNECT)
        connection->protocol = PROTOCOL_HTTP;
    if (request.form == HTTP_ORIGIN) {
        connection_refuse(connection, REASON_BAD_REQUEST);
    } else if (request.other_host) {
        connection_refuse(connection, REASON_HTTP_HOST);
    } else if (request.secure) {
        connection_refuse(connection, REASON_NOT_SUPPORTED);
    } else if (request.form == HTTP_CONNECT) {
        consume(connection, (size_t)length);
        connection_go(connection);
    } else {
        begin_request(connection, &request, (size_t)length);
    }
}

static void read_socks(struct connection *connection)
{
    const unsigned char *data;
    ssize_t length;

    if (!connection->greeted) {
        static const unsigned char chosen[] = {SOCKS_VERSION, 0};

        length = socks_greeting((const unsigned char *)connection->head.data, connection->head.length);
        if (length == 0)
            return;
        connection->protocol = PROTOCOL_SOCKS5;
        if (length < 0 ||
            send(connection->client.watch.fd, chosen, sizeof(chosen), MSG_NOSIGNAL | MSG_DONTWAIT) != 2) {
            connection_close(connection, "no SOCKS without a password");
            return;
        }
        connection->greeted = true;
        consume(connection, (size_t)length);
    }
    data = (const unsigned char *)connection->head.data;
    length = socks_request(data, connection->head.length, &connection->target);
    if (length == 0)
        return;
    if (length < 0) {
        if (length == -EAFNOSUPPORT && data[3] == 3)
            show_name(connection, connection->head.data + 5, data[4]);
        connection_refuse(connection, length == -EAFNOSUPPORT ? REASON_BAD_NAME
                                      : length == -EOPNOTSUPP ? REASON_NOT_SUPPORTED
                                                              : REASON_BAD_REQUEST);
        return;
    }
    consume(connection, (size_t)length);
    connection_go(connection);
}

void proxy_read(struct watch *watch)
{
    struct connection *connection = CLIENT_CONNECTION(watch);
    struct text *head = &connection->head;
    char bytes[4096];

    while (connection->state == STATE_HEAD && watch->call == proxy_read) {
        size_t room = head->length < HTTP_HEAD ? HTTP_HEAD - head->length : 1;
        ssize_t got = recv(watch->fd, bytes, room < sizeof(bytes) ? room : sizeof(bytes), MSG_DONTWAIT);

        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            watch->events &= ~(uint32_t)EPOLLIN;
            return;
        }
        if (got > 0)
            text_add_bytes(head, bytes, (size_t)got);
        if (got <= 0 || head->failed) {
            connection_close(connection, got > 0 ? "no memory" : "the client is gone");
            return;
        }
        if (connection->protocol == PROTOCOL_TCP)
            read_plain(connection);
        else if (connection->greeted || head->data[0] == SOCKS_VERSION)
            read_socks(connection);
        else
            read_http(connection);
    }
}

static void answer_http(struct connection *connection, enum reason reason, int error)
{
    const struct verdict *verdict = &connection->verdict;
    bool named = reason != REASON_BAD_NAME && reason != REASON_BAD_REQUEST;
    struct text body = {0}, text = {0};
    unsigned status = reason == REASON_BAD_REQUEST ? 400
                      : reason != REASON_NONE      ? 403
                      : error == -ETIMEDOUT        ? 504
                                                   : 502;

    text_add(&body, "confine: ");
    if (named)
        text_addf(&body, "%s port %u ", connection->target.name, connection->target.port);
    if (reason == REASON_NONE)
        text_addf(&body, "could not be reached: %s\n", strerror(-error));
    else
        text_addf(&body, "%s (%s)\n", named ? "is refused" : "this request is refused", reasons[reason]);
    if (verdict->option[0] && reason != REASON_NONE)
        text_addf(&body, "confine: %s would allow it\n", verdict->option);
    text_addf(&text,
              "HTTP/1.1 %u %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\nX-Confine: %s\r\n"
              "Connection: close\r\n\r\n",
              status,
              status == 400   ? "Bad Request"
              : status == 403 ? "Forbidden"
              : status == 504 ? "Gateway Timeout"
                              : "Bad Gateway",
              body.length, reason == REASON_NONE ? "unreachable" : reasons[reason]);
    if (!body.failed && strcmp(connection->method, "HEAD") != 0)
        text_add_bytes(&text, body.data, body.length);
    if (!text.failed)
        send(connection->client.watch.fd, text.data, text.length, MSG_NOSIGNAL | MSG_DONTWAIT);
    text_free(&body);
    text_free(&text);
}

static void answer_socks(struct connection *connection, enum reason reason, int error)
{
    static const struct {
        int error;
        enum socks_answer answer;
    } answers[] = {{-ENETUNREACH, SOCKS_NETWORK},
                   {-EHOSTUNREACH, SOCKS_HOST},
                   {-ECONNREFUSED, SOCKS_CONNECTION},
                   {-ETIMEDOUT, SOCKS_HOST}};
    enum socks_answer answer = reason == REASON_NONE ? SOCKS_FAILED : SOCKS_REFUSED;
    unsigned char reply[SOCKS_REPLY];

    for (size_t i = 0; i < ARRAY_SIZE(answers) && reason == REASON_NONE; i++)
        if (answers[i].error == error)
            answer = answers[i].answer;
    if (reason == REASON_NOT_SUPPORTED)
        answer = SOCKS_COMMAND;
    socks_reply(answer, reply);
    send(connection->client.watch.fd, reply, sizeof(reply), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* What one who dialled has said first; nothing is taken from it. */
enum words { WORDS_OTHER = 0, WORDS_NONE_YET, WORDS_TLS, WORDS_HTTP };

static enum words first_words(const struct connection *connection)
{
    char first[4096];
    ssize_t length = recv(connection->client.watch.fd, first, sizeof(first), MSG_PEEK | MSG_DONTWAIT);
    int looks;

    if (length < 0)
        return errno == EAGAIN ? WORDS_NONE_YET : WORDS_OTHER;
    if (length > 0 && first[0] == 22)
        return length < 3 ? WORDS_NONE_YET : first[1] == 3 ? WORDS_TLS : WORDS_OTHER;
    looks = length > 0 ? http_looks(first, (size_t)length) : -1;
    return looks > 0                                       ? WORDS_HTTP
           : looks == 0 && length < (ssize_t)sizeof(first) ? WORDS_NONE_YET
                                                           : WORDS_OTHER;
}

bool proxy_may_hear(const struct connection *connection)
{
    return connection->protocol == PROTOCOL_TCP && connection->state != STATE_RELAY &&
           connection->client.watch.fd >= 0 && first_words(connection) == WORDS_NONE_YET;
}

/*
 * Who dialled knows of no proxy: it is told what its own protocol has for "no", since a reset reads like a
 * bad line. What cannot be reached is to look like it.
 */
static bool answer_dialled(struct connection *connection, enum reason reason)
{
    static const unsigned char no[] = {21, 3, 1, 0, 2, 2, 49}; /* TLS: a fatal alert, access_denied */
    enum words words =
        reason == REASON_NONE || connection->state == STATE_RELAY ? WORDS_OTHER : first_words(connection);

    if (words == WORDS_TLS)
        send(connection->client.watch.fd, no, sizeof(no), MSG_NOSIGNAL | MSG_DONTWAIT);
    else if (words == WORDS_HTTP)
        answer_http(connection, reason, 0);
    return words == WORDS_TLS || words == WORDS_HTTP;
}

bool proxy_answer(struct connection *connection, enum reason reason, int error)
{
    bool unanswered = connection->state != STATE_RELAY || connection->held_back ||
                      connection->filters[FROM_SERVER] == filter_answer;

    if (connection->client.watch.fd < 0 || !unanswered || connection->client.held_length > 0)
        return false;
    if (connection->protocol == PROTOCOL_SOCKS5)
        answer_socks(connection, reason, error);
    else if (connection->protocol == PROTOCOL_CONNECT || connection->protocol == PROTOCOL_HTTP)
        answer_http(connection, reason, error);
    else
        return connection->protocol == PROTOCOL_TCP && answer_dialled(connection, reason);
    return true;
}

int proxy_established(struct connection *connection)
{
    static const char connected[] = "HTTP/1.1 200 Connection established\r\n\r\n";
    unsigned char reply[SOCKS_REPLY];

    if (connection->protocol == PROTOCOL_CONNECT)
        return relay_hold(connection, &connection->client, connected, sizeof(connected) - 1);
    if (connection->protocol != PROTOCOL_SOCKS5)
        return 0;
    socks_reply(SOCKS_GRANTED, reply);
    return relay_hold(connection, &connection->client, (const char *)reply, sizeof(reply));
}
