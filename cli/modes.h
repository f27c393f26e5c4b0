/*
 * modes.h - what files' modes and owners let the command's user do, beside what the policy says.
 */
#ifndef CONFINE_CLI_MODES_H
#define CONFINE_CLI_MODES_H

#include "policy/policy_explain.h"

/*
 * modes_look() - ask for each of the @paths, canonical, as the user that the command would run as.
 *
 * A file system that does not answer is waited for for two seconds; then nothing is known of any of them.
 * Return: an array of as many, owned; NULL: without memory.
 */
struct path_modes *modes_look(const struct resolved *resolved, const struct strings *paths);

#endif
