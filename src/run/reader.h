/*
 * reader.h - the command's memory, read for the observer where only an ancestor may.
 */
#ifndef CONFINE_RUN_READER_H
#define CONFINE_RUN_READER_H

#include "run/part.h"

#include <stdbool.h>

struct reader {
    int fd, theirs; /* -1: none is needed */
    bool checks;    /* whether it is of the run: the kernel would let us read others */
    uv_poll_t poll;
};

/* Answers while the command runs. Its place is before the observer's in the list of parts: at the end it
 * closes its side, and nobody waits for an answer any more. */
extern const struct part_calls reader_part;

/* reader_clear() - nothing, with no descriptor. */
void reader_clear(struct reader *reader);

/* reader_begin() - if this machine needs one, make the sockets; `theirs` is the observer's. Return: 0 or
 * -errno. */
int reader_begin(struct reader *reader);

/* reader_abandon() - close what there is. Safe after any step. */
void reader_abandon(struct reader *reader);

#endif
