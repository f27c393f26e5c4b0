/*
 * forerunner.c - a process that makes namespaces for a chain while what the chain needs is still being found.
 *
 * Theory of operation. On two processors the network namespace, which takes a fifth of a start, costs no time
 * then. The child (links/namespace_ahead.c) has our memory and lives until the chain has entered what it
 * made, or has no use for it; by the kernel it ends with us.
 *
 * Should:  start before everything that takes time.
 * Mustn't: send a SIGCHLD (its exit signal is 0): no list of children that is waited for has it; be there
 * when a command starts that is this very process, whose child it would be.
 */
#include "run/forerunner.h"

#include "links/chain.h"
#include "links/processor.h"
#include "util/util.h"

#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

static pid_t child;                  /* 0: none */
static int process = -1, ready = -1; /* its pidfd, and the event on which it says how it went */

/* With one processor there is nothing to gain. /proc/self of a process that cannot be dumped is root's, and
 * no map could be written. */
static bool is_of_use(void)
{
    cpu_set_t processors;

    return sched_getaffinity(0, sizeof(processors), &processors) == 0 && CPU_COUNT(&processors) > 1 &&
           prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1;
}

void forerunner_start(bool net)
{
    sigset_t all, before;

    if (child > 0 || !is_of_use())
        return;
    ready = eventfd(0, EFD_CLOEXEC);
    if (ready < 0)
        return;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before); /* what ends us, or waits for the command, must not end it */
    child = namespace_start_ahead(ready, net, &process);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (child > 0) {
        processor_move_away(child);
        return;
    }
    child = 0;
    forerunner_handed_over();
}

void forerunner_for(const struct plan *plan, int *ret_process, int *ret_ready)
{
    if (!plan->pid_namespace || plan->foreign || plan->joined)
        forerunner_end();
    *ret_process = process;
    *ret_ready = ready;
}

void forerunner_handed_over(void)
{
    process = fd_close(process);
    ready = fd_close(ready);
}

void forerunner_end(void)
{
    forerunner_handed_over();
    if (child > 0)
        kill(child, SIGKILL); /* ours until it is reaped */
    while (child > 0 && waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
        ;
    child = 0;
}
