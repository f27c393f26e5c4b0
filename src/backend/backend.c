/*
 * backend.c - the table of backends, and the choice.
 */
#include "backend/backend.h"

#include "kernel/cgroup.h"
#include "policy/policy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

extern const struct backend backend_namespace;
extern const struct backend backend_bubblewrap;
extern const struct backend backend_landlock;
extern const struct backend backend_custom;
extern const struct backend backend_refuse;
extern const struct backend backend_none;

const struct backend *const backend_table[] = {
    &backend_namespace,
    &backend_bubblewrap,
    &backend_landlock,
    &backend_custom,
    &backend_refuse,
    &backend_none,
    NULL,
};

const char *const backend_view_signatures[] = {"Read-only file system", "Permission denied",
                                               "Operation not permitted", NULL};
const struct runner_failure_rule backend_link_failures[] = {
    {125, ": fatal: "},
    {125, "confine: "},
    {0, NULL},
};

const struct backend *backend_by_name(const char *name)
{
    for (size_t i = 0; backend_table[i]; i++)
        if (strcmp(backend_table[i]->name, name) == 0)
            return backend_table[i];
    return NULL;
}

/* A name that is kept for a later version gets a better answer than a typing error. */
static int refuse_unknown(const char *name, struct error *error)
{
    if (backend_reserved(name)) {
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, ENOSYS, "not-in-this-version",
                  "the backend %s is not in this version", name);
        return error_hint(error, "use --backend auto");
    }
    error_set(error, ERROR_USAGE, EINVAL, "unknown-backend", "there is no backend %s", QUOTE(name));
    return error_hint(error, "backends are auto, namespace, bubblewrap, landlock, custom and refuse");
}

/* What a word promises, and no more: --hide unreadable contents; that names vanish, and stay so when somebody
 * outside replaces what they name, only where mounts allow. Limits without a group: about so many processes,
 * the time of each process. */
static bool promised_in_part(const struct resolved *resolved, const struct plan *plan, enum surface surface)
{
    static const struct {
        enum surface surface;
        const char *reason;
    } promises[] = {
        {SURFACE_FS_HIDDEN, "names-visible"},
        {SURFACE_FS_HIDDEN, "replaced-reappears"},
        {SURFACE_LIMIT_PROCESSES, "by-numbers"},
        {SURFACE_LIMIT_CPU, "per-process"},
    };
    const struct claim *claim = &plan->claims[surface];

    if (claim->state != STATE_PARTIAL || !claim->reason || resolved->required[surface] ||
        resolved->required_group[surface] || resolved->require_full)
        return false;
    /* Whoever names the runner has taken its word. */
    if (plan->runner && strcmp(claim->reason, CLAIM_DECLARED) == 0)
        return true;
    if (resolved->mode == MODE_DANGER_FULL_ACCESS && strcmp(claim->reason, "can-leave") == 0)
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(promises); i++)
        if (promises[i].surface == surface && strcmp(promises[i].reason, claim->reason) == 0)
            return true;
    return false;
}

/* What would hold a surface, where its reason says that; NULL: nothing that is known. */
static const char *hint_of(const char *reason)
{
    static const struct {
        const char *reason, *hint;
    } hints[] = {
        {"replaced-reappears",
         "what is named (--hide PATH, --hide @credentials) is held by its name where mounts can"},
        {"sizes-apart",
         "use --backend namespace: bubblewrap bounds /tmp and /dev/shm each for itself, and no number "
         "of files"},
        {"no-cgroup", HOST_GROUP_HINT},
        {"not-listed-mode", "name what may be reached: --allow RULE"},
        {"readable-all", "say what may be read: --readable listed, and --read PATH"},
    };

    for (size_t i = 0; reason && i < ARRAY_SIZE(hints); i++)
        if (strcmp(hints[i].reason, reason) == 0)
            return hints[i].hint;
    return NULL;
}

/* Is it asked for, and does nothing of this plan hold it? */
static bool is_unheld(const struct resolved *resolved, const struct plan *plan, enum surface surface)
{
    const struct claim *claim = &plan->claims[surface];

    return claim->state != STATE_ENFORCED && claim->state != STATE_ABSENT && plan_needs(resolved, surface) &&
           !promised_in_part(resolved, plan, surface);
}

/* The others that it does not hold either, so that nobody learns of them one run after the other. */
static void say_others(const struct resolved *resolved, const struct plan *plan, int first,
                       struct error *error)
{
    const char *between = "; nor can it hold ";

    for (int s = first + 1; s < SURFACE_COUNT; s++) {
        size_t length = strlen(error->message);

        if (!is_unheld(resolved, plan, (enum surface)s))
            continue;
        snprintf(error->message + length, sizeof(error->message) - length, "%s%s", between,
                 surface_table[s].name);
        between = ", ";
    }
}

