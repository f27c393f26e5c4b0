/*
 * main.c - the program confine: which command, and the two or three things that hold for all of them.
 */
#include "cli/cli.h"

#include "plan/plan_json.h"
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

const struct command command_table[] = {
    {.name = "run",
     .bit = FOR_RUN,
     .run = command_run,
     .usage = "[OPTIONS] -- COMMAND [ARG]...",
     .what = "run a command confined: launch, attest, supervise, report"},
    {.name = "exec",
     .bit = FOR_EXEC,
     .run = command_exec,
     .usage = "[OPTIONS] -- COMMAND [ARG]...",
     .what = "become the confined command, without a supervisor"},
    {.name = "plan",
     .bit = FOR_PLAN,
     .run = command_plan,
     .usage = "[OPTIONS] [--json] -- COMMAND [ARG]...",
     .what = "print what would run"},
    {.name = "probe",
     .bit = FOR_PROBE,
     .run = command_probe,
     .usage = "[--backend NAME] [--json]",
     .what = "print what this machine can do, found by doing it"},
    {.name = "policy",
     .bit = FOR_POLICY,
     .run = command_policy,
     .usage = "[OPTIONS] [--json] [PATH]...",
     .what = "print the policy in force and where each entry comes from"},
    {.name = "session",
     .bit = FOR_SESSION,
     .run = command_session,
     .usage = "start NAME [OPTIONS] | list | allow NAME RULE | end NAME",
     .what = "start, list, widen and end what several runs share"},
    {.name = "check",
     .bit = FOR_CHECK,
     .run = command_check,
     .usage = "[OPTIONS] [--all] [--only GLOB] [--list] [--json]",
     .what = "try to get out of this confinement, and judge what is claimed"},
    {.name = "mcp",
     .bit = FOR_MCP,
     .run = command_mcp,
     .usage = "[OPTIONS]",
     .what = "serve commands and files under this policy, as tools of an MCP server"},
    {.name = "fence",
     .bit = FOR_FENCE,
     .run = command_fence,
     .usage = "[OPTIONS]",
     .what = "open files under this policy, for a program on stdin"},
    {.name = "learn",
     .bit = FOR_LEARN,
     .run = command_learn,
     .usage = "[OPTIONS] [--verify] -- COMMAND [ARG]...",
     .what = "run a command, and propose the smallest policy that it needs"},
    {.name = "help",
     .run = command_help,
     .usage = "[COMMAND | TOPIC]",
     .what = "print the options of a command, or what belongs to a topic"},
    {.name = "serve", .later = true},
    {0},
};

static int closed = -1; /* the first of descriptors 0 to 2 that was closed at the start */

/* A closed 0, 1 or 2 would be taken by the next file that is opened, and the command would be handed a policy
 * or a report as its terminal. Filled with something that can neither be read nor written; `run` refuses. */
static void fill_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
            continue;
        if (closed < 0)
            closed = fd;
        if (open("/", O_PATH | O_CLOEXEC) != fd)
            _exit(STATUS_REFUSED); /* nothing is known about this process any more, and nobody can be told */
    }
}

int cli_refuse_closed(struct error *error)
{
    static const char *const names[] = {"stdin", "stdout", "stderr"};
    static const char *const remedies[] = {"0</dev/null", "1>/dev/null", "2>/dev/null"};

    if (closed < 0)
        return 0;
    error_set(error, ERROR_USAGE, EBADF, "closed-descriptor", "%s: descriptor %d is closed", names[closed],
              closed);
    return error_hint(error, "give it something: %s", remedies[closed]);
}

int cli_status(const struct error *error)
{
    if (error->code == ERROR_COMMAND_NOT_FOUND)
        return 127;
    return error->code == ERROR_COMMAND_NOT_EXECUTABLE ? 126 : STATUS_REFUSED;
}

static int write_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t done = write(fd, data, length);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? -errno : -EIO;
        data += done;
        length -= (size_t)done;
    }
    return 0;
}

int cli_write(int fd, const struct text *text)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    int result;

    if (sigaction(SIGPIPE, &ignore, &before) != 0)
        return -errno;
    result = write_all(fd, text->data ? text->data : "", text->length);
    if (sigaction(SIGPIPE, &before, NULL) != 0 && result == 0)
        result = -errno;
    return result;
}

void cli_say(struct text *text)
{
    /* stderr is the last resort: when it fails there is nobody left to tell, and the status stays right. */
    if (text->length > 0)
        (void)cli_write(STDERR_FILENO, text);
    text_free(text);
}

int cli_fail(const struct error *error)
{
    struct text text = {0};

    report_error(error, &text);
    cli_say(&text);
    return cli_status(error);
}

