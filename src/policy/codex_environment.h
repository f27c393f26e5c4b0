/*
 * codex_environment.h - the variables in the settings of codex; for convert_codex.c alone.
 */
#ifndef CONFINE_POLICY_CODEX_ENVIRONMENT_H
#define CONFINE_POLICY_CODEX_ENVIRONMENT_H

#include "policy/converting.h"

/* codex_environment() - what shell_environment_policy says, NULL if nothing. Return: 0, or -EINVAL with
 * @error. */
int codex_environment(struct converting *converting, const json_t *settings, struct error *error);

#endif
