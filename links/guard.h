/*
 * guard.h - the process that ends a run: inside its domain, out of its reach.
 *
 * A pid namespace kills whole trees; without one, daemons escape every process
 * group. The guard stands in the signal-scoped domain, where kill(-1) reaches
 * every process of the domain and none outside. It is cloned with
 * CLONE_PARENT, so that it is the supervisor's child, and waits for the end of
 * a pipe whose other end only the supervisor has: it cannot outlive that.
 *
 * After it was cloned, scope-run enters one more layer with the signal scope
 * alone. So the command stands in a domain below the guard's: the guard
 * reaches the command, and the command can neither kill, stop nor trace it.
 *
 * Should:  be undumpable, without capability, descriptor, directory, argument
 *          or environment of interest; have a filter of a few calls.
 * Mustn't: kill anything unless a signal to its parent is refused (EPERM): in
 *          an unscoped process kill(-1) would end the user's session.
 *          A refusal because of another uid says nothing; that the scope is
 *          real has been shown on a child with our own uid before.
 */
#ifndef CONFINE_LINKS_GUARD_H
#define CONFINE_LINKS_GUARD_H

#include "chain.h"
#include "channel.h"
#include "kernel_abi.h"
#include "processor.h"
#include "small.h"

#include <sched.h>
#include <signal.h>
#include <sys/socket.h>

static inline int load_guard_filter(void)
{
    struct sock_filter code[] = {
        FEW_CALLS_BEGIN,
        FEW_CALLS_ALLOW(SYS_read),
        FEW_CALLS_ALLOW(SYS_kill),
        FEW_CALLS_ALLOW(SYS_rt_sigreturn),
        FEW_CALLS_ALLOW(SYS_exit),
        FEW_CALLS_ALLOW(SYS_exit_group),
        FEW_CALLS_END,
    };

    return few_calls_load(code, sizeof(code) / sizeof(code[0]));
}

/* Keeps only the liveness pipe, as descriptor 0. Return: whether that is so. */
static inline bool keep_liveness(int liveness)
{
    if (liveness != 0 && kernel_call(SYS_dup3, liveness, 0, 0, 0, 0, 0) != 0)
        return false;
    return kernel_call(SYS_close_range, 1, ~0U, 0, 0, 0, 0) == 0 &&
           fcntl(liveness ? liveness : 1, F_GETFD) < 0;
}

/* The guard's life. Any doubt ends it with LINK_FAILED before anything is killed; the supervisor sees that.
 */
_Noreturn static inline void guard_live(const struct chain *chain, int liveness, int channel)
{
    const struct capability_data nothing[2] = {{0}, {0}};
    struct capability_header header = {.version = CAPABILITY_VERSION_3};
    const struct channel_word word = {.type = CHANNEL_GUARD};
    const uint64_t everything = ~UINT64_C(0);
    char byte;
    long got;

    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_SET_NAME, "confine-guard", 0, 0, 0) != 0 ||
        kernel_call(SYS_capset, KERNEL_PTR(&header), KERNEL_PTR(nothing), 0, 0, 0, 0) != 0 ||
        kernel_call(SYS_rt_sigprocmask, SIG_SETMASK, KERNEL_PTR(&everything), 0, sizeof(everything), 0, 0) !=
            0 ||
        chdir("/") != 0 || setpgid(0, 0) != 0) /* what is sent to the command's group is not for the guard */
        _exit(LINK_FAILED);
    /* The parent is the supervisor, or whoever inherits from it. 0 is one in another pid namespace: kill(0)
     * would mean our own process group, and succeeds. */
    if (kernel_call(SYS_kill, getppid(), 0, 0, 0, 0, 0) != -EPERM)
        _exit(LINK_FAILED);
    wipe_strings(chain->words);
    wipe_strings(chain->envp);
    if (send(channel, &word, sizeof(word), MSG_NOSIGNAL) != (ssize_t)sizeof(word))
        _exit(LINK_FAILED);
    if (!keep_liveness(liveness) || load_guard_filter() != 0)
        _exit(LINK_FAILED);
    do
        got = kernel_call(SYS_read, 0, KERNEL_PTR(&byte), 1, 0, 0, 0);
    while (got > 0 || got == -EINTR);
    if (got != 0)
        _exit(LINK_FAILED);
    /* Once is enough: a fork that is under way sees the pending SIGKILL and fails. */
    kernel_call(SYS_kill, -1, SIGKILL, 0, 0, 0, 0);
    _exit(0);
}

/*
 * guard_start() - clone the guard; the liveness descriptor is closed here.
 * @liveness: read end of a pipe whose write end the supervisor alone has
 * @channel:  the channel to the supervisor; stays open here
 *
 * Return: the guard's pid, a child of our parent's. Ends the link on failure.
 */
static inline pid_t guard_start(const struct chain *chain, int liveness, int channel)
{
    pid_t self = getpid();
    long pid = kernel_call(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0, 0);

    if (pid < 0)
        chain_fatal_errno(chain, "guard", (int)-pid);
    if (pid == 0) {
        if (kernel_call(SYS_getpid, 0, 0, 0, 0, 0, 0) == self)
            chain_fatal(chain, "guard", "the kernel reported success but made no child");
        guard_live(chain, liveness, channel);
    }
    processor_move_away((pid_t)pid);
    close(liveness);
    if (fcntl(liveness, F_GETFD) != -1)
        chain_fatal(chain, "--guard", "the kernel reported success but did not close the descriptor");
    return (pid_t)pid;
}

#endif
