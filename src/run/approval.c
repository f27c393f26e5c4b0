/*
 * approval.c - hold what is refused while somebody is asked.
 *
 * Theory of operation. The observer hands over a refused call that it has not answered, with the object that
 * it names. Somebody is asked over the control channel. A yes is carried out here: the opener opens the very
 * object, and the descriptor goes to the waiting thread as the answer to its call (one step of the kernel's),
 * which then never looks its words up again. A no lets the call go on: the kernel refuses it, as it would
 * have without us. So no answer of ours widens anything but by the one descriptor that it hands over.
 *
 * Should:  deny when the time is over, when nobody listens, when there are more questions than a person can
 *          read, and on any doubt about the object.
 * Mustn't: let a call go on after a yes: what its words name may have changed. Mustn't ask twice about one
 *          call, or leave one without an answer.
 */
#include "run/approval_state.h"

#include "links/kernel_abi.h"
#include "observe/evaluate.h"
#include "run/control_ask.h"
#include "run/observer.h"
#include "run/opener.h"
#include "run/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define TICK_MS     250
#define GRANTED_MS  5
#define TOKENS_MOST 64         /* questions at once */
#define TOKEN_NS    250000000U /* and one more after each of these */
#define MEMORY_MOST 512
#define MS          1000000U /* ns */

/* --- the kernel's side -----------------------------------------------------------------------------------
 */

static bool is_waiting(const struct approval *approval, uint64_t call)
{
    return kernel_call(SYS_ioctl, approval->listener, NOTIFY_IOCTL_VALID, KERNEL_PTR(&call), 0, 0, 0) == 0;
}

static void answer_call(const struct approval *approval, struct notify_answer answer)
{
    /* It may be gone by now: then nobody waits. */
    (void)kernel_call(SYS_ioctl, approval->listener, NOTIFY_IOCTL_SEND, KERNEL_PTR(&answer), 0, 0, 0);
}

void approval_let_go_on(const struct approval *approval, uint64_t call)
{
    answer_call(approval, (struct notify_answer){.id = call, .flags = NOTIFY_CONTINUE});
}

/* The descriptor @fd as the answer. Return: 0 or -errno; then the call still waits, or is gone. */
static int give(const struct approval *approval, const struct observe_message *message, int fd)
{
    struct notify_descriptor given = {.id = message->held,
                                      .flags = NOTIFY_AND_ANSWER,
                                      .source = (uint32_t)fd,
                                      .target_flags = message->held_flags & O_CLOEXEC};

    return (int)kernel_call(SYS_ioctl, approval->listener, NOTIFY_IOCTL_GIVE, KERNEL_PTR(&given), 0, 0, 0);
}

int approval_take(struct approval *approval, int listener)
{
    struct notify_descriptor none = {.flags = NOTIFY_AND_ANSWER, .source = (uint32_t)listener};
    struct error *error = &approval->report->error;
    int r;

    approval->listener = fd_copy(listener, 3);
    if (approval->listener < 0)
        return -errno;
    /* There is no such call; a kernel that does not know the flag says that first. */
    r = (int)kernel_call(SYS_ioctl, listener, NOTIFY_IOCTL_GIVE, KERNEL_PTR(&none), 0, 0, 0);
    if (r == -ENOENT)
        return 0;
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, -r, "no-approval",
              "option --ask: this kernel cannot answer a held call with a descriptor (Linux 5.14 can)");
    error_hint(error, "leave --ask out");
    return r < 0 ? r : -EPROTO;
}

/* --- what was answered before ----------------------------------------------------------------------------
 */

/* Of a host all ports are alike. */
static bool is_like(const char *denied, const char *name)
{
    size_t length = strlen(denied);

    return denied[length - 1] == ':' ? strncmp(denied, name, length) == 0 : path_contains(denied, name);
}

const struct approval_memory *approval_recall(const struct approval *approval, const char *name)
{
    for (size_t i = approval->memory_count; i > 0; i--) {
        const struct approval_memory *memory = &approval->memory[i - 1];

        if (memory->denied ? is_like(memory->path, name) : strcmp(memory->path, name) == 0)
            return memory;
    }
    return NULL;
}

