/*
 * child.c - ask a child that may hang.
 *
 * Should:  end within its time, whatever the child waits for.
 * Mustn't: wait for a child that does not die: one in the kernel's hands (a file server that is gone) dies
 *          when that comes back.
 */
#include "host/child.h"

#include "util/util.h"

#include "links/kernel_abi.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#define END_MS 100

/* Reads to the end of the pipe or of the time. Return: bytes, or -errno. */
static ssize_t read_answer(int fd, char *room, size_t size, int64_t until)
{
    size_t have = 0;

    while (have < size) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int64_t left = until - clock_ms(CLOCK_MONOTONIC);
        int r = poll(&ready, 1, left > 0 ? (int)left : 0);
        ssize_t got;

        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            return r == 0 ? -ETIMEDOUT : -errno;
        got = read(fd, room + have, size - have);
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        have += (size_t)got;
    }
    return (ssize_t)have;
}

/* It has answered or is out of time: it ends now. A killed child needs a moment, which is not waited for
 * without bound. */
static void end_child(pid_t pid)
{
    int handle = (int)kernel_call(SYS_pidfd_open, pid, 0, 0, 0, 0, 0);
    struct pollfd ended = {.fd = handle, .events = POLLIN};
    int64_t until = clock_ms(CLOCK_MONOTONIC) + END_MS;

    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, WNOHANG) == 0 && clock_ms(CLOCK_MONOTONIC) < until)
        poll(&ended, 1, handle >= 0 ? END_MS : 1); /* no handle: a kernel before 5.3 */
    if (handle >= 0)
        fd_close(handle);
}

int child_begin(struct asked *asked, void (*work)(int answer, void *data), void *data, int ms)
{
    int ends[2];

    asked->until = clock_ms(CLOCK_MONOTONIC) + ms;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -errno;
    fflush(NULL);
    asked->pid = fork();
    if (asked->pid < 0) {
        int errnum = errno;

        fd_close(ends[0]);
        fd_close(ends[1]);
        return -errnum;
    }
    if (asked->pid == 0) {
        fd_close(ends[0]);
        work(ends[1], data);
        _exit(0);
    }
    fd_close(ends[1]);
    asked->fd = ends[0];
    return 0;
}

ssize_t child_finish(struct asked *asked, void *room, size_t size)
{
    ssize_t got = read_answer(asked->fd, room, size, asked->until);

    fd_close(asked->fd);
    if (asked->pid > 0)
        end_child(asked->pid);
    *asked = (struct asked){.fd = -1};
    return got;
}

ssize_t child_ask(void (*work)(int answer, void *data), void *data, void *room, size_t size, int ms)
{
    struct asked asked = {.fd = -1};
    int r = child_begin(&asked, work, data, ms);

    return r < 0 ? r : child_finish(&asked, room, size);
}
