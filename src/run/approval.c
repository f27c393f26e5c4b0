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
#include "run/approval.h"

#include "links/kernel_abi.h"
#include "run/control_ask.h"
#include "run/observer.h"
#include "run/opener.h"
#include "run/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define TICK_MS     250
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

static void let_go_on(const struct approval *approval, uint64_t call)
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

    approval->listener = fcntl(listener, F_DUPFD_CLOEXEC, 3);
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

static const struct approval_memory *recall(const struct approval *approval, const char *path)
{
    for (size_t i = approval->memory_count; i > 0; i--) {
        const struct approval_memory *memory = &approval->memory[i - 1];

        if (memory->denied ? path_contains(memory->path, path) : strcmp(memory->path, path) == 0)
            return memory;
    }
    return NULL;
}

/* One that does not fit is asked about again. */
static void remember(struct approval *approval, const char *path, bool denied)
{
    const char *slash = strrchr(path, '/');
    size_t length = !denied ? strlen(path) : slash == path ? 1 : (size_t)(slash - path);
    char *copy;

    if (approval->memory_count == MEMORY_MOST ||
        !array_more(&approval->memory, approval->memory_count, sizeof(*approval->memory)))
        return;
    copy = strndup(path, length);
    if (copy)
        approval->memory[approval->memory_count++] = (struct approval_memory){copy, denied};
}

/* --- one call --------------------------------------------------------------------------------------------
 */

static void note_approved(struct approval *approval, const struct observe_message *message, bool for_run)
{
    struct approval_item item = {.operation = (enum denial_operation)message->operation,
                                 .path = (char *)(uintptr_t)message->name,
                                 .executable =
                                     *message->executable ? (char *)(uintptr_t)message->executable : NULL,
                                 .pid = message->pid,
                                 .for_run = for_run};

    approval->supervision->plan->claims[message->surface].approved++;
    (void)approvals_add(&approval->report->approvals, &item); /* what does not fit is counted there */
}

