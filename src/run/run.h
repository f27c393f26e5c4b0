/*
 * run.h - plan -> process -> outcome. The only place that forks.
 */
#ifndef CONFINE_RUN_RUN_H
#define CONFINE_RUN_RUN_H

#include "report/report.h"

struct control;

/*
 * run_supervised() - `confine run`: launch, attest, supervise.
 * @plan:    made with supervised = true; its claims are raised and lowered to what this run showed
 * @command: argv of the command
 * @control: the control channel, whose last line is the caller's to say; NULL: none
 * @report:  outcome and error are filled
 *
 * Return: the exit status of `confine run` (contract §3).
 */
int run_supervised(struct plan *plan, const struct resolved *resolved, const struct host *host,
                   char *const *command, struct control *control, struct report *report);

/*
 * run_supervised_without() - the same with canaries left out: what a test sees when a check has no control.
 * @missing: a bit per enum canary
 */
int run_supervised_without(struct plan *plan, const struct resolved *resolved, char *const *command,
                           unsigned missing, struct report *report);

/*
 * run_exec() - `confine exec`: become the chain. Does not return on success.
 *
 * Return: the exit status, with @error set.
 */
int run_exec(struct plan *plan, const struct resolved *resolved, const struct host *host,
             char *const *command, struct error *error);

#endif
