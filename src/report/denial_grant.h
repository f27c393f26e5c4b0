/*
 * denial_grant.h - what would have granted a refusal; for denials.c. denial_option() and denial_advise() are
 * in denials.h.
 */
#ifndef CONFINE_REPORT_DENIAL_GRANT_H
#define CONFINE_REPORT_DENIAL_GRANT_H

#include "report/denials.h"

/*
 * denial_fill_grant() - fill key and value of @denial, by what @resolved has.
 * @rule, @index: see enum denial_rule
 *
 * Return: 0 or -ENOMEM; without a key nothing of this version would do.
 */
int denial_fill_grant(const struct resolved *resolved, struct denial *denial, enum denial_rule rule,
                      size_t index);

/*
 * denial_take_option() - the gateway knows best what would have let it through.
 * @option:  what it says; NULL: nothing
 * @command: whose text may say for what a name was looked up; NULL: not known
 *
 * Return: 0 or -ENOMEM.
 */
int denial_take_option(const struct resolved *resolved, const char *option, char *const *command,
                       struct denial *denial);

/* denial_write_grant() - the grant as a piece of a policy file, and as an option. */
void denial_write_grant(struct writer *writer, const struct denial *denial);

/* denial_option_of() - one value of a key of the policy as an option, behind what stands in @text. */
void denial_option_of(const char *key, const char *value, struct text *text);

/* denial_is_lookup() - was a name looked up, where nobody who answers is? */
bool denial_is_lookup(const struct denial *denial);

/* denial_is_name_alone() - was the gateway asked for a name? For which port is not known yet. */
bool denial_is_name_alone(const struct denial *denial);

#endif
