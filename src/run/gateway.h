/*
 * gateway.h - the process outside that the command's network leads to: started, told what to do, listened to,
 * and ended.
 *
 * network/protocol.h has what is said. The gateway is a child of this process and no part of the tree: it is
 * confined by a chain of its own, beside the command's.
 */
#ifndef CONFINE_RUN_GATEWAY_H
#define CONFINE_RUN_GATEWAY_H

#include "report/report.h"
#include "run/channel.h"
#include "run/hand.h"
#include "run/part.h"

/* A name that the gateway has given an address to. */
struct given {
    char *name;                       /* owned */
    char address[2][NETWORK_ADDRESS]; /* IPv4, IPv6; empty: none */
};

struct gateway {
    bool asks;   /* before a connection that no rule allows is refused */
    bool wanted; /* the plan has one */
    const struct plan *plan;
    const struct resolved *resolved;
    struct report *report;
    struct supervision *supervision;
    int fd;              /* our end; -1: none, or it has gone */
    int errors;          /* what its chain says on stderr; -1: none */
    pid_t pid;           /* 0: none, or reaped */
    int *listeners;      /* by the words of `--listen`; -1: not made, or handed on */
    int advisory;        /* plan->advisory: the proxy's listener on the host's loopback; -1: none */
    unsigned proxy_port; /* of the proxy: inside, or of that one; 0: there is none */
    int *published;      /* on the host's loopback, two for each port; -1: none */
    struct hand hand;
    struct strings pinned;  /* names that got an address of their own by `allow` */
    struct strings added;   /* `ADDRESS PORT` on which somebody listens since then */
    struct strings unheard; /* `PORT WHY` on which nobody could, of the rule that is answered next */
    struct given *given;
    size_t given_count;
    bool confined, ready, ended;
    bool begun;           /* it has its listeners: from here on nobody waits for it */
    bool shared;          /* what is heard is the gateway of a session, by its keeper */
    bool told;            /* all that had come when it was asked for */
    struct strings asked; /* rules that were added: a keeper's, all of them; shared, those of this run */
    /* A packet about connections is for others, and is not kept here; NULL: for nobody. @told: see above */
    void (*heard)(void *self, bool told, const char *packet, size_t size);
    void *hearer;
    uv_poll_t poll;
    bool polling;
};

/* gateway_clear() - nothing is there yet. */
void gateway_clear(struct gateway *gateway);

/*
 * gateway_prepare() - everything that has to be there before the command's chain: ports out here.
 *
 * Return: 0, or a negative errno with the error of @report set.
 */
int gateway_prepare(struct gateway *gateway, const struct plan *plan, const struct resolved *resolved,
                    struct report *report);

/*
 * gateway_start() - start it, where the plan has one; it gets ready while the chain restricts itself.
 *
 * Return: 0, or a negative errno with the error of the report set.
 */
int gateway_start(struct gateway *gateway);

/* gateway_take() - listeners that the chain has handed out. Takes the descriptors over. Return: whether they
 * are what was asked for. */
bool gateway_take(struct gateway *gateway, const struct channel_listeners *message,
                  struct handed_over *handed);

/* gateway_take_entrance() - the way into the command's network, for later. The same. */
bool gateway_take_entrance(struct gateway *gateway, struct handed_over *handed);

/*
 * gateway_make() - make addresses and listeners in the network of @pid, where the chain's own links cannot.
 *
 * Does nothing where they can. Return: 0, or a negative errno with the error of the report set.
 */
int gateway_make(struct gateway *gateway, pid_t pid);

/*
 * gateway_open() - wait until it is confined and ready, and give it the listeners. The last thing before
 * `go`.
 *
 * Return: 0, or a negative errno with the error of the report set.
 */
int gateway_open(struct gateway *gateway);

/* gateway_abandon() - end it at once, as far as it is there, and let everything go. */
void gateway_abandon(struct gateway *gateway);

