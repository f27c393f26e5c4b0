/*
 * loop.h - the gateway's one loop: descriptors, edge by edge, and deadlines of a few fixed lengths.
 *
 * A descriptor is watched for everything at once and never asked about again: what the kernel said is
 * remembered in `events` until a call found it used up. So a relayed connection costs two calls of epoll in
 * its life.
 *
 * Should:  give everybody a turn before anybody has a second one.
 * Mustn't: call for a watch that has ended, in the same turn either.
 */
#ifndef CONFINE_NETWORK_LOOP_H
#define CONFINE_NETWORK_LOOP_H

#include "util/util.h"

#include <stdint.h>
#include <sys/epoll.h>

struct node {
    struct node *before, *after; /* NULL: in no list */
};

struct watch {
    struct node node; /* first; in the list of those that have something to do */
    int fd;           /* -1: nothing is watched */
    uint32_t events;  /* EPOLL… that came and were not found used up */
    void (*call)(struct watch *watch);
};

/* How long deadlines are. Each length has a list of its own, in which they stand by the time at which they
 * end. */
enum timer_kind {
    TIMER_NONE = 0,
    TIMER_SOON, /* 100 ms: counters, a descriptor table that was full */
    TIMER_NEXT, /* 250 ms: until the next address is tried as well, for the first words of one that is refused
                 */
    TIMER_HANDSHAKE, /* 10 s: a head, a ClientHello, a request of SOCKS */
    TIMER_DIAL,      /* 30 s: to find an address and to be connected to it */
    TIMER_END,       /* 500 ms: what the command has said last still goes out */
    TIMER_KINDS
};

struct timer {
    struct node node; /* first */
    uint64_t at;      /* ms, of loop->now */
    void (*call)(struct timer *timer);
};

struct loop {
    int epoll;
    uint64_t now; /* ms, monotonic, at the beginning of this turn */
    int came;     /* events in this turn */
    struct node ready, turn;
    struct node timers[TIMER_KINDS];
    bool ended;
};

/* loop_begin() - Return: 0 or -errno. */
int loop_begin(struct loop *loop);

/* loop_run() - until `ended`. Return: 0 or -errno. */
int loop_run(struct loop *loop, void (*turned)(struct loop *loop));

/*
 * watch_begin() - watch @fd for all that can happen. The watch does not own it.
 *
 * Return: 0, or -errno; then the watch holds nothing.
 */
int watch_begin(struct loop *loop, struct watch *watch, int fd, void (*call)(struct watch *watch));

/* watch_end() - never call again. The descriptor must be closed right behind it, and nobody else have it. */
void watch_end(struct watch *watch);

/* watch_forget() - the same for a descriptor that another process may have as well: the kernel would go on
 * telling of it after it is closed here. */
void watch_forget(struct loop *loop, struct watch *watch);

/* watch_again() - call in the next turn, though nothing new comes. */
void watch_again(struct loop *loop, struct watch *watch);

/* watch_take() - watch by @watch what an ended one has watched so far. Return: as watch_begin(). */
int watch_take(struct loop *loop, struct watch *watch, int fd, void (*call)(struct watch *watch));

/* timer_begin() - call when so much time has gone; a timer that runs begins anew. */
void timer_begin(struct loop *loop, struct timer *timer, enum timer_kind kind,
                 void (*call)(struct timer *timer));
void timer_end(struct timer *timer);

void node_add(struct node *list, struct node *node); /* as the last one */
void node_remove(struct node *node);                 /* nothing for one that is in no list */
void list_begin(struct node *list);
bool list_empty(const struct node *list);

#endif
