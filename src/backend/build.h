/*
 * build.h - what the backends share: the words and claims that do not depend on how files are held.
 *
 * Should:  raise a claim only together with the check that will show it.
 * Mustn't: decide anything for a backend: it says which links stand in its chain and what they hold.
 */
#ifndef CONFINE_BACKEND_BUILD_H
#define CONFINE_BACKEND_BUILD_H

#include "backend/backend.h"
#include "kernel/cgroup.h"
#include "policy/policy.h"

/* The ABI that brought what a plan asks of Landlock. */
#define ABI_TRUNCATE 3
#define ABI_TCP      4
#define ABI_SCOPES   6
#define ABI_UNIX     9
#define ABI_UDP      10

struct view_known;

struct builder {
    const struct resolved *resolved;
    struct view_known *known; /* namespace_hidden.c: one for each hidden path; NULL in other backends */
    size_t granted;           /* the same: 1 + the last of the paths that is granted */
    const struct host *host;
    struct plan *plan;
    bool supervised;
    bool advisory; /* nothing holds the list of the network: only variables speak of it */
    int failed;    /* the first error, 0 if none */
};

static inline bool is_open(const struct builder *b, enum surface surface)
{
    return b->resolved->open[surface];
}

/* The error is that @hidden, which somebody named, cannot be hidden. */
static inline void build_say_hiding(const struct builder *b, const struct hidden *hidden, struct error *error)
{
    const struct source *source = &hidden->source;

    policy_say_file(
        error, source->listed ? &b->resolved->policy->list[source->list].items[source->index].origin : NULL);
    error_surface(error, "fs.hidden");
}

static inline bool cuts_network(const struct builder *b)
{
    return b->resolved->policy->network != NETWORK_HOST && !b->advisory;
}

/* --- build_words.c: the chain ----------------------------------------------------------------------------
 */

/* build_word(), build_special(), build_path() - append to the chain; nothing after a first failure. */
void build_word(struct builder *b, const char *text);
void build_special(struct builder *b, enum word_kind kind);
void build_path(struct builder *b, const char *option, size_t path);

/* build_join() - @option, and the namespace of the session that the command goes into. */
void build_join(struct builder *b, const char *option, enum channel_join which);

/* build_detach() - the first link. */
void build_detach(struct builder *b);

/* build_terminal() - a terminal of its own, for a command that is to have one. */
void build_terminal(struct builder *b);

/* build_landlock() - landlock-run with what the policy grants; and where the kernel's audit is to tell of
 * refusals, audit-run with the same. @end: adds to each what is the backend's own, and the "--" */
void build_landlock(struct builder *b, void (*end)(struct builder *b));

/* A group of the filter, and whether this plan leaves it open. */
struct filter_group {
    const char *name;
    bool open;
};

/* build_seccomp() - the filter: @set, without the @groups that are open and those that --open names. */
void build_seccomp(struct builder *b, const char *set, const struct filter_group *groups, size_t count);

/* build_attest() - the last link, and the command. */
void build_attest(struct builder *b);

/* --- build_claims.c: what the shared links hold -----------------------------------------------------------
 */

#define CHECK(SURFACE, MECHANISM, ACT, CANARY, ...)                                                          \
    (struct check)                                                                                           \
    {                                                                                                        \
        .surface = SURFACE_##SURFACE, .mechanism = MECHANISM_##MECHANISM, .act = ACT_##ACT,                  \
        .canary = CANARY_##CANARY, __VA_ARGS__                                                               \
    }

/* build_hold() - a claim and the check that shows it, in one: nothing is raised without one. */
void build_hold(struct builder *b, enum surface_state state, const char *reason, struct check check);

/* build_unheld() - the hidden path @hidden stays readable: the claim says why, and people are told. */
void build_unheld(struct builder *b, size_t hidden, const char *why);

/* --- build_limits.c ---------------------------------------------------------------------------------------
 */

/* build_limits() - the claims of every limit; part of build_claims_common(). */
void build_limits(struct builder *b);

/* build_has_group() - can a group of processes do that for this run? */
bool build_has_group(const struct builder *b, enum cgroup_use use);

/* build_numbers_processes() - is the number of processes held by the numbers that they may have? */
bool build_numbers_processes(const struct builder *b);

/* build_numbers() - so many numbers. */
uint64_t build_numbers(const struct builder *b);

/* build_cpu_seconds() - the limit of processor time for one process. */
uint64_t build_cpu_seconds(const struct builder *b);

/* build_claims_common() - privileges, what is inherited, limits, later. */
void build_claims_common(struct builder *b);

/* A surface that a backend cannot open as a whole, and what to say instead. */
struct shut {
    enum surface surface;
    const char *hint;
};

/* build_refuse_opening() - refuses the first of the @count @rows that the policy opens. Return: 0, or a
 * negative errno with @error set. */
int build_refuse_opening(const struct builder *b, const struct shut *rows, size_t count, struct error *error);

/* build_refuse_host() - a machine on which no chain can work. Return: 0, or a negative errno with @error set.
 */
int build_refuse_host(const struct builder *b, struct error *error);

/* build_refuse_kernel() - what a backend refuses that lays no mounts in what is writable: root would change
 * the machine by files of the kernel there. Return: 0, or a negative errno with @error set. */
int build_refuse_kernel(const struct builder *b, struct error *error);

/* build_refuse_size() - a size that nothing has. Return: 0, or a negative errno with @error set. */
int build_refuse_size(const struct resolved *resolved, bool terminal, struct error *error);

/* build_refuse_gateway() - what a backend refuses that cannot make listeners in a network of the command's
 * own. Return: 0, or a negative errno with @error set. */
int build_refuse_gateway(const struct builder *b, struct error *error);

/* build_finish() - a reason for what was opened by name. Return: 0, or a negative errno with @error set when
 * the plan could not be built. */
int build_finish(struct builder *b, struct error *error);

#endif
