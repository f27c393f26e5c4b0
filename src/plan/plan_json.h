/*
 * plan_json.h - a plan and its claims as JSON, and words as a shell reads them.
 */
#ifndef CONFINE_PLAN_PLAN_JSON_H
#define CONFINE_PLAN_PLAN_JSON_H

#include "plan/plan.h"
#include "util/json.h"
#include "util/writer.h"

/*
 * value_set_argv() - put @argv under @key; when a word is no UTF-8, also KEY_b64 with one item per word: its
 * bytes in base64, or null for a word that is UTF-8.
 *
 * Return: 0 or -ENOMEM.
 */
int value_set_argv(json_t *object, const char *key, char *const *argv);

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
