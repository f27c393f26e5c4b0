/*
 * convert_srt.c - the settings of the sandbox-runtime as a policy of ours.
 *
 * Should:  make of each entry one of ours, or say why not.
 * Mustn't: make a policy that is wider than what it was made from without saying so.
 */
#include "policy/convert.h"

#include "policy/converting.h"

#include <errno.h>
#include <string.h>

/* What becomes of one member. */
typedef int convert_value(struct converting *converting, const char *name, const json_t *value,
                          const char *key, struct error *error);

struct member {
    const char *name; /* `network.allowedDomains` */
    convert_value *convert;
    const char *key; /* of ours; or the note, for those that have no equal */
};

static int convert_paths(struct converting *converting, const char *name, const json_t *value,
                         const char *key, struct error *error)
{
    return converting_each(converting, name, value, key, converting_path, error);
}

static int convert_writable(struct converting *converting, const char *name, const json_t *value,
                            const char *key, struct error *error)
{
    return converting_each(converting, name, value, key, converting_writable, error);
}

/* --- network
 * ------------------------------------------------------------------------------------------------ */

static int convert_rules(struct converting *converting, const char *name, const json_t *value,
                         const char *key, struct error *error)
{
    return converting_each(converting, name, value, key, converting_rule, error);
}

static void note_denied(struct converting *converting, const char *name, const char *text, const char *key)
{
    (void)key;
    converting_note(
        converting,
        "%s: WIDER: %s cannot be taken out of a list here; if a rule with a star allows it, name the hosts "
        "instead",
        name, QUOTE(text));
}

static int convert_denied(struct converting *converting, const char *name, const json_t *value,
                          const char *key, struct error *error)
{
    return converting_each(converting, name, value, key, note_denied, error);
}

/* --- what has no equal
 * -------------------------------------------------------------------------------------- */

static int convert_note(struct converting *converting, const char *name, const json_t *value, const char *key,
                        struct error *error)
{
    (void)error;
    if (!converting_empty(value))
        converting_note(converting, "%s: %s", name, key);
    return 0;
}

static int convert_files(struct converting *converting, const char *name, const json_t *value,
                         const char *key, struct error *error)
{
    const json_t *item;
    size_t i;

    if (!json_is_array(value))
        return converting_wrong(converting, name, "an array", error);
    json_array_foreach(value, i, item)
    {
        const char *path = json_string_value(json_object_get(item, "path"));
        const char *mode = json_string_value(json_object_get(item, "mode"));

        if (!path || !mode)
            return converting_wrong(converting, name, "an array of objects with path and mode", error);
        if (strcmp(mode, "deny") != 0)
            converting_note(converting, "%s: %s is hidden as a whole: there is no %s here", name, QUOTE(path),
                            QUOTE(mode));
        converting_path(converting, name, path, key);
    }
    return 0;
}

static int convert_variables(struct converting *converting, const char *name, const json_t *value,
                             const char *key, struct error *error)
{
    const json_t *item;
    size_t i;

    (void)key;
    if (!json_is_array(value))
        return converting_wrong(converting, name, "an array", error);
    json_array_foreach(value, i, item)
    {
        const char *variable = json_string_value(json_object_get(item, "name"));
        const char *mode = json_string_value(json_object_get(item, "mode"));

        if (!variable || !mode)
            return converting_wrong(converting, name, "an array of objects with name and mode", error);
        if (strcmp(mode, "deny") != 0)
            converting_note(converting, "%s: %s is unset: there is no %s here", name, QUOTE(variable),
                            QUOTE(mode));
        converting_add(converting, "environment", "unset", json_string(variable));
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

static int convert_all(struct converting *converting, const json_t *root, struct error *error)
{
    const char *key, *inner;
    json_t *value, *part;
    int r = 0;

    if (!json_is_object(root))
        return converting_wrong(converting, "the whole", "an object", error);
    json_object_foreach((json_t *)(uintptr_t)root, key, value)
    {
        if (!is_group(key)) {
            r = convert_member(converting, key, value, error);
        } else if (!json_is_object(value)) {
            r = converting_wrong(converting, key, "an object", error);
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

int convert_srt(const char *file, const json_t *root, const char *directory, json_t **ret,
                struct strings *notes, struct error *error)
{
    struct converting converting = {.file = file, .whose = "srt", .directory = directory, .notes = notes};
    int r = converting_begin(&converting, error);

    if (r == 0)
        r = convert_all(&converting, root, error);
    return converting_end(&converting, r, ret, error);
}
