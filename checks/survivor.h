/*
 * survivor.h - a process that wants to stay when its run has ended.
 */
#ifndef CONFINE_CHECKS_SURVIVOR_H
#define CONFINE_CHECKS_SURVIVOR_H

#include "attempt.h"

/* survivor_act() - leave one behind, in a session of its own, that holds a lock on a file of the workspace.
 */
int survivor_act(const struct order *order, struct answer *answer);

/* survivor_look() - it is still there. More than one look may be taken, so it is left alone. */
int survivor_look(struct trial *trial);

/* survivor_finish() - it is ended where its number is known. */
void survivor_finish(struct trial *trial);

#endif
