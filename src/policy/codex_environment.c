/*
 * codex_environment.c - the variables in the settings of codex.
 *
 * Should:  take variables away that are taken away there.
 * Mustn't: pass one that is not passed there without saying so.
 */
#include "policy/codex_environment.h"

#include "policy/policy.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

enum inherit { INHERIT_NONE = 0, INHERIT_CORE, INHERIT_ALL };

static const char *const inherits[] = {
    [INHERIT_NONE] = "none", [INHERIT_CORE] = "core", [INHERIT_ALL] = "all"};

/* Of those that are passed in any case here: what codex calls the core. */
static const char *const core_names[] = {"PATH",  "HOME", "USER",   "LOGNAME",
                                         "SHELL", "LANG", "LC_ALL", "LC_CTYPE"};

/* What several members say together, whatever their order is. */
struct passing {
    enum inherit inherit;
    const json_t *only; /* `include_only`: nothing else is passed there, not even what is set. NULL: all is */
    bool no_secrets;    /* names that look like secrets are taken away there */
};

/* What becomes of one member. */
typedef int convert_member(struct converting *converting, const struct passing *passing, const char *name,
                           const json_t *value, struct error *error);

/* Is there a pattern for the name? There `*` and `?` are special, and case is not looked at. */
static bool is_included(const struct passing *passing, const char *name)
{
    const char *text;

    for (size_t i = 0; i < json_array_size(passing->only); i++) {
        text = json_string_value(json_array_get(passing->only, i));
        if (text && fnmatch(text, name, FNM_CASEFOLD) == 0)
            return true;
    }
    return !passing->only;
}

static bool is_core(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(core_names); i++)
        if (strcmp(core_names[i], name) == 0)
            return true;
    return false;
}

/* Would codex pass the variable of its caller? */
static bool is_passed(const struct passing *passing, const char *name)
{
    bool secret = passing->no_secrets &&
                  (strcasestr(name, "KEY") || strcasestr(name, "SECRET") || strcasestr(name, "TOKEN"));

    return !secret && is_included(passing, name) &&
           (passing->inherit == INHERIT_ALL || (passing->inherit == INHERIT_CORE && is_core(name)));
}

static struct passing read_passing(const json_t *settings)
{
    const char *inherit = json_string_value(json_object_get(settings, "inherit"));
    const json_t *only = json_object_get(settings, "include_only");
    struct passing passing = {.inherit = INHERIT_ALL,
                              .only = json_array_size(only) > 0 ? only : NULL,
                              .no_secrets =
                                  json_is_false(json_object_get(settings, "ignore_default_excludes"))};

    for (size_t i = 0; inherit && i < ARRAY_SIZE(inherits); i++)
        if (strcmp(inherits[i], inherit) == 0)
            passing.inherit = (enum inherit)i;
    return passing;
}

static int convert_inherit(struct converting *converting, const struct passing *passing, const char *name,
                           const json_t *value, struct error *error)
{
    const char *which = json_string_value(value);

    if (!which || strcmp(inherits[passing->inherit], which) != 0)
        return converting_wrong(converting, name, "all, core or none", error);
    if (passing->inherit != INHERIT_ALL)
        converting_set(converting, "environment", "clean", json_true());
    return 0;
}

/* What is left here of a clean environment, and not there. */
static void note_kept(struct converting *converting, const struct passing *passing)
{
    struct text names = {0};

    if (passing->inherit == INHERIT_ALL && !passing->only)
        return;
    for (size_t i = 0; clean_names[i]; i++)
        if (!is_passed(passing, clean_names[i]))
            text_addf(&names, "%s%s", names.length > 0 ? ", " : "", clean_names[i]);
    if (!is_passed(passing, "LC_TIME"))
        text_addf(&names, "%sLC_*", names.length > 0 ? ", " : "");
    if (names.length > 0)
        converting_note(converting,
                        "%s: WIDER: passed in any case here, and not there: %s (`unset` takes them away)",
                        passing->only ? "include_only" : "inherit", names.data);
    if (names.failed)
        converting->failed = -ENOMEM;
    text_free(&names);
}

static void exclude_one(struct converting *converting, const char *name, const char *text, const char *key)
{
    if (variable_valid(text, strlen(text)))
        converting_add(converting, "environment", key, json_string(text));
    else
        converting_note(converting,
                        "%s: WIDER: %s is a pattern, and there are none here: name the variables in `unset`",
                        name, QUOTE(text));
}

