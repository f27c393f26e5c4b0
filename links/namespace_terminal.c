/*
 * namespace_terminal.c - a command on the caller's own terminal: a job, as a shell makes them.
 *
 * The command gets a process group, so that what it sends to its group stays
 * inside, and the terminal with it; the process outside plays the shell's part
 * towards the command, and a job's towards the shell.
 *
 * Should:  hand the terminal over only while the caller's group has it, or the
 *          shell that has it would lose it; give it back at a stop and at the end.
 * Mustn't: be stopped by the terminal itself for handing it over (SIGTTOU is
 *          blocked here, as every signal).
 */
#include "namespace.h"

#include <signal.h>

/* Does the group of this process have the terminal? */
static bool is_foreground(const struct namespace *ns)
{
    return ns->tty >= 0 && tcgetpgrp(ns->tty) == getpgrp();
}

/* namespace_take_terminal() - remember the terminal, and whether it is ours to hand over. */
void namespace_take_terminal(struct namespace *ns)
{
    if (!ns->terminal)
        return;
    ns->tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    ns->foreground = is_foreground(ns); /* without a controlling terminal there is nothing to hand over */
}

/* namespace_enter_group() - pid 2's part: a process group, with the terminal if the caller's had it. */
void namespace_enter_group(const struct namespace *ns)
{
    if (!ns->terminal)
        return;
    if (setpgid(0, 0) != 0)
        chain_fatal_errno(ns->chain, "setpgid", errno);
    if (getpgrp() != getpid())
        chain_fatal(ns->chain, "setpgid", "the kernel reported success but the group is another");
    if (ns->foreground && tcsetpgrp(ns->tty, getpgrp()) != 0)
        chain_fatal_errno(ns->chain, "foreground of the terminal", errno);
    if (ns->tty >= 0)
        close(ns->tty); /* the process outside has its own */
}

/* namespace_return_terminal() - the caller's group gets back what was handed over, whichever group of the
 * command's has it now. Nobody else has taken it: a shell waits until it sees this process stop or end. */
void namespace_return_terminal(struct namespace *ns)
{
    if (ns->foreground && tcgetpgrp(ns->tty) != getpgrp())
        tcsetpgrp(ns->tty, getpgrp());
    ns->foreground = false;
}

/* namespace_stop_group() - the command was stopped: so are we, and what else the shell started as this job.
 */
void namespace_stop_group(struct namespace *ns)
{
    namespace_return_terminal(ns);
    if (ns->tty >= 0)
        kill(0, SIGTSTP);
    raise(SIGSTOP);
}

/* namespace_continue_group() - we were continued: so is the command, in the foreground if we are. */
void namespace_continue_group(struct namespace *ns, pid_t command)
{
    if (is_foreground(ns))
        ns->foreground = tcsetpgrp(ns->tty, command) == 0;
    kill(-command, SIGCONT);
}
