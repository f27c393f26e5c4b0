/*
 * options.h - the one option table of run, exec, plan, policy and probe, and its parser.
 *
 * Should:  take an option by exact match only, as `--name VALUE` or
 *          `--name=VALUE`; stop at `--`; say the nearest name and the corrected line.
 * Mustn't: read a word after `--`, accept an abbreviation, look at the
 *          environment, or drop an option that it knows.
 */
#ifndef CONFINE_CLI_OPTIONS_H
#define CONFINE_CLI_OPTIONS_H

#include "policy/policy.h"

/* Who takes an option: one bit per command. */
enum {
    FOR_RUN = 1 << 0,
    FOR_EXEC = 1 << 1,
    FOR_PLAN = 1 << 2,
    FOR_POLICY = 1 << 3,
    FOR_PROBE = 1 << 4,
    FOR_SESSION_START = 1 << 5,
    FOR_SESSION_LIST = 1 << 6,
    FOR_SESSION_END = 1 << 7,
    FOR_SESSION_ALLOW = 1 << 12,
    FOR_SESSION = FOR_SESSION_START | FOR_SESSION_LIST | FOR_SESSION_ALLOW | FOR_SESSION_END,
    FOR_CHECK = 1 << 8,
    FOR_MCP = 1 << 9,
    FOR_LEARN = 1 << 10,
    FOR_FENCE = 1 << 11,
    FOR_ONE = FOR_RUN | FOR_EXEC | FOR_PLAN | FOR_POLICY, /* one run, and what is said of it */
    FOR_ALL = FOR_ONE | FOR_CHECK | FOR_MCP | FOR_LEARN | FOR_FENCE,
};

/* What an option does; `target` says to what. */
enum option_kind {
    OPTION_OWN = 0, /* enum own */
    OPTION_KEY,     /* enum key, value as given */
    OPTION_FLAG,    /* enum key, set to `true` */
    OPTION_LIST,    /* enum list, one entry */
    OPTION_WORDS,   /* enum list, entries separated by commas */
    OPTION_ENV,     /* NAME passes, NAME=VALUE sets */
    OPTION_LIMIT,   /* KEY=VALUE, separated by commas */
};

enum own {
    OWN_NONE = 0,
    OWN_REPORT,
    OWN_POLICY,
    OWN_QUIET,
    OWN_VERBOSE,
    OWN_JSON,
    OWN_HELP,
    OWN_CONTROL,
    OWN_SESSION,
    OWN_OWNER,
    OWN_FROM_SRT,
    OWN_FROM_CODEX,
    OWN_BACKENDS,
    OWN_HTML,
    OWN_LIST,
    OWN_ONLY,
    OWN_VERIFY,
};

struct option {
    const char *name;  /* without the dashes */
    char letter;       /* 0: none */
    const char *value; /* how help writes the value; NULL: takes none */
    enum option_kind kind;
    int target;
    unsigned commands;
    const char *group; /* heading in help */
    const char *what;  /* one sentence without a full stop */
};

extern const struct option option_table[]; /* ends with a NULL name */

struct option_given {
    const struct option *option;
    const char *value; /* borrowed from argv; NULL for a flag */
};

struct options {
    const char *name; /* of the command, `run` */
    unsigned command; /* its bit */
    struct option_given *given;
    size_t given_count;
    struct strings policies; /* --policy, in order */
    const char *report;      /* as given, NULL: none */
    const char *control;     /* likewise */
    int verbosity;           /* -1 quiet, 0, 1 everything */
    bool json;
    bool help;
    char **argv; /* the command after `--`, or the paths of `policy`; borrowed; NULL: none */
};

/*
 * options_parse() - read the words of one command.
 * @name: `run` and so on
 * @bit:  its FOR_ bit
 * @argv: the words after the command's name, NULL-terminated, kept alive by the caller
 *
 * After the first error the options that follow are still read, but only for
 * --report and --control: every failure is JSON too, where JSON was asked for.
 *
 * Return: 0, or a negative errno with @error (ERROR_USAGE); @options is valid either way.
 */
int options_parse(struct options *options, const char *name, unsigned bit, char **argv, struct error *error);
void options_free(struct options *options);

/* options_apply() - put the options onto a policy that holds all weaker layers. Return: 0 or a negative errno
 * with @error. */
int options_apply(const struct options *options, struct policy *policy, struct error *error);

/* options_value() - the last value given for an own option or a key. Return: the value or NULL. */
const char *options_value(const struct options *options, enum option_kind kind, int target);

/* One option of those that @command (its bit) takes. Return: its row or NULL. */
const struct option *option_by_name(const char *name, size_t length, unsigned command);
const struct option *option_by_letter(char letter, unsigned command);

/* options_unknown() - @word is no option of this command: what was meant? Return: -EINVAL with @error. */
int options_unknown(const struct options *options, const char *word, struct error *error);

#endif
