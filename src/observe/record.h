/*
 * record.h - refusals, each once, with how often it came.
 */
#ifndef CONFINE_OBSERVE_RECORD_H
#define CONFINE_OBSERVE_RECORD_H

#include "links/kernel_abi.h"
#include "observe/evaluate.h"

struct refusal {
    struct verdict verdict;
    enum denial_operation operation;
    const char *name; /* path or address */
    bool is_address, by_mode;
    pid_t pid;                            /* the thread */
    const struct notify_request *request; /* the call, if it is to be told; NULL: it is not */
};

/* record_refusal() - count it; one that is new is told at once, if the wire has room. */
void record_refusal(int wire, const struct refusal *refusal);

/* record_program() - what the thread runs, as far as it fits. @room: OBSERVE_PROGRAM bytes. Return: its
 * length.
 */
size_t record_program(pid_t pid, char *room);

/* record_unreadable() - a call whose operands could not be read. */
void record_unreadable(void);

/* record_end() - tell what was not told yet, and how much was not seen. Waits for the reader. */
void record_end(int wire);

#endif
