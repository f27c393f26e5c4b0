/*
 * tools.c - the tools of `confine mcp`: arguments to a command, its end to an answer.
 *
 * Every tool is a run, those for files too: so the shell and the files are behind one wall, whatever the wall
 * is made of, and no path is judged here.
 *
 * Should:  say to a model what happened in a form that it cannot mistake for the command's own words.
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

/* The path is one word behind the script's, and never part of it. */
static int add_script(const json_t *arguments, const char *script, struct mcp_command *command,
                      struct error *error)
{
    const char *path;
    int r = take_text(arguments, "path", true, &path, error);

    if (r == 0 && !*path)
        r = wrong(error, "path", "is empty");
    return r ? r : add_words(command, (const char *const[]){"/bin/sh", "-c", script, "sh", path, NULL});
}

/* What is opened must not wait for somebody else, or never end. */
_Static_assert(MCP_OUTPUT == 1048576, "read_file reads one byte more, which says that there is more");
#define ONLY_FILES "[ -f \"$1\" ] || [ ! -e \"$1\" ] || { echo \"no regular file: $1\" >&2; exit 1; }; "

static int read_file(const json_t *arguments, struct mcp_command *command, struct error *error)
{
    static const char *const names[] = {"path", NULL};
    int r = refuse_others(arguments, names, error);

    return r ? r : add_script(arguments, ONLY_FILES "exec head -c 1048577 <\"$1\"", command, error);
}

static int write_file(const json_t *arguments, struct mcp_command *command, struct error *error)
{
    static const char *const names[] = {"path", "content", "append", NULL};
    const json_t *append = json_object_get(arguments, "append");
    int r = refuse_others(arguments, names, error);

    if (r == 0 && append && !json_is_boolean(append))
        r = wrong(error, "append", "must be true or false");
    if (r == 0)
        r = add_script(arguments,
                       json_is_true(append) ? ONLY_FILES "exec cat >>\"$1\"" : ONLY_FILES "exec cat >\"$1\"",
                       command, error);
    return r ? r : take_input(arguments, "content", true, command, error);
}

static int list_directory(const json_t *arguments, struct mcp_command *command, struct error *error)
{
    static const char *const names[] = {"path", NULL};
    int r = refuse_others(arguments, names, error);

    /* `-` is the directory before, and CDPATH other places, where the name does not begin with a place. */
    return r ? r
             : add_script(arguments,
                          "case $1 in /*) ;; *) set -- \"./$1\" ;; esac; cd -- \"$1\" && exec ls -Ap",
                          command, error);
}

#define OBJECT(required, properties)                                                                         \
    "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[" required                            \
    "],\"properties\":{" properties "}}"
#define PATH_SCHEMA                                                                                          \
    "\"path\":{\"type\":\"string\",\"description\":\"absolute, or relative to the start directory\"}"

const struct mcp_tool mcp_tools[] = {
    {"run_command",
     "Run a command inside the sandbox and wait for its end; what it leaves behind is killed. The answer has "
     "its "
     "status and output and, where something was refused, what that was and what would allow it.",
     OBJECT("\"command\"",
            "\"command\":{\"description\":\"a text for the shell, or the words of a command\",\"anyOf\":["
            "{\"type\":\"string\"},{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"minItems\":1}]},"
            "\"directory\":{\"type\":\"string\",\"description\":\"where it starts\"},"
            "\"timeout_seconds\":{\"type\":\"number\",\"exclusiveMinimum\":0},"
            "\"input\":{\"type\":\"string\",\"description\":\"what it reads\"}"),
     run_command},
    {"read_file", "Read a text file inside the sandbox.", OBJECT("\"path\"", PATH_SCHEMA), read_file},
    {"write_file", "Write a text file inside the sandbox, or append to it.",
     OBJECT("\"path\",\"content\"",
            PATH_SCHEMA ",\"content\":{\"type\":\"string\"},\"append\":{\"type\":\"boolean\"}"),
     write_file},
    {"list_directory", "List a directory inside the sandbox; names of directories end with a slash.",
     OBJECT("\"path\"", PATH_SCHEMA), list_directory},
    {0},
};

