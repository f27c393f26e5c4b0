/*
 * strangers.h - children that were here before us: they are neither killed nor waited for.
 *
 * A shell that started us by `exec` leaves us its children. The supervisor takes every child for one of the
 * run's, so then the work is done in a fresh process.
 */
#ifndef CONFINE_RUN_STRANGERS_H
#define CONFINE_RUN_STRANGERS_H

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
