/*
 * dial.c - see dial.h.
 */
#include "network/dial.h"

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>

static void try_next(struct dial *dial);

static void end_attempt(struct dial_attempt *attempt)
{
    int fd = attempt->watch.fd;

    if (fd < 0)
        return;
    if (attempt->dial->shared)
        watch_forget(attempt->dial->loop, &attempt->watch);
    else
        watch_end(&attempt->watch);
    fd_close(fd);
    attempt->dial->open--;
}

void dial_end(struct dial *dial)
{
    timer_end(&dial->next);
    timer_end(&dial->end);
    for (size_t i = 0; i < dial->tried; i++)
        end_attempt(&dial->attempts[i]);
}

static void finish(struct dial *dial, int fd, size_t at, int error)
{
    dial_end(dial);
    dial->call(dial, fd, at, error);
}

static void fail_attempt(struct dial_attempt *attempt, int error)
{
    end_attempt(attempt);
    attempt->dial->error = error;
    try_next(attempt->dial);
}

static void on_attempt(struct watch *watch)
{
    struct dial_attempt *attempt = (struct dial_attempt *)watch;
    struct dial *dial = attempt->dial;
    socklen_t length = sizeof(int);
    int errnum = 0, fd = watch->fd;

    if (!(watch->events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
        return;
    if (watch->events & (EPOLLERR | EPOLLHUP) && getsockopt(fd, SOL_SOCKET, SO_ERROR, &errnum, &length) != 0)
        errnum = errno;
    if (errnum) {
        fail_attempt(attempt, -errnum);
        return;
    }
    if (!(watch->events & EPOLLOUT))
        return;
    watch_end(watch);
    dial->open--;
    finish(dial, fd, (size_t)(attempt - dial->attempts), 0);
}

static void on_time(struct timer *timer)
{
    try_next((struct dial *)timer);
}

static void on_end(struct timer *timer)
{
    finish((struct dial *)((char *)timer - offsetof(struct dial, end)), -1, 0, -ETIMEDOUT);
}

/* Begin to connect FD, which is then the attempt's. Return: 0 or -errno; then it is closed. */
static int connect_attempt(struct dial *dial, size_t at, int fd)
{
    struct dial_attempt *attempt = &dial->attempts[at];
    struct sockaddr_storage name;
    socklen_t length = address_socket(&dial->addresses[at], dial->port, &name);
    int error = 0;

    attempt->dial = dial;
    attempt->watch.fd = -1;
    if (fd < 0)
        return -errno;
    if (connect(fd, (struct sockaddr *)&name, length) != 0 && errno != EINPROGRESS)
        error = -errno;
    if (!error)
        error = watch_begin(dial->loop, &attempt->watch, fd, on_attempt);
    if (error)
        fd_close(fd);
    else
        dial->open++;
    return error;
}

static void try_next(struct dial *dial)
{
    timer_end(&dial->next);
    while (dial->tried < dial->count) {
        size_t at = dial->tried++;
        int fd = socket(dial->addresses[at].six ? AF_INET6 : AF_INET,
                        SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        int error = connect_attempt(dial, at, fd);

        if (!error) {
            if (dial->tried < dial->count)
                timer_begin(dial->loop, &dial->next, TIMER_NEXT, on_time);
            return;
        }
        dial->error = error;
    }
    if (dial->open == 0)
        finish(dial, -1, 0, dial->error);
}

void dial_begin(struct dial *dial)
{
    dial->tried = dial->open = 0;
    dial->error = -EHOSTUNREACH;
    timer_begin(dial->loop, &dial->end, TIMER_DIAL, on_end);
    try_next(dial);
}

void dial_begin_with(struct dial *dial, int fd)
{
    int error;

    dial->tried = dial->count = 1;
    dial->open = 0;
    dial->shared = true;
    timer_begin(dial->loop, &dial->end, TIMER_DIAL, on_end);
    error = connect_attempt(dial, 0, fd);
    if (error)
        finish(dial, -1, 0, error);
}
