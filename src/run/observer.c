/*
 * observer.c - between the observer and the report.
 *
 * Theory of operation. The observer is a child that no list of children shows: it is no part of the tree. It
 * tells each refusal as a packet on a wire, and how often it came at the end; its end before ours is the end
 * of the run, because every call that it would have answered fails from then on.
 *
 * Should:  believe nothing of a packet that it can check: the observer reads what the command wrote.
 * Mustn't: wait for the observer while the command runs, or for long afterwards.
 */
#include "run/observer.h"

#include "kernel/children.h"
#include "links/observe_calls.h"
#include "run/channel.h"
#include "run/control.h"
#include "run/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAKE_MS 2
#define LAST_MS 5000 /* how long the observer may take to tell the rest */

void observer_clear(struct observer *observer)
{
    *observer = (struct observer){.wire = -1, .theirs = -1};
}

int observer_begin(struct observer *observer, const struct resolved *resolved, const struct plan *plan,
                   struct report *report, struct control *control)
{
    int ends[2];

    observer->wanted = plan->observed;
    observer->outlives = plan->joined;
    observer->resolved = resolved;
    observer->report = report;
    observer->control = control;
    if (!observer->wanted)
        return 0;
    denials_free(&report->denials);
    report->denials.channel = "none";
    report->denials.reason = "not-started";
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -errno;
    observer->wire = ends[0];
    observer->theirs = ends[1];
    return fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0 ? 0 : -errno;
}

/* What was looked at, by the names of the surfaces. */
static void note_covered(struct denial_list *denials, unsigned asked)
{
    static const struct {
        unsigned when;
        enum surface surface;
    } covered[] = {
        {OBSERVE_ALWAYS, SURFACE_FS_WRITE},  {OBSERVE_ALWAYS, SURFACE_FS_TRUNCATE},
        {OBSERVE_ALWAYS, SURFACE_FS_DEVICE}, {OBSERVE_METADATA, SURFACE_FS_METADATA},
        {OBSERVE_READING, SURFACE_FS_READ},  {OBSERVE_READING, SURFACE_FS_HIDDEN},
        {OBSERVE_NETWORK, SURFACE_NET_TCP},  {OBSERVE_NETWORK, SURFACE_NET_UDP},
    };

    denials->cover_count = 0;
    for (size_t i = 0; i < ARRAY_SIZE(covered); i++)
        if (covered[i].when == OBSERVE_ALWAYS || (asked & 1U << covered[i].when))
            denials->covers[denials->cover_count++] = surface_table[covered[i].surface].name;
}

