/*
 * options.c - one table for every command; help, manual test and parser come from it.
 */
#include "cli/options.h"

#include "plan/plan_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char policy_group[] = "Policy";
static const char file_group[] = "Files";
static const char network_group[] = "Network";
static const char confinement_group[] = "Confinement";
static const char environment_group[] = "Environment";
static const char limit_group[] = "Limits and the end of a run";
static const char battery_group[] = "Attempts";
static const char output_group[] = "Output";

const struct option option_table[] = {
    {"mode", 'm', "MODE", OPTION_KEY, KEY_MODE, FOR_ALL, policy_group,
     "file effects: read-only, workspace-write or danger-full-access"},
    {"workspace", 'w', "DIR", OPTION_KEY, KEY_WORKSPACE, FOR_ALL | FOR_SESSION_START, policy_group,
     "the writable root (implies workspace-write); @git is the top of the repository"},
    {"chdir", 'C', "DIR", OPTION_KEY, KEY_CHDIR, FOR_ALL, policy_group, "start directory"},
    {"policy", 0, "FILE|NAME|fd:N", OPTION_OWN, OWN_POLICY, FOR_ALL | FOR_SESSION_START, policy_group,
     "add a policy file; NAME is ~/.config/confine/NAME.json; repeatable"},
    {"approved-mode", 0, "MODE", OPTION_KEY, KEY_APPROVED_MODE, FOR_ALL, policy_group,
     "the wider mode that a person approved for this one call"},
    {"read", 0, "PATH", OPTION_LIST, LIST_READ, FOR_ALL, file_group, "readable as well"},
    {"readable", 0, "all|listed", OPTION_KEY, KEY_READABLE, FOR_ALL, file_group,
     "listed: only @system, the workspace and --read"},
    {"write", 0, "PATH", OPTION_LIST, LIST_WRITE, FOR_ALL, file_group, "writable as well"},
    {"hide", 0, "PATH", OPTION_LIST, LIST_HIDE, FOR_ALL, file_group, "not readable"},
    {"show", 0, "PATH", OPTION_LIST, LIST_SHOW, FOR_ALL, file_group, "take a path out of the hidden set"},
    {"protect", 0, "PATH", OPTION_LIST, LIST_PROTECT, FOR_ALL, file_group,
     "read-only inside a writable tree; landlock cannot hold it"},
    {"unprotect", 0, "PATH", OPTION_LIST, LIST_UNPROTECT, FOR_ALL, file_group,
     "take a path out of the protected set"},
    {"socket", 0, "PATH", OPTION_LIST, LIST_SOCKETS, FOR_ALL, file_group,
     "one pathname socket outside may be reached; @ssh-agent, @gpg-agent"},
    {"caches", 0, "private|host|off", OPTION_KEY, KEY_CACHES, FOR_ALL, file_group, "tool caches under home"},
    {"tmp", 0, "private|session|DIR", OPTION_KEY, KEY_TMP, FOR_ALL, file_group,
     "the temp directory; session is the one that a session's runs share"},
    {"device", 0, "PATH", OPTION_LIST, LIST_DEVICES, FOR_ALL, file_group, "a device node that may be used"},
    {"network", 'n', "none|listed|host", OPTION_KEY, KEY_NETWORK, FOR_ALL | FOR_SESSION_START, network_group,
     "what network the command has: none unless said; listed is what --allow names; host is all"},
    {"allow", 0, "RULE", OPTION_LIST, LIST_ALLOW, FOR_ALL | FOR_SESSION_START, network_group,
     "what may be reached: NAME[:PORT,...], *.NAME[:...], ADDRESS[/BITS]:PORT, private:NAME[:...]"},
    {"proxy-env", 0, NULL, OPTION_FLAG, KEY_PROXY_ENV, FOR_ALL, network_group,
     "proxy variables for tools that insist on them; with --allow"},
    {"upstream", 0, "URL", OPTION_KEY, KEY_UPSTREAM, FOR_ALL | FOR_SESSION_START, network_group,
     "the proxy that leads to the hosts of --allow: http://[USER:PASSWORD@]HOST:PORT"},
    {"forward", 0, "PORT[:INSIDE]", OPTION_LIST, LIST_FORWARD, FOR_ALL | FOR_SESSION_START, network_group,
     "a service on the host's loopback, reachable on the loopback inside"},
    {"publish", 0, "PORT[:INSIDE]", OPTION_LIST, LIST_PUBLISH, FOR_ALL | FOR_SESSION_START, network_group,
     "a port of the host's loopback that leads to a server inside"},
    {"backend", 'b', "NAME", OPTION_KEY, KEY_BACKEND, FOR_ALL | FOR_PROBE | FOR_SESSION_START,
     confinement_group, "auto, or one by name"},
    {"open", 0, "SURFACE[,...]", OPTION_WORDS, LIST_OPEN, FOR_ALL, confinement_group,
     "leave a surface open on purpose"},
    {"require", 0, "full|GROUP|SURFACE[,...]", OPTION_WORDS, LIST_REQUIRE, FOR_ALL, confinement_group,
     "refuse to run unless these are enforced and shown"},
    {"session", 0, "NAME", OPTION_OWN, OWN_SESSION, FOR_RUN | FOR_EXEC | FOR_MCP, confinement_group,
     "run in a session: its network, processes and /tmp are shared with its other runs"},
    {"owner", 0, "PID", OPTION_OWN, OWN_OWNER, FOR_SESSION_START, confinement_group,
     "the session ends with this process; the one that started confine unless said"},
    {"user", 0, "keep|owner|UID", OPTION_KEY, KEY_USER, FOR_ALL | FOR_SESSION_START, confinement_group,
     "for a root caller: whom the command runs as; owner of the workspace unless said"},
    {"env", 0, "NAME[=VALUE]", OPTION_ENV, 0, FOR_ALL, environment_group,
     "pass a variable that looks like a secret, or set one"},
    {"unset-env", 0, "NAME", OPTION_LIST, LIST_ENV_UNSET, FOR_ALL, environment_group, "take a variable away"},
    {"clean-env", 0, NULL, OPTION_FLAG, KEY_ENV_CLEAN, FOR_ALL, environment_group,
     "start from PATH, HOME, LANG and the like alone"},
    {"pass-fd", 0, "N", OPTION_LIST, LIST_PASS_FD, FOR_ALL, environment_group,
     "one more descriptor for the command"},
    {"tty", 0, "auto|private|inherit|none", OPTION_KEY, KEY_TTY, FOR_ALL, environment_group,
     "what terminal the command has: its own, the caller's (exec only), none"},
    {"size", 0, "COLSxROWS", OPTION_KEY, KEY_SIZE, FOR_ALL, environment_group, "size of its own terminal"},
    {"timeout", 0, "DURATION", OPTION_KEY, KEY_LIMIT_TIME, FOR_ALL, limit_group,
     "end the run after this time; the same as --limit time="},
    {"limit", 0, "KEY=VALUE[,...]", OPTION_LIMIT, 0, FOR_ALL | FOR_SESSION_START, limit_group,
     "time, memory, processes, output, file_size, tmp_size or cpu, of all that the command starts"},
    {"grace", 0, "DURATION", OPTION_KEY, KEY_GRACE, FOR_ALL, limit_group,
     "between SIGTERM and SIGKILL; 3s unless said"},
    {"wait-all", 0, NULL, OPTION_FLAG, KEY_WAIT_ALL, FOR_ALL, limit_group,
     "wait until everything has ended instead of killing what is left"},
    {"all", 0, NULL, OPTION_OWN, OWN_BACKENDS, FOR_CHECK, battery_group,
     "every backend that auto would try, side by side"},
    {"only", 0, "GLOB", OPTION_OWN, OWN_ONLY, FOR_CHECK, battery_group,
     "the attempts whose id, group or surface matches"},
    {"list", 0, NULL, OPTION_OWN, OWN_LIST, FOR_CHECK, battery_group, "explain each attempt, and try none"},
    {"verify", 0, NULL, OPTION_OWN, OWN_VERIFY, FOR_LEARN, output_group,
     "run again under what is proposed, until nothing more is refused"},
    {"report", 0, "FILE|fd:N", OPTION_OWN, OWN_REPORT, FOR_ONE, output_group,
     "write the report there, one JSON object"},
    {"control", 0, "fd:N|unix:PATH", OPTION_OWN, OWN_CONTROL, FOR_ONE, output_group,
     "JSON lines both ways while the command runs, over a socket"},
    {"denials", 0, "auto|on|reads|off", OPTION_KEY, KEY_DENIALS, FOR_ALL, output_group,
     "the observer of refusals: auto is where somebody will see them; reads looks at reading what is hidden, "
     "too"},
    {"ask", 0, "DURATION", OPTION_KEY, KEY_ASK, FOR_RUN, output_group,
     "hold what is refused for so long, and ask over --control"},
    {"planted", 0, "report|quarantine", OPTION_KEY, KEY_PLANTED, FOR_ALL, output_group,
     "what to do about things written that run later outside"},
    {"html", 0, "FILE|fd:N", OPTION_OWN, OWN_HTML, FOR_CHECK, output_group,
     "write a page about all of it there, for a browser"},
    {"json", 0, NULL, OPTION_OWN, OWN_JSON, FOR_PLAN | FOR_POLICY | FOR_PROBE | FOR_SESSION_LIST | FOR_CHECK,
     output_group, "one JSON object on stdout"},
    {"from-srt", 0, "FILE", OPTION_OWN, OWN_FROM_SRT, FOR_POLICY, output_group,
     "print the settings of the sandbox-runtime as a policy"},
    {"from-codex", 0, "FILE", OPTION_OWN, OWN_FROM_CODEX, FOR_POLICY, output_group,
     "print the settings of codex (config.toml) as a policy, and what has no equal"},
    {"quiet", 'q', NULL, OPTION_OWN, OWN_QUIET, FOR_ALL, output_group, "no lines for people but errors"},
    {"verbose", 'v', NULL, OPTION_OWN, OWN_VERBOSE, FOR_ALL, output_group, "everything for people"},
    {"help", 'h', NULL, OPTION_OWN, OWN_HELP, FOR_ALL | FOR_PROBE | FOR_SESSION, output_group, "this text"},
    {0},
};

