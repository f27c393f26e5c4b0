/*
 * session.h - a session, or a process group, of one's own.
 *
 * Should:  leave the caller's session where that is asked, even as the leader
 *          of a process group; end as the child ends where a process must stay
 *          in front, and pass on what it is told meanwhile.
 * Mustn't: keep a descriptor in the process in front: whoever reads from the
 *          other end would wait for it.
 */
#ifndef CONFINE_LINKS_SESSION_H
#define CONFINE_LINKS_SESSION_H

#include "chain.h"
#include "kernel_abi.h"

#include <signal.h>
#include <sys/wait.h>

static volatile sig_atomic_t session_child;

static inline void forward_signal(int signal)
{
    kill(session_child, signal);
}

/* The process that stays in front when a session needed a fork: holds no descriptor, passes signals on, and
 * ends as the child ends. */
_Noreturn static inline void wait_in_front(pid_t child, const sigset_t *forwarded)
{
    int status = 0;

    kernel_call(SYS_close_range, 0, ~0U, 0, 0, 0, 0); /* at worst an end of file comes late */
    sigprocmask(SIG_UNBLOCK, forwarded, NULL);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            _exit(LINK_FAILED);
    if (!WIFSIGNALED(status))
        _exit(WEXITSTATUS(status));
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status)); /* not kill(getpid()): where that is refused, -1 would be everybody */
    _exit(128 + WTERMSIG(status));
}

/*
 * session_enter() - become the leader of a new session.
 *
 * The leader of a process group cannot (EPERM), and from an interactive shell
 * we are one: then a child goes on, and this process waits in front of it.
 */
static inline void session_enter(const struct chain *chain)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    struct sigaction action = {.sa_handler = forward_signal, .sa_flags = SA_RESTART};
    sigset_t forwarded, before;
    pid_t self = getpid(), child;

    if (setsid() < 0) {
        if (errno != EPERM)
            chain_fatal_errno(chain, "setsid", errno);
        sigemptyset(&forwarded);
        for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
            sigaddset(&forwarded, signals[i]);
        sigprocmask(SIG_BLOCK, &forwarded, &before);
        child = fork();
        if (child < 0)
            chain_fatal_errno(chain, "fork", errno);
        if (child > 0) {
            session_child = child;
            for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
                sigaction(signals[i], &action, NULL);
            wait_in_front(child, &forwarded);
        }
        if (getpid() == self)
            chain_fatal(chain, "fork", "the kernel reported success but made no child");
        sigprocmask(SIG_SETMASK, &before, NULL);
        if (setsid() < 0)
            chain_fatal_errno(chain, "setsid", errno);
    }
    if (getsid(0) != getpid())
        chain_fatal(chain, "setsid", "the kernel reported success but the session is another");
}

/* session_enter_group() - lead a process group in the caller's session. The foreground of the terminal
 * follows only if the old group had it. */
static inline void session_enter_group(const struct chain *chain)
{
    pid_t old = getpgrp(), self = getpid();
    int terminal;
    sigset_t output;

    if (old == self)
        return;
    if (setpgid(0, 0) != 0)
        chain_fatal_errno(chain, "setpgid", errno);
    if (getpgrp() != self)
        chain_fatal(chain, "setpgid", "the kernel reported success but the group is another");
    terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0)
        return; /* no controlling terminal, or none that we may open: nothing to hand over */
    if (tcgetpgrp(terminal) == old) {
        sigemptyset(&output);
        sigaddset(&output, SIGTTOU); /* a background group's tcsetpgrp would stop us */
        sigprocmask(SIG_BLOCK, &output, NULL);
        if (tcsetpgrp(terminal, self) != 0)
            chain_fatal_errno(chain, "foreground of the terminal", errno);
        sigprocmask(SIG_UNBLOCK, &output, NULL);
    }
    close(terminal);
}

#endif
