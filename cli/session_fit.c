/*
 * session_fit.c - what of a run's policy is the session's to say.
 *
 * Should:  refuse in one line what was named and differs: a run that silently got another network or another
 *          size than it asked for would be a lie.
 * Mustn't: refuse what merely is a default: it takes what the session has.
 */
#include "cli/session.h"

#include "run/session.h"

#include <errno.h>

static const char *const network_names[] = {
    [NETWORK_NONE] = "none", [NETWORK_LISTED] = "listed", [NETWORK_HOST] = "host"};

/* `option --network`, or the file that says it. */
static const char *describe(struct origin origin, char *buffer, size_t size)
{
    if (origin.file)
        snprintf(buffer, size, "%s:%d", QUOTE(origin.file), origin.line);
    else
        snprintf(buffer, size, "option %s", origin.option ? origin.option : "?");
    return buffer;
}

/* Mustn't: be taken for what the machine cannot do, after which other backends would be tried. */
static int refuse(const struct session *session, struct origin origin, const char *what, const char *has,
                  const char *hint, struct error *error)
{
    char where[600];

    error_set(error, ERROR_SANDBOX_UNAVAILABLE, EINVAL, "session-decides", "%s: %s of session %s is %s",
              describe(origin, where, sizeof(where)), what, session->name, has);
    return error_hint(error, "%s", hint);
}

static bool has_decided(const struct session *session, enum list list, const char *value)
{
    const uint64_t decision = session_decision(list, value);

    for (size_t i = 0; i < SESSION_DECIDED && session->decided[i]; i++)
        if (session->decided[i] == decision)
            return true;
    return false;
}

/* A file's, which the session was not started with. */
static int refuse_undecided(const struct session *session, enum list list, const struct entry *entry,
                            struct error *error)
{
    char where[600];

    error_set(error, ERROR_SANDBOX_UNAVAILABLE, EINVAL, "session-decides",
              "%s: the network of session %s does not have %s", describe(entry->origin, where, sizeof(where)),
              session->name, QUOTE(entry->value));
    return list == LIST_ALLOW && session->network == NETWORK_LISTED
               ? error_hint(error, "confine session allow %s %s, or start the session with the same policy",
                            session->name, QUOTE(entry->value))
               : error_hint(error, "start the session with the same policy");
}

/* An option's, also what the session has: it would look like one of this run alone. */
static int refuse_option(const struct session *session, enum list list, const struct entry *entry,
                         struct error *error)
{
    refuse(session, entry->origin, "what is reached by the network", "decided", "", error);
    if (list == LIST_ALLOW && session->network == NETWORK_LISTED)
        return error_hint(error, "for all of its runs: confine session allow %s %s; leave it out here",
                          session->name, QUOTE(entry->value));
    return error_hint(error, "say %s at confine session start; leave it out here", entry->origin.option);
}

static int refuse_sessionless(struct origin origin, struct error *error)
{
    char where[600];

    error_set(error, ERROR_SANDBOX_UNAVAILABLE, EINVAL, "no-session",
              "%s: the temp directory of a session, and there is no session",
              describe(origin, where, sizeof(where)));
    return error_hint(error, "say --session NAME with confine run, or use --tmp private");
}

/* A file's `proxy_env` stands there for all runs, so it is no reason to refuse one that goes without. */
static int tell_without_proxy(const struct session *session, struct policy *policy)
{
    char where[600];

    if (!policy->proxy_env || session->network != NETWORK_LISTED)
        return 0;
    return strings_addf(&policy->warnings,
                        "no-proxy-env: %s: session %s has no proxy, so no variables for one are set",
                        describe(policy->origin[KEY_PROXY_ENV], where, sizeof(where)), session->name);
}

