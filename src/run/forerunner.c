/*
 * forerunner.c - a process that makes namespaces for a chain while what the chain needs is still being found.
 *
 * Theory of operation. On two processors the network namespace, which takes a fifth of a start, costs no time
 * then. The child (links/namespace_ahead.c) ends by itself as soon as it has sent the namespaces, and they
 * live on as descriptors in a packet: so nothing has to be kept alive, and when the last end of the socket is
 * closed, ours or the chain's or both by our death, nothing is left.
 *
 * Should:  start before everything that takes time, with few pages to copy.
 * Mustn't: send a SIGCHLD (its exit signal is 0): no list of children that is waited for has it; be there
 * when a command starts that is this very process, whose child it would be.
 */
#include "run/forerunner.h"

#include "links/chain.h"
#include "util/util.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>

static pid_t child; /* 0: none */
static int ours = -1;

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
    int ends[2];

    if (ours >= 0 || !is_of_use() || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before); /* what ends us, or waits for the command, must not end it */
    child = namespace_start_ahead(ends[1], net);
    sigprocmask(SIG_SETMASK, &before, NULL);
    fd_close(ends[1]);
    if (child > 0)
        ours = ends[0];
    else
        fd_close(ends[0]);
}

int forerunner_for(const struct plan *plan)
{
    if (!plan->pid_namespace || plan->foreign || plan->joined)
        forerunner_end();
    return ours;
}

void forerunner_handed_over(void)
{
    ours = fd_close(ours);
}

void forerunner_end(void)
{
    ours = fd_close(ours);
    while (child > 0 && waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
        ;
    child = 0;
}
