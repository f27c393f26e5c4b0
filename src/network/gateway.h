/*
 * gateway.h - the one object of the program, and what its parts know of each other.
 */
#ifndef CONFINE_NETWORK_GATEWAY_H
#define CONFINE_NETWORK_GATEWAY_H

#include "network/decide.h"
#include "network/dial.h"
#include "network/http_head.h"
#include "network/loop.h"
#include "network/pool.h"
#include "network/resolve.h"
#include "network/upstream.h"

#define CONNECTIONS_MOST 8192  /* also at most a third of the descriptors that may be open */
#define RELAY_CHUNK      65536 /* bytes read at a time, */
#define RELAY_CHUNK_LESS 8192  /* or where very much waits for clients that do not read */
#define RELAY_HELD_MOST  ((size_t)64 * 1024 * 1024)

enum protocol {
    PROTOCOL_TCP = 0,
    PROTOCOL_HTTP,
    PROTOCOL_CONNECT,
    PROTOCOL_SOCKS5,
    PROTOCOL_DNS,
    PROTOCOL_FORWARD,
    PROTOCOL_PUBLISH
};
extern const char *const protocols[];

enum role { ROLE_NONE = 0, ROLE_TCP, ROLE_DNS, ROLE_DNS_TCP, ROLE_PROXY, ROLE_FORWARD, ROLE_PUBLISH };

struct listener {
    struct watch watch; /* first */
    struct node node;   /* in gateway->listeners */
    struct gateway *gateway;
    enum role role;
    uint16_t port; /* of forward and publish: where it leads; of tcp: its own */
    bool pinned;   /* of tcp: for one name */
    char name[NAME_SIZE];
};

/* What one end of a connection has in hand. */
struct end {
    struct watch watch; /* first */
    char *held;         /* what it has not taken yet; owned */
    size_t held_at, held_length;
    bool ended; /* it sends no more */
    bool shut;  /* it is told that nothing follows */
    int error;  /* errno with which it broke, 0 */
};

enum state {
    STATE_HEAD = 0, /* a proxy's client says where to */
    STATE_RESOLVE,
    STATE_DIAL,
    STATE_RELAY, /* what passes may still have to pass a filter */
    STATE_GONE   /* freed at the end of the turn */
};

struct connection;

struct connection {
    struct node node; /* first; in gateway->connections, then in gateway->gone */
    struct gateway *gateway;
    struct end client, server;
    struct timer timer;
    struct query query;
    struct dial *dial; /* owned */
    enum state state;
    enum protocol protocol;
    enum reason later; /* a refusal that became clear behind the verdict */
    bool is_later;
    bool greeted;   /* SOCKS: the methods are agreed on */
    bool told;      /* it was told one by one */
    bool accounted; /* it was told, or counted */
    bool hosts;     /* it came to an address of /etc/hosts, which several names may share */
    bool second;    /* publish: the second family is tried */
    bool held_back; /* what the client sends waits for another proxy's word */
    struct target target;
    struct verdict verdict;
    struct address address; /* that was dialled */
    bool dialled;           /* it was */
    bool by_upstream;       /* through another proxy */
    struct text head;       /* bytes of the client that wait for their rest */
    size_t passed;          /* those of head that went on all the same */
    size_t watched;         /* bytes of its first line so far; more than stand in head: it is cut in front */
    struct text answer;     /* and of the server */
    struct text first;      /* what the server gets first: a rewritten head, CONNECT */
    /* What the client, and the server sends passes it: @length bytes on their way; what may go on is added to
     * @out. Return: 0, or -errno: it is over. NULL: everything passes. */
    int (*filters[2])(struct connection *connection, const char *data, size_t length, struct text *out);
    struct http_body body;
    int64_t answer_left; /* bytes until the answer is whole; negative: its end is the server's */
    char method[8];      /* of the request: HEAD has an answer without a body */
    uint64_t id, began_ms, sent, received;
};
enum { FROM_CLIENT = 0, FROM_SERVER };

struct tally; /* account.c */

struct gateway {
    struct loop loop; /* first */
    struct watch channel;
    struct node out; /* packets that the channel has not taken yet */
    size_t out_bytes;
    struct rules rules;
    struct pool pool;
    struct resolve resolve;
    struct upstream upstream;
    struct node listeners, connections, gone;
    size_t connection_count, connection_most;
    size_t held;       /* bytes that wait for ends that do not read */
    struct timer full; /* descriptors have run out */
    bool stalled;      /* somebody waits for room */
    struct timer count_timer;
    struct tally *tallies;
    size_t tally_counts[2]; /* of what is allowed, and refused */
    uint64_t last_id, items[2], given;
    unsigned telling;       /* turns until what is counted has to be told; 0: nobody asks */
    unsigned tells;         /* who asks: each is answered */
    struct timer end_timer; /* while what the command has said last goes out */
    bool started, ending;
    bool ended; /* `ended` is said, and nothing follows it */
    int status;
};

