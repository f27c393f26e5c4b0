/*
 * backend.c - the table of backends, and the choice.
 */
#include "backend/backend.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

extern const struct backend backend_namespace;
extern const struct backend backend_landlock;
extern const struct backend backend_refuse;
extern const struct backend backend_none;

const struct backend *const backend_table[] = {
    &backend_namespace,
    &backend_landlock,
    &backend_refuse,
    &backend_none,
    NULL,
};

const struct backend *backend_by_name(const char *name)
{
    for (size_t i = 0; backend_table[i]; i++)
        if (strcmp(backend_table[i]->name, name) == 0)
            return backend_table[i];
    return NULL;
}

/* What the reserved names mean, so that a known word gets a better answer than a typing error. */
static const char *const later_backends[] = {
    "namespace", "bubblewrap", "seatbelt", "windows", "oci", "vm", "remote", "custom", NULL,
};

static int refuse_unknown(const char *name, struct error *error)
{
    for (size_t i = 0; later_backends[i]; i++)
        if (strcmp(later_backends[i], name) == 0) {
            error_set(error, ERROR_SANDBOX_UNAVAILABLE, ENOSYS, "not-in-this-version",
                      "the backend %s is not in this version", name);
            return error_hint(error, "use --backend landlock");
        }
    error_set(error, ERROR_USAGE, EINVAL, "unknown-backend", "there is no backend %s", QUOTE(name));
    return error_hint(error, "backends are auto, landlock and refuse");
}

/* --hide promises unreadable contents, and that names vanish only where mounts allow. */
static bool promised_in_part(const struct resolved *resolved, const struct plan *plan, enum surface surface)
{
    const struct claim *claim = &plan->claims[surface];

    return surface == SURFACE_FS_HIDDEN && claim->state == STATE_PARTIAL && claim->reason &&
           strcmp(claim->reason, "names-visible") == 0 && !resolved->required[surface] &&
           !resolved->required_group[surface] && !resolved->require_full;
}

/* A surface that was named and that nothing of this plan holds: refuse. What merely is implied may be
 * partial. */
static int refuse_unheld(const struct resolved *resolved, const struct plan *plan, struct error *error)
{
    for (int s = 0; s < SURFACE_COUNT; s++) {
        const struct claim *claim = &plan->claims[s];
        bool held = claim->state == STATE_ENFORCED || claim->state == STATE_ABSENT;

        if (held || !plan_needs(resolved, (enum surface)s) ||
            promised_in_part(resolved, plan, (enum surface)s))
            continue;
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, ENOSYS, claim->reason ? claim->reason : "not-held",
                  "the backend %s cannot hold %s here (%s): %s", plan->backend, surface_table[s].name,
                  claim->reason ? claim->reason : "no mechanism", surface_table[s].what);
        error_surface(error, surface_table[s].name);
        if (resolved->required[s]) /* by its own name: it cannot be opened as well */
            return error_hint(error, "leave %s out of --require and of `require`", surface_table[s].name);
        return error_hint(error, "leave the option out that asks for it, or say --open %s",
                          surface_table[s].name);
    }
    return 0;
}

static int plan_with(const struct backend *backend, const struct resolved *resolved, const struct host *host,
                     bool supervised, struct plan *plan, struct error *error)
{
    int r = backend->plan(resolved, host, supervised, plan, error);

    if (r == 0)
        r = refuse_unheld(resolved, plan, error);
    if (r < 0)
        plan_free(plan);
    return r;
}

static int choose_automatic(const struct resolved *resolved, const struct host *host, bool supervised,
                            struct plan *plan, const struct backend **ret_backend,
                            struct tried_backend *ret_tried, size_t *ret_tried_count, struct error *error)
{
    int r = -ENOSYS;

    for (size_t i = 0; backend_table[i]; i++) {
        struct tried_backend *tried = &ret_tried[*ret_tried_count];

        if (!backend_table[i]->automatic)
            continue;
        *error = (struct error){0};
        r = plan_with(backend_table[i], resolved, host, supervised, plan, error);
        if (r == 0) {
            *ret_backend = backend_table[i];
            return 0;
        }
        tried->name = backend_table[i]->name;
        snprintf(tried->reason, sizeof(tried->reason), "%s", error->reason);
        snprintf(tried->message, sizeof(tried->message), "%.511s", error->message);
        ++*ret_tried_count;
    }
    return r;
}

int backend_choose(const struct resolved *resolved, const struct host *host, bool supervised,
                   struct plan *plan, const struct backend **ret_backend, struct tried_backend *ret_tried,
                   size_t *ret_tried_count, struct error *error)
{
    const char *name = resolved->policy->backend;
    const struct backend *backend;
    int r;

    *plan = (struct plan){0};
    *ret_tried_count = 0;
    if (resolved->mode == MODE_DANGER_FULL_ACCESS) {
        if (name && strcmp(name, "auto") != 0 && strcmp(name, "none") != 0) {
            error_set(error, ERROR_USAGE, EINVAL, "mode-without-backend",
                      "danger-full-access runs without any backend, and %s was asked for", QUOTE(name));
            return error_hint(error, "leave --backend out, or choose another mode");
        }
        backend = &backend_none;
    } else if (!name || strcmp(name, "auto") == 0) {
        return choose_automatic(resolved, host, supervised, plan, ret_backend, ret_tried, ret_tried_count,
                                error);
    } else if (strcmp(name, "none") == 0) {
        error_set(error, ERROR_USAGE, EINVAL, "none-needs-mode", "the backend none confines nothing");
        return error_hint(error, "an unconfined run is asked for with --mode danger-full-access");
    } else {
        backend = backend_by_name(name);
        if (!backend)
            return refuse_unknown(name, error);
    }
    r = plan_with(backend, resolved, host, supervised, plan, error);
    if (r == 0)
        *ret_backend = backend;
    return r;
}
