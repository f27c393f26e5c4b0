/*
 * supervise.c - the loop from `go` to the end of the last process: signals, the time limit, the parts.
 *
 * Theory of operation. Signals are blocked from supervise_block() on and read from a descriptor. Each goes on
 * to the command, whatever it is: a timer that our caller has set before it became us (`alarm`, then exec),
 * or a number that only the two of them know. Not taken are those that the kernel stops or ends us by:
 * SIGTTIN and SIGTTOU, SIGKILL, SIGSTOP, and what says that a program is broken (SIGSEGV and the like), which
 * ends us and so the run, as SIGKILL does. SIGPIPE and SIGXFSZ stay pending for good: the write says it.
 *
 * Should:  let every signal mean to the command what it would mean without us, and end the run by SIGKILL
 *          when the time of grace is over.
 * Mustn't: lose what arrives before the loop runs; end by a signal without a report.
 */
#include "run/supervise.h"

#include "links/channel.h"
#include "links/kernel_abi.h"
#include "run/channel.h"
#include "run/foreign.h"
#include "run/tree.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SIGNAL_MOST      64
#define SIGNALS_AT_ONCE  8
#define LOOP_DESCRIPTORS 8 /* an epoll, a few pipes */

#define BIT(SIGNAL) (UINT64_C(1) << ((SIGNAL)-1))
#define NOT_BLOCKED                                                                                          \
    (BIT(SIGKILL) | BIT(SIGSTOP) | BIT(SIGTTIN) | BIT(SIGTTOU) | BIT(SIGWINCH) | BIT(SIGURG) |               \
     BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGILL) | BIT(SIGFPE) | BIT(SIGABRT) | BIT(SIGTRAP) | BIT(SIGSYS))

/* What a signal to us means beside what it means to the command. */
static const enum meaning {
    MEANS_NOTHING = 0,
    MEANS_TIME,  /* a timer of the caller's: who is only waited for has no time left either */
    MEANS_TYPED, /* a key: for all of the command's group; and who is only waited for is to end */
    MEANS_END,   /* the time of grace begins */
    MEANS_HALT,  /* for the group; we go on */
    MEANS_STOP,  /* we stop as well */
    MEANS_GO_ON,
} meanings[SIGNAL_MOST + 1] = {
    [SIGALRM] = MEANS_TIME, [SIGVTALRM] = MEANS_TIME, [SIGPROF] = MEANS_TIME,  [SIGXCPU] = MEANS_TIME,
    [SIGINT] = MEANS_TYPED, [SIGQUIT] = MEANS_TYPED,  [SIGTERM] = MEANS_END,   [SIGHUP] = MEANS_END,
    [SIGSTOP] = MEANS_HALT, [SIGTSTP] = MEANS_STOP,   [SIGCONT] = MEANS_GO_ON,
};

static const char limit_time[] = "time"; /* the one with an outcome and a status of its own */

struct loop {
    struct supervision *supervision;
    struct tree tree;
    const char *limit; /* which one ended the run; NULL: none */
    uv_loop_t uv;
    uv_timer_t time, grace;
    uv_poll_t channel, signals;
    int signals_fd;
    bool channel_open;
    bool started; /* `uv` is there */
    struct rusage before;
};

uint64_t supervise_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* Not the libc's: it keeps a few numbers to itself, and by those we would end. */
static int set_mask(int how, uint64_t mask)
{
    return (int)kernel_call(SYS_rt_sigprocmask, how, KERNEL_PTR(&mask), 0, sizeof(mask), 0, 0);
}

int supervise_block(void)
{
    uint64_t seen = 0;
    int r = set_mask(SIG_BLOCK, ~NOT_BLOCKED);

    if (r == 0)
        r = (int)kernel_call(SYS_rt_sigprocmask, SIG_BLOCK, 0, KERNEL_PTR(&seen), sizeof(seen), 0, 0);
    return r < 0 ? r : ~seen & ~NOT_BLOCKED ? -EINVAL : 0;
}

/* By nohup(1): the end of a terminal is to mean nothing to whatever it starts. What is blocked comes to us
 * all the same, ignored or not. */
