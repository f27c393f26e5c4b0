/*
 * attempt.h - what one attempt to cross a boundary is, and the three things that it does.
 *
 * An attempt is prepared outside, acted inside and looked at outside again. It runs twice, each time with an
 * object of its own: unconfined first, as the control, then inside. Nothing here is shared with attest-run,
 * so that one mistake cannot blind both.
 *
 * Should:  decide by the effect, seen from outside, wherever there is one; leave nothing behind.
 * Mustn't: touch an object that it did not make; tell the inside what it is to find out (a `secret`).
 */
#ifndef CONFINE_CHECKS_ATTEMPT_H
#define CONFINE_CHECKS_ATTEMPT_H

#include "surface/surface.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MARK_SIZE    33
#define PLACE_SIZE   512
#define DATA_SIZE    64
#define ORDER_PATHS  3
#define OPTIONS      3
#define ITEMS(array) (sizeof(array) / sizeof((array)[0]))

/* What an act inside is told. It crosses a pipe in one piece. */
struct order {
    char id[16];
    char path[ORDER_PATHS][PLACE_SIZE]; /* names outside */
    char inner[PLACE_SIZE]; /* a directory of the attempt's in the workspace; empty: there is none */
    long number[4];
    char mark[MARK_SIZE]; /* what it leaves behind, so that the look finds it */
};

/* What it says. */
struct answer {
    int errnum; /* 0: the act went through */
    int signal; /* it was ended by this signal; 0: it was not */
    long number;
    char data[DATA_SIZE]; /* what it read */
};

/* One half of an attempt: the control, or what happens inside. */
struct trial {
    struct order order;
    struct answer answer;
    const struct battery *battery;
    bool control;
    char secret[MARK_SIZE]; /* what only the outside knows */
    char dir[PLACE_SIZE];   /* a private directory outside, named in path[1] */
    int fd[4];              /* -1: none; closed when the trial ends */
    pid_t helper[2];        /* 0: none; ended when the trial ends */
    pid_t group;            /* process group of what acts; known after the start */
    long id;                /* of a System V object, a key and so on */
    unsigned char *memory;  /* shared with a victim; NULL: none */
    const char *skip;       /* why prepare answered SKIP */
    /* Set by prepare: called in the process that becomes the confinement, or the control, just before. */
    void (*enter)(const struct trial *trial);
    char program[PLACE_SIZE]; /* the same: started in place of the confinement's own; empty: that one */
    char option[OPTIONS][64]; /* the same: more of the confinement's, by place_option(); empty: none */
    pid_t world;              /* the same: its run is started in the namespaces of this process; 0: in ours */
    bool no_witness;          /* of its world */
    int status;               /* with OWN_RUN and AFTER_END: how its run ended */
    const char *report;       /* the same: the report of its run; empty: there is none */
};

enum { CANNOT_ENTER = 124 }; /* an enter that this machine does not allow ends its process with it */
enum { SKIP = 1 };           /* of a prepare: it cannot be tried here, for the reason in `skip` */

/* How an attempt runs. */
enum {
    IN_WORKSPACE = 1 << 0,  /* needs a directory in a writable workspace */
    OWN_WORKSPACE = 1 << 1, /* needs the workspace that the battery made: it changes names at its root */
    BEFORE_START = 1 << 2,  /* its objects must be there when the confinement starts */
    AFTER_END = 1 << 3,     /* looked at when the run has ended */
    ON_TERMINAL = 1 << 4,   /* a run of its own, on a terminal */
    SEEN_INSIDE = 1 << 5,   /* it has no effect outside: the act's answer decides */
    OWN_RUN = 1 << 7,       /* a run of its own: it may end it */
    KILLED = 1 << 8,        /* with OWN_RUN: whoever supervises is killed before the look */
    NEEDS_ROOT = 1 << 6,    /* its object can only be made by root */
    MAY_REFUSE = 1 << 9,    /* with OWN_RUN: a confinement that does not start is an answer */
    OF_LIST = 1 << 10,      /* with OWN_RUN: it has a list of hosts, and is held against its own report */
};

struct attempt {
    const char *id;
    enum surface surface;
    unsigned flags;
    const char *call; /* the act, as one would write it */
    const char *what; /* one sentence without a full stop: what it tries */
    const char *why;  /* one sentence: why it matters */
    /* Outside. Return: 0, SKIP, or -errno. NULL: nothing is needed. */
    int (*prepare)(struct trial *trial);
    /* Inside. Return: 0 when it went through, else an errno. */
    int (*act)(const struct order *order, struct answer *answer);
    /* Outside. Return: 1 when it crossed, 0 when not, or -errno. NULL: the act's answer decides. */
    int (*look)(struct trial *trial);
    void (*finish)(
        struct trial *trial); /* outside: remove what is in no directory of the trial. NULL: nothing */
};

/* The groups; each ends with a NULL id. */
extern const struct attempt files_attempts[], view_attempts[], metadata_attempts[], network_attempts[],
    local_attempts[], protected_attempts[], ipc_attempts[], process_attempts[], signal_attempts[],
    environment_attempts[], planted_attempts[], parents_attempts[], starts_attempts[], privilege_attempts[],
    terminal_attempts[], inherited_attempts[], limit_attempts[], later_attempts[], listed_attempts[];

struct attempt_group {
    const char *name;
    const struct attempt *attempts;
};
extern const struct attempt_group attempt_groups[]; /* ends with a NULL name */

/* attempt_by_id() - Return: the attempt, NULL when there is none. */
const struct attempt *attempt_by_id(const char *id);

#endif
