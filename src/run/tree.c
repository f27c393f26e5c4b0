/*
 * tree.c - the processes of a run: signalled, counted, ended, and seen gone.
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
#include "run/tree.h"

#include "kernel/cgroup.h"
#include "kernel/children.h"
#include "links/kernel_abi.h"
#include "run/foreign.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define GONE_MS    10000 /* how long killed processes may take to be gone */
#define SWEEP_MS   5
#define WAIT_MS    20
#define LAST_TRIES 200 /* about 30 us */

#define PIDFD_TO_GROUP                                                                                       \
    4 /* PIDFD_SIGNAL_PROCESS_GROUP, Linux 6.9: the group that the process leads or has led */

static void on_sweep(uv_timer_t *timer);

/* The command is no child of ours: when it has ended, its number may be another's, and while others of the
 * run are waited for that is a long time. So its group is signalled by the pidfd, or while it is there. */
static void signal_inner_group(const struct supervision *s, int signum)
{
    struct pollfd end = {.fd = s->command_fd, .events = POLLIN};

    if (!s->plan->foreign &&
        kernel_call(SYS_pidfd_send_signal, s->command_fd, signum, 0, PIDFD_TO_GROUP, 0, 0) != -EINVAL)
        return;
    if (poll(&end, 1, 0) != 0)
        return;
    if (s->plan->foreign)
        foreign_signal_group(s->command, signum);
    else
        kill(-s->command, signum);
}

void tree_signal_group(const struct tree *tree, int signum)
{
    const struct supervision *s = tree->supervision;

    if (s->channel < 0)
        kill(s->process, signum);
    else if (s->plan->pid_namespace)
        signal_inner_group(s, signum);
    else
        kill(-s->process, signum);
}

void tree_signal_command(const struct tree *tree, int signum)
{
    const struct supervision *s = tree->supervision;

    if (s->command_fd >= 0)
        kernel_call(SYS_pidfd_send_signal, s->command_fd, signum, 0, 0, 0, 0);
    else
        kill(s->command, signum);
}

bool tree_command_gone(const struct tree *tree)
{
    const struct supervision *s = tree->supervision;
    struct pollfd end = {.fd = s->command_fd, .events = POLLIN};

    /* Behind a process in front that waits for all, the command is not ours to reap. */
    return tree->ended || (s->resolved->policy->wait_all && s->command_fd >= 0 && poll(&end, 1, 0) == 1);
}

void tree_end_waiting(struct tree *tree, int signum)
{
    if (tree->phase >= PHASE_ENDING || !tree->supervision->resolved->policy->wait_all ||
        !tree_command_gone(tree))
        return;
    tree->cut = signum;
    tree_kill(tree);
}

void tree_cancel(const struct tree *tree)
{
    const struct supervision *s = tree->supervision;

    if (s->plan->joined && s->liveness >= 0 && !tree->ended)
        send(s->liveness, "c", 1, MSG_NOSIGNAL | MSG_DONTWAIT); /* refused only by one that is gone */
}

/* Lets the process in front of the command end, and with it all that is left. */
static void let_front_end(struct tree *tree)
{
    const struct supervision *s = tree->supervision;

    if (!tree->holding)
        return;
    tree->holding = false;
    uv_close((uv_handle_t *)&tree->held, NULL);
    tree->outcome->survivors_killed += foreign_left(s->process, s->command);
    foreign_release(s->process);
}

/* The command behind a foreign process has ended. In --wait-all the sweep looks until nothing is left. */
static void on_held(uv_poll_t *handle, int status, int events)
{
    struct tree *tree = handle->data;
    const struct supervision *s = tree->supervision;

    (void)status;
    (void)events;
    uv_poll_stop(handle);
    if (s->resolved->policy->wait_all && tree->phase == PHASE_RUNNING)
        uv_timer_start(&tree->sweep, on_sweep, 0, WAIT_MS);
    else
        let_front_end(tree);
}

