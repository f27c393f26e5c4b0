/*
 * control_take.c - what comes in on the control channel: one line, one message, obeyed or answered with an
 * error.
 *
 * Should:  know every message by one row of a table, with all its members.
 * Mustn't: guess: what has a member too many or too few is refused whole.
 */
#include "run/control_take.h"

#include "policy/policy_rules.h"
#include "run/control_ask.h"
#include "run/supervise.h"
#include "util/json.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

static int refuse(struct error *error, const char *reason, const char *message)
{
    return error_set(error, ERROR_USAGE, EINVAL, reason, "%s", message);
}

/* Signals by name, with or without SIG. Any other one by its number. */
static int signal_by_name(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } signals[] = {
        {"HUP", SIGHUP},       {"INT", SIGINT},   {"QUIT", SIGQUIT},   {"ILL", SIGILL},   {"TRAP", SIGTRAP},
        {"ABRT", SIGABRT},     {"BUS", SIGBUS},   {"FPE", SIGFPE},     {"KILL", SIGKILL}, {"USR1", SIGUSR1},
        {"SEGV", SIGSEGV},     {"USR2", SIGUSR2}, {"PIPE", SIGPIPE},   {"ALRM", SIGALRM}, {"TERM", SIGTERM},
        {"CHLD", SIGCHLD},     {"CONT", SIGCONT}, {"STOP", SIGSTOP},   {"TSTP", SIGTSTP}, {"TTIN", SIGTTIN},
        {"TTOU", SIGTTOU},     {"URG", SIGURG},   {"XCPU", SIGXCPU},   {"XFSZ", SIGXFSZ}, {"PROF", SIGPROF},
        {"VTALRM", SIGVTALRM}, {"IO", SIGIO},     {"WINCH", SIGWINCH}, {"PWR", SIGPWR},   {"SYS", SIGSYS},
    };

    if (strncmp(name, "SIG", 3) == 0)
        name += 3;
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        if (strcmp(signals[i].name, name) == 0)
            return signals[i].number;
    return 0;
}

static int take_signal(struct control *control, const json_t *message, struct error *error)
{
    const json_t *value = json_object_get(message, "signal");
    json_int_t number = json_is_integer(value)  ? json_integer_value(value)
                        : json_is_string(value) ? signal_by_name(json_string_value(value))
                                                : 0;

    if (number < 1 || number > 64)
        return refuse(error, "bad-member",
                      "signal: the name or the number (1 to 64) of a signal must be here");
    /* A stop stops the command. We go on, or nobody would hear the word to continue. */
    supervise_signal(control->supervision, number == SIGTSTP ? SIGSTOP : (int)number);
    return 0;
}

static int take_resize(struct control *control, const json_t *message, struct error *error)
{
    const json_t *columns = json_object_get(message, "columns"), *rows = json_object_get(message, "rows");
    int r;

    if (!json_is_integer(columns) || json_integer_value(columns) < 1 || json_integer_value(columns) > 65535 ||
        !json_is_integer(rows) || json_integer_value(rows) < 1 || json_integer_value(rows) > 65535)
        return refuse(error, "bad-member", "columns and rows: numbers from 1 to 65535 must be here");
    r = supervise_resize(control->supervision, (unsigned)json_integer_value(columns),
                         (unsigned)json_integer_value(rows));
    if (r == -ENOTTY)
        return refuse(error, "no-terminal", "resize: the command has no terminal of this run");
    if (r < 0)
        return error_set(error, ERROR_INTERNAL, -r, "resize-failed", "resize: %s", strerror(-r));
    return 0;
}

static int take_stdin_close(struct control *control, const json_t *message, struct error *error)
{
    int r = supervise_close_input(control->supervision);

    (void)message;
    if (r == -ENOTTY)
        return refuse(error, "not-relayed",
                      "stdin-close: the command's input is the caller's own, who can close it");
    if (r < 0)
        return error_set(error, ERROR_INTERNAL, -r, "close-failed", "stdin-close: %s", strerror(-r));
    return 0;
}

/* An answer follows in a line of its own: `allowed`, or an error. */
static int take_allow(struct control *control, const json_t *message, struct error *error)
{
    struct text rule = {0};
    int r = policy_read_rule(json_string_value(json_object_get(message, "rule")), "bad-member", &rule, error);

    if (r == 0)
        r = supervise_allow(control->supervision, rule.data, error);
    text_free(&rule);
    return r;
}

static int take_kill(struct control *control, const json_t *message, struct error *error)
{
    (void)message;
    (void)error;
    control_kill(control);
    return 0;
}

static const struct message {
    const char *type;
    const char *members[2]; /* that must be there, beside `type`, and no others */
    int (*take)(struct control *control, const json_t *message, struct error *error);
} messages[] = {
    {"signal", {"signal"}, take_signal},       {"resize", {"columns", "rows"}, take_resize},
    {"stdin-close", {NULL}, take_stdin_close}, {"kill", {NULL}, take_kill},
    {"allow", {"rule"}, take_allow},           {"answer", {"id", "answer"}, control_take_answer},
};

static int check_members(const struct message *form, json_t *message, struct error *error)
{
    const char *key;
    json_t *value;
    size_t most = 1;

    for (size_t i = 0; i < ARRAY_SIZE(form->members) && form->members[i]; i++, most++)
        if (!json_object_get(message, form->members[i]))
            return error_set(error, ERROR_USAGE, EINVAL, "missing-member", "%s: the member %s is missing",
                             form->type, form->members[i]);
    if (json_object_size(message) == most)
        return 0;
    json_object_foreach(message, key, value)
    {
        bool known = strcmp(key, "type") == 0;

        for (size_t i = 0; i < ARRAY_SIZE(form->members) && form->members[i]; i++)
            known = known || strcmp(key, form->members[i]) == 0;
        if (!known)
            return error_set(error, ERROR_USAGE, EINVAL, "unknown-member", "%s: it has no member %s",
                             form->type, QUOTE(key));
    }
    return 0;
}

static int take_message(struct control *control, json_t *message, struct error *error)
{
    const char *type = json_string_value(json_object_get(message, "type"));
    int r;

    if (!json_is_object(message) || !type)
        return refuse(error, "no-type", "every line is one JSON object with a text under type");
    for (size_t i = 0; i < ARRAY_SIZE(messages); i++) {
        const struct message *form = &messages[i];

        if (strcmp(form->type, type) != 0)
            continue;
        r = check_members(form, message, error);
        return r < 0 ? r : form->take(control, message, error);
    }
    return error_set(error, ERROR_USAGE, EINVAL, "unknown-type", "%s: there is no message of this type",
                     QUOTE(type));
}

/* Each line is a text by itself: the number that is said of it (`line`) is not the 1 of the reader's. */
static void name_column(struct error *error)
{
    static const char front[] = "control:1:", column[] = "column ";
    const size_t skipped = sizeof(front) - 1, put = sizeof(column) - 1; /* the second is the shorter one */

    if (strncmp(error->message, front, skipped) != 0)
        return;
    memmove(error->message + put, error->message + skipped, strlen(error->message + skipped) + 1);
    memcpy(error->message, column, put);
}

void control_take_line(struct control *control, const char *text, size_t length)
{
    struct document document;
    struct error error = {0};
    int r = document_parse(&document, "control", text, length, &error);

    if (r == 0)
        r = take_message(control, document.root, &error);
    else if (error.code == ERROR_POLICY_INVALID)
        snprintf(error.reason, sizeof(error.reason), "not-json");
    name_column(&error);
    document_free(&document);
    if (r < 0)
        control_say_error(control, &error);
}
