/*
 * relay.c - one-way copies between the caller's terminals or files and the command's pipes.
 *
 * Should:  keep the order of output and error where both are the same file, by one pipe for both; give back
 *          what the command did not read of a file, so that the offset stays true.
 * Mustn't: set O_NONBLOCK on anything of the caller's (the flag is shared with every other user of it): a
 *          terminal is opened anew. Mustn't read a terminal from the background: that stops us.
 */
#include "run/relay.h"

#include "run/signs.h"
#include "run/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#define WAKE_MS 200

static bool is_heard(int fd, const struct relays_limit *limit)
{
    return limit->signs && (fd == 2 || (fd == 1 && fd_same(1, 2)));
}

static bool must_relay(int fd, const struct relays_limit *limit, bool *ret_terminal)
{
    struct stat object;

    *ret_terminal = isatty(fd);
    if (*ret_terminal || (fd > 0 && limit->most > 0))
        return true;
    return fstat(fd, &object) == 0 &&
           (S_ISREG(object.st_mode) || (fd > 0 && (limit->outlived || is_heard(fd, limit)) &&
                                        (S_ISFIFO(object.st_mode) || S_ISSOCK(object.st_mode))));
}

/* A description of our own for a terminal, so that it can be non-blocking. The caller's where that fails. */
static int open_anew(int fd, int flags, bool *ret_owned)
{
    int anew = open(FD_NAME(fd), flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    *ret_owned = anew >= 0;
    return anew >= 0 ? anew : fd;
}

/* Return: a descriptor that is readable when @events come on @fd, or -1. */
static int wait_for(int fd, uint32_t events)
{
    struct epoll_event event = {.events = events};
    int waiter = epoll_create1(EPOLL_CLOEXEC);

    if (waiter >= 0 && epoll_ctl(waiter, EPOLL_CTL_ADD, fd, &event) != 0)
        waiter = fd_close(waiter);
    return waiter;
}

/* A pipe or a socket of the caller's, on the output side: never made non-blocking, but waited for. */
static void prepare_stream(struct relay *relay, int fd, mode_t type)
{
    relay->to = fd;
    if (S_ISFIFO(type))
        relay->to = open_anew(fd, O_WRONLY, &relay->owned_outer);
    relay->socket = S_ISSOCK(type);
    relay->pipe_out = S_ISFIFO(type) && !relay->owned_outer;
    if (relay->socket || relay->pipe_out)
        relay->waiter = wait_for(fd, EPOLLOUT);
    relay->outer_polls = relay->owned_outer || relay->waiter >= 0;
}

static int prepare_one(struct relay *relay, int fd, bool terminal)
{
    int ends[2], ours = fd == 0 ? 1 : 0;
    struct stat object;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return -errno;
    relay->buffer = malloc(RELAY_SIZE);
    if (!relay->buffer || fcntl(ends[ours], F_SETFL, O_NONBLOCK) != 0) {
        fd_close(ends[0]);
        fd_close(ends[1]);
        return relay->buffer ? -errno : -ENOMEM;
    }
    relay->pipe = ends[ours];
    relay->theirs = ends[1 - ours];
    relay->outer_polls = terminal;
    relay->terminal_in = terminal && fd == 0;
    if (terminal)
        ours = open_anew(fd, fd == 0 ? O_RDONLY : O_WRONLY, &relay->owned_outer);
    else
        ours = fd;
    /* Somebody else's terminal (after su) cannot be opened anew, and libuv would make the caller's own
     * description non-blocking: it waits on an epoll descriptor that holds it. */
    if (relay->terminal_in && !relay->owned_outer)
        relay->waiter = wait_for(ours, EPOLLIN);
    relay->outer_polls &= relay->owned_outer || relay->waiter >= 0;
    relay->from = fd == 0 ? ours : relay->pipe;
    relay->to = fd == 0 ? relay->pipe : ours;
    if (fd > 0 && fstat(fd, &object) == 0 && (S_ISFIFO(object.st_mode) || S_ISSOCK(object.st_mode)))
        prepare_stream(relay, fd, object.st_mode);
    return 0;
}

int relays_prepare(struct relays *relays, const bool skipped[3], struct relays_limit limit,
                   int ret_standard[3])
{
    bool relayed[3] = {false}, terminal;

    *relays = (struct relays){.limit = limit};
    for (int fd = 0; fd < 3; fd++)
        relays->relay[fd] =
            (struct relay){.all = relays, .from = -1, .to = -1, .pipe = -1, .theirs = -1, .waiter = -1};
    for (int fd = 0; fd < 3; fd++) {
        int r;

        if (skipped[fd])
            continue;
        ret_standard[fd] = fd;
        if (!must_relay(fd, &limit, &terminal))
            continue;
        relayed[fd] = true;
        if (fd == 2 && relayed[1] && fd_same(1, 2)) {
            ret_standard[2] = ret_standard[1];
            continue;
        }
        r = prepare_one(&relays->relay[fd], fd, terminal);
        if (r < 0) {
            relays_free(relays);
            return r;
        }
        relays->relay[fd].heard = is_heard(fd, &limit);
        relays->heard |= relays->relay[fd].heard;
        ret_standard[fd] = relays->relay[fd].theirs;
    }
    return 0;
}

void relays_handed_over(struct relays *relays)
{
    /* The read end of stdin's pipe stays: what is left in it at the end is given back. */
    for (int fd = 1; fd < 3; fd++)
        relays->relay[fd].theirs = fd_close(relays->relay[fd].theirs);
}

static void on_source(uv_poll_t *handle, int status, int events);
static void on_sink(uv_poll_t *handle, int status, int events);

static void close_poll(uv_poll_t *handle, bool *open)
{
    if (*open)
        uv_close((uv_handle_t *)handle, NULL);
    *open = false;
}

/* The copy has ended, by end of file or because nobody reads any more. The command sees it at its end. */
static void finish(struct relay *relay)
{
    relay->done = true;
    close_poll(&relay->source, &relay->source_open);
    close_poll(&relay->sink, &relay->sink_open);
    relay->pipe = fd_close(relay->pipe);
}

/* One write to wherever it goes, without waiting. A pipe that says there is room has at least a page of it.
 */
static ssize_t put_some(const struct relay *relay, bool wait)
{
    const char *from = relay->buffer + relay->at;
    size_t size = relay->held - relay->at;
    struct pollfd room = {.fd = relay->to, .events = POLLOUT};

    if (relay->socket)
        return send(relay->to, from, size, MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT));
    if (relay->pipe_out && !wait) {
        if (poll(&room, 1, 0) == 0) {
            errno = EAGAIN;
            return -1;
        }
        size = size < PIPE_BUF ? size : PIPE_BUF;
    }
    return write(relay->to, from, size);
}

