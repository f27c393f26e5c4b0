/*
 * run_error.h - what went wrong with a start, in words.
 */
#ifndef CONFINE_RUN_RUN_ERROR_H
#define CONFINE_RUN_RUN_ERROR_H

#include "policy/resolve.h"
#include "util/error.h"

/* run_error_errno() - this side cannot do @what: `make the channel`. Return: -errnum. */
int run_error_errno(struct error *error, int errnum, const char *what);

/* run_error_spawn() - the launcher could not be executed. Return: -errnum. */
int run_error_spawn(struct error *error, int errnum, const char *cwd);

/* run_error_link() - a link ended before the command; @words is what it wrote. Return: -EPROTO. */
int run_error_link(struct error *error, const char *words);

/*
 * run_error_exec() - the command could not be executed.
 * @resolved: with its start directory, its environment with PATH, and what is hidden
 * @view: places are private inside, so that what is there out here may be missing
 *
 * Return: 127 when there is no such command, else 126.
 */
int run_error_exec(struct error *error, int errnum, const char *command, const struct resolved *resolved,
                   bool view);

#endif
