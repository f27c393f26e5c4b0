/*
 * options_unknown.c - what was meant by an option that there is none of.
 *
 * Should:  name the nearest option, or the one that says what another sandbox calls by this word.
 * Mustn't: take a word for an option: what is meant is only ever said.
 */
#include "cli/options.h"

#include "util/util.h"

#include <errno.h>
#include <string.h>

/* What other sandboxes, container engines and shells call it. */
static const struct foreign {
    const char *word;
    const char *ours;
} foreign_table[] = {
    {"allow-net", "write --allow NAME"},
    {"bind", "write --write PATH, or --workspace DIR"},
    {"cap-drop", "it is so without an option"},
    {"clearenv", "write --clean-env"},
    {"cpu", "write --limit cpu=DURATION"},
    {"cwd", "write --chdir DIR"},
    {"dev", "a view has a /dev of its own; write --device PATH for a node of the host"},
    {"dev-bind", "write --device PATH"},
    {"die-with-parent", "it is so without an option"},
    {"dry-run", "write confine plan, with the same words"},
    {"expose", "write --publish PORT for a server inside, --forward PORT for one of this machine"},
    {"file-size", "write --limit file_size=SIZE"},
    {"memory", "write --limit memory=SIZE"},
    {"new-session", "write --tty private"},
    {"no-network", "it is so without --network and --allow"},
    {"output", "write --report FILE for the report, --limit output=SIZE for a limit"},
    {"pids-limit", "write --limit processes=COUNT"},
    {"port", "write --publish PORT for a server inside, --forward PORT for one of this machine"},
    {"proc", "a view has a /proc of its own"},
    {"processes", "write --limit processes=COUNT"},
    {"read-only", "it is so without --workspace and --mode"},
    {"ro", "everything can be read; with --readable listed write --read PATH"},
    {"ro-bind", "everything can be read; with --readable listed write --read PATH"},
    {"rw", "write --write PATH, or --workspace DIR"},
    {"setenv", "write --env NAME=VALUE"},
    {"share-net", "write --network host, or better --allow NAME"},
    {"tmp-size", "write --limit tmp_size=SIZE"},
    {"tmpfs", "a view has a /tmp of its own; write --hide PATH for another place"},
    {"unsetenv", "write --unset-env NAME"},
    {"unshare-all", "it is so without an option"},
    {"unshare-net", "it is so without --network and --allow"},
    {"version", "write confine --version"},
    {"volume", "write --write PATH, or --workspace DIR"},
    {"workdir", "write --chdir DIR"},
    {"writable", "write --write PATH, or --workspace DIR"},
};

/* An option of another command: a report is what people look for by --json. */
static int fail_elsewhere(const struct options *options, const char *word, const struct option *option,
                          struct error *error)
{
    error_set(error, ERROR_USAGE, EINVAL, "option-not-here", "option %s: confine %s does not take it",
              QUOTE(word), options->name);
    if (option->kind == OPTION_OWN && option->target == OWN_JSON &&
        option_by_name("report", strlen("report"), options->command))
        return error_hint(error, "--report fd:1 writes the report on stdout; see: confine help %s",
                          options->name);
    return error_hint(error, "see: confine help %s", options->name);
}

/* One letter and what stands behind it in the same word: `-w.`, `-qv`. Return: whether the hint is set. */
static bool hint_letter(const struct options *options, const char *word, struct error *error)
{
    const struct option *option = word[1] == '-' ? NULL : option_by_letter(word[1], options->command);

    if (!option || !word[2])
        return false;
    if (option->value && word[2] != '=')
        error_hint(error, "write -%c %s if that is the value; see: confine help %s", word[1], QUOTE(word + 2),
                   options->name);
    else
        error_hint(error, "a letter stands alone; see: confine help %s", options->name);
    return true;
}

int options_unknown(const struct options *options, const char *word, struct error *error)
{
    char name[64] = "";
    struct nearest nearest = {.word = name};
    const char *equals = strchr(word, '=');
    const struct option *elsewhere;
    size_t length = equals ? (size_t)(equals - word) : strlen(word);

    if (strncmp(word, "--", 2) == 0 && length > 2 && length - 2 < sizeof(name))
        memcpy(name, word + 2, length - 2);
    elsewhere = name[0] ? option_by_name(name, strlen(name), ~0U) : NULL;
    if (elsewhere)
        return fail_elsewhere(options, word, elsewhere, error);
    error_set(error, ERROR_USAGE, EINVAL, "unknown-option", "option %s: confine %s knows no such option",
              QUOTE(word), options->name);
    if (hint_letter(options, word, error))
        return -EINVAL;
    for (size_t i = 0; i < ARRAY_SIZE(foreign_table); i++)
        if (strcmp(name, foreign_table[i].word) == 0 && options->command & FOR_ALL)
            return error_hint(error, "%s; see: confine help %s", foreign_table[i].ours, options->name);
    for (const struct option *option = option_table; name[0] && option->name; option++)
        if (option->commands & options->command)
            nearest_try(&nearest, option->name);
    if (nearest.best)
        return error_hint(error, "did you mean --%s?", nearest.best);
    return error_hint(error, "see: confine help %s", options->name);
}
