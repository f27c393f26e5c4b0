/*
 * audit_reader.h - the process that reads the kernel's audit for a run.
 */
#ifndef CONFINE_OBSERVE_AUDIT_READER_H
#define CONFINE_OBSERVE_AUDIT_READER_H

#include "observe/observe.h"

enum audit_message_type {
    AUDIT_MESSAGE_NONE = 0,
    AUDIT_MESSAGE_READY,   /* it has given up all but its work: the first one */
    AUDIT_MESSAGE_REFUSAL, /* one, or several that are the same */
    AUDIT_MESSAGE_END,     /* how much there was: the last one */
};

/* One packet on the wire, from the reader. */
struct audit_message {
    uint32_t type;
    uint32_t operation, surface; /* REFUSAL: enum denial_operation, enum surface */
    uint32_t within;             /* the path is the directory in which it was to happen */
    uint32_t called;             /* the next three are known */
    int32_t pid;
    uint32_t call;
    uint32_t all; /* END: each of the layer's refusals was told, by the kernel's own sum */
    uint64_t arguments[4];
    uint64_t count;                   /* REFUSAL: how often; END: of all */
    char executable[OBSERVE_PROGRAM]; /* only as much is sent as there is of the path */
    char path[OBSERVE_PATH];
};

/* One packet to the reader. The end of the wire says that the run is over. */
struct audit_order {
    int32_t pid;     /* who has laid the layer; 0: none */
    uint32_t awaits; /* a refusal that the observer saw has not come yet */
};

struct audit_setup {
    int wire;   /* a SOCK_SEQPACKET */
    int source; /* of audit_listen() */
    pid_t supervisor;
    bool outlived; /* the layer's processes may live on behind the run: its end is not waited for */
    const struct resolved *resolved;
};

/* audit_serve() - be the reader, in a process of its own. Ends when the wire does. */
_Noreturn void audit_serve(const struct audit_setup *setup);

#endif
