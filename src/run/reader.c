/*
 * reader.c - see reader.h.
 *
 * Theory of operation. Under Yama (kernel.yama.ptrace_scope 1, as some distributions have it) a process may
 * read the memory of its descendants only. The observer is no ancestor of the command's: this process is. So
 * it reads for the observer, and does not look at what it hands over.
 *
 * Should:  cost nothing where Yama is not in force.
 * Mustn't: read for the observer what that could not have read itself: only the run's processes, of which
 *          whoever has CAP_SYS_PTRACE has to be sure by itself.
 */
#include "run/reader.h"

#include "kernel/children.h"
#include "links/kernel_abi.h"
#include "observe/memory.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#define SCOPE       "/proc/sys/kernel/yama/ptrace_scope"
#define ANSWER_S    2  /* how long the observer waits for one */
#define TURN        64 /* answers, before the rest of the loop has its turn */
#define GENERATIONS 64 /* one that has more between itself and us is not read */

#define CAPABILITY_SYS_PTRACE 19

/* Return: whether processes may read others than their descendants; where that cannot be told, they may not.
 */
static bool reads_others(void)
{
    _cleanup_fd_ int fd = open(SCOPE, O_RDONLY | O_CLOEXEC);
    char scope = 0;

    return fd < 0 ? errno == ENOENT : read(fd, &scope, 1) == 1 && scope == '0';
}

void reader_clear(struct reader *reader)
{
    *reader = (struct reader){.fd = -1, .theirs = -1};
}

/* Return: whether the kernel lets us read others than our descendants, too. */
static bool may_read_all(void)
{
    struct capability_header header = {.version = CAPABILITY_VERSION_3};
    struct capability_data data[2] = {{0}};

    return kernel_call(SYS_capget, KERNEL_PTR(&header), KERNEL_PTR(data), 0, 0, 0, 0) != 0 ||
           data[0].effective & 1U << CAPABILITY_SYS_PTRACE;
}

int reader_begin(struct reader *reader)
{
    const struct timeval limit = {.tv_sec = ANSWER_S};
    int ends[2];

    if (reads_others())
        return 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -errno;
    reader->checks = may_read_all();
    reader->fd = ends[0];
    reader->theirs = ends[1];
    return setsockopt(reader->theirs, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0 ? 0 : -errno;
}

void reader_abandon(struct reader *reader)
{
    reader->fd = fd_close(reader->fd);
    reader->theirs = fd_close(reader->theirs);
}

/* --- one piece -------------------------------------------------------------------------------------------
 */

/* Is it of the run, and none of our helpers? A process that ends meanwhile leaves its number to another; that
 * one could only be read before it has done anything, and what is read goes nowhere but to the observer. */
static bool is_of_the_run(pid_t pid)
{
    const pid_t self = getpid();

    for (int i = 0; i < GENERATIONS && pid > 1; i++) {
        pid_t parent;
        char state;

        if (!children_look(pid, &state, &parent))
            return false;
        if (parent == self)
            return !children_leaves_out(pid);
        pid = parent;
    }
    return false;
}

static ssize_t read_piece(const struct reader *reader, const struct memory_request *request, void *room)
{
    struct iovec here = {.iov_base = room, .iov_len = (size_t)request->size};
    struct iovec there = {.iov_base = (void *)(uintptr_t)request->address, .iov_len = (size_t)request->size};

    if (request->pid <= 0 || request->size == 0 || request->size > MEMORY_PIECE)
        return -EINVAL;
    if (reader->checks && !is_of_the_run(request->pid))
        return -ESRCH;
    return kernel_call(SYS_process_vm_readv, request->pid, KERNEL_PTR(&here), 1, KERNEL_PTR(&there), 1, 0);
}

/* Return: was there one? */
static bool answer_one(const struct reader *reader)
{
    static struct memory_answer answer;
    struct memory_request request;
    ssize_t got = recv(reader->fd, &request, sizeof(request), MSG_DONTWAIT);

    if (got != (ssize_t)sizeof(request))
        return false;
    got = read_piece(reader, &request, answer.bytes);
    answer.number = request.number;
    answer.errnum = got < 0 ? (int32_t)-got : 0;
    /* One question is open at a time, so there is room for its answer; or the observer is gone. */
    (void)send(reader->fd, &answer, offsetof(struct memory_answer, bytes) + (got > 0 ? (size_t)got : 0),
               MSG_DONTWAIT | MSG_NOSIGNAL);
    return true;
}

/* --- in the loop -----------------------------------------------------------------------------------------
 */

static void on_asked(uv_poll_t *handle, int status, int events)
{
    const struct reader *reader = handle->data;
    int answers = 0;
    char byte;

    (void)events;
    while (answers < TURN && answer_one(reader))
        answers++;
    if (status < 0 || (answers == 0 && recv(reader->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0))
        uv_poll_stop(handle); /* the observer has gone */
}

static int start_reader(void *self, struct supervision *supervision, uv_loop_t *uv)
{
    struct reader *reader = self;

    (void)supervision;
    if (reader->fd < 0)
        return 0;
    reader->poll.data = reader;
    return uv_poll_init(uv, &reader->poll, reader->fd);
}

static void go_reader(void *self)
{
    struct reader *reader = self;

    if (reader->fd >= 0)
        uv_poll_start(&reader->poll, UV_READABLE, on_asked);
}

static void end_reader(void *self)
{
    struct reader *reader = self;

    if (reader->fd >= 0)
        uv_poll_stop(&reader->poll);
    reader_abandon(reader);
}

const struct part_calls reader_part = {.start = start_reader, .go = go_reader, .end = end_reader};
