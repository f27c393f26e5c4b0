/*
 * build_claims.c - what every chain holds alike: privileges, what is inherited, limits, what stays shut.
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

void build_unheld(struct builder *b, size_t hidden, const char *why)
{
    plan_lower(b->plan, SURFACE_FS_HIDDEN, why);
    plan_reason(b->plan, SURFACE_FS_HIDDEN, why);
    if (!b->failed)
        b->failed = plan_unheld(b->plan, hidden, why);
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
    if (secrets == 0)
        plan_raise(b->plan, SURFACE_ENV_SECRETS, STATE_ABSENT, MECHANISM_NONE, NULL);

    for (size_t i = 0; i < ARRAY_SIZE(terminal); i++) {
        struct check check = CHECK(TTY_READ, DETACH, TERMINAL, NONE, .a = b->plan->terminal,
                                   .refused = {ENXIO}, .self_contained = true);

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

void build_claims_common(struct builder *b)
{
    claim_privileges(b);
    claim_inherited(b);
    build_limits(b);
    plan_reason(b->plan, SURFACE_LATER_EXEC,
                !b->supervised                              ? "not-looked-at"
                : b->resolved->mode == MODE_WORKSPACE_WRITE ? "looked-at-when-ended"
                                                            : "only-private-places");
    build_hold(
        b, STATE_PARTIAL, "core-limit-only",
        CHECK(LATER_CRASH, RLIMIT, CORE_SIZE, NONE, .a = 1, .refused = {EFBIG}, .self_contained = true));
}

/* A view is held by its mounts, and what the caller hands over is on those of before. A directory leads to
 * names that are hidden in the view, to modes that its mounts hold, and to what is protected; a file that can
 * be read is one that can be written where Landlock is left out. Files on 0 to 2 are relayed by a supervisor.
 */
static int refuse_handed(const struct builder *b, struct error *error)
{
    const struct handed *standard = &b->host->standard, *passed = &b->resolved->passed;
    bool alone = b->host->landlock_abi == 0 || is_open(b, SURFACE_PRIV_USERNS);
    bool on_standard = standard->directory || (alone && !b->supervised && standard->read_only);

    if (!b->plan->own_tmp)
        return 0;
    if (standard->directory || passed->directory) {
        error_set(error, ERROR_POLICY_INVALID, EISDIR, "directory-handed",
                  "%s is a directory: it would lead the command around its view",
                  on_standard ? "one of the descriptors 0 to 2" : "a descriptor that is passed");
        return error_hint(error, "name the directory as a grant, or use the backend landlock");
    }
    if (on_standard || (alone && passed->read_only)) {
        error_set(error, ERROR_POLICY_INVALID, EBADF, "file-handed",
                  "%s is a file to be read, and without Landlock the command could write it",
                  on_standard ? "one of the descriptors 0 to 2" : "a descriptor that is passed");
        return error_hint(error, "hand over a pipe: cat FILE | confine ...");
    }
    return 0;
}

int build_refuse_host(const struct builder *b, struct error *error)
{
    if (!b->host->proc) {
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, ENOENT, "no-proc", "/proc is not mounted here");
        return error_hint(error, "mount it: descriptors are handed to the chain as /proc/self/fd/N");
    }
    if (!b->host->seccomp) {
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, EINVAL, "no-seccomp",
                  "the kernel loads no system call filters");
        error_surface(error, "kernel.syscalls");
        return error_hint(error, "run a kernel with CONFIG_SECCOMP_FILTER");
    }
    return 0;
}

int build_refuse_size(const struct resolved *resolved, bool terminal, struct error *error)
{
    if (!resolved->policy->columns || terminal)
        return 0;
    error_set(error, ERROR_POLICY_INVALID, EINVAL, "size-without-terminal",
              "--size is the size of a terminal, and the command gets none");
    return error_hint(error, "add --tty private");
}

int build_refuse_gateway(const struct builder *b, struct error *error)
{
    bool listed = b->resolved->policy->network == NETWORK_LISTED;

    if (!network_gateway(&b->resolved->network) || b->advisory)
        return 0;
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, ENOSYS, listed ? "no-network-namespace" : "no-listeners",
              "the backend %s has no network for the command in which %s", b->plan->backend,
              listed ? "a list could be held (net.listed)" : "a port could be forwarded or published");
    error_surface(error, listed ? "net.listed" : "net.tcp");
    return error_hint(error, "use --backend namespace, or %s",
                      listed ? "say --open net.listed for proxy variables that nobody has to obey"
                             : "leave the port out");
}

int build_finish(struct builder *b, struct error *error)
{
    struct plan *plan = b->plan;
    int r = refuse_handed(b, error);

    if (r == 0)
        r = build_refuse_size(b->resolved, plan->terminal, error);
    if (r < 0)
        return r;
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

int build_refuse_opening(const struct builder *b, const struct shut *rows, size_t count, struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        const char *name = surface_table[rows[i].surface].name;

        if (!is_open(b, rows[i].surface))
            continue;
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, EINVAL, "not-openable",
                  "the backend %s cannot open %s as a whole", b->plan->backend, name);
        error_surface(error, name);
        return error_hint(error, "%s", rows[i].hint);
    }
    return 0;
}
