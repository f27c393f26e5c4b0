/*
 * audit.c - what the kernel tells of the run's refusals, held against what the observer saw.
 *
 * Theory of operation. The observer knows the whole name, and foresees; the kernel knows that it refused, and
 * of a name that was to be made or taken away only the directory. Both tell the process, the number of the
 * call and its arguments: where these are the same, it is one refusal. Both lists are kept and joined at the
 * end, because the two tellers do not wait for each other.
 *
 * Should:  add a refusal of its own only for what the observer cannot have told.
 * Mustn't: call a refusal the kernel's because it looks like one; end a run because a reader of records has
 * ended.
 */
#include "run/audit.h"

#include "kernel/audit.h"
#include "kernel/children.h"
#include "run/supervise.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLS_MOST 4096
#define TOLD_MOST  2048
#define READY_MS   5000
#define LAST_MS    2000 /* how long the reader may take to tell the rest */
#define TURN_MS    2    /* how long the rest of the loop waits for what it tells */

/* All but the handle: the loop may hold on to that, and closes it. */
void audit_clear(struct audit *audit)
{
    memset(audit, 0, offsetof(struct audit, poll));
    audit->source = audit->wire = audit->theirs = -1;
}

int audit_begin(struct audit *audit, const struct resolved *resolved, const struct plan *plan,
                struct report *report)
{
    struct audit_state state;
    int ends[2];

    audit->resolved = resolved;
    audit->plan = plan;
    audit->report = report;
    report->denials.audit = (struct denial_audit){0};
    if (!plan->audited)
        return 0;
    audit->source = audit_listen();
    if (audit->source < 0) /* it could be read a moment ago */
        return 0;
    audit->counts_lost = audit_status(&state) == 0;
    audit->lost = audit->counts_lost ? state.lost : 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -errno;
    audit->wire = ends[0];
    audit->theirs = ends[1];
    audit->wanted = true;
    return 0;
}

int audit_start(struct audit *audit)
{
    struct audit_setup setup = {.wire = audit->theirs,
                                .source = audit->source,
                                .supervisor = getpid(),
                                .outlived = audit->plan->joined,
                                .resolved = audit->resolved};
    pid_t pid;

    if (!audit->wanted)
        return 0;
    pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0)
        audit_serve(&setup);
    audit->pid = pid;
    audit->theirs = fd_close(audit->theirs);
    audit->source = fd_close(audit->source);
    children_except(pid);
    return 0;
}

int audit_adopt(struct audit *audit, pid_t command)
{
    struct audit_order order = {.pid = command};
    struct audit_message message;
    struct pollfd ready = {.fd = audit->wire, .events = POLLIN};
    int r;

    if (!audit->wanted)
        return 0;
    do
        r = poll(&ready, 1, READY_MS);
    while (r < 0 && errno == EINTR);
    if (r <= 0)
        return r < 0 ? -errno : -ETIMEDOUT;
    if (recv(audit->wire, &message, offsetof(struct audit_message, path), 0) <= 0 ||
        message.type != AUDIT_MESSAGE_READY)
        return -EPIPE;
    return send(audit->wire, &order, sizeof(order), MSG_NOSIGNAL) == (ssize_t)sizeof(order) ? 0 : -errno;
}

void audit_call(struct audit *audit, const struct observe_message *message, size_t item)
{
    struct audit_call *call;

    if (!audit->wanted || item == 0)
        return;
    if (audit->call_count >= CALLS_MOST ||
        !array_more(&audit->calls, audit->call_count, sizeof(*audit->calls))) {
        audit->calls_short = true;
        return;
    }
    call = &audit->calls[audit->call_count++];
    *call = (struct audit_call){.pid = message->pid, .call = message->call, .item = item};
    memcpy(call->arguments, message->arguments, sizeof(call->arguments));
}

/* --- what it tells ---------------------------------------------------------------------------------------
 */

