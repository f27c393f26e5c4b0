/*
 * mcp.c - `confine mcp`.
 *
 * With a session, the server begins it, as its owner, and ends it: what one call leaves running is there for
 * the next, and for nobody afterwards. Then the options that say what all runs of a session share go to its
 * start, and the others to each run.
 *
 * Should:  refuse options that no run could have, before the first message.
 * Mustn't: use a session that it has not begun: it would end what is somebody else's.
 */
#include "cli/cli.h"
#include "cli/confinement.h"
#include "cli/session.h"

#include "kernel/program.h"
#include "mcp/mcp.h"
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Who takes an option of the server. */
enum taker { BY_RUNS = 1 << 0, BY_SESSION = 1 << 1 };

static unsigned takers(const struct option *option)
{
    static const char *const both[] = {"workspace", "user", "backend", "policy"};

    if (!(option->commands & FOR_SESSION_START))
        return BY_RUNS;
    for (size_t i = 0; i < ARRAY_SIZE(both); i++)
        if (strcmp(both[i], option->name) == 0)
            return BY_RUNS | BY_SESSION;
    return BY_SESSION;
}

/* Of several limits in one word each has its own taker. Return: 0 or -ENOMEM. */
static int add_limits(const char *name, const char *value, enum taker taker, struct strings *words)
{
    static const char size_of_tmp[] = "tmp_size=";
    size_t length;
    int r = 0;

    for (; *value && r == 0; value += length + (value[length] == ',')) {
        bool shared = strncmp(value, size_of_tmp, strlen(size_of_tmp)) == 0;

        length = strcspn(value, ",");
        if (shared == (taker == BY_SESSION))
            r = strings_addf(words, "--%s=%.*s", name, (int)length, value);
    }
    return r;
}

/* Adds what TAKER takes of the options. Return: 0 or -ENOMEM. */
static int add_options(const struct options *options, enum taker taker, struct strings *words)
{
    int r = 0;

    for (size_t i = 0; i < options->given_count && r == 0; i++) {
        const struct option_given *given = &options->given[i];

        if (given->option->kind == OPTION_LIMIT)
            r = add_limits(given->option->name, given->value, taker, words);
        else if (takers(given->option) & taker)
            r = given->value ? strings_addf(words, "--%s=%s", given->option->name, given->value)
                             : strings_addf(words, "--%s", given->option->name);
    }
    return r;
}

/* `confine session` with these words, which says itself what goes wrong. stdout is the protocol's. Return:
 * its status, or a negative errno with @error. */
static int call_session(const struct strings *words, struct error *error)
{
    posix_spawn_file_actions_t actions;
    const char *path = program_path();
    pid_t pid;
    int status, r = path ? posix_spawn_file_actions_init(&actions) : errno;

    if (r == 0) {
        r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        if (r == 0)
            r = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
        if (r == 0)
            r = posix_spawn(&pid, path, &actions, NULL, words->items, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    if (r != 0)
        return error_set(error, ERROR_INTERNAL, r, "no-session", "cannot start confine session: %s",
                         strerror(r));
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return error_set(error, ERROR_INTERNAL, errno, "no-session",
                             "cannot wait for confine session: %s", strerror(errno));
    return WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_REFUSED;
}

static int begin_session(const struct options *options, const char *name, struct error *error)
{
    struct strings words = {0};
    int r = strings_add(&words, "confine") ?: strings_add(&words, "session") ?: strings_add(&words, "start");

    if (r == 0)
        r = strings_add(&words, name) ?: strings_addf(&words, "--owner=%d", (int)getpid());
    if (r == 0)
        r = add_options(options, BY_SESSION, &words);
    r = r < 0 ? error_no_memory(error) : call_session(&words, error);
    strings_free(&words);
    return r;
}

/* Is there anything in the runs' options that no run of the session could have? Return: 0, or a negative
 * errno with @error. */
static int fit_session(const struct strings *words, char **envp, struct error *error)
{
    static struct confinement confinement;
    struct options options = {0};
    int r = options_parse(&options, "mcp", FOR_MCP, words->items, error);

    if (r == 0)
        r = session_take_early(&options, envp, error);
    if (r == 0)
        r = confinement_resolve(&confinement, &options, envp, error);
    if (r == 0)
        r = session_fit_mode(&confinement.resolved, error);
    session_give_back();
    confinement_free(&confinement);
    options_free(&options);
    return r;
}

/* It ends with this process in any case; here with proof, before that. */
static int end_session(const char *name, struct error *error)
{
    char *items[] = {(char *)(uintptr_t) "confine", (char *)(uintptr_t) "session", (char *)(uintptr_t) "end",
                     (char *)(uintptr_t)name, NULL};
    const struct strings words = {.items = items, .count = ARRAY_SIZE(items) - 1};

    return call_session(&words, error);
}

static int serve_session(const struct options *options, const char *name, bool looks, char **envp,
                         struct error *error)
{
    struct strings words = {0};
    int status = begin_session(options, name, error), ended, r;

    if (status != 0)
        return status;
    r = add_options(options, BY_RUNS, &words) < 0 ? error_no_memory(error) : fit_session(&words, envp, error);
    if (r == 0)
        r = mcp_serve(words.items, true, looks, CONFINE_VERSION, error);
    strings_free(&words);
    ended = end_session(name, r < 0 ? &(struct error){0} : error);
    return r < 0 ? r : ended;
}

/* Has nobody said it, or locked it? */
static bool is_left_open(const struct policy *policy, enum key key)
{
    return !origin_named(policy->origin[key]) && !(policy->locked >> key & 1);
}

int command_mcp(char **argv, char **envp)
{
    static struct confinement confinement;
    struct options options = {0};
    struct error error = {0};
    int r = options_parse(&options, "mcp", FOR_MCP, argv, &error);
    const char *session = options_value(&options, OPTION_OWN, OWN_SESSION);
    bool looks;

    if (r == 0 && options.help) {
        struct text text = {0};

        help_command(command_by_name("mcp"), &text);
        options_free(&options);
        return cli_print(&text);
    }
    if (r == 0)
        r = confinement_resolve(&confinement, &options, envp, &error); /* what is wrong with it is said now */
    looks = r == 0 && is_left_open(&confinement.policy, KEY_DENIALS);
    confinement_free(&confinement);
    if (r == 0)
        r = session ? serve_session(&options, session, looks, envp, &error)
                    : mcp_serve(argv, false, looks, CONFINE_VERSION, &error);
    options_free(&options);
    return r < 0 ? cli_fail(&error) : r;
}
