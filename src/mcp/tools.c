/*
 * tools.c - the tools of `confine mcp`: arguments to a command.
 *
 * Every tool is a run, those for files too: so the shell and the files are behind one wall, whatever the wall
 * is made of, and no path is judged here.
 *
 * Mustn't: put an argument anywhere but into a word of its own.
 */
#include "mcp/mcp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DAY_SECONDS 86400

/* --- arguments --------------------------------------------------------------------------------------------
 */

static int wrong(struct error *error, const char *name, const char *what)
{
    return error_set(error, ERROR_USAGE, EINVAL, "arguments", "%s: %s", name, what);
}

static int take_text(const json_t *arguments, const char *name, bool needed, const char **ret,
                     struct error *error)
{
    const json_t *value = json_object_get(arguments, name);

    *ret = NULL;
    if (!value || json_is_null(value))
        return needed ? wrong(error, name, "is missing") : 0;
    if (!json_is_string(value) || strlen(json_string_value(value)) != json_string_length(value))
        return wrong(error, name, "is no text, or has a NUL in it");
    *ret = json_string_value(value);
    return 0;
}

static int add_words(struct mcp_command *command, const char *const *words)
{
    int r = 0;

    for (; *words && r == 0; words++)
        r = strings_add(&command->words, *words);
    return r;
}

/* Only what the tool has. */
static int refuse_others(const json_t *arguments, const char *const *names, struct error *error)
{
    const char *key;
    json_t *value;

    if (arguments && !json_is_object(arguments))
        return wrong(error, "arguments", "must be an object");
    json_object_foreach((json_t *)(uintptr_t)arguments, key, value)
    {
        const char *const *name = names;

        while (*name && strcmp(*name, key) != 0)
            name++;
        if (!*name)
            return wrong(error, QUOTE(key), "this tool has no such argument");
    }
    return 0;
}

