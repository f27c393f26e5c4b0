/*
 * host.h - what this machine can do, found by doing it, never by version or by text.
 */
#ifndef CONFINE_HOST_HOST_H
#define CONFINE_HOST_HOST_H

#include "kernel/handed.h"
#include "util/error.h"
#include "util/util.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct host {
    int landlock_abi;   /* 0: none */
    int landlock_errno; /* errno of the query when there is none */
    unsigned landlock_errata;
    bool seccomp; /* filters can be loaded */
    bool proc;    /* /proc is mounted and ours */
    uid_t uid;    /* the caller */
    gid_t gid;
    bool terminal;          /* 0, 1, 2 or /dev/tty is a terminal */
    bool regular;           /* 0, 1 or 2 is a regular file */
    struct handed standard; /* what 0, 1 and 2 give */
};

/* host_look() - the cheap facts a plan needs: a few system calls, no process. */
void host_look(struct host *host);

/* host_no_landlock_reason() - `no-landlock`, `landlock-not-enabled`, `landlock-filtered`; with one sentence
 * that says why and one that says what to do. */
const char *host_no_landlock_reason(const struct host *host, const char **ret_why, const char **ret_hint);

#endif