/* Writes what is held. Return: true when nothing is held any more. */
static bool flush_held(struct relay *relay, bool wait)
{
    while (relay->at < relay->held) {
        ssize_t put = put_some(relay, wait);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0 && errno == EAGAIN)
            return false;
        if (put < 0) {
            /* A reader that has gone has lost nothing: the command learns of it as it would without us. */
            if (relay->to != relay->pipe && errno != EPIPE)
                relay->failed = errno;
            finish(relay);
            return false;
        }
        relay->at += (size_t)put;
    }
    relay->held = relay->at = 0;
    return true;
}

/* What is waited for in the place of @fd, one of the two sides: the outer one may have a waiter. */
static int waited(const struct relay *relay, int fd)
{
    return fd != relay->pipe && relay->waiter >= 0 ? relay->waiter : fd;
}

/* Waits for whichever side is in the way; a side that cannot be waited for is always ready. */
static void arm(struct relay *relay)
{
    bool to_write = relay->held > 0;

    if (relay->done)
        return;
    if (relay->source_open) {
        if (to_write)
            uv_poll_stop(&relay->source);
        else
            uv_poll_start(&relay->source, UV_READABLE, on_source);
    }
    if (relay->sink_open) {
        /* A source without events is read whenever the sink takes something. */
        if (to_write || !relay->source_open)
            uv_poll_start(&relay->sink, waited(relay, relay->to) == relay->to ? UV_WRITABLE : UV_READABLE,
                          on_sink);
        else
            uv_poll_stop(&relay->sink);
    }
}

/* Is another job in the foreground of the terminal that we would read? */
static bool in_background(const struct relay *relay)
{
    pid_t foreground;

    return relay->terminal_in && ioctl(relay->from, TIOCGPGRP, &foreground) == 0 && foreground != getpgrp();
}

size_t relays_admit(struct relays *relays, size_t size)
{
    uint64_t room = relays->limit.most - relays->put;

    if (relays->limit.most == 0)
        return size;
    if (size > room) {
        size = (size_t)room;
        if (!relays->truncated && relays->limit.ends)
            supervise_limit(relays->supervision, "output", true);
        relays->truncated = true;
    }
    relays->put += size;
    return size;
}

static void count_output(struct relay *relay)
{
    if (relay->heard)
        signs_hear(relay->all->limit.signs, relay->buffer, relay->held);
    if (relay->to != relay->pipe)
        relay->held = relays_admit(relay->all, relay->held);
}

static void copy_once(struct relay *relay)
{
    ssize_t got;

    if (relay->held == 0) {
        if (relay->ending) {
            finish(relay);
            return;
        }
        if (in_background(relay)) {
            uv_poll_stop(&relay->source); /* until wake_input() */
            return;
        }
        do
            got = read(relay->from, relay->buffer, RELAY_SIZE);
        while (got < 0 && errno == EINTR);
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0) {
            finish(relay);
            return;
        }
        relay->held = (size_t)got;
        relay->at = 0;
        relay->taken += (uint64_t)got;
        count_output(relay);
    }
    flush_held(relay, false);
}

static void on_source(uv_poll_t *handle, int status, int events)
{
    struct relay *relay = handle->data;

    (void)status;
    (void)events;
    copy_once(relay);
    arm(relay);
}