/* A surface that was named and that nothing of this plan holds: refuse. What merely is implied may be
 * partial. */
static int refuse_unheld(const struct resolved *resolved, const struct plan *plan, struct error *error)
{
    for (int s = 0; s < SURFACE_COUNT; s++) {
        const struct claim *claim = &plan->claims[s];

        if (!is_unheld(resolved, plan, (enum surface)s))
            continue;
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, ENOSYS, claim->reason ? claim->reason : "not-held",
                  "the backend %s cannot hold %s here (%s): %s", plan->backend, surface_table[s].name,
                  claim->reason ? claim->reason : "no mechanism", surface_table[s].what);
        policy_say_file(error, resolved_asks(resolved, (enum surface)s));
        say_others(resolved, plan, s, error);
        error_surface(error, surface_table[s].name);
        if (hint_of(claim->reason))
            return error_hint(error, "%s", hint_of(claim->reason));
        if (claim->reason && strcmp(claim->reason, "not-asked") == 0)
            return error_hint(error, "set the limit that is required: --limit %s=VALUE",
                              strchr(surface_table[s].name, '.') + 1);
        if (resolved->required[s]) /* by its own name: it cannot be opened as well */
            return error_hint(error, "leave %s out of --require and of `require`", surface_table[s].name);
        if (surface_table[s].instead)
            return error_hint(error, "leave the option out that asks for it");
        return error_hint(error, "leave the option out that asks for it, or say --open %s",
                          surface_table[s].name);
    }
    return 0;
}

static int refuse_session(const struct backend *backend, struct error *error)
{
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, ENOSYS, "no-sessions", "the backend %s has no sessions",
              backend->name);
    error_hint(error, "only the backend namespace has them; leave --session out");
    error->structural = true;
    return -ENOSYS;
}

/* What limits need of the machine is asked where some are asked for. */
static int ask_groups(struct host *host, const struct resolved *resolved, bool supervised,
                      struct error *error)
{
    const struct policy *policy = resolved->policy;
    unsigned wanted = (policy->limit_memory ? CGROUP_BIT(CGROUP_MEMORY) : 0) |
                      (policy->limit_processes ? CGROUP_BIT(CGROUP_PROCESSES) : 0) |
                      (policy->limit_cpu_ms ? CGROUP_BIT(CGROUP_CPU) : 0);
    int r = wanted && supervised ? host_ask_groups(host, wanted) : 0;

    if (r == 0)
        return 0;
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, -r, "cgroup-failed",
              "a group of processes (cgroup) can be made here, but not as it is needed: %s", strerror(-r));
    return error_hint(error, "try again; if it stays so, look at the groups in /proc/self/cgroup");
}

/* @ret_unheld: it is refused for the sake of a surface: one that was asked for, or one that this backend
 * cannot do without; NULL: not needed */
static int plan_with(const struct backend *backend, const struct resolved *resolved, struct host *host,
                     bool supervised, struct plan *plan, bool *ret_unheld, struct error *error)
{
    bool planned;
    int r = 0;

    if (ret_unheld)
        *ret_unheld = false;
    if (resolved->session && !backend->sessions)
        r = refuse_session(backend, error);
    if (r == 0)
        r = ask_groups(host, resolved, supervised, error);
    if (r == 0 && backend->ask)
        r = backend->ask(host, resolved, supervised, error);
    if (r < 0)
        return r;
    r = backend->plan(resolved, host, supervised, plan, error);
    planned = r == 0;
    if (planned)
        r = refuse_unheld(resolved, plan, error);
    if (ret_unheld)
        *ret_unheld = r < 0 && (planned || *error->surface);
    if (r < 0)
        plan_free(plan);
    if (r < 0 && error->code == ERROR_SANDBOX_UNAVAILABLE)
        error->structural = true; /* a plan knows nothing that changes */
    return r;
}

static bool is_tried(const char *name, const struct tried_backend *tried, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(tried[i].name, name) == 0)
            return true;
    return false;
}

static void note_tried(const char *name, const struct error *error, struct tried_backend *tried,
                       size_t *count)
{
    struct tried_backend *row = &tried[*count];

    if (*count == TRIED_MAX)
        return;
    row->name = name;
    snprintf(row->reason, sizeof(row->reason), "%s", error->reason);
    snprintf(row->message, sizeof(row->message), "%.511s", error->message);
    ++*count;
}

/* Nothing is left. @error: that of @chosen, one of @tried; the same line says why the others were passed
 * over, and where the way to the strongest stands: its own may be to use that. */
