/*
 * forerunner.h - a process that makes namespaces for a chain while what the chain needs is still being found.
 */
#ifndef CONFINE_RUN_FORERUNNER_H
#define CONFINE_RUN_FORERUNNER_H

#include "plan/plan.h"

/*
 * forerunner_start() - let a child of this process make the namespaces of its user; one for this process.
 * @net: the network's as well
 *
 * Where there can be no such child there is none, and namespace-run makes its namespaces itself.
 */
void forerunner_start(bool net);

/*
 * forerunner_for() - what a plan's chain takes of it.
 * @ret_process, @ret_ready: for `namespace-run --ahead --ahead-ready`, close-on-exec and not the caller's;
 * -1: there are none, or no longer, because this chain has no use for them
 */
void forerunner_for(const struct plan *plan, int *ret_process, int *ret_ready);

/* forerunner_handed_over() - a chain has the descriptors now; this process lets go of them. */
void forerunner_handed_over(void);

/*
 * forerunner_end() - the namespaces are not wanted, or no longer: nothing of them stays, and the child is
 * gone and reaped. Nothing happens without one.
 */
void forerunner_end(void);

#endif
