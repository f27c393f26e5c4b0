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
#include "run/approval.h"
#include "run/audit.h"
#include "run/channel.h"
#include "run/control.h"
#include "run/gateway.h"
#include "run/reader.h"
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

#define NOT_REFUSED UINT32_MAX /* in `known` */
#define WAKE_MS     2
#define LAST_MS     5000 /* how long the observer may take to tell the rest */
#define TURN_MS     2    /* how long the rest of the loop waits for what it tells */

void observer_clear(struct observer *observer)
{
    *observer = (struct observer){.wire = -1, .theirs = -1};
}

int observer_begin(struct observer *observer, const struct resolved *resolved, const struct plan *plan,
                   struct report *report, struct control *control, struct gateway *gateway)
{
    int ends[2];

    observer->wanted = plan->observed;
    observer->outlives = plan->joined;
    observer->resolved = resolved;
    observer->report = report;
    observer->control = control;
    observer->gateway = gateway;
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

/* What was looked at, by the names of the surfaces. Reading refuses nothing but what is hidden where it is
 * not restricted. */
static void note_covered(struct denial_list *denials, unsigned asked, bool restricted)
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
        if ((covered[i].when == OBSERVE_ALWAYS || (asked & 1U << covered[i].when)) &&
            (covered[i].surface != SURFACE_FS_READ || restricted))
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
                                  .reader = observer->reader ? observer->reader->theirs : -1,
                                  .resolved = observer->resolved,
                                  .plan = plan,
                                  .command = observer->report->command ? observer->report->command[0] : NULL,
                                  .supervisor = getpid(),
                                  .asks = observer->approval != NULL,
                                  .tells_calls = observer->audit != NULL,
                                  .asks_connects = observer->approval && observer->approval->connects,
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
    if (observer->reader)
        observer->reader->theirs = fd_close(observer->reader->theirs);
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

/* Somebody waits for questions that could never come. */
static int refuse_unobserved(const struct observer *observer, int errnum)
{
    struct error *error = &observer->report->error;

    error_set(error, ERROR_SANDBOX_UNAVAILABLE, errnum, "no-approval",
              "option --ask: calls cannot be held here (%s)", observer->report->denials.reason);
    return error_hint(error, "leave --ask out");
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
        return observer->approval ? refuse_unobserved(observer, errnum) : 0;
    }
    r = await_ready(observer);
    if (r == 0 && observer->approval)
        r = approval_take(observer->approval, listener);
    if (r == 0)
        r = channel_send(observer->wire, "l", 1, &listener, 1);
    if (r < 0)
        return r;
    observer->report->denials.channel = "observer";
    observer->report->denials.reason = "not-ended";
    note_covered(&observer->report->denials, plan_observed(observer->resolved, plan),
                 observer->resolved->policy->readable_listed);
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

bool observer_read_place(const char *text, char address[NETWORK_ADDRESS], unsigned *ret_port)
{
    const char *colon = strrchr(text, ':');
    size_t skip = text[0] == '[', length = colon ? (size_t)(colon - text) : 0;

    if (length < 2 * skip + 1 || length - 2 * skip >= NETWORK_ADDRESS)
        return false;
    memcpy(address, text + skip, length - 2 * skip);
    address[length - 2 * skip] = '\0';
    *ret_port = (unsigned)strtoul(colon + 1, NULL, 10);
    return true;
}

/* What the address of a listed network stands for. @name: filled where that is known. Return: false: somebody
 * listens there by now, so it was not refused. */
static bool name_place(const struct observer *observer, const struct observe_message *message,
                       struct text *name, bool *ret_private)
{
    char address[NETWORK_ADDRESS];
    const char *known;
    unsigned port;

