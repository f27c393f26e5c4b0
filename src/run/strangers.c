/*
 * strangers.c - children that were here before us: they are neither killed nor waited for.
 */
#include "run/strangers.h"

#include "links/chain.h"
#include "links/kernel_abi.h"
#include "run/supervise.h"
#include "util/util.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t front; /* in the process that does our work: the one in front of it, else 0 */

int strangers_watch_front(void)
{
    if (front == 0)
        return 0;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
        return -errno;
    if (getppid() != front)
        _exit(LINK_FAILED);
    return 0;
}

/* Passes on what comes, stops as the other one does, and ends as it ends. */
_Noreturn static void wait_in_front(pid_t inner)
{
    uint64_t taken = supervise_signals();
    int status;

    for (;;) {
        long signum = kernel_call(SYS_rt_sigtimedwait, KERNEL_PTR(&taken), 0, 0, sizeof(taken), 0, 0);

        if (waitpid(inner, &status, WNOHANG) == inner)
            _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
        if (signum > 0 && signum != SIGCHLD)
            kill(inner, (int)signum);
        if (signum == SIGTSTP)
            supervise_stop_self();
    }
}

int strangers_refuse(struct error *error)
{
    struct stat ours, theirs;
    int status;

    /* Nobody is a child of its own. */
    if (waitpid(getpid(), &status, WNOHANG) >= 0) {
        error_set(
            error, ERROR_SANDBOX_UNAVAILABLE, EPROTO, "calls-answered",
            "the kernel does not say when a process has ended: a filter of the caller's answers for it");
        return error_hint(error, "start confine without that filter");
    }
    if (stat("/proc/self/ns/pid", &ours) != 0)
        return 0; /* where it cannot be looked at, the start says what else is missing */
    /* A namespace that nobody is in yet has no name. */
    if (stat("/proc/self/ns/pid_for_children", &theirs) == 0 ? ours.st_ino == theirs.st_ino : errno != ENOENT)
        return 0;
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, EXDEV, "children-elsewhere",
              "whatever this process starts would be in another process namespace than itself");
    return error_hint(error, "start confine in that namespace: unshare --pid --fork");
}

int strangers_leave(void)
{
    pid_t self = getpid(), inner;
    int status;

    if (waitpid(-1, &status, WNOHANG) < 0 && errno == ECHILD)
        return 0;
    inner = fork();
    if (inner < 0)
        return -errno;
    if (inner > 0)
        wait_in_front(inner);
    front = self;
    return strangers_watch_front();
}
