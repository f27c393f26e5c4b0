/*
 * convert.c - the settings of other sandboxes as a policy of ours.
 *
 * Should:  make of each entry one of ours, or say why not.
 * Mustn't: make a policy that is wider than what it was made from without saying so.
 */
#include "policy/convert.h"

#include "policy/policy_rules.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct converting {
    struct document *document;
    const char *directory;
    json_t *policy;
    struct strings *notes;
    bool relative; /* some path was */
    int failed;    /* -ENOMEM */
};

/* What becomes of one member. */
typedef int convert_value(struct converting *converting, const char *name, const json_t *value,
                          const char *key, struct error *error);

struct member {
    const char *name; /* `network.allowedDomains` */
    convert_value *convert;
    const char *key; /* of ours; or the note, for those that have no equal */
};

__attribute__((format(printf, 2, 3))) static void note(struct converting *converting, const char *format, ...)
{
    struct text text = {0};
    va_list list;
    char line[1024];

    va_start(list, format);
    vsnprintf(line, sizeof(line), format, list);
    va_end(list);
    text_add(&text, line);
    if (text.failed || strings_add(converting->notes, text.data) < 0)
        converting->failed = -ENOMEM;
    text_free(&text);
}

static int wrong(const struct converting *converting, const char *name, const char *what, struct error *error)
{
    error_set(error, ERROR_POLICY_INVALID, EINVAL, "policy-invalid", "%s: %s must be %s",
              QUOTE(converting->document->name), name, what);
    return error_hint(error, "these are no settings that srt takes");
}

/* Adds @value, which is taken, to the list @key of ours. */
static void add(struct converting *converting, const char *key, json_t *value)
{
    json_t *list = json_object_get(converting->policy, key);

    if (!list) {
        list = json_array();
        if (json_object_set_new(converting->policy, key, list) != 0) {
            converting->failed = -ENOMEM;
            json_decref(value);
            return;
        }
    }
    if (json_array_append_new(list, value) != 0)
        converting->failed = -ENOMEM;
}

/* --- paths
 * -------------------------------------------------------------------------------------------------- */

/* Absolute, without what stands at its end. Return: owned; NULL where it is a pattern, which is noted. */
static char *path_of(struct converting *converting, const char *name, const char *path)
{
    size_t length = strlen(path);
    char *full;

    if (length > 3 && strcmp(path + length - 3, "/**") == 0)
        length -= 3;
    while (length > 1 && path[length - 1] == '/')
        length--;
    if (strcspn(path, "*?[") < length || length == 0) {
        note(converting, "%s: %s is a pattern, and there are none here: name the paths", name, QUOTE(path));
        return NULL;
    }
    if (path[0] == '/' || (path[0] == '~' && (length == 1 || path[1] == '/')))
        full = strndup(path, length);
    else if (length == 1 && path[0] == '.')
        full = strdup(converting->directory);
    else {
        _cleanup_free_ char *rest = strndup(path[0] == '.' && path[1] == '/' ? path + 2 : path,
                                            path[0] == '.' && path[1] == '/' ? length - 2 : length);

        full = rest ? text_join(converting->directory, "/", rest, NULL) : NULL;
    }
    if (path[0] != '/' && path[0] != '~')
        converting->relative = true;
    if (!full)
        converting->failed = -ENOMEM;
    return full;
}

static int each_text(struct converting *converting, const char *name, const json_t *value, const char *key,
                     void (*one)(struct converting *, const char *, const char *, const char *),
                     struct error *error)
{
    const json_t *item;
    size_t i;

    if (!json_is_array(value))
        return wrong(converting, name, "an array of texts", error);
    json_array_foreach(value, i, item)
    {
        if (!json_is_string(item))
            return wrong(converting, name, "an array of texts", error);
        one(converting, name, json_string_value(item), key);
    }
    return 0;
}

/* Here a path that is named must be there; there it need not. */
static void add_path(struct converting *converting, const char *name, const char *text, const char *key)
{
    _cleanup_free_ char *path = path_of(converting, name, text);

    if (path)
        add(converting, key, json_pack("{s:s, s:b}", "path", path, "optional", 1));
}