/* Would the file be read as well? By /proc/self/fd whoever has a descriptor opens the file anew, on the mount
 * of the machine: where nothing but mounts holds it, also to be read. */
static bool reads(const struct approval *approval, const struct observe_message *message)
{
    return !message->is_address && message->held_kind != OBSERVE_HELD_DIRECTORY &&
           (!approval->layer || (message->held_flags & O_ACCMODE) != O_WRONLY);
}

/* What was answered before, if it is an answer to this: a yes to writing is none to reading. */
static const struct approval_memory *find_answer(const struct approval *approval,
                                                 const struct observe_message *message)
{
    const struct approval_memory *memory = approval_recall(approval, message->name);

    return memory && (memory->denied || memory->reads || !reads(approval, message)) ? memory : NULL;
}

/* One that does not fit is asked about again. @like: and all that is like it; @reads: of a yes */
static void remember(struct approval *approval, const char *path, bool denied, bool like, bool reads)
{
    const char *slash = strrchr(path, '/'), *colon = strrchr(path, ':');
    size_t length = !like            ? strlen(path)
                    : path[0] != '/' ? (size_t)(colon - path) + 1
                    : slash == path  ? 1
                                     : (size_t)(slash - path);
    char *copy;

    if (approval->memory_count == MEMORY_MOST ||
        !array_more(&approval->memory, approval->memory_count, sizeof(*approval->memory)))
        return;
    copy = strndup(path, length);
    if (copy)
        approval->memory[approval->memory_count++] = (struct approval_memory){copy, denied, reads};
}

/* --- one call --------------------------------------------------------------------------------------------
 */

/* @label: of a connection, else NULL */
static void note_approved(struct approval *approval, const struct observe_message *message, const char *label,
                          bool for_run)
{
    struct approval_item item = {.operation = (enum denial_operation)message->operation,
                                 .path = label ? NULL : (char *)(uintptr_t)message->name,
                                 .address = (char *)(uintptr_t)label,
                                 .executable =
                                     *message->executable ? (char *)(uintptr_t)message->executable : NULL,
                                 .pid = message->pid,
                                 .for_run = for_run};

    approval->supervision->plan->claims[message->surface].approved++;
    (void)approvals_add(&approval->report->approvals, &item); /* what does not fit is counted there */
}

/* The kernel refuses it, and it is told of as everything else that is refused. */
void approval_refuse(struct approval *approval, const struct observe_message *message, const char *label)
{
    /* Where the gateway listens it tells of it itself. */
    bool waits = is_waiting(approval, message->held) && !(label && connect_listens(approval, message));

    approval_let_go_on(approval, message->held);
    if (waits)
        observer_refused(approval->observer, message, label);
}

static enum opener_verdict open_object(const struct approval *approval, const struct observe_message *message,
                                       int object, bool looks, int *ret_fd, int *ret_errno)
{
    struct opener_request request = {.resolved = approval->resolved,
                                     .kind = (enum observe_held)message->held_kind,
                                     .path = message->name,
                                     .object = object,
                                     .flags = message->held_flags,
                                     .mode = message->held_mode,
                                     .pid = message->pid,
                                     .looks = looks};

    return opener_run(&request, ret_fd, ret_errno);
}

/* Open it, and hand it over. Return: NULL: done; else why not, as a word. */
static const char *carry_out(struct approval *approval, const struct observe_message *message, int object)
{
    enum opener_verdict verdict;
    int fd, errnum, r = 0;

    if (!is_waiting(approval, message->held))
        return "gone";
    verdict = open_object(approval, message, object, false, &fd, &errnum);
    if (verdict != OPENER_FINE) {
        if (verdict == OPENER_FAILED && errnum > 0)
            answer_call(approval, (struct notify_answer){.id = message->held, .error = -errnum});
        return opener_word(verdict);
    }
    if (fd >= 0)
        r = give(approval, message, fd);
    else
        answer_call(approval, (struct notify_answer){.id = message->held});
    fd_close(fd);
    if (r >= 0)
        return NULL;
    /* It has no room for a descriptor: that is what the call would have said. */
    answer_call(approval, (struct notify_answer){.id = message->held, .error = r});
    return r == -ENOENT || r == -ESRCH || r == -EINPROGRESS ? "gone" : "not-opened";
}

