/*
 * converting.c - a policy that is being made of somebody else's settings.
 *
 * Should:  make of each entry one of ours, or say why not.
 * Mustn't: make a policy that is wider than what it was made from without saying so.
 */
#include "policy/converting.h"

#include "policy/policy_rules.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int converting_begin(struct converting *converting, struct error *error)
{
    converting->policy = json_pack("{s:i}", "policy", 1);
    return converting->policy ? 0 : error_no_memory(error);
}

int converting_end(struct converting *converting, int result, json_t **ret, struct error *error)
{
    if (result == 0 && converting->relative)
        converting_note(converting, "relative paths were taken from %s", QUOTE(converting->directory));
    if (result == 0 && converting->failed)
        result = error_no_memory(error);
    if (result < 0) {
        json_decref(converting->policy);
        return result;
    }
    *ret = converting->policy;
    return 0;
}

void converting_note(struct converting *converting, const char *format, ...)
{
    va_list list;
    char line[1024];

    va_start(list, format);
    vsnprintf(line, sizeof(line), format, list);
    va_end(list);
    if (strings_add(converting->notes, line) < 0)
        converting->failed = -ENOMEM;
}

int converting_wrong(const struct converting *converting, const char *name, const char *what,
                     struct error *error)
{
    error_set(error, ERROR_POLICY_INVALID, EINVAL, "policy-invalid", "%s: %s must be %s",
              QUOTE(converting->file), name, what);
    return error_hint(error, "these are no settings that %s takes", converting->whose);
}

/* The object GROUP of the policy, or the policy. NULL without memory. */
static json_t *group_of(struct converting *converting, const char *group)
{
    json_t *there = group ? json_object_get(converting->policy, group) : converting->policy;

    if (there)
        return there;
    there = json_object();
    if (!there || json_object_set_new(converting->policy, group, there) != 0) {
        converting->failed = -ENOMEM;
        return NULL;
    }
    return there;
}

void converting_set(struct converting *converting, const char *group, const char *key, json_t *value)
{
    json_t *object = group_of(converting, group);

    if (!object)
        json_decref(value);
    else if (json_object_set_new(object, key, value) != 0)
        converting->failed = -ENOMEM;
}

void converting_add(struct converting *converting, const char *group, const char *key, json_t *value)
{
    json_t *object = group_of(converting, group), *list = object ? json_object_get(object, key) : NULL;

    if (object && !list) {
        list = json_array();
        if (json_object_set_new(object, key, list) != 0)
            list = NULL;
    }
    if (!list)
        json_decref(value);
    if (!list || json_array_append_new(list, value) != 0)
        converting->failed = -ENOMEM;
}

int converting_each(struct converting *converting, const char *name, const json_t *value, const char *key,
                    convert_text *one, struct error *error)
{
    const json_t *item;
    size_t i;

    if (!json_is_array(value))
        return converting_wrong(converting, name, "an array of texts", error);
    json_array_foreach(value, i, item)
    {
        if (!json_is_string(item))
            return converting_wrong(converting, name, "an array of texts", error);
        one(converting, name, json_string_value(item), key);
    }
    return 0;
}

/* --- paths
 * -------------------------------------------------------------------------------------------------- */

char *converting_full(struct converting *converting, const char *name, const char *path)
{
    size_t length = strlen(path);
    char *full;

    if (length > 3 && strcmp(path + length - 3, "/**") == 0)
        length -= 3;
    while (length > 1 && path[length - 1] == '/')
        length--;
    if (strcspn(path, "*?[") < length || length == 0) {
        converting_note(converting, "%s: %s is a pattern, and there are none here: name the paths", name,
                        QUOTE(path));
        return NULL;
    }
    if (path[0] == '/' || (path[0] == '~' && (length == 1 || path[1] == '/')))
        full = strndup(path, length);
    else if (length == 1 && path[0] == '.')
        full = strdup(converting->directory);
    else {
        size_t skip = path[0] == '.' && path[1] == '/' ? 2 : 0;
        _cleanup_free_ char *rest = strndup(path + skip, length - skip);

        full = rest ? text_join(converting->directory, "/", rest, NULL) : NULL;
    }
    if (path[0] != '/' && path[0] != '~')
        converting->relative = true;
    if (!full)
        converting->failed = -ENOMEM;
    return full;
}

/* Here a path that is named must be there; there it need not. */
void converting_path(struct converting *converting, const char *name, const char *text, const char *key)
{
    _cleanup_free_ char *path = converting_full(converting, name, text);

    if (path)
        converting_add(converting, NULL, key, json_pack("{s:s, s:b}", "path", path, "optional", 1));
}

void converting_writable(struct converting *converting, const char *name, const char *text, const char *key)
{
    _cleanup_free_ char *path = converting_full(converting, name, text);

    if (!path)
        return;
    converting_set(converting, NULL, "mode", json_string("workspace-write"));
    if (strcmp(path, "/tmp") == 0) {
        converting_note(
            converting,
            "%s: %s is left out: a command has a private /tmp here; --write %s opens the machine's", name,
            QUOTE(text), QUOTE(text));
        return;
    }
    if (strcmp(path, converting->directory) == 0 && !json_object_get(converting->policy, "workspace"))
        converting_set(converting, NULL, "workspace", json_string(path));
    else
        converting_add(converting, NULL, key, json_pack("{s:s, s:b}", "path", path, "optional", 1));
}

/* --- network
 * ------------------------------------------------------------------------------------------------ */

void converting_rule(struct converting *converting, const char *name, const char *text, const char *key)
{
    const char *why, *instead;
    struct rule rule;

    (void)key;
    if (rule_parse(text, &rule) && rule_useless(&rule, &why, &instead)) {
        converting_note(converting, "%s: %s is left out: %s (%s)", name, QUOTE(text), why, instead);
        return;
    }
    if (!rule_parse(text, &rule)) {
        converting_note(converting,
                        "%s: %s is left out: it is no rule here (confine-policy(5): an address needs a port)",
                        name, QUOTE(text));
        return;
    }
    converting_set(converting, "network", "mode", json_string("listed"));
    converting_add(converting, "network", "allow", json_string(text));
    if (!strchr(text, ':'))
        converting_note(converting, "%s: %s allows the ports 443 and 80 here, and every port there", name,
                        QUOTE(text));
}

bool converting_empty(const json_t *value)
{
    return json_is_false(value) || json_is_null(value) ||
           (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0);
}
