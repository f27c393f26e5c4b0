/*
 * run.c - `confine run`: launch, attest, supervise, clean up.
 *
 * Theory of operation, in the order of the code:
 *
 *   1. everything that the run needs is made: temp directory, channel, the
 *      guard's pipe, canaries, relays;
 *   2. the chain starts, and restricts itself;
 *   3. run_talk() gives the word to start, if everything holds;
 *   4. supervise() waits for the end of the last process;
 *   5. the temp directory is removed.
 *
 * Should:  leave by one way out, with every process ended and every name removed.
 * Mustn't: start anything but by run_talk() or run_unconfined(). Until GO the end
 *          of the channel ends the chain with 125, so that our death at any point
 *          starts nothing.
 */
#include "run/run.h"
#include "run/run_state.h"

#include "backend/backend.h"
#include "kernel/children.h"
#include "links/chain.h"
#include "links/pass.h"
#include "report/absent.h"
#include "run/channel.h"
#include "run/control.h"
#include "run/forerunner.h"
#include "run/launcher.h"
#include "run/run_error.h"
#include "run/strangers.h"

#include <signal.h>
#include <sys/wait.h>

int run_fail(struct run *run, int errnum, const char *what)
{
    if (run->report->error.code != ERROR_NONE)
        return -errnum;
    return run_error_errno(&run->report->error, errnum, what);
}

/* --- 0. what must be true of this process -----------------------------------------------------------------
 */

/* A closed 0, 1 or 2 would be taken by the first thing that is opened. */
static int open_standard(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) != fd)
            return -errno;
    return 0;
}

/* --- 1. before the chain ----------------------------------------------------------------------------------
 */

static int make_pipe(int *ret_ours, int *ret_theirs, bool ours_writes)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return -errno;
    *ret_ours = ends[ours_writes ? 1 : 0];
    *ret_theirs = ends[ours_writes ? 0 : 1];
    return 0;
}

/* Its end says that we are gone; on it comes how many processes were left. */
static int make_pair(int *ret_ours, int *ret_theirs)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return -errno;
    *ret_ours = ends[0];
    *ret_theirs = ends[1];
    return 0;
}

/* The directories that the view has of its own, and that vanish with it. */
static int note_ephemeral(struct run *run)
{
    static const char *const own[] = {"/tmp", "/dev/shm", "/run"};

    bool shared =
        run->plan->joined && run->resolved->policy->tmp != TMP_PRIVATE; /* vanish with the session */

    for (size_t i = shared ? 2 : 0; i < ARRAY_SIZE(own) && run->plan->own_tmp; i++)
        if (!resolved_under_writable(run->resolved, own[i]) &&
            strings_add(&run->report->ephemeral, own[i]) < 0)
            return error_no_memory(&run->report->error);
    return 0;
}

struct relays_limit run_output_limit(const struct run *run)
{
    const struct policy *policy = run->resolved->policy;

    return (struct relays_limit){
        .most = policy->limit_output, .ends = policy->limit_output_end, .outlived = run->plan->joined};
}

/* Whoever sees what the command does, and answers for it. */
static int prepare_watchers(struct run *run)
{
    int r =
        observer_begin(&run->observer, run->resolved, run->plan, run->report, run->control, &run->gateway);

    if (r < 0)
        return run_fail(run, -r, "prepare the observer");
    r = run->observer.wanted ? reader_begin(&run->reader) : 0;
    if (r < 0)
        return run_fail(run, -r, "prepare to read for the observer");
    run->observer.reader = &run->reader;
    r = audit_begin(&run->audit, run->resolved, run->plan, run->report);
    if (r < 0)
        return run_fail(run, -r, "prepare the reader of the kernel's audit");
    run->observer.audit = run->audit.wanted ? &run->audit : NULL;
    approval_begin(&run->approval, run->resolved, run->report, run->control, &run->observer,
                   run->plan->gateway && !run->plan->advisory && !run->resolved->session &&
                       run->resolved->policy->network == NETWORK_LISTED &&
                       !(run->resolved->policy->locked_lists & UINT64_C(1) << LIST_ALLOW));
    if (run->resolved->policy->ask_ms > 0 && !run->approval.wanted)
        return error_set(&run->report->error, ERROR_SANDBOX_UNAVAILABLE, ENOSYS, "no-approval",
                         "option --ask: this backend holds no calls");
    return 0;
}

