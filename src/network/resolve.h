/*
 * resolve.h - names to addresses, by a process that does nothing else.
 *
 * The C library's resolver reads what strange servers answer, so it has a process of its own (resolver.c),
 * which can read nothing but its own files. Here are the questions that wait for it, and answers of the last
 * seconds: a build that makes a hundred connections asks once. Each connection checks its addresses for
 * itself.
 *
 * Should:  ask for one name once, however many wait for it.
 * Mustn't: wait for an answer without end: whoever asks has a deadline, and so has the place in the queue.
 */
#ifndef CONFINE_NETWORK_RESOLVE_H
#define CONFINE_NETWORK_RESOLVE_H

#include "network/decide.h"
#include "network/loop.h"

#define RESOLVE_ADDRESSES 16   /* of one name; more are not looked at */
#define RESOLVE_AT_ONCE   8    /* names; processes of the resolver */
#define RESOLVE_KEPT      256  /* answers */
#define RESOLVE_FRESH     5000 /* ms */

enum resolve_error {
    RESOLVE_FAILED = 0, /* no answer, or no resolver */
    RESOLVE_UNKNOWN,    /* there is no such name */
    RESOLVE_FOUND
};

/* What the two processes say to each other. */
struct resolve_question {
    uint32_t id;
    char name[NAME_SIZE];
};
struct resolve_answer {
    uint32_t id;
    uint32_t error; /* enum resolve_error */
    uint32_t count;
    struct address addresses[RESOLVE_ADDRESSES];
};

/* One who waits. */
struct query {
    struct node node; /* first */
    void (*call)(struct query *query, const struct resolve_answer *answer);
};

struct lookup_name {
    struct node node;    /* first; in `waiting`, `asked` or `kept` */
    struct timer timer;  /* while it is asked for */
    struct node queries; /* who waits */
    struct resolve *resolve;
    uint64_t until; /* ms: the answer is fresh */
    struct resolve_question question;
    struct resolve_answer answer;
};

struct resolve {
    struct watch watch; /* first */
    struct loop *loop;
    struct node waiting, asked, kept;
    size_t asked_count, kept_count;
    uint32_t last_id;
    bool gone; /* the resolver has ended */
};

/* resolve_begin() - by the resolver at the other end of @fd, which is taken over. Return: 0 or -errno. */
int resolve_begin(struct resolve *resolve, struct loop *loop, int fd);

/* resolve_ask() - @query->call is called once, perhaps before this returns. Return: 0 or -ENOMEM. */
int resolve_ask(struct resolve *resolve, struct query *query, const char *name);

/* resolve_forget() - it does not wait any more; nothing for one that does not. */
void resolve_forget(struct query *query);

/* resolver_start() - the process, as a child. Return: our end of its socket, or -errno. */
int resolver_start(void);

/* resolver_stands() - wait until its walls stand. Return: false: they do not, and it has ended. */
bool resolver_stands(int fd);

#endif
