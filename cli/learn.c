/*
 * learn.c - `confine learn`: run, look at what is refused, and propose what would have allowed it.
 *
 * Theory of operation. Each run is a `confine run` of its own, as confined as the options say. What is
 * refused to it becomes lines of a policy; with --verify the next run has them, and so on until nothing new
 * is refused. The command runs as often: whatever it does inside is done again.
 *
 * Should:  print a policy that can be read in one look, and say what it does not cover.
 * Mustn't: put anything into force beyond these runs, or store it. Mustn't leave a run behind when it is
 * ended: the run's control channel is ours, and closes with us.
 */
#define CONFINE_MAY_READ_ENVIRONMENT
#include "cli/learn.h"
#include "cli/cli.h"
#include "kernel/program.h"
#include "policy/accounts.h"
#include "policy/policy_keys.h"
#include "report/absent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS      8
#define REPORT_MOST (16U << 20)

struct learning {
    const struct options *options;
    char **envp;
    bool listed;    /* nobody has said which network: one where names are answered, and told */
    json_t *report; /* of the last run */
    int status;     /* its exit status */
    struct proposal proposal;
};

/* Did somebody choose a network, or a backend that has none with a list? A policy file may. */
static bool has_network(const struct options *options)
{
    const char *backend = options_value(options, OPTION_KEY, KEY_BACKEND);
    const char *mode = options_value(options, OPTION_KEY, KEY_MODE);

    if (mode && strcmp(mode, mode_name(MODE_DANGER_FULL_ACCESS)) == 0)
        return true; /* there is none to be listed */
    if (backend && strcmp(backend, "auto") != 0 && strcmp(backend, "namespace") != 0)
        return true;
    for (size_t i = 0; i < options->given_count; i++)
        if (strcmp(options->given[i].option->group, "Network") == 0)
            return true;
    return options->policies.count > 0;
}

static int make_words(const struct learning *learning, int report, int control, struct strings *words)
{
    const struct options *options = learning->options;
    int r = strings_add(words, "confine");

    if (r == 0)
        r = strings_add(words, "run");
    if (r == 0)
        r = strings_addf(words, "--report=fd:%d", report);
    if (r == 0)
        r = strings_addf(words, "--control=fd:%d", control);
    if (r == 0 && learning->listed)
        r = strings_add(words, "--network=listed");
    if (r == 0) /* one that was given comes later, and holds */
        r = strings_add(words, "--denials=reads");
    for (size_t i = 0; i < options->given_count && r == 0; i++) {
        const struct option_given *given = &options->given[i];

        if (given->option->kind == OPTION_OWN && given->option->target != OWN_POLICY)
            continue;
        r = given->value ? strings_addf(words, "--%s=%s", given->option->name, given->value)
                         : strings_addf(words, "--%s", given->option->name);
    }
    if (r == 0)
        r = proposal_words(&learning->proposal, words);
    if (r == 0)
        r = strings_add(words, "--");
    for (char **word = options->argv; *word && r == 0; word++)
        r = strings_add(words, *word);
    return r;
}

/* The command's output goes where people read: on ours stands the policy. */
_Noreturn static void become_run(const char *program, const struct strings *words, char **envp, int report,
                                 int control)
{
    if (dup2(STDERR_FILENO, STDOUT_FILENO) == STDOUT_FILENO && fcntl(report, F_SETFD, 0) == 0 &&
        fcntl(control, F_SETFD, 0) == 0)
        execve(program, words->items, envp);
    _exit(STATUS_REFUSED);
}

/* Reads what there is. Return: whether there may be more. */
static bool take_bytes(int fd, struct text *text)
{
    char room[16384];
    ssize_t length = read(fd, room, sizeof(room));

    if (length < 0 && errno == EINTR)
        return true;
    if (length > 0 && text)
        text_add_bytes(text, room, (size_t)length);
    return length > 0;
}

/* The report, to its end, and what the channel tells, which stands in it as well: a run waits for its reader.
 */
static void read_report(int report, int control, struct text *text)
{
    struct pollfd fds[] = {{.fd = report, .events = POLLIN}, {.fd = control, .events = POLLIN}};

    while ((fds[0].fd >= 0 || fds[1].fd >= 0) && text->length <= REPORT_MOST) {
        if (poll(fds, ARRAY_SIZE(fds), -1) < 0)
            continue;
        if (fds[0].revents && !take_bytes(report, text))
            fds[0].fd = -1;
        if (fds[1].revents && !take_bytes(control, NULL))
            fds[1].fd = -1;
    }
}

