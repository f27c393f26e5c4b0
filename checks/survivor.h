/*
 * survivor.h - a process that wants to stay when its run has ended.
 */
#ifndef CONFINE_CHECKS_SURVIVOR_H
#define CONFINE_CHECKS_SURVIVOR_H

#include "attempt.h"

/* survivor_act() - leave one behind, in a session of its own, that holds a lock on a file of the workspace.
 */
int survivor_act(const struct order *order, struct answer *answer);

/* survivor_look() - it is still there; it is ended where its number is known. */
int survivor_look(struct trial *trial);

#endif
