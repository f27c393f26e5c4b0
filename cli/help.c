/*
 * help.c - help texts, made from the tables of commands and options and from nothing else.
 */
#include "cli/cli.h"

#include "surface/surface.h"

#include <string.h>

#define HELP_WIDTH  78
#define HELP_COLUMN 30 /* where the sentence of an option starts */

/* Appends WORDS, broken between words, each further line indented to HELP_COLUMN. */
static void add_wrapped(struct text *text, const char *words, size_t column)
{
    while (*words) {
        size_t length = strcspn(words, " ");

        if (column > HELP_COLUMN && column + 1 + length > HELP_WIDTH) {
            text_addf(text, "\n%*s", HELP_COLUMN, "");
            column = HELP_COLUMN;
        } else if (column > HELP_COLUMN) {
            text_add(text, " ");
            column++;
        }
        text_add_bytes(text, words, length);
        column += length;
        words += length + strspn(words + length, " ");
    }
    text_add(text, "\n");
}

/* What an option means to another command, where that is not what it means to a run. */
static const struct {
    unsigned commands;
    const char *name, *what;
} meanings[] = {
    {FOR_MCP, "session",
     "begin this session, and end it with the server: what a call leaves running is there for the next"},
    {FOR_SESSION, "workspace", "for a root caller: its owner is whom the commands run as"},
    {FOR_SESSION, "network", "the network that all of its runs share: none unless said"},
    {FOR_SESSION, "backend", "auto or namespace: no other one has sessions"},
    {FOR_SESSION, "user", "for a root caller: whom the commands run as, the same for all of its runs"},
    {FOR_SESSION, "limit",
     "tmp_size: how large /tmp and /dev/shm may become in all; every other one is a run's"},
};

static const char *describe(const struct option *option, unsigned bit)
{
    for (size_t i = 0; i < ARRAY_SIZE(meanings); i++)
        if (bit & meanings[i].commands && strcmp(meanings[i].name, option->name) == 0)
            return meanings[i].what;
    return option->what;
}

static void add_option(struct text *text, const struct option *option, unsigned bit)
{
    char left[96];
    int length;

    if (option->letter)
        length = snprintf(left, sizeof(left), "  -%c, --%s", option->letter, option->name);
    else
        length = snprintf(left, sizeof(left), "      --%s", option->name);
    if (option->value)
        length += snprintf(left + length, sizeof(left) - (size_t)length, " %s", option->value);
    text_add(text, left);
    if (length + 2 > HELP_COLUMN)
        text_addf(text, "\n%*s", HELP_COLUMN, "");
    else
        text_addf(text, "%*s", HELP_COLUMN - length, "");
    add_wrapped(text, describe(option, bit), HELP_COLUMN);
}

/* @only: of this group; NULL: all */
static void add_options(struct text *text, unsigned bit, const char *only)
{
    const char *group = "";

    for (const struct option *option = option_table; option->name; option++) {
        if (!(option->commands & bit) || (only && strcmp(only, option->group) != 0))
            continue;
        if (strcmp(group, option->group) != 0)
            text_addf(text, "\n%s:\n", option->group);
        group = option->group;
        add_option(text, option, bit);
    }
}

/* What is no command and is asked about all the same. @group: of the options of `run`; NULL: the surfaces */
static const struct {
    const char *name, *group, *manual;
} topics[] = {
    {"files", "Files", "confine-run(1), Files; confine-policy(5)"},
    {"network", "Network", "confine-run(1), Network and LISTED NETWORK"},
    {"environment", "Environment", "confine-run(1), Environment"},
    {"limits", "Limits and the end of a run", "confine-run(1), Limits and the end of a run"},
    {"report", "Output", "confine-report(5)"},
    {"control", "Output", "confine-control(5)"},
    {"surfaces", NULL, "confine-report(5), Surfaces"},
};

/* Every name that --open and --require take. */
static void add_surfaces(struct text *text)
{
    const char *group = "";
    char left[HELP_COLUMN + 1];

    text_add(text, "\nA surface is what --open and --require name; --require takes a whole group, too.\n"
                   "Behind each stands what it means that it is open.\n");
    for (int s = 0; s < SURFACE_COUNT; s++) {
        if (strcmp(group, surface_table[s].group) != 0)
            text_addf(text, "\n%s:\n", surface_table[s].group);
        group = surface_table[s].group;
        snprintf(left, sizeof(left), "  %s", surface_table[s].name);
        text_addf(text, "%-*s", HELP_COLUMN, left);
        add_wrapped(text, surface_table[s].what, HELP_COLUMN);
    }
}

bool help_topic(const char *name, struct text *text)
{
    for (size_t i = 0; i < ARRAY_SIZE(topics); i++) {
        if (strcmp(topics[i].name, name) != 0)
            continue;
        text_addf(text, "%s, in `confine run` and the like.\n", topics[i].name);
        if (topics[i].group)
            add_options(text, FOR_RUN, topics[i].group);
        else
            add_surfaces(text);
        text_addf(text, "\nManual: %s.\n", topics[i].manual);
        return true;
    }
    return false;
}

static void help_confine(struct text *text)
{
    text_add(text, "usage: confine COMMAND ...\n\n"
                   "Runs a command inside a boundary that the kernel enforces, proves the boundary\n"
                   "from inside before the command starts, and says what was enforced and what was\n"
                   "not.\n\n");
    for (const struct command *command = command_table; command->name; command++)
        if (!command->later)
            text_addf(text, "  confine %-7s %s\n", command->name, command->what);
    text_add(text, "  confine -V, --version\n  confine -h, --help\n\n"
                   "The everyday call:  confine run -w . -- make test\n"
                   "The options of a command:  confine help run\n"
                   "What belongs to a topic:\n  confine help ");
    for (size_t i = 0; i < ARRAY_SIZE(topics); i++)
        text_addf(text, "%s%s", i > 0 ? "|" : "", topics[i].name);
    text_add(text, "\nManual: confine(1).\n");
}

void help_command(const struct command *command, struct text *text)
{
    if (!command) {
        help_confine(text);
        return;
    }
    text_addf(text, "usage: confine %s %s\n\n%c%s.\n", command->name, command->usage,
              command->what[0] - 'a' + 'A', command->what + 1);
    if (command->bit)
        add_options(text, command->bit, NULL);
    if (command->bit & FOR_ALL)
        text_add(text, "\nOptions match exactly, as --name VALUE or --name=VALUE. A PATH that ends in ?\n"
                       "is taken if it exists. A DURATION is 300ms, 10s, 1.5m or 2h; a size is 512K,\n"
                       "16M or 1G.\n");
    if (command->bit & (FOR_RUN | FOR_EXEC))
        text_addf(text, "Status: the command's own; 125 when confine refused and nothing ran%s.\n",
                  command->bit & FOR_RUN ? ";\n124 after the time limit; 128+N after signal N" : "");
    if (command->bit)
        text_addf(text, "%sManual: confine-%s(1).\n", command->bit & FOR_ALL ? "" : "\n", command->name);
}
