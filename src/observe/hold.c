/*
 * hold.c - hand a call to the supervisor, and remember that it was.
 *
 * Theory of operation. A held call waits in the kernel for whoever answers on the listener. The supervisor
 * has a copy of that. If it dies in a session, where the observer lives on, nobody would: so the numbers of
 * what was handed over are kept.
 *
 * Should:  hand over the object itself, as it was looked at; the supervisor finds out for itself what it is.
 * Mustn't: wait for the supervisor, hold what it did not take, or open anything for it.
 */
#include "observe/hold.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#define HELD_MOST 64 /* the supervisor lets far fewer wait; the rest has been answered */

static uint64_t held[HELD_MOST];

/* Return: where a number can be kept; NULL: all are still waiting. */
static uint64_t *find_room(int listener)
{
    for (size_t i = 0; i < HELD_MOST; i++)
        if (held[i] == 0)
            return &held[i];
    for (size_t i = 0; i < HELD_MOST; i++)
        if (kernel_call(SYS_ioctl, listener, NOTIFY_IOCTL_VALID, KERNEL_PTR(&held[i]), 0, 0, 0) < 0)
            return &held[i];
    return NULL;
}

/* One packet, with a descriptor unless that is -1. Return: was it taken? */
static bool send_ask(int wire, struct observe_message *message, size_t size, int object)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {.iov_base = message, .iov_len = size};
    struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};

    memset(&control, 0, sizeof(control));
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&control.header), &object, sizeof(int));
    if (object >= 0) {
        packet.msg_control = &control;
        packet.msg_controllen = sizeof(control);
    }
    return kernel_call(SYS_sendmsg, wire, KERNEL_PTR(&packet), MSG_NOSIGNAL, 0, 0, 0) == (long)size;
}

bool hold_call(int listener, int wire, const struct notify_request *request, const struct refusal *refusal,
               const struct holding *holding)
{
    static struct observe_message message;
    size_t length = strlen(refusal->name);
    uint64_t *room = find_room(listener);

    if (!room || (holding->object < 0 && holding->kind != OBSERVE_HELD_CONNECT) ||
        length >= sizeof(message.name))
        return false;
    memset(&message, 0, offsetof(struct observe_message, name));
    message.type = OBSERVE_MESSAGE_ASK;
    message.count = 1;
    message.pid = refusal->pid;
    message.surface = refusal->verdict.surface;
    message.operation = refusal->operation;
    message.rule = refusal->verdict.rule;
    message.is_address = refusal->is_address;
    message.held = request->id;
    message.held_kind = holding->kind;
    message.held_flags = holding->flags;
    message.held_mode = holding->mode;
    record_program(refusal->pid, message.executable);
    memcpy(message.name, refusal->name, length);
    if (!send_ask(wire, &message, offsetof(struct observe_message, name) + length, holding->object))
        return false;
    *room = request->id;
    return true;
}

void hold_release(int listener)
{
    for (size_t i = 0; i < HELD_MOST; i++) {
        struct notify_answer answer = {.id = held[i], .flags = NOTIFY_CONTINUE};

        /* One that was answered is not there any more. */
        if (held[i])
            (void)kernel_call(SYS_ioctl, listener, NOTIFY_IOCTL_SEND, KERNEL_PTR(&answer), 0, 0, 0);
    }
}
