/*
 * relay.c - what one end sends, the other gets.
 *
 * One buffer serves everybody: what is read is written at once, and only what an end does not take is kept
 * for it; until it has taken that, nothing more is read for it. So a slow client costs its own chunk of
 * memory and nobody's time.
 *
 * Should:  pass on an end of sending as such, and a broken connection as a broken one, but behind everything
 * that came before it. Mustn't: let one connection have the loop for itself.
 */
#include "network/gateway.h"

#include <errno.h>
#include <stddef.h>

#define TURNS 4 /* chunks of one end in one turn of the loop */

static char chunk[RELAY_CHUNK];

static struct end *end_of(struct connection *connection, int from)
{
    return from == FROM_CLIENT ? &connection->client : &connection->server;
}

static void drop_held(struct connection *connection, struct end *end)
{
    connection->gateway->held -= end->held_length;
    free(end->held);
    end->held = NULL;
    end->held_at = end->held_length = 0;
}

void relay_end(struct connection *connection)
{
    drop_held(connection, &connection->client);
    drop_held(connection, &connection->server);
}

int relay_hold(struct connection *connection, struct end *end, const char *data, size_t length)
{
    char *held;

    if (length == 0)
        return 0;
    held = malloc(end->held_length + length);
    if (!held)
        return -ENOMEM;
    if (end->held_length > 0)
        memcpy(held, end->held + end->held_at, end->held_length);
    memcpy(held + end->held_length, data, length);
    free(end->held);
    end->held = held;
    end->held_at = 0;
    end->held_length += length;
    connection->gateway->held += length;
    return 0;
}

/* It takes nothing any more. What it has sent can still be read. */
static void break_end(struct connection *connection, struct end *end, int errnum)
{
    end->error = errnum;
    drop_held(connection, end);
}

/* Return: how many bytes END took. */
static size_t write_some(struct connection *connection, struct end *end, const char *data, size_t length)
{
    ssize_t sent;

    do
        sent = send(end->watch.fd, data, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    if (sent < 0 && errno != EAGAIN)
        break_end(connection, end, errno);
    if (sent < (ssize_t)length)
        end->watch.events &= ~(uint32_t)EPOLLOUT;
    return sent < 0 ? 0 : (size_t)sent;
}

/* Return: true when nothing waits for END any more. */
static bool flush(struct connection *connection, struct end *end)
{
    size_t sent;

    if (end->held_length == 0)
        return true;
    sent = write_some(connection, end, end->held + end->held_at, end->held_length);
    if (end->held_length == 0)
        return true; /* it broke */
    end->held_at += sent;
    end->held_length -= sent;
    connection->gateway->held -= sent;
    if (end->held_length > 0)
        return false;
    drop_held(connection, end);
    return true;
}

/* What came in goes out, filtered where it must be. Return: 0 or -errno. */
static int pass(struct connection *connection, int from, const char *data, size_t length)
{
    struct end *to = end_of(connection, !from);
    size_t sent;

    *(from == FROM_CLIENT ? &connection->sent : &connection->received) += length;
    if (connection->filters[from]) {
        struct text out = {0};
        int error = connection->filters[from](connection, data, length, &out);

        if (!error && out.failed)
            error = -ENOMEM;
        if (!error && out.length > 0)
            error = relay_hold(connection, to, out.data, out.length);
        text_free(&out);
        if (!error)
            flush(connection, to);
        return error;
    }
    if (from == FROM_SERVER && connection->protocol == PROTOCOL_HTTP && connection->answer_left > 0) {
        connection->answer_left -= (int64_t)length;
        connection->server.ended = connection->answer_left <= 0; /* whatever it says, it has no more to say */
    }
    if (to->error)
        return 0;
    sent = to->held_length > 0 ? 0 : write_some(connection, to, data, length);
    return sent < length && !to->error ? relay_hold(connection, to, data + sent, length - sent) : 0;
}

/* Where very much is held already, less is read at a time. */
static size_t chunk_size(const struct gateway *gateway)
{
    return gateway->held < RELAY_HELD_MOST ? RELAY_CHUNK : RELAY_CHUNK_LESS;
}

/* One chunk. Return: 1: there may be more, 0: not now, -errno. */
static int pump_chunk(struct connection *connection, int from)
{
    struct end *end = end_of(connection, from);
    size_t size = chunk_size(connection->gateway);
    ssize_t got = recv(end->watch.fd, chunk, size, MSG_DONTWAIT);

    if (got > 0) {
        int error = pass(connection, from, chunk, (size_t)got);

        /* A part of a chunk is all there was, unless the end of it stands behind. */
        if ((size_t)got < size && !(end->watch.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)))
            end->watch.events &= ~(uint32_t)EPOLLIN;
        return error ? error : 1;
    }
    if (got < 0 && errno == EINTR)
        return 1;
    if (got < 0 && errno == EAGAIN) {
        end->watch.events &= ~(uint32_t)(EPOLLIN | EPOLLRDHUP);
        return 0;
    }
    end->ended = true;
    if (got < 0)
        break_end(connection, end, errno);
    return 0;
}