/* Hears what it says; its end ends the run. */
extern const struct part_calls gateway_part;

/* gateway_may_allow() - may a rule be added to its list? Return: 0, or a negative errno with @error. */
int gateway_may_allow(const struct gateway *gateway, struct error *error);

/* gateway_start_hearing(), gateway_go_hearing() - `start` and `go` of either part. */
int gateway_start_hearing(void *self, struct supervision *supervision, uv_loop_t *uv);
void gateway_go_hearing(void *self);

/* gateway_stop_hearing() - nothing more is heard, and what the gateway is told from is closed. */
void gateway_stop_hearing(struct gateway *gateway);

/* gateway_await() - hear it until @said is set, for two seconds at most. Return: whether that came. */
bool gateway_await(struct gateway *gateway, const bool *said);

/* --- gateway_shared.c: that of a session --- */

/*
 * gateway_share() - hear what the gateway of the run's session says, where it has one.
 *
 * Return: 0, or a negative errno with the error of @report set.
 */
int gateway_share(struct gateway *gateway, const struct plan *plan, const struct resolved *resolved,
                  struct report *report);

/* Tells of connections as gateway_part does. Its end is no end of the run: the session ends with it. */
extern const struct part_calls gateway_shared_part;

/* --- gateway_reach.c: who is where inside --- */

/* gateway_note_given() - @name has got these addresses; NULL: none of the family. Return: 0 or -errno. */
int gateway_note_given(struct gateway *gateway, const char *name, const char *four, const char *six);

/* gateway_note_listener() - somebody has begun to listen. Return: 0 or -errno. */
int gateway_note_listener(struct gateway *gateway, const char *address, unsigned port);

/* gateway_listens() - does somebody listen there since the run has begun? */
bool gateway_listens(const struct gateway *gateway, const char *address, unsigned port);

/* gateway_name_at() - the name that stands behind @address inside. Hears what the gateway has to say. Return:
 * NULL: none that is known; else until the next name is heard of. */
const char *gateway_name_at(struct gateway *gateway, const char *address);

/* gateway_is_private() - may @name lead to private addresses, by a rule, or has it? Hears what the gateway
 * has to say. */
bool gateway_is_private(struct gateway *gateway, const char *name);

/* gateway_forget() - all of it. */
void gateway_forget(struct gateway *gateway);

/* --- gateway_chain.c: its process --- */

/* gateway_spawn() - start it; @their_end becomes its channel. Return: 0, or a negative errno with @error. */
int gateway_spawn(struct gateway *gateway, int their_end, struct error *error);

/* gateway_failed() - it ended before it was ready: its own last words. Return: a negative errno. */
int gateway_failed(struct gateway *gateway, struct error *error);

/* --- gateway_talk.c: what is said --- */

/* gateway_say_start() - rules, upstream and pools. Return: 0 or -errno. */
int gateway_say_start(struct gateway *gateway);

/* gateway_say_listeners() - hand on what was taken. Return: 0 or -errno. */
int gateway_say_listeners(struct gateway *gateway);

/* gateway_say() - a message with one member at most, a text. @key: NULL: none. Return: 0 or -errno. */
int gateway_say(struct gateway *gateway, const char *type, const char *key, const char *text);

/*
 * gateway_allow() - add a rule, from now on.
 * @text: a rule, in the one spelling of it
 *
 * It answers: supervise_answered(). Return: 0 or -errno.
 */
int gateway_allow(struct gateway *gateway, const char *text);

/* gateway_is_unheard() - has the rule @text this port, on which nobody could listen? Return: whether it has,
 * with @error. */
bool gateway_is_unheard(const char *text, int64_t port, const char *why, struct error *error);

/*
 * gateway_hear() - take one packet, if there is one, and do what it says.
 *
 * Return: 1: there was one; 0: none; -errno: it has gone (-ECONNRESET), or says what nobody understands.
 */
int gateway_hear(struct gateway *gateway);

#endif
