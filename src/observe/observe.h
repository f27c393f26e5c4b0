/*
 * observe.h - the observer: a process outside that sees what is refused to the command, and only tells.
 */
#ifndef CONFINE_OBSERVE_OBSERVE_H
#define CONFINE_OBSERVE_OBSERVE_H

#include "plan/plan.h"
#include "report/denials.h"

#include <signal.h>

#define OBSERVE_SIGNAL  SIGUSR1 /* to the observer: look at the wire */
#define OBSERVE_RECORDS 512     /* different refusals; more are counted as lost */
#define OBSERVE_PATH    4096
#define OBSERVE_PROGRAM 256

enum observe_message_type {
    OBSERVE_MESSAGE_NONE = 0,
    OBSERVE_MESSAGE_READY, /* it can look: the first one */
    OBSERVE_MESSAGE_NEW,   /* a refusal that was not there before */
    OBSERVE_MESSAGE_COUNT, /* how often one came */
    OBSERVE_MESSAGE_CALL,  /* the call of one, where that was asked for */
    OBSERVE_MESSAGE_ASK,   /* a refusal that waits for an answer, with a descriptor: the call is held */
    OBSERVE_MESSAGE_END,   /* what was not seen: the last one */
};

/* What a held call would do. */
enum observe_held {
    OBSERVE_HELD_NOTHING = 0,
    OBSERVE_HELD_OPEN,      /* with the message: the file, O_PATH */
    OBSERVE_HELD_CREATE,    /* open a file that is missing; with the message: the directory it is to be in */
    OBSERVE_HELD_DIRECTORY, /* mkdir; the same */
    OBSERVE_HELD_CONNECT,   /* to an address; nothing comes with the message */
};

/* One packet on the wire, from the observer; what it holds is believed as far as a stranger's word. */
struct observe_message {
    uint32_t type;
    uint32_t index;      /* of the refusal, from 0 */
    uint64_t count;      /* COUNT; END: lost */
    uint64_t unreadable; /* END */
    int32_t pid;
    uint32_t surface, operation, rule, noise;
    uint32_t rule_index;
    uint32_t by_mode, is_address;
    uint64_t held;                  /* ASK: the number of the notification, below: what it is */
    uint32_t held_kind;             /* enum observe_held */
    uint32_t held_flags, held_mode; /* as the call has them */
    uint32_t call;         /* CALL: its number; `pid` is the process, not the thread; END: calls not told */
    uint64_t arguments[4]; /* CALL */
    char executable[OBSERVE_PROGRAM];
    char name[OBSERVE_PATH]; /* path or address; only as much is sent as there is */
};

struct observe_setup {
    int wire;   /* a SOCK_SEQPACKET: messages out; in comes where calls are announced, as a descriptor with a
                   byte, then a byte when the command starts; its end: all is over */
    int reader; /* where it asks for memory that it may not read, see memory.h; -1: nowhere */
    const struct resolved *resolved;
    const struct plan *plan;
    const char *command; /* the word by which it is found; NULL: there is none */
    pid_t supervisor;
    bool asks_connects; /* and connecting to what no rule allows */
    bool tells_calls;   /* which call each refusal was, for whoever has them from the kernel as well */
    bool asks;          /* what may be asked of is held, and handed to the supervisor */
    bool outlives;      /* whoever lives on behind the command is answered until the last of them has gone */
    const char *tmp;    /* the private temp directory on disk; NULL: none */
};

/*
 * observe_serve() - be the observer, in a process of its own.
 *
 * Gives up whatever it does not need, first of all, and waits for where it is to look. Ends when the wire
 * does.
 */
_Noreturn void observe_serve(const struct observe_setup *setup);

#endif
