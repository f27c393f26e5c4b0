/*
 * confinement.h - from options to a plan: what run, exec, plan, policy and probe have in common.
 */
#ifndef CONFINE_CLI_CONFINEMENT_H
#define CONFINE_CLI_CONFINEMENT_H

#include "backend/backend.h"
#include "cli/options.h"

struct confinement {
    struct policy policy;
    struct resolved resolved;
    struct host host;
    struct plan plan;
    const struct backend *backend; /* NULL until a plan was made */
    struct tried_backend tried[8];
    size_t tried_count;
    bool has_resolved;
    bool has_plan;
};

/*
 * confinement_resolve() - merge every layer, refuse what is not in this version, open every path.
 * @env: the caller's environment
 *
 * The policy of @confinement must stay where it is: what was resolved points to it.
 * Return: 0, or a negative errno with @error; confinement_free() is due either way.
 */
int confinement_resolve(struct confinement *confinement, const struct options *options, char *const *env,
                        struct error *error);

/* confinement_plan() - choose the backend and plan. Return: 0, or a negative errno with @error. */
int confinement_plan(struct confinement *confinement, bool supervised, struct error *error);

void confinement_free(struct confinement *confinement);

#endif
