/*
 * policy_keys.h - every key of a policy in one table.
 *
 * The reader, the merge of layers, the explanation, the schema's test and the manual come from it.
 */
#ifndef CONFINE_POLICY_POLICY_KEYS_H
#define CONFINE_POLICY_POLICY_KEYS_H

#include "policy/policy.h"

/* How a value is written. Lists are at the end. */
enum kind {
    KIND_NONE = 0,
    KIND_WORD,       /* one of `words`, stored as an enum */
    KIND_CHOICE,     /* one of two words, stored as a bool: the second is true */
    KIND_NAME,       /* one of `words`, stored as text; the first is the default, stored as NULL */
    KIND_FLAG,       /* true or false */
    KIND_TEXT,       /* any text that is not empty */
    KIND_PROXY,      /* http://[USER:PASSWORD@]HOST:PORT */
    KIND_DURATION,   /* milliseconds */
    KIND_GRACE,      /* milliseconds, may be 0 */
    KIND_SIZE,       /* bytes */
    KIND_COUNT,      /* a number of things */
    KIND_TMP,        /* private, session or a directory */
    KIND_USER,       /* keep, owner or a user id */
    KIND_DIMENSIONS, /* COLSxROWS */
    KIND_PATHS,      /* the first of the lists: paths, `?`, sets of paths */
    KIND_SOCKETS,    /* paths and sets of sockets */
    KIND_RULES,      /* network rules */
    KIND_PORTS,      /* PORT[:PORT] */
    KIND_SURFACES,   /* surfaces */
    KIND_DEMANDS,    /* surfaces, groups, `full` */
    KIND_SETTINGS,   /* NAME=VALUE; in a file an object */
    KIND_VARIABLES,  /* NAME */
    KIND_UNSET,      /* NAME, or a set of names */
    KIND_NUMBERS,    /* descriptors above 2 */
    KIND_TOTAL
};

/* What WORKSPACE/.confine.json, which the command can write, may do with a key. */
enum narrow {
    NARROW_NEVER = 0, /* it may not hold the key */
    NARROW_ADD,       /* more is narrower */
    NARROW_LESS,      /* the smaller value holds; 0 is no limit and the widest */
    NARROW_ORDER,     /* the earlier word holds: words are listed from narrow to wide */
    NARROW_BOTH       /* only what both allow */
};

struct word {
    const char *name;
    unsigned value;
};

#define WORD_RESERVED 1U /* of a KIND_NAME: known, and offered to nobody in this version */

struct policy_key {
    const char *name;   /* as in a file; `limits.time` is time in the object limits */
    const char *option; /* NULL: only in files */
    enum kind kind;
    int scalar;               /* enum key, or -1 for a list */
    int list;                 /* enum list, or -1 for a scalar */
    bool in_file;             /* a file may hold it (as against: options only) */
    enum narrow narrow;       /* and the workspace's own file */
    int undoes;               /* list whose entries this one takes back, or -1 */
    size_t offset;            /* of a scalar in struct policy */
    const struct word *words; /* ends with a NULL name */
    const char *what;         /* for people: half a sentence */
};

extern const struct policy_key policy_keys[]; /* ends with a NULL name */

/* policy_key_by_name() - `limits.time`, as in a file. Return: NULL for an unknown one. */
const struct policy_key *policy_key_by_name(const char *name);
const struct policy_key *policy_key_of(enum key key);
const struct policy_key *policy_key_of_list(enum list list);

/* kind_expected() - what a value of that kind looks like, for messages: `a duration such as 10s`. */
const char *kind_expected(enum kind kind);

/* origin_where() - `FILE:LINE:COLUMN` quoted, the option, or `built-in`. Return: @buffer. */
const char *origin_where(char *buffer, size_t size, const struct origin *origin);
#define WHERE(origin) origin_where((char[512]){0}, 512, (origin))

/* policy_refuse() - an error about something that @origin gave: usage for an option, else an invalid policy.
 * Return: -EINVAL. */
__attribute__((format(printf, 4, 5))) int policy_refuse(struct error *error, const struct origin *origin,
                                                        const char *reason, const char *format, ...);

/* `hide`, `: ` for a file; an option says its name itself. */
#define NAME_BEFORE(KEY, ORIGIN) (ORIGIN)->option ? "" : (KEY)->name, (ORIGIN)->option ? "" : ": "

/* policy_refuse_locked() - that key @name cannot be changed. @lock: its place in policy->lock. Return:
 * -EINVAL. */
int policy_refuse_locked(const struct policy *policy, const char *name, size_t lock,
                         const struct origin *origin, struct error *error);

#endif
