/*
 * strangers.h - children that were here before us: they are neither killed nor waited for.
 *
 * A shell that started us by `exec` leaves us its children. The supervisor takes every child for one of the
 * run's, so then the work is done in a fresh process.
 */
#ifndef CONFINE_RUN_STRANGERS_H
#define CONFINE_RUN_STRANGERS_H

#include "util/error.h"

/*
 * strangers_refuse() - refuse to start where our children would be in another process namespace than we are,
 * or where a filter of the caller's answers when we wait for them.
 *
 * The first child in a new namespace would be its process 1, whose end waits for all others, which are ours
 * to wait for.
 *
 * Return: 0, or a negative errno with @error.
 */
int strangers_refuse(struct error *error);

/*
 * strangers_leave() - go on without children: in this process, or else in a fresh one, while this one passes
 * signals on and repeats its status.
 *
 * Return: 0 or -errno; in a process that stays in front it does not return.
 */
int strangers_leave(void);

/*
 * strangers_watch_front() - end with the process in front, if there is one.
 *
 * Whoever ends that, by SIGKILL as well, means the run: the guard then ends the rest. To be said again after
 * every change of user, which makes the kernel forget it.
 *
 * Return: 0 or -errno.
 */
int strangers_watch_front(void);

#endif