static bool is_readable(const struct end *end)
{
    return !end->ended && end->watch.events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR);
}

/* Is there nothing left that could come or go? */
static bool is_over(const struct connection *connection)
{
    const struct end *client = &connection->client, *server = &connection->server;

    if (connection->protocol == PROTOCOL_HTTP && server->ended && client->held_length == 0)
        return true;
    return (client->ended || server->error) && (server->ended || client->error) && client->held_length == 0 &&
           server->held_length == 0;
}

/* Return: 0, or -errno: the connection is over. */
static int pump(struct connection *connection, int from)
{
    struct end *end = end_of(connection, from), *to = end_of(connection, !from);
    int turns = 0, more = 1;

    if (!flush(connection, to))
        return 0;
    while (more == 1 && !to->error && to->held_length == 0 && is_readable(end) &&
           !(from == FROM_CLIENT && connection->held_back)) {
        if (turns++ == TURNS) {
            watch_again(&connection->gateway->loop, &end->watch);
            return 0;
        }
        more = pump_chunk(connection, from);
    }
    /* What broke does not end like what is whole: both are closed for that, in relay(). */
    if (end->ended && !end->error && to->held_length == 0 && !to->shut && !to->error) {
        to->shut = true;
        /* A request that is alone on its connection ends by its length; to end the sending as well confuses
         * some. */
        if ((from != FROM_CLIENT || connection->protocol != PROTOCOL_HTTP) && !is_over(connection))
            shutdown(to->watch.fd, SHUT_WR);
    }
    return more < 0 ? more : 0;
}

static void close_filtered(struct connection *connection, int error)
{
    if (connection->is_later) {
        connection->client.shut = proxy_answer(connection, connection->later, error);
        connection_close(connection, reasons[connection->later]);
    } else if (connection->held_back) { /* the client has had no answer yet */
        connection->client.shut = proxy_answer(connection, REASON_NONE, error);
        connection_close(connection, "the upstream proxy refused");
    } else {
        connection->client.shut = proxy_answer(connection, REASON_NONE, error);
        connection_close(connection, error == -EBADMSG ? "the answer cannot be read" : strerror(-error));
    }
}

static void relay(struct connection *connection)
{
    int error = pump(connection, FROM_CLIENT);

    if (!error)
        error = pump(connection, FROM_SERVER);
    if (error) {
        close_filtered(connection, error);
        return;
    }
    if (connection->held_back && connection->server.ended) {
        close_filtered(connection, connection->server.error ? -connection->server.error : -ECONNRESET);
        return;
    }
    if (!is_over(connection))
        return;
    if (connection->client.error)
        connection_close(connection, "the client broke off");
    else
        connection_close(connection, connection->server.error ? strerror(connection->server.error) : NULL);
}

bool relay_is_drained(const struct connection *connection)
{
    bool published = connection->protocol == PROTOCOL_PUBLISH;
    const struct end *inside = published ? &connection->server : &connection->client;
    const struct end *outside = published ? &connection->client : &connection->server;

    if (connection->state != STATE_RELAY) /* something may wait for a server that is about to answer */
        return inside->watch.fd < 0 || !is_readable(inside);
    return outside->error || (outside->held_length == 0 && !is_readable(inside));
}

static void on_client(struct watch *watch)
{
    relay((struct connection *)(void *)((char *)watch - offsetof(struct connection, client.watch)));
}

static void on_server(struct watch *watch)
{
    relay((struct connection *)(void *)((char *)watch - offsetof(struct connection, server.watch)));
}

/* What the client said before there was a server, through the filter like everything else. */
static int pass_early(struct connection *connection)
{
    struct text said = connection->head;
    int error = 0;

    connection->head = (struct text){0};
    if (said.length > 0)
        error = pass(connection, FROM_CLIENT, said.data, said.length);
    text_free(&said);
    return error;
}

int relay_on(struct connection *connection)
{
    connection->held_back = false;
    watch_again(&connection->gateway->loop, &connection->client.watch);
    return pass_early(connection);
}

void relay_begin(struct connection *connection)
{
    int error = connection->held_back ? 0 : pass_early(connection);

    connection->client.watch.call = on_client;
    connection->server.watch.call = on_server;
    if (error)
        close_filtered(connection, error);
    else
        relay(connection);
}
