/*
 * keeper.h - the caller's terminal while a command has one of its own: raw, and as before after any end.
 */
#ifndef CONFINE_RUN_KEEPER_H
#define CONFINE_RUN_KEEPER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <termios.h>

/* What the watcher has to know; in memory that both see. */
struct kept {
    pthread_mutex_t alive; /* held by us */
    bool raw;              /* `raw_modes` are in force, and `before` were */
    uint64_t left;         /* what sequence_reset() undoes */
    struct termios before, raw_modes;
};

struct keeper {
    int fd;     /* the terminal; -1: there is none */
    bool owned; /* opened anew, and non-blocking */
    pid_t watcher;
    struct kept *kept;
};

/*
 * keeper_open() - remember the terminal @fd.
 *
 * It is opened anew, so that no flag of the caller's changes; where that is not allowed, it is used as it is.
 *
 * Return: 0 or -errno.
 */
int keeper_open(struct keeper *keeper, int fd);

/*
 * keeper_watch() - start the process that restores the terminal if we cannot.
 *
 * It is a child of ours that holds nothing but the terminal, in a session of its own; it is none of the
 * children that kernel/children.h lists.
 *
 * Return: 0 or -errno.
 */
int keeper_watch(struct keeper *keeper);

/* keeper_is_foreground() - may we read it and change its modes? */
bool keeper_is_foreground(const struct keeper *keeper);

/* keeper_enter() - make it raw, if we are in its foreground; it may have been before. Return: it is raw. */
bool keeper_enter(struct keeper *keeper);

/* keeper_leave() - its own modes again, for as long as we are stopped. */
void keeper_leave(struct keeper *keeper);

/*
 * keeper_end() - everything as before, what was typed or answered and not read thrown away, and the watcher
 * ended. Nothing where there is no terminal; more than once is once.
 * @asked: the terminal has been asked something, whose answer may be on its way
 */
void keeper_end(struct keeper *keeper, bool asked);

#endif
