/*
 * confinement.c - from options to a plan.
 *
 * Should:  take the layers in their order, options last, and the workspace's own file after them.
 * Mustn't: resolve against one workspace and narrow by the file of another one.
 */
#include "cli/confinement.h"

#include "cli/later.h"
#include "cli/session.h"
#include "run/forerunner.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* danger-full-access holds nothing, so what stands on the same command line must not promise anything. */
static int refuse_contradiction(const struct options *options, const struct policy *policy,
                                struct error *error)
{
    static const struct {
        enum option_kind kind;
        int target;
        const char *only, *but; /* the one value that promises something, or that does not; NULL: none */
    } promises[] = {
        {OPTION_WORDS, LIST_REQUIRE, NULL, NULL},  {OPTION_LIST, LIST_HIDE, NULL, NULL},
        {OPTION_LIST, LIST_PROTECT, NULL, NULL},   {OPTION_KEY, KEY_READABLE, NULL, "all"},
        {OPTION_KEY, KEY_NETWORK, NULL, "host"},   {OPTION_LIST, LIST_ALLOW, NULL, NULL},
        {OPTION_FLAG, KEY_PROXY_ENV, NULL, NULL},  {OPTION_KEY, KEY_UPSTREAM, NULL, NULL},
        {OPTION_LIST, LIST_FORWARD, NULL, NULL},   {OPTION_LIST, LIST_PUBLISH, NULL, NULL},
        {OPTION_KEY, KEY_PLANTED, NULL, NULL},     {OPTION_KEY, KEY_TMP, NULL, NULL},
        {OPTION_KEY, KEY_CACHES, "private", NULL}, {OPTION_KEY, KEY_USER, NULL, "keep"},
        {OPTION_FLAG, KEY_WAIT_ALL, NULL, NULL},   {OPTION_KEY, KEY_DENIALS, "on", NULL},
    };

    if (policy->mode != MODE_DANGER_FULL_ACCESS && policy->approved_mode != MODE_DANGER_FULL_ACCESS)
        return 0;
    for (size_t i = 0; i < options->given_count; i++)
        for (size_t j = 0; j < ARRAY_SIZE(promises); j++) {
            const struct option_given *given = &options->given[i];

            if (given->option->kind != promises[j].kind || given->option->target != promises[j].target ||
                (promises[j].only && strcmp(given->value, promises[j].only) != 0) ||
                (promises[j].but && strcmp(given->value, promises[j].but) == 0))
                continue;
            error_set(error, ERROR_SANDBOX_UNAVAILABLE, ENOSYS, "mode-holds-nothing",
                      "option --%s: danger-full-access enforces nothing, this included", given->option->name);
            return error_hint(error, "leave it out, or choose --mode workspace-write");
        }
    return 0;
}

/* Options that mean nothing with the network in force: what they ask for would not be there. */
static int refuse_network(const struct options *options, const struct policy *policy, struct error *error)
{
    static const struct {
        enum option_kind kind;
        int target;
        bool listed; /* means something with rules only; else with a network of the command's own */
        const char *hint;
    } rows[] = {
        {OPTION_LIST, LIST_ALLOW, true, "leave --network out, or the rule"},
        {OPTION_FLAG, KEY_PROXY_ENV, true, "name what may be reached: --allow RULE"},
        {OPTION_KEY, KEY_UPSTREAM, true, "name what may be reached: --allow RULE"},
        {OPTION_LIST, LIST_FORWARD, false, "leave it out: the host's loopback is the command's own"},
        {OPTION_LIST, LIST_PUBLISH, false, "leave it out: the host's loopback is the command's own"},
    };

    for (size_t i = 0; i < options->given_count; i++)
        for (size_t j = 0; j < ARRAY_SIZE(rows); j++) {
            const struct option_given *given = &options->given[i];

            if (given->option->kind != rows[j].kind || given->option->target != rows[j].target ||
                (rows[j].listed ? policy->network == NETWORK_LISTED : policy->network != NETWORK_HOST))
                continue;
            error_set(error, ERROR_USAGE, EINVAL, "no-such-network",
                      "option --%s: it means nothing with the network %s", given->option->name,
                      network_name(policy->network));
            return error_hint(error, "%s", rows[j].hint);
        }
    return 0;
}

