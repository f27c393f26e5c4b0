/*
 * refuse.c - the backend that never runs anything: what is left when nothing fits, and a way to ask for it.
 */
#include "backend/backend.h"

#include <errno.h>

static int plan_refuse(const struct resolved *resolved, const struct host *host, bool supervised,
                       struct plan *plan, struct error *error)
{
    (void)resolved;
    (void)host;
    (void)supervised;
    plan->backend = "refuse";
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, ENOSYS, "refuse", "the backend refuse runs nothing");
    return error_hint(error, "`confine probe` shows what this machine can do");
}

static const char *const no_signatures[] = {NULL};
static const struct runner_failure_rule no_rules[] = {{0, NULL}};

const struct backend backend_refuse = {
    .name = "refuse",
    .what = "runs nothing, always SANDBOX_UNAVAILABLE",
    .plan = plan_refuse,
    .denial_signatures = no_signatures,
    .failure_rules = no_rules,
    .automatic = false,
};
