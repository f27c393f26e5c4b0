/*
 * memory.h - what the command's memory holds, read from outside.
 */
#ifndef CONFINE_OBSERVE_MEMORY_H
#define CONFINE_OBSERVE_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * memory_text() - a string, as the kernel would take it for a path.
 * @pid: a thread of the process
 * @room: @size bytes; NUL-terminated afterwards
 *
 * Return: its length; -ENAMETOOLONG; -EFAULT where there is no memory; or another -errno: it may not be read.
 */
ssize_t memory_text(pid_t pid, uint64_t address, char *room, size_t size);

/* memory_bytes() - exactly @size bytes. Return: 0 or -errno, as above. */
int memory_bytes(pid_t pid, uint64_t address, void *room, size_t size);

#define MEMORY_PIECE 4096 /* bytes that are asked for at once */

/* Asked of an ancestor of the command's, where only such a one may read. One packet each. */
struct memory_request {
    uint32_t number; /* the answer has the same */
    int32_t pid;
    uint64_t address;
    uint64_t size; /* at most MEMORY_PIECE */
};

struct memory_answer {
    uint32_t number;
    int32_t errnum;           /* 0: read; then as many bytes are sent as there are */
    char bytes[MEMORY_PIECE]; /* whatever the command has there */
};

/* memory_ask_at() - whom to ask what this process may not read itself: a SOCK_SEQPACKET with a time limit for
 * receiving; -1: nobody, as it is at first. */
void memory_ask_at(int fd);

#endif
