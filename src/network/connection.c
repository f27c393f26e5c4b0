/*
 * connection.c - one connection, from the client's first packet to the last one.
 *
 *     HEAD -> RESOLVE -> DIAL -> RELAY -> GONE
 *
 * HEAD only where a client must say where to; RESOLVE only for names. `connection_go()` is the one place at
 * which is decided, whatever the client speaks, and the addresses that DIAL gets have all been checked.
 *
 * Should:  free a connection at the end of the turn in which it ends, never while somebody above still holds
 * it. Mustn't: end the gateway, whatever goes wrong with one connection.
 */
#include "network/gateway.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>

#define MEMBER(pointer, member)                                                                              \
    ((struct connection *)(void *)((char *)(pointer)-offsetof(struct connection, member)))

void connection_set_options(int fd)
{
    static const struct {
        int level, option, value;
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1}, {SOL_SOCKET, SO_KEEPALIVE, 1}, {IPPROTO_TCP, TCP_KEEPIDLE, 60}};

    for (size_t i = 0; i < ARRAY_SIZE(options); i++)
        setsockopt(fd, options[i].level, options[i].option, &options[i].value, sizeof(options[i].value));
}

/* What lives for so long may be forgotten by its peer; short connections are spared the calls. */
static void on_alive(struct timer *timer)
{
    connection_set_options(MEMBER(timer, timer)->server.watch.fd);
}

void connection_keep(struct connection *connection)
{
    timer_begin(&connection->gateway->loop, &connection->timer, TIMER_DIAL, on_alive);
}

static void close_end(struct connection *connection, struct end *end, bool reset)
{
    int fd = end->watch.fd;
    static const struct linger at_once = {.l_onoff = 1};

    if (fd < 0)
        return;
    if (reset)
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    if (connection->protocol == PROTOCOL_PUBLISH && end == &connection->server)
        watch_forget(&connection->gateway->loop, &end->watch); /* the supervisor has made it */
    else
        watch_end(&end->watch);
    fd_close(fd);
}

void connection_close(struct connection *connection, const char *error)
{
    struct gateway *gateway = connection->gateway;

    if (connection->state == STATE_GONE)
        return;
    account_closed(connection, error);
    connection->state = STATE_GONE;
    timer_end(&connection->timer);
    resolve_forget(&connection->query);
    if (connection->dial)
        dial_end(connection->dial);
    close_end(connection, &connection->client, error != NULL && !connection->client.shut);
    close_end(connection, &connection->server, error != NULL);
    relay_end(connection);
    node_remove(&connection->node);
    node_add(&gateway->gone, &connection->node);
    gateway->connection_count--;
    listener_room(gateway);
}

/* What the client is told, as far as its protocol has words; then it is over. */
static void end_with_answer(struct connection *connection, enum reason reason, int error, const char *text)
{
    char rest[4096];

    if (proxy_answer(connection, reason, error)) {
        /* Bytes that nobody has read would make a reset of the end. */
        for (int i = 0; i < 16 && recv(connection->client.watch.fd, rest, sizeof(rest), MSG_DONTWAIT) > 0;
             i++)
            continue;
        connection->client.shut = true;
    }
    connection_close(connection, text);
}

static void fail(struct connection *connection, int error, const char *text)
{
    end_with_answer(connection, REASON_NONE, error, text ? text : strerror(-error));
}

static void end_refused(struct connection *connection)
{
    enum reason reason = connection->is_later ? connection->later : connection->verdict.reason;

    end_with_answer(connection, reason, 0, reasons[reason]);
}

/* It has not spoken yet when it is refused: it may, for a moment, so that there are words to answer. */
static void hear_refused(struct watch *watch)
{
    struct connection *connection = MEMBER(watch, client.watch);

    if ((watch->events & (EPOLLERR | EPOLLHUP)) || !proxy_may_hear(connection))
        end_refused(connection);
}

static void on_refused_time(struct timer *timer)
{
    end_refused(MEMBER(timer, timer));
}

void connection_refuse(struct connection *connection, enum reason reason)
{
    if (!connection->accounted) {
        connection->verdict.reason = reason;
        account_decided(connection);
    } else {
        connection->later = reason;
        connection->is_later = true;
    }
    if (!proxy_may_hear(connection)) {
        end_refused(connection);
        return;
    }
    connection->client.watch.call = hear_refused;
    timer_begin(&connection->gateway->loop, &connection->timer, TIMER_NEXT, on_refused_time);
}

static void on_timer(struct timer *timer)
{
    struct connection *connection = MEMBER(timer, timer);

    if (connection->state == STATE_HEAD && !connection->accounted) {
        connection_close(connection, "the request did not come in time");
        return;
    }
    fail(connection, -ETIMEDOUT, NULL);
}

/* A client that waits for its server: only its end is of interest. */
static void wait_client(struct watch *watch)
{
    struct connection *connection = MEMBER(watch, client.watch);

    if (watch->events & (EPOLLERR | EPOLLHUP))
        connection_close(connection, "the client is gone");
}