/* Starts a run, with our ends of its report and its channel. Return: its process, or -1. */
static pid_t start_run(const struct learning *learning, int *ret_report, int *ret_control)
{
    const char *program = program_path();
    struct strings words = {0};
    int report[2], control[2];
    pid_t pid = -1;

    if (!program || pipe2(report, O_CLOEXEC) != 0)
        return -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) != 0) {
        close(report[0]);
        close(report[1]);
        return -1;
    }
    if (make_words(learning, report[1], control[1], &words) == 0)
        pid = fork();
    if (pid == 0)
        become_run(program, &words, learning->envp, report[1], control[1]);
    strings_free(&words);
    close(report[1]);
    close(control[1]);
    *ret_report = report[0];
    *ret_control = control[0];
    if (pid < 0) {
        close(report[0]);
        close(control[0]);
    }
    return pid;
}

/* One run to its end. Return: 0 with report and status, or a negative errno with @error. */
static int run_once(struct learning *learning, struct error *error)
{
    struct text text = {0};
    int report, control, status = 0;
    pid_t pid = start_run(learning, &report, &control);

    if (pid < 0)
        return error_set(error, ERROR_INTERNAL, errno, "learn-failed", "learn: cannot start a run: %s",
                         strerror(errno));
    read_report(report, control, &text);
    close(report);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(control);
    json_decref(learning->report);
    learning->report = text.failed ? NULL : json_loadb(text.data ? text.data : "", text.length, 0, NULL);
    text_free(&text);
    learning->status = WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_REFUSED;
    if (learning->report)
        return 0;
    return error_set(error, ERROR_INTERNAL, EIO, "learn-failed", "learn: the run left no report");
}

static bool has_started(const json_t *report)
{
    const char *kind = json_string_value(json_object_get(json_object_get(report, "outcome"), "kind"));

    return kind && strcmp(kind, "not-started") != 0;
}

/* Did this machine refuse what was asked for? */
static bool is_unavailable(const json_t *report)
{
    const char *code = json_string_value(json_object_get(json_object_get(report, "error"), "code"));

    return code && strcmp(code, error_name(ERROR_SANDBOX_UNAVAILABLE)) == 0;
}

/* Was nothing refused but what modes refuse as well, and what programs do without? */
static bool is_quiet(const json_t *report)
{
    const json_t *items = json_object_get(json_object_get(report, "denials"), "items");

    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *denial = json_array_get(items, i);

        if (json_is_null(json_object_get(denial, "noise")) &&
            !json_is_true(json_object_get(denial, "by_mode")))
            return false;
    }
    return true;
}

/* Was everything seen that could be refused? */
static bool is_complete(const json_t *report)
{
    return json_is_true(json_object_get(json_object_get(report, "denials"), "complete"));
}

/* The run has said why there is none, and would seem to be the end. */
static void tell_unlisted(const struct learning *learning)
{
    struct text text = {0};

    if (learning->options->verbosity < 0)
        return;
    text_add(&text, "confine: without a list of hosts, then: what it would reach is not learnt\n");
    cli_say(&text);
}

/* Runs until nothing new is refused, or once. @ret_held: nothing was refused any more that a policy grants.
 * Return: 0, or a negative errno with @error. */
static int learn(struct learning *learning, bool verify, bool *ret_held, struct error *error)
{
    int r = run_once(learning, error), added;

    if (r == 0 && learning->listed && is_unavailable(learning->report)) {
        learning->listed = false; /* not on every machine */
        tell_unlisted(learning);
        r = run_once(learning, error);
    }
    for (int round = 0; r == 0 && has_started(learning->report); round++) {
        added = proposal_take(&learning->proposal, learning->report);
        if (added >= 0 && proposal_generalise(&learning->proposal) < 0)
            added = -ENOMEM;
        if (added < 0)
            return error_no_memory(error);
        *ret_held = is_quiet(learning->report) && is_complete(learning->report);
        if (!verify || (round > 0 && added == 0) || round == ROUNDS)
            break;
        r = run_once(learning, error);
    }
    return r;
}

/* What was refused and is in no proposal, five of each kind. */
static void tell_left(const struct strings *left, const char *why, struct text *text)
{
    for (size_t i = 0; i < left->count && i < 5; i++)
        text_addf(text, "confine: %s: %s\n", why, left->items[i]);
    if (left->count > 5)
        text_addf(text, "confine: %s: %zu more\n", why, left->count - 5);
}

