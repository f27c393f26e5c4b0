/*
 * control.h - the control channel: JSON lines both ways over one socket, while the command runs.
 *
 * confine-control(5) has the messages. The channel is a part of the supervisor's loop; what comes first and
 * last, `started` and `ended`, is said whatever else was lost.
 */
#ifndef CONFINE_RUN_CONTROL_H
#define CONFINE_RUN_CONTROL_H

#include "report/report.h"
#include "run/part.h"

#define CONTROL_LINE  65536 /* bytes of one line from the other side, its newline included */
#define CONTROL_QUEUE 65536 /* bytes that may wait for a slow reader, beside the first line and the last */

struct control {
    int fd;     /* -1: none, as is to be set at first */
    int waiter; /* an epoll descriptor that is readable when there is something to do with `fd` */
    struct supervision *supervision;
    uv_poll_t poll;
    bool polling;
    bool closed;      /* by the other side: nothing more comes in */
    bool broken;      /* nothing more goes out */
    bool killed;      /* the run was ended by us */
    bool started;     /* was said */
    bool overlong;    /* in a line that is longer than any may be */
    size_t warned[4]; /* warnings that were said, of each list of them */
    size_t denied;    /* refusals that were said */
    int64_t line;     /* number of the last line that came in, from 1 */
    int64_t lost;     /* lines that found no room since one did */
    struct text out;  /* what waits, from `sent` on */
    size_t sent;
    size_t held;      /* bytes in `input` */
    unsigned last_ms; /* how long the last line waits for its reader; 0: five seconds */
    char input[CONTROL_LINE];
};

/* control_begin() - take over @fd, a connected stream socket. Return: 0 or -errno; @fd is taken either way.
 */
int control_begin(struct control *control, int fd);

/* Reads and obeys from the start of the loop on; the end of the channel ends the run. */
extern const struct part_calls control_part;

/* control_denials() - say the refusals of the report that were not said yet, once the command has started. */
void control_denials(struct control *control, const struct report *report);

/* control_begin_line() - begin a line of one type. control_end_line() - queue it; @always: also where there
 * is no room. Return: 0 or -ENOMEM. */
void control_begin_line(const struct control *control, struct writer *writer, const char *type);
int control_end_line(struct control *control, struct writer *writer, bool always);

/* control_say_error() - that the last line that came in was not obeyed, and why. */
void control_say_error(struct control *control, const struct error *error);

/* control_kill() - end the run, once; the report will name the channel. */
void control_kill(struct control *control);

/* control_gone() - has the other side gone by now? To be asked before anything starts. */
bool control_gone(const struct control *control);

/* control_judge() - name the channel in @outcome if it was the channel that ended the command. */
void control_judge(const struct control *control, struct outcome *outcome);

/*
 * control_finish() - say `ended`, wait for a reader who is slow, but not for ever, and let the channel go.
 * Does nothing without a channel, and without another side.
 * @status: the exit status of confine
 *
 * Return: 0, or -errno when the last line could not be delivered to somebody who is there.
 */
int control_finish(struct control *control, const struct report *report, int status);

#endif
