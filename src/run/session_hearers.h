/*
 * session_hearers.h - the runs of a session that are told what comes to its gateway.
 */
#ifndef CONFINE_RUN_SESSION_HEARERS_H
#define CONFINE_RUN_SESSION_HEARERS_H

#include "run/gateway.h"

#include <poll.h>

#define HEARERS 64 /* more are not told */

struct hearers {
    struct gateway *gateway;
    int fd[HEARERS];         /* -1: free */
    uint64_t asked[HEARERS]; /* the number of its question for what is only counted so far; 0: none is open */
    uint64_t asks, answers;  /* of all */
};

/* hearers_clear() - nobody hears yet; from here on what @gateway says about connections is passed on. */
void hearers_clear(struct hearers *hearers, struct gateway *gateway);

/* hearers_add() - one more. Return: whether there was room; then the connection is taken over. */
bool hearers_add(struct hearers *hearers, int fd);

/* hearers_wait() - fill in HEARERS places of a poll(). */
void hearers_wait(const struct hearers *hearers, struct pollfd *ready);

/* hearers_hear() - after that poll(): who asks, and who has gone. */
void hearers_hear(struct hearers *hearers, const struct pollfd *ready);

#endif