static int prepare(struct run *run, int standard[3])
{
    struct relays_limit limit;
    int r;

    r = attest_begin(&run->attestation, run->plan, run->resolved, run->missing);
    if (r < 0)
        return run_fail(run, -r, "make the canaries");
    if (run->plan->private_tmp) {
        r = tmp_make(&run->tmp, run->resolved, &run->report->error);
        if (r < 0)
            return r;
        if (strings_add(&run->report->ephemeral, run->tmp.path) < 0)
            return error_no_memory(&run->report->error);
    }
    r = note_ephemeral(run);
    if (r < 0)
        return r;
    r = channel_open(&run->channel, &run->their_channel);
    if (r == 0 && run->plan->guard)
        r = make_pipe(&run->liveness, &run->their_liveness, true);
    if (r == 0 && run->plan->pid_namespace && !run->plan->foreign)
        r = make_pair(&run->liveness, &run->their_liveness);
    if (r == 0)
        r = make_pipe(&run->errors, &run->their_errors, false);
    if (r < 0)
        return run_fail(run, -r, "make the channel");
    run->terminal.wanted = run->plan->terminal;
    run->terminal.relays = &run->relays;
    r = terminal_prepare(&run->terminal, run->resolved, standard);
    if (r < 0)
        return run_fail(run, -r, "prepare the command's terminal");
    if (run->plan->heard && !run->plan->terminal)
        run->signs.signatures = backend_by_name(run->plan->backend)->denial_signatures;
    limit = run_output_limit(run);
    limit.signs = run->signs.signatures ? &run->signs : NULL;
    r = relays_prepare(&run->relays, run->terminal.on, limit, standard);
    if (r < 0)
        return run_fail(run, -r, "make the relays");
    if (!run->relays.heard) /* a device, which takes the words unseen */
        run->signs.signatures = NULL;
    r = prepare_watchers(run);
    if (r < 0)
        return r;
    /* /dev/stdout and /dev/stderr open these pipes anew, by their owner and mode. */
    for (int fd = 0; fd < 3 && run->resolved->switch_user; fd++)
        if (standard[fd] != fd && !run->terminal.on[fd] &&
            fchown(standard[fd], run->resolved->uid, run->resolved->gid) != 0)
            return run_fail(run, errno, "hand over the relays");
    /* 2 is the chain's until the command starts; what is to be the command's waits beside it. */
    run->stderr_fd = fd_copy(standard[2], 3);
    if (run->stderr_fd < 0)
        return run_fail(run, errno, "keep the standard error");
    standard[2] = run->their_errors;
    return 0;
}

/* In the vfork child. */
static void enter(void *data)
{
    struct run *run = data;

    if (!limits_join(&run->limits))
        kernel_call(SYS_exit_group, LINK_FAILED, 0, 0, 0, 0, 0);
    attest_in_child(&run->attestation);
}

/* What the chain does not wait for, and has to be done before the command is there. */
static int prepare_beside(struct run *run)
{
    struct error left = {0};
    int r = planted_begin(&run->planted, run->resolved, run->landlock_abi);

    if (r < 0)
        return run_fail(run, -r, "keep what repositories were like");
    if (tmp_sweep(&run->tmp, &left) < 0)
        strings_addf(&run->report->warnings, "%s: %s", left.reason, left.message);
    return 0;
}

