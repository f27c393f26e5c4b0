/*
 * terminal.h - a run of its own on a terminal that we made.
 */
#ifndef CONFINE_CHECKS_TERMINAL_H
#define CONFINE_CHECKS_TERMINAL_H

#include "battery.h"

/* terminal_run() - one attempt on a new terminal, confined or, for a control, not. The trial's fd[0] is the
 * terminal, fd[1] its other side. Return: 0, or -errno when it could not be run. */
int terminal_run(const struct battery *battery, struct trial *trial);

/* battery_exec() - in a child: become the confinement, or for a control the command's user, and run this
 * program with @words. Does not return. */
void battery_exec(const struct battery *battery, bool control, int report, char *const *words);

#endif