int cli_fail_json(const struct error *error, bool json)
{
    struct writer writer = {0};

    if (!json)
        return cli_fail(error);
    writer_object(&writer, NULL);
    writer_text(&writer, "schema", "confine/error/1");
    writer_text(&writer, "version", CONFINE_VERSION);
    report_error_write(error, &writer, "error");
    writer_end(&writer);
    text_add(&writer.text, "\n");
    cli_print(&writer.text); /* what fails there is said, and the status is that of the error */
    return cli_fail(error);
}

int cli_print(struct text *text)
{
    struct error error = {0};
    int result =
        text->failed ? -ENOMEM : write_all(STDOUT_FILENO, text->data ? text->data : "", text->length);

    text_free(text);
    if (result == 0)
        return 0;
    error_set(&error, ERROR_INTERNAL, -result, "stdout", "stdout: %s", strerror(-result));
    return cli_fail(&error);
}

const struct command *command_by_name(const char *name)
{
    for (const struct command *command = command_table; command->name; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

/* The line as it should have been, for words that are those of `run`: a command, or options and a `--`. */
static void hint_run(char **argv, struct error *error)
{
    struct text line = {0};
    bool dashes = false;

    for (size_t i = 0; argv[i] && !dashes; i++) {
        dashes = strcmp(argv[i], "--") == 0;
        if (i > 0 && command_by_name(argv[i])) {
            error_hint(error, "options stand behind the command: confine %s [OPTIONS]", argv[i]);
            return;
        }
    }
    if (**argv == '-' && !dashes) {
        error_hint(error, "see: confine --help");
        return;
    }
    text_add(&line, dashes ? "confine run" : "confine run --");
    for (size_t i = 0; argv[i]; i++) {
        text_add(&line, " ");
        shell_quote(&line, argv[i]);
    }
    if (!line.failed)
        error_hint(error, "to run a command: %s; see: confine --help", line.data);
    text_free(&line);
}

/* @argv begins with the word that is no command of ours. */
static int fail_command(char **argv, bool help)
{
    struct nearest nearest = {.word = *argv};
    struct error error = {0};

    for (const struct command *command = command_table; command->name; command++)
        if (!command->later)
            nearest_try(&nearest, command->name);
    error_set(&error, ERROR_USAGE, EINVAL, **argv == '-' ? "unknown-option" : "unknown-command",
              **argv == '-' ? "option %s: confine knows no such option"
                            : "command %s: confine has no such command",
              QUOTE(*argv));
    if (nearest.best)
        error_hint(&error, "did you mean confine %s?", nearest.best);
    else if (help)
        error_hint(&error, "see: confine --help");
    else
        hint_run(argv, &error);
    return cli_fail(&error);
}

static int fail_later(const struct command *command)
{
    struct error error = {0};

    error_set(&error, ERROR_SANDBOX_UNAVAILABLE, ENOSYS, "not-in-this-version",
              "command %s: it is not in this version (%s)", command->name, CONFINE_VERSION);
    error_hint(&error, "see: confine --help");
    return cli_fail(&error);
}

int command_help(char **argv, char **envp)
{
    const struct command *command = argv[0] ? command_by_name(argv[0]) : NULL;
    struct text text = {0};

    (void)envp;
    if (argv[0] && !command)
        return help_topic(argv[0], &text) ? cli_print(&text) : fail_command(argv, true);
    if (command && command->later)
        return fail_later(command);
    help_command(command, &text);
    return cli_print(&text);
}

/* What we make we must be able to use. The command inherits the mask, so an answer that is not the caller's
 * own must not loosen it. Return: whether each call did what it says. */
static bool open_umask(void)
{
    mode_t before = umask(077);

    return umask(before & ~(mode_t)0700) == 077;
}

int main(int argc, char **argv, char **envp)
{
    const struct command *command;
    struct error error = {0};
    struct text text = {0};

    fill_descriptors();
    if (!open_umask()) {
        error_set(&error, ERROR_INTERNAL, EIO, "no-umask",
                  "umask: the kernel answers with another mask than was set");
        return cli_fail(&error);
    }
    if (getauxval(AT_SECURE)) {
        error_set(&error, ERROR_SANDBOX_UNAVAILABLE, EPERM, "set-id",
                  "confine: it must not be set-id or carry file capabilities");
        return cli_fail(&error);
    }
    if (argc < 2) {
        error_set(&error, ERROR_USAGE, EINVAL, "missing-command", "a command of confine is missing");
        error_hint(&error, "for example: confine run -w . -- make test; see: confine --help");
        return cli_fail(&error);
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        text_addf(&text, "confine %s\n", CONFINE_VERSION);
        return cli_print(&text);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        help_command(NULL, &text);
        return cli_print(&text);
    }
    command = command_by_name(argv[1]);
    if (!command)
        return fail_command(argv + 1, false);
    return command->later ? fail_later(command) : command->run(argv + 2, envp);
}
