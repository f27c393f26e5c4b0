/*
 * control.c - the control channel.
 *
 * Theory of operation. What is to be said goes into a queue, and from there as fast as the reader takes it. A
 * reader who takes nothing fills the queue; then lines are dropped, and the next one that finds room says how
 * many. What comes in is obeyed a line at a time (control_take.c). Between the descriptor and libuv stands an
 * epoll descriptor, because libuv would make the caller's description non-blocking.
 *
 * Should:  answer every line that is not understood with one that says why; end the run when the other side
 *          goes, before the start as after it.
 * Mustn't: wait for the reader while the command runs, or hold more than a bound for it; guess what an
 *          unfinished or overlong line meant; raise SIGPIPE.
 */
#include "run/control.h"

#include "plan/plan_json.h"
#include "run/control_take.h"
#include "run/supervise.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define LAST_MS 5000 /* how long the last line waits for its reader */

/* --- out ------------------------------------------------------------------------------------------------ */

void control_kill(struct control *control)
{
    if (control->killed || !control->supervision)
        return;
    control->killed = true;
    supervise_kill(control->supervision);
}

/* The other side says nothing any more: that is the end of the run. It may still listen. */
static void note_closed(struct control *control)
{
    control->closed = true;
    if (control->polling)
        uv_poll_stop(&control->poll);
    control_kill(control);
}

static void note_broken(struct control *control)
{
    control->broken = true;
    text_free(&control->out);
    control->sent = 0;
    note_closed(control);
}

/* Waits for room as well if there is something to send. */
static void arm(const struct control *control)
{
    struct epoll_event event = {.events = EPOLLIN};

    if (control->out.length > control->sent)
        event.events |= EPOLLOUT;
    /* It is there, and a change of what is waited for needs nothing that could be missing. */
    (void)epoll_ctl(control->waiter, EPOLL_CTL_MOD, control->fd, &event);
}

static void send_waiting(struct control *control)
{
    while (!control->broken && control->sent < control->out.length) {
        ssize_t put = send(control->fd, control->out.data + control->sent,
                           control->out.length - control->sent, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM))
            break;
        if (put < 0) {
            note_broken(control);
            return;
        }
        control->sent += (size_t)put;
    }
    if (control->sent == control->out.length)
        control->sent = control->out.length = 0;
}

void control_begin_line(const struct control *control, struct writer *writer, const char *type)
{
    *writer = (struct writer){.compact = true};
    writer_object(writer, NULL);
    writer_text(writer, "type", type);
    if (control->lost > 0)
        writer_integer(writer, "lost", control->lost);
}

int control_end_line(struct control *control, struct writer *writer, bool always)
{
    size_t waiting = control->out.length - control->sent;
    int r = 0;

    writer_end(writer);
    text_add(&writer->text, "\n");
    if (writer->text.failed || (!always && waiting + writer->text.length > CONTROL_QUEUE)) {
        control->lost++;
        r = writer->text.failed ? -ENOMEM : 0;
    } else if (!control->broken) {
        if (control->sent > 0)
            memmove(control->out.data, control->out.data + control->sent, waiting);
        control->out.length = waiting;
        control->sent = 0;
        text_add_bytes(&control->out, writer->text.data, writer->text.length);
        r = control->out.failed ? -ENOMEM : 0;
        control->lost = r < 0 ? control->lost + 1 : 0;
        control->out.failed = false; /* what was added before stands */
        send_waiting(control);
        arm(control);
    }
    text_free(&writer->text);
    return r;
}

void control_say_error(struct control *control, const struct error *error)
{
    struct writer writer;

    control_begin_line(control, &writer, "error");
    writer_integer(&writer, "line", control->line);
    writer_text(&writer, "reason", error->reason);
    writer_text(&writer, "message", error->message);
    control_end_line(control, &writer, false);
}