/* What is no refusal that anybody saw, so nothing was proposed for it: the run has warned of it. */
static void tell_warnings(const json_t *report, const char *reason, struct text *text)
{
    const json_t *warnings = json_object_get(report, "warnings");

    for (size_t i = 0; i < json_array_size(warnings); i++) {
        const char *warning = json_string_value(json_array_get(warnings, i));

        if (warning && strncmp(warning, reason, strlen(reason)) == 0)
            text_addf(text, "confine: warning: %s\n", warning);
    }
}

static void tell(const struct learning *learning, bool verify, bool held)
{
    static const char no_loopback[] = "no-loopback:"; /* sockets are refused before anybody sees them */
    struct text text = {0};

    if (learning->options->verbosity < 0)
        return;
    tell_left(&learning->proposal.open, "no policy allows", &text);
    tell_left(&learning->proposal.by_mode, "its mode or owner refuses it as well, so no policy is enough",
              &text);
    tell_left(&learning->proposal.risky, "not proposed", &text);
    tell_warnings(learning->report, ABSENT_REASON ":", &text);
    if (learning->status != 0)
        tell_warnings(learning->report, no_loopback, &text);
    if (!is_complete(learning->report))
        text_add(&text, "confine: not all that was refused has been seen\n");
    if (verify && held && learning->status != 0)
        text_addf(&text,
                  "confine: no refused access was observed, but the command ended with %d: what it would "
                  "do beyond that, and what the system call filter refuses, is not in the proposal\n",
                  learning->status);
    else if (verify)
        text_addf(&text, "confine: the proposal %s; the command ended with %d\n",
                  held ? "holds: no refused access was observed"
                       : "does not hold: something was refused still",
                  learning->status);
    else
        text_addf(
            &text,
            "confine: the command ended with %d; one run shows what was refused up to its end, --verify "
            "runs it again\n",
            learning->status);
    cli_say(&text);
}

/* Without the observer there is nothing to learn from, and a proposal of nothing would read as if nothing
 * were needed. A policy file may have it off as well. */
static int refuse_blind(const struct options *options, struct error *error)
{
    static struct policy policy;
    const struct origin *origin = &policy.origin[KEY_DENIALS];
    int r = policy_init(&policy, error);

    if (r == 0)
        r = policy_load_layers(&policy, &options->policies, error);
    if (r == 0)
        r = options_apply(options, &policy, error);
    if (r == 0 && policy.denials == DENIALS_OFF) {
        policy_refuse(error, origin, "no-observer", "without the observer nothing is learnt");
        r = error_hint(error, "%s", origin->option ? "leave it out" : "say --denials auto");
    }
    policy_free(&policy);
    return r;
}

/* The caller's home by the password database; NULL: not known. */
static char *find_home(void)
{
    _cleanup_free_ char *passwd = NULL;
    struct account account;

    if (accounts_read(&passwd) < 0 || !account_find(passwd, getuid(), &account))
        return NULL;
    return strndup(account.home, account.home_length);
}

int command_learn(char **argv, char **envp)
{
    struct options options;
    struct error error = {0};
    struct learning learning = {.options = &options, .envp = envp};
    _cleanup_free_ char *home = find_home();
    struct writer writer = {0};
    bool held = false, verify;
    int r = options_parse(&options, "learn", FOR_LEARN, argv, &error);

    if (r == 0 && options.help) {
        options_free(&options);
        help_command(command_by_name("learn"), &writer.text);
        return cli_print(&writer.text);
    }
    verify = options_value(&options, OPTION_OWN, OWN_VERIFY);
    learning.listed = !has_network(&options);
    learning.proposal.home = home;
    learning.proposal.env = envp;
    learning.proposal.env_home = getenv("HOME");
    if (r == 0)
        r = refuse_blind(&options, &error);
    if (r == 0)
        r = learn(&learning, verify, &held, &error);
    if (r == 0 && has_started(learning.report)) {
        proposal_write(&learning.proposal, learning.report, &writer);
        text_add(&writer.text, "\n");
        r = cli_print(&writer.text);
        tell(&learning, verify, held);
        r = r ? r : verify && !held;
    } else {
        r = r < 0 ? cli_fail(&error) : learning.status; /* the run has said why */
    }
    json_decref(learning.report);
    proposal_free(&learning.proposal);
    options_free(&options);
    return r;
}