const struct option *option_by_name(const char *name, size_t length, unsigned command)
{
    for (const struct option *option = option_table; option->name; option++)
        if (option->commands & command && strlen(option->name) == length &&
            memcmp(option->name, name, length) == 0)
            return option;
    return NULL;
}

const struct option *option_by_letter(char letter, unsigned command)
{
    for (const struct option *option = option_table; option->name; option++)
        if (option->letter && option->letter == letter && option->commands & command)
            return option;
    return NULL;
}

/* The line as it should have been, for a command that stands where an option could. */
static int fail_dashes(const struct options *options, char **argv, size_t at, struct error *error)
{
    struct text line = {0};

    text_addf(&line, "confine %s", options->name);
    for (size_t i = 0; argv[i]; i++) {
        bool dashes = strcmp(argv[i], "--") == 0;

        if (i == at)
            text_add(&line, " --");
        if (i >= at && dashes)
            continue;
        text_add(&line, " ");
        shell_quote(&line, argv[i]);
    }
    error_set(error, ERROR_USAGE, EINVAL, "missing-dashes", "%s: `--` must stand before the command",
              QUOTE(argv[at]));
    if (!line.failed)
        error_hint(error, "%s", line.data);
    text_free(&line);
    return -EINVAL;
}

/* Keeps the first error: later ones come from its consequences. */
static struct error *first_error(struct error *error, struct error *spare)
{
    return error->code == ERROR_NONE ? error : spare;
}

