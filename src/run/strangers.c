/*
 * strangers.c - children that were here before us: they are neither killed nor waited for.
 */
#include "run/strangers.h"

#include "links/chain.h"
#include "util/util.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t inner; /* pid of the process that does our work */
static pid_t front;                 /* in that one: the process in front of it, else 0 */

static void pass_on(int signum)
{
    if (inner > 0)
        kill((pid_t)inner, signum);
}

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

int strangers_leave(void)
{
    pid_t self = getpid();
    int status;

    if (waitpid(-1, &status, WNOHANG) < 0 && errno == ECHILD)
        return 0;
    inner = fork();
    if (inner < 0)
        return -errno;
    if (inner == 0) {
        front = self;
        return strangers_watch_front();
    }
    static const int passed[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT};
    sigset_t none;

    for (size_t i = 0; i < ARRAY_SIZE(passed); i++)
        signal(passed[i], pass_on);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    while (waitpid((pid_t)inner, &status, 0) < 0 && errno == EINTR)
        ;
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}