int session_fit(const struct session *session, struct policy *policy, struct error *error)
{
    static const enum list lists[] = {LIST_ALLOW, LIST_FORWARD, LIST_PUBLISH};
    static const struct {
        enum key key;
        const char *hint;
    } ways[] = {{KEY_PROXY_ENV, "a session has no proxy; leave it out, or run without --session"},
                {KEY_UPSTREAM, "say --upstream at confine session start; leave it out here"}};
    char size[40];

    if (!session)
        return policy->tmp == TMP_SESSION ? refuse_sessionless(policy->origin[KEY_TMP], error) : 0;
    if (origin_named(policy->origin[KEY_NETWORK]) && policy->network != session->network)
        return refuse(session, policy->origin[KEY_NETWORK], "the network", network_names[session->network],
                      "the network is chosen at confine session start; leave it out here", error);
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        for (size_t k = 0; k < policy->list[lists[i]].count; k++) {
            const struct entry *entry = &policy->list[lists[i]].items[k];

            if (entry->origin.layer == LAYER_OPTION)
                return refuse_option(session, lists[i], entry, error);
            if (entry_in_force(&policy->list[lists[i]], k) && !has_decided(session, lists[i], entry->value))
                return refuse_undecided(session, lists[i], entry, error);
        }
    if (policy->upstream && policy->origin[KEY_UPSTREAM].layer != LAYER_OPTION &&
        !has_decided(session, LIST_COUNT, policy->upstream))
        return refuse(session, policy->origin[KEY_UPSTREAM], "the way into the network", "another one",
                      "start the session with the same policy", error);
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
        if (policy->origin[ways[i].key].layer == LAYER_OPTION)
            return refuse(session, policy->origin[ways[i].key], "the way into the network", "decided",
                          ways[i].hint, error);
    if (policy->limit_tmp_size && policy->limit_tmp_size != session->tmp_size) {
        snprintf(size, sizeof(size), session->tmp_size ? "%llu bytes" : "not limited",
                 (unsigned long long)session->tmp_size);
        return refuse(session, policy->origin[KEY_LIMIT_TMP_SIZE], "the size of the temp directory", size,
                      "it is chosen at confine session start; leave it out here", error);
    }
    if (policy->wait_all)
        return refuse(session, policy->origin[KEY_WAIT_ALL], "the end", "when everything left behind ends",
                      "in a session it lives on: leave --wait-all out", error);
    if (tell_without_proxy(session, policy) < 0)
        return error_no_memory(error);
    policy->network = session->network;
    policy->limit_tmp_size = session->tmp_size;
    if (!origin_named(policy->origin[KEY_TMP]))
        policy->tmp = TMP_SESSION;
    return 0;
}

int session_fit_mode(const struct resolved *resolved, struct error *error)
{
    if (resolved->mode != MODE_DANGER_FULL_ACCESS)
        return 0;
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, EINVAL, "no-sessions",
              "danger-full-access confines nothing, and a session is made of namespaces");
    return error_hint(error, "choose another mode");
}

int session_fit_user(const struct session *session, const struct resolved *resolved, struct error *error)
{
    if (!session || (session->uid == resolved->uid && session->gid == resolved->gid))
        return 0;
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, EPERM, "session-user",
              "session %s is user %u's (group %u), and the command would run as user %u (group %u)",
              session->name, (unsigned)session->uid, (unsigned)session->gid, (unsigned)resolved->uid,
              (unsigned)resolved->gid);
    return error_hint(error, "say --user for both, or the same workspace");
}

static int connection = -1; /* to the keeper, that has been asked */
static struct session taken = {.told = -1};

int session_take_early(const struct options *options, char *const *env, struct error *error)
{
    struct session_place place = SESSION_PLACE_NONE;
    const char *name = options_value(options, OPTION_OWN, OWN_SESSION);
    int r;

    if (!name)
        return 0;
    r = session_check_name(name, error);
    if (r == 0)
        r = session_open_place(&place, env, SESSION_PLACE_JOIN, error);
    if (r == 0)
        r = connection = session_ask(&place, name, error);
    fd_close(place.fd);
    return r < 0 ? r : 0;
}

int session_take(const struct options *options, const struct session **ret_session, struct error *error)
{
    int r;

    *ret_session = NULL;
    if (connection < 0)
        return 0;
    r = session_join(connection, options_value(options, OPTION_OWN, OWN_SESSION), &taken, error);
    connection = -1;
    if (r == 0)
        *ret_session = &taken;
    return r;
}

void session_give_back(void)
{
    connection = fd_close(connection);
    if (taken.name)
        session_leave(&taken);
    taken = (struct session){.told = -1};
}
