/*
 * policy.c - `confine policy`: the policy in force, and what holds for a path.
 *
 * Should:  show where every entry comes from, and read the same layers as a run; say what a file's mode
 *          refuses although the policy does not.
 * Mustn't: create anything, or run a command.
 */
#include "cli/cli.h"
#include "cli/confinement.h"
#include "cli/modes.h"
#include "policy/convert.h"
#include "policy/policy_explain.h"
#include "policy/policy_files.h"
#include "util/toml.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fail_path(const char *path, int errnum, struct error *error)
{
    error_set(error, ERROR_USAGE, errnum, "path-missing", "path %s: %s", QUOTE(path), strerror(errnum));
    return error_hint(error, "give a path that could be opened, such as an absolute one without `..`");
}

/* Takes the last component off PATH and puts it in front of REST. A `..` behind something that does not exist
 * leads nowhere. Return: 0, or -ENOENT. */
static int split_last(char *path, char *rest)
{
    char *slash, *name;
    size_t length;

    for (length = strlen(path); length > 0 && path[length - 1] == '/';)
        path[--length] = '\0';
    slash = strrchr(path, '/');
    name = slash ? slash + 1 : path;
    length = strlen(name);
    if (length == 0 || strcmp(name, "..") == 0)
        return -ENOENT;
    if (strcmp(name, ".") != 0) {
        memmove(rest + length + 1, rest, strlen(rest) + 1);
        rest[0] = '/';
        memcpy(rest + 1, name, length);
    }
    if (slash)
        slash[slash == path] = '\0'; /* "/" stays */
    else
        snprintf(path, 2, ".");
    return 0;
}

/* The canonical name of PATH; of something that does not exist yet, or that the caller may not look up, as
 * far as it is known. */
static int find_canonical(const char *path, char *canonical, struct error *error)
{
    char directory[PATH_MAX], rest[PATH_MAX + 2] = "";
    size_t length = strlen(path);

    if (length == 0 || length >= sizeof(directory))
        return fail_path(path, length == 0 ? ENOENT : ENAMETOOLONG, error);
    memcpy(directory, path, length + 1);
    while (!realpath(directory, canonical)) {
        int errnum = errno;

        if ((errnum != ENOENT && errnum != EACCES) || split_last(directory, rest) < 0)
            return fail_path(path, errnum, error);
    }
    length = strlen(canonical);
    if (length == 1 && rest[0])
        length = 0; /* "/" */
    if (length + strlen(rest) >= PATH_MAX)
        return fail_path(path, ENAMETOOLONG, error);
    memcpy(canonical + length, rest, strlen(rest) + 1);
    return 0;
}

static int explain_words(const struct confinement *confinement, const struct options *options,
                         struct text *text, struct error *error)
{
    const struct resolved *resolved = &confinement->resolved;
    struct strings paths = {0};
    _cleanup_free_ struct path_modes *modes = NULL;
    char canonical[PATH_MAX];
    int result = 0;

    for (size_t i = 0; result == 0 && options->argv[i]; i++) {
        result = find_canonical(options->argv[i], canonical, error);
        if (result == 0 && strings_add(&paths, canonical) < 0)
            result = error_no_memory(error);
    }
    if (result == 0 && !(modes = modes_look(resolved, &paths)))
        result = error_no_memory(error);
    for (size_t i = 0; result == 0 && !options->json && i < paths.count; i++)
        explain_path(resolved, paths.items[i], &modes[i], text);
    if (result == 0 && options->json &&
        explain_paths_json(resolved, (const char *const *)paths.items, modes, text) < 0)
        result = error_no_memory(error);
    strings_free(&paths);
    return result;
}

static int explain(const struct confinement *confinement, const struct options *options, struct text *text,
                   struct error *error)
{
    if (options->argv)
        return explain_words(confinement, options, text, error);
    if (!options->json) {
        explain_policy(&confinement->policy, text);
        text_add(text, "\n");
        explain_resolved(&confinement->resolved, text);
        explain_sets(&confinement->policy, text);
    } else if (explain_policy_json(&confinement->policy, &confinement->resolved, text) < 0)
        return error_no_memory(error);
    return 0;
}

static int parse_json(const char *file, const char *data, size_t length, json_t **ret, struct error *error)
{
    struct document document;
    int r = document_parse(&document, file, data, length, error);

    if (r == 0)
        *ret = json_incref(document.root);
    document_free(&document);
    return r;
}

