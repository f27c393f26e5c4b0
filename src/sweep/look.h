/*
 * look.h - what was written into a tree that something outside runs later.
 */
#ifndef CONFINE_SWEEP_LOOK_H
#define CONFINE_SWEEP_LOOK_H

#include "util/util.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* A tree, and where it is for people and for comparisons. */
struct look_root {
    int fd;           /* a directory, readable */
    const char *path; /* canonical */
};

/* What was there before the run: a copy of the settings at this path, or the very directory of hooks. */
struct look_before {
    const char *path; /* canonical */
    int fd;           /* a file, readable from its start; or the directory */
};

/* Where findings go, one by one. Texts may hold any byte but NUL. Return: 0 to go
 * on, 1 to end the look (`bound` says why), or -errno. */
typedef int look_found(void *data, const char *kind, const char *path, const char *runs, const char *detail);

struct look_names;
struct survey;

struct look {
    const struct look_root *roots;
    size_t root_count;
    const struct look_before *before;
    size_t before_count;
    const char *home;      /* whose files of the home count; NULL: nobody's */
    struct timespec since; /* what changed at or after this is new */
    uint64_t most_entries; /* 0: no bound */
    uint64_t most_ms;      /* 0: no bound */
    look_found *found;
    void *data;
    const struct survey *survey; /* of these roots, from before; NULL: none */

    const struct look_names *names; /* look_prepare() */
    uint64_t entries;               /* names seen, and directories that the survey has spared */
    const char *bound; /* which bound ended it: `entries`, `seconds`, `findings`; `depth`: not gone into, and
                          all else was looked at; NULL: none */
    uint64_t closed;   /* directories that could not be read */
    bool deep;         /* there were some too deep to be gone into */
};

/* look_prepare() - all that can be done before there is anything to look at. `home` is known. Return: 0, or
 * -ENOMEM. */
int look_prepare(struct look *look);

/*
 * look_trees() - walk all of @look->roots and say what is new in them and runs later outside.
 *
 * New is what changed at or after `since`: the kernel writes that time, and nobody can set it. Links are
 * never followed, nothing is changed, no program is run.
 *
 * The directories are read from where their descriptors stand.
 *
 * Return: 0, also where a bound ended it; or -errno.
 */
int look_trees(struct look *look);

#endif