void mcp_command_free(struct mcp_command *command)
{
    strings_free(&command->words);
    strings_free(&command->options);
    free(command->input);
    *command = (struct mcp_command){0};
}

json_t *mcp_tools_list(void)
{
    json_t *tools = json_array();

    for (const struct mcp_tool *tool = mcp_tools; tools && tool->name; tool++) {
        json_t *schema = json_loads(tool->schema, JSON_REJECT_DUPLICATES, NULL);
        json_t *entry = schema ? json_pack("{s:s, s:s, s:o}", "name", tool->name, "description",
                                           tool->description, "inputSchema", schema)
                               : NULL;

        if (!entry || json_array_append_new(tools, entry) != 0) {
            json_decref(tools);
            return NULL;
        }
    }
    return tools ? json_pack("{s:o}", "tools", tools) : NULL;
}

/* --- answers ----------------------------------------------------------------------------------------------
 */

/* A text of the command's as JSON can have it: what is no UTF-8 becomes U+FFFD. */
static json_t *text_value(const struct text *text)
{
    struct text clean = {0};
    json_t *value;

    text_add_valid(&clean, text->data ? text->data : "", text->length);
    value = clean.failed ? NULL : json_stringn(clean.data, clean.length);
    text_free(&clean);
    return value;
}

static json_t *content(json_t *text, bool is_error)
{
    return text ? json_pack("{s:[{s:s, s:o}], s:b}", "content", "type", "text", "text", text, "isError",
                            (int)is_error)
                : NULL;
}

json_t *mcp_answer_text(const char *text)
{
    return content(json_string(text), true);
}

/* For a model: first what is ours, then the command's own words, each with its length, so that nothing in
 * them passes for ours. */
static json_t *answer_value(const struct mcp_outcome *outcome)
{
    const json_t *summary = json_object_get(outcome->report, "summary");
    const struct text *streams[] = {outcome->out, outcome->err};
    static const char *const names[] = {"stdout", "stderr"};
    const bool cut[] = {outcome->out_cut, outcome->err_cut};
    struct text text = {0};
    json_t *value;

    if (json_is_string(summary))
        text_add(&text, json_string_value(summary));
    else
        text_addf(&text, "confine ended with status %d and no report.", outcome->status);
    for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
        if (streams[i]->length == 0)
            continue;
        text_addf(&text, "\n\n%s, %zu bytes%s:\n", names[i], streams[i]->length,
                  cut[i] ? " (the first of more)" : "");
        text_add_bytes(&text, streams[i]->data, streams[i]->length);
    }
    value = text.failed ? NULL : text_value(&text);
    text_free(&text);
    return value;
}

json_t *mcp_answer(const struct mcp_outcome *outcome)
{
    static const char *const copied[] = {"outcome", "denials", "planted", "planted_complete", "error"};
    const json_t *kind = json_object_get(json_object_get(outcome->report, "outcome"), "kind");
    bool started = json_is_string(kind) && strcmp(json_string_value(kind), "not-started") != 0;
    json_t *answer = content(answer_value(outcome), !started || outcome->status != 0);
    json_t *data =
        json_pack("{s:i, s:b, s:o, s:o, s:b, s:b}", "status", outcome->status, "started", (int)started,
                  "stdout", text_value(outcome->out), "stderr", text_value(outcome->err), "stdout_cut",
                  (int)outcome->out_cut, "stderr_cut", (int)outcome->err_cut);
    int r = answer && data ? 0 : -1;

    for (size_t i = 0; i < ARRAY_SIZE(copied) && r == 0; i++) {
        json_t *value = json_object_get(outcome->report, copied[i]);

        if (value)
            r = json_object_set(data, copied[i], value);
    }
    if (r == 0 && json_object_set(answer, "structuredContent", data) == 0) {
        json_decref(data);
        return answer;
    }
    json_decref(data);
    json_decref(answer);
    return NULL;
}
