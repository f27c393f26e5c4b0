/*
 * relay.h - what stands on the command's 0, 1 and 2.
 *
 * Pipes, sockets and devices pass through untouched. A terminal or a regular
 * file never reaches the command: its flags, offset and modes are the
 * caller's. Between the two stands a pipe, copied by the supervisor. So it is
 * for all output that is limited: only what is copied can be counted; for
 * pipes and sockets in a session, where what lives on would keep them open; and for
 * errors where nobody can see refusals, and words are all that there is.
 */
#ifndef CONFINE_RUN_RELAY_H
#define CONFINE_RUN_RELAY_H

#include "run/part.h"
#include "util/util.h"

#define RELAY_SIZE 65536

struct relays;
struct signs;

struct relay {
    struct relays *all;
    int from, to;     /* -1: this relay is not used */
    int pipe;         /* which of the two is our end of the pipe */
    int theirs;       /* the command's end, until it was handed over; kept open for stdin */
    int waiter;       /* becomes readable with a terminal that could not be opened anew; -1: not needed */
    bool owned_outer; /* the outer side was opened anew, without touching the caller's flags */
    bool outer_polls; /* the outer side can be waited for (a terminal, not a file) */
    bool socket;      /* the outer side: sent to without waiting, which leaves the caller's flags alone */
    bool pipe_out;    /* the outer side is the caller's own pipe: a page at a time, once there is room */
    bool terminal_in; /* reading it from the background would stop us */
    bool ending;      /* nothing more is read: the end comes when what is held has gone */
    bool heard;       /* what is copied is looked at as well */
    bool done;
    int failed; /* errno of a write that lost output */
    char *buffer;
    size_t held, at;
    uint64_t taken; /* read so far */
    uv_poll_t source, sink;
    bool source_open, sink_open;
};

/* How much output there may be. */
struct relays_limit {
    uint64_t most;       /* bytes of 1 and 2 together; 0: any */
    bool ends;           /* more of it ends the run; else it is cut off */
    bool outlived;       /* the command may leave somebody behind who keeps its output open: a reader of the
                            caller's must not have to wait for them */
    struct signs *signs; /* listens to 2, or to 1 and 2 where they are one; NULL: nobody does */
};

struct relays {
    struct relay relay[3];
    struct relays_limit limit;
    uint64_t put;   /* handed on so far, where that is limited */
    bool truncated; /* and something was not */
    bool heard;     /* some of the output is copied for limit.signs */
    struct supervision *supervision;
    uv_loop_t *loop;
    uv_timer_t wake;
};

/* Copies by the events of the loop. At the end it copies what still stands in the pipes, and gives unread
 * input back. */
extern const struct part_calls relays_part;

/*
 * relays_prepare() - look at 0 to 2 and decide.
 * @skipped: of 0, 1 and 2, what the command's own terminal takes the place of
 * @limit: of the output
 * @ret_standard: what the command gets as 0, 1 and 2; left as it is for those that are skipped
 *
 * Return: 0 or -errno.
 */
int relays_prepare(struct relays *relays, const bool skipped[3], struct relays_limit limit,
                   int ret_standard[3]);

/* relays_handed_over() - the command has its ends; ours of the output side are closed. */
void relays_handed_over(struct relays *relays);

/* relays_admit() - count output that was read: how much of @size bytes may be handed on. The rest is dropped,
 * so that the command need not wait for anybody. */
size_t relays_admit(struct relays *relays, size_t size);

/* relays_truncated() - has output been cut off? */
bool relays_truncated(const struct relays *relays);

/* relays_error() - errno of lost output, 0 if none was lost. */
int relays_error(const struct relays *relays);

void relays_free(struct relays *relays);

#endif