static int refuse_all(const struct tried_backend *tried, size_t count, size_t chosen, struct error *error)
{
    const char *lead = chosen + 1 == count ? "; passed over before: " : "; passed over as well: ";
    size_t length;

    if (error->code == ERROR_NONE) {
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, ENOSYS, "no-backend", "no backend can be used here");
        error_hint(error, "`confine probe` says why");
    }
    for (size_t i = 0; i < count; i++) {
        if (i == chosen)
            continue;
        length = strlen(error->message);
        snprintf(error->message + length, sizeof(error->message) - length, "%s%s (%s)", lead, tried[i].name,
                 tried[i].reason);
        lead = ", ";
    }
    length = strlen(error->hint);
    if (chosen > 0 && chosen < count && length > 0)
        snprintf(error->hint + length, sizeof(error->hint) - length,
                 "; `confine probe` has the way to what was passed over");
    return error->errnum ? -error->errnum : -ENOSYS;
}

static bool is_automatic(const struct resolved *resolved)
{
    const char *name = resolved->policy->backend;

    return !name || strcmp(name, "auto") == 0;
}

/* Which error a person reads when all are refused: that of the strongest backend that names a surface which
 * it does not hold, as its hint is the shortest way; else the last one's. */
static int choose_automatic(const struct resolved *resolved, struct host *host, bool supervised,
                            struct plan *plan, const struct backend **ret_backend,
                            struct tried_backend *tried, size_t *tried_count, struct error *error)
{
    struct error strongest = {0};
    size_t chosen = 0;

    *error = (struct error){0};
    for (size_t i = 0; backend_table[i]; i++) {
        const struct backend *backend = backend_table[i];
        bool unheld;
        int r;

        if (resolved->session && !backend->sessions)
            continue; /* no candidate: why the one with sessions cannot be used is the answer */
        if (!backend->automatic || is_tried(backend->name, tried, *tried_count))
            continue;
        *error = (struct error){0};
        r = plan_with(backend, resolved, host, supervised, plan, &unheld, error);
        if (r == 0) {
            *ret_backend = backend;
            return 0;
        }
        if (!error->structural)
            return r;
        if (unheld && strongest.code == ERROR_NONE) {
            strongest = *error;
            chosen = *tried_count;
        }
        note_tried(backend->name, error, tried, tried_count);
    }
    if (strongest.code == ERROR_NONE)
        chosen = *tried_count - (*tried_count > 0);
    else
        *error = strongest;
    return refuse_all(tried, *tried_count, chosen, error);
}

bool backend_pass_over(const struct resolved *resolved, const struct backend *backend,
                       const struct error *error, struct tried_backend *tried, size_t *tried_count)
{
    if (!is_automatic(resolved) || !backend->automatic || resolved->session ||
        error->code != ERROR_SANDBOX_UNAVAILABLE || !error->structural ||
        is_tried(backend->name, tried, *tried_count) || *tried_count == TRIED_MAX)
        return false;
    note_tried(backend->name, error, tried, tried_count);
    return true;
}

int backend_ask_namespaces(struct host *host, const struct resolved *resolved, bool supervised,
                           struct error *error)
{
    /* A run finds out by starting, and one that names its backend has nothing else to choose. */
    if (host->namespaces.answer == HOST_NOT_ASKED && !supervised && is_automatic(resolved))
        host_ask_namespaces(host, resolved->uid, resolved->gid);
    if (host->namespaces.answer != HOST_NO)
        return 0;
    return host_lack_error(error, &host->namespaces.lack, "the backend namespace");
}

int backend_choose(const struct resolved *resolved, struct host *host, bool supervised, struct plan *plan,
                   const struct backend **ret_backend, struct tried_backend *tried, size_t *tried_count,
                   struct error *error)
{
    const char *name = resolved->policy->backend;
    const struct backend *backend;
    int r;

    *plan = (struct plan){0};
    if (resolved->mode == MODE_DANGER_FULL_ACCESS) {
        if (!is_automatic(resolved) && strcmp(name, "none") != 0) {
            error_set(error, ERROR_USAGE, EINVAL, "mode-without-backend",
                      "danger-full-access runs without any backend, and %s was asked for", QUOTE(name));
            return error_hint(error, "leave --backend out, or choose another mode");
        }
        backend = &backend_none;
    } else if (is_automatic(resolved)) {
        return choose_automatic(resolved, host, supervised, plan, ret_backend, tried, tried_count, error);
    } else if (strcmp(name, "none") == 0) {
        error_set(error, ERROR_USAGE, EINVAL, "none-needs-mode", "the backend none confines nothing");
        return error_hint(error, "an unconfined run is asked for with --mode danger-full-access");
    } else {
        backend = backend_by_name(name);
        if (!backend)
            return refuse_unknown(name, error);
    }
    r = plan_with(backend, resolved, host, supervised, plan, NULL, error);
    if (r == 0)
        *ret_backend = backend;
    return r;
}
