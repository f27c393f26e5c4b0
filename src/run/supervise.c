/*
 * supervise.c - from `go` to the end of the last process.
 *
 * Theory of operation. This process is a subreaper: whoever in the tree loses its parent becomes our child,
 * so the tree is empty exactly when we have no child left. The command's exit ends the run. Then the guard's
 * pipe is closed; the guard, standing in the tree's signal domain, kills all that it can reach, which is the
 * domain and nothing else; we reap until there is no child. Where there is no guard, our children are killed
 * as they appear, which is no proof against a fork storm: `partial`.
 *
 * Should:  end everything when it cannot go on; count what had to be killed.
 * Mustn't: signal a process group that is not the command's own, or wait for a stranger's children (run.c
 * sees to it that we have none at the start).
 */
#include "run/supervise.h"

#include "kernel/children.h"
#include "links/chain.h"
#include "links/kernel_abi.h"
#include "run/channel.h"
#include "run/foreign.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GONE_MS    10000 /* how long killed processes may take to be gone */
#define SWEEP_MS   5
#define WAKE_MS    200
#define WAIT_MS    20
#define LAST_TRIES 200 /* about 30 us */

enum phase { PHASE_RUNNING = 0, PHASE_WAITING, PHASE_ENDING, PHASE_GONE };

struct loop {
    struct supervision *supervision;
    struct outcome *outcome;
    enum phase phase;
    bool ended; /* the command has been reaped */
    bool last;  /* the guard was the only child left, and was killed */
    bool guard_ended;
    bool timed_out, guard_lost;
    int status; /* of the command */
    uv_loop_t uv;
    uv_signal_t signals[8];
    uv_timer_t limit, grace, sweep, gone, wake;
    uv_poll_t channel, held;
    bool channel_open;
    bool holding; /* a foreign process in front is held, so that what is left behind it can be counted */
    bool started; /* `uv` is there */
};

static const int forwarded[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGUSR1, SIGUSR2};

uint64_t supervise_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void signal_set(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < ARRAY_SIZE(forwarded); i++)
        sigaddset(set, forwarded[i]);
    sigaddset(set, SIGCHLD);
    sigaddset(set, SIGPIPE);
}