static int start_chain(struct run *run)
{
    char onto[64] = "";
    int standard[3], r;
    struct chain_fds fds;
    _cleanup_fd_ int launcher = launcher_open(run->resolved, "confine-launch", &run->report->error);

    if (launcher < 0)
        return launcher;
    r = prepare(run, standard);
    if (r == 0)
        r = limits_make(&run->limits, run->resolved, run->plan, true, &run->report->error);
    if (r < 0)
        return r;
    r = gateway_prepare(&run->gateway, run->plan, run->resolved, run->report);
    if (r == 0)
        r = gateway_share(&run->gateway, run->plan, run->resolved, run->report);
    if (r < 0)
        return r;
    run->gateway.asks = run->approval.connects;
    if (run->plan->terminal)
        terminal_list(&run->terminal, run->stderr_fd, onto, sizeof(onto));
    fds = (struct chain_fds){.channel = run->their_channel,
                             .terminal = run->terminal.theirs,
                             .onto = onto,
                             .liveness = run->their_liveness,
                             .stderr_fd = run->stderr_fd,
                             .tmp = run->tmp.fd,
                             .proxy_port = run->gateway.proxy_port,
                             .launcher = launcher};
    forerunner_for(run->plan, &fds.ahead, &fds.ahead_ready);
    r = launch_prepare(&run->launch, run->plan, run->resolved, &fds, run->attestation.sentinel, NULL,
                       run->plan->private_tmp ? run->tmp.path : NULL, run->command);
    if (r < 0)
        return error_no_memory(&run->report->error);
    run->pid = spawn_chain(launcher, &run->launch, standard, run->resolved->cwd_fd, enter, run);
    if (run->pid < 0)
        return run_error_spawn(&run->report->error, (int)-run->pid, run->resolved->cwd);
    r = limits_joined(&run->limits, &run->report->error);
    if (r < 0)
        return r;
    forerunner_handed_over();
    run->their_channel = fd_close(run->their_channel);
    run->their_liveness = fd_close(run->their_liveness);
    run->their_errors = fd_close(run->their_errors);
    run->stderr_fd = fd_close(run->stderr_fd);
    relays_handed_over(&run->relays);
    run->terminal.theirs = fd_close(run->terminal.theirs);
    r = gateway_start(&run->gateway);
    return r < 0 ? r : prepare_beside(run);
}

/* --- 3. what lives in the loop ----------------------------------------------------------------------------
 */

int run_prepare_watch(struct run *run)
{
    run->supervision =
        (struct supervision){.resolved = run->resolved,
                             .plan = run->plan,
                             .parts = {{&relays_part, &run->relays}, {&limits_part, &run->limits}},
                             .part_count = 2,
                             .process = run->pid,
                             .channel = run->channel,
                             .liveness = run->liveness,
                             .report = run->report};
    if (run->plan->terminal)
        run->supervision.parts[run->supervision.part_count++] = (struct part){&terminal_part, &run->terminal};
    if (run->gateway.wanted)
        run->supervision.parts[run->supervision.part_count++] = (struct part){&gateway_part, &run->gateway};
    if (run->gateway.shared)
        run->supervision.parts[run->supervision.part_count++] =
            (struct part){&gateway_shared_part, &run->gateway};
    if (run->control)
        run->supervision.parts[run->supervision.part_count++] = (struct part){&control_part, run->control};
    if (run->planted.wanted)
        run->supervision.parts[run->supervision.part_count++] = (struct part){&planted_part, &run->planted};
    if (run->plan->private_tmp) /* behind the look, which then has begun */
        run->supervision.parts[run->supervision.part_count++] = (struct part){&tmp_part, &run->tmp};
    if (run->approval.wanted) /* behind the channel that it asks over, and before whoever hands it calls */
        run->supervision.parts[run->supervision.part_count++] = (struct part){&approval_part, &run->approval};
    if (run->reader.fd >= 0)
        run->supervision.parts[run->supervision.part_count++] = (struct part){&reader_part, &run->reader};
    if (run->observer.wanted)
        run->supervision.parts[run->supervision.part_count++] = (struct part){&observer_part, &run->observer};
    if (run->audit.wanted) /* behind the observer: what that has not told by its end it never tells */
        run->supervision.parts[run->supervision.part_count++] = (struct part){&audit_part, &run->audit};
    return supervise_prepare(&run->supervision);
}

