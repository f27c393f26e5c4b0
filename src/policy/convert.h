/*
 * convert.h - the settings of other sandboxes as a policy of ours.
 */
#ifndef CONFINE_POLICY_CONVERT_H
#define CONFINE_POLICY_CONVERT_H

#include "util/json.h"

/*
 * convert_srt() - settings of the sandbox-runtime (srt), JSON.
 * convert_codex() - config.toml of codex, TOML.
 * @file:      for messages
 * @root:      what was read
 * @directory: what relative paths start from, canonical, and what a session begins in
 * @ret:       the policy, owned by the caller
 * @notes:     a sentence for each thing that has no equal here, or another meaning
 *
 * Nothing that speaks of a sandbox is left out without a note. Return: 0, or a negative errno with @error:
 * what is no settings of theirs.
 */
int convert_srt(const char *file, const json_t *root, const char *directory, json_t **ret,
                struct strings *notes, struct error *error);
int convert_codex(const char *file, const json_t *root, const char *directory, json_t **ret,
                  struct strings *notes, struct error *error);

#endif
