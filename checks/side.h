/*
 * side.h - one of the two sides: a process that acts, started inside the confinement or, as the control, not.
 */
#ifndef CONFINE_CHECKS_SIDE_H
#define CONFINE_CHECKS_SIDE_H

#include "battery.h"

struct side {
    pid_t pid;           /* 0: it has been waited for */
    int orders, answers; /* our ends; -1: it does not run */
    int report;          /* where the confinement reports; -1: it does not */
    bool lost;           /* it says nothing any more */
    bool hung;           /* it did not end by itself */
    int status;          /* once it has been waited for: its exit status, 128 + N for a signal */
};

#define SIDE_NONE                                                                                            \
    (struct side)                                                                                            \
    {                                                                                                        \
        .orders = -1, .answers = -1, .report = -1                                                            \
    }

/*
 * side_start() - start one side and wait until it says that it is there.
 * @trial: whose own run it is; NULL: everybody's
 *
 * Return: 0; -ECHILD: it has ended, or was ended, without a word (`status`, `hung`); -errno.
 */
int side_start(struct side *side, const struct battery *battery, const struct trial *trial, bool control);

/* side_order() - have one act done; the answer is in @trial. A side that is lost answers ECHILD. */
void side_order(struct side *side, struct trial *trial);
/* side_release() - it has been looked at: the act may end. */
void side_release(struct side *side);
/* side_kill() - kill whoever supervises it, as who started it. */
void side_kill(const struct battery *battery, struct side *side);
/* side_end() - no more orders: wait for its end, or end it (`hung`). Return: its exit status. */
int side_end(struct side *side, const struct battery *battery);

/*
 * battery_exec() - in a child: become the confinement, or for a control the command's user, and run this
 * program with @words.
 * @trial:  whose own run it is; NULL: everybody's
 * @report: where the confinement is to report; of no use to a control
 *
 * Does not return.
 */
_Noreturn void battery_exec(const struct battery *battery, const struct trial *trial, bool control,
                            int report, char *const *words);

#endif