/* All the warnings that were not said yet, in the order of the report. */
static void say_warnings(struct control *control, const struct report *report)
{
    const struct resolved *resolved = report->resolved;
    const struct strings *lists[] = {resolved ? &resolved->policy->warnings : NULL,
                                     resolved ? &resolved->warnings : NULL,
                                     report->plan ? &report->plan->warnings : NULL, &report->warnings};

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        for (; lists[i] && control->warned[i] < lists[i]->count; control->warned[i]++) {
            struct writer writer;

            control_begin_line(control, &writer, "warning");
            writer_text(&writer, "message", lists[i]->items[control->warned[i]]);
            control_end_line(control, &writer, false);
        }
}

void control_denials(struct control *control, const struct report *report)
{
    const struct denial_list *denials = &report->denials;

    for (; control->started && control->denied < denials->count; control->denied++) {
        struct writer writer;

        control_begin_line(control, &writer, "denial");
        denial_write(&writer, &denials->items[control->denied]);
        control_end_line(control, &writer, false);
    }
}

static void say_started(void *self)
{
    struct control *control = self;
    const struct supervision *s = control->supervision;
    struct writer writer;

    if (control->started)
        return;
    control->started = true;
    control_begin_line(control, &writer, "started");
    writer_text(&writer, "run", s->report->run_id);
    writer_integer(&writer, "pid", s->command);
    writer_text(&writer, "backend", s->report->backend);
    writer_text(&writer, "enforcement", report_enforcement_name(s->report));
    plan_surfaces_write(&writer, "surfaces", s->plan->claims);
    control_end_line(control, &writer, true);
    say_warnings(control, s->report);
    control_denials(control, s->report);
}

static void say_limit(void *self, const char *name)
{
    struct control *control = self;
    struct writer writer;

    control_begin_line(control, &writer, "limit");
    writer_text(&writer, "limit", name);
    control_end_line(control, &writer, false);
}

/* When it was decided, and again when it has ended. */
static void say_connection(void *self, const struct connection *connection)
{
    struct control *control = self;
    struct writer writer;

    control_begin_line(control, &writer, "connection");
    writer_integer(&writer, "id", connection->id);
    connection_members(connection, &writer);
    control_end_line(control, &writer, false);
}

static void say_answer(void *self, const char *rule, const struct error *refused)
{
    struct control *control = self;
    struct writer writer;

    if (refused) {
        control_say_error(control, refused);
        return;
    }
    control_begin_line(control, &writer, "allowed");
    writer_text(&writer, "rule", rule);
    control_end_line(control, &writer, false);
}

/* --- in ------------------------------------------------------------------------------------------------- */

static void refuse_overlong(struct control *control)
{
    struct error error = {0};

    error_set(&error, ERROR_USAGE, EINVAL, "line-too-long", "a line has at most 65536 bytes");
    control_say_error(control, &error);
}

/* Every whole line of what is held; what is left waits for its end. */
static void take_lines(struct control *control)
{
    size_t at = 0;

    while (at < control->held && !control->closed) {
        const char *start = control->input + at, *end = memchr(start, '\n', control->held - at);

        if (!end)
            break;
        control->line += !control->overlong;
        if (!control->overlong)
            control_take_line(control, start, (size_t)(end - start));
        control->overlong = false;
        at = (size_t)(end - control->input) + 1;
    }
    control->held -= at;
    memmove(control->input, control->input + at, control->held);
    if (control->held < CONTROL_LINE)
        return;
    control->held = 0;
    if (control->overlong)
        return;
    control->overlong = true;
    control->line++;
    refuse_overlong(control);
}

/* One piece at a time: whoever sends without end must not keep the loop from everything else. */
static void read_once(struct control *control)
{
    ssize_t got =
        recv(control->fd, control->input + control->held, CONTROL_LINE - control->held, MSG_DONTWAIT);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        note_closed(control); /* what was not finished by a newline was not said */
        return;
    }
    control->held += (size_t)got;
    take_lines(control);
}

