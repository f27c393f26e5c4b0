/*
 * limits.h - what a group of processes holds during a run: memory, processes, processor time, and that
 * nobody is left.
 */
#ifndef CONFINE_RUN_LIMITS_H
#define CONFINE_RUN_LIMITS_H

#include "kernel/cgroup.h"
#include "plan/plan.h"
#include "report/report.h"
#include "run/part.h"

struct limits {
    const struct resolved *resolved;
    struct plan *plan;
    struct supervision *supervision; /* from the start of the loop */
    struct cgroups groups;           /* none where the plan needs none */
    uint64_t most;                   /* processes, with those of the chain that stay beside the command */
    uint64_t refused;                /* new processes, until the command's start */
    bool armed;
    uv_timer_t look;
    uv_poll_t told; /* by the kernel, that the memory is used up */
    int event;      /* what tells it; 0: nothing does */
    bool alarmed;   /* it has told: from now on it is looked for at short intervals */
};

/* Looks now and then what has been used, and at once where the kernel tells of it, and ends the run. Nothing
 * without groups. */
extern const struct part_calls limits_part;

/*
 * limits_make() - the groups that the plan's claims need, with the limit of memory.
 * @plan:  claims by MECHANISM_CGROUP say what is needed; kept, as @resolved is
 * @chain: do links come first? Without one the limit of processes is set at once
 *
 * Return: 0 or a negative errno with @error. limits_remove() is due in any case.
 */
int limits_make(struct limits *limits, const struct resolved *resolved, struct plan *plan, bool chain,
                struct error *error);

/* limits_join() - in the vfork child: become a member. Without groups it is one. Return: false: do not go on;
 * limits_joined() says why. */
bool limits_join(struct limits *limits);

/* limits_joined() - after the start: has the child joined? Return: 0 or a negative errno with @error. */
int limits_joined(const struct limits *limits, struct error *error);

/*
 * limits_arm() - just before `go`: is the command a member? Then how many processes there may be.
 * @command: who becomes the command; 0: it runs already, and may have ended
 *
 * Raises the claims to attested: membership and values have been read back. Return: 0 or a negative errno
 * with @error.
 */
int limits_arm(struct limits *limits, pid_t command, struct error *error);

/* limits_explain() - a chain that ended before its time: was it the limit of memory? Then @error says so.
 * @started: its first program was executed */
void limits_explain(const struct limits *limits, bool started, struct error *error);

/*
 * limits_own_files() - what the command writes to a file of the caller's is written by us: its limit on the
 * size of files must hold there as well. Soft only, so that the report can be written afterwards.
 * @on: while the command runs, or again as before
 */
void limits_own_files(const struct policy *policy, bool on);

/* limits_tell() - what a person should know of after the run, into @warnings. Return: 0 or -ENOMEM. */
int limits_tell(const struct limits *limits, const struct outcome *outcome, struct strings *warnings);

/* limits_remove() - remove the groups. Return: 0, or a negative errno with @error: something is left. */
int limits_remove(struct limits *limits, struct error *error);

#endif
