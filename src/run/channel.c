/*
 * channel.c - the supervisor's end of the channel.
 */
#include "run/channel.h"

#include "links/pass.h"
#include "util/util.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int channel_open(int *ret_ours, int *ret_theirs)
{
    int ends[2], on = 1;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -errno;
    if (setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0) {
        int errnum = errno;

        fd_close(ends[0]);
        fd_close(ends[1]);
        return -errnum;
    }
    *ret_ours = ends[0];
    *ret_theirs = ends[1];
    return 0;
}

static int wait_readable(int fd, int timeout_ms)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    int r;

    do
        r = poll(&poll_fd, 1, timeout_ms);
    while (r < 0 && errno == EINTR);
    if (r < 0)
        return -errno;
    return r == 0 ? -ETIMEDOUT : 0;
}

void handed_close(struct handed_over *handed)
{
    for (; handed->count > 0; handed->count--)
        fd_close(handed->fd[handed->count - 1]);
}

bool channel_descriptors(const struct cmsghdr *part, int *fds, size_t most, size_t *count)
{
    size_t there = 0;

    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
        return true;
    for (; (there + 1) * sizeof(int) <= part->cmsg_len - CMSG_LEN(0); there++) {
        int fd;

        memcpy(&fd, CMSG_DATA(part) + there * sizeof(int), sizeof(int));
        if (*count < most)
            fds[(*count)++] = fd;
        else
            fd_close(fd);
    }
    return there <= most;
}

/* Takes what came along out of the message. Return: false: there was too much. */
static bool take_over(struct msghdr *message, pid_t *ret_pid, struct handed_over *handed)
{
    bool whole = true;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS) {
            struct ucred who;

            memcpy(&who, CMSG_DATA(c), sizeof(who));
            *ret_pid = who.pid;
            handed->uid = who.uid;
            handed->gid = who.gid;
        } else {
            whole = channel_descriptors(c, handed->fd, CHANNEL_DESCRIPTORS, &handed->count) && whole;
        }
    return whole;
}

ssize_t channel_receive_all(int fd, void *room, size_t size, int timeout_ms, pid_t *ret_pid,
                            struct handed_over *handed)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(CHANNEL_DESCRIPTORS * sizeof(int))];
    } control;
    struct iovec part = {.iov_base = room, .iov_len = size};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    ssize_t got = wait_readable(fd, timeout_ms);
    int reset = 0;

    if (got < 0)
        return got;
    /* The other end closed without having read what we sent: that is told once, before what it said last. */
    do
        got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    while (got < 0 && (errno == EINTR || (errno == ECONNRESET && !reset++)));
    if (got < 0)
        return -errno;
    *ret_pid = 0;
    handed->count = 0;
    handed->uid = (uid_t)-1; /* nobody's */
    handed->gid = (gid_t)-1;
    if (take_over(&message, ret_pid, handed) && !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
        return got;
    handed_close(handed);
    return -EMSGSIZE;
}

ssize_t channel_receive(int fd, void *room, size_t size, int timeout_ms, pid_t *ret_pid)
{
    struct handed_over unasked = {0};
    ssize_t got = channel_receive_all(fd, room, size, timeout_ms, ret_pid, &unasked);

    if (got >= 0)
        handed_close(&unasked);
    return got;
}

int channel_send(int fd, const void *data, size_t size, const int *descriptors, size_t count)
{
    return pass_descriptors(fd, data, size, descriptors, count, PASS_PATIENTLY);
}
