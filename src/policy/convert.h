/*
 * convert.h - the settings of other sandboxes as a policy of ours.
 */
#ifndef CONFINE_POLICY_CONVERT_H
#define CONFINE_POLICY_CONVERT_H

#include "util/json.h"

/*
 * convert_srt() - settings of the sandbox-runtime (srt), JSON.
 * @document:  what was read
 * @directory: what relative paths start from, canonical
 * @ret:       the policy, owned by the caller
 * @notes:     a sentence for each thing that has no equal here, or another meaning
 *
 * Nothing is left out without a note. Return: 0, or a negative errno with @error: what is no settings of srt.
 */
int convert_srt(struct document *document, const char *directory, json_t **ret, struct strings *notes,
                struct error *error);

#endif