static void take_refusal(struct audit *audit, const struct audit_message *message)
{
    struct audit_told *told;

    audit->report->denials.audit.refused += message->count;
    if (message->operation >= DENIAL_OPERATIONS || message->surface >= SURFACE_COUNT || message->count == 0 ||
        (message->operation != DENIAL_NOTHING && message->path[0] != '/') || audit->told_count >= TOLD_MOST ||
        !array_more(&audit->told, audit->told_count, sizeof(*audit->told))) {
        audit->short_of = true;
        return;
    }
    told = &audit->told[audit->told_count];
    *told = (struct audit_told){.call = {.pid = message->pid, .call = message->call},
                                .called = message->called,
                                .within = message->within,
                                .operation = (enum denial_operation)message->operation,
                                .surface = (enum surface)message->surface,
                                .count = message->count,
                                .path = strdup(message->path),
                                .executable = *message->executable ? strdup(message->executable) : NULL};
    memcpy(told->call.arguments, message->arguments, sizeof(told->call.arguments));
    audit->told_count += told->path != NULL;
    audit->short_of = audit->short_of || !told->path;
}

/* Return: was there a message? false at the end (`gone` tells), and where there is none yet. */
static bool take_one(struct audit *audit)
{
    static struct audit_message message;
    ssize_t got = recv(audit->wire, &message, sizeof(message), MSG_DONTWAIT);

    audit->gone = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
    if (got < (ssize_t)offsetof(struct audit_message, path))
        return false;
    ((char *)&message)[(size_t)got < sizeof(message) ? (size_t)got : sizeof(message) - 1] = '\0';
    message.executable[OBSERVE_PROGRAM - 1] = '\0';
    if (message.type == AUDIT_MESSAGE_REFUSAL)
        take_refusal(audit, &message);
    if (message.type == AUDIT_MESSAGE_END) {
        audit->ended = true;
        audit->report->denials.audit.complete =
            message.all && message.count == audit->report->denials.audit.refused;
    }
    return true;
}

static void on_told(uv_poll_t *handle, int status, int events)
{
    struct audit *audit = handle->data;
    uint64_t until = supervise_now_ns() + TURN_MS * 1000000ULL;

    (void)status;
    (void)events;
    while (take_one(audit) && supervise_now_ns() < until)
        ;
    if (audit->gone)
        uv_poll_stop(handle);
}

/* --- the join --------------------------------------------------------------------------------------------
 */

static bool is_same(const struct audit_call *one, const struct audit_call *other)
{
    return one->pid == other->pid && one->call == other->call &&
           memcmp(one->arguments, other->arguments, sizeof(one->arguments)) == 0;
}

static bool is_directory_of(const char *path, const char *directory)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash == path ? 1 : (size_t)(slash - path);

    return slash && strlen(directory) == length && memcmp(path, directory, length) == 0;
}

static bool is_alike(const struct denial *item, const struct audit_told *told)
{
    if (!item->path || item->operation != told->operation)
        return false;
    return item->within == told->within ? strcmp(item->path, told->path) == 0
                                        : told->within && is_directory_of(item->path, told->path);
}

/* The item of the call that the kernel means. A shell opens one name after the other from the same place in
 * its memory: where several calls are the same, it is the one that is about the same. Return: 1 + its index;
 * 0: the observer told of no such call. */
static size_t find_call(const struct audit *audit, const struct audit_told *told)
{
    size_t found = 0;

    for (size_t i = audit->call_count; i > 0 && told->called; i--) {
        size_t item = audit->calls[i - 1].item;

        if (item > audit->report->denials.count || !is_same(&audit->calls[i - 1], &told->call))
            continue;
        if (is_alike(&audit->report->denials.items[item - 1], told))
            return item;
        found = found ?: item;
    }
    return found;
}

/* The same by the kernel; or where @unsure, because a call is not known, one of the observer's that may be
 * meant: then nothing is added, and nothing is said of it. */
static struct denial *find_alike(const struct denial_list *denials, const struct audit_told *told,
                                 bool unsure)
{
    for (size_t i = 0; i < denials->count; i++)
        if ((denials->items[i].evidence == DENIAL_KERNEL || unsure) && is_alike(&denials->items[i], told))
            return &denials->items[i];
    return NULL;
}

