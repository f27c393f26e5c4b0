/*
 * later.c - the tables of what is refused: in `run`, and in `exec`.
 *
 * Should:  name what asked (an option, or a file and its line), and the surface.
 * Mustn't: look at options only: a policy file that asks for a limit must not run without it.
 */
#include "cli/later.h"

#include <errno.h>
#include <stddef.h>

/* What a row looks at. */
enum asks {
    ASKS_VALUE = 0, /* the enum at `offset` is `value`, and somebody named it */
    ASKS_NAMED,     /* somebody named the key, whatever the value */
    ASKS_AMOUNT,    /* the uint64_t at `offset` is not 0 */
    ASKS_LIST,      /* the list has an entry */
    ASKS_OWN,       /* the option `target` of its own is given */
};

struct row {
    enum asks asks;
    int target; /* enum key, enum list or enum own */
    size_t offset;
    unsigned value;
    const char *surface; /* "": none */
    const char *what;
};

#define VALUE(key, field, value, ...)                                                                        \
    {                                                                                                        \
        ASKS_VALUE, key, offsetof(struct policy, field), value, __VA_ARGS__                                  \
    }
#define NAMED(key, ...)                                                                                      \
    {                                                                                                        \
        ASKS_NAMED, key, 0, 0, __VA_ARGS__                                                                   \
    }
#define AMOUNT(key, field, ...)                                                                              \
    {                                                                                                        \
        ASKS_AMOUNT, key, offsetof(struct policy, field), 0, __VA_ARGS__                                     \
    }
#define LIST(list, ...)                                                                                      \
    {                                                                                                        \
        ASKS_LIST, list, 0, 0, __VA_ARGS__                                                                   \
    }
#define OWN(own, ...)                                                                                        \
    {                                                                                                        \
        ASKS_OWN, own, 0, 0, __VA_ARGS__                                                                     \
    }

/* What stands between the caller and the command in `confine run` are pipes. */
static const struct row run_rows[] = {
    VALUE(KEY_TTY, tty, TTY_INHERIT, "tty.inject", "the caller's own terminal"),
};

static const struct row exec_rows[] = {
    VALUE(KEY_PLANTED, planted, PLANTED_QUARANTINE, "later.exec", "quarantine"),
    VALUE(KEY_PLANTED, planted, PLANTED_REPORT, "later.exec", "a look at the tree when the run has ended"),
    OWN(OWN_REPORT, "", "a report"),
    OWN(OWN_CONTROL, "", "a control channel"),
    OWN(OWN_SESSION, "", "a run in a session"),
    AMOUNT(KEY_LIMIT_TIME, limit_time_ms, "limit.time", "a time limit"),
    AMOUNT(KEY_LIMIT_MEMORY, limit_memory, "limit.memory", "the limit memory"),
    AMOUNT(KEY_LIMIT_PROCESSES, limit_processes, "limit.processes", "the limit processes"),
    AMOUNT(KEY_LIMIT_OUTPUT, limit_output, "limit.output", "the limit output"),
    AMOUNT(KEY_LIMIT_CPU, limit_cpu_ms, "limit.cpu", "the limit cpu"),
    NAMED(KEY_GRACE, "", "a time between two signals"),
    NAMED(KEY_WAIT_ALL, "proc.survivor", "waiting for what is left"),
    VALUE(KEY_NETWORK, network, NETWORK_LISTED, "net.listed", "the gateway of a listed network"),
    LIST(LIST_FORWARD, "net.tcp", "the gateway of a forwarded port"),
    LIST(LIST_PUBLISH, "net.tcp", "the gateway of a published port"),
    VALUE(KEY_TMP, tmp, TMP_PRIVATE, "", "a temp directory that somebody removes"),
    VALUE(KEY_TTY, tty, TTY_NONE, "tty.inject", "taking the terminal away"),
    VALUE(KEY_TTY, tty, TTY_PRIVATE, "tty.inject", "a terminal of the command's own"),
    NAMED(KEY_SIZE, "", "a terminal of the command's own"),
    NAMED(KEY_PLANTED, "later.exec", "a look at the tree when the run has ended"),
    NAMED(KEY_DENIALS, "", "an observer"),
};

/* Where a row was asked for, or false. */
static bool row_asked(const struct row *row, const struct options *options, const struct policy *policy,
                      struct origin *ret_origin)
{
    const char *field = (const char *)policy + row->offset;

    *ret_origin = (struct origin){0};
    if (row->asks == ASKS_OWN)
        return options_value(options, OPTION_OWN, row->target);
    if (row->asks == ASKS_LIST) {
        const struct entries *entries = &policy->list[row->target];

        if (entries->count > 0)
            *ret_origin = entries->items[entries->count - 1].origin;
        return entries->count > 0;
    }
    *ret_origin = policy->origin[row->target];
    if (row->asks == ASKS_AMOUNT)
        return *(const uint64_t *)(const void *)field != 0;
    if (row->asks == ASKS_VALUE && *(const unsigned *)(const void *)field != row->value)
        return false;
    return origin_named(*ret_origin);
}

/* `option --limit`, or `/etc/confine/policy.json:12`, or the option of a row that has no origin. */
static void describe_origin(const struct row *row, const struct options *options, struct origin origin,
                            char *buffer, size_t size)
{
    if (origin.file && origin.line > 0) {
        snprintf(buffer, size, "%s:%d", QUOTE(origin.file), origin.line);
    } else if (origin.file) {
        snprintf(buffer, size, "%s", QUOTE(origin.file));
    } else if (origin.option) {
        snprintf(buffer, size, "option %s", origin.option);
    } else {
        for (size_t i = 0; i < options->given_count; i++)
            if (options->given[i].option->kind == OPTION_OWN &&
                options->given[i].option->target == row->target)
                snprintf(buffer, size, "option --%s", options->given[i].option->name);
    }
}

/* The first of the rows that somebody asked for, with its origin in words. Return: the row, NULL if none was.
 */
static const struct row *find_asked(const struct row *rows, size_t count, const struct options *options,
                                    const struct policy *policy, char *where, size_t size)
{
    struct origin origin;

    for (size_t i = 0; i < count; i++) {
        if (!row_asked(&rows[i], options, policy, &origin))
            continue;
        snprintf(where, size, "confine");
        describe_origin(&rows[i], options, origin, where, size);
        return &rows[i];
    }
    return NULL;
}

int later_refuse_run(const struct options *options, const struct policy *policy, struct error *error)
{
    char where[600];
    const struct row *row = find_asked(run_rows, ARRAY_SIZE(run_rows), options, policy, where, sizeof(where));

    if (!row)
        return 0;
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, ENOSYS, "not-in-this-version",
              "%s: confine run does not give %s to the command", where, row->what);
    error_surface(error, row->surface);
    return error_hint(error, "use confine exec, or leave it out");
}

int later_refuse_exec(const struct options *options, const struct policy *policy, struct error *error)
{
    char where[600];
    const struct row *row =
        find_asked(exec_rows, ARRAY_SIZE(exec_rows), options, policy, where, sizeof(where));

    if (!row)
        return 0;
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, ENOSYS, "needs-supervisor",
              "%s: confine exec has no supervisor for %s", where, row->what);
    error_surface(error, row->surface);
    return error_hint(error, "use confine run");
}
