/*
 * observer.h - the supervisor's side of the observer: it is started, told, listened to, and seen gone.
 */
#ifndef CONFINE_RUN_OBSERVER_H
#define CONFINE_RUN_OBSERVER_H

#include "observe/observe.h"
#include "report/report.h"
#include "run/part.h"

struct approval;
struct audit;
struct control;
struct gateway;
struct reader;

struct observer {
    bool wanted;                       /* by the plan */
    pid_t pid;                         /* 0: none */
    pid_t observed;                    /* who handed its calls over; 0: nobody has */
    int wire, theirs;                  /* -1: none */
    uint32_t known[OBSERVE_RECORDS];   /* 1 + index of the report's item, for the observer's number */
    uint64_t counted[OBSERVE_RECORDS]; /* of it, in that item */
    bool ended;
    bool leaves;   /* it has been told that the run is over */
    bool gone;     /* its end of the wire is closed */
    bool outlives; /* the run: in a session */
    const struct resolved *resolved;
    struct report *report;
    struct control *control;   /* that is told at once; NULL: none */
    struct approval *approval; /* that answers what is held; NULL: nothing is */
    struct reader *reader;     /* that reads for it; NULL: it reads itself */
    struct audit *audit;       /* that has the same from the kernel; NULL: nobody has */
    struct gateway *gateway;   /* that knows what the addresses of a listed network stand for */
    struct supervision *supervision;
    uv_poll_t poll;
};

/* Listens while the command runs. Nothing without an observer. */
extern const struct part_calls observer_part;

/* observer_clear() - nothing, with no descriptor. */
void observer_clear(struct observer *observer);

/* observer_begin() - of a run with @plan; what is seen goes into @report, and is told to @control (NULL:
 * none) as it comes. Return: 0 or -errno. */
int observer_begin(struct observer *observer, const struct resolved *resolved, const struct plan *plan,
                   struct report *report, struct control *control, struct gateway *gateway);

/*
 * observer_start() - start the observer, if one is wanted: it makes itself ready while the chain does.
 * @tmp: the private temp directory, NULL: none
 *
 * Return: 0 or -errno.
 */
int observer_start(struct observer *observer, const struct plan *plan, const char *tmp);

/*
 * observer_take() - the chain has handed over where its calls are announced.
 * @listener: the caller's; -1: it cannot be, for @errnum, and the observer ends
 * @writer:   who did
 *
 * Return: 0; -EPROTO where none was waited for; or another -errno.
 */
int observer_take(struct observer *observer, int listener, int errnum, pid_t writer, const struct plan *plan);

/* observer_waits() - has nobody handed calls over, or said why there are none, although that is wanted? */
bool observer_waits(const struct observer *observer);

/* observer_adopt() - is it the command's process that handed them over, if anybody has? Return: 0 or -EPROTO.
 */
int observer_adopt(const struct observer *observer, pid_t command);

/* observer_go() - the command is about to start: from now on what is refused counts. Return: 0 or -errno. */
int observer_go(const struct observer *observer);

/* observer_denial() - one refusal, as the message says it, which has to outlive it. @label: what its place is
 * called, NULL: it is a path */
struct denial observer_denial(const struct observe_message *message, const char *label);

/* observer_refused() - what was held is refused after all. @label: the place of a connection, NULL: a path */
void observer_refused(struct observer *observer, const struct observe_message *message, const char *label);

/* observer_read_place() - of `ADDRESS:PORT` or `[ADDRESS]:PORT`. Return: whether it is that. */
bool observer_read_place(const char *text, char address[NETWORK_ADDRESS], unsigned *ret_port);

/* observer_abandon() - end it: nothing has started. */
void observer_abandon(struct observer *observer);

#endif
