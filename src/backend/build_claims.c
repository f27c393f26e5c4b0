/*
 * build_claims.c - what every chain holds alike: privileges, what is inherited, limits.
 */
#include "backend/build.h"

#include <errno.h>

#define SECRET_CHECKS 8

static void add_check(struct builder *b, struct check check)
{
    /* Without a supervisor nobody looks from outside: only what decides by its answer alone is tried. */
    if (!b->failed && (b->supervised || check.self_contained))
        b->failed = plan_check(b->plan, check);
}

void build_hold(struct builder *b, enum surface_state state, const char *reason, struct check check)
{
    struct claim *claim = &b->plan->claims[check.surface];
    bool known = false;

    if (is_open(b, check.surface))
        return;
    for (size_t i = 0; i < claim->by_count; i++)
        known |= claim->by[i].mechanism == check.mechanism;
    plan_raise(b->plan, check.surface, state, known ? MECHANISM_NONE : check.mechanism, reason);
    add_check(b, check);
}

static void claim_privileges(struct builder *b)
{
    build_hold(
        b, STATE_ENFORCED, NULL,
        CHECK(PRIV_SETUID, NO_NEW_PRIVS, NO_NEW_PRIVS, NONE, .refused = {EPERM}, .self_contained = true));
    build_hold(
        b, STATE_ENFORCED, NULL,
        CHECK(PRIV_CAPS, CAPABILITIES, CAPABILITIES, NONE, .refused = {EPERM}, .self_contained = true));
    build_hold(b, STATE_ENFORCED, NULL, CHECK(PRIV_USERNS, SECCOMP, SENTINEL, NONE, .self_contained = true));
    build_hold(b, STATE_ENFORCED, NULL,
               CHECK(KERNEL_SYSCALLS, SECCOMP, SENTINEL, NONE, .self_contained = true));
    plan_reason(b->plan, SURFACE_KERNEL_SEPARATE, "same-kernel");
}

static void claim_inherited(struct builder *b)
{
    static const enum surface terminal[] = {SURFACE_TTY_READ, SURFACE_TTY_INJECT, SURFACE_TTY_STATE};
    size_t secrets = b->resolved->env_secrets.count;

    /* Without a supervisor nothing stands between the command and a file on 0-2: its flags are shared. */
    if (!b->supervised && b->host->regular)
        build_hold(
            b, STATE_PARTIAL, "file-on-0-2",
            CHECK(FD_INHERITED, DETACH, DESCRIPTOR, DESCRIPTOR, .refused = {EBADF}, .self_contained = true));
    else
        build_hold(
            b, STATE_ENFORCED, NULL,
            CHECK(FD_INHERITED, DETACH, DESCRIPTOR, DESCRIPTOR, .refused = {EBADF}, .self_contained = true));
    plan_reason(b->plan, SURFACE_FD_PASSED, "helpers-outside");

    for (size_t i = 0; i < secrets && i < SECRET_CHECKS; i++)
        build_hold(b, STATE_ENFORCED, NULL,
                   CHECK(ENV_SECRETS, ENVIRONMENT, ENVIRONMENT, SECRET, .index = i, .refused = {ENOENT},
                         .self_contained = true));
    if (secrets == 0 && !is_open(b, SURFACE_ENV_SECRETS))
        plan_raise(b->plan, SURFACE_ENV_SECRETS, STATE_ABSENT, MECHANISM_NONE, NULL);

    for (size_t i = 0; i < ARRAY_SIZE(terminal); i++) {
        struct check check =
            CHECK(TTY_READ, DETACH, TERMINAL, NONE, .refused = {ENXIO}, .self_contained = true);

        check.surface = terminal[i];
        if (!b->supervised && b->host->terminal) {
            plan_reason(b->plan, terminal[i], "callers-terminal");
            continue;
        }
        build_hold(b, STATE_ENFORCED, NULL, check);
    }
    if (!b->supervised && b->host->terminal)
        build_hold(b, STATE_PARTIAL, "filter-only",
                   CHECK(TTY_INJECT, SECCOMP, SENTINEL, NONE, .self_contained = true));
}

static void claim_limits(struct builder *b)
{
    const struct policy *policy = b->resolved->policy;
    static const enum surface groups[] = {SURFACE_LIMIT_MEMORY, SURFACE_LIMIT_PROCESSES, SURFACE_LIMIT_OUTPUT,
                                          SURFACE_LIMIT_TMP_SIZE, SURFACE_LIMIT_CPU};

    for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
        if (b->plan->claims[groups[i]].state == STATE_OPEN)
            plan_reason(b->plan, groups[i],
                        plan_claims(b->resolved, groups[i]) ? "not-in-this-version" : "not-asked");
    if (policy->limit_time_ms && b->supervised)
        plan_raise(b->plan, SURFACE_LIMIT_TIME, STATE_ENFORCED, MECHANISM_SUPERVISOR, NULL);
    else
        plan_reason(b->plan, SURFACE_LIMIT_TIME, policy->limit_time_ms ? "no-supervisor" : "not-asked");
    if (policy->limit_file_size)
        build_hold(b, STATE_ENFORCED, NULL,
                   CHECK(LIMIT_FILE_SIZE, RLIMIT, FILE_SIZE, NONE, .a = (int64_t)policy->limit_file_size,
                         .refused = {EFBIG}, .self_contained = true));
    else
        plan_reason(b->plan, SURFACE_LIMIT_FILE_SIZE, "not-asked");
    plan_reason(b->plan, SURFACE_LATER_EXEC, "not-looked-at");
    plan_raise(b->plan, SURFACE_LATER_CRASH, STATE_PARTIAL, MECHANISM_RLIMIT, "core-limit-only");
}

void build_claims_common(struct builder *b)
{
    claim_privileges(b);
    claim_inherited(b);
    claim_limits(b);
}

int build_finish(struct builder *b, struct error *error)
{
    struct plan *plan = b->plan;

    for (int s = 0; s < SURFACE_COUNT; s++)
        if (b->resolved->open[s] && plan->claims[s].state == STATE_OPEN && !plan->claims[s].reason)
            plan_reason(plan, (enum surface)s, "opened");
    if (b->failed == -ENOMEM)
        return error_no_memory(error);
    if (b->failed) {
        error_set(error, ERROR_INTERNAL, -b->failed, "plan-too-large", "the plan has too many checks");
        return error_hint(error, "name fewer paths");
    }
    return 0;
}
