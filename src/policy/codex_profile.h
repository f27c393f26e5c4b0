/*
 * codex_profile.h - what is in force by the settings of codex; for convert_codex.c alone.
 */
#ifndef CONFINE_POLICY_CODEX_PROFILE_H
#define CONFINE_POLICY_CODEX_PROFILE_H

#include "policy/converting.h"

/*
 * codex_profile() - adds what is in force to the object @profile: `filesystem`, `network`, `workspace_roots`,
 * as a profile of codex has them.
 *
 * Return: 0; 1 when nothing is confined there; or a negative errno with @error.
 */
int codex_profile(struct converting *converting, const json_t *root, json_t *profile, struct error *error);

/* codex_full() - is @path one that codex takes from its file: absolute, or in the home? */
bool codex_full(const char *path);

#endif
