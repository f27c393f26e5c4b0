/*
 * part.h - what lives in the supervisor's loop beside the processes: relays, limits, a terminal, a control
 * channel.
 *
 * The supervisor knows parts only by these calls; a part knows the supervisor by supervise.h and asks it to
 * end the run or to signal the command.
 */
#ifndef CONFINE_RUN_PART_H
#define CONFINE_RUN_PART_H

#include <stdint.h>
#include <uv.h>

struct connection;
struct error;
struct supervision;

struct part_calls {
    /* Everything that can fail, before `go`; NULL: nothing to do. Return: 0, -errno or a libuv error. */
    int (*start)(void *self, struct supervision *supervision, uv_loop_t *uv);
    /* The word to start is given; NULL: nothing to do. */
    void (*go)(void *self);
    /* The command's program runs: its exec has been seen; NULL: nothing to do. It may have ended by then. */
    void (*started)(void *self);
    /* The limit @name has begun to end the run; NULL: nothing to do. */
    void (*limited)(void *self, const char *name);
    /* Asked for over the control channel; NULL: not this part's. Return: 0 or -errno. */
    int (*resize)(void *self, unsigned columns, unsigned rows);
    int (*close_input)(void *self); /* -ENOTTY: it does not stand between anybody and the command's input */
    /* A rule more for the command's network: an answer follows. Return: 0, or a negative errno with @error.
     */
    int (*allow)(void *self, const char *rule, struct error *error);
    /* The answer. @refused: why not, or why it reaches nothing; NULL: it is in force */
    void (*answered)(void *self, const char *rule, const struct error *refused);
    /* The question @id has been answered (enum approval_answer). Return: 0, or a negative errno with @error.
     */
    int (*answer)(void *self, uint32_t id, unsigned answer, struct error *error);
    /* Something has become known of a connection that the command's network made. */
    void (*connection)(void *self, const struct connection *connection);
    /* We are about to be stopped with the command, and go on again; NULL: nothing to do. */
    void (*stop)(void *self);
    void (*cont)(void *self);
    /* Nobody is left who could do anything, but a helper of ours has still to end: what has to be waited for
     * at the end can begin. Not in every run; NULL: nothing to do. */
    void (*emptied)(void *self);
    /* The last process has gone, and the outcome is not yet filled; NULL: nothing to do. */
    void (*end)(void *self);
};

/* Borrowed: lives until supervise() or supervise_release() has returned. */
struct part {
    const struct part_calls *calls;
    void *self;
};

#endif
