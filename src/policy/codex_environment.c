/*
 * codex_environment.c - the variables in the settings of codex.
 *
 * Should:  take variables away that are taken away there.
 * Mustn't: pass one that is not passed there without saying so.
 */
#include "policy/codex_environment.h"

#include "policy/policy.h"

#include <errno.h>
#include <string.h>

/* What becomes of one member. */
typedef int convert_member(struct converting *converting, const char *name, const json_t *value,
                           struct error *error);

static int convert_inherit(struct converting *converting, const char *name, const json_t *value,
                           struct error *error)
{
    const char *which = json_string_value(value);

    if (!which || (strcmp(which, "all") != 0 && strcmp(which, "core") != 0 && strcmp(which, "none") != 0))
        return converting_wrong(converting, name, "all, core or none", error);
    if (strcmp(which, "all") == 0)
        return 0;
    converting_set(converting, "environment", "clean", json_true());
    if (strcmp(which, "none") == 0)
        converting_note(converting,
                        "%s: WIDER: PATH, HOME and some more that are no secrets are passed in any case here",
                        name);
    return 0;
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

static int convert_exclude(struct converting *converting, const char *name, const json_t *value,
                           struct error *error)
{
    return converting_each(converting, name, value, "unset", exclude_one, error);
}

static void include_one(struct converting *converting, const char *name, const char *text, const char *key)
{
    converting_set(converting, "environment", "clean", json_true());
    if (variable_valid(text, strlen(text)))
        converting_add(converting, "environment", key, json_string(text));
    else
        converting_note(converting,
                        "%s: %s is a pattern, and there are none here: name the variables in `pass`", name,
                        QUOTE(text));
}

static int convert_include(struct converting *converting, const char *name, const json_t *value,
                           struct error *error)
{
    return converting_each(converting, name, value, "pass", include_one, error);
}

static int convert_set(struct converting *converting, const char *name, const json_t *value,
                       struct error *error)
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
        else if (json_object_set(set, variable, text) != 0)
            converting->failed = -ENOMEM;
    }
    converting_set(converting, "environment", "set", set);
    return 0;
}

static int convert_default_excludes(struct converting *converting, const char *name, const json_t *value,
                                    struct error *error)
{
    if (!json_is_boolean(value))
        return converting_wrong(converting, name, "true or false", error);
    if (json_is_true(value))
        converting_note(converting,
                        "%s: variables that look like secrets are taken away here; name those in `pass` that "
                        "a command needs",
                        name);
    return 0;
}

static int convert_profile(struct converting *converting, const char *name, const json_t *value,
                           struct error *error)
{
    (void)error;
    if (!converting_empty(value))
        converting_note(converting, "%s: which files a shell reads is said by its own words here: bash -lc",
                        name);
    return 0;
}

static int note_unknown(struct converting *converting, const char *name, const json_t *value,
                        struct error *error)
{
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
        r = convert(converting, name, value, error);
        if (r < 0)
            return r;
    }
    return 0;
}
