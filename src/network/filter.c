/*
 * filter.c - bytes that are looked at on their way. See `filters` in gateway.h.
 *
 * A tunnel is opened for a name; its first bytes can show that another one is meant. A ClientHello must ask
 * for this name, and the first request of HTTP/1 must have it in Host. This is no wall: what stands inside
 * TLS, a later request, HTTP/2 in the clear are not seen. It ends the cheap ways of asking a shared server
 * for somebody else's site.
 *
 * What servers take for a request is wider than what clients send: empty lines in front, small letters, a
 * method of one's own. So what does not look like a request of theirs goes on at once, and is watched until
 * its first line ends; if that has a version of HTTP, the head behind it must be as every other.
 *
 * Should:  let everything pass untouched that is neither TLS nor HTTP, and without waiting.
 * Mustn't: hold back the server, which may be the first to speak; or let the end of a head pass that was not
 *          read.
 */
#include "network/gateway.h"

#include "network/client_hello.h"

#include <errno.h>
#include <stddef.h>

#define LINE_KEPT 64                    /* bytes of a long first line: its end tells what it is */
#define LINE_MOST ((size_t)1024 * 1024) /* no server reads a longer one */

static int refuse(struct connection *connection, enum reason reason)
{
    connection->later = reason;
    connection->is_later = true;
    return -EPERM;
}

static void on_slow(struct timer *timer)
{
    struct connection *connection =
        (struct connection *)(void *)((char *)timer - offsetof(struct connection, timer));

    connection_close(connection, "its first message did not come in time");
}

/* Is it the name that was reached? Where an address was, that several names share, another one of the list
 * may be meant, if what was dialled may be reached by its rule as well. */
static bool is_meant(const struct connection *connection, const char *name)
{
    const struct rules *rules = &connection->gateway->rules;
    struct target other = {.port = connection->target.port};
    struct verdict verdict;
    char option[OPTION_SIZE];

    if (strcmp(name, connection->target.name) == 0)
        return true;
    if (!connection->hosts || connection->by_upstream)
        return false;
    snprintf(other.name, sizeof(other.name), "%s", name);
    decide_target(rules, &other, &verdict);
    return verdict.reason == REASON_NONE &&
           decide_address(rules, &other, &verdict, &connection->address, option) == REASON_NONE;
}

/* Return: 1: it may pass, 0: it goes on, -errno. */
static int look_at_hello(struct connection *connection)
{
    char name[NAME_SIZE];
    int whole = hello_read((const unsigned char *)connection->head.data, connection->head.length, name);

    if (whole < 0)
        return refuse(connection, REASON_TLS_BAD);
    if (whole == 0)
        return 0;
    if (name[0] == '\0')
        return refuse(connection, REASON_TLS_NO_NAME);
    return is_meant(connection, name) ? 1 : refuse(connection, REASON_TLS_NAME);
}

static int look_at_request(struct connection *connection)
{
    struct http_head request;
    bool cut = connection->watched > connection->head.length;
    ssize_t length = cut ? -EBADMSG : http_request(connection->head.data, connection->head.length, &request);

    if (length < 0)
        return refuse(connection, length == -EAFNOSUPPORT ? REASON_HTTP_HOST : REASON_BAD_REQUEST);
    if (length == 0)
        return 0;
    /* To a server the port says nothing; clients leave it out, or not. */
    if (request.form == HTTP_CONNECT || request.other_host ||
        ((request.has_host || request.form == HTTP_ABSOLUTE) &&
         (request.target.is_address || !is_meant(connection, request.target.name))))
        return refuse(connection, REASON_HTTP_HOST);
    return 1;
}

static void drop_front(struct text *text, size_t length)
{
    memmove(text->data, text->data + length, text->length - length);
    text->length -= length;
}

/* Servers skip empty lines in front of a request. */
static void pass_empty_lines(struct connection *connection, struct text *out)
{
    struct text *head = &connection->head;
    size_t empty = 0;

    while (empty < head->length && (head->data[empty] == '\r' || head->data[empty] == '\n'))
        empty++;
    text_add_bytes(out, head->data, empty);
    drop_front(head, empty);
}

