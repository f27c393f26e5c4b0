/*
 * risk.h - what a grant would hand over besides what it is asked for.
 */
#ifndef CONFINE_POLICY_RISK_H
#define CONFINE_POLICY_RISK_H

#include "policy/policy.h"

/* Static texts of the first thing that was found. */
struct risk {
    const char *item; /* `~/.ssh/authorized_keys`, as a set has it */
    const char *why;  /* `who may log in` */
};

/*
 * risk_find() - would it hand over what runs later outside, or a secret, if @path were added to @list? Looks
 * the names of the sets up, a few hundred calls, once in two seconds.
 *
 * @home: of the user; NULL: not known. HOME of @env counts as well
 * @env:  whose variables lead to secrets; NULL: none. Known again by its address: it must not change
 * @list: LIST_WRITE, LIST_UNPROTECT, LIST_SHOW, LIST_READ or LIST_SOCKETS; of others nothing is known
 * @path: canonical; it need not be there
 * @ret:  filled where it would
 */
bool risk_find(const char *home, char *const *env, enum list list, const char *path, struct risk *ret);

/* risk_say() - `would hand over ITEM (WHY)`. */
void risk_say(const struct risk *risk, struct text *text);

#endif
