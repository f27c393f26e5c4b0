/*
 * foreign.h - a program in the chain that is not ours, and stands in front of the command as long as it runs.
 */
#ifndef CONFINE_RUN_FOREIGN_H
#define CONFINE_RUN_FOREIGN_H

#include "plan/plan.h"

#include <sys/types.h>

/*
 * foreign_mask() - where the mask of @word, a WORD_MASK or WORD_MASK_IF_THERE, is to be laid.
 *
 * bubblewrap fails on a name that has gone meanwhile, as a socket may, or that the command's user cannot
 * reach anyhow. What is hidden must not have gone: it may be back a moment later. Return: its name, or one in
 * the private /run that nobody asks for.
 */
const char *foreign_mask(const struct word *word, const struct resolved *resolved);

/*
 * foreign_hold() - stop the process in front, once it does nothing but wait for the command.
 * @command: who becomes it; what a runner has put between the two is stopped as well
 *
 * By then it has asked the kernel to be ended with us, which nobody else can see. Held, it cannot end before
 * what is left behind the command has been counted. Return: 0 or -errno; -ETIMEDOUT.
 */
int foreign_hold(pid_t front, pid_t command);

/* foreign_release() - let it go on, and what stands between. */
void foreign_release(pid_t front);

/* foreign_signal_group() - signal the process group that @command stands in, if it is none of ours. */
void foreign_signal_group(pid_t command, int signum);

/* foreign_left() - how many processes live in the pid namespace behind @front, but for its first and
 * @command.
 */
unsigned foreign_left(pid_t front, pid_t command);

/*
 * foreign_status() - the command's own wait status.
 * @command_fd: its pidfd; it has been reaped
 * @status:     of the process in front, which says 128 + N for a signal
 *
 * Return: what the kernel kept with the pidfd; @status where it keeps nothing (before Linux 6.15).
 */
int foreign_status(int command_fd, int status);

/* foreign_failed() - did the process in front end by a failure of its own, and not by one of our links behind
 * it? It stays unreaped. */
bool foreign_failed(pid_t front);

/*
 * foreign_error() - why it failed: whether this machine refuses the namespaces is found out by making them.
 * @runner: the operator's, which is asked for no reasons; NULL: bubblewrap
 * @words: what it said, for people; nothing is judged by it
 *
 * Return: as error_set().
 */
int foreign_error(struct error *error, const struct resolved *resolved, const char *runner,
                  const char *words);

#endif
