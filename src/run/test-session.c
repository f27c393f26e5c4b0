/*
 * test-session.c - what a keeper takes from whoever speaks to it, and from how many.
 */
#include "harness.h"

#include "run/channel.h"
#include "run/session_hearers.h"
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

/* What is said to the gateway stays where it is. */
static struct hearers *listeners(struct gateway *gateway)
{
    static struct hearers hearers;
    int ends[2];

    gateway_clear(gateway);
    need(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    gateway->fd = ends[0];
    hearers_clear(&hearers, gateway);
    return &hearers;
}

TEST(no_more_hear_than_there_is_room_for)
{
    struct gateway gateway;
    struct hearers *hearers = listeners(&gateway);

    for (size_t i = 0; i < HEARERS; i++)
        check(hearers_add(hearers, dup(STDERR_FILENO)));
    check(!hearers_add(hearers, STDERR_FILENO));
    hearers->fd[HEARERS / 2] = fd_close(hearers->fd[HEARERS / 2]);
    check(hearers_add(hearers, dup(STDERR_FILENO)));
    check(!hearers_add(hearers, STDERR_FILENO));
}

TEST(who_says_what_is_no_word_is_heard_no_more)
{
    static const struct {
        const char *word;
        size_t size;
        bool stays;
    } words[] = {{"t", 1, true}, {"x", 1, false}, {"T", 1, false}, {"\0t", 2, false}, {"", 0, false}};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        struct gateway gateway;
        struct hearers *hearers = listeners(&gateway);
        struct pollfd ready[HEARERS];
        int ends[2];

        need(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
        check(hearers_add(hearers, ends[0]));
        need(send(ends[1], words[i].word, words[i].size, 0) == (ssize_t)words[i].size);
        hearers_wait(hearers, ready);
        need(poll(ready, HEARERS, -1) == 1);
        hearers_hear(hearers, ready);
        check_int(hearers->fd[0], words[i].stays ? ends[0] : -1);
        fd_close(ends[1]);
    }
}
