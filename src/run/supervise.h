/*
 * supervise.h - from `go` to the end of the last process.
 */
#ifndef CONFINE_RUN_SUPERVISE_H
#define CONFINE_RUN_SUPERVISE_H

#include "report/report.h"
#include "run/relay.h"

struct supervision {
    const struct resolved *resolved;
    struct plan *plan;
    struct relays *relays;
    pid_t command;
    pid_t guard;         /* 0: none */
    int channel;         /* -1: none (backend none) */
    int liveness;        /* write end of the guard's pipe, -1: none */
    uint64_t started_ns; /* CLOCK_MONOTONIC at `go` */
    struct report *report;
    /* Filled: */
    int exec_errno; /* 0: the command has started */
};

/* supervise_block() - hold back the signals that supervise() forwards, from the very start, so that none is
 * lost. */
void supervise_block(void);

/*
 * supervise_prepare() - everything of it that can fail, to be done before `go`: loop, signals, relays.
 * @supervision: kept until supervise() has returned
 *
 * Return: 0 or -errno.
 */
int supervise_prepare(struct supervision *supervision);

/*
 * supervise() - wait for the command, forward signals, keep limits, then see the tree empty.
 *
 * supervise_prepare() comes first. Owns `liveness` and closes it.
 */
void supervise(struct supervision *supervision);

/* supervise_now_ns() - CLOCK_MONOTONIC. */
uint64_t supervise_now_ns(void);

#endif
