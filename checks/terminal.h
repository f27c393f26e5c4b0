/*
 * terminal.h - a run of its own on a terminal that we made.
 */
#ifndef CONFINE_CHECKS_TERMINAL_H
#define CONFINE_CHECKS_TERMINAL_H

#include "battery.h"

/* terminal_run() - one attempt on a new terminal, confined or, for a control, not. The trial's fd[0] is the
 * terminal, fd[1] its other side. Return: 0, or -errno when it could not be run. */
int terminal_run(const struct battery *battery, struct trial *trial);

#endif