void supervise_block(void)
{
    sigset_t set;

    signal_set(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

static void reap(struct loop *loop);
static void on_sweep(uv_timer_t *timer);

/* To everything that stays in the command's process group; a command without a chain has none of its own. */
static void signal_group(const struct loop *loop, int signum)
{
    const struct supervision *s = loop->supervision;

    if (s->channel < 0)
        kill(s->process, signum);
    else if (s->plan->foreign)
        foreign_signal_group(s->command, signum);
    else
        kill(s->plan->pid_namespace ? -s->command : -s->process, signum);
}

/* To the command alone. */
static void signal_command(const struct loop *loop, int signum)
{
    const struct supervision *s = loop->supervision;

    if (s->command_fd >= 0)
        kernel_call(SYS_pidfd_send_signal, s->command_fd, signum, 0, 0, 0, 0);
    else
        kill(s->command, signum);
}

/* --- the end -------------------------------------------------------------------------------------------- */

/* Lets the process in front of the command end, and with it all that is left. */
static void let_front_end(struct loop *loop)
{
    const struct supervision *s = loop->supervision;

    if (!loop->holding)
        return;
    loop->holding = false;
    uv_close((uv_handle_t *)&loop->held, NULL);
    loop->outcome->survivors_killed += foreign_left(s->process, s->command);
    foreign_release(s->process);
}

/* The command behind a foreign process has ended. In --wait-all the sweep looks until nothing is left. */
static void on_held(uv_poll_t *handle, int status, int events)
{
    struct loop *loop = handle->data;
    const struct supervision *s = loop->supervision;

    (void)status;
    (void)events;
    uv_poll_stop(handle);
    if (s->resolved->policy->wait_all && loop->phase == PHASE_RUNNING)
        uv_timer_start(&loop->sweep, on_sweep, 0, WAIT_MS);
    else
        let_front_end(loop);
}

static void on_sweep(uv_timer_t *timer)
{
    struct loop *loop = timer->data;

    if (loop->phase < PHASE_ENDING) {
        const struct supervision *s = loop->supervision;

        if (foreign_left(s->process, s->command) > 0)
            return;
        uv_timer_stop(timer);
        let_front_end(loop);
        return;
    }
    children_kill(loop->guard_ended ? 0 : loop->supervision->guard);
    reap(loop);
}

static void on_gone(uv_timer_t *timer)
{
    struct loop *loop = timer->data;

    loop->outcome->survivors_seen_gone = false;
    loop->phase = PHASE_GONE;
    uv_stop(&loop->uv);
}

/* Kill what is left. With a guard it is the guard's work; we sweep as well once it has ended, or without one.
 */
static void begin_ending(struct loop *loop)
{
    struct supervision *s = loop->supervision;
    bool told; /* the process in front ends after the command, and tells what was left: it gets the time to */

    if (loop->phase >= PHASE_ENDING)
        return;
    loop->phase = PHASE_ENDING;
    told = s->plan->pid_namespace && !s->plan->foreign && !loop->ended;
    let_front_end(loop);
    if (told)
        signal_command(loop, SIGKILL);
    else if (!loop->ended)
        kill(s->process, SIGKILL);
    /* Nobody is left who could fork: then the guard is ended by us, without going through all processes. */
    loop->last = loop->ended && s->guard && !loop->guard_ended && children_only(s->guard);
    if (loop->last)
        kill(s->guard, SIGKILL);
    if (!told)
        s->liveness = fd_close(s->liveness);
    uv_timer_start(&loop->gone, on_gone, GONE_MS, 0);
    /* The backend none confines nothing and kills nothing that it did not start. */
    if (s->channel >= 0)
        uv_timer_start(&loop->sweep, on_sweep, told || (s->guard && !loop->guard_ended) ? 20 * SWEEP_MS : 0,
                       SWEEP_MS);
}

/* A pid namespace is empty by the time that the process in front of it ends: it has told how many were left.
 */
static void count_left(struct loop *loop)
{
    const struct supervision *s = loop->supervision;
    uint32_t left;

    if (s->plan->pid_namespace &&
        recv(s->liveness, &left, sizeof(left), MSG_DONTWAIT) == (ssize_t)sizeof(left))
        loop->outcome->survivors_killed += left;
}

static void command_ended(struct loop *loop, int status)
{
    loop->ended = true;
    count_left(loop);
    loop->status = status;
    if (loop->phase != PHASE_RUNNING)
        return;
    if (loop->supervision->resolved->policy->wait_all && loop->supervision->exec_errno == 0)
        loop->phase = PHASE_WAITING;
    else
        begin_ending(loop);
}

/* In --wait-all: is anything but the guard left? */
static bool others_left(const struct loop *loop)
{
    pid_t pids[4];
    int count = children_list(pids, ARRAY_SIZE(pids));

    for (int i = 0; i < count; i++)
        if (pids[i] != loop->supervision->guard || loop->guard_ended)
            return true;
    return count < 0;
}

static void count_reaped(struct loop *loop, pid_t pid, int status)
{
    if (pid == loop->supervision->process && !loop->ended) { /* later a stranger may have its number */
        command_ended(loop, status);
    } else if (pid == loop->supervision->guard) {
        loop->guard_ended = true;
        if (loop->phase < PHASE_ENDING) {
            loop->guard_lost = true;
            begin_ending(loop);
        }
    } else if (loop->phase == PHASE_ENDING && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
               !loop->supervision->plan->pid_namespace) { /* there it was told, or is process 1 */
        loop->outcome->survivors_killed++;
    }
}

/* Somebody in the tree asked to be traced by its parent (PTRACE_TRACEME), and that is us: nobody would let it
 * go on. It goes on with what it was sent. */
static void let_go(pid_t pid, int status)
{
    int signum = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);

    if (ptrace(PTRACE_DETACH, pid, NULL, (void *)(intptr_t)signum) != 0)
        kill(pid, SIGKILL); /* it cannot be left standing */
}

/* The next child that has ended. For the last one there is nothing else to do, and its end takes less time
 * than to fall asleep and to be woken. Return: as waitpid(). */
static pid_t take_ended(struct loop *loop, int *status)
{
    int tries = loop->last ? LAST_TRIES : 1;
    pid_t pid;

    do
        pid = waitpid(-1, status, WNOHANG | __WALL);
    while (pid == 0 && --tries > 0);
    loop->last = false;
    return pid;
}

static void reap(struct loop *loop)
{
    int status;
    pid_t pid;

    while ((pid = take_ended(loop, &status)) > 0)
        if (WIFSTOPPED(status))
            let_go(pid, status);
        else
            count_reaped(loop, pid, status);
    if (pid < 0 && errno == ECHILD) {
        loop->outcome->survivors_seen_gone = true;
        loop->phase = PHASE_GONE;
        uv_stop(&loop->uv);
        return;
    }
    if (loop->phase == PHASE_WAITING && !others_left(loop))
        begin_ending(loop);
    /* Unconfined children outlive the backend none, as they would outlive a shell. */
    if (loop->ended && loop->supervision->channel < 0) {
        loop->phase = PHASE_GONE;
        uv_stop(&loop->uv);
    }
}

/* --- events --------------------------------------------------------------------------------------------- */

static void on_grace(uv_timer_t *timer)
{
    begin_ending(timer->data);
}

static void start_grace(struct loop *loop)
{
    uint64_t grace = loop->supervision->resolved->policy->grace_ms;

    if (!uv_is_active((uv_handle_t *)&loop->grace))
        uv_timer_start(&loop->grace, on_grace, grace, 0);
}

static void on_limit(uv_timer_t *timer)
{
    struct loop *loop = timer->data;

    loop->timed_out = true;
    if (loop->ended)
        begin_ending(loop);
    else
        signal_group(loop, SIGTERM);
    start_grace(loop);
}

/* Stops this process as SIGTSTP by default does, and comes back when it is continued. In an orphaned process
 * group the kernel drops that signal, because nobody would ever continue us: SIGSTOP would be for good. */
static void stop_like_others(void)
{
    struct sigaction ours, by_default = {.sa_handler = SIG_DFL};

    if (sigaction(SIGTSTP, &by_default, &ours) != 0)
        return;
    raise(SIGTSTP);
    sigaction(SIGTSTP, &ours, NULL);
}

static void on_signal(uv_signal_t *handle, int signum)
{
    struct loop *loop = handle->data;

    if (signum == SIGCHLD) {
        reap(loop);
        return;
    }
    if (loop->ended)
        return;
    switch (signum) {
    case SIGTSTP:
        /* The command's session is not the terminal's, so the terminal does not stop it: we do. */
        signal_group(loop, SIGSTOP);
        stop_like_others();
        signal_group(loop, SIGCONT);
        break;
    case SIGINT:
    case SIGQUIT:
    case SIGCONT:
        signal_group(loop, signum);
        break;
    case SIGTERM:
    case SIGHUP:
        signal_command(loop, signum);
        start_grace(loop);
        break;
    default:
        signal_command(loop, signum);
    }
}

/* EXEC_FAILED, or the end of the channel: the exec has closed it, and the command runs. */
static void read_channel(struct loop *loop)
{
    struct channel_word word;
    pid_t writer;
    ssize_t size;

    if (!loop->channel_open)
        return;
    size = channel_receive(loop->supervision->channel, &word, sizeof(word), 0, &writer);
    if (size == -ETIMEDOUT || size == -EAGAIN)
        return;
    if (size == (ssize_t)sizeof(word) && word.type == CHANNEL_EXEC_FAILED &&
        writer == loop->supervision->command)
        loop->supervision->exec_errno = word.value > 0 ? word.value : EIO;
    uv_close((uv_handle_t *)&loop->channel, NULL);
    loop->channel_open = false;
}

static void on_channel(uv_poll_t *handle, int status, int events)
{
    (void)status;
    (void)events;
    read_channel(handle->data);
}

static void on_wake(uv_timer_t *timer)
{
    struct loop *loop = timer->data;

    if (!relays_wake(loop->supervision->relays))
        uv_timer_stop(timer);
}

/* --- the loop ------------------------------------------------------------------------------------------- */

static int start_signals(struct loop *loop)
{
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(forwarded) && r == 0; i++) {
        r = uv_signal_init(&loop->uv, &loop->signals[i]);
        loop->signals[i].data = loop;
        if (r == 0)
            r = uv_signal_start(&loop->signals[i], on_signal, forwarded[i]);
    }
    /* SIGCHLD last: the others may be pending, and it decides about the end. */
    static uv_signal_t child;
    if (r == 0)
        r = uv_signal_init(&loop->uv, &child);
    child.data = loop;
    if (r == 0)
        r = uv_signal_start(&child, on_signal, SIGCHLD);
    return r;
}

