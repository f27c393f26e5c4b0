/*
 * child.h - ask a child that may hang.
 */
#ifndef CONFINE_HOST_CHILD_H
#define CONFINE_HOST_CHILD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A question that a child is at. */
struct asked {
    pid_t pid;
    int fd; /* where its answer comes from */
    int64_t until;
};

/*
 * child_begin(), child_finish() - child_ask() in two halves, with something else to be done between them.
 *
 * The time runs from the first. Return: 0 or -errno; what child_ask() returns.
 */
int child_begin(struct asked *asked, void (*work)(int answer, void *data), void *data, int ms);
ssize_t child_finish(struct asked *asked, void *room, size_t size);

/*
 * child_ask() - run @work in a forked child and read what it writes.
 * @work: writes its answer to the descriptor it is given and returns; whatever it does, it is ended after
 * @ms:   milliseconds for all of it
 *
 * The child is killed and reaped. One that cannot be killed at once (a dead file server) is left behind.
 * Return: bytes read until the child ended its answer, at most @size, or -errno; -ETIMEDOUT.
 */
ssize_t child_ask(void (*work)(int answer, void *data), void *data, void *room, size_t size, int ms);

#endif