/* Whoever wanted this run has gone: it would be killed as soon as it had started. */
int run_refuse_abandoned(struct run *run)
{
    if (!run->control || !control_gone(run->control))
        return 0;
    return error_set(&run->report->error, ERROR_SANDBOX_UNAVAILABLE, EPIPE, "control-closed",
                     "the control channel was closed before the command started");
}

/* --- the ways out ------------------------------------------------------------------------------------------
 */

/* Before GO: nothing has run. The end of the channel ends the chain; the rest is killed and reaped, also what
 * became our child only by that. Nothing stays of this attempt: another backend's may follow. */
static void abandon(struct run *run)
{
    run->report->outcome.kind = OUTCOME_NOT_STARTED;
    run->report->outcome.status = -1;
    run->channel = fd_close(run->channel);
    run->liveness = fd_close(run->liveness);
    if (run->pid > 0)
        kill(run->pid, SIGKILL);
    attest_end(&run->attestation);
    gateway_abandon(&run->gateway);
    observer_abandon(&run->observer);
    reader_abandon(&run->reader);
    audit_abandon(&run->audit);
    approval_free(&run->approval);
    planted_end(&run->planted);
    planted_gone();
    keeper_end(&run->terminal.keeper, false);
    while (run->pid > 0 && (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR))
        children_kill(0);
    supervise_release();
}

/* Output that the command wrote and that could not be handed on: a status of 0 would hide it. Return: the
 * status of the run. */
static int tell_lost_output(struct run *run, int status)
{
    int lost = relays_error(&run->relays) ?: terminal_error(&run->terminal);

    if (lost == 0)
        return status;
    if (status != 0) {
        strings_addf(&run->report->warnings, "output-lost: output could not be written: %s", strerror(lost));
        return status;
    }
    error_set(&run->report->error, ERROR_INTERNAL, lost, "output-lost",
              "the command ended with 0, but its output could not be written: %s", strerror(lost));
    error_hint(&run->report->error, "make room where the output goes, and run it again");
    return LINK_FAILED;
}

static void remove_tmp(struct run *run)
{
    struct error error = {0};

    if (tmp_remove(&run->tmp, &error) < 0)
        strings_addf(&run->report->warnings, "%s: %s", error.reason, error.message);
}

static void clean_up(struct run *run)
{
    struct error error = {0};

    limits_tell(&run->limits, &run->report->outcome, &run->report->warnings);
    if (limits_remove(&run->limits, &error) < 0)
        strings_addf(&run->report->warnings, "%s: %s", error.reason, error.message);
    approval_free(&run->approval);
    planted_end(&run->planted);
    relays_free(&run->relays);
    terminal_free(&run->terminal);
    gateway_abandon(&run->gateway);
    fd_close(run->channel);
    fd_close(run->becoming_fd);
    fd_close(run->their_channel);
    fd_close(run->their_liveness);
    fd_close(run->errors);
    fd_close(run->their_errors);
    fd_close(run->stderr_fd);
    launch_free(&run->launch);
}

static int exit_status(struct run *run, int exec_errno)
{
    const struct outcome *outcome = &run->report->outcome;

    switch (outcome->kind) {
    case OUTCOME_EXITED:
        return outcome->status;
    case OUTCOME_SIGNALED:
        return 128 + outcome->signal;
    case OUTCOME_TIMED_OUT:
        return 124;
    case OUTCOME_LIMIT:
        return 128 + SIGKILL;
    case OUTCOME_NOT_STARTED:
        if (exec_errno)
            return run_error_exec(&run->report->error, exec_errno, run->command[0], run->resolved,
                                  run->plan->own_tmp);
        break;
    }
    return LINK_FAILED;
}