/* gateway_main() - the program. Return: its status. */
int gateway_main(int argc, char **argv);

/* --- supervisor.c: the channel ----------------------------------------------------------------------------
 */
int supervisor_begin(struct gateway *gateway, int fd);
/* supervisor_say() - one packet. @text is taken over. Return: false when it was dropped, as too much waits.
 */
bool supervisor_say(struct gateway *gateway, struct text *text);
void supervisor_say_word(struct gateway *gateway, const char *type);
/* supervisor_fail() - the last word; the program ends with 125. */
__attribute__((format(printf, 2, 3))) void supervisor_fail(struct gateway *gateway, const char *format, ...);
/* supervisor_turned() - at the end of each turn of the loop. */
void supervisor_turned(struct gateway *gateway);
void supervisor_want_socket(struct gateway *gateway, uint64_t id, bool six);

/* --- account.c: what became of connections
 * ------------------------------------------------------------------ */
void account_decided(struct connection *connection);
void account_closed(struct connection *connection, const char *error);
/* DNS: a refused one. @type: of the record; one lookup asks for several, and is one all the same. */
void account_name(struct gateway *gateway, const char *name, unsigned type);
/* account_given() - the pool has just given an address to @name: who sees it inside knows no name. */
void account_given(struct gateway *gateway, const char *name);
void account_flush(struct gateway *gateway);
void account_anew(struct gateway *gateway); /* nothing counts as told any more */

/* --- listener.c
 * ---------------------------------------------------------------------------------------------- */
/* listener_begin() - @fd is taken over. @name: NULL, or the one that it is for. Return: 0 or -errno. */
int listener_begin(struct gateway *gateway, enum role role, uint16_t port, const char *name, int fd);
void listener_room(struct gateway *gateway); /* a connection has ended: go on accepting */
/* listener_has_port() - is there one for @name (NULL: for all) and @port? */
bool listener_has_port(const struct gateway *gateway, uint16_t port, const char *name);

/* --- connection.c
 * -------------------------------------------------------------------------------------------- */
/* connection_set_options() - of both ends: no waiting for more to send, and a peer that has vanished is
 * found. What is accepted has the options of its listener. */
void connection_set_options(int fd);
/* connection_keep() - it is relayed now; nothing else waits for its timer. */
void connection_keep(struct connection *connection);
/* connection_begin() - @fd is taken over, also when there is no memory. */
void connection_begin(struct listener *listener, int fd);
void connection_socket(struct gateway *gateway, uint64_t id, int fd); /* -1: there is none */
/* connection_go() - target is set: decide, resolve, dial. */
void connection_go(struct connection *connection);
/* connection_refuse() - @reason: in the client's own words; then it is over. */
void connection_refuse(struct connection *connection, enum reason reason);
void connection_close(struct connection *connection, const char *error);
void connection_free(struct connection *connection);

/* --- proxy.c: what a proxy's client says, and what it is answered
 * --------------------------------------------- */
void proxy_read(struct watch *watch); /* of the client's end */
/* proxy_may_hear() - has one who dialled, and is refused, said too little to be answered in its own protocol?
 */
bool proxy_may_hear(const struct connection *connection);
/* proxy_answer() - it was refused (REASON_…), or failed (REASON_NONE; @error: -errno). Return: whether there
 * was anything to be said in the client's protocol. */
bool proxy_answer(struct connection *connection, enum reason reason, int error);
/* proxy_established() - put what the client is told into its hands. Return: 0 or -ENOMEM. */
int proxy_established(struct connection *connection);

/* --- filter.c: what passes and is looked at
 * ------------------------------------------------------------------- */
int filter_first(struct connection *connection, const char *data, size_t length, struct text *out);
int filter_body(struct connection *connection, const char *data, size_t length, struct text *out);
int filter_answer(struct connection *connection, const char *data, size_t length, struct text *out);
int filter_upstream(struct connection *connection, const char *data, size_t length, struct text *out);

/* --- relay.c
 * --------------------------------------------------------------------------------------------------- */
/* relay_begin() - both ends are there; what the client has said already stands in its head. */
void relay_begin(struct connection *connection);
/* relay_on() - let the client's bytes pass that were held back. Return: 0 or -errno: it is over. */
int relay_on(struct connection *connection);
/* relay_is_drained() - has everything gone on that the command has said on this connection? */
bool relay_is_drained(const struct connection *connection);
/* relay_hold() - @end gets these bytes before any others. Return: 0 or -ENOMEM. */
int relay_hold(struct connection *connection, struct end *end, const char *data, size_t length);
void relay_end(struct connection *connection);

#endif
