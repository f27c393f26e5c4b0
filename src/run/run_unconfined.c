/*
 * run_unconfined.c - danger-full-access: no chain and no attestation; supervised only so that limits and the
 * report work.
 *
 * Should:  say what stopped a start, like a run with a chain.
 * Mustn't: leave a command behind that nobody watches.
 */
#include "run/run_state.h"

#include "links/chain.h"
#include "run/run_error.h"

#include <signal.h>
#include <sys/wait.h>

/* In the vfork child: what supervise_block() holds back is ours, not the command's. A chain resets it itself.
 */
static void enter_unconfined(void *data)
{
    struct run *run = data;
    uint64_t none = 0;

    if (!limits_join(&run->limits))
        kernel_call(SYS_exit_group, LINK_FAILED, 0, 0, 0, 0, 0);
    kernel_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)(uintptr_t)&none, 0, sizeof(none), 0, 0);
}

static void reap(pid_t pid)
{
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

int run_unconfined(struct run *run)
{
    int standard[3] = {0, 1, 2};
    struct chain_fds fds = CHAIN_FDS_NONE;
    int r = launch_prepare(&run->launch, run->plan, run->resolved, &fds, 0, NULL, NULL, run->command);

    if (r < 0)
        error_no_memory(&run->report->error);
    if (r == 0)
        r = limits_make(&run->limits, run->resolved, run->plan, false, &run->report->error);
    if (r == 0 && run->resolved->policy->limit_output) {
        r = relays_prepare(&run->relays, run->terminal.on, run_output_limit(run), standard);
        if (r < 0)
            run_fail(run, -r, "make the relays");
    }
    if (r < 0 || run_refuse_abandoned(run) < 0)
        return LINK_FAILED;
    run->pid = spawn_chain(-1, &run->launch, standard, run->resolved->cwd_fd, enter_unconfined, run);
    if (run->pid < 0)
        return run_error_exec(&run->report->error, (int)-run->pid, run->command[0], run->resolved, false);
    run->becoming = run->pid;
    relays_handed_over(&run->relays);
    if (limits_joined(&run->limits, &run->report->error) < 0) { /* it has ended before its exec */
        reap(run->pid);
        return LINK_FAILED;
    }
    r = limits_arm(&run->limits, 0, &run->report->error);
    if (r == 0)
        r = run_prepare_watch(run);
    if (r < 0) { /* it has started, and nobody can watch it */
        kill(run->pid, SIGKILL);
        reap(run->pid);
        run->report->outcome = (struct outcome){.kind = OUTCOME_SIGNALED, .status = -1, .signal = SIGKILL};
        run_fail(run, -r, "supervise the command");
        return 128 + SIGKILL;
    }
    return run_watch(run);
}
