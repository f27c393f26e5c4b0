/*
 * plan_json.h - a plan and its claims as JSON, and words as a shell reads them.
 */
#ifndef CONFINE_PLAN_PLAN_JSON_H
#define CONFINE_PLAN_PLAN_JSON_H

#include "plan/plan.h"
#include "util/json.h"
#include "util/writer.h"

/*
 * plan_surfaces_write() - an array of one object per surface, in the order of the table.
 * @claims: SURFACE_COUNT of them; NULL: nothing was planned, so every surface is open
 */
void plan_surfaces_write(struct writer *writer, const char *key, const struct claim *claims);

/* plan_surfaces_json() - the same as a value. Return: a new reference, NULL without memory. */
json_t *plan_surfaces_json(const struct claim *claims);

/* plan_chain_json() - the words of the chain with names where descriptors will stand, the command included.
 * Return: a new reference, NULL without memory. */
json_t *plan_chain_json(const struct plan *plan, const struct resolved *resolved, char *const *command);

/* plan_word_text() - how a word is printed; NULL: not at all, or the command. Static, or borrowed. */
const char *plan_word_text(const struct word *word, const struct resolved *resolved);

/* shell_quote() - append @word so that a shell reads it back, and a terminal is not told anything. */
void shell_quote(struct text *text, const char *word);

#endif