/* The kernel refuses it, and it is told of as everything else that is refused. */
static void refuse(struct approval *approval, const struct observe_message *message)
{
    bool waits = is_waiting(approval, message->held);

    let_go_on(approval, message->held);
    if (waits)
        observer_refused(approval->observer, message);
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

static void release(struct approval_held *held)
{
    fd_close(held->object);
    free(held->message);
    *held = (struct approval_held){.object = -1};
}

static void set_timer(struct approval *approval);

/* The end of a question. @answer: what was said; NULL with @approved false: nothing was, for @why */
static void conclude(struct approval *approval, struct approval_held *held, enum approval_answer answer,
                     const char *why)
{
    const struct observe_message *message = held->message;
    bool approved = answer == APPROVAL_ONCE || answer == APPROVAL_RUN;

    if (!why && approved)
        why = carry_out(approval, message, held->object);
    if (!why && approved)
        note_approved(approval, message, answer == APPROVAL_RUN);
    if (!why && answer == APPROVAL_RUN && !recall(approval, message->name))
        remember(approval, message->name, false);
    if (answer == APPROVAL_DENY_LIKE)
        remember(approval, message->name, true);
    if (why || !approved)
        refuse(approval, message);
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

/* On a kernel where a signal interrupts a held call, it comes again when the handler has run: the same
 * question. */
static bool take_over(struct approval *approval, const struct observe_message *message, int *object)
{
    for (size_t i = 0; i < APPROVAL_SLOTS; i++) {
        struct approval_held *held = &approval->held[i];

        if (held->id == 0 || held->message->pid != message->pid ||
            held->message->held_kind != message->held_kind ||
            held->message->held_flags != message->held_flags ||
            strcmp(held->message->name, message->name) != 0 || is_waiting(approval, held->message->held))
            continue;
        held->message->held = message->held;
        held->missed = false;
        fd_close(held->object);
        held->object = *object;
        *object = -1;
        return true;
    }
    return false;
}

static void say_asks(void *self)
{
    struct approval *approval = self;

    for (size_t i = 0; i < APPROVAL_SLOTS; i++) {
        struct approval_held *held = &approval->held[i];

        if (held->id > 0 && !held->said)
            held->said = control_ask(approval->control, held->id, held->message, approval->resolved);
    }
}

/* Return: is it a question now? */
static bool ask(struct approval *approval, const struct observe_message *message, int *object)
{
    const size_t size = offsetof(struct observe_message, name) + strlen(message->name) + 1;
    struct approval_held *held = find_place(approval);

    if (!held || !take_token(approval)) {
        approval->report->approvals.unasked++;
        return false;
    }
    if (!can_open(approval, message, *object))
        return false;
    held->message = malloc(size);
    if (!held->message)
        return false;
    memcpy(held->message, message, size);
    held->object = *object;
    *object = -1;
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

    if (approval->ended || !is_sound(message, object) || is_never_asked(approval, message->name)) {
        refuse(approval, message);
        fd_close(object);
        return;
    }
    memory = recall(approval, message->name);
    if (memory && !memory->denied && !carry_out(approval, message, object))
        note_approved(approval, message, true);
    else if (memory || (!take_over(approval, message, &object) && !ask(approval, message, &object)))
        refuse(approval, message);
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
            conclude(approval, held, APPROVAL_DENY, "gone");
        else if (waits && now >= held->until_ns)
            conclude(approval, held, APPROVAL_DENY, "timeout");
        else
            held->missed = held->id > 0 && !waits;
    }
}

static void set_timer(struct approval *approval)
{
    bool open = false;

    for (size_t i = 0; i < APPROVAL_SLOTS; i++)
        open = open || approval->held[i].id > 0;
    if (!open)
        uv_timer_stop(&approval->timer);
    else if (!uv_is_active((uv_handle_t *)&approval->timer))
        uv_timer_start(&approval->timer, on_tick, TICK_MS, TICK_MS);
}

/* What was answered for all of the run answers the questions that wait as well. */
static void settle_others(struct approval *approval)
{
    for (size_t i = 0; i < APPROVAL_SLOTS; i++) {
        struct approval_held *held = &approval->held[i];
        const struct approval_memory *memory = held->id > 0 ? recall(approval, held->message->name) : NULL;

        if (memory)
            conclude(approval, held, memory->denied ? APPROVAL_DENY : APPROVAL_RUN, NULL);
    }
}

static int take_answer(void *self, uint32_t id, unsigned answer, struct error *error)
{
    struct approval *approval = self;

    for (size_t i = 0; i < APPROVAL_SLOTS && id > 0 && answer < APPROVAL_ANSWERS; i++)
        if (approval->held[i].id == id) {
            conclude(approval, &approval->held[i], (enum approval_answer)answer, NULL);
            settle_others(approval);
            return 0;
        }
    return error_set(error, ERROR_USAGE, EINVAL, "no-question",
                     "answer: no question with this number waits for one");
}

static int start_approval(void *self, struct supervision *supervision, uv_loop_t *uv)
{
    struct approval *approval = self;
    int r = uv_timer_init(uv, &approval->timer);

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
            conclude(approval, &approval->held[i], APPROVAL_DENY, "ended");
    uv_timer_stop(&approval->timer);
    approval->ended = true;
}

const struct part_calls approval_part = {
    .start = start_approval, .started = say_asks, .answer = take_answer, .end = end_approval};

void approval_begin(struct approval *approval, const struct resolved *resolved, struct report *report,
                    struct control *control, struct observer *observer)
{
    *approval = (struct approval){.wanted = observer->wanted && control && resolved->policy->ask_ms > 0,
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
    approval->memory = NULL;
    approval->memory_count = 0;
    approval->listener = approval->wanted ? fd_close(approval->listener) : -1;
    approval->wanted = false;
}
