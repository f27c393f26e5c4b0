/*
 * policy_explain.h - what is asked, by whom, and what that means for a path. Pure: nothing is opened or
 * looked up.
 */
#ifndef CONFINE_POLICY_POLICY_EXPLAIN_H
#define CONFINE_POLICY_POLICY_EXPLAIN_H

#include "policy/policy.h"
#include "policy/resolve.h"
#include "util/writer.h"

#include <jansson.h>

/* explain_policy() - the effective policy for a person: every value and entry with its origin, locks, files
 * in force. Values of variables that look like secrets are left out. */
void explain_policy(const struct policy *policy, struct text *text);

/* explain_sets() - the contents of the sets that it uses. */
void explain_sets(const struct policy *policy, struct text *text);

/*
 * explain_policy_json() - the same as one JSON object, with all sets.
 * @resolved: adds what the paths became; NULL: left out
 *
 * Return: 0 or -ENOMEM.
 */
int explain_policy_json(const struct policy *policy, const struct resolved *resolved, struct text *text);

/* explain_grants_write() - everything granted, as an array under @key: path, grant, named, from. NULL grants
 * nothing. */
void explain_grants_write(const struct resolved *resolved, struct writer *writer, const char *key);

/* explain_grants() - the same as a value. Return: NULL without memory. */
json_t *explain_grants(const struct resolved *resolved);

/* explain_resolved() - what the paths became, for a person: what is granted beyond the built-in, hidden,
 * protected, taken out, skipped, warned of, a line each. */
void explain_resolved(const struct resolved *resolved, struct text *text);

/* What the mode and owner of a path let the command's user do; zero: that is not known. */
struct path_modes {
    bool known;
    bool there; /* else `write` says whether it could be made */
    bool read, write;
};

/*
 * explain_path() - what is allowed on @canonical and which rule says so: one line, two when something that
 * was asked is not held.
 * @modes: said where they let less
 */
void explain_path(const struct resolved *resolved, const char *canonical, const struct path_modes *modes,
                  struct text *text);

/*
 * explain_paths_json() - the same for each of the NULL-terminated @canonical, as one JSON array.
 * @modes: as many
 *
 * Return: 0 or -ENOMEM.
 */
int explain_paths_json(const struct resolved *resolved, const char *const *canonical,
                       const struct path_modes *modes, struct text *text);

#endif