static void add_writable(struct converting *converting, const char *name, const char *text, const char *key)
{
    _cleanup_free_ char *path = path_of(converting, name, text);

    if (!path)
        return;
    if (json_object_set_new(converting->policy, "mode", json_string("workspace-write")) != 0)
        converting->failed = -ENOMEM;
    if (strcmp(path, "/tmp") == 0) {
        note(converting,
             "%s: %s is left out: a command has a private /tmp here; --write %s opens the machine's", name,
             QUOTE(text), QUOTE(text));
        return;
    }
    if (strcmp(path, converting->directory) == 0 && !json_object_get(converting->policy, "workspace")) {
        if (json_object_set_new(converting->policy, "workspace", json_string(path)) != 0)
            converting->failed = -ENOMEM;
        return;
    }
    add(converting, key, json_pack("{s:s, s:b}", "path", path, "optional", 1));
}

static int convert_paths(struct converting *converting, const char *name, const json_t *value,
                         const char *key, struct error *error)
{
    return each_text(converting, name, value, key, add_path, error);
}

static int convert_writable(struct converting *converting, const char *name, const json_t *value,
                            const char *key, struct error *error)
{
    return each_text(converting, name, value, key, add_writable, error);
}

/* --- network
 * ------------------------------------------------------------------------------------------------ */

static void add_rule(struct converting *converting, const char *name, const char *text, const char *key)
{
    json_t *network = json_object_get(converting->policy, "network");
    const char *why, *instead;
    struct rule rule;

    (void)key;
    if (rule_parse(text, &rule) && rule_useless(&rule, &why, &instead)) {
        note(converting, "%s: %s is left out: %s (%s)", name, QUOTE(text), why, instead);
        return;
    }
    if (!rule_parse(text, &rule)) {
        note(converting,
             "%s: %s is left out: it is no rule here (confine-policy(5): an address needs a port)", name,
             QUOTE(text));
        return;
    }
    if (!network) {
        network = json_pack("{s:s, s:[]}", "mode", "listed", "allow");
        if (json_object_set_new(converting->policy, "network", network) != 0) {
            converting->failed = -ENOMEM;
            return;
        }
    }
    if (json_array_append_new(json_object_get(network, "allow"), json_string(text)) != 0)
        converting->failed = -ENOMEM;
    if (!strchr(text, ':'))
        note(converting, "%s: %s allows the ports 443 and 80 here, and every port there", name, QUOTE(text));
}

static int convert_rules(struct converting *converting, const char *name, const json_t *value,
                         const char *key, struct error *error)
{
    return each_text(converting, name, value, key, add_rule, error);
}

static void note_denied(struct converting *converting, const char *name, const char *text, const char *key)
{
    (void)key;
    note(converting,
         "%s: WIDER: %s cannot be taken out of a list here; if a rule with a star allows it, name the hosts "
         "instead",
         name, QUOTE(text));
}

static int convert_denied(struct converting *converting, const char *name, const json_t *value,
                          const char *key, struct error *error)
{
    return each_text(converting, name, value, key, note_denied, error);
}

/* --- what has no equal
 * -------------------------------------------------------------------------------------- */

static bool says_nothing(const json_t *value)
{
    return json_is_false(value) || json_is_null(value) ||
           (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0);
}

static int convert_note(struct converting *converting, const char *name, const json_t *value, const char *key,
                        struct error *error)
{
    (void)error;
    if (!says_nothing(value))
        note(converting, "%s: %s", name, key);
    return 0;
}

static int convert_files(struct converting *converting, const char *name, const json_t *value,
                         const char *key, struct error *error)
{
    const json_t *item;
    size_t i;

    if (!json_is_array(value))
        return wrong(converting, name, "an array", error);
    json_array_foreach(value, i, item)
    {
        const char *path = json_string_value(json_object_get(item, "path"));
        const char *mode = json_string_value(json_object_get(item, "mode"));

        if (!path || !mode)
            return wrong(converting, name, "an array of objects with path and mode", error);
        if (strcmp(mode, "deny") != 0)
            note(converting, "%s: %s is hidden as a whole: there is no %s here", name, QUOTE(path),
                 QUOTE(mode));
        add_path(converting, name, path, key);
    }
    return 0;
}