static int start_loop(struct loop *loop)
{
    struct supervision *s = loop->supervision;
    uv_timer_t *const timers[] = {&loop->limit, &loop->grace, &loop->sweep, &loop->gone, &loop->wake};
    int r = uv_loop_init(&loop->uv);

    loop->started = r == 0;
    for (size_t i = 0; i < ARRAY_SIZE(timers) && r == 0; i++) {
        r = uv_timer_init(&loop->uv, timers[i]);
        timers[i]->data = loop;
    }
    if (r == 0)
        r = start_signals(loop);
    if (r == 0 && s->channel >= 0) {
        r = uv_poll_init(&loop->uv, &loop->channel, s->channel);
        loop->channel.data = loop;
        loop->channel_open = r == 0;
        if (r == 0)
            r = uv_poll_start(&loop->channel, UV_READABLE, on_channel);
    }
    if (r == 0)
        r = relays_start(s->relays, &loop->uv);
    return r;
}

static void fill_outcome(struct loop *loop)
{
    struct outcome *outcome = loop->outcome;
    struct rusage usage;

    outcome->wall_ms = (supervise_now_ns() - loop->supervision->started_ns) / 1000000U;
    if (getrusage(RUSAGE_CHILDREN, &usage) == 0) {
        outcome->cpu_ms = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000U +
                          (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000U;
        outcome->max_rss_kib = (uint64_t)usage.ru_maxrss;
    }
    outcome->status = -1;
    if (loop->supervision->exec_errno) {
        outcome->kind = OUTCOME_NOT_STARTED;
    } else if (loop->timed_out) {
        outcome->kind = OUTCOME_TIMED_OUT;
        outcome->limit = "time";
    } else if (loop->guard_lost) {
        outcome->kind = OUTCOME_LIMIT;
        outcome->limit = "guard";
    } else if (WIFSIGNALED(loop->status) && WTERMSIG(loop->status) == SIGXFSZ &&
               loop->supervision->resolved->policy->limit_file_size) {
        outcome->kind = OUTCOME_LIMIT;
        outcome->limit = "file_size";
    } else if (WIFSIGNALED(loop->status)) {
        outcome->kind = OUTCOME_SIGNALED;
        outcome->signal = WTERMSIG(loop->status);
    } else {
        outcome->kind = OUTCOME_EXITED;
        outcome->status = WEXITSTATUS(loop->status);
    }
}

/* What can be said of survivors only now. */
static void judge_survivors(struct loop *loop)
{
    struct claim *claim = &loop->supervision->plan->claims[SURFACE_PROC_SURVIVOR];
    bool proven = loop->outcome->survivors_seen_gone && !loop->guard_lost;

    if (claim->by_count == 0)
        return;
    claim->tried = 1;
    claim->by[0].evidence = proven ? EVIDENCE_ATTESTED : EVIDENCE_PROBED;
    if (!proven && claim->state > STATE_PARTIAL) {
        claim->state = STATE_PARTIAL;
        claim->reason = loop->guard_lost ? "guard-lost" : "not-seen-gone";
    }
    claim = &loop->supervision->plan->claims[SURFACE_LIMIT_TIME];
    if (claim->by_count > 0)
        claim->by[0].evidence = EVIDENCE_ATTESTED;
}

static struct loop the_loop; /* one run per process */

int supervise_prepare(struct supervision *supervision)
{
    the_loop = (struct loop){.supervision = supervision, .outcome = &supervision->report->outcome};
    return start_loop(&the_loop);
}

static void close_handle(uv_handle_t *handle, void *unused)
{
    (void)unused;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

void supervise_release(void)
{
    if (!the_loop.started)
        return;
    uv_walk(&the_loop.uv, close_handle, NULL);
    uv_run(&the_loop.uv, UV_RUN_DEFAULT);
    uv_loop_close(&the_loop.uv);
    the_loop.started = false;
}

/* From now on signals come in, and the time limit runs. Timers and dispositions that are valid cannot fail.
 */
static void go(struct loop *loop)
{
    const struct supervision *s = loop->supervision;
    sigset_t set;

    uv_update_time(&loop->uv);
    if (s->resolved->policy->limit_time_ms)
        uv_timer_start(&loop->limit, on_limit, s->resolved->policy->limit_time_ms, 0);
    if (relays_wake(s->relays))
        uv_timer_start(&loop->wake, on_wake, WAKE_MS, WAKE_MS);
    signal_set(&set);
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* The process in front was stopped before `go`. Where its end cannot be waited for it goes on at once, and
 * nothing is counted. */
static void hold_front(struct loop *loop)
{
    const struct supervision *s = loop->supervision;

    if (!s->plan->foreign)
        return;
    loop->held.data = loop;
    loop->holding = uv_poll_init(&loop->uv, &loop->held, s->command_fd) == 0;
    if (!loop->holding || uv_poll_start(&loop->held, UV_READABLE, on_held) != 0)
        let_front_end(loop);
    if (!loop->holding)
        foreign_release(s->process);
}

void supervise(struct supervision *supervision)
{
    struct loop *loop = &the_loop;

    go(loop);
    hold_front(loop);
    reap(loop); /* it may have ended before there was anybody to be told */
    if (loop->phase != PHASE_GONE)
        uv_run(&loop->uv, UV_RUN_DEFAULT);
    read_channel(loop);
    relays_drain(supervision->relays);
    supervision->liveness = fd_close(supervision->liveness);
    if (supervision->plan->foreign)
        loop->status = foreign_status(supervision->command_fd, loop->status);
    fill_outcome(loop);
    judge_survivors(loop);
}
