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

#endif
