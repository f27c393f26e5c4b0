/*
 * resolve_hiding.h - what the files of hiding share: which objects (resolve_hide.c), by which other mounts
 * (resolve_aliases.c), and what holds them (resolve_hold.c).
 */
#ifndef CONFINE_POLICY_RESOLVE_HIDING_H
#define CONFINE_POLICY_RESOLVE_HIDING_H

#include "policy/resolve_internal.h"
#include "util/lookup.h"

#define SIBLINGS_MAX 512

/* A directory above something hidden, looked at once. */
struct above {
    int fd; /* O_PATH; -1 once a level has taken it */
    char *path;
    struct stat st;
    size_t siblings; /* SIZE_MAX: cannot be listed */
    size_t level;    /* index into levels, SIZE_MAX: none */
};

/* What is known of a parent, and so of all that is hidden in it. */
struct way {
    bool looked; /* `trouble` and `above` are known */
    bool led;    /* the levels lead to it */
    bool beside; /* `plain` is known */
    bool plain;  /* as plain_parent */
    size_t above;
    const char *trouble; /* why nothing in it can be held by levels; NULL: it can */
};

struct hiding {
    struct resolving *resolving;
    struct way *ways;        /* one for each of resolved->parents */
    struct lookup by_parent; /* index of a parent by its name */
    struct lookup by_path;   /* index of what is hidden by its name; until that is sorted */
    struct lookup by_above;  /* index of a directory above by its name */
    struct above *above;
    size_t above_count;
    char *around; /* the hidden directory around a grant that was warned of last; NULL: none */
};

/* hiding_may() - do the mode bits let the command's user do one of @bits (of the `other` digit)? */
bool hiding_may(const struct hiding *hiding, const struct stat *st, mode_t bits);

/* hiding_each_above() - calls @visit for every directory above @path, from the root down, with the name in it
 * that leads on. Return: 0, what @visit answered if it was not 0, or a negative errno with the error set. */
int hiding_each_above(struct hiding *hiding, const char *path,
                      int (*visit)(struct hiding *hiding, size_t above, const char *name, void *data),
                      void *data);

/* hide_object() - note that @opened is to be hidden, unless it is shown. Takes of @opened what it needs.
 * Return: 0 or a negative errno with the error set. */
int hide_object(struct hiding *hiding, const struct asked *asked, struct opened *opened,
                struct source source);

/* hiding_index() - look at all that is hidden anew: indexes have moved. Return: 0 or -ENOMEM with the error
 * set. */
int hiding_index(struct hiding *hiding);

/* hiding_aliases() - hide the same objects where another mount shows them. Return: 0 or a negative errno with
 * the error set. */
int hiding_aliases(struct hiding *hiding);

/* hiding_hold() - decide for each hidden object whether it can be held, and make the levels. Return: 0 or a
 * negative errno with the error set. */
int hiding_hold(struct hiding *hiding);

#endif
