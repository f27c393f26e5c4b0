/*
 * session.c - `confine session start | list | allow | end`.
 *
 * Should:  say one thing on stdout: the name of what was started, or what there is.
 * Mustn't: leave a session behind that its caller was not told of.
 */
#include "cli/session.h"
#include "cli/cli.h"
#include "cli/confinement.h"

#include "host/host.h"
#include "links/kernel_abi.h"
#include "run/session.h"
#include "util/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* --- start ---------------------------------------------------------------------------------------------- */

/* Limits are a run's, but for the size of what all runs share. */
static int refuse_limits(const struct options *options, struct error *error)
{
    for (size_t i = 0; i < options->given_count; i++) {
        const struct option_given *given = &options->given[i];

        if (given->option->kind != OPTION_LIMIT)
            continue;
        for (const char *word = given->value; word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL)
            if (strncmp(word, "tmp_size=", strlen("tmp_size=")) != 0) {
                error_set(error, ERROR_USAGE, EINVAL, "option-value",
                          "option --limit: %s is a limit of a run, not of a session", QUOTE(word));
                return error_hint(error, "say it with confine run; a session has --limit tmp_size=");
            }
    }
    return 0;
}

static int refuse_policy(const struct confinement *confinement, struct error *error)
{
    const char *backend = confinement->policy.backend;
    int r = session_fit_mode(&confinement->resolved, error);

    if (r < 0)
        return r;
    if (!backend || strcmp(backend, "auto") == 0 || strcmp(backend, "namespace") == 0)
        return 0;
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, ENOSYS, "no-sessions", "the backend %s has no sessions",
              QUOTE(backend));
    return error_hint(error, "only the backend namespace has them");
}

/* Return: the number, or a negative errno with @error. */
static pid_t read_pid(const char *text, struct error *error)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (errno == 0 && *end == '\0' && value > 0 && value <= INT_MAX)
        return (pid_t)value;
    error_set(error, ERROR_USAGE, EINVAL, "option-value", "option --owner: %s is no process", QUOTE(text));
    return error_hint(error, "give the number of one, such as $$ of a shell");
}

/*
 * Holds on to whom the session ends with: the process that is named, or the one that started us. It may end,
 * and its number be another's, until it is held; our parent is looked at again.
 */
static int hold_owner(const struct options *options, pid_t parent, pid_t *ret_pid, int *ret_fd,
                      struct error *error)
{
    const char *named = options_value(options, OPTION_OWN, OWN_OWNER);
    pid_t pid = named ? read_pid(named, error) : parent;
    int fd;

    if (pid < 0)
        return pid;
    fd = pid == 0 ? -ESRCH : (int)kernel_call(SYS_pidfd_open, pid, 0, 0, 0, 0, 0);
    if (fd >= 0 && !named && getppid() != parent) {
        fd_close(fd);
        fd = -ESRCH;
    }
    if (fd < 0) {
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, -fd, "no-owner",
                  named ? "option --owner: process %d: %s" : "the process that started confine (%d): %s", pid,
                  strerror(-fd));
        return error_hint(error, "a session ends with its owner: name one that lives with --owner PID");
    }
    *ret_pid = pid;
    *ret_fd = fd;
    return 0;
}

/* No run of it could begin. */
static int refuse_host(struct error *error)
{
    struct host host;

    host_look(&host);
    return host_refuse_tmp(&host, error);
}

static int start(const char *name, const struct options *options, char **envp, pid_t parent,
                 struct error *error)
{
    static struct confinement confinement;
    struct session_place place = SESSION_PLACE_NONE;
    _cleanup_fd_ int owner = -1;
    struct text text = {0};
    pid_t owner_pid = 0;
    int confirm = -1, status;
    int r = refuse_limits(options, error);

    if (r == 0)
        r = session_check_name(name, error);
    if (r == 0)
        r = hold_owner(options, parent, &owner_pid, &owner, error);
    if (r == 0)
        r = confinement_resolve(&confinement, options, envp, error);
    if (r == 0)
        r = refuse_policy(&confinement, error);
    if (r == 0)
        r = refuse_host(error);
    if (r == 0)
        r = session_open_place(&place, envp, SESSION_PLACE_START, error);
    if (r == 0)
        r = session_start(&place, name, &confinement.resolved, owner, owner_pid, &confirm, error);
    fd_close(place.fd);
    if (r < 0)
        return cli_fail(error);
    text_addf(&text, "%s\n", name);
    status = cli_print(&text);
    if (status != 0) { /* nobody knows of it, so it is not to be */
        fd_close(confirm);
        return status;
    }
    r = session_confirm(confirm);
    if (r < 0) {
        error_set(error, ERROR_INTERNAL, -r, "keeper-lost", "session %s: its keeper has ended", name);
        return cli_fail(error);
    }
    return 0;
}

