/*
 * tree.h - the processes of a run: signalled, counted, ended, and seen gone.
 */
#ifndef CONFINE_RUN_TREE_H
#define CONFINE_RUN_TREE_H

#include "run/supervise.h"

enum phase { PHASE_RUNNING = 0, PHASE_WAITING, PHASE_ENDING, PHASE_GONE };

struct tree {
    struct supervision *supervision;
    struct outcome *outcome; /* survivors are counted there */
    uv_loop_t *uv;           /* stopped when the tree is empty */
    enum phase phase;
    bool ended; /* the command has been reaped */
    int status; /* of the command, as waitpid() */
    int cut;    /* the signal that ended the waiting for others, after the command; 0: none has */
    bool last;  /* the guard was the only child left, and was killed */
    bool guard_ended, guard_lost;
    bool holding; /* a foreign process in front is held, so that what is left behind it can be counted */
    int front; /* the liveness once more, on which the process in front says what was left; -1: nobody does */
    uv_timer_t sweep, gone;
    uv_poll_t held, told;
};

/* tree_start() - its timers; nothing is waited for yet. Return: 0 or a libuv error. */
int tree_start(struct tree *tree, struct supervision *supervision, uv_loop_t *uv);

/* tree_release() - listen no more; nothing where tree_start() was not. */
void tree_release(struct tree *tree);

/* tree_hold_front() - count what a foreign process in front leaves behind. It was stopped before `go`; where
 * the command's end cannot be waited for it goes on at once, and nothing is counted. */
void tree_hold_front(struct tree *tree);

/* tree_signal_group() - to everything that stays in the command's process group; a command without a chain
 * has none of its own. */
void tree_signal_group(const struct tree *tree, int signum);

/* tree_signal_command() - to the command alone. */
void tree_signal_command(const struct tree *tree, int signum);

/* tree_command_gone() - has the command ended? With --wait-all it is known before the run ends. */
bool tree_command_gone(const struct tree *tree);

/* tree_end_waiting() - the command has ended, and whoever is waited for (--wait-all) is ended now because of
 * @signum: what the command said is not how the run ended. Does nothing where nobody is waited for. */
void tree_end_waiting(struct tree *tree, int signum);

/* tree_cancel() - the run is to end: in a session, what would otherwise live on behind the command does not.
 */
void tree_cancel(const struct tree *tree);

/* tree_kill() - end the command and what is left. With a guard it is the guard's work; we sweep as well once
 * it has ended, or without one. More than once is once. */
void tree_kill(struct tree *tree);

/* tree_reap() - take what has ended; without a child left the tree is gone. */
void tree_reap(struct tree *tree);

#endif
