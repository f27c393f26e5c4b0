/*
 * memory.c - reading a process that may change, or be anything, while it is read.
 *
 * Mustn't: read across the end of a page in one piece: what lies behind it may be missing, and the string be
 *          whole all the same; believe a length that was read.
 */
#include "observe/memory.h"

#include "links/kernel_abi.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>

#define MOSTLY     256   /* a name is seldom longer */
#define PAGE_LEAST 4096U /* no page of any kernel is smaller, so none ends between two of these */

_Static_assert(MEMORY_PIECE >= PAGE_LEAST, "no more than that is read at once");

static struct {
    int fd;
    bool first; /* it has read what we may not */
    uint32_t number;
} asked = {.fd = -1};

void memory_ask_at(int fd)
{
    asked.fd = fd;
    asked.first = false;
}

/* The answer is bytes that are the command's in any case. One that came too late for its request is passed
 * over. Return: how many bytes; -EPERM where there is no answer. */
static ssize_t ask_piece(pid_t pid, uint64_t address, void *room, size_t size)
{
    static struct memory_answer answer;
    const struct memory_request request = {
        .number = ++asked.number, .pid = pid, .address = address, .size = size};
    const long begin = offsetof(struct memory_answer, bytes);
    long got = kernel_call(SYS_write, asked.fd, KERNEL_PTR(&request), sizeof(request), 0, 0, 0);

    if (got != (long)sizeof(request))
        return -EPERM;
    do
        got = kernel_call(SYS_read, asked.fd, KERNEL_PTR(&answer), sizeof(answer), 0, 0, 0);
    while (got == -EINTR || (got >= begin && answer.number != request.number));
    if (got < begin || (size_t)(got - begin) > size)
        return -EPERM;
    if (answer.errnum > 0 && answer.errnum < 4096)
        return -answer.errnum;
    asked.first = true;
    memcpy(room, answer.bytes, (size_t)(got - begin));
    return got - begin;
}

static ssize_t read_piece(pid_t pid, uint64_t address, void *room, size_t size)
{
    struct iovec here = {.iov_base = room, .iov_len = size};
    struct iovec there = {.iov_base = (void *)(uintptr_t)address, .iov_len = size};
    ssize_t got =
        asked.first ? -EPERM
                    : kernel_call(SYS_process_vm_readv, pid, KERNEL_PTR(&here), 1, KERNEL_PTR(&there), 1, 0);

    return got == -EPERM && asked.fd >= 0 ? ask_piece(pid, address, room, size) : got;
}

ssize_t memory_text(pid_t pid, uint64_t address, char *room, size_t size)
{
    size_t length = 0;

    while (length < size) {
        size_t piece = PAGE_LEAST - (size_t)((address + length) % PAGE_LEAST);
        const char *end;
        ssize_t got;

        if (piece > size - length)
            piece = size - length;
        if (length == 0 && piece > MOSTLY)
            piece = MOSTLY;
        got = read_piece(pid, address + length, room + length, piece);
        if (got <= 0)
            return got < 0 ? got : -EFAULT;
        end = memchr(room + length, '\0', (size_t)got);
        if (end)
            return end - room;
        length += (size_t)got;
    }
    room[size - 1] = '\0';
    return -ENAMETOOLONG;
}

int memory_bytes(pid_t pid, uint64_t address, void *room, size_t size)
{
    size_t done = 0;

    while (done < size) {
        size_t piece = PAGE_LEAST - (size_t)((address + done) % PAGE_LEAST);
        ssize_t got;

        if (piece > size - done)
            piece = size - done;
        got = read_piece(pid, address + done, (char *)room + done, piece);
        if (got <= 0)
            return got < 0 ? (int)got : -EFAULT;
        done += (size_t)got;
    }
    return 0;
}