static const char *name_of(const struct approval_held *held)
{
    return held->label ? held->label : held->message->name;
}

static void release(struct approval_held *held)
{
    fd_close(held->object);
    free(held->message);
    free(held->label);
    free(held->rule);
    *held = (struct approval_held){.object = -1};
}

static void set_timer(struct approval *approval);

void approval_conclude(struct approval *approval, struct approval_held *held, enum approval_answer answer,
                       const char *why)
{
    const struct observe_message *message = held->message;
    bool approved = answer == APPROVAL_ONCE || answer == APPROVAL_RUN;

    if (!why && approved && held->label)
        approval_let_go_on(approval, message->held);
    else if (!why && approved)
        why = carry_out(approval, message, held->object);
    if (!why && approved)
        note_approved(approval, message, held->label, answer == APPROVAL_RUN);
    if (!why && answer == APPROVAL_RUN && !held->label && !find_answer(approval, message))
        remember(approval, message->name, false, false, reads(approval, message));
    /* A name has two addresses, and whoever is refused at one tries the other. */
    if (answer == APPROVAL_DENY_LIKE || (answer == APPROVAL_DENY && held->label && !why))
        remember(approval, name_of(held), true, answer == APPROVAL_DENY_LIKE, false);
    if (why || !approved)
        approval_refuse(approval, message, held->label);
    control_answered(approval->control, held->id, !why && approved, why);
    release(held);
    set_timer(approval);
}

/* --- asking ----------------------------------------------------------------------------------------------
 */

/* A person who is asked without end says yes at last. */
static bool take_token(struct approval *approval)
{
    uint64_t now = supervise_now_ns(), more = (now - approval->filled_ns) / TOKEN_NS;

    if (more > 0) {
        approval->tokens =
            more > TOKENS_MOST - approval->tokens ? TOKENS_MOST : approval->tokens + (uint32_t)more;
        approval->filled_ns += more * TOKEN_NS;
    }
    if (approval->tokens == 0)
        return false;
    approval->tokens--;
    return true;
}

static bool is_sound(const struct observe_message *message, int object)
{
    return object >= 0 && message->name[0] == '/' && message->held_kind > OBSERVE_HELD_NOTHING &&
           message->held_kind <= OBSERVE_HELD_DIRECTORY && message->rule == DENIAL_BY_DEFAULT &&
           (message->surface == SURFACE_FS_WRITE || message->surface == SURFACE_FS_TRUNCATE) &&
           message->operation > DENIAL_NOTHING && message->operation < DENIAL_OPERATIONS &&
           !message->is_address && !message->by_mode && message->pid > 0 && !strstr(message->name, "//") &&
           !strstr(message->name, "/../") && !strstr(message->name, "/./");
}

static bool is_connect(const struct approval *approval, const struct observe_message *message)
{
    return approval->connects && message->is_address && message->surface == SURFACE_NET_LISTED &&
           message->operation == DENIAL_CONNECT && message->rule == DENIAL_BY_NETWORK && message->pid > 0;
}

/* Nobody is asked about these, whatever an answer would be. */
static bool is_never_asked(const struct approval *approval, const char *path)
{
    const struct strings *names = &approval->resolved->unasked;

    for (size_t i = 0; i < names->count; i++)
        if (path_contains(names->items[i], path))
            return true;
    return false;
}

/* Would a yes be carried out? */
static bool can_open(struct approval *approval, const struct observe_message *message, int object)
{
    int fd, errnum;

    return open_object(approval, message, object, true, &fd, &errnum) == OPENER_FINE;
}

static struct approval_held *find_place(struct approval *approval)
{
    for (size_t i = 0; i < APPROVAL_SLOTS; i++)
        if (approval->held[i].id == 0)
            return &approval->held[i];
    return NULL;
}

/* Two descriptors of one object, or none. */
static bool is_same(int one, int other)
{
    return (one < 0 && other < 0) || fd_same(one, other);
}

/* On a kernel where a signal interrupts a held call, it comes again when the handler has run: the same
 * question. */
