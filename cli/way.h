/*
 * way.h - the way to a name that a person gave us to open, walked directory by directory.
 */
#ifndef CONFINE_CLI_WAY_H
#define CONFINE_CLI_WAY_H

#include "policy/resolve.h"

struct stat;

struct way {
    const char *what;                /* for messages: `report` */
    const char *instead;             /* the way out, where there is no better one; NULL: none */
    const char *name;                /* as it was given */
    const struct resolved *resolved; /* what the command may write; NULL when resolving failed */
};

/* way_fail() - `WHAT NAME: WHY`, ERROR_USAGE, with @way's own way out. Return: -@errnum. */
int way_fail(const struct way *way, struct error *error, int errnum, const char *reason, const char *why);

/* way_granted() - does the command hold a writable grant on exactly this object? */
bool way_granted(const struct way *way, const struct stat *st);

/*
 * way_walk() - open the directory of the name, passing nothing that the command can write.
 * @rest: set to what is left, the last word of the name; @size: PATH_MAX
 *
 * Return: 0 with an O_PATH descriptor, or a negative errno with @error.
 */
int way_walk(const struct way *way, char *rest, size_t size, int *ret_fd, struct error *error);

#endif
