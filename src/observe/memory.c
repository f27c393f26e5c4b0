/*
 * memory.c - reading a process that may change, or be anything, while it is read.
 *
 * Mustn't: read across the end of a page in one piece: what lies behind it may be missing, and the string be
 * whole all the same. Mustn't: believe a length that was read.
 */
#include "observe/memory.h"

#include "links/kernel_abi.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#define MOSTLY     256   /* a name is seldom longer */
#define PAGE_LEAST 4096U /* no page of any kernel is smaller, so none ends between two of these */

static ssize_t read_piece(pid_t pid, uint64_t address, void *room, size_t size)
{
    struct iovec here = {.iov_base = room, .iov_len = size};
    struct iovec there = {.iov_base = (void *)(uintptr_t)address, .iov_len = size};

    return kernel_call(SYS_process_vm_readv, pid, KERNEL_PTR(&here), 1, KERNEL_PTR(&there), 1, 0);
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