static bool hangup_ignored(void)
{
    struct sigaction action;

    return sigaction(SIGHUP, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

uint64_t supervise_signals(void)
{
    return ~(NOT_BLOCKED | BIT(SIGPIPE) | BIT(SIGXFSZ) | (hangup_ignored() ? BIT(SIGHUP) : 0));
}

void supervise_stop_self(void)
{
    struct sigaction ours, by_default = {.sa_handler = SIG_DFL};

    if (sigaction(SIGTSTP, &by_default, &ours) != 0)
        return;
    raise(SIGTSTP);
    set_mask(SIG_UNBLOCK, BIT(SIGTSTP));
    set_mask(SIG_BLOCK, BIT(SIGTSTP));
    sigaction(SIGTSTP, &ours, NULL);
}

/* --- events --------------------------------------------------------------------------------------------- */

static void on_grace(uv_timer_t *timer)
{
    tree_kill(&((struct loop *)timer->data)->tree);
}

static void start_grace(struct loop *loop)
{
    uint64_t grace = loop->supervision->resolved->policy->grace_ms;

    tree_cancel(&loop->tree); /* before the signal: the command may end by it at once */
    if (!uv_is_active((uv_handle_t *)&loop->grace))
        uv_timer_start(&loop->grace, on_grace, grace, 0);
}

void supervise_limit(struct supervision *supervision, const char *name, bool at_once)
{
    struct loop *loop = supervision->loop;

    if (!loop->limit) {
        loop->limit = name;
        for (size_t i = 0; i < supervision->part_count; i++)
            if (supervision->parts[i].calls->limited)
                supervision->parts[i].calls->limited(supervision->parts[i].self, name);
    }
    if (at_once || tree_command_gone(&loop->tree)) {
        tree_kill(&loop->tree);
        return;
    }
    start_grace(loop);
    tree_signal_group(&loop->tree, SIGTERM);
    tree_signal_group(&loop->tree, SIGCONT); /* who is stopped would not see it within the grace */
}

static void on_time(uv_timer_t *timer)
{
    struct loop *loop = timer->data;

    supervise_limit(loop->supervision, limit_time, false);
}

void supervise_kill(struct supervision *supervision)
{
    tree_end_waiting(&supervision->loop->tree, SIGKILL);
    tree_kill(&supervision->loop->tree);
}

int supervise_resize(struct supervision *supervision, unsigned columns, unsigned rows)
{
    for (size_t i = 0; i < supervision->part_count; i++)
        if (supervision->parts[i].calls->resize)
            return supervision->parts[i].calls->resize(supervision->parts[i].self, columns, rows);
    return -ENOTTY;
}

int supervise_close_input(struct supervision *supervision)
{
    int r = -ENOTTY;

    for (size_t i = 0; i < supervision->part_count && r == -ENOTTY; i++)
        if (supervision->parts[i].calls->close_input)
            r = supervision->parts[i].calls->close_input(supervision->parts[i].self);
    return r;
}

int supervise_allow(struct supervision *supervision, const char *rule, struct error *error)
{
    for (size_t i = 0; i < supervision->part_count; i++)
        if (supervision->parts[i].calls->allow)
            return supervision->parts[i].calls->allow(supervision->parts[i].self, rule, error);
    return error_set(error, ERROR_USAGE, EINVAL, "no-list", "allow: the command's network has no list");
}

void supervise_answered(struct supervision *supervision, const char *rule, const struct error *refused)
{
    for (size_t i = 0; i < supervision->part_count; i++)
        if (supervision->parts[i].calls->answered)
            supervision->parts[i].calls->answered(supervision->parts[i].self, rule, refused);
}

int supervise_answer(struct supervision *supervision, uint32_t id, unsigned answer, struct error *error)
{
    for (size_t i = 0; i < supervision->part_count; i++)
        if (supervision->parts[i].calls->answer)
            return supervision->parts[i].calls->answer(supervision->parts[i].self, id, answer, error);
    return error_set(error, ERROR_USAGE, EINVAL, "nothing-asked", "answer: nothing is asked without --ask");
}

void supervise_connection(struct supervision *supervision, const struct connection *connection)
{
    for (size_t i = 0; i < supervision->part_count; i++)
        if (supervision->parts[i].calls->connection)
            supervision->parts[i].calls->connection(supervision->parts[i].self, connection);
}

static void call_parts(const struct supervision *supervision, size_t offset)
{
    for (size_t i = 0; i < supervision->part_count; i++) {
        const struct part *part = &supervision->parts[i];
        void (*call)(void *self);

        memcpy(&call, (const char *)part->calls + offset, sizeof(call));
        if (call)
            call(part->self);
    }
}

void supervise_emptied(struct supervision *supervision)
{
    call_parts(supervision, offsetof(struct part_calls, emptied));
}

static bool ends_waiting(enum meaning meaning)
{
    return meaning == MEANS_TIME || meaning == MEANS_TYPED || meaning == MEANS_END;
}

void supervise_signal(struct supervision *supervision, int signum)
{
    struct tree *tree = &supervision->loop->tree;
    enum meaning meaning = signum > 0 && signum <= SIGNAL_MOST ? meanings[signum] : MEANS_NOTHING;

    if (tree_command_gone(tree)) {
        if (ends_waiting(meaning))
            tree_end_waiting(tree, signum);
        return;
    }
    if (meaning == MEANS_STOP) { /* the terminal cannot stop the command, whose session is another: we do */
        tree_signal_group(tree, SIGSTOP);
        call_parts(supervision, offsetof(struct part_calls, stop));
        supervise_stop_self();
        signum = SIGCONT;
        meaning = MEANS_GO_ON;
    }
    if (meaning == MEANS_GO_ON)
        call_parts(supervision, offsetof(struct part_calls, cont));
    if (meaning == MEANS_END)
        start_grace(supervision->loop);
    if (meaning >= MEANS_HALT || meaning == MEANS_TYPED)
        tree_signal_group(tree, signum);
    else
        tree_signal_command(tree, signum);
}

/* SIGCHLD last: it decides about the end, and the others came while the command was there. */
static void on_signals(uv_poll_t *handle, int status, int events)
{
    struct loop *loop = handle->data;
    struct signalfd_siginfo taken[SIGNALS_AT_ONCE];
    bool child = false;
    ssize_t size;

    (void)status;
    (void)events;
    while ((size = read(loop->signals_fd, taken, sizeof(taken))) > 0)
        for (size_t i = 0; i < (size_t)size / sizeof(taken[0]); i++)
            if (taken[i].ssi_signo == SIGCHLD)
                child = true;
            else
                supervise_signal(loop->supervision, (int)taken[i].ssi_signo);
    if (child)
        tree_reap(&loop->tree);
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
    if (loop->supervision->exec_errno == 0)
        call_parts(loop->supervision, offsetof(struct part_calls, started));
}

static void on_channel(uv_poll_t *handle, int status, int events)
{
    (void)status;
    (void)events;
    read_channel(handle->data);
}

/* --- the loop ------------------------------------------------------------------------------------------- */

static int start_signals(struct loop *loop)
{
    uint64_t taken = supervise_signals();
    int r;

    loop->signals_fd = (int)kernel_call(SYS_signalfd4, -1, KERNEL_PTR(&taken), sizeof(taken),
                                        SFD_NONBLOCK | SFD_CLOEXEC, 0, 0);
    if (loop->signals_fd < 0)
        return loop->signals_fd;
    loop->signals.data = loop;
    r = uv_poll_init(&loop->uv, &loop->signals, loop->signals_fd);
    return r < 0 ? r : uv_poll_start(&loop->signals, UV_READABLE, on_signals);
}

/* Can as many descriptors be opened as libuv takes at once? Where it fails to, it ends the process. One is
 * made, for what the whole machine may have; the others stand for it. */
static int check_room(void)
{
    int fds[LOOP_DESCRIPTORS], r = 0;
    size_t count = 0;

    while (count < LOOP_DESCRIPTORS && r == 0) {
        fds[count] = count == 0 ? eventfd(0, EFD_CLOEXEC) : dup(fds[0]);
        r = fds[count] < 0 ? -errno : 0;
        count += r == 0;
    }
    while (count > 0)
        close(fds[--count]);
    return r;
}

static int start_loop(struct loop *loop)
{
    struct supervision *s = loop->supervision;
    uv_timer_t *const timers[] = {&loop->time, &loop->grace};
    int r = check_room();

    if (r == 0)
        r = uv_loop_init(&loop->uv);
    loop->started = r == 0;
    for (size_t i = 0; i < ARRAY_SIZE(timers) && r == 0; i++) {
        r = uv_timer_init(&loop->uv, timers[i]);
        timers[i]->data = loop;
    }
    if (r == 0)
        r = start_signals(loop);
    if (r == 0)
        r = tree_start(&loop->tree, s, &loop->uv);
    if (r == 0 && s->channel >= 0) {
        r = uv_poll_init(&loop->uv, &loop->channel, s->channel);
        loop->channel.data = loop;
        loop->channel_open = r == 0;
        if (r == 0)
            r = uv_poll_start(&loop->channel, UV_READABLE, on_channel);
    }
    for (size_t i = 0; i < s->part_count && r == 0; i++)
        if (s->parts[i].calls->start)
            r = s->parts[i].calls->start(s->parts[i].self, s, &loop->uv);
    return r;
}

static uint64_t cpu_ms(const struct rusage *usage)
{
    return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000U +
           (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1000U;
}

/* What the chain and the command have used: neither what was swept before them, nor the observer and the
 * gateway, which are waited for later. */
static void fill_usage(const struct loop *loop)
{
    struct outcome *outcome = &loop->supervision->report->outcome;
    struct rusage usage = {0};

    getrusage(RUSAGE_CHILDREN, &usage);
    outcome->cpu_ms = cpu_ms(&usage) - cpu_ms(&loop->before);
    outcome->max_rss_kib = (uint64_t)usage.ru_maxrss;
}

static void fill_outcome(struct loop *loop)
{
    struct outcome *outcome = &loop->supervision->report->outcome;
    const struct policy *policy = loop->supervision->resolved->policy;
    int status = loop->tree.status;

    outcome->wall_ms = (supervise_now_ns() - loop->supervision->started_ns) / 1000000U;
    if (outcome->cpu_ms < loop->supervision->cpu_ms)
        outcome->cpu_ms = loop->supervision->cpu_ms;
    outcome->status = -1;
    if (loop->tree.guard_lost && !loop->limit)
        loop->limit = "guard";
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ && !loop->limit && policy->limit_file_size)
        loop->limit = "file_size";
    /* The command by itself has used up what each process may have; the second signal comes a second later.
     */
    if (WIFSIGNALED(status) && !loop->limit && policy->limit_cpu_ms &&
        (WTERMSIG(status) == SIGXCPU ||
         (WTERMSIG(status) == SIGKILL && outcome->cpu_ms >= policy->limit_cpu_ms)))
        loop->limit = "cpu";
    if (loop->supervision->exec_errno) {
        outcome->kind = OUTCOME_NOT_STARTED;
    } else if (loop->limit) {
        outcome->kind = loop->limit == limit_time ? OUTCOME_TIMED_OUT : OUTCOME_LIMIT;
        outcome->limit = loop->limit;
    } else if (WIFSIGNALED(status)) {
        outcome->kind = OUTCOME_SIGNALED;
        outcome->signal = WTERMSIG(status);
    } else {
        outcome->kind = OUTCOME_EXITED;
        outcome->status = WEXITSTATUS(status);
    }
}

/* What can be said of survivors only now. */
static void judge_survivors(struct loop *loop)
{
    struct claim *claim = &loop->supervision->plan->claims[SURFACE_PROC_SURVIVOR];
    bool proven = loop->supervision->group_empty ||
                  (loop->supervision->report->outcome.survivors_seen_gone && !loop->tree.guard_lost);

    if (claim->by_count == 0)
        return;
    if (claim->by[0].mechanism == MECHANISM_CGROUP)
        proven = loop->supervision->group_empty;
    claim->tried = 1;
    claim->by[0].evidence = loop->supervision->plan->runner ? EVIDENCE_DECLARED
                            : proven                        ? EVIDENCE_ATTESTED
                                                            : EVIDENCE_PROBED;
    if (!proven && claim->state > STATE_PARTIAL) {
        claim->state = STATE_PARTIAL;
        claim->reason = loop->tree.guard_lost ? "guard-lost" : "not-seen-gone";
    }
}

/* The supervisor's own limits held, or it would not be here. */
static void judge_own_limits(struct loop *loop)
{
    static const enum surface own[] = {SURFACE_LIMIT_TIME, SURFACE_LIMIT_OUTPUT};

    for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
        struct claim *claim = &loop->supervision->plan->claims[own[i]];

        if (claim->by_count > 0)
            claim->by[0].evidence = EVIDENCE_ATTESTED;
    }
}

static struct loop the_loop; /* one run per process */

int supervise_prepare(struct supervision *supervision)
{
    the_loop = (struct loop){.supervision = supervision, .signals_fd = -1, .tree.front = -1};
    supervision->loop = &the_loop;
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
    tree_release(&the_loop.tree);
    uv_walk(&the_loop.uv, close_handle, NULL);
    uv_run(&the_loop.uv, UV_RUN_DEFAULT);
    uv_loop_close(&the_loop.uv);
    the_loop.signals_fd = fd_close(the_loop.signals_fd);
    the_loop.started = false;
}

/* From now on the time limit runs. Timers that are valid cannot fail. */
static void go(struct loop *loop)
{
    const struct supervision *s = loop->supervision;

    getrusage(RUSAGE_CHILDREN, &loop->before);
    uv_update_time(&loop->uv);
    if (s->resolved->policy->limit_time_ms)
        uv_timer_start(&loop->time, on_time, s->resolved->policy->limit_time_ms, 0);
    call_parts(s, offsetof(struct part_calls, go));
    if (!loop->channel_open) /* nobody else says so */
        call_parts(s, offsetof(struct part_calls, started));
}

void supervise(struct supervision *supervision)
{
    struct loop *loop = supervision->loop;
    struct tree *tree = &loop->tree;

    go(loop);
    tree_hold_front(tree);
    tree_reap(tree); /* it may have ended before there was anybody to be told */
    if (tree->phase != PHASE_GONE)
        uv_run(&loop->uv, UV_RUN_DEFAULT);
    tree_release(tree);
    read_channel(loop);
    fill_usage(loop);
    call_parts(supervision, offsetof(struct part_calls, end));
    supervision->liveness = fd_close(supervision->liveness);
    if (supervision->plan->foreign)
        tree->status = foreign_status(supervision->command_fd, tree->status);
    if (tree->cut)
        tree->status = tree->cut;
    fill_outcome(loop);
    judge_survivors(loop);
    judge_own_limits(loop);
}
