/*
 * ask.h - what --ask does not go with: refused, before anything starts.
 */
#ifndef CONFINE_CLI_ASK_H
#define CONFINE_CLI_ASK_H

#include "cli/options.h"

/* ask_refuse() - refuse --ask where nobody could answer, or where an answer could not be carried out. Return:
 * 0, or a negative errno with @error. */
int ask_refuse(const struct options *options, const struct policy *policy, enum mode mode,
               struct error *error);

#endif
