/*
 * approval.h - refusals that wait for an answer.
 */
#ifndef CONFINE_RUN_APPROVAL_H
#define CONFINE_RUN_APPROVAL_H

#include "observe/observe.h"
#include "report/report.h"
#include "run/part.h"

#define APPROVAL_SLOTS 16 /* questions that are open at one time */

struct control;
struct observer;

/* What somebody answers. */
enum approval_answer {
    APPROVAL_DENY = 0,
    APPROVAL_DENY_LIKE, /* this, and for the rest of the run whatever lies in the same directory or below */
    APPROVAL_ONCE,
    APPROVAL_RUN, /* this, and the same path again for the rest of the run */
    APPROVAL_ANSWERS
};

/* One held call. */
struct approval_held {
    uint32_t id;                     /* the question's number; 0: the place is free */
    bool said;                       /* the asker has it */
    char *label;                     /* owned: what a connection is called, `NAME:PORT`; NULL: it is none */
    char *rule;                      /* owned: what would let that connection through; NULL likewise */
    bool requested;                  /* the rule has been asked for, and is to be in force */
    bool granted;                    /* it is, and somebody is about to listen */
    bool missed;                     /* nobody waited when it was looked at last */
    int object;                      /* what the observer saw there */
    uint64_t until_ns;               /* CLOCK_MONOTONIC */
    struct observe_message *message; /* owned, cut behind its name */
};

/* What was answered for all of the run. */
struct approval_memory {
    char *path; /* owned */
    bool denied;
    bool reads; /* it was asked about to be read as well; of what was allowed */
};

struct approval {
    bool wanted;
    bool connects; /* connections too */
    bool layer;    /* of Landlock holds files: what is handed over cannot be opened anew */
    bool ended;    /* whoever still calls, in a session, gets no answer but a no */
    int listener;  /* -1: not there yet */
    const struct resolved *resolved;
    struct strings added; /* rules of the network that were added, in the one spelling of them */
    struct report *report;
    struct control *control;
    struct observer *observer; /* that records what is refused in the end */
    struct supervision *supervision;
    uv_timer_t timer;
    uint32_t last_id;
    uint32_t tokens; /* questions that may be put at once */
    uint64_t filled_ns;
    struct approval_held held[APPROVAL_SLOTS];
    struct approval_memory *memory;
    size_t memory_count;
};

/* Answers while the command runs. Nothing unless it is wanted. */
extern const struct part_calls approval_part;

/* approval_begin() - of a run whose policy asks, or of one that does not. @observer: has been begun.
 * @connects: the network has a list that may grow */
void approval_begin(struct approval *approval, const struct resolved *resolved, struct report *report,
                    struct control *control, struct observer *observer, bool connects);

/* approval_take() - keep a copy of @listener, where calls are answered. Return: 0 or a negative errno with
 * the report's error set: this kernel cannot do it. */
int approval_take(struct approval *approval, int listener);

/* approval_hold() - a call waits. @object: what it names, taken over */
void approval_hold(struct approval *approval, const struct observe_message *message, int object);

/* approval_free() - let everything go. */
void approval_free(struct approval *approval);

#endif
