/*
 * report.h - what happened, as data; rendered as JSON and as a few lines for a person.
 */
#ifndef CONFINE_REPORT_REPORT_H
#define CONFINE_REPORT_REPORT_H

#include "backend/backend.h"
#include "report/approvals.h"
#include "report/connection.h"
#include "report/denials.h"
#include "util/writer.h"

#include <time.h>

#ifndef CONFINE_VERSION
#define CONFINE_VERSION "0.1.0" /* the build says it, from one place */
#endif

enum outcome_kind {
    OUTCOME_NOT_STARTED = 0,
    OUTCOME_EXITED,
    OUTCOME_SIGNALED,
    OUTCOME_TIMED_OUT,
    OUTCOME_LIMIT
};

struct outcome {
    enum outcome_kind kind;
    int status;        /* of `exited`, else -1 */
    int signal;        /* of `signaled`, else 0 */
    const char *limit; /* NULL: none; `time`, `guard`, … */
    uint64_t wall_ms;
    uint64_t cpu_ms;
    uint64_t max_rss_kib;
    unsigned survivors_killed;
    bool output_truncated;    /* by the limit on it */
    bool survivors_seen_gone; /* the tree was seen empty */
};

/* Something new in a writable tree that something outside runs later. All texts are owned, and untrusted. */
struct planted_item {
    char *kind; /* `named`, `git-hook`, `git-setting`, `git-file`, `git-attributes` */
    char *path;
    char *runs;   /* what runs it, a sentence of ours */
    char *detail; /* the setting and its value, or what it leads to; empty: nothing */
    char *moved;  /* where it is now; NULL: in its place */
    char *stays;  /* why it could not be moved; NULL: it was, or was not to be */
};

struct planted_list {
    bool looked;            /* the trees were looked at when the run had ended */
    const char *incomplete; /* static: why not at all of it; NULL: at all */
    struct planted_item *items;
    size_t count;
};

struct report {
    char run_id[33];
    struct timespec started;
    char *const *command;            /* borrowed */
    const struct resolved *resolved; /* borrowed; NULL if resolving failed */
    const struct plan *plan;         /* borrowed; its claims as the run has raised and lowered them */
    const char *backend;             /* NULL if none was chosen */
    struct tried_backend tried[TRIED_MAX];
    size_t tried_count;
    struct outcome outcome;
    struct connections connections;
    struct error error; /* code ERROR_NONE if none */
    struct strings warnings;
    struct strings absent; /* see absent_find() */
    struct strings ephemeral;
    struct denial_list denials;
    struct approval_list approvals;
    struct planted_list planted;
};

enum enforcement { ENFORCEMENT_NONE = 0, ENFORCEMENT_PARTIAL, ENFORCEMENT_FULL };

/* report_enforcement() - full only if every claimed surface is enforced (or absent) and attested or, where
 * that is its way, read back, by sentinel or at the end; none only if the command ran (or would run) with
 * nothing enforced. */
enum enforcement report_enforcement(const struct report *report);

/* report_enforcement_name() - the same as a word. */
const char *report_enforcement_name(const struct report *report);

/* report_gap() - is @surface claimed by the policy and not held? Used for `gaps`. */
bool report_gap(const struct report *report, enum surface surface);

/* report_json() - the report as one JSON object (docs/report.schema.json), newline at the end. Return: 0 or
 * -ENOMEM. */
int report_json(const struct report *report, struct text *text);

/* report_write() - the same as one value of a larger text. @key: its name there. */
void report_write(const struct report *report, struct writer *writer, const char *key);

/* report_summary() - at most 600 bytes of fixed sentences, for a person or a model. */
void report_summary(const struct report *report, char *buffer, size_t size);

/* report_people() - lines for stderr, each `confine: …`. @verbosity: -1 quiet (errors only), 0 notable
 * things, 1 everything (groups and surfaces). */
void report_people(const struct report *report, int verbosity, struct text *text);

/* report_surfaces() - one line per group of surfaces; @each: one per surface below it. Nothing without a
 * plan. */
void report_surfaces(const struct report *report, bool each, struct text *text);

/* report_error_write() - an error as one value of a larger text; null where there is none. */
void report_error_write(const struct error *error, struct writer *writer, const char *key);

/* report_error() - the one line of an error: `confine: WHAT: WHY (HINT)`. */
void report_error(const struct error *error, struct text *text);

#endif