/* What no client of HTTP would send goes on; is it the first line of a request all the same? */
static void pass_watched(struct connection *connection, struct text *out)
{
    struct text *head = &connection->head;

    text_add_bytes(out, head->data + connection->passed, head->length - connection->passed);
    if (head->length > HTTP_HEAD)
        drop_front(head, head->length - LINE_KEPT);
    connection->passed = head->length;
}

/* Return: 1: it may pass, 0: it goes on and must wait, 2: it goes on and need not, -errno. */
static int look(struct connection *connection)
{
    const struct text *head = &connection->head;
    int hello = connection->passed > 0 ? -1 : hello_looks((const unsigned char *)head->data, head->length);
    int http = http_looks(head->data, head->length), line = http_first_line(head->data, head->length);

    if (hello > 0)
        return look_at_hello(connection);
    if (line > 0 || http > 0)
        return look_at_request(connection);
    if ((hello == 0 || http == 0) && head->length < HTTP_HEAD && connection->passed == 0)
        return 0;
    return line < 0 || connection->watched > LINE_MOST ? 1 : 2;
}

int filter_first(struct connection *connection, const char *data, size_t length, struct text *out)
{
    struct text *head = &connection->head;
    int passes;

    text_add_bytes(head, data, length);
    if (head->failed)
        return -ENOMEM;
    if (connection->watched == 0) {
        pass_empty_lines(connection, out);
        length = head->length;
    }
    if (head->length == 0)
        return 0;
    connection->watched += length;
    passes = look(connection);
    if (passes < 0)
        return passes;
    if (passes == 0) {
        if (connection->timer.call != on_slow || !connection->timer.node.after)
            timer_begin(&connection->gateway->loop, &connection->timer, TIMER_HANDSHAKE, on_slow);
        return 0;
    }
    pass_watched(connection, out);
    if (connection->timer.call == on_slow || passes == 1)
        connection_keep(connection);
    if (passes == 2)
        return 0;
    text_free(head);
    connection->filters[FROM_CLIENT] = NULL;
    return 0;
}

/* One request has one body; what follows it would be a request that nobody has decided. */
int filter_body(struct connection *connection, const char *data, size_t length, struct text *out)
{
    ssize_t taken = http_body_take(&connection->body, data, length);

    if (taken < 0)
        return refuse(connection, REASON_BAD_REQUEST);
    text_add_bytes(out, data, (size_t)taken);
    return 0;
}

/* The answer says that the connection ends with it, whatever the server had in mind. */
int filter_answer(struct connection *connection, const char *data, size_t length, struct text *out)
{
    struct text *held = &connection->answer;
    struct http_head answer = {0};
    ssize_t head;

    text_add_bytes(held, data, length);
    do {
        head = held->failed ? -ENOMEM : http_answer(held->data, held->length, connection->method, &answer);
        if (head < 0)
            return (int)head;
        if (head == 0)
            return 0;
        http_write_answer(&answer, out);
        memmove(held->data, held->data + head, held->length - (size_t)head);
        held->length -= (size_t)head;
    } while (answer.status / 100 == 1 && answer.status != 101);
    text_add_bytes(out, held->data, held->length);
    connection->answer_left = answer.body >= 0 ? answer.body - (int64_t)held->length : -1;
    if (answer.body >= 0 && connection->answer_left <= 0)
        connection->server.ended = true;
    text_free(held);
    connection->filters[FROM_SERVER] = NULL;
    return 0;
}

/* The other proxy's word on our CONNECT. */
int filter_upstream(struct connection *connection, const char *data, size_t length, struct text *out)
{
    struct text *held = &connection->answer;
    struct http_head answer;
    ssize_t head;

    text_add_bytes(held, data, length);
    head = held->failed ? -ENOMEM : http_answer(held->data, held->length, "CONNECT", &answer);
    if (head < 0)
        return (int)head;
    if (head == 0)
        return 0;
    if (answer.status / 100 == 1) {
        memmove(held->data, held->data + head, held->length - (size_t)head);
        held->length -= (size_t)head;
        return held->length > 0 ? filter_upstream(connection, "", 0, out) : 0;
    }
    if (answer.status / 100 != 2)
        return -ECONNREFUSED;
    if (proxy_established(connection) != 0)
        return -ENOMEM;
    text_add_bytes(out, held->data + head, held->length - (size_t)head);
    text_free(held);
    connection->filters[FROM_SERVER] = NULL;
    return relay_on(connection);
}
