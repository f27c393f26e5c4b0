/*
 * none.c - no confinement at all, for `--mode danger-full-access` and nothing else.
 *
 * Should:  claim nothing, so that every surface is reported open.
 * Mustn't: be reached by any fallback: backend_choose() comes here for that one mode only.
 */
#include "backend/backend.h"

static int plan_none(const struct resolved *resolved, const struct host *host, bool supervised,
                     struct plan *plan, struct error *error)
{
    (void)host;
    (void)error;
    plan->backend = "none";
    plan->supervised = supervised;
    for (int s = 0; s < SURFACE_COUNT; s++)
        plan_reason(plan, (enum surface)s, "danger-full-access");
    if (supervised && resolved->policy->limit_time_ms)
        plan_raise(plan, SURFACE_LIMIT_TIME, STATE_ENFORCED, MECHANISM_SUPERVISOR, NULL);
    return plan_special(plan, WORD_COMMAND);
}

static const char *const no_signatures[] = {NULL};
static const struct runner_failure_rule no_rules[] = {{0, NULL}};

const struct backend backend_none = {
    .name = "none",
    .what = "unconfined, only by --mode danger-full-access",
    .plan = plan_none,
    .denial_signatures = no_signatures,
    .failure_rules = no_rules,
    .automatic = false,
};