static int store_own(struct options *options, const struct option *option, const char *value)
{
    switch (option->target) {
    case OWN_REPORT:
        options->report = value;
        return 0;
    case OWN_CONTROL:
        options->control = value;
        return 0;
    case OWN_POLICY:
        return strings_add(&options->policies, value);
    case OWN_QUIET:
        options->verbosity = -1;
        return 0;
    case OWN_VERBOSE:
        options->verbosity = 1;
        return 0;
    case OWN_JSON:
        options->json = true;
        return 0;
    case OWN_HELP:
        options->help = true;
        return 0;
    default:
        return 0; /* looked up where it matters, by options_value() */
    }
}

/* Reads one option at argv[*at] and moves *at past it. */
static int take_option(struct options *options, char **argv, size_t *at, struct error *error)
{
    const char *word = argv[*at], *value = NULL, *equals = NULL;
    const struct option *option;

    *at += 1;
    if (word[1] == '-') {
        equals = strchr(word, '=');
        option = option_by_name(word + 2, equals ? (size_t)(equals - word - 2) : strlen(word + 2),
                                options->command);
    } else {
        option = word[1] && !word[2] ? option_by_letter(word[1], options->command) : NULL;
    }
    if (!option)
        return options_unknown(options, word, error);
    if (!option->value && equals) {
        error_set(error, ERROR_USAGE, EINVAL, "option-value", "option --%s: it takes no value", option->name);
        return error_hint(error, "write --%s", option->name);
    }
    if (option->value && equals) {
        value = equals + 1;
    } else if (option->value) {
        value = argv[*at];
        /* A forgotten value must not swallow `--` or the next option. */
        if (!value || value[0] == '-') {
            error_set(error, ERROR_USAGE, EINVAL, "option-value", "option --%s: a value must follow",
                      option->name);
            if (value && strcmp(value, "-") == 0 && strstr(option->value, "fd:N"))
                return error_hint(error, "stdout is fd:1; write --%s=- for a file of that name",
                                  option->name);
            if (value && strcmp(value, "--") != 0)
                return error_hint(error, "write --%s=%s if that is the value", option->name, QUOTE(value));
            return error_hint(error, "write --%s %s", option->name, option->value);
        }
        *at += 1;
    }
    if (option->value && !*value) {
        error_set(error, ERROR_USAGE, EINVAL, "option-value", "option --%s: the value is empty",
                  option->name);
        return error_hint(error, "write --%s %s, or leave it out", option->name, option->value);
    }
    options->given[options->given_count++] = (struct option_given){option, value};
    if (option->kind == OPTION_OWN && store_own(options, option, value) < 0)
        return error_no_memory(error);
    return 0;
}