/* A socket of the inside must be asked for. */
static void want_socket(struct connection *connection, bool six)
{
    static const struct address loopback[2] = {{.bytes = {127, 0, 0, 1}}, {.six = true, .bytes = {[15] = 1}}};

    connection->second = six;
    target_set(&loopback[six], connection->target.port, &connection->target);
    connection->state = STATE_RESOLVE;
    timer_begin(&connection->gateway->loop, &connection->timer, TIMER_DIAL, on_timer);
    supervisor_want_socket(connection->gateway, connection->id, six);
}

static void on_dialled(struct dial *dialled, int fd, size_t at, int error)
{
    struct connection *connection = dialled->owner;
    struct gateway *gateway = connection->gateway;
    static const int on = 1;

    connection->address = dialled->addresses[at];
    connection->dialled = true;
    if (error && connection->protocol == PROTOCOL_PUBLISH && !connection->second) {
        connection->dial = NULL;
        free(dialled);
        want_socket(connection, true);
        return;
    }
    if (error) {
        fail(connection, error, NULL);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    error = watch_take(&gateway->loop, &connection->server.watch, fd, NULL);
    if (error) {
        fd_close(fd);
        fail(connection, error, NULL);
        return;
    }
    connection_keep(connection);
    connection->state = STATE_RELAY;
    connection->dial = NULL;
    free(dialled);
    if (connection->first.length > 0 &&
        relay_hold(connection, &connection->server, connection->first.data, connection->first.length) != 0) {
        connection_close(connection, "no memory");
        return;
    }
    text_free(&connection->first);
    if (!connection->held_back && proxy_established(connection) != 0) {
        connection_close(connection, "no memory");
        return;
    }
    relay_begin(connection);
}

/* The addresses stand in connection->dial. */
static void dial(struct connection *connection)
{
    connection->state = STATE_DIAL;
    dial_begin(connection->dial);
}

static struct dial *make_dial(struct connection *connection)
{
    connection->dial = calloc(1, sizeof(*connection->dial));
    if (!connection->dial)
        return NULL;
    connection->dial->loop = &connection->gateway->loop;
    connection->dial->owner = connection;
    connection->dial->call = on_dialled;
    return connection->dial;
}

/* Take those of the answer that may be reached. */
static void on_resolved(struct query *query, const struct resolve_answer *answer)
{
    struct connection *connection = MEMBER(query, query);
    const struct rules *rules = &connection->gateway->rules;
    struct dial *to = connection->dial;
    enum reason reason = REASON_NEVER;
    char option[OPTION_SIZE] = "";

    if (answer->error != RESOLVE_FOUND) {
        fail(connection, -EHOSTUNREACH,
             answer->error == RESOLVE_UNKNOWN ? "there is no such name" : "the name could not be looked up");
        return;
    }
    for (size_t i = 0; i < answer->count; i++) {
        enum reason why = connection->by_upstream
                              ? REASON_NONE
                              : decide_address(rules, &connection->target, &connection->verdict,
                                               &answer->addresses[i], option);

        if (why == REASON_NONE) {
            to->addresses[to->count++] = answer->addresses[i];
        } else {
            reason = why;
            connection->address = answer->addresses[i];
        }
    }
    if (to->count > 0) {
        dial(connection);
        return;
    }
    connection->dialled = true; /* at least it is the one that was meant */
    snprintf(connection->verdict.option, sizeof(connection->verdict.option), "%s", option);
    connection_refuse(connection, reason);
}

/* To HOST and PORT: resolve, if need be, and dial. */
static void reach(struct connection *connection, const struct target *host)
{
    struct dial *to = make_dial(connection);

    if (!to) {
        connection_close(connection, "no memory");
        return;
    }
    to->port = host->port;
    if (host->is_address) {
        to->addresses[to->count++] = host->address;
        dial(connection);
        return;
    }
    connection->state = STATE_RESOLVE;
    connection->query.call = on_resolved;
    timer_begin(&connection->gateway->loop, &connection->timer, TIMER_DIAL, on_timer);
    if (resolve_ask(&connection->gateway->resolve, &connection->query, host->name) != 0)
        connection_close(connection, "no memory");
}

void connection_go(struct connection *connection)
{
    struct gateway *gateway = connection->gateway;

    connection->client.watch.call = wait_client;
    timer_end(&connection->timer);
    decide_target(&gateway->rules, &connection->target, &connection->verdict);
    if (connection->verdict.reason != REASON_NONE) {
        connection_refuse(connection, connection->verdict.reason);
        return;
    }
    account_decided(connection);
    if (!connection->filters[FROM_CLIENT] && !connection->target.is_address)
        connection->filters[FROM_CLIENT] = filter_first;
    if (!gateway->upstream.set) {
        reach(connection, &connection->target);
        return;
    }
    connection->by_upstream = true;
    if (connection->protocol != PROTOCOL_HTTP) {
        upstream_connect(&gateway->upstream, &connection->target, &connection->first);
        connection->filters[FROM_SERVER] = filter_upstream;
        connection->held_back = true;
    }
    reach(connection, &gateway->upstream.target);
}

/* --- the beginning ------------------------------------------------------------------------------------- */

/* Where the client believes to be: the name behind that address. */
static void begin_tcp(struct connection *connection, const struct listener *listener)
{
    struct gateway *gateway = connection->gateway;
    struct sockaddr_storage own = {0};
    socklen_t length = sizeof(own);
    struct address address;
    const char *name = NULL;
    uint16_t port;
    int found;

    if (getsockname(connection->client.watch.fd, (struct sockaddr *)&own, &length) != 0 ||
        !address_read((struct sockaddr *)&own, &address)) {
        connection_close(connection, "its destination is not known");
        return;
    }
    port = address_port((struct sockaddr *)&own);
    found = pool_find(&gateway->pool, &address, &name);
    target_set(&address, port, &connection->target);
    if (found == -ENOENT && listener->pinned) {
        name = listener->name;
        found = 1;
        connection->hosts = true;
    }
    if (found == 1) {
        connection->target.is_address = false;
        snprintf(connection->target.name, sizeof(connection->target.name), "%s", name);
    } else if (found == 0) { /* nobody was told this address */
        connection_refuse(connection, REASON_NOT_LISTED);
        return;
    }
    if (gateway->upstream.set && port == 80) { /* proxies seldom let a tunnel lead there */
        connection->client.watch.call = proxy_read;
        timer_begin(&gateway->loop, &connection->timer, TIMER_HANDSHAKE, on_timer);
        return;
    }
    connection_go(connection);
}

/* 127.0.0.1, then ::1, of the host. */
static void begin_forward(struct connection *connection, uint16_t port)
{
    static const struct address loopback[2] = {{.bytes = {127, 0, 0, 1}}, {.six = true, .bytes = {[15] = 1}}};
    struct dial *to = make_dial(connection);

    target_set(&loopback[0], port, &connection->target);
    connection->verdict.reason = REASON_NONE;
    account_decided(connection);
    if (!to) {
        connection_close(connection, "no memory");
        return;
    }
    to->port = port;
    to->count = 2;
    to->addresses[0] = loopback[0];
    to->addresses[1] = loopback[1];
    dial(connection);
}

static void begin_publish(struct connection *connection, uint16_t port)
{
    static const struct address loopback = {.bytes = {127, 0, 0, 1}};

    target_set(&loopback, port, &connection->target);
    connection->verdict.reason = REASON_NONE;
    account_decided(connection);
    want_socket(connection, false);
}

void connection_socket(struct gateway *gateway, uint64_t id, int fd)
{
    for (struct node *at = gateway->connections.after; at != &gateway->connections; at = at->after) {
        struct connection *connection = (struct connection *)at;
        struct dial *to;

        if (connection->id != id || connection->protocol != PROTOCOL_PUBLISH ||
            connection->state != STATE_RESOLVE)
            continue;
        to = make_dial(connection);
        if (fd < 0 || !to) {
            fd_close(fd);
            connection_close(connection, "there is no way in");
            return;
        }
        to->port = connection->target.port;
        to->addresses[0] = connection->target.address;
        connection->state = STATE_DIAL;
        dial_begin_with(to, fd);
        return;
    }
    fd_close(fd); /* nobody waits any more */
}

void connection_free(struct connection *connection)
{
    node_remove(&connection->node);
    free(connection->dial);
    text_free(&connection->head);
    text_free(&connection->answer);
    text_free(&connection->first);
    free(connection);
}

void connection_begin(struct listener *listener, int fd)
{
    struct gateway *gateway = listener->gateway;
    struct connection *connection = calloc(1, sizeof(*connection));

    if (!connection || watch_begin(&gateway->loop, &connection->client.watch, fd, wait_client) != 0) {
        free(connection);
        fd_close(fd);
        return;
    }
    connection->gateway = gateway;
    connection->server.watch.fd = -1;
    connection->id = ++gateway->last_id;
    connection->began_ms = gateway->loop.now;
    node_add(&gateway->connections, &connection->node);
    gateway->connection_count++;
    if (listener->role == ROLE_PROXY) {
        connection->protocol = PROTOCOL_CONNECT; /* until it says more */
        connection->client.watch.call = proxy_read;
        timer_begin(&gateway->loop, &connection->timer, TIMER_HANDSHAKE, on_timer);
    } else if (listener->role == ROLE_FORWARD) {
        connection->protocol = PROTOCOL_FORWARD;
        begin_forward(connection, listener->port);
    } else if (listener->role == ROLE_PUBLISH) {
        connection->protocol = PROTOCOL_PUBLISH;
        begin_publish(connection, listener->port);
    } else {
        begin_tcp(connection, listener);
    }
}
