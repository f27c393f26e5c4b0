/*
 * run_state.h - one attempt at a run, as the files that carry it out share it: run.c (what is made, watched
 * and cleaned up), run_talk.c (the talk with the chain) and run_unconfined.c (no chain). Nobody else includes
 * this.
 */
#ifndef CONFINE_RUN_RUN_STATE_H
#define CONFINE_RUN_RUN_STATE_H

#include "run/approval.h"
#include "run/attest.h"
#include "run/audit.h"
#include "run/gateway.h"
#include "run/limits.h"
#include "run/observer.h"
#include "run/planted.h"
#include "run/reader.h"
#include "run/relay.h"
#include "run/signs.h"
#include "run/spawn.h"
#include "run/supervise.h"
#include "run/terminal.h"
#include "run/tmp.h"

struct control;

struct run {
    struct plan *plan;
    const struct resolved *resolved;
    char *const *command;
    struct report *report;
    struct control *control; /* NULL: none */
    unsigned missing;        /* canaries left out, by tests */
    int landlock_abi;        /* of this machine */
    struct tmp_directory tmp;
    struct planted_look planted;
    struct relays relays;
    struct terminal terminal;
    struct gateway gateway;
    struct launch launch;
    int channel, their_channel;
    int liveness, their_liveness;
    int errors, their_errors; /* the chain's own stderr */
    char said[1024];          /* what was read of it already; ends with a NUL */
    size_t said_size;
    int stderr_fd; /* what the command gets as 2 */
    pid_t pid, guard;
    pid_t becoming; /* who said HERE and becomes the command: `pid`, or process 2 of a pid namespace */
    uid_t becoming_uid;
    gid_t becoming_gid;
    bool checks_due; /* not sent yet, because the chain has to be there first */
    int becoming_fd; /* the same as a pidfd, -1: it is `pid` */
    struct limits limits;
    struct signs signs;
    struct observer observer;
    struct reader reader;
    struct audit audit;
    struct approval approval;
    struct supervision supervision;
    struct attestation attestation; /* last: most of it is never touched, and not cleared */
};

/*
 * run_fail() - the error of a step that has no words of its own.
 * @what: what could not be done, after `cannot`
 *
 * An error that is set already says it more exactly, and stays. Return: -@errnum.
 */
int run_fail(struct run *run, int errnum, const char *what);

/* run_output_limit() - what the relays have to keep of the limit of output. */
struct relays_limit run_output_limit(const struct run *run);

/* run_prepare_watch() - all of the supervision that can fail; to be done before `go`. Return: 0 or -errno. */
int run_prepare_watch(struct run *run);

/* run_refuse_abandoned() - whoever wanted this run has gone: it would be killed as soon as it had started.
 * Return: 0, or a negative errno with the error set. */
int run_refuse_abandoned(struct run *run);

/* run_watch() - from `go` to the end of the last process; fills the outcome. Return: the status of the run.
 */
int run_watch(struct run *run);

/*
 * run_talk() - with a chain that has been started: controls, checks, answers, judgement, and GO.
 *
 * Return: 0: GO was sent; or a negative errno with the error set, and nothing has run.
 */
int run_talk(struct run *run);

/* run_unconfined() - danger-full-access, from the start to the end. Return: the status of the run. */
int run_unconfined(struct run *run);

#endif