    if (!message->is_address || !observer->gateway->wanted ||
        !observer_read_place(message->name, address, &port))
        return true;
    if (message->surface == SURFACE_NET_LISTED && gateway_listens(observer->gateway, address, port))
        return false;
    known = gateway_name_at(observer->gateway, address);
    if (known) {
        text_addf(name, "%s:%u", known, port);
        *ret_private = gateway_is_private(observer->gateway, known);
    }
    return true;
}

/* The same refusal, by the other address of a name or of the same path. Return: 1 + its index; 0: there is
 * none. */
static size_t find_same(const struct denial_list *denials, const struct denial *like)
{
    for (size_t i = 0; i < denials->count; i++) {
        const struct denial *item = &denials->items[i];

        if (item->operation == like->operation && item->surface == like->surface &&
            text_same(item->address, like->address) && text_same(item->path, like->path))
            return i + 1;
    }
    return 0;
}

struct denial observer_denial(const struct observe_message *message, const char *label)
{
    return (struct denial){.surface = (enum surface)message->surface,
                           .operation = (enum denial_operation)message->operation,
                           .path = label ? NULL : (char *)(uintptr_t)message->name,
                           .address = (char *)(uintptr_t)label,
                           .executable = *message->executable ? (char *)(uintptr_t)message->executable : NULL,
                           .pid = message->pid,
                           .count = 1};
}

void observer_refused(struct observer *observer, const struct observe_message *message, const char *label)
{
    struct denial_list *denials = &observer->report->denials;
    struct denial denial = observer_denial(message, label);
    size_t same = find_same(denials, &denial);

    if (same)
        denials->items[same - 1].count++;
    else if (denials->count >= OBSERVE_RECORDS ||
             denials_add(denials, observer->resolved, &denial, (enum denial_rule)message->rule, 0) < 0)
        denials->lost++;
    else if (observer->control)
        control_denials(observer->control, observer->report);
}

static bool is_sound(const struct observer *observer, const struct observe_message *message)
{
    return message->index < OBSERVE_RECORDS && !observer->known[message->index] && *message->name &&
           message->surface < SURFACE_COUNT && message->operation > DENIAL_NOTHING &&
           message->operation < DENIAL_OPERATIONS && message->rule < DENIAL_RULES &&
           message->noise < DENIAL_NOISES && (message->is_address || message->name[0] == '/');
}

static void take_new(struct observer *observer, const struct observe_message *message)
{
    struct denial_list *denials = &observer->report->denials;
    struct text place = {0};
    struct denial denial = observer_denial(message, message->is_address ? message->name : NULL);
    size_t same = 0;

    if (!is_sound(observer, message)) {
        denials->lost++;
        return;
    }
    denial.noise = (enum denial_noise)message->noise;
    denial.count = message->count;
    denial.by_mode = message->by_mode;
    if (!name_place(observer, message, &place, &denial.private)) {
        observer->known[message->index] = NOT_REFUSED;
        return;
    }
    if (place.length > 0) {
        denial.address = place.data;
        same = find_same(denials, &denial);
    }
    if (same)
        denials->items[same - 1].count += message->count;
    else if (place.failed || denials_add(denials, observer->resolved, &denial,
                                         (enum denial_rule)message->rule, message->rule_index) < 0)
        denials->lost++;
    else
        same = denials->count;
    text_free(&place);
    observer->known[message->index] = (uint32_t)same;
    observer->counted[message->index] = message->count;
    if (observer->control && same)
        control_denials(observer->control, observer->report);
}

/* How often one came that is known. What a rule has allowed since then is not told apart. */
static void take_count(struct observer *observer, const struct observe_message *message)
{
    struct denial_list *denials = &observer->report->denials;
    uint32_t at = message->index < OBSERVE_RECORDS ? observer->known[message->index] : 0;
    struct denial *item = at && at != NOT_REFUSED ? &denials->items[at - 1] : NULL;

    if (!item || message->count < observer->counted[message->index] ||
        (item->surface == SURFACE_NET_LISTED && observer->gateway->added.count > 0))
        return;
    item->count += message->count - observer->counted[message->index];
    observer->counted[message->index] = message->count;
}

static void take_call(struct observer *observer, const struct observe_message *message)
{
    uint32_t at = message->index < OBSERVE_RECORDS ? observer->known[message->index] : 0;

    if (observer->audit && at != NOT_REFUSED)
        audit_call(observer->audit, message, at);
}

/* @object: came with it, and is taken over; -1: nothing did */
static void take_message(struct observer *observer, struct observe_message *message, size_t size, int object)
{
    struct denial_list *denials = &observer->report->denials;

    ((char *)message)[size < sizeof(*message) ? size : sizeof(*message) - 1] = '\0';
    message->executable[OBSERVE_PROGRAM - 1] = '\0';
    if (message->type == OBSERVE_MESSAGE_ASK && observer->approval) {
        approval_hold(observer->approval, message, object);
        return;
    }
    switch (message->type) {
    case OBSERVE_MESSAGE_NEW:
        take_new(observer, message);
        break;
    case OBSERVE_MESSAGE_COUNT:
        take_count(observer, message);
        break;
    case OBSERVE_MESSAGE_CALL:
        take_call(observer, message);
        break;
    case OBSERVE_MESSAGE_END:
        observer->ended = true;
        denials->known = true;
        denials->reason = observer->resolved->session && observer->resolved->policy->network == NETWORK_LISTED
                              ? "session-network" /* where nobody listens, the kernel refuses; who listens is
                                                     the session's to know */
                              : NULL;
        denials->lost += message->count;
        denials->unreadable = message->unreadable;
        if (observer->audit)
            observer->audit->calls_short = observer->audit->calls_short || message->call > 0;
        break;
    default:
        denials->lost++;
    }
    fd_close(object);
}

/* With the descriptor that may come along. Return: its size, or -1 with errno. */
static ssize_t take_handed(int wire, struct observe_message *message, size_t size, struct handed_over *handed)
{
    pid_t writer;
    ssize_t got = channel_receive_all(wire, message, size, 0, &writer, handed);

    errno = got == -ETIMEDOUT ? EAGAIN : got < 0 ? (int)-got : 0;
    if (got < 0)
        handed->count = 0;
    return got < 0 ? -1 : got;
}

/* Return: was there a message? false at the end (`gone` tells), and where there is none yet. */
static bool take_one(struct observer *observer)
{
    static struct observe_message message;
    struct handed_over handed = {0};
    ssize_t got = observer->approval ? take_handed(observer->wire, &message, sizeof(message), &handed)
                                     : recv(observer->wire, &message, sizeof(message), MSG_DONTWAIT);

    observer->gone = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
    if (got < (ssize_t)offsetof(struct observe_message, name)) {
        handed_close(&handed);
        return false;
    }
    take_message(observer, &message, (size_t)got, handed.count == 1 ? handed.fd[0] : -1);
    if (handed.count > 1)
        handed_close(&handed);
    return true;
}

/* A command can be refused faster than it is told of here: its time limit, and whoever wants to end it, have
 * their turn as well. What is left calls again. */
static void on_told(uv_poll_t *handle, int status, int events)
{
    struct observer *observer = handle->data;
    uint64_t until = supervise_now_ns() + TURN_MS * 1000000ULL;

    (void)status;
    (void)events;
    while (take_one(observer) && supervise_now_ns() < until)
        ;
    if (!observer->gone)
        return;
    uv_poll_stop(handle);
    if (observer->leaves)
        return;
    if (observer->report->error.code == ERROR_NONE) {
        error_set(&observer->report->error, ERROR_INTERNAL, ECONNRESET, "observer-lost",
                  "the observer of what is refused ended, and the run with it");
        error_hint(&observer->report->error, "run it again, or without it: --denials off");
    }
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

/* The run is over, and so is its work. */
static void let_leave(void *self)
{
    struct observer *observer = self;

    if (observer->pid <= 0 || observer->leaves || observer->gone)
        return;
    observer->leaves = true;
    shutdown(observer->wire, SHUT_WR);
    kill(observer->pid, OBSERVE_SIGNAL);
}

/* The rest of what it has to tell. */
static void end_observer(void *self)
{
    struct observer *observer = self;
    uint64_t until = supervise_now_ns() + LAST_MS * 1000000ULL;

    uv_poll_stop(&observer->poll);
    let_leave(observer);
    while (observer->pid > 0 && !observer->gone && supervise_now_ns() < until) {
        struct pollfd ready = {.fd = observer->wire, .events = POLLIN};

        /* It may wait for a call. The signal that comes just before it does is lost, so there are more. */
        if (!take_one(observer) && !observer->gone && poll(&ready, 1, WAKE_MS) == 0)
            kill(observer->pid, OBSERVE_SIGNAL);
    }
    if (observer->outlives && observer->gone && waitpid(observer->pid, NULL, WNOHANG) == 0) {
        children_include(observer->pid); /* it stays as long as whoever is left in the session asks it */
        observer->pid = 0;
    }
    see_gone(observer, !observer->gone);
    observer->wire = fd_close(observer->wire);
}

const struct part_calls observer_part = {
    .start = start_observer, .go = go_observer, .emptied = let_leave, .end = end_observer};

void observer_abandon(struct observer *observer)
{
    see_gone(observer, true);
    observer->wire = fd_close(observer->wire);
    observer->theirs = fd_close(observer->theirs);
}