/* The workspace's own file may only narrow. It is read from the workspace that was opened; resolving again
 * must then end at the same one. */
static int narrow(struct confinement *confinement, char *const *env, struct error *error)
{
    struct resolved *resolved = &confinement->resolved;
    size_t files = confinement->policy.files.count;
    struct stat before, after;
    int result;

    if (!resolved->workspace)
        return 0;
    if (fstat(resolved->workspace_fd, &before) != 0)
        return error_set(error, ERROR_INTERNAL, errno, "workspace-lost", "workspace %s: %s",
                         QUOTE(resolved->workspace), strerror(errno));
    result = policy_narrow(&confinement->policy, resolved->workspace_fd, resolved->workspace, error);
    if (result < 0 || confinement->policy.files.count == files)
        return result;
    resolved_free(resolved);
    confinement->has_resolved = false;
    result = resolve_policy(&confinement->policy, env, resolved, error);
    if (result < 0)
        return result;
    confinement->has_resolved = true;
    if (resolved->workspace && fstat(resolved->workspace_fd, &after) == 0 && stat_same(&before, &after))
        return 0;
    return error_set(error, ERROR_POLICY_INVALID, EAGAIN, "path-changed",
                     "the workspace was replaced while its policy was read");
}

/* The keeper has been asked long ago, and has answered while the paths were opened. Of what it says only the
 * network matters to them; it is seldom another one than the policy's. */
static int join_session(struct confinement *confinement, const struct options *options, char *const *env,
                        struct error *error)
{
    struct policy *policy = &confinement->policy;
    enum network network = policy->network;
    int result = session_take(options, &confinement->session, error);

    if (result == 0)
        result = session_fit(confinement->session, policy, error);
    if (result < 0 || policy->network == network)
        return result;
    resolved_free(&confinement->resolved);
    confinement->has_resolved = false;
    result = resolve_policy(policy, env, &confinement->resolved, error);
    confinement->has_resolved = result == 0;
    return result;
}

/* What takes time beside us, while the paths are opened: the namespaces of a start; and an exec will have to
 * know whether there can be any. Root does not know yet as whom. */
static void begin_early(const struct options *options, const struct policy *policy)
{
    bool automatic = !policy->backend || strcmp(policy->backend, "auto") == 0;
    /* A group for these may have to be our own, in which nobody else may be then. */
    bool grouped = policy->limit_memory || policy->limit_processes || policy->limit_cpu_ms;

    if (!(options->command & (FOR_RUN | FOR_EXEC)) || policy->mode == MODE_DANGER_FULL_ACCESS ||
        policy->approved_mode == MODE_DANGER_FULL_ACCESS || geteuid() == 0)
        return;
    if ((automatic || strcmp(policy->backend, "namespace") == 0) && !grouped &&
        !options_value(options, OPTION_OWN, OWN_SESSION))
        forerunner_start(policy->network != NETWORK_HOST);
    if ((options->command & FOR_EXEC) && automatic)
        host_begin_namespaces(getuid(), getgid());
}

int confinement_resolve(struct confinement *confinement, const struct options *options, char *const *env,
                        struct error *error)
{
    struct policy *policy = &confinement->policy;
    int result = policy_init(policy, error);

    policy->explain = options->command & (FOR_POLICY | FOR_FENCE);
    if (result == 0)
        result = policy_load_layers(policy, &options->policies, error);
    if (result == 0)
        result = options_apply(options, policy, error);
    if (result == 0 && options->command & FOR_EXEC)
        result = later_refuse_exec(options, policy, error);
    if (result == 0 && options->command & FOR_RUN)
        result = later_refuse_run(options, policy, error);
    if (result == 0)
        result = refuse_contradiction(options, policy, error);
    if (result == 0 &&
        !options_value(options, OPTION_OWN, OWN_SESSION)) /* which says what network there is */
        result = refuse_network(options, policy, error);
    if (result == 0) {
        begin_early(options, policy);
        result = resolve_policy(policy, env, &confinement->resolved, error);
    }
    if (result < 0)
        return result;
    confinement->has_resolved = true;
    result = join_session(confinement, options, env, error);
    if (result == 0)
        result = narrow(confinement, env, error);
    confinement->resolved.session = confinement->session;
    if (result == 0)
        result = session_fit(confinement->session, policy, error);
    if (result == 0)
        result = session_fit_user(confinement->session, &confinement->resolved, error);
    if (result == 0 && options->command & FOR_EXEC) /* the workspace's file may have added limits */
        result = later_refuse_exec(options, policy, error);
    return result;
}

