/*
 * session_making.h - a session's keeper, and how it comes to what it keeps.
 */
#ifndef CONFINE_RUN_SESSION_MAKING_H
#define CONFINE_RUN_SESSION_MAKING_H

#include "run/gateway.h"
#include "run/session.h"
#include "run/session_hearers.h"
#include "run/session_peers.h"

struct session_keeper {
    const struct session_place *place;
    const char *name;
    struct session_facts facts;
    size_t decided; /* of the rules that were added, those that the facts have */
    uint64_t since; /* CLOCK_BOOTTIME, seconds */
    int lock, owner, report, null;
    int liveness, listener, signals;
    int init_fd; /* pidfd of process 1 */
    int join[JOIN_COUNT];
    pid_t init;             /* 0: there is none, or it has been reaped */
    pid_t chain;            /* what makes them, until it has been reaped */
    bool has_hand;          /* the gateway's: there is something for it to do */
    struct gateway gateway; /* of a network with a list: for all runs */
    struct peers peers;
    struct hearers hearers; /* runs that are told what comes to the gateway */
};

/* session_keeper_fail() - @what cannot be done, for @errnum. Return: -@errnum, with @error. */
int session_keeper_fail(struct error *error, int errnum, const char *what);

/* session_keeper_make() - the namespaces, their process 1, and the gateway of a network with a list. Return:
 * 0, or a negative errno with @error; then what there is has to be ended. */
int session_keeper_make(struct session_keeper *keeper, const struct resolved *resolved, struct error *error);

/*
 * session_keeper_enter() - go where the mounts are that every run gets a copy of: only from within can they
 * be copied.
 *
 * There is nothing else there, so nothing of the host's is used from here on but what is open. This process
 * stays outside of the process namespace, where nobody inside can see it, and is not dumpable.
 *
 * Return: 0, or a negative errno with @error.
 */
int session_keeper_enter(struct session_keeper *keeper, struct error *error);

#endif