static int take_command(const json_t *arguments, struct mcp_command *command, struct error *error)
{
    const json_t *value = json_object_get(arguments, "command"), *item;
    size_t i;

    if (json_is_string(value)) {
        const char *script;
        int r = take_text(arguments, "command", true, &script, error);

        if (r == 0 && (*script == '-' || *script == '+')) /* a shell would take it for an option */
            r = add_words(command, (const char *const[]){"/bin/sh", "-c", "--", script, NULL});
        else if (r == 0)
            r = add_words(command, (const char *const[]){"/bin/sh", "-c", script, NULL});
        return r;
    }
    if (!json_is_array(value) || json_array_size(value) == 0)
        return wrong(error, "command", "must be a text for the shell, or an array of words");
    json_array_foreach(value, i, item)
    {
        if (!json_is_string(item) || strlen(json_string_value(item)) != json_string_length(item))
            return wrong(error, "command", "a word is no text, or has a NUL in it");
        if (strings_add(&command->words, json_string_value(item)) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int take_input(const json_t *arguments, const char *name, bool needed, struct mcp_command *command,
                      struct error *error)
{
    const json_t *value = json_object_get(arguments, name);

    if (!value || json_is_null(value))
        return needed ? wrong(error, name, "is missing") : 0;
    if (!json_is_string(value))
        return wrong(error, name, "is no text");
    command->input_length = json_string_length(value);
    command->input = malloc(command->input_length + 1);
    if (!command->input)
        return -ENOMEM;
    memcpy(command->input, json_string_value(value), command->input_length + 1);
    return 0;
}

static int take_timeout(const json_t *arguments, struct mcp_command *command, struct error *error)
{
    const json_t *value = json_object_get(arguments, "timeout_seconds");
    double seconds = json_number_value(value);

    if (!value || json_is_null(value))
        return 0;
    if (!json_is_number(value) || !(seconds > 0) || seconds > DAY_SECONDS)
        return wrong(error, "timeout_seconds", "must be a number above 0, of a day at most");
    return strings_addf(&command->options, "--timeout=%lldms", (long long)(seconds * 1000) + 1);
}

static int run_command(const json_t *arguments, struct mcp_command *command, struct error *error)
{
    static const char *const names[] = {"command", "directory", "timeout_seconds", "input", NULL};
    const char *directory;
    int r = refuse_others(arguments, names, error);

    if (r == 0)
        r = take_command(arguments, command, error);
    if (r == 0)
        r = take_text(arguments, "directory", false, &directory, error);
    if (r == 0 && directory)
        r = strings_addf(&command->options, "--chdir=%s", directory);
    if (r == 0)
        r = take_timeout(arguments, command, error);
    return r ? r : take_input(arguments, "input", false, command, error);
}

/* What a tool for files does, in words that a model knows: the script is nothing to it. */
struct act {
    const char *done, *failed; /* `Read`, `read`; behind either stands the path */
    const char *script;
};

/* The path is one word behind the script's, and never part of it. */
static int add_script(const json_t *arguments, const struct act *act, struct mcp_command *command,
                      struct error *error)
{
    const char *path;
    int r = take_text(arguments, "path", true, &path, error);

    if (r == 0 && !*path)
        r = wrong(error, "path", "is empty");
    if (r == 0 && (asprintf(&command->done, "%s %s", act->done, QUOTE(path)) < 0 ||
                   asprintf(&command->failed, "Could not %s %s", act->failed, QUOTE(path)) < 0))
        r = -ENOMEM;
    return r ? r : add_words(command, (const char *const[]){"/bin/sh", "-c", act->script, "sh", path, NULL});
}

/* What is opened must not wait for somebody else, or never end. */
_Static_assert(MCP_OUTPUT == 1048576, "read_file reads one byte more, which says that there is more");
#define ONLY_FILES "[ -f \"$1\" ] || [ ! -e \"$1\" ] || { echo \"no regular file: $1\" >&2; exit 1; }; "

static int read_file(const json_t *arguments, struct mcp_command *command, struct error *error)
{
    static const char *const names[] = {"path", NULL};
    static const struct act act = {"Read", "read", ONLY_FILES "exec head -c 1048577 <\"$1\""};
    int r = refuse_others(arguments, names, error);

    return r ? r : add_script(arguments, &act, command, error);
}

static int write_file(const json_t *arguments, struct mcp_command *command, struct error *error)
{
    static const char *const names[] = {"path", "content", "append", NULL};
    static const struct act writing = {"Wrote", "write", ONLY_FILES "exec cat >\"$1\""},
                            appending = {"Appended to", "append to", ONLY_FILES "exec cat >>\"$1\""};
    const json_t *append = json_object_get(arguments, "append");
    int r = refuse_others(arguments, names, error);

    if (r == 0 && append && !json_is_boolean(append))
        r = wrong(error, "append", "must be true or false");
    if (r == 0)
        r = add_script(arguments, json_is_true(append) ? &appending : &writing, command, error);
    return r ? r : take_input(arguments, "content", true, command, error);
}

static int list_directory(const json_t *arguments, struct mcp_command *command, struct error *error)
{
    static const char *const names[] = {"path", NULL};
    /* Opened first: what is refused to an open is told of, and what is refused to stat() is not. */
    static const struct act act = {
        "Listed", "list",
        "[ -d \"$1\" ] || [ ! -e \"$1\" ] || { echo \"no directory: $1\" >&2; exit 1; }; "
        "exec <\"$1/\" && exec ls -Ap -- \"$1/\""};
    int r = refuse_others(arguments, names, error);

    return r ? r : add_script(arguments, &act, command, error);
}

#define OBJECT(required, properties)                                                                         \
    "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[" required                            \
    "],\"properties\":{" properties "}}"
#define PATH_SCHEMA                                                                                          \
    "\"path\":{\"type\":\"string\",\"description\":\"absolute, or relative to the start directory\"}"

#define RUN_ANSWER                                                                                           \
    "The answer has its status and output and, where something was refused, what that was and what would "   \
    "allow it."

const struct mcp_tool mcp_tools[] = {
    {"run_command",
     "Run a command inside the sandbox and wait for its end; what it leaves behind is killed. " RUN_ANSWER,
     "Run a command inside the sandbox and wait for its end; what it leaves running is there for the "
     "next call and ends with this server. " RUN_ANSWER,
     OBJECT("\"command\"",
            "\"command\":{\"description\":\"a text for the shell, or the words of a command\",\"anyOf\":["
            "{\"type\":\"string\"},{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"minItems\":1}]},"
            "\"directory\":{\"type\":\"string\",\"description\":\"where it starts\"},"
            "\"timeout_seconds\":{\"type\":\"number\",\"exclusiveMinimum\":0},"
            "\"input\":{\"type\":\"string\",\"description\":\"what it reads\"}"),
     run_command},
    {"read_file", "Read a text file inside the sandbox.", NULL, OBJECT("\"path\"", PATH_SCHEMA), read_file},
    {"write_file", "Write a text file inside the sandbox, or append to it.", NULL,
     OBJECT("\"path\",\"content\"",
            PATH_SCHEMA ",\"content\":{\"type\":\"string\"},\"append\":{\"type\":\"boolean\"}"),
     write_file},
    {"list_directory", "List a directory inside the sandbox; names of directories end with a slash.", NULL,
     OBJECT("\"path\"", PATH_SCHEMA), list_directory},
    {0},
};

void mcp_command_free(struct mcp_command *command)
{
    strings_free(&command->words);
    strings_free(&command->options);
    free(command->input);
    free(command->done);
    free(command->failed);
    *command = (struct mcp_command){0};
}

json_t *mcp_tools_list(bool session)
{
    json_t *tools = json_array();

    for (const struct mcp_tool *tool = mcp_tools; tools && tool->name; tool++) {
        json_t *schema = json_loads(tool->schema, JSON_REJECT_DUPLICATES, NULL);
        const char *description = session && tool->in_session ? tool->in_session : tool->description;
        json_t *entry = schema ? json_pack("{s:s, s:s, s:o}", "name", tool->name, "description", description,
                                           "inputSchema", schema)
                               : NULL;

        if (!entry || json_array_append_new(tools, entry) != 0) {
            json_decref(tools);
            return NULL;
        }
    }
    return tools ? json_pack("{s:o}", "tools", tools) : NULL;
}
