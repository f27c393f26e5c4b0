/*
 * supervise.h - from `go` to the end of the last process.
 */
#ifndef CONFINE_RUN_SUPERVISE_H
#define CONFINE_RUN_SUPERVISE_H

#include "report/report.h"
#include "run/part.h"

#define SUPERVISION_PARTS 12

struct cgroups;
struct loop;

struct supervision {
    const struct resolved *resolved;
    struct plan *plan;
    struct part parts[SUPERVISION_PARTS]; /* started, and told, in this order */
    size_t part_count;
    pid_t process;       /* our child: the command, or the one in front of it in a pid namespace */
    pid_t command;       /* who is signalled, as we see its number */
    int command_fd;      /* the same as a pidfd, where it is not our child and so may be gone; -1: it is */
    pid_t guard;         /* 0: none */
    int channel;         /* -1: none (backend none) */
    int liveness;        /* its end ends the guard, or the pid namespace; -1: none */
    uint64_t started_ns; /* CLOCK_MONOTONIC at `go` */
    struct report *report;
    const struct cgroups *groups; /* that hold all of the run; NULL: none */
    /* Filled: */
    bool group_empty; /* nobody was left in them */
    uint64_t cpu_ms;  /* of all that were in them; 0: not known */
    int exec_errno;   /* 0: the command has started */
    struct loop *loop;
};

/* supervise_block() - hold back the signals that supervise() takes, from the very start and for good, so that
 * none is lost. What is not blocked is never taken, the end of a child included. Return: 0 or -errno. */
int supervise_block(void);

/* supervise_signals() - those that are taken, one bit for each: of signal N, bit N - 1. */
uint64_t supervise_signals(void);

/* supervise_stop_self() - stop this process as SIGTSTP by default does; returns when it is continued. In an
 * orphaned process group the kernel drops that signal, because nobody would ever continue us: SIGSTOP would
 * be for good. */
void supervise_stop_self(void);

/*
 * supervise_prepare() - everything of it that can fail, to be done before `go`: loop, signals, parts.
 * @supervision: kept until supervise() has returned
 *
 * Return: 0 or -errno.
 */
int supervise_prepare(struct supervision *supervision);

/* supervise_release() - undo supervise_prepare() after a start that failed: another one may follow, and libuv
 * keeps lists that run through all loops. Does nothing where nothing was prepared. */
void supervise_release(void);

/*
 * supervise() - wait for the command, forward signals, keep limits, then see the tree empty.
 *
 * supervise_prepare() comes first. Owns `liveness` and closes it.
 */
void supervise(struct supervision *supervision);

/*
 * What parts may ask for, from their first call on.
 *
 * supervise_limit() - end the run because of the limit @name (static), unless another one has ended it.
 * @at_once: by SIGKILL; else SIGTERM first, and the time of grace
 */
void supervise_limit(struct supervision *supervision, const char *name, bool at_once);

/* supervise_signal() - as if @signum had come to us. */
void supervise_signal(struct supervision *supervision, int signum);

/* supervise_kill() - end the run by SIGKILL; the outcome says what that did to the command. */
void supervise_kill(struct supervision *supervision);

/*
 * supervise_resize() - give the terminal of this run another size.
 * supervise_close_input() - the command finds the end of its input behind what was written to it.
 *
 * Return: 0; -ENOTTY when no part has such a terminal, or the input; or another -errno.
 */
int supervise_resize(struct supervision *supervision, unsigned columns, unsigned rows);
int supervise_close_input(struct supervision *supervision);

/*
 * supervise_allow() - ask for a rule more for the command's network. supervise_answered() - tell the parts
 * what has become of it.
 *
 * Return: 0, or a negative errno with @error.
 */
int supervise_allow(struct supervision *supervision, const char *rule, struct error *error);
void supervise_answered(struct supervision *supervision, const char *rule, const struct error *refused);

/* supervise_emptied() - tell the parts that nobody of the run is left; at most once. */
void supervise_emptied(struct supervision *supervision);

/* supervise_answer() - somebody has answered the question @id: enum approval_answer. Return: 0, or a negative
 * errno with @error. */
int supervise_answer(struct supervision *supervision, uint32_t id, unsigned answer, struct error *error);

/* supervise_connection() - tell the parts of a connection, when it begins and when it has ended. */
void supervise_connection(struct supervision *supervision, const struct connection *connection);

/* supervise_now_ns() - CLOCK_MONOTONIC. */
uint64_t supervise_now_ns(void);

#endif