/* --- list ----------------------------------------------------------------------------------------------- */

static const char *network_word(const struct session_facts *facts)
{
    static const char *const networks[] = {
        [NETWORK_NONE] = "none", [NETWORK_LISTED] = "listed", [NETWORK_HOST] = "host"};

    return facts->network < ARRAY_SIZE(networks) ? networks[facts->network] : NULL;
}

static void write_entry(const struct session_entry *entry, const struct session_process *processes,
                        size_t count, struct writer *writer)
{
    const struct session_facts *facts = &entry->facts;
    time_t started = (time_t)facts->started;
    char stamp[32] = "";
    struct tm tm;

    if (gmtime_r(&started, &tm))
        strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", &tm);
    writer_object(writer, NULL);
    writer_text(writer, "name", entry->name);
    writer_integer(writer, "owner", facts->owner);
    writer_integer(writer, "uid", facts->uid);
    writer_text(writer, "started", stamp);
    writer_integer(writer, "age_s", facts->age);
    writer_text(writer, "network", network_word(facts));
    if (facts->tmp_size)
        writer_integer(writer, "tmp_size", (int64_t)facts->tmp_size);
    else
        writer_null(writer, "tmp_size");
    writer_array(writer, "published");
    for (size_t i = 0; i < facts->published_count && i < SESSION_PUBLISHED; i++) {
        writer_object(writer, NULL);
        writer_integer(writer, "port", facts->published[i].host);
        writer_integer(writer, "inside", facts->published[i].inside);
        writer_end(writer);
    }
    writer_end(writer);
    writer_bool(writer, "published_lost", facts->published_count > 0 && facts->lost);
    writer_array(writer, "processes");
    for (size_t i = 0; i < count; i++) {
        writer_object(writer, NULL);
        writer_integer(writer, "pid", processes[i].pid);
        writer_integer(writer, "inner_pid", processes[i].inner);
        writer_path(writer, "name", processes[i].name);
        writer_end(writer);
    }
    writer_end(writer);
    writer_end(writer);
}

static void print_entry(const struct session_entry *entry, const struct session_process *processes,
                        size_t count, struct text *text)
{
    const char *network = network_word(&entry->facts);

    text_addf(text, "%s: owner %lld, age %lld s, network %s, %zu process%s\n", entry->name,
              (long long)entry->facts.owner, (long long)entry->facts.age, network ? network : "?", count,
              count == 1 ? "" : "es");
    for (size_t i = 0; i < entry->facts.published_count && i < SESSION_PUBLISHED; i++)
        text_addf(text,
                  entry->facts.lost
                      ? "  port %u is lost: what led to %u inside has ended; start the session anew\n"
                      : "  port %u leads to %u inside\n",
                  entry->facts.published[i].host, entry->facts.published[i].inside);
    for (size_t i = 0; i < count; i++)
        text_addf(text, "  %d %s\n", (int)processes[i].pid, QUOTE(processes[i].name));
}

/* What does not answer is there nevertheless, and so may be what runs in it. Return: 0, or the status. */
static int tell_silent(const struct session_entry *entries, size_t count)
{
    int status = 0;

    for (size_t i = 0; i < count; i++)
        if (entries[i].why.code != ERROR_NONE)
            status = cli_fail(&entries[i].why);
    return status;
}

static int list(const struct options *options, char **envp, struct error *error)
{
    struct session_place place = SESSION_PLACE_NONE;
    struct session_entry *entries = NULL;
    struct writer writer = {0};
    struct text text = {0};
    size_t count = 0;
    int r = session_open_place(&place, envp, SESSION_PLACE_LOOK, error);

    if (r == 0)
        r = session_list(&place, &entries, &count, error);
    fd_close(place.fd);
    if (r < 0)
        return cli_fail_json(error, options->json);
    writer_object(&writer, NULL);
    writer_text(&writer, "schema", "confine/sessions/1");
    writer_array(&writer, "sessions");
    for (size_t i = 0; i < count; i++) {
        struct session_process *processes;
        size_t processes_count;

        if (entries[i].why.code != ERROR_NONE)
            continue;
        r = session_processes(&entries[i].facts, &processes, &processes_count);
        if (r < 0) {
            error_set(error, ERROR_INTERNAL, -r, "no-proc", "the processes of session %s: %s",
                      entries[i].name, strerror(-r));
            break;
        }
        write_entry(&entries[i], processes, processes_count, &writer);
        print_entry(&entries[i], processes, processes_count, &text);
        free(processes);
    }
    writer_end(&writer);
    writer_array(&writer, "silent");
    for (size_t i = 0; i < count; i++)
        if (entries[i].why.code != ERROR_NONE)
            writer_text(&writer, NULL, entries[i].name);
    writer_end(&writer);
    writer_end(&writer);
    text_add(&writer.text, "\n");
    if (r == 0)
        r = cli_print(options->json ? &writer.text : &text) ?: tell_silent(entries, count);
    else
        r = cli_fail_json(error, options->json);
    free(entries);
    text_free(&writer.text);
    text_free(&text);
    return r;
}

