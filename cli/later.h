/*
 * later.h - what is asked for and is not to be had where it was asked: refused, never ignored.
 */
#ifndef CONFINE_CLI_LATER_H
#define CONFINE_CLI_LATER_H

#include "cli/options.h"

/* later_refuse_run() - refuse what only `confine exec` has, which leaves 0 to 2 alone.
 * @policy: with every layer merged: files ask for such things too
 * Return: 0, or a negative errno with @error (ERROR_SANDBOX_UNAVAILABLE, `not-in-this-version`). */
int later_refuse_run(const struct options *options, const struct policy *policy, struct error *error);

/* later_refuse_exec() - refuse what needs the supervisor that `confine exec` does not have.
 * Return: 0, or a negative errno with @error (ERROR_SANDBOX_UNAVAILABLE, `needs-supervisor`). */
int later_refuse_exec(const struct options *options, const struct policy *policy, struct error *error);

#endif
