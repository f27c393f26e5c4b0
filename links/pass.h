/*
 * pass.h - descriptors over a socket.
 *
 * Theory of operation. How many descriptors of a user are under way, sent and not received yet, the kernel
 * bounds over all of the user's processes, by the RLIMIT_NOFILE of whoever sends: 1,024 mostly. A hundred
 * starts at once come to that, and get ETOOMANYREFS. It passes as the others receive theirs.
 *
 * Should:  wait for that where a start does nothing else meanwhile.
 * Mustn't: be waited for in a circle: what lies unreceived until its receiver has sent something itself is
 * sent with half of the limit (PASS_EARLY), so that the other half is for those that are received at once.
 * Mustn't hold up a loop: a command can keep all of its user's under way for as long as it lives.
 */
#ifndef CONFINE_LINKS_PASS_H
#define CONFINE_LINKS_PASS_H

#include "channel.h"
#include "kernel_abi.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

enum pass_how {
    PASS_NOW,   /* or not at all: -ETOOMANYREFS */
    PASS_EARLY, /* the same, where half of the limit is under way */
    PASS_PATIENTLY,
};

#define PASS_MS 10000 /* patience; then the machine is overloaded, or somebody receives nothing */

/* pass_strerror() - why it failed, in words; not every libc knows this one. @errnum: positive */
static inline const char *pass_strerror(int errnum)
{
    return errnum == ETOOMANYREFS
               ? "this user's descriptors on their way between processes are used up; end the "
                 "process that sends what nobody receives, or raise ulimit -n"
               : strerror(errnum);
}

static inline int pass_once(int socket, const struct msghdr *message, size_t size)
{
    ssize_t sent;

    do
        sent = sendmsg(socket, message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0)
        return -errno;
    return (size_t)sent == size ? 0 : -EIO;
}

/*
 * pass_descriptors() - one packet, with @count descriptors, which stay the caller's.
 *
 * @how: PASS_EARLY where it is not received before its receiver has passed something itself
 *
 * Return: 0 or -errno.
 */
static inline int pass_descriptors(int socket, const void *data, size_t size, const int *descriptors,
                                   size_t count, enum pass_how how)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(CHANNEL_DESCRIPTORS * sizeof(int))];
    } control;
    struct iovec part = {.iov_base = (void *)(uintptr_t)data, .iov_len = size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    struct rlimit limit, half;
    int r;

    if (count > CHANNEL_DESCRIPTORS)
        return -E2BIG;
    if (count == 0)
        return pass_once(socket, &message, size);
    memset(&control, 0, sizeof(control));
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(&control.header), descriptors, count * sizeof(int));
    message.msg_control = &control;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    if (how == PASS_EARLY) {
        if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
            return -errno;
        half = (struct rlimit){.rlim_cur = limit.rlim_cur / 2, .rlim_max = limit.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &half) != 0)
            return -errno;
        r = pass_once(socket, &message, size);
        return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? r : -errno;
    }
    r = pass_once(socket, &message, size);
    for (int waited = 0; how == PASS_PATIENTLY && r == -ETOOMANYREFS && waited < PASS_MS; waited++) {
        const struct timespec tick = {.tv_nsec = 1000000};

        (void)kernel_call(SYS_ppoll, 0, 0, KERNEL_PTR(&tick), 0, 0, 0);
        r = pass_once(socket, &message, size);
    }
    return r;
}

#endif