/* Whose settings can be made a policy. */
static const struct conversion {
    int own;
    const char *option;
    int (*parse)(const char *file, const char *text, size_t length, json_t **ret, struct error *error);
    int (*convert)(const char *file, const json_t *root, const char *directory, json_t **ret,
                   struct strings *notes, struct error *error);
} conversions[] = {
    {OWN_FROM_SRT, "--from-srt", parse_json, convert_srt},
    {OWN_FROM_CODEX, "--from-codex", toml_parse, convert_codex},
};

/* @ret: NULL: none. Return: 0, or -EINVAL with @error: one policy is made of one file. */
static int find_conversion(const struct options *options, const struct conversion **ret, struct error *error)
{
    *ret = NULL;
    for (size_t i = 0; i < options->given_count; i++) {
        const struct option *option = options->given[i].option;

        for (size_t j = 0; option->kind == OPTION_OWN && j < ARRAY_SIZE(conversions); j++) {
            if (conversions[j].own != option->target)
                continue;
            if (*ret) {
                error_set(error, ERROR_USAGE, EINVAL, "option-conflict",
                          "%s and %s: one file is converted at a time", (*ret)->option,
                          conversions[j].option);
                return error_hint(error,
                                  "convert each by a call of its own, and give both policies: --policy FILE "
                                  "--policy FILE");
            }
            *ret = &conversions[j];
        }
    }
    return 0;
}

static int read_settings(const struct conversion *conversion, const char *file, json_t **ret,
                         struct error *error)
{
    _cleanup_fd_ int fd = open(file, O_RDONLY | O_NOCTTY | O_CLOEXEC);
    _cleanup_free_ char *data = NULL;
    size_t length = 0;
    int r = fd < 0 ? -errno : fd_read_all(fd, POLICY_BYTES, &data, &length);

    if (r < 0) {
        error_set(error, ERROR_POLICY_INVALID, -r, "policy-missing", "option %s: cannot read %s: %s",
                  conversion->option, QUOTE(file), strerror(-r));
        return error_hint(error, "name the file with the settings that are to be converted");
    }
    return conversion->parse(file, data, length, ret, error);
}

/* The settings of another sandbox as a policy on stdout, and on stderr what they have that it has not. */
static int convert(const struct conversion *conversion, const char *file, struct text *text,
                   struct error *error)
{
    struct strings notes = {0};
    char directory[PATH_MAX];
    json_t *settings = NULL, *policy = NULL;
    struct text lines = {0};
    char *dump = NULL;
    int r = read_settings(conversion, file, &settings, error);

    if (r == 0 && !getcwd(directory, sizeof(directory)))
        r = error_set(error, ERROR_POLICY_INVALID, errno, "policy-missing", "the current directory: %s",
                      strerror(errno));
    if (r == 0)
        r = conversion->convert(file, settings, directory, &policy, &notes, error);
    dump = r == 0 ? json_dumps(policy, JSON_INDENT(2) | JSON_ENSURE_ASCII) : NULL;
    if (r == 0 && !dump)
        r = error_no_memory(error);
    if (r == 0)
        text_addf(text, "%s\n", dump);
    for (size_t i = 0; r == 0 && i < notes.count; i++)
        text_addf(&lines, "confine: %s\n", notes.items[i]);
    cli_say(&lines);
    free(dump);
    json_decref(settings);
    json_decref(policy);
    strings_free(&notes);
    return r;
}

int command_policy(char **argv, char **envp)
{
    struct confinement confinement = {0};
    struct options options;
    struct error error = {0};
    struct text text = {0};
    int result = options_parse(&options, "policy", FOR_POLICY, argv, &error), status;
    const struct conversion *conversion = NULL;

    if (result == 0 && !options.help)
        result = find_conversion(&options, &conversion, &error);
    if (result == 0 && options.help) {
        help_command(command_by_name("policy"), &text);
    } else if (result == 0 && conversion) {
        result = convert(conversion, options_value(&options, OPTION_OWN, conversion->own), &text, &error);
    } else if (result == 0) {
        result = confinement_resolve(&confinement, &options, envp, &error);
        if (result == 0)
            result = explain(&confinement, &options, &text, &error);
    }
    status = result < 0 ? cli_fail_json(&error, options.json) : cli_print(&text);
    text_free(&text);
    confinement_free(&confinement);
    options_free(&options);
    return status;
}