int run_watch(struct run *run)
{
    run->supervision.guard = run->guard; /* known only now: they have told */
    run->supervision.command = run->becoming;
    run->supervision.command_fd = run->becoming_fd;
    run->supervision.started_ns = supervise_now_ns();
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    limits_own_files(run->resolved->policy, true);
    supervise(&run->supervision);
    if (denials_add_refused(&run->report->denials, run->resolved, &run->report->connections,
                            run->report->command) < 0)
        run->report->denials.lost++;
    signs_end(&run->signs, run->report,
              run->report->outcome.kind != OUTCOME_EXITED || run->report->outcome.status != 0);
    absent_find(run->report);
    run->report->outcome.output_truncated = relays_truncated(&run->relays);
    limits_own_files(run->resolved->policy, false);
    run->liveness = -1;
    if (run->control)
        control_judge(run->control, &run->report->outcome);
    return exit_status(run, run->supervision.exec_errno);
}

/* Nothing of an earlier attempt, and no descriptor. */
static void clear_run(struct run *run)
{
    int *const none[] = {&run->channel,      &run->becoming_fd,    &run->their_channel,
                         &run->liveness,     &run->their_liveness, &run->errors,
                         &run->their_errors, &run->stderr_fd,      &run->attestation.process_release,
                         &run->planted.go,   &run->planted.said};

    memset(run, 0, offsetof(struct run, attestation.attempts));
    for (size_t i = 0; i < ARRAY_SIZE(none); i++)
        *none[i] = -1;
    run->tmp = (struct tmp_directory)TMP_DIRECTORY_NONE;
    terminal_clear(&run->terminal);
    gateway_clear(&run->gateway);
    observer_clear(&run->observer);
    reader_clear(&run->reader);
    audit_clear(&run->audit);
    for (int fd = 0; fd < 3; fd++)
        run->relays.relay[fd] = (struct relay){.from = -1, .to = -1, .pipe = -1, .theirs = -1, .waiter = -1};
}

static int run_once(struct plan *plan, const struct resolved *resolved, int landlock_abi,
                    char *const *command, unsigned missing, struct control *control, struct report *report)
{
    static struct run run;
    int r, status = LINK_FAILED;

    clear_run(&run);
    run.control = control;
    run.landlock_abi = landlock_abi;
    run.plan = plan;
    run.resolved = resolved;
    run.command = command;
    run.report = report;
    run.missing = missing;
    r = supervise_block();
    signal(SIGCHLD, SIG_DFL); /* ignored by the caller, it would take every child's status away */
    if (r == 0 && strangers_refuse(&report->error) < 0)
        return LINK_FAILED;
    if (r == 0)
        r = open_standard();
    if (r == 0)
        r = strangers_leave();
    if (r == 0 && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
        r = -errno;
    if (r < 0) {
        run_fail(&run, -r, "prepare the supervisor");
        return LINK_FAILED;
    }
    if (resolved->mode == MODE_DANGER_FULL_ACCESS) {
        status = run_unconfined(&run);
        clean_up(&run);
        return status;
    }
    r = start_chain(&run);
    if (r == 0)
        r = run_talk(&run);
    if (r < 0)
        limits_explain(&run.limits, run.pid > 0, &report->error);
    if (r < 0)
        abandon(&run);
    else
        status = tell_lost_output(&run, run_watch(&run));
    remove_tmp(&run); /* while the look is made */
    if (report->outcome.kind != OUTCOME_NOT_STARTED)
        planted_look(&run.planted, report);
    clean_up(&run);
    return status;
}

int run_supervised_without(struct plan *plan, const struct resolved *resolved, char *const *command,
                           unsigned missing, struct report *report)
{
    return run_once(plan, resolved, 0, command, missing, NULL, report);
}

int run_supervised(struct plan *plan, const struct resolved *resolved, const struct host *host,
                   char *const *command, struct control *control, struct report *report)
{
    return run_once(plan, resolved, host->landlock_abi, command, 0, control, report);
}