/* Ends it, and reaps it unless the tree has done so. */
static void see_gone(struct observer *observer, bool kills)
{
    if (observer->pid <= 0)
        return;
    if (kills) {
        kill(observer->pid, SIGKILL);
        shutdown(observer->wire, SHUT_RDWR); /* its end is the observer's as well */
    }
    while (waitpid(observer->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    children_include(observer->pid);
    observer->pid = 0;
}

/* The child closes everything of the run's before anything else. */
int observer_start(struct observer *observer, const struct plan *plan, const char *tmp)
{
    struct observe_setup setup = {.wire = observer->theirs,
                                  .resolved = observer->resolved,
                                  .plan = plan,
                                  .supervisor = getpid(),
                                  .outlives = plan->joined,
                                  .tmp = tmp};
    pid_t pid;

    if (!observer->wanted)
        return 0;
    pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0)
        observe_serve(&setup);
    observer->pid = pid;
    observer->theirs = fd_close(observer->theirs);
    children_except(pid);
    return 0;
}

/* It has given up all that it must not have, or it has ended, or takes too long. Return: 0 or -errno. */
static int await_ready(const struct observer *observer)
{
    struct pollfd ready = {.fd = observer->wire, .events = POLLIN};
    struct observe_message message;
    const ssize_t size = (ssize_t)offsetof(struct observe_message, name);
    int r;

    do
        r = poll(&ready, 1, LAST_MS);
    while (r < 0 && errno == EINTR);
    if (r <= 0)
        return r < 0 ? -errno : -ETIMEDOUT;
    return recv(observer->wire, &message, (size_t)size, 0) == size && message.type == OBSERVE_MESSAGE_READY
               ? 0
               : -EPIPE;
}

int observer_take(struct observer *observer, int listener, int errnum, pid_t writer, const struct plan *plan)
{
    int r;

    if (!observer->wanted || observer->observed != 0 || writer <= 0)
        return -EPROTO;
    observer->observed = writer;
    if (listener < 0) {
        observer->report->denials.reason = errnum == EBUSY ? "another-observer" : "kernel-refuses";
        see_gone(observer, true);
        return 0;
    }
    r = await_ready(observer);
    if (r == 0)
        r = channel_send(observer->wire, "l", 1, &listener, 1);
    if (r < 0)
        return r;
    observer->report->denials.channel = "observer";
    observer->report->denials.reason = "not-ended";
    note_covered(&observer->report->denials, plan_observed(observer->resolved, plan));
    return 0;
}

bool observer_waits(const struct observer *observer)
{
    return observer->wanted && observer->observed == 0;
}

int observer_adopt(const struct observer *observer, pid_t command)
{
    return observer->observed == 0 || observer->observed == command ? 0 : -EPROTO;
}

int observer_go(const struct observer *observer)
{
    if (observer->pid <= 0)
        return 0;
    return send(observer->wire, "g", 1, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

/* --- what it tells ---------------------------------------------------------------------------------------
 */

static void take_new(struct observer *observer, const struct observe_message *message)
{
    struct denial_list *denials = &observer->report->denials;
    const char *name = message->name;
    struct denial denial = {.surface = (enum surface)message->surface,
                            .operation = (enum denial_operation)message->operation,
                            .noise = (enum denial_noise)message->noise,
                            .path = message->is_address ? NULL : (char *)(uintptr_t)name,
                            .address = message->is_address ? (char *)(uintptr_t)name : NULL,
                            .executable =
                                *message->executable ? (char *)(uintptr_t)message->executable : NULL,
                            .pid = message->pid,
                            .count = message->count,
                            .by_mode = message->by_mode};

    if (message->index >= OBSERVE_RECORDS || observer->known[message->index] || !*name ||
        message->surface >= SURFACE_COUNT || message->operation <= DENIAL_NOTHING ||
        message->operation >= DENIAL_OPERATIONS || message->rule >= DENIAL_RULES ||
        message->noise >= DENIAL_NOISES || (!message->is_address && name[0] != '/') ||
        denials_add(denials, observer->resolved, &denial, (enum denial_rule)message->rule,
                    message->rule_index) < 0) {
        denials->lost++;
        return;
    }
    observer->known[message->index] = (uint32_t)denials->count;
    if (observer->control)
        control_denials(observer->control, observer->report);
}

static void take_message(struct observer *observer, struct observe_message *message, size_t size)
{
    struct denial_list *denials = &observer->report->denials;

    ((char *)message)[size < sizeof(*message) ? size : sizeof(*message) - 1] = '\0';
    message->executable[OBSERVE_PROGRAM - 1] = '\0';
    switch (message->type) {
    case OBSERVE_MESSAGE_NEW:
        take_new(observer, message);
        break;
    case OBSERVE_MESSAGE_COUNT:
        if (message->index < OBSERVE_RECORDS && observer->known[message->index])
            denials->items[observer->known[message->index] - 1].count = message->count;
        break;
    case OBSERVE_MESSAGE_END:
        observer->ended = true;
        denials->known = true;
        denials->reason = NULL;
        denials->lost += message->count;
        denials->unreadable = message->unreadable;
        break;
    default:
        denials->lost++;
    }
}

/* Return: was there a message? false at the end, and where there is none yet (@ret_gone tells). */
static bool take_one(struct observer *observer, bool *ret_gone)
{
    static struct observe_message message;
    ssize_t got = recv(observer->wire, &message, sizeof(message), MSG_DONTWAIT);

    *ret_gone = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
    if (got < (ssize_t)offsetof(struct observe_message, name))
        return false;
    take_message(observer, &message, (size_t)got);
    return true;
}

static void on_told(uv_poll_t *handle, int status, int events)
{
    struct observer *observer = handle->data;
    bool gone = false;

    (void)status;
    (void)events;
    while (take_one(observer, &gone))
        ;
    if (!gone)
        return;
    uv_poll_stop(handle);
    supervise_limit(observer->supervision, "observer", true);
}

/* --- in the loop -----------------------------------------------------------------------------------------
 */

static int start_observer(void *self, struct supervision *supervision, uv_loop_t *uv)
{
    struct observer *observer = self;

    observer->supervision = supervision;
    observer->poll.data = observer;
    return uv_poll_init(uv, &observer->poll, observer->wire);
}

static void go_observer(void *self)
{
    struct observer *observer = self;

    /* It was begun with a descriptor that can be waited for. */
    if (observer->pid > 0)
        uv_poll_start(&observer->poll, UV_READABLE, on_told);
}

/* The rest of what it has to tell: the run is over, and so is its work. */
static void end_observer(void *self)
{
    struct observer *observer = self;
    uint64_t until = supervise_now_ns() + LAST_MS * 1000000ULL;
    bool gone = observer->pid <= 0;

    uv_poll_stop(&observer->poll);
    if (!gone) {
        shutdown(observer->wire, SHUT_WR);
        kill(observer->pid, OBSERVE_SIGNAL);
    }
    while (!gone && supervise_now_ns() < until) {
        struct pollfd ready = {.fd = observer->wire, .events = POLLIN};

        /* It may wait for a call. The signal that comes just before it does is lost, so there are more. */
        if (!take_one(observer, &gone) && !gone && poll(&ready, 1, WAKE_MS) == 0)
            kill(observer->pid, OBSERVE_SIGNAL);
    }
    if (observer->outlives && gone && waitpid(observer->pid, NULL, WNOHANG) == 0) {
        children_include(observer->pid); /* it stays as long as whoever is left in the session asks it */
        observer->pid = 0;
    }
    see_gone(observer, !gone);
    observer->wire = fd_close(observer->wire);
}

const struct part_calls observer_part = {.start = start_observer, .go = go_observer, .end = end_observer};

void observer_abandon(struct observer *observer)
{
    see_gone(observer, true);
    observer->wire = fd_close(observer->wire);
    observer->theirs = fd_close(observer->theirs);
}