static bool take_over(struct approval *approval, const struct observe_message *message, int *object)
{
    for (size_t i = 0; i < APPROVAL_SLOTS; i++) {
        struct approval_held *held = &approval->held[i];

        if (held->id == 0 || held->message->pid != message->pid ||
            held->message->held_kind != message->held_kind ||
            held->message->held_flags != message->held_flags ||
            strcmp(held->message->name, message->name) != 0 || !is_same(held->object, *object) ||
            is_waiting(approval, held->message->held))
            continue;
        held->message->held = message->held;
        held->missed = false;
        fd_close(held->object);
        held->object = steal_fd(object);
        return true;
    }
    return false;
}

static void say_asks(void *self)
{
    struct approval *approval = self;

    for (size_t i = 0; i < APPROVAL_SLOTS; i++) {
        struct approval_held *held = &approval->held[i];
        struct denial denial;

        if (held->id == 0 || held->said)
            continue;
        denial = observer_denial(held->message, held->label);
        held->said = control_ask(approval->control, held->id, &denial, reads(approval, held->message),
                                 approval->resolved);
    }
}

bool approval_ask(struct approval *approval, const struct observe_message *message, int *object, char **label,
                  char **rule)
{
    const size_t size = offsetof(struct observe_message, name) + strlen(message->name) + 1;
    struct approval_held *held = find_place(approval);

    if (take_over(approval, message, object))
        return true;
    if (!held || !take_token(approval)) {
        approval->report->approvals.unasked++;
        return false;
    }
    if (!label && !can_open(approval, message, *object))
        return false;
    held->message = malloc(size);
    if (!held->message)
        return false;
    memcpy(held->message, message, size);
    held->object = steal_fd(object);
    if (label) {
        held->label = steal_pointer(label);
        held->rule = steal_pointer(rule);
    }
    if (++approval->last_id == 0)
        approval->last_id = 1;
    held->id = approval->last_id;
    held->until_ns = supervise_now_ns() + approval->resolved->policy->ask_ms * MS;
    approval->report->approvals.asked++;
    set_timer(approval);
    say_asks(approval);
    return true;
}

void approval_hold(struct approval *approval, const struct observe_message *message, int object)
{
    const struct approval_memory *memory;
    bool never;

    if (message->held_kind == OBSERVE_HELD_CONNECT && is_connect(approval, message)) {
        fd_close(object);
        connect_hold(approval, message);
        return;
    }
    if (!is_sound(message, object)) { /* nothing of it is believed, not even for the report */
        approval_let_go_on(approval, message->held);
        approval->report->denials.lost++;
        fd_close(object);
        return;
    }
    memory = find_answer(approval, message);
    never = approval->ended || is_never_asked(approval, message->name);
    if (!never && memory && !memory->denied && !carry_out(approval, message, object))
        note_approved(approval, message, NULL, true);
    else if (never || memory || !approval_ask(approval, message, &object, NULL, NULL))
        approval_refuse(approval, message, NULL);
    fd_close(object);
}

/* --- in the loop -----------------------------------------------------------------------------------------
 */

static void on_tick(uv_timer_t *timer)
{
    struct approval *approval = timer->data;
    uint64_t now = supervise_now_ns();

    for (size_t i = 0; i < APPROVAL_SLOTS; i++) {
        struct approval_held *held = &approval->held[i];

        bool waits = held->id > 0 && is_waiting(approval, held->message->held);

        if (held->id > 0 && !waits && held->missed) /* whoever was interrupted calls again */
            approval_conclude(approval, held, APPROVAL_DENY, "gone");
        else if (waits && held->granted && connect_listens(approval, held->message))
            approval_conclude(approval, held, APPROVAL_RUN, NULL);
        else if (waits && now >= held->until_ns)
            approval_conclude(approval, held, APPROVAL_DENY, "timeout");
        else
            held->missed = held->id > 0 && !waits;
    }
}

static void set_timer(struct approval *approval)
{
    uint64_t tick = 0; /* there is nothing to be looked at */

    for (size_t i = 0; i < APPROVAL_SLOTS; i++)
        if (approval->held[i].id > 0 && tick != GRANTED_MS)
            tick = approval->held[i].granted ? GRANTED_MS : TICK_MS;
    if (tick == 0)
        uv_timer_stop(&approval->timer);
    else if (!uv_is_active((uv_handle_t *)&approval->timer) || uv_timer_get_repeat(&approval->timer) != tick)
        uv_timer_start(&approval->timer, on_tick, tick, tick);
}