static void join_one(struct audit *audit, const struct audit_told *told)
{
    struct denial_list *denials = &audit->report->denials;
    size_t item = find_call(audit, told);
    struct denial denial = {.surface = told->surface,
                            .evidence = DENIAL_KERNEL,
                            .operation = told->operation,
                            .path = told->path,
                            .within = told->within,
                            .executable = told->executable,
                            .pid = told->called ? told->call.pid : 0,
                            .count = told->count};
    bool unsure = !told->called || audit->calls_short;
    struct denial *alike = item == 0 ? find_alike(denials, told, unsure) : NULL;

    if (item > 0) {
        denials->audit.joined += told->count;
        if (denials->items[item - 1].evidence == DENIAL_PREDICTED)
            denials->items[item - 1].evidence = DENIAL_BOTH;
    } else if (alike) {
        alike->count += alike->evidence == DENIAL_KERNEL ? told->count : 0;
    } else if (told->operation != DENIAL_NOTHING &&
               (denials->count >= OBSERVE_RECORDS ||
                denials_add(denials, audit->resolved, &denial, DENIAL_BY_DEFAULT, 0) < 0)) {
        denials->lost += told->count;
    }
}

static void join(struct audit *audit)
{
    struct denial_list *denials = &audit->report->denials;
    struct denial_audit *seen = &denials->audit;
    struct audit_state state;

    seen->read = true;
    seen->lost_known = audit->counts_lost && audit_status(&state) == 0;
    seen->lost = seen->lost_known ? state.lost - audit->lost : 0;
    seen->complete = seen->complete && audit->ended && !audit->short_of;
    for (size_t i = 0; i < audit->told_count; i++)
        join_one(audit, &audit->told[i]);
    if (strcmp(denials->channel, "none") == 0)
        denials->channel = "audit";
}

/* --- in the loop -----------------------------------------------------------------------------------------
 */

static int start_audit(void *self, struct supervision *supervision, uv_loop_t *uv)
{
    struct audit *audit = self;

    (void)supervision;
    audit->poll.data = audit;
    return uv_poll_init(uv, &audit->poll, audit->wire);
}

static void go_audit(void *self)
{
    struct audit *audit = self;

    uv_poll_start(&audit->poll, UV_READABLE, on_told);
}

/* Has the observer foreseen what the kernel has not told? Only where nothing but Landlock refuses. */
static bool awaits(const struct audit *audit)
{
    return strcmp(audit->plan->backend, "landlock") == 0 && audit->call_count > 0 && audit->told_count == 0;
}

static void end_audit(void *self)
{
    struct audit *audit = self;
    struct audit_order order = {.awaits = awaits(audit)};
    uint64_t until = supervise_now_ns() + LAST_MS * 1000000ULL;

    uv_poll_stop(&audit->poll);
    if (!audit->gone && send(audit->wire, &order, sizeof(order), MSG_NOSIGNAL) == (ssize_t)sizeof(order))
        shutdown(audit->wire, SHUT_WR);
    while (!audit->gone && supervise_now_ns() < until) {
        struct pollfd ready = {.fd = audit->wire, .events = POLLIN};

        if (!take_one(audit) && !audit->gone && poll(&ready, 1, TURN_MS) < 0 && errno != EINTR)
            break;
    }
    join(audit);
    audit_abandon(audit);
}

const struct part_calls audit_part = {.start = start_audit, .go = go_audit, .end = end_audit};

void audit_abandon(struct audit *audit)
{
    if (audit->pid > 0) {
        kill(audit->pid, SIGKILL);
        while (waitpid(audit->pid, NULL, 0) < 0 && errno == EINTR)
            ;
        children_include(audit->pid);
    }
    for (size_t i = 0; i < audit->told_count; i++) {
        free(audit->told[i].path);
        free(audit->told[i].executable);
    }
    free(audit->told);
    free(audit->calls);
    fd_close(audit->source);
    fd_close(audit->wire);
    fd_close(audit->theirs);
    audit_clear(audit);
}
