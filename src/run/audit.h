/*
 * audit.h - the supervisor's side of the kernel's audit: a reader is started, told whose records are meant,
 * and what it tells is held against what the observer saw.
 */
#ifndef CONFINE_RUN_AUDIT_H
#define CONFINE_RUN_AUDIT_H

#include "observe/audit_reader.h"
#include "report/report.h"
#include "run/part.h"

/* A call that the observer announced. */
struct audit_call {
    int32_t pid;
    uint32_t call;
    uint64_t arguments[4];
    size_t item; /* 1 + index in the report; 0: none */
};

/* A refusal that the kernel told. */
struct audit_told {
    struct audit_call call;
    bool called; /* the call is known */
    bool within;
    enum denial_operation operation;
    enum surface surface;
    uint64_t count;
    char *path, *executable; /* owned; NULL: none */
};

struct audit {
    bool wanted;              /* by the plan */
    bool ended;               /* the reader has told the sum */
    bool gone;                /* its end of the wire is closed */
    bool short_of;            /* something that the kernel told had no room here */
    bool calls_short;         /* a call that the observer saw had none */
    pid_t pid;                /* 0: none */
    int source, wire, theirs; /* -1: none */
    bool counts_lost;         /* `lost` may be asked for */
    uint32_t lost;            /* records, by the whole machine, when the run began */
    struct audit_call *calls; /* owned */
    size_t call_count;
    struct audit_told *told; /* owned */
    size_t told_count;
    const struct resolved *resolved;
    const struct plan *plan;
    struct report *report;
    uv_poll_t poll; /* last: of the loop, as soon as that has it */
};

/* Listens while the command runs, and joins at its end; stands behind the observer in the list of parts. */
extern const struct part_calls audit_part;

/* audit_clear() - nothing, with no descriptor. */
void audit_clear(struct audit *audit);

/* audit_begin() - of a run with @plan; nothing where it has no layer for it. What cannot be read by now is
 * left out. Return: 0 or -errno. */
int audit_begin(struct audit *audit, const struct resolved *resolved, const struct plan *plan,
                struct report *report);

/* audit_start() - start the reader. Return: 0 or -errno. */
int audit_start(struct audit *audit);

/* audit_adopt() - the layer is laid by this process, before anything of the command's runs. Return: 0 or
 * -errno. */
int audit_adopt(struct audit *audit, pid_t command);

/* audit_call() - the observer has seen a call, and it is the refusal @item (1 + index) of the report. */
void audit_call(struct audit *audit, const struct observe_message *message, size_t item);

/* audit_abandon() - end it; also after the end. */
void audit_abandon(struct audit *audit);

#endif