/* What stands behind the options: `--` and a command, or the paths of `policy`, or nothing. */
static int take_rest(struct options *options, char **argv, size_t at, struct error *error)
{
    bool command = options->command & (FOR_RUN | FOR_EXEC | FOR_PLAN | FOR_LEARN);

    if (argv[at] && strcmp(argv[at], "--") == 0)
        at++;
    else if (argv[at] && command)
        return fail_dashes(options, argv, at, error);
    else if (command && !options->help) {
        error_set(error, ERROR_USAGE, EINVAL, "missing-command", "%s: `--` and a command are missing",
                  options->name);
        return error_hint(error, "confine %s [OPTIONS] -- COMMAND [ARG]...", options->name);
    }
    if (argv[at]) {
        if (options->command & (FOR_PROBE | FOR_SESSION | FOR_CHECK | FOR_FENCE | FOR_MCP)) {
            error_set(error, ERROR_USAGE, EINVAL, "unexpected-word", "%s: confine %s takes no such word",
                      QUOTE(argv[at]), options->name);
            return error_hint(error, "see: confine help %s", options->name);
        }
        options->argv = argv + at;
        if (!command || *argv[at])
            return 0;
        error_set(error, ERROR_USAGE, EINVAL, "missing-command", "%s: the command's name is empty",
                  options->name);
        return error_hint(error, "confine %s [OPTIONS] -- COMMAND [ARG]...", options->name);
    }
    if (!command || options->help)
        return 0;
    error_set(error, ERROR_USAGE, EINVAL, "missing-command", "%s: no command stands after `--`",
              options->name);
    return error_hint(error, "confine %s [OPTIONS] -- COMMAND [ARG]...", options->name);
}

int options_parse(struct options *options, const char *name, unsigned bit, char **argv, struct error *error)
{
    struct error spare = {0};
    size_t at = 0, count = 0;
    int result = 0, step;

    while (argv[count])
        count++;
    *options = (struct options){.name = name, .command = bit};
    options->given = calloc(count + 1, sizeof(*options->given));
    if (!options->given)
        return error_no_memory(error);
    while (argv[at] && argv[at][0] == '-' && argv[at][1] && strcmp(argv[at], "--") != 0) {
        step = take_option(options, argv, &at, first_error(error, &spare));
        result = result ? result : step;
    }
    step = take_rest(options, argv, at, first_error(error, &spare));
    return result ? result : step;
}

void options_free(struct options *options)
{
    free(options->given);
    strings_free(&options->policies);
    *options = (struct options){0};
}

const char *options_value(const struct options *options, enum option_kind kind, int target)
{
    const char *value = NULL;

    for (size_t i = 0; i < options->given_count; i++)
        if (options->given[i].option->kind == kind && options->given[i].option->target == target)
            value = options->given[i].value ? options->given[i].value : "true";
    return value;
}
