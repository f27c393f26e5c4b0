/*
 * policy_runner.c - the program that stands in bubblewrap's place, as a policy names it.
 *
 * Should:  take one from any file that only root and the caller can write; the later one wins, like a scalar.
 * Mustn't: look at the program: whether it can be trusted is asked when it is to be started.
 */
#include "policy/policy.h"
#include "policy/policy_keys.h"

#include <errno.h>

static bool same_strings(const struct strings *one, const struct strings *other)
{
    if (one->count != other->count)
        return false;
    for (size_t i = 0; i < one->count; i++)
        if (strcmp(one->items[i], other->items[i]) != 0)
            return false;
    return true;
}

void policy_free_runner(struct policy_runner *runner)
{
    strings_free(&runner->command);
    strings_free(&runner->failure_signatures);
}

int policy_set_runner(struct policy *policy, struct policy_runner *runner, struct error *error)
{
    const char *path = runner->command.count > 0 ? runner->command.items[0] : "";
    struct policy_runner *held = &policy->runner;
    /* One that the policy names already does not touch its lock. */
    bool same = same_strings(&held->command, &runner->command) && held->is_script == runner->is_script &&
                same_strings(&held->failure_signatures, &runner->failure_signatures);

    if (path[0] != '/') {
        policy_refuse(error, &runner->origin, "bad-value", "the runner %s is not named from / on",
                      QUOTE(path));
        error_hint(error, "a runner is not looked for in PATH: name it as /usr/bin/NAME");
    } else if (held->locked && !same) {
        policy_refuse(error, &runner->origin, "locked", "runner is locked by %s", WHERE(&held->lock));
        error_hint(error, "leave runner as it is, or change that file");
    } else {
        runner->locked = held->locked;
        runner->lock = held->lock;
        policy_free_runner(held);
        *held = *runner;
        return 0;
    }
    policy_free_runner(runner);
    return -EINVAL;
}
