/*
 * test-policy-schema.c - the schema and the table of keys say the same.
 */
#define CONFINE_MAY_READ_ENVIRONMENT /* CONFINE_SOURCE: where the schema is */
#include "harness.h"

#include "policy/policy_keys.h"

#include <jansson.h>

static json_t *load_schema(void)
{
    const char *source = getenv("CONFINE_SOURCE");
    char path[PATH_MAX + 64];
    json_error_t seen;
    json_t *schema;

    snprintf(path, sizeof(path), "%s/docs/policy.schema.json", source ? source : ".");
    schema = json_load_file(path, JSON_REJECT_DUPLICATES, &seen);
    if (!schema)
        test_note("%s:%d: %s", path, seen.line, seen.text);
    need(json_is_object(schema));
    return schema;
}

/* The schema of KEY, NULL if there is none. */
static json_t *find_property(json_t *schema, const char *key)
{
    const char *dot = strchr(key, '.');
    json_t *properties = json_object_get(schema, "properties");
    char group[32];

    if (!dot)
        return json_object_get(properties, key);
    snprintf(group, sizeof(group), "%.*s", (int)(dot - key), key);
    return json_object_get(json_object_get(json_object_get(properties, group), "properties"), dot + 1);
}

static bool has_words(const json_t *property, const struct word *words)
{
    const json_t *list = json_object_get(property, "enum");
    size_t count = 0;

    for (; words[count].name; count++)
        if (!json_is_string(json_array_get(list, count)) ||
            strcmp(json_string_value(json_array_get(list, count)), words[count].name) != 0)
            return false;
    return json_array_size(list) == count;
}

TEST(every_key_of_the_table_is_in_the_schema)
{
    static const char *const types[KIND_TOTAL] = {
        [KIND_FLAG] = "boolean", [KIND_TEXT] = "string", [KIND_PROXY] = "string", [KIND_TMP] = "string"};
    json_t *schema = load_schema();

    for (const struct policy_key *key = policy_keys; key->name; key++) {
        json_t *property = find_property(schema, key->name);
        const char *reference = json_string_value(json_object_get(property, "$ref"));
        const char *type = json_string_value(json_object_get(property, "type"));
        bool good = key->in_file == (property != NULL);

        if (good && property &&
            (key->kind == KIND_WORD || key->kind == KIND_CHOICE || key->kind == KIND_NAME))
            good = has_words(property, key->words);
        else if (good && property && types[key->kind])
            good = type && strcmp(type, types[key->kind]) == 0;
        else if (good && property && key->kind == KIND_DURATION)
            good = reference && strcmp(reference, "#/$defs/duration") == 0;
        else if (good && property && key->kind == KIND_SIZE)
            good = reference && strcmp(reference, "#/$defs/size") == 0;
        else if (good && property && key->list >= 0)
            good = type && strcmp(type, key->kind == KIND_SETTINGS ? "object" : "array") == 0;
        if (!check(good))
            test_note("%s", key->name);
    }
    json_decref(schema);
}

static size_t count_unknown(json_t *properties, const char *group)
{
    static const char *const others[] = {"policy", "$schema", "extends", "locked", "runner"};
    size_t unknown = 0;
    const char *name;
    json_t *property;

    json_object_foreach(properties, name, property)
    {
        bool known = false;
        char full[64];

        snprintf(full, sizeof(full), "%s%s%s", group, *group ? "." : "", name);
        for (size_t i = 0; !*group && i < ARRAY_SIZE(others); i++)
            known = known || strcmp(others[i], name) == 0;
        if (!*group && (strcmp(name, "network") == 0 || strcmp(name, "environment") == 0 ||
                        strcmp(name, "limits") == 0)) {
            unknown += count_unknown(json_object_get(property, "properties"), name);
            unknown += !json_is_false(json_object_get(property, "additionalProperties"));
            known = true;
        }
        if (!known && !policy_key_by_name(full)) {
            test_note("%s is not in the table", full);
            unknown++;
        }
    }
    return unknown;
}

TEST(the_schema_has_no_other_key)
{
    json_t *schema = load_schema();

    check(json_object_size(json_object_get(schema, "properties")) > 20);
    check_int(count_unknown(json_object_get(schema, "properties"), ""), 0);
    check(json_is_false(json_object_get(schema, "additionalProperties")));
    check_str(json_string_value(json_array_get(json_object_get(schema, "required"), 0)), "policy");
    json_decref(schema);
}
