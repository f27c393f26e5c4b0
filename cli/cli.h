/*
 * cli.h - the commands, one file each, and the table that names them.
 */
#ifndef CONFINE_CLI_CLI_H
#define CONFINE_CLI_CLI_H

#include "cli/options.h"
#include "util/error.h"

#define STATUS_REFUSED 125 /* confine failed or refused; the command did not run */

struct command {
    const char *name;
    unsigned bit; /* FOR_RUN and so on; 0: takes no options */
    /* @argv: the words behind the command's name, NULL-terminated. Return: the exit status. */
    int (*run)(char **argv, char **envp);
    const char *usage; /* what stands behind `confine NAME` */
    const char *what;  /* one sentence without a full stop */
    bool later;        /* a name that this version knows and does not have */
};

extern const struct command command_table[]; /* ends with a NULL name */

int command_run(char **argv, char **envp);
int command_exec(char **argv, char **envp);
int command_plan(char **argv, char **envp);
int command_policy(char **argv, char **envp);
int command_session(char **argv, char **envp);
int command_probe(char **argv, char **envp);
int command_check(char **argv, char **envp);
int command_mcp(char **argv, char **envp);
int command_fence(char **argv, char **envp);
int command_learn(char **argv, char **envp);
int command_help(char **argv, char **envp);

/* command_by_name() - Return: the command, NULL for an unknown name. */
const struct command *command_by_name(const char *name);

/* cli_refuse_closed() - a command would find something else at 0 to 2 than its caller thinks.
 * Return: 0, or a negative errno with @error when one of them was closed. */
int cli_refuse_closed(struct error *error);

/* cli_fail() - the line of @error on stderr. Return: STATUS_REFUSED, or 126/127 for the command's own errors.
 */
int cli_fail(const struct error *error);

/* cli_fail_json() - the same for a command that was asked for JSON, with @json: an object with `error` on
 * stdout as well.
 */
int cli_fail_json(const struct error *error, bool json);

/* cli_status() - the exit status that belongs to @error. */
int cli_status(const struct error *error);

/* cli_print() - write @text to stdout and empty it. Return: 0, or STATUS_REFUSED with a line on stderr. */
int cli_print(struct text *text);

/* cli_write() - all of @text, in one write where the kernel takes it: lines of several processes must not
 * mix. A pipe that nobody reads is an error and not the end of confine. Return: 0 or a negative errno. */
int cli_write(int fd, const struct text *text);

/* cli_say() - write @text to stderr, for people, and empty it. */
void cli_say(struct text *text);

/* help_command() - the help of one command, or of confine itself when NULL. */
void help_command(const struct command *command, struct text *text);

/* help_topic() - the help of what is no command: `limits`, `report`. Return: whether there is such a topic.
 */
bool help_topic(const char *name, struct text *text);

#endif