static int convert_variables(struct converting *converting, const char *name, const json_t *value,
                             const char *key, struct error *error)
{
    json_t *environment = json_object_get(converting->policy, "environment");
    const json_t *item;
    size_t i;

    (void)key;
    if (!json_is_array(value))
        return wrong(converting, name, "an array", error);
    if (!environment) {
        environment = json_pack("{s:[]}", "unset");
        if (json_object_set_new(converting->policy, "environment", environment) != 0)
            converting->failed = -ENOMEM;
    }
    json_array_foreach(value, i, item)
    {
        const char *variable = json_string_value(json_object_get(item, "name"));
        const char *mode = json_string_value(json_object_get(item, "mode"));

        if (!variable || !mode)
            return wrong(converting, name, "an array of objects with name and mode", error);
        if (strcmp(mode, "deny") != 0)
            note(converting, "%s: %s is unset: there is no %s here", name, QUOTE(variable), QUOTE(mode));
        if (json_array_append_new(json_object_get(environment, "unset"), json_string(variable)) != 0)
            converting->failed = -ENOMEM;
    }
    return 0;
}

#define NO_EQUAL "has no equal here"

static const struct member members[] = {
    {"network.allowedDomains", convert_rules, ""},
    {"network.deniedDomains", convert_denied, ""},
    {"network.allowUnixSockets", convert_paths, "sockets"},
    {"network.allowAllUnixSockets", convert_note,
     "sockets are opened one by one here: name each in `sockets`"},
    {"network.allowLocalBinding", convert_note,
     "a command may always listen on a loopback of its own here; --publish leads to it"},
    {"network.deniedResolvedAddresses", convert_note,
     "private and special addresses are always refused here, unless a rule names them; other ranges have no "
     "equal"},
    {"network.parentProxy", convert_note, "say --upstream URL"},
    {"network.httpProxyPort", convert_note,
     "there is no proxy of one's own here: the gateway decides by itself"},
    {"network.socksProxyPort", convert_note,
     "there is no proxy of one's own here: the gateway decides by itself"},
    {"filesystem.denyRead", convert_paths, "hide"},
    {"filesystem.allowRead", convert_paths, "show"},
    {"filesystem.allowWrite", convert_writable, "write"},
    {"filesystem.denyWrite", convert_paths, "protect"},
    {"filesystem.allowGitConfig", convert_note,
     "settings of a repository can be written here, and what runs something is named at the end"},
    {"credentials.files", convert_files, "hide"},
    {"credentials.envVars", convert_variables, ""},
    {"ignoreViolations", convert_note, "refusals are reported, and none is an error here"},
    {"enableWeakerNestedSandbox", convert_note,
     "the strongest backend that works is taken by itself, and the report says which"},
    {"allowPty", convert_note, "a command on a terminal has one of its own here"},
    {NULL, NULL, NULL},
};

static const struct member *find_member(const char *name)
{
    for (const struct member *member = members; member->name; member++)
        if (strcmp(member->name, name) == 0)
            return member;
    return NULL;
}

static bool is_group(const char *key)
{
    return strcmp(key, "network") == 0 || strcmp(key, "filesystem") == 0 || strcmp(key, "credentials") == 0;
}

static int convert_member(struct converting *converting, const char *name, const json_t *value,
                          struct error *error)
{
    const struct member *member = find_member(name);

    if (member)
        return member->convert(converting, member->name, value, member->key, error);
    return convert_note(converting, QUOTE(name), value, NO_EQUAL, error);
}

static int convert_all(struct converting *converting, struct error *error)
{
    const json_t *root = converting->document->root;
    const char *key, *inner;
    json_t *value, *part;
    int r = 0;

    if (!json_is_object(root))
        return wrong(converting, "the whole", "an object", error);
    json_object_foreach((json_t *)(uintptr_t)root, key, value)
    {
        if (!is_group(key)) {
            r = convert_member(converting, key, value, error);
        } else if (!json_is_object(value)) {
            r = wrong(converting, key, "an object", error);
        } else {
            json_object_foreach(value, inner, part)
            {
                _cleanup_free_ char *name = text_join(key, ".", inner, NULL);

                r = name ? convert_member(converting, name, part, error) : -ENOMEM;
                if (r < 0)
                    break;
            }
        }
        if (r < 0)
            return r;
    }
    return 0;
}

int convert_srt(struct document *document, const char *directory, json_t **ret, struct strings *notes,
                struct error *error)
{
    struct converting converting = {.document = document,
                                    .directory = directory,
                                    .policy = json_pack("{s:i}", "policy", 1),
                                    .notes = notes};
    int r = converting.policy ? convert_all(&converting, error) : -ENOMEM;

    if (r == 0 && converting.relative)
        note(&converting, "relative paths were taken from %s", QUOTE(directory));
    if (r == 0 && converting.failed)
        r = error_no_memory(error);
    if (r < 0) {
        json_decref(converting.policy);
        return r;
    }
    *ret = converting.policy;
    return 0;
}