static int convert_exclude(struct converting *converting, const struct passing *passing, const char *name,
                           const json_t *value, struct error *error)
{
    (void)passing;
    return converting_each(converting, name, value, "unset", exclude_one, error);
}

static void include_one(struct converting *converting, const char *name, const char *text, const char *key)
{
    (void)name;
    (void)text;
    converting_set(converting, "environment", key, json_true());
}

/* What is not passed there is not passed here: only the names of a whole environment are for `pass`. */
static int convert_include(struct converting *converting, const struct passing *passing, const char *name,
                           const json_t *value, struct error *error)
{
    int r = converting_each(converting, name, value, "clean", include_one, error);

    for (size_t i = 0; r == 0 && i < json_array_size(value); i++) {
        const char *text = json_string_value(json_array_get(value, i));

        if (passing->inherit != INHERIT_ALL)
            continue;
        if (!variable_valid(text, strlen(text)))
            converting_note(converting,
                            "%s: narrower: %s is a pattern, and there are none here: name the variables in "
                            "`pass`",
                            name, QUOTE(text));
        else if (is_passed(passing, text))
            converting_add(converting, "environment", "pass", json_string(text));
    }
    return r;
}

static int convert_set(struct converting *converting, const struct passing *passing, const char *name,
                       const json_t *value, struct error *error)
{
    const char *variable;
    json_t *text, *set;

    if (!json_is_object(value))
        return converting_wrong(converting, name, "a table", error);
    set = json_object();
    json_object_foreach((json_t *)(uintptr_t)value, variable, text)
    {
        size_t length = strlen(variable);

        if (!json_is_string(text)) {
            json_decref(set);
            return converting_wrong(converting, name, "a table of texts", error);
        }
        if (!variable_valid(variable, length) || variable_of_temp(variable, length))
            converting_note(
                converting,
                "%s: %s is left out: it is no name here, or says where the temp directory is (--tmp)", name,
                QUOTE(variable));
        else if (!is_included(passing, variable))
            converting_note(converting,
                            "%s: %s is left out: include_only does not name it, so codex sets it not", name,
                            QUOTE(variable));
        else if (json_object_set(set, variable, text) != 0)
            converting->failed = -ENOMEM;
    }
    converting_set(converting, "environment", "set", set);
    return 0;
}

static int convert_default_excludes(struct converting *converting, const struct passing *passing,
                                    const char *name, const json_t *value, struct error *error)
{
    (void)passing;
    if (!json_is_boolean(value))
        return converting_wrong(converting, name, "true or false", error);
    if (json_is_true(value))
        converting_note(converting,
                        "%s: variables that look like secrets are taken away here; name those in `pass` that "
                        "a command needs",
                        name);
    return 0;
}

static int convert_profile(struct converting *converting, const struct passing *passing, const char *name,
                           const json_t *value, struct error *error)
{
    (void)passing;
    (void)error;
    if (!converting_empty(value))
        converting_note(converting, "%s: which files a shell reads is said by its own words here: bash -lc",
                        name);
    return 0;
}

static int note_unknown(struct converting *converting, const struct passing *passing, const char *name,
                        const json_t *value, struct error *error)
{
    (void)passing;
    (void)error;
    if (!converting_empty(value))
        converting_note(converting, "shell_environment_policy: WIDER: %s has no equal here", QUOTE(name));
    return 0;
}

static const struct {
    const char *name;
    convert_member *convert;
} members[] = {
    {"inherit", convert_inherit},
    {"exclude", convert_exclude},
    {"include_only", convert_include},
    {"set", convert_set},
    {"ignore_default_excludes", convert_default_excludes},
    {"experimental_use_profile", convert_profile},
};

int codex_environment(struct converting *converting, const json_t *settings, struct error *error)
{
    const struct passing passing = read_passing(settings);
    const char *name;
    json_t *value;

    if (settings && !json_is_object(settings))
        return converting_wrong(converting, "shell_environment_policy", "a table", error);
    json_object_foreach((json_t *)(uintptr_t)settings, name, value)
    {
        convert_member *convert = note_unknown;
        int r;

        for (size_t i = 0; i < ARRAY_SIZE(members); i++)
            if (strcmp(members[i].name, name) == 0)
                convert = members[i].convert;
        r = convert(converting, &passing, name, value, error);
        if (r < 0)
            return r;
    }
    note_kept(converting, &passing);
    return 0;
}
