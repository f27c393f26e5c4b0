/*
 * pump.c - bytes from one descriptor to another by the events of a loop.
 *
 * Should:  take nothing before what was taken is gone: whoever is too fast waits.
 * Mustn't: set O_NONBLOCK on a description that others have. A pipe or a terminal is opened anew; where that
 *          cannot be, it is waited for by an epoll descriptor that holds it, and asked for no more than does
 *          not block.
 */
#include "run/pump.h"

#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

void pump_clear(struct pump *pump)
{
    *pump = (struct pump){.from = {.fd = -1, .waiter = -1}, .to = {.fd = -1, .waiter = -1}, .paused = true};
}

static int open_anew(int fd, int flags)
{
    struct stat object;

    if (fstat(fd, &object) != 0 || (!S_ISFIFO(object.st_mode) && !isatty(fd)))
        return -1;
    return open(FD_NAME(fd), flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static int take_end(struct pump_end *end, int fd, bool ours, bool writes)
{
    struct epoll_event event = {.events = writes ? EPOLLOUT : EPOLLIN};
    struct stat object;

    end->fd = ours ? -1 : open_anew(fd, writes ? O_WRONLY : O_RDONLY);
    end->ours = ours || end->fd >= 0;
    if (end->fd < 0)
        end->fd = fd_copy(fd, 3);
    if (end->fd < 0 || fstat(end->fd, &object) != 0)
        return -errno;
    end->socket = S_ISSOCK(object.st_mode);
    if (end->ours)
        return 0;
    end->waiter = epoll_create1(EPOLL_CLOEXEC);
    if (end->waiter < 0)
        return -errno;
    if (epoll_ctl(end->waiter, EPOLL_CTL_ADD, end->fd, &event) != 0) { /* a file */
        int errnum = errno;

        end->waiter = fd_close(end->waiter);
        return errnum == EPERM ? 0 : -errnum;
    }
    return 0;
}

int pump_from(struct pump *pump, int fd, bool ours)
{
    return take_end(&pump->from, fd, ours, false);
}

int pump_to(struct pump *pump, int fd, bool ours)
{
    return take_end(&pump->to, fd, ours, true);
}

static void on_event(uv_poll_t *handle, int status, int events);

static void poll_end(struct pump_end *end, bool writes, bool on)
{
    if (!end->open)
        return;
    if (on)
        uv_poll_start(&end->poll, end->ours && writes ? UV_WRITABLE : UV_READABLE, on_event);
    else
        uv_poll_stop(&end->poll);
}

/* Waits for whichever side is in the way; a side that cannot be waited for is always ready. */
static void arm(struct pump *pump)
{
    bool full = pump->held > 0, idle = pump->done || (pump->paused && !full);

    poll_end(&pump->from, false, !idle && !full);
    poll_end(&pump->to, true, !idle && (full || !pump->from.open));
}

static void end_pump(struct pump *pump, int errnum)
{
    if (pump->done)
        return;
    pump->done = true;
    if (pump->calls.ended)
        pump->calls.ended(pump->calls.self, errnum);
}

static ssize_t write_end(const struct pump_end *end, const char *bytes, size_t size)
{
    if (end->socket)
        return send(end->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    return write(end->fd, bytes, !end->ours && end->waiter >= 0 && size > PIPE_BUF ? PIPE_BUF : size);
}

/* Writes what is held. Return: true when nothing is held any more. */
static bool write_held(struct pump *pump)
{
    while (pump->at < pump->held) {
        ssize_t put = write_end(&pump->to, pump->worked + pump->at, pump->held - pump->at);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0 && errno == EAGAIN)
            return false;
        if (put < 0) {
            end_pump(pump, errno);
            return false;
        }
        pump->at += (size_t)put;
        if (!pump->to.ours && pump->to.waiter >= 0 && pump->at < pump->held)
            return false; /* the next part may block */
    }
    pump->held = pump->at = 0;
    return true;
}

/* Return: bytes that were taken, 0 if there are none now. */
static size_t take(struct pump *pump)
{
    ssize_t got;

    do
        got = pump->from.socket ? recv(pump->from.fd, pump->taken, PUMP_PART, MSG_DONTWAIT)
                                : read(pump->from.fd, pump->taken, PUMP_PART);
    while (got < 0 && errno == EINTR);
    if (got > 0)
        return (size_t)got;
    if (got == 0 || errno != EAGAIN)
        end_pump(pump, got == 0 ? 0 : errno);
    return 0;
}

static bool copy_once(struct pump *pump)
{
    size_t size;

    if (pump->held == 0) {
        if (pump->calls.ready && !pump->calls.ready(pump->calls.self)) {
            pump->paused = true;
            return false;
        }
        size = take(pump);
        if (size == 0)
            return false;
        pump->held = pump->calls.work(pump->calls.self, pump->taken, size, pump->worked);
    }
    write_held(pump);
    return true;
}

static void on_event(uv_poll_t *handle, int status, int events)
{
    struct pump *pump = handle->data;

    (void)status;
    (void)events;
    copy_once(pump);
    arm(pump);
}

static int start_end(struct pump *pump, struct pump_end *end, uv_loop_t *loop)
{
    int polled = end->ours ? end->fd : end->waiter;
    int r = polled < 0 ? 0 : uv_poll_init(loop, &end->poll, polled);

    end->open = polled >= 0 && r == 0;
    end->poll.data = pump;
    return r;
}

int pump_start(struct pump *pump, uv_loop_t *loop, const struct pump_calls *calls)
{
    int r;

    pump->calls = *calls;
    pump->taken = malloc(PUMP_PART);
    pump->worked = malloc(PUMP_PART + PUMP_MORE);
    if (!pump->taken || !pump->worked)
        return -ENOMEM;
    r = start_end(pump, &pump->from, loop);
    return r < 0 ? r : start_end(pump, &pump->to, loop);
}

void pump_resume(struct pump *pump)
{
    pump->paused = false;
    arm(pump);
}

void pump_end(struct pump *pump)
{
    end_pump(pump, 0);
    arm(pump);
}

static void close_poll(struct pump_end *end)
{
    if (end->open)
        uv_close((uv_handle_t *)&end->poll, NULL);
    end->open = false;
}

/* Waits until the other side takes something: nothing else is left to be done. */
static bool wait_writable(const struct pump *pump)
{
    struct pollfd ready = {.fd = pump->to.fd, .events = POLLOUT};

    return poll(&ready, 1, -1) == 1 || errno == EINTR;
}

void pump_finish(struct pump *pump, bool drain)
{
    close_poll(&pump->from);
    close_poll(&pump->to);
    while (drain && !pump->done && pump->worked) {
        if (!write_held(pump)) {
            if (pump->done || !wait_writable(pump))
                break;
        } else if (!copy_once(pump)) {
            break;
        }
    }
    pump->done = true;
}

static void free_end(struct pump_end *end)
{
    end->fd = fd_close(end->fd);
    end->waiter = fd_close(end->waiter);
}

void pump_free(struct pump *pump)
{
    free_end(&pump->from);
    free_end(&pump->to);
    free(pump->taken);
    free(pump->worked);
    pump->taken = pump->worked = NULL;
}
