/*
 * backend.h - resolved policy + host -> plan. Planning is pure: no fork, no exec, nothing opened.
 *
 * A backend is one file and one row in the table. Every claim starts open; a
 * backend raises it with a mechanism and a reason. What the user named and the
 * backend cannot hold is an error that names the surface.
 */
#ifndef CONFINE_BACKEND_BACKEND_H
#define CONFINE_BACKEND_BACKEND_H

#include "plan/plan.h"

/* A line on stderr by which callers that see only status and text may know that the runner failed. */
struct runner_failure_rule {
    int status;            /* 0: any but 0 */
    const char *signature; /* substring of one line */
};

struct backend {
    const char *name;
    const char *what; /* one line for people */
    /*
     * Ask the machine what this backend stands or falls with; what @host knows already is not asked again.
     * NULL: nothing but host_look() knows. Return: 0, or a negative errno with @error, structural or not.
     */
    int (*ask)(struct host *host, const struct resolved *resolved, bool supervised, struct error *error);
    int (*plan)(const struct resolved *resolved, const struct host *host, bool supervised, struct plan *plan,
                struct error *error);
    const char *const *denial_signatures;            /* NULL-terminated */
    const struct runner_failure_rule *failure_rules; /* ends with a NULL signature */
    bool automatic;                                  /* a candidate of `auto` */
    bool sessions;                                   /* a command can go into a session */
};

extern const struct backend *const backend_table[]; /* NULL-terminated, in the order in which auto tries */

/* What programs say where the host is a read-only view, and what any chain of our links fails with. */
extern const char *const backend_view_signatures[];
extern const struct runner_failure_rule backend_link_failures[];

/* backend_by_name() - Return: the backend or NULL; an unknown name is never a fallback. */
const struct backend *backend_by_name(const char *name);

/* A candidate that auto passed over, for `tried_backends`. */
struct tried_backend {
    const char *name;
    char reason[48];
    char message[512];
};

/* The candidates that were passed over, each once. Zero-initialised is empty. */
#define TRIED_MAX 8

/*
 * backend_choose() - the plan of the backend that the policy names, or of the first automatic one that can.
 * @host:  of host_look(); what a candidate depends on beyond it is asked of the machine now
 * @tried: candidates passed over, room for TRIED_MAX; those of them are not chosen, new ones are added
 * @tried_count: how many; 0 before the first choice
 *
 * Return: 0, or a negative errno with @error (ERROR_SANDBOX_UNAVAILABLE and the surface).
 */
int backend_choose(const struct resolved *resolved, struct host *host, bool supervised, struct plan *plan,
                   const struct backend **ret_backend, struct tried_backend *tried, size_t *tried_count,
                   struct error *error);

/*
 * backend_pass_over() - after a start that failed: may another candidate be tried? Notes it if so.
 * @backend: what failed, with @error
 *
 * Only where nobody named a backend, and only for what this machine cannot do. Never after a failed
 * attestation: somebody might have seen to it that it fails.
 */
bool backend_pass_over(const struct resolved *resolved, const struct backend *backend,
                       const struct error *error, struct tried_backend *tried, size_t *tried_count);

/* backend_ask_namespaces() - `ask` of a backend that makes namespaces by itself. For a run, the start
 * answers.
 */
int backend_ask_namespaces(struct host *host, const struct resolved *resolved, bool supervised,
                           struct error *error);

/*
 * backend_plan_session() - the chain that makes a session of the backend namespace, and no command.
 *
 * Return: 0, or a negative errno with @error; @plan is plan_free()'s then and else.
 */
int backend_plan_session(const struct resolved *resolved, struct plan *plan, struct error *error);

/*
 * backend_lower_handed() - lower what descriptors open that the caller hands to the command: sockets on 0 to
 * 2 and passed ones, passed terminals. For the plan of every backend that cannot take them back.
 */
void backend_lower_handed(const struct resolved *resolved, const struct host *host, struct plan *plan);

#endif