/* --- end ------------------------------------------------------------------------------------------------ */

static int end(const char *name, char **envp, struct error *error)
{
    struct session_place place = SESSION_PLACE_NONE;
    int r = session_check_name(name, error);

    if (r == 0)
        r = session_open_place(&place, envp, SESSION_PLACE_LOOK, error);
    if (r == 0)
        r = session_end(&place, name, error);
    fd_close(place.fd);
    return r < 0 ? cli_fail(error) : 0;
}

/* --- allow ---------------------------------------------------------------------------------------------- */

static int allow(const char *name, char *const *rules, size_t count, char **envp, struct error *error)
{
    struct session_place place = SESSION_PLACE_NONE;
    struct text rule = {0};
    int r = session_check_name(name, error);

    if (r == 0 && count == 0) {
        r = error_set(error, ERROR_USAGE, EINVAL, "missing-rule", "session allow: the rule is missing");
        error_hint(error, "confine session allow %s RULE, as --allow takes it", name);
    }
    if (r == 0)
        r = session_open_place(&place, envp, SESSION_PLACE_LOOK, error);
    for (size_t i = 0; r == 0 && i < count; i++) {
        r = policy_read_rule(rules[i], "bad-rule", &rule, error);
        if (r == 0)
            r = session_allow(&place, name, rule.data, error);
        text_free(&rule);
    }
    fd_close(place.fd);
    return r < 0 ? cli_fail(error) : 0;
}

/* --- the command ---------------------------------------------------------------------------------------- */

enum verb { VERB_NONE = 0, VERB_START, VERB_LIST, VERB_ALLOW, VERB_END };

static const struct {
    const char *name;
    unsigned bit;
    bool named; /* the name of a session follows */
    bool words; /* and what else is said of it, in words that are no options */
} verbs[] = {
    [VERB_START] = {"start", FOR_SESSION_START, true, false},
    [VERB_LIST] = {"list", FOR_SESSION_LIST, false, false},
    [VERB_ALLOW] = {"allow", FOR_SESSION_ALLOW, true, true},
    [VERB_END] = {"end", FOR_SESSION_END, true, false},
};

static int fail_verb(const char *word)
{
    struct error error = {0};

    error_set(&error, ERROR_USAGE, EINVAL, "missing-verb",
              word ? "%s: confine session knows no such word" : "%s: start, list, allow or end is missing",
              word ? QUOTE(word) : "session");
    error_hint(&error,
               "confine session start NAME [OPTIONS] | list [--json] | allow NAME RULE... | end NAME");
    return cli_fail(&error);
}

static int fail_name(enum verb verb, const char *word)
{
    struct error error = {0};

    error_set(&error, ERROR_USAGE, EINVAL, "missing-name",
              "session %s: the name of a session must follow%s%s", verbs[verb].name, word ? ", before " : "",
              word ? QUOTE(word) : "");
    error_hint(&error, "confine session %s NAME", verbs[verb].name);
    return cli_fail(&error);
}

static int print_help(void)
{
    struct text text = {0};

    help_command(command_by_name("session"), &text);
    return cli_print(&text);
}

int command_session(char **argv, char **envp)
{
    static struct options options;
    pid_t parent = getppid(); /* first: what started us may end meanwhile */
    struct error error = {0};
    enum verb verb = VERB_START;
    const char *name = NULL;
    size_t at = 1, words = 0;
    int r;

    if (argv[0] && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0))
        return print_help();
    while (argv[0] && verb < ARRAY_SIZE(verbs) && strcmp(verbs[verb].name, argv[0]) != 0)
        verb++;
    if (!argv[0] || verb == ARRAY_SIZE(verbs))
        return fail_verb(argv[0]);
    if (verbs[verb].named && argv[1] && argv[1][0] != '-')
        name = argv[at++];
    while (name && verbs[verb].words && argv[at + words] && argv[at + words][0] != '-')
        words++;
    r = options_parse(&options, "session", verbs[verb].bit, argv + at + words, &error);
    if (r == 0 && options.help)
        return print_help();
    /* A word behind the options is most likely the name. */
    if (verbs[verb].named && !name && (r == 0 || strcmp(error.reason, "unexpected-word") == 0))
        return fail_name(verb, argv[1]);
    if (r < 0)
        return cli_fail_json(&error, options.json);
    if (verb == VERB_START)
        return start(name, &options, envp, parent, &error);
    if (verb == VERB_ALLOW)
        return allow(name, argv + at, words, envp, &error);
    return verb == VERB_LIST ? list(&options, envp, &error) : end(name, envp, &error);
}
