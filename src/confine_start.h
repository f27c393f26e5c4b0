/*
 * confine_start.h - start the program confine from somebody else's process.
 */
#ifndef CONFINE_CONFINE_START_H
#define CONFINE_CONFINE_START_H

#include <stddef.h>

/* One start. */
struct start {
    int program;             /* descriptor of confine; 0: the installed one */
    int directory;           /* 0: the current one */
    const char *const *argv; /* NULL-terminated */
    const char *const *envp;
    int *descriptors; /* what become 0, 1, 2, …; -1: closed. Changed by the start */
    size_t descriptor_count;
};

/*
 * start_program() - start it, as a process that is not our child.
 * @ret_pidfd: pollable: readable when it has ended
 *
 * Return: CONFINE_OK, CONFINE_E_MEMORY, CONFINE_E_SYSTEM or CONFINE_E_PROGRAM with errno.
 */
int start_program(const struct start *start, int *ret_pidfd);

/*
 * start_poll() - wait until @fd can be read, or its other end is closed; signals of the caller's do not
 * count.
 * @timeout_ms: -1: without end
 *
 * Return: CONFINE_OK, CONFINE_E_TIMEOUT or CONFINE_E_SYSTEM.
 */
int start_poll(int fd, int timeout_ms);

/* start_wait() - the same for the end of what start_program() started. */
int start_wait(int pidfd, int timeout_ms);

/* start_kill() - SIGKILL to it. */
void start_kill(int pidfd);

/* start_end() - wait for the end of what has been told to end, and kill it if that does not come. */
void start_end(int pidfd);

#endif
