/*
 * test-session.c - what a keeper takes from whoever speaks to it.
 */
#include "harness.h"

#include "run/channel.h"
#include "run/session_wire.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#define GUARD 0x5afe5afe

/* The lowest descriptor that is free. */
static int lowest(void)
{
    int fd = dup(STDERR_FILENO);

    fd_close(fd);
    return fd;
}

/* A packet with COUNT descriptors. Return: session_receive()'s answer; all that came is closed. */
static int receive(size_t count, size_t *ret_count)
{
    struct {
        int fds[JOIN_COUNT], guard[2];
    } taken = {.guard = {GUARD, GUARD}};
    int ends[2], sent[JOIN_COUNT + 4], r;
    char byte = 'x';

    for (size_t i = 0; i < ARRAY_SIZE(sent); i++)
        sent[i] = STDERR_FILENO;
    need(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    need(channel_send(ends[0], &byte, 1, sent, count) == 0);
    r = session_receive(ends[1], &byte, 1, taken.fds, ret_count);
    for (size_t i = 0; i < *ret_count; i++)
        fd_close(taken.fds[i]);
    check(taken.guard[0] == GUARD && taken.guard[1] == GUARD);
    fd_close(ends[0]);
    fd_close(ends[1]);
    return r;
}

TEST(no_more_descriptors_than_there_is_room_for)
{
    const int before = lowest();

    for (size_t count = 0; count <= JOIN_COUNT + 4; count++) {
        size_t taken;

        check_int(receive(count, &taken), count > JOIN_COUNT ? -EPROTO : 0);
        check_int((long)taken, count > JOIN_COUNT ? 0 : (long)count);
        check_int(lowest(), before);
    }
}