/* What was answered for all of the run answers the questions that wait as well. */
static void settle_others(struct approval *approval)
{
    for (size_t i = 0; i < APPROVAL_SLOTS; i++) {
        struct approval_held *held = &approval->held[i];
        const struct approval_memory *memory = held->id == 0 ? NULL
                                               : held->label ? approval_recall(approval, held->label)
                                                             : find_answer(approval, held->message);

        if (memory)
            approval_conclude(approval, held, memory->denied ? APPROVAL_DENY : APPROVAL_RUN, NULL);
    }
}

static int take_one(struct approval *approval, struct approval_held *held, enum approval_answer answer,
                    struct error *error)
{
    const char *why;

    if (!held->label || answer == APPROVAL_DENY || answer == APPROVAL_DENY_LIKE) {
        approval_conclude(approval, held, answer, NULL);
        settle_others(approval);
        return 0;
    }
    if (answer == APPROVAL_ONCE)
        return error_set(error, ERROR_USAGE, EINVAL, "not-once",
                         "answer: a connection is allowed for the run, or not at all");
    why = held->requested ? NULL : connect_allow(approval, held);
    if (why)
        approval_conclude(approval, held, APPROVAL_DENY, why);
    return 0;
}

static int take_answer(void *self, uint32_t id, unsigned answer, struct error *error)
{
    struct approval *approval = self;

    for (size_t i = 0; i < APPROVAL_SLOTS && id > 0 && answer < APPROVAL_ANSWERS; i++)
        if (approval->held[i].id == id)
            return take_one(approval, &approval->held[i], (enum approval_answer)answer, error);
    return error_set(error, ERROR_USAGE, EINVAL, "no-question",
                     "answer: no question with this number waits for one");
}

/* A rule is in force: whoever waits for it does so until somebody listens, which is a moment. */
static void on_answered(void *self, const char *rule, const struct error *refused)
{
    struct approval *approval = self;

    connect_answered(approval, rule, refused);
    set_timer(approval);
}

static int start_approval(void *self, struct supervision *supervision, uv_loop_t *uv)
{
    struct approval *approval = self;
    struct rules rules;
    int r = uv_timer_init(uv, &approval->timer);

    rules_make(&rules, approval->resolved, supervision->plan, NULL);
    approval->layer = rules.layer;
    approval->supervision = supervision;
    approval->timer.data = approval;
    return r;
}

/* Whoever still waits is not the run's any more. */
static void end_approval(void *self)
{
    struct approval *approval = self;

    for (size_t i = 0; i < APPROVAL_SLOTS; i++)
        if (approval->held[i].id > 0)
            approval_conclude(approval, &approval->held[i], APPROVAL_DENY, "ended");
    uv_timer_stop(&approval->timer);
    approval->ended = true;
}

const struct part_calls approval_part = {.start = start_approval,
                                         .started = say_asks,
                                         .answer = take_answer,
                                         .answered = on_answered,
                                         .end = end_approval};

void approval_begin(struct approval *approval, const struct resolved *resolved, struct report *report,
                    struct control *control, struct observer *observer, bool connects)
{
    bool wanted = observer->wanted && control && resolved->policy->ask_ms > 0;

    *approval = (struct approval){.wanted = wanted,
                                  .connects = wanted && connects,
                                  .listener = -1,
                                  .resolved = resolved,
                                  .report = report,
                                  .control = control,
                                  .observer = observer,
                                  .tokens = TOKENS_MOST,
                                  .filled_ns = supervise_now_ns()};
    for (size_t i = 0; i < APPROVAL_SLOTS; i++)
        approval->held[i].object = -1;
    observer->approval = approval->wanted ? approval : NULL;
    report->approvals.asks = approval->wanted;
}

void approval_free(struct approval *approval)
{
    for (size_t i = 0; i < APPROVAL_SLOTS && approval->wanted; i++)
        release(&approval->held[i]);
    for (size_t i = 0; i < approval->memory_count; i++)
        free(approval->memory[i].path);
    free(approval->memory);
    strings_free(&approval->added);
    approval->memory = NULL;
    approval->memory_count = 0;
    approval->listener = approval->wanted ? fd_close(approval->listener) : -1;
    approval->wanted = false;
}
