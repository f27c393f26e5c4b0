/*
 * none.c - no confinement at all, for `--mode danger-full-access` and nothing else.
 *
 * Should:  claim nothing, so that every surface is reported open.
 * Mustn't: be reached by any fallback: backend_choose() comes here for that one mode only.
 */
#include "backend/build.h"
#include "kernel/cgroup.h"

#include <errno.h>

/* What is asked and nothing holds: the limits are the one thing that an unconfined run can promise. */
static int refuse_limits(const struct resolved *resolved, const struct plan *plan, struct error *error)
{
    for (int s = 0; s < SURFACE_COUNT; s++) {
        bool group = s == SURFACE_LIMIT_MEMORY || s == SURFACE_LIMIT_PROCESSES || s == SURFACE_LIMIT_CPU;

        if (!plan_limits(resolved->policy, (enum surface)s) || plan->claims[s].state != STATE_OPEN)
            continue;
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, ENOSYS, group ? "no-cgroup" : "mode-holds-nothing",
                  "the mode danger-full-access cannot hold %s here: %s", surface_table[s].name,
                  surface_table[s].what);
        error_surface(error, surface_table[s].name);
        return group ? error_hint(error, "%s", HOST_GROUP_HINT)
                     : error_hint(error, "leave the limit out, or use another mode");
    }
    return 0;
}

static int plan_none(const struct resolved *resolved, const struct host *host, bool supervised,
                     struct plan *plan, struct error *error)
{
    /* What the supervisor does itself holds; out of a group an unconfined command may walk. */
    static const struct {
        enum surface surface;
        int use; /* enum cgroup_use; -1: the supervisor's */
    } limits[] = {
        {SURFACE_LIMIT_TIME, -1},
        {SURFACE_LIMIT_OUTPUT, -1},
        {SURFACE_LIMIT_MEMORY, CGROUP_MEMORY},
        {SURFACE_LIMIT_PROCESSES, CGROUP_PROCESSES},
        {SURFACE_LIMIT_CPU, CGROUP_CPU},
    };

    plan->backend = "none";
    plan->supervised = supervised;
    for (int s = 0; s < SURFACE_COUNT; s++)
        plan_reason(plan, (enum surface)s, "danger-full-access");
    for (size_t i = 0; i < ARRAY_SIZE(limits) && supervised; i++)
        if (plan_limits(resolved->policy, limits[i].surface) &&
            (limits[i].use < 0 || (host->groups.uses & CGROUP_BIT(limits[i].use))))
            plan_raise(plan, limits[i].surface, limits[i].use < 0 ? STATE_ENFORCED : STATE_PARTIAL,
                       limits[i].use < 0 ? MECHANISM_SUPERVISOR : MECHANISM_CGROUP,
                       limits[i].use < 0 ? NULL : "can-leave");
    if (refuse_limits(resolved, plan, error) < 0)
        return -ENOSYS;
    if (supervised && resolved->policy->tty == TTY_PRIVATE) {
        error_set(
            error, ERROR_POLICY_INVALID, EINVAL, "unconfined-terminal",
            "in the mode danger-full-access the command has the caller's terminal, and gets none of its own");
        return error_hint(error, "leave --tty out, or use another mode");
    }
    if (build_refuse_size(resolved, false, error) < 0)
        return -EINVAL;
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
