/*
 * world.h - one confinement per process: the policy, the plan as data that may be changed, the run, what was
 * seen.
 *
 * A run takes over its process, so each is a forked child that makes everything
 * anew: caller, directories, policy, plan. What it saw is left in a mapping.
 *
 * Should:  give every check a control: a tree that the command's user owns, a
 *          hidden file that the caller can read, a secret, a limit.
 * Mustn't: believe a report: whether the command ran is seen by the files that
 *          it makes, one inside and one outside of its workspace.
 */
#ifndef CONFINE_TESTS_ATTEST_WORLD_H
#define CONFINE_TESTS_ATTEST_WORLD_H

#include "harness.h"

#include "links/chain.h"
#include "links/channel.h"
#include "links/kernel_abi.h"
#include "run/run.h"

#define NOBODY     65534
#define CONFINED   42 /* the command's status when it could write inside and not outside */
#define FILE_LIMIT "1G"

enum caller { CALLER_SWITCHED = 0, CALLER_ROOT, CALLER_USER, CALLERS };

/* What else is asked, so that every kind of check stands in some plan. */
enum variant {
    VARIANT_PLAIN = 0,
    VARIANT_LISTED,
    VARIANT_OLD_KERNEL,
    VARIANT_NAMESPACE,
    VARIANT_BUBBLEWRAP,
    VARIANT_NETWORK,
    VARIANT_TERMINAL, /* from here on with a terminal of its own */
    VARIANT_TERMINAL_NAMESPACE,
    VARIANT_TERMINAL_BUBBLEWRAP,
    VARIANTS
};

/* Shared with the child that runs. */
struct seen {
    struct check checks[CHANNEL_CHECKS_MAX];
    size_t check_count;
    int status;
    struct error error;
    struct claim claim; /* of the surface under test, after the run */
    bool inside, outside;
    bool go; /* death.c: the word was about to be said */
    bool done;
};

struct world {
    enum caller caller;
    enum variant variant;
    const struct check *only; /* the plan keeps this check alone; NULL: all */
    unsigned missing;         /* canaries left out */
    bool require;             /* the surface of `only` is required */
    bool terminal;            /* the run has a controlling terminal */
    bool exec;                /* planned without a supervisor */
    bool inheritable; /* the caller has an inheritable capability, as some container engines leave one */
    void (*change)(struct world *world, const char *argument);
    const char *argument;
    /* Instead of the real supervisor. Return: the status of the command, or 125. */
    int (*supervise)(struct world *world, char *const *command, struct report *report);
    int at; /* death.c: where this supervisor dies, or misbehaves */
    const char *script;

    char base[2 * PATH_MAX]; /* the command's user owns it; holds ws, secret, neighbour */
    struct policy policy;
    struct resolved resolved;
    struct host host;
    struct plan plan;
    struct strings env;
};

extern struct seen *seen; /* by the last run of this process */
extern const char *const caller_names[CALLERS], *const variant_names[VARIANTS];

#define must(EXPRESSION)                                                                                     \
    do {                                                                                                     \
        if (!(EXPRESSION)) {                                                                                 \
            test_note("%s:%d: %s: %s", __FILE__, __LINE__, #EXPRESSION, strerror(errno));                    \
            _exit(EXIT_FAILURE);                                                                             \
        }                                                                                                    \
    } while (0)

/* caller_possible() - root can be each of them, anybody else himself. */
bool caller_possible(enum caller caller);

/* world_name() - choose world->base: for who has to look at the tree after the run has died. */
void world_name(struct world *world);

/* world_make_file() - NAME in DIRECTORY, new, with its name in it. */
void world_make_file(const char *directory, const char *name);

/* world_start() - run it in a process of its own; without a command only the plan is made. Return: its pid.
 */
pid_t world_start(const struct world *model, bool command);

/* world_run() - the same, to its end. What was seen stands in `seen`. Return: whether it came to its end. */
bool world_run(const struct world *model, bool command);

#endif