/* --- in the loop ---------------------------------------------------------------------------------------- */

static void on_ready(uv_poll_t *handle, int status, int events)
{
    struct control *control = handle->data;

    (void)status;
    (void)events;
    send_waiting(control);
    if (!control->closed)
        read_once(control);
    if (!control->closed)
        arm(control);
}

static int start_control(void *self, struct supervision *supervision, uv_loop_t *uv)
{
    struct control *control = self;
    int r = uv_poll_init(uv, &control->poll, control->waiter);

    control->supervision = supervision;
    control->poll.data = control;
    control->polling = r == 0;
    return r;
}

/* Not before: nothing of what comes in could be obeyed while nothing runs. */
static void go_control(void *self)
{
    struct control *control = self;

    /* It was begun with a descriptor that can be waited for. */
    uv_poll_start(&control->poll, UV_READABLE, on_ready);
}

static void end_control(void *self)
{
    struct control *control = self;

    uv_poll_stop(&control->poll);
    control->polling = false;
}

const struct part_calls control_part = {.start = start_control,
                                        .go = go_control,
                                        .started = say_started,
                                        .limited = say_limit,
                                        .answered = say_answer,
                                        .connection = say_connection,
                                        .end = end_control};

int control_begin(struct control *control, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    int r;

    control->fd = fd;
    control->waiter = epoll_create1(EPOLL_CLOEXEC);
    if (control->waiter >= 0 && epoll_ctl(control->waiter, EPOLL_CTL_ADD, fd, &event) == 0)
        return 0;
    r = -errno;
    control->waiter = fd_close(control->waiter);
    control->fd = fd_close(control->fd);
    return r;
}

bool control_gone(const struct control *control)
{
    struct pollfd end = {.fd = control->fd, .events = POLLRDHUP};

    return control->fd >= 0 && poll(&end, 1, 0) == 1;
}

void control_judge(const struct control *control, struct outcome *outcome)
{
    if (!control->killed || outcome->kind != OUTCOME_SIGNALED || outcome->signal != SIGKILL)
        return;
    outcome->kind = OUTCOME_LIMIT;
    outcome->limit = "control";
    outcome->signal = 0;
}

/* Return: 0 when all was taken or nobody is there, -ETIMEDOUT when somebody is and takes nothing. */
static int wait_for_reader(struct control *control)
{
    uint64_t until = supervise_now_ns() + (control->last_ms ? control->last_ms : LAST_MS) * 1000000ULL;

    for (;;) {
        struct pollfd room = {.fd = control->fd, .events = POLLOUT};
        uint64_t now;

        send_waiting(control);
        if (control->broken || control->out.length == 0)
            return 0;
        now = supervise_now_ns();
        if (now >= until)
            return -ETIMEDOUT;
        if (poll(&room, 1, (int)((until - now) / 1000000U) + 1) < 0 && errno != EINTR)
            return -errno;
    }
}

/* Closed with something unread in it, the socket would give the other side an error instead of an end. */
static void read_away(struct control *control)
{
    if (shutdown(control->fd, SHUT_RD) != 0)
        return;
    while (recv(control->fd, control->input, sizeof(control->input), MSG_DONTWAIT) > 0)
        ;
}

int control_finish(struct control *control, const struct report *report, int status)
{
    struct writer writer;
    int r;

    if (control->fd < 0)
        return 0;
    control->supervision = NULL; /* nothing is left that could be ended, and the loop has gone with it */
    control->polling = false;
    say_warnings(control, report);
    control_denials(control, report);
    control_begin_line(control, &writer, "ended");
    writer_integer(&writer, "status", status);
    report_write(report, &writer, "report");
    r = control_end_line(control, &writer, true);
    if (r == 0)
        r = wait_for_reader(control);
    read_away(control);
    text_free(&control->out);
    control->waiter = fd_close(control->waiter);
    control->fd = fd_close(control->fd);
    return r;
}
