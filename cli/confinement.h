/*
 * confinement.h - from options to a plan: what run, exec, plan, policy and probe have in common.
 */
#ifndef CONFINE_CLI_CONFINEMENT_H
#define CONFINE_CLI_CONFINEMENT_H

#include "backend/backend.h"
#include "cli/options.h"

struct confinement {
    struct policy policy;
    const struct session *session; /* set while resolving; NULL: none */
    struct resolved resolved;
    struct host host;
    struct plan plan;
    const struct backend *backend; /* NULL until a plan was made */
    struct tried_backend tried[TRIED_MAX];
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

/*
 * confinement_again() - plan with the next candidate, after a start that failed and left nothing behind.
 * @failed: why; a backend is passed over for what the machine cannot do, and for nothing else
 *
 * Return: 0 with a new plan; 1 when there is nothing to be tried again and the error stands as it is; or a
 * negative errno with @error, which may be @failed. In the last case there is no plan.
 */
int confinement_again(struct confinement *confinement, bool supervised, const struct error *failed,
                      struct error *error);

void confinement_free(struct confinement *confinement);

#endif
