/*
 * terminal.h - the terminal that the command has for itself, and what it is joined to out here.
 *
 * The chain makes it (terminal-run) and hands its other side over. What is typed at the caller's terminal, or
 * comes from a pipe, goes in; what the command shows comes out, through a filter where it goes to a terminal.
 */
#ifndef CONFINE_RUN_TERMINAL_H
#define CONFINE_RUN_TERMINAL_H

#include "policy/resolve.h"
#include "run/keeper.h"
#include "run/part.h"
#include "run/pump.h"
#include "run/relay.h"
#include "run/sequence.h"

struct terminal {
    bool wanted; /* by the plan; nothing else is set before terminal_prepare() */
    bool piped;  /* 0 to 2 are no terminals: it was asked for on pipes */
    bool on[3];  /* what of 0 to 2 the command's terminal is */
    int theirs; /* what stands on them, and on one more descriptor, until the chain puts the terminal there */
    int master; /* our side; -1: has not come yet */
    int peer;   /* the command's side, kept open: without anybody there ours would tell of an end */
    pid_t leader;           /* of its session: the command */
    unsigned columns, rows; /* asked for; 0: those of the caller's terminal */
    bool ended;             /* there is nothing more to type */
    bool hung_up;
    size_t line; /* bytes that were typed since the last line ended */
    int failed;  /* errno of output that was lost */
    struct keeper keeper;
    struct pump in, out;
    struct sequence *sequence; /* NULL: what comes out is not filtered */
    struct relays *relays;     /* whose output counts with ours; borrowed */
    struct supervision *supervision;
    uv_loop_t *loop;
    uv_signal_t resized;
    uv_timer_t tick;
};

/* Copies by the events of the loop; at the end the caller's terminal is as before. */
extern const struct part_calls terminal_part;

/* terminal_clear() - nothing, with no descriptor. */
void terminal_clear(struct terminal *terminal);

/*
 * terminal_prepare() - look at 0 to 2, and decide which of them the command's terminal will be.
 * @standard: what the command gets as 0, 1 and 2; changed for those
 *
 * Return: 0 or -errno.
 */
int terminal_prepare(struct terminal *terminal, const struct resolved *resolved, int standard[3]);

/* terminal_list() - `0,1,7`: the descriptors on which the chain puts the terminal. @stderr_fd: stands for 2.
 */
void terminal_list(const struct terminal *terminal, int stderr_fd, char *buffer, size_t size);

/* terminal_take() - the chain has handed our side over: @master, which is the terminal's from now on.
 * @writer: who did. Return: false where it was not waited for, and @master stays the caller's. */
bool terminal_take(struct terminal *terminal, int master, pid_t writer);

/*
 * terminal_adopt() - look at our side, and do all that can still fail before `go`.
 * @leader: the process that becomes the command; the terminal must be the one of its session
 *
 * Return: 0 or -errno; -EPERM: it has not come, is no terminal, or another session's.
 */
int terminal_adopt(struct terminal *terminal, pid_t leader);

/* terminal_error() - errno of lost output, 0 if none was lost. */
int terminal_error(const struct terminal *terminal);

/* terminal_free() - everything is closed, and the caller's terminal is its own again. After
 * supervise_release() where the loop has not run to its end. */
void terminal_free(struct terminal *terminal);

#endif