static void on_sweep(uv_timer_t *timer)
{
    struct tree *tree = timer->data;

    if (tree->phase < PHASE_ENDING) {
        const struct supervision *s = tree->supervision;

        if (foreign_left(s->process, s->command) > 0)
            return;
        uv_timer_stop(timer);
        let_front_end(tree);
        return;
    }
    if (tree->supervision->groups && !tree->supervision->guard && !tree->supervision->plan->pid_namespace)
        cgroups_kill(tree->supervision->groups); /* whom we do not see as children as well, and at once */
    children_kill(tree->guard_ended ? 0 : tree->supervision->guard);
    tree_reap(tree);
}

static void on_gone(uv_timer_t *timer)
{
    struct tree *tree = timer->data;

    tree->outcome->survivors_seen_gone = false;
    tree->phase = PHASE_GONE;
    uv_stop(tree->uv);
}

void tree_kill(struct tree *tree)
{
    struct supervision *s = tree->supervision;
    bool told; /* the process in front ends after the command, and tells what was left: it gets the time to */

    if (tree->phase >= PHASE_ENDING)
        return;
    tree->phase = PHASE_ENDING;
    told = s->plan->pid_namespace && !s->plan->foreign && !tree->ended;
    let_front_end(tree);
    /* First, so that the command's end is not taken for an ordinary one, behind which others may live on. */
    if (told && (s->plan->joined || s->resolved->policy->wait_all))
        shutdown(s->liveness, SHUT_WR);
    if (told)
        tree_signal_command(tree, SIGKILL);
    else if (!tree->ended)
        kill(s->process, SIGKILL);
    /* Nobody is left who could fork: then the guard is ended by us, without going through all processes. */
    tree->last = tree->ended && s->guard && !tree->guard_ended && children_only(s->guard);
    if (tree->last) {
        kill(s->guard, SIGKILL);
        supervise_emptied(s);
    }
    if (!told)
        s->liveness = fd_close(s->liveness);
    uv_timer_start(&tree->gone, on_gone, GONE_MS, 0);
    /* The backend none confines nothing and kills nothing that it did not start. */
    if (s->channel >= 0)
        uv_timer_start(&tree->sweep, on_sweep, told || (s->guard && !tree->guard_ended) ? 20 * SWEEP_MS : 0,
                       SWEEP_MS);
}

/* A pid namespace is empty by the time that the process in front of it ends: it has told how many were left.
 */
static void count_left(struct tree *tree)
{
    const struct supervision *s = tree->supervision;
    uint32_t left;

    if (s->plan->pid_namespace &&
        recv(s->liveness, &left, sizeof(left), MSG_DONTWAIT) == (ssize_t)sizeof(left))
        tree->outcome->survivors_killed += left;
}

static void command_ended(struct tree *tree, int status)
{
    tree->ended = true;
    count_left(tree);
    tree->status = status;
    if (tree->phase != PHASE_RUNNING)
        return;
    if (tree->supervision->resolved->policy->wait_all && tree->supervision->exec_errno == 0)
        tree->phase = PHASE_WAITING;
    else
        tree_kill(tree);
}

/* In --wait-all: is anything but the guard left? */
static bool others_left(const struct tree *tree)
{
    pid_t pids[4];
    int count = children_list(pids, ARRAY_SIZE(pids));

    for (int i = 0; i < count; i++)
        if (pids[i] != tree->supervision->guard || tree->guard_ended)
            return true;
    return count < 0;
}

