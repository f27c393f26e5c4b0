/*
 * channel.h - the supervisor's end of the channel (links/channel.h).
 */
#ifndef CONFINE_RUN_CHANNEL_H
#define CONFINE_RUN_CHANNEL_H

#include "links/channel.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

/* channel_open() - a SOCK_SEQPACKET pair, both ends close-on-exec; ours with credentials. Return: 0 or
 * -errno. */
int channel_open(int *ret_ours, int *ret_theirs);

/*
 * channel_receive() - one packet.
 * @room, @size: where it goes; @ret_pid: who wrote it, by the kernel's word
 * @timeout_ms: how long to wait; 0 does not wait
 *
 * Return: its size; 0 at the end of the channel; -ETIMEDOUT, -EMSGSIZE for a cut packet, or another -errno.
 */
ssize_t channel_receive(int fd, void *room, size_t size, int timeout_ms, pid_t *ret_pid);

/* What came with a packet: whose user the writer is, by the kernel's word, and descriptors. */
struct handed_over {
    uid_t uid;
    gid_t gid;
    int fd[CHANNEL_DESCRIPTORS];
    size_t count;
};

/*
 * channel_descriptors() - takes what @part of a message brings, if it is descriptors: @most of them, into
 * @fds; more are closed. The room for N of them has room for one more where N is odd, and the kernel fills
 * it.
 *
 * Return: false: there were more.
 */
bool channel_descriptors(const struct cmsghdr *part, int *fds, size_t most, size_t *count);

/* channel_receive_all() - the same, with the descriptors that came along, which are the caller's. On an error
 * there are none. */
ssize_t channel_receive_all(int fd, void *room, size_t size, int timeout_ms, pid_t *ret_pid,
                            struct handed_over *handed);

/* handed_close() - close them. */
void handed_close(struct handed_over *handed);

/* channel_send() - one packet with descriptors, up to CHANNEL_DESCRIPTORS, for which it may wait ten seconds;
 * who must not, calls pass_descriptors() (links/pass.h). Return: 0 or -errno. */
int channel_send(int fd, const void *data, size_t size, const int *descriptors, size_t count);

#endif