static void on_sink(uv_poll_t *handle, int status, int events)
{
    struct relay *relay = handle->data;

    (void)status;
    (void)events;
    copy_once(relay);
    arm(relay);
}

static int start_one(struct relays *relays, struct relay *relay)
{
    bool source_polls = relay->from == relay->pipe || relay->outer_polls;
    bool sink_polls = relay->to == relay->pipe || relay->outer_polls;

    if (source_polls) {
        int r = uv_poll_init(relays->loop, &relay->source, waited(relay, relay->from));

        if (r < 0)
            return r;
        relay->source.data = relay;
        relay->source_open = true;
    }
    if (sink_polls) {
        int r = uv_poll_init(relays->loop, &relay->sink, waited(relay, relay->to));

        if (r < 0)
            return r;
        relay->sink.data = relay;
        relay->sink_open = true;
    }
    arm(relay);
    return 0;
}

static int start_relays(void *self, struct supervision *supervision, uv_loop_t *uv)
{
    struct relays *relays = self;
    int r = uv_timer_init(uv, &relays->wake);

    relays->supervision = supervision;
    relays->wake.data = relays;
    relays->loop = uv;
    for (int fd = 0; fd < 3 && r == 0; fd++)
        if (relays->relay[fd].buffer)
            r = start_one(relays, &relays->relay[fd]);
    return r;
}

/* Reads the terminal again if we are in its foreground by now. Return: is that worth asking again? */
static bool wake_input(struct relays *relays)
{
    struct relay *input = &relays->relay[0];

    if (!input->buffer || input->done || !input->terminal_in || !input->source_open)
        return false;
    if (!uv_is_active((uv_handle_t *)&input->source) && input->held == 0 && !in_background(input))
        arm(input);
    return true;
}

static void on_wake(uv_timer_t *timer)
{
    if (!wake_input(timer->data))
        uv_timer_stop(timer);
}

static void go_relays(void *self)
{
    struct relays *relays = self;

    if (wake_input(relays))
        uv_timer_start(&relays->wake, on_wake, WAKE_MS, WAKE_MS);
}

/* What the command left in its input pipe, and what was read ahead of it, goes back to the file. Never more
 * than was taken: the command may write into its own input, and the caller would read again what stood before
 * it. */
static void give_back(struct relay *relay)
{
    int in_pipe = 0;
    uint64_t unread;

    if (relay->terminal_in || relay->theirs < 0)
        return;
    if (ioctl(relay->theirs, FIONREAD, &in_pipe) != 0)
        in_pipe = 0;
    unread = (uint64_t)in_pipe + (relay->held - relay->at);
    if (unread > relay->taken)
        unread = relay->taken;
    if (unread > 0)
        lseek(relay->from, -(off_t)unread, SEEK_CUR);
}

static void drain_relays(void *self)
{
    struct relays *relays = self;

    if (relays->relay[0].buffer)
        give_back(&relays->relay[0]);
    for (int fd = 1; fd < 3; fd++) {
        struct relay *relay = &relays->relay[fd];
        int rest;

        if (!relay->buffer || relay->done)
            continue;
        if (relay->owned_outer && fcntl(relay->to, F_SETFL, 0) != 0)
            relay->failed = errno;
        /* What stands in the pipe now: whoever still writes may do so faster than we read. */
        if (ioctl(relay->pipe, FIONREAD, &rest) != 0)
            rest = RELAY_SIZE;
        while (!relay->done && flush_held(relay, true) && rest > 0) {
            ssize_t got = read(relay->pipe, relay->buffer, rest < RELAY_SIZE ? (size_t)rest : RELAY_SIZE);

            if (got <= 0)
                break;
            rest -= (int)got;
            relay->held = (size_t)got;
            count_output(relay);
        }
    }
    for (int fd = 0; fd < 3; fd++)
        if (relays->relay[fd].buffer && !relays->relay[fd].done)
            finish(&relays->relay[fd]);
}

/* What was read ahead reaches the command first, as soon as its pipe takes it. */
static int close_input(void *self)
{
    struct relay *input = &((struct relays *)self)->relay[0];

    if (!input->buffer)
        return -ENOTTY;
    input->ending = true;
    if (!input->done && input->held == 0)
        finish(input);
    return 0;
}

const struct part_calls relays_part = {
    .start = start_relays, .go = go_relays, .close_input = close_input, .end = drain_relays};

bool relays_truncated(const struct relays *relays)
{
    return relays->truncated;
}

int relays_error(const struct relays *relays)
{
    for (int fd = 1; fd < 3; fd++)
        if (relays->relay[fd].failed)
            return relays->relay[fd].failed;
    return 0;
}

void relays_free(struct relays *relays)
{
    for (int fd = 0; fd < 3; fd++) {
        struct relay *relay = &relays->relay[fd];

        if (!relay->buffer)
            continue;
        relay->pipe = fd_close(relay->pipe);
        relay->theirs = fd_close(relay->theirs);
        relay->waiter = fd_close(relay->waiter);
        if (relay->owned_outer)
            fd_close(fd == 0 ? relay->from : relay->to);
        free(relay->buffer);
        relay->buffer = NULL;
    }
}