static void count_reaped(struct tree *tree, pid_t pid, int status)
{
    if (children_include(pid)) /* it ended by itself, and was none of the tree; whose it is knows otherwise */
        return;
    if (pid == tree->supervision->process && !tree->ended) { /* later a stranger may have its number */
        command_ended(tree, status);
    } else if (pid == tree->supervision->guard) {
        tree->guard_ended = true;
        if (tree->phase < PHASE_ENDING) {
            tree->guard_lost = true;
            tree_kill(tree);
        }
    } else if (tree->phase == PHASE_ENDING && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
               !tree->supervision->plan->pid_namespace) { /* there it was told, or is process 1 */
        tree->outcome->survivors_killed++;
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
 * than to fall asleep and to be woken; unless a helper is to end as well, and needs the processor. Return: as
 * waitpid(). */
static pid_t take_ended(struct tree *tree, int *status)
{
    int tries = tree->last && !children_excepted() ? LAST_TRIES : 1;
    pid_t pid;

    do
        pid = waitpid(-1, status, WNOHANG | __WALL);
    while (pid == 0 && --tries > 0);
    tree->last = false;
    return pid;
}

void tree_reap(struct tree *tree)
{
    int status;
    pid_t pid;

    while ((pid = take_ended(tree, &status)) > 0)
        if (WIFSTOPPED(status))
            let_go(pid, status);
        else
            count_reaped(tree, pid, status);
    /* The command is one of them: a list without anybody is no list before it has been reaped. */
    if ((pid < 0 && errno == ECHILD) || (pid == 0 && tree->ended && children_gone())) {
        tree->outcome->survivors_seen_gone = true;
        tree->phase = PHASE_GONE;
        uv_stop(tree->uv);
        return;
    }
    if (tree->phase == PHASE_WAITING && !others_left(tree))
        tree_kill(tree);
    /* Unconfined children outlive the backend none, as they would outlive a shell. */
    if (tree->ended && tree->supervision->channel < 0) {
        tree->phase = PHASE_GONE;
        uv_stop(tree->uv);
    }
}

/* How many were left: whatever the number is, by now nobody is, and the process in front ends with its
 * mounts.
 */
static void on_told(uv_poll_t *handle, int status, int events)
{
    struct tree *tree = handle->data;
    uint32_t left;

    (void)status;
    (void)events;
    uv_poll_stop(handle);
    if (recv(tree->front, &left, sizeof(left), MSG_PEEK | MSG_DONTWAIT) == (ssize_t)sizeof(left))
        supervise_emptied(tree->supervision);
}

/* Of its own descriptor: the other one is closed where there is nobody to be told of. */
static int start_told(struct tree *tree)
{
    const struct supervision *s = tree->supervision;
    int r;

    if (!s->plan->pid_namespace || s->plan->foreign || s->plan->joined)
        return 0;
    tree->front = fd_copy(s->liveness, 3);
    if (tree->front < 0)
        return -errno;
    tree->told.data = tree;
    r = uv_poll_init(tree->uv, &tree->told, tree->front);
    return r < 0 ? r : uv_poll_start(&tree->told, UV_READABLE, on_told);
}

void tree_release(struct tree *tree)
{
    if (tree->front < 0)
        return;
    uv_poll_stop(&tree->told);
    tree->front = fd_close(tree->front);
}

int tree_start(struct tree *tree, struct supervision *supervision, uv_loop_t *uv)
{
    int r = uv_timer_init(uv, &tree->sweep);

    children_prepare();
    tree->supervision = supervision;
    tree->status = SIGKILL; /* where it is never told: 0 would say that all was well */
    tree->outcome = &supervision->report->outcome;
    tree->uv = uv;
    if (r == 0)
        r = uv_timer_init(uv, &tree->gone);
    tree->sweep.data = tree->gone.data = tree->held.data = tree;
    return r < 0 ? r : start_told(tree);
}

void tree_hold_front(struct tree *tree)
{
    const struct supervision *s = tree->supervision;

    if (!s->plan->foreign)
        return;
    tree->holding = uv_poll_init(tree->uv, &tree->held, s->command_fd) == 0;
    if (!tree->holding || uv_poll_start(&tree->held, UV_READABLE, on_held) != 0)
        let_front_end(tree);
    if (!tree->holding)
        foreign_release(s->process);
}
