/*
 * loop.c - epoll, edge-triggered, and lists of deadlines. See loop.h.
 */
#include "network/loop.h"

#include <errno.h>

#define EVENTS 256 /* of one turn */

static const uint64_t timer_ms[TIMER_KINDS] = {[TIMER_SOON] = 100,
                                               [TIMER_NEXT] = 250,
                                               [TIMER_HANDSHAKE] = 10000,
                                               [TIMER_DIAL] = 30000,
                                               [TIMER_END] = 500};

void list_begin(struct node *list)
{
    list->before = list->after = list;
}

bool list_empty(const struct node *list)
{
    return list->after == list;
}

void node_add(struct node *list, struct node *node)
{
    node->before = list->before;
    node->after = list;
    list->before->after = node;
    list->before = node;
}

void node_remove(struct node *node)
{
    if (!node->after)
        return;
    node->before->after = node->after;
    node->after->before = node->before;
    node->before = node->after = NULL;
}

static void move_all(struct node *from, struct node *to)
{
    if (list_empty(from))
        return;
    from->after->before = to->before;
    to->before->after = from->after;
    from->before->after = to;
    to->before = from->before;
    list_begin(from);
}

int loop_begin(struct loop *loop)
{
    *loop = (struct loop){.epoll = epoll_create1(EPOLL_CLOEXEC), .now = (uint64_t)clock_ms(CLOCK_MONOTONIC)};
    list_begin(&loop->ready);
    list_begin(&loop->turn);
    for (size_t i = 0; i < TIMER_KINDS; i++)
        list_begin(&loop->timers[i]);
    return loop->epoll < 0 ? -errno : 0;
}

static int control(struct loop *loop, int operation, struct watch *watch, int fd,
                   void (*call)(struct watch *watch))
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = watch};

    *watch = (struct watch){.fd = -1, .call = call};
    if (epoll_ctl(loop->epoll, operation, fd, &event) != 0)
        return -errno;
    watch->fd = fd;
    return 0;
}

int watch_begin(struct loop *loop, struct watch *watch, int fd, void (*call)(struct watch *watch))
{
    return control(loop, EPOLL_CTL_ADD, watch, fd, call);
}

int watch_take(struct loop *loop, struct watch *watch, int fd, void (*call)(struct watch *watch))
{
    return control(loop, EPOLL_CTL_MOD, watch, fd, call); /* says anew what is ready already */
}

void watch_end(struct watch *watch)
{
    node_remove(&watch->node);
    watch->fd = -1;
    watch->call = NULL;
}

void watch_forget(struct loop *loop, struct watch *watch)
{
    if (watch->fd >= 0)
        epoll_ctl(loop->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
    watch_end(watch);
}

void watch_again(struct loop *loop, struct watch *watch)
{
    if (!watch->node.after)
        node_add(&loop->ready, &watch->node);
}

void timer_begin(struct loop *loop, struct timer *timer, enum timer_kind kind,
                 void (*call)(struct timer *timer))
{
    timer_end(timer);
    timer->at = loop->now + timer_ms[kind];
    timer->call = call;
    node_add(&loop->timers[kind], &timer->node);
}

void timer_end(struct timer *timer)
{
    node_remove(&timer->node);
}

/* Return: ms until the first deadline, -1: there is none. */
static int next_deadline(const struct loop *loop)
{
    uint64_t first = UINT64_MAX;

    for (size_t i = 0; i < TIMER_KINDS; i++)
        if (!list_empty(&loop->timers[i]) && ((struct timer *)loop->timers[i].after)->at < first)
            first = ((struct timer *)loop->timers[i].after)->at;
    return first == UINT64_MAX ? -1 : first <= loop->now ? 0 : (int)(first - loop->now);
}

static void call_timers(struct loop *loop)
{
    for (size_t i = 0; i < TIMER_KINDS; i++)
        while (!list_empty(&loop->timers[i])) {
            struct timer *timer = (struct timer *)loop->timers[i].after;

            if (timer->at > loop->now)
                break;
            timer_end(timer);
            timer->call(timer);
        }
}

int loop_run(struct loop *loop, void (*turned)(struct loop *loop))
{
    struct epoll_event events[EVENTS];

    while (!loop->ended) {
        int count =
            epoll_wait(loop->epoll, events, EVENTS, list_empty(&loop->ready) ? next_deadline(loop) : 0);

        if (count < 0 && errno != EINTR)
            return -errno;
        loop->now = (uint64_t)clock_ms(CLOCK_MONOTONIC);
        loop->came = count;
        for (int i = 0; i < count; i++) {
            struct watch *watch = events[i].data.ptr;

            watch->events |= events[i].events;
            watch_again(loop, watch);
        }
        move_all(&loop->ready, &loop->turn);
        while (!list_empty(&loop->turn)) {
            struct watch *watch = (struct watch *)loop->turn.after;

            node_remove(&watch->node);
            watch->call(watch);
        }
        call_timers(loop);
        turned(loop);
    }
    return 0;
}
