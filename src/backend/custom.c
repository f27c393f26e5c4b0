/*
 * custom.c - the backend with the operator's own runner, which takes bubblewrap's words.
 *
 *   detach-run … RUNNER WORD… bubblewrap's words … confine-launch landlock-run … attest-run … COMMAND
 *
 * Should:  ask of it what is asked of bubblewrap, with the same links behind it and the same checks, so that
 * a runner that does something else than it is told is refused before the command exists. Mustn't: call
 * anything shown that is only heard from behind it: whoever starts our links could answer in their place. So
 * nothing here is `enforced`, and the evidence is `declared`. Mustn't: start what somebody else than root and
 * the caller could have written, the command above all.
 */
#include "backend/bubblewrap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int refuse_runner(const struct host_runner *runner, struct error *error)
{
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, runner->lack.errnum, runner->lack.reason,
              "the backend custom cannot start its runner: %s", runner->why);
    return error_hint(error, "%s", runner->lack.hint);
}

static int refuse_writable(const struct resolved *resolved, const char *path, struct error *error)
{
    if (!resolved_under_writable(resolved, path))
        return 0;
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, EPERM, "runner-writable",
              "the backend custom cannot start its runner: %s lies in a writable grant", QUOTE(path));
    return error_hint(error, "put it where only root or you can write, outside every writable grant");
}

/* The runner itself, what interprets it, every link to that, and whatever its words name: a script that it is
 * to interpret. A link in a grant counts where it lies: the command of this run leads it elsewhere for the
 * next. */
static int look_for_writable(const struct resolved *resolved, struct strings *places, struct error *error)
{
    const struct strings *command = &resolved->policy->runner.command;
    char *here = getcwd(NULL, 0);
    int r = 0;

    for (size_t i = 1; i < command->count && r == 0; i++)
        r = host_runner_word(command->items[i], here, places);
    free(here);
    if (r < 0)
        return error_no_memory(error);
    for (size_t i = 0; i < places->count && r == 0; i++)
        r = refuse_writable(resolved, places->items[i], error);
    return r;
}

static int ask_custom(struct host *host, const struct resolved *resolved, bool supervised,
                      struct error *error)
{
    const struct policy_runner *runner = &resolved->policy->runner;
    struct strings places = {0};
    int r = 0;

    (void)supervised;
    if (runner->command.count == 0) {
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, ENOENT, "no-runner",
                  "the backend custom needs a runner, and no policy names one");
        return error_hint(error, "name it in a policy file: \"runner\": {\"command\": [\"/PATH\"]}; "
                                 "confine-policy(5)");
    }
    if (host_ask_runner(host, runner->command.items[0], runner->is_script, &places) < 0)
        r = error_no_memory(error);
    else if (host->runner.answer != HOST_YES)
        r = refuse_runner(&host->runner, error);
    else
        r = look_for_writable(resolved, &places, error);
    strings_free(&places);
    return r;
}

/* What the supervisor does by itself stays as it is: its time, its pipes, its groups. */
static bool is_ours(const struct claim *claim)
{
    for (size_t i = 0; i < claim->by_count; i++)
        if (claim->by[i].mechanism != MECHANISM_SUPERVISOR && claim->by[i].mechanism != MECHANISM_CGROUP)
            return false;
    return true;
}

static void declare(struct plan *plan)
{
    for (int s = 0; s < SURFACE_COUNT; s++)
        if (!is_ours(&plan->claims[s]))
            plan_lower(plan, (enum surface)s, CLAIM_DECLARED);
}

static int plan_custom(const struct resolved *resolved, const struct host *host, bool supervised,
                       struct plan *plan, struct error *error)
{
    struct builder b = {.resolved = resolved, .host = host, .plan = plan, .supervised = supervised};
    const struct policy_runner *runner = &resolved->policy->runner;
    int r;

    plan->backend = "custom";
    if (host->runner.answer != HOST_YES)
        return refuse_runner(&host->runner, error);
    plan->runner = runner->command.items[0];
    r = bubblewrap_plan(&b, "custom", (const char *const *)runner->command.items, error);
    if (r < 0)
        return r;
    declare(plan);
    r = strings_addf(&plan->warnings,
                     "custom-runner: what this run holds is the word of %s; the checks find one that errs, "
                     "and none that lies",
                     QUOTE(plan->runner));
    if (r == 0 && host->runner.set_uid)
        r = strings_addf(&plan->warnings, "runner-set-uid: %s starts as another user", QUOTE(plan->runner));
    return r < 0 ? error_no_memory(error) : 0;
}

const struct backend backend_custom = {
    .name = "custom",
    .what = "a runner of one's own in bubblewrap's place; nothing but its word for it",
    .ask = ask_custom,
    .plan = plan_custom,
    .denial_signatures = backend_view_signatures,
    .failure_rules = backend_link_failures, /* those of the runner stand in the policy */
    .automatic = false,
};
