/*
 * ask.c - what --ask does not go with.
 *
 * Mustn't: drop the option silently: whoever waits for questions would wait for ever.
 */
#include "cli/ask.h"

#include <errno.h>

/* An answer grants what --write would: who has locked that has forbidden both. */
static int refuse_locked(const struct policy *policy, struct error *error)
{
    const struct origin *lock = policy->locked >> KEY_MODE & 1 ? &policy->lock[KEY_MODE]
                                : policy->locked_lists >> LIST_WRITE & 1
                                    ? &policy->lock[KEY_COUNT + LIST_WRITE]
                                    : NULL;

    if (!lock)
        return 0;
    error_set(error, ERROR_POLICY_INVALID, EPERM, "locked",
              "option --ask: a policy file locks what may be written (%s)",
              lock->file ? QUOTE(lock->file) : "built in");
    return error_hint(error, "leave it out");
}

int ask_refuse(const struct options *options, const struct policy *policy, enum mode mode,
               struct error *error)
{
    if (policy->ask_ms == 0)
        return 0;
    if (!options->control) {
        error_set(error, ERROR_USAGE, EINVAL, "nobody-to-ask", "option --ask: nobody is there to be asked");
        return error_hint(error, "add --control fd:N or --control unix:PATH");
    }
    if (mode == MODE_DANGER_FULL_ACCESS) {
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, ENOSYS, "mode-holds-nothing",
                  "option --ask: danger-full-access refuses nothing that could be asked about");
        return error_hint(error, "leave it out, or choose --mode workspace-write");
    }
    if (policy->denials == DENIALS_OFF) {
        error_set(error, ERROR_USAGE, EINVAL, "no-observer",
                  "option --ask: it needs the observer of refusals");
        return error_hint(error, "leave --denials off out");
    }
    return refuse_locked(policy, error);
}