/* --protect PATH? that the backend cannot hold is no refusal, but it is noted. */
static int note_unprotected(struct confinement *confinement, struct error *error)
{
    const struct entries *entries = &confinement->policy.list[LIST_PROTECT];
    const struct claim *claim = &confinement->plan.claims[SURFACE_FS_PROTECTED];

    if (claim->state == STATE_ENFORCED || claim->state == STATE_ABSENT)
        return 0;
    for (size_t i = 0; i < entries->count; i++)
        if (entries->items[i].optional && entry_in_force(entries, i) &&
            resolved_skip(&confinement->resolved, "--protect", entries->items[i].value,
                          claim->reason ? claim->reason : "not-held") < 0)
            return error_no_memory(error);
    return 0;
}

/* What may stay unhidden is noted when it does. What a set hides may be held in part, but nobody should have
 * to read the report to learn that a key can be read. Where it is named, the backend refused. */
static int note_unhidden(struct confinement *confinement, struct error *error)
{
    struct resolved *resolved = &confinement->resolved;
    const struct unheld *first = NULL;
    char rest[40] = "";
    size_t more = 0;
    int r = 0;

    for (size_t i = 0; i < confinement->plan.unheld_count && r == 0; i++) {
        const struct unheld *unheld = &confinement->plan.unheld[i];
        const struct hidden *hidden = &resolved->hidden[unheld->hidden];

        if (hidden->optional)
            r = resolved_skip(resolved, "--hide", hidden->path, unheld->why);
        if (!hidden->readable || hidden->named)
            continue;
        more += first != NULL;
        first = first ? first : unheld;
    }
    if (more > 0)
        snprintf(rest, sizeof(rest), ", and %zu more", more);
    if (r == 0 && first)
        r = strings_addf(&resolved->warnings, "not-hidden: %s stays readable (%s)%s",
                         QUOTE(resolved->hidden[first->hidden].path), first->why, rest);
    return r < 0 ? error_no_memory(error) : 0;
}

static int choose(struct confinement *confinement, bool supervised, struct error *error)
{
    int result = backend_choose(&confinement->resolved, &confinement->host, supervised, &confinement->plan,
                                &confinement->backend, confinement->tried, &confinement->tried_count, error);

    confinement->has_plan = result == 0;
    if (result == 0)
        result = note_unprotected(confinement, error);
    return result == 0 ? note_unhidden(confinement, error) : result;
}

int confinement_plan(struct confinement *confinement, bool supervised, struct error *error)
{
    host_look(&confinement->host);
    if (supervised && confinement->resolved.observed) {
        host_ask_audit(&confinement->host);
        host_ask_listener(&confinement->host);
    }
    confinement->tried_count = 0;
    return choose(confinement, supervised, error);
}

int confinement_again(struct confinement *confinement, bool supervised, const struct error *failed,
                      struct error *error)
{
    /* A kernel without overlays: masks and the variables of the caches do instead, and the report says so. */
    if (confinement->host.overlays != HOST_NO && failed->structural &&
        strcmp(failed->reason, "no-overlay") == 0)
        confinement->host.overlays = HOST_NO;
    /* bubblewrap masks by name; a socket of somebody else's may have gone meanwhile. Once more without it:
     * each time there is one less. */
    else if (strcmp(failed->reason, "bubblewrap-failed") == 0 &&
             resolved_forget_sockets(&confinement->resolved) > 0)
        ;
    else if (!backend_pass_over(&confinement->resolved, confinement->backend, failed, confinement->tried,
                                &confinement->tried_count))
        return 1;
    plan_free(&confinement->plan);
    confinement->has_plan = false;
    return choose(confinement, supervised, error);
}

void confinement_free(struct confinement *confinement)
{
    if (confinement->has_plan)
        plan_free(&confinement->plan);
    if (confinement->has_resolved)
        resolved_free(&confinement->resolved);
    policy_free(&confinement->policy);
    *confinement = (struct confinement){0};
}
