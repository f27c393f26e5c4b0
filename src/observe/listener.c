/*
 * listener.c - the observer's loop: a call is announced, looked at, and goes on.
 *
 * Theory of operation. The kernel holds the calling thread until it is answered. The answer is always that
 * the call goes on, whatever was seen: what refuses stands in the kernel. (One that somebody may be asked
 * about is handed to the supervisor, who answers it.) Until the supervisor says that the command starts, what
 * is announced is the attestation's, and is answered without a look.
 *
 * Should:  answer in any case, and at once; end when the supervisor does.
 * Mustn't: hold back a call for the sake of a record.
 */
#include "observe/hold.h"
#include "observe/judge.h"
#include "observe/observe.h"
#include "observe/record.h"
#include "observe/retreat.h"
#include "observe/start.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void answer(int listener, const struct notify_request *request)
{
    struct notify_answer answer = {.id = request->id, .flags = NOTIFY_CONTINUE};

    /* It may be gone, by a signal or by its end: then nobody waits. A kernel that cannot let it go on (before
     * Linux 5.5) would leave it waiting for good: with us, all of them are refused, and the run ends. */
    if (kernel_call(SYS_ioctl, listener, NOTIFY_IOCTL_SEND, KERNEL_PTR(&answer), 0, 0, 0) == -EINVAL)
        _exit(1);
}

/* Return: was there a call? */
static bool serve_one(const struct judge *judge, bool looks)
{
    struct notify_request request;
    bool held = false;
    long r;

    memset(&request, 0, sizeof(request)); /* the kernel asks for that */
    r = kernel_call(SYS_ioctl, judge->listener, NOTIFY_IOCTL_RECEIVE, KERNEL_PTR(&request), 0, 0, 0);
    if (r < 0)
        return false;
    if (looks && request.pid == 0)
        record_unreadable();
    else if (looks)
        held = judge_call(judge, &request);
    if (!held)
        answer(judge->listener, &request);
    return true;
}

/* A word of the supervisor's. Return: false at its end. */
static bool hear(int wire, bool *looks)
{
    char word;
    long got = kernel_call(SYS_read, wire, KERNEL_PTR(&word), sizeof(word), 0, 0, 0);

    if (got > 0)
        *looks = true;
    return got > 0 || got == -EINTR || got == -EAGAIN;
}

/* While the command runs a call is received without asking first whether there is one: that would be one more
 * for each. A signal of the supervisor's, or the end of all callers, leads back to the question. */
static void serve(const struct judge *judge)
{
    struct pollfd ends[] = {{.fd = judge->wire, .events = POLLIN}, {.fd = judge->listener, .events = POLLIN}};
    bool looks = false;

    for (;;) {
        long r;

        ends[0].revents = ends[1].revents = 0;
        r = kernel_call(SYS_ppoll, KERNEL_PTR(ends), ARRAY_SIZE(ends), 0, 0, 0, 0);
        if (r < 0 && r != -EINTR)
            return;
        if (ends[1].revents & POLLIN && !(ends[0].revents & POLLIN)) {
            while (serve_one(judge, looks) && looks && !judge->asks_first)
                ;
            continue;
        }
        if (ends[0].revents && !hear(judge->wire, &looks))
            return;
        if (!(ends[1].revents & POLLIN) && ends[1].revents)
            ends[1].fd = -1; /* nobody is left who could call */
    }
}

/* Nothing can fail any more but what is looked at. */
static bool say_ready(void)
{
    static const struct observe_message ready = {.type = OBSERVE_MESSAGE_READY};
    const size_t size = offsetof(struct observe_message, name);

    return kernel_call(SYS_write, OBSERVE_WIRE, KERNEL_PTR(&ready), (long)size, 0, 0, 0) == (long)size;
}

/* The packet that brings where to look. Return: is it there? */
static bool take_listener(void)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct pollfd ready = {.fd = OBSERVE_WIRE, .events = POLLIN};
    char byte;
    struct iovec part = {.iov_base = &byte, .iov_len = sizeof(byte)};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    int listener = -1;
    long r;

    do
        r = kernel_call(SYS_ppoll, KERNEL_PTR(&ready), 1, 0, 0, 0, 0);
    while (r == -EINTR);
    memset(&control, 0, sizeof(control));
    if (r < 0 || kernel_call(SYS_recvmsg, OBSERVE_WIRE, KERNEL_PTR(&message), MSG_CMSG_CLOEXEC, 0, 0, 0) !=
                     (long)sizeof(byte))
        return false;
    if (message.msg_controllen >= sizeof(control.header) && control.header.cmsg_type == SCM_RIGHTS)
        memcpy(&listener, CMSG_DATA(&control.header), sizeof(listener));
    /* Not by every kernel: an older one wakes the caller on another processor, and that is all. */
    (void)kernel_call(SYS_ioctl, OBSERVE_LISTENER, NOTIFY_IOCTL_SET_FLAGS, NOTIFY_SYNC_WAKE_UP, 0, 0, 0);
    return listener == OBSERVE_LISTENER; /* the lowest that is free */
}

/* Nobody listens any more; what lives on behind the command in a session still asks. */
static void answer_others(int listener)
{
    struct pollfd end = {.fd = listener, .events = POLLIN};

    for (;;) {
        struct notify_request request = {0};
        long r;

        end.revents = 0;
        r = kernel_call(SYS_ppoll, KERNEL_PTR(&end), 1, 0, 0, 0, 0);
        if ((r < 0 && r != -EINTR) || (r > 0 && !(end.revents & POLLIN)))
            return;
        r = kernel_call(SYS_ioctl, listener, NOTIFY_IOCTL_RECEIVE, KERNEL_PTR(&request), 0, 0, 0);
        if (r == 0)
            answer(listener, &request);
    }
}

void observe_serve(const struct observe_setup *setup)
{
    static struct judge judge;

    judge.listener = OBSERVE_LISTENER;
    judge.wire = OBSERVE_WIRE;
    judge.uid = setup->resolved->uid;
    judge.self = getpid();
    judge.holds = setup->asks;
    judge.holds_connects = setup->asks_connects;
    judge.tells_calls = setup->tells_calls;
    judge.asks_first =
        setup->outlives; /* where it waits for a call alone, an old kernel does not tell it of the end */
    rules_make(&judge.rules, setup->resolved, setup->plan, setup->tmp);
    start_expect(setup->resolved, setup->command);
    if (retreat(setup) < 0 || !say_ready() || !take_listener())
        _exit(1);
    serve(&judge);
    record_end(judge.wire);
    close(judge.wire);
    hold_release(judge.listener);
    if (setup->outlives)
        answer_others(judge.listener);
    _exit(0);
}
