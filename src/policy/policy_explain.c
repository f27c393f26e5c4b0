/*
 * policy_explain.c - print a policy and the origin of everything in it.
 *
 * Should:  come from the table of keys, so that no key can be forgotten; print what is not in force as such.
 * Mustn't: print the value of a variable that looks like a secret; decide anything.
 */
#include "policy/policy_explain.h"

#include "policy/policy_keys.h"
#include "util/json.h"

#include <errno.h>

static const char *find_word(const struct policy_key *key, unsigned value)
{
    for (const struct word *word = key->words; word && word->name; word++)
        if (word->value == value)
            return word->name;
    return NULL;
}

/* The longest unit that divides AMOUNT. */
static void print_amount(struct text *text, uint64_t amount, const struct word *units)
{
    while (units->value > 1 && amount % units->value != 0)
        units++;
    text_addf(text, "%llu%s", (unsigned long long)(amount / units->value), units->name);
}

static void print_number(struct text *text, const struct policy_key *key, uint64_t number)
{
    static const struct word times[] = {{"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
    static const struct word sizes[] = {{"G", 1U << 30}, {"M", 1U << 20}, {"K", 1U << 10}, {"", 1}};
    static const struct word counts[] = {{"", 1}};

    if (number == 0 && key->kind != KIND_GRACE)
        text_add(text, "none");
    else if (number == 0)
        text_add(text, "0s");
    else
        print_amount(text, number, key->kind == KIND_SIZE ? sizes : key->kind == KIND_COUNT ? counts : times);
}

/* A scalar as an option would give it; what is not set is `none`. */
static void print_scalar(struct text *text, const struct policy *policy, const struct policy_key *key)
{
    const void *field = (const char *)policy + key->offset;
    const char *held;

    switch (key->kind) {
    case KIND_WORD:
        held = find_word(key, *(const unsigned *)field);
        text_add(text, held ? held : "none");
        break;
    case KIND_CHOICE:
        text_add(text, key->words[*(const bool *)field].name);
        break;
    case KIND_FLAG:
        text_add(text, *(const bool *)field ? "true" : "false");
        break;
    case KIND_NAME:
    case KIND_TEXT:
    case KIND_PROXY:
        held = *(char *const *)field;
        text_add(text, held ? held : key->kind == KIND_NAME ? key->words[0].name : "none");
        break;
    case KIND_TMP:
        held = find_word(key, policy->tmp);
        text_add(text, held ? held : policy->tmp_directory);
        break;
    case KIND_USER:
        held = find_word(key, policy->user);
        if (held)
            text_add(text, held);
        else
            text_addf(text, "%u", policy->user_id);
        break;
    case KIND_DIMENSIONS:
        if (policy->columns)
            text_addf(text, "%ux%u", policy->columns, policy->rows);
        else
            text_add(text, "none");
        break;
    default:
        print_number(text, key, *(const uint64_t *)field);
    }
}

/* An entry's value as it may be shown. */
static void print_value(struct text *text, const struct policy_key *key, const struct entry *entry)
{
    int length = (int)strcspn(entry->value, "=");
    _cleanup_free_ char *name = NULL;

    if (key->kind == KIND_SETTINGS) {
        if (asprintf(&name, "%.*s", length, entry->value) < 0) {
            name = NULL;
            text->failed = true;
            return;
        }
        if (secret_name(name, (size_t)length)) {
            text_addf(text, "%s=(not shown)", name);
            return;
        }
    }
    text_addf(text, "%s%s", entry->remove ? "!" : "", entry->value);
}

static void print_line(struct text *text, const char *name, const char *value, const struct origin *origin)
{
    text_addf(text, "%-19s %-28s %s", name, QUOTE(value), WHERE(origin));
}

static bool is_locked(const struct policy *policy, const struct policy_key *key)
{
    return key->list < 0 ? policy->locked >> key->scalar & 1 : policy->locked_lists >> key->list & 1;
}

static void print_lock(struct text *text, const struct policy *policy, const struct policy_key *key)
{
    size_t lock = key->list < 0 ? (size_t)key->scalar : KEY_COUNT + (size_t)key->list;
    bool alone = key->list >= 0 && policy->list[key->list].count == 0; /* no line above it has the name */

    if (is_locked(policy, key))
        text_addf(text, "%-19s %-28s %s\n", alone ? key->name : "", "(locked)", WHERE(&policy->lock[lock]));
}

static void print_list(struct text *text, const struct policy *policy, const struct policy_key *key)
{
    const struct entries *entries = &policy->list[key->list];

    for (size_t i = 0; i < entries->count; i++) {
        const struct entry *entry = &entries->items[i];
        struct text value = {0};

        print_value(&value, key, entry);
        print_line(text, key->name, value.failed || !value.data ? "" : value.data, &entry->origin);
        text->failed = text->failed || value.failed;
        text_free(&value);
        if (entry->optional)
            text_add(text, ", if it exists");
        if (entry->remove)
            text_add(text, ", takes the set away");
        else if (!entry_in_force(entries, i))
            text_add(text, ", taken away later");
        if (entry->why)
            text_addf(text, " (%s)", QUOTE(entry->why));
        text_add(text, "\n");
    }
}

/* Is SET used anywhere, in force or not? */
static bool is_used(const struct policy *policy, const struct set *set)
{
    for (size_t list = 0; list < LIST_COUNT; list++)
        for (size_t i = 0; i < policy->list[list].count; i++)
            if (strcmp(policy->list[list].items[i].value, set->name) == 0)
                return true;
    return policy->readable_listed && strcmp(set->name, "@system") == 0;
}

void explain_sets(const struct policy *policy, struct text *text)
{
    for (const struct set *set = policy_sets; set->name; set++) {
        if (!is_used(policy, set))
            continue;
        text_addf(text, "\n%s: %s\n", set->name, set->what);
        for (const struct set_item *item = set->items; item->value; item++)
            text_addf(text, "    %-44s %s%s\n", item->value, item->why, item->root_only ? " (for root)" : "");
    }
}

/* The words of the runner, where one is named; what it is called is no secret. */
static void print_runner(struct text *text, const struct policy_runner *runner)
{
    struct text words = {0};

    for (size_t i = 0; i < runner->command.count; i++)
        text_addf(&words, "%s%s", i > 0 ? " " : "", runner->command.items[i]);
    if (runner->command.count > 0) {
        print_line(text, "runner", words.failed || !words.data ? "" : words.data, &runner->origin);
        text_addf(text, "%s\n", runner->is_script ? ", may be a script" : "");
    }
    if (runner->locked)
        text_addf(text, "%-19s %-28s %s\n", runner->command.count > 0 ? "" : "runner", "(locked)",
                  WHERE(&runner->lock));
    text->failed = text->failed || words.failed;
    text_free(&words);
}

void explain_policy(const struct policy *policy, struct text *text)
{
    for (size_t i = 0; i < policy->files.count; i++)
        text_addf(text, "%-19s %s\n", "file", QUOTE(policy->files.items[i]));
    for (const struct policy_key *key = policy_keys; key->name; key++) {
        if (key->list < 0) {
            struct text value = {0};

            print_scalar(&value, policy, key);
            print_line(text, key->name, value.failed || !value.data ? "" : value.data,
                       &policy->origin[key->scalar]);
            text_add(text, "\n");
            text->failed = text->failed || value.failed;
            text_free(&value);
        } else {
            print_list(text, policy, key);
        }
        print_lock(text, policy, key);
    }
    print_runner(text, &policy->runner);
}

static int put_origin(json_t *object, const struct origin *origin)
{
    json_t *from = json_object();
    int failed = !from || value_set_text(from, "layer", layer_name(origin->layer)) < 0;

    if (!failed && origin->file) {
        failed = value_set_path(from, "file", origin->file) < 0 ||
                 json_object_set_new(from, "line", json_integer(origin->line)) != 0 ||
                 json_object_set_new(from, "column", json_integer(origin->column)) != 0;
    }
    if (!failed && origin->option)
        failed = value_set_text(from, "option", origin->option) < 0;
    if (json_object_set_new(object, "from", from) != 0 || failed)
        return -ENOMEM;
    return 0;
}

static json_t *make_scalar(const struct policy *policy, const struct policy_key *key)
{
    json_t *object = json_object();
    struct text value = {0};
    int failed;

    print_scalar(&value, policy, key);
    failed = value.failed || !object || value_set_path(object, "value", value.data ? value.data : "") < 0 ||
             put_origin(object, &policy->origin[key->scalar]) < 0 ||
             json_object_set_new(object, "locked", json_boolean(is_locked(policy, key))) != 0;
    text_free(&value);
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *make_entry(const struct entries *entries, size_t i, const struct policy_key *key)
{
    const struct entry *entry = &entries->items[i];
    json_t *object = json_object();
    struct text value = {0};
    int failed;

    print_value(&value, key, entry);
    failed = value.failed || !object || value_set_path(object, "value", value.data ? value.data : "") < 0 ||
             (entry->base && value_set_path(object, "base", entry->base) < 0) ||
             json_object_set_new(object, "optional", json_boolean(entry->optional)) != 0 ||
             json_object_set_new(object, "in_force", json_boolean(entry_in_force(entries, i))) != 0 ||
             value_set_text(object, "why", entry->why) < 0 || put_origin(object, &entry->origin) < 0;
    text_free(&value);
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *make_list(const struct policy *policy, const struct policy_key *key)
{
    const struct entries *entries = &policy->list[key->list];
    json_t *array = json_array();

    for (size_t i = 0; array && i < entries->count; i++)
        if (json_array_append_new(array, make_entry(entries, i, key)) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *make_strings(const struct strings *strings)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < strings->count; i++) {
        json_t *object = json_object();

        if (!object || value_set_path(object, "path", strings->items[i]) < 0 ||
            json_array_append(array, object) != 0) {
            json_decref(object);
            json_decref(array);
            return NULL;
        }
        json_decref(object);
    }
    return array;
}

static json_t *make_sets(void)
{
    json_t *sets = json_object();

    for (const struct set *set = policy_sets; sets && set->name; set++) {
        json_t *items = json_array();

        for (const struct set_item *item = set->items; items && item->value; item++)
            if (json_array_append_new(items, json_pack("{s:s, s:s, s:b}", "value", item->value, "why",
                                                       item->why, "root_only", (int)item->root_only)) != 0) {
                json_decref(items);
                items = NULL;
            }
        if (json_object_set_new(sets, set->name,
                                json_pack("{s:s, s:o}", "what", set->what, "items", items)) != 0) {
            json_decref(sets);
            return NULL;
        }
    }
    return sets;
}

static const char *const grant_names[] = {
    [GRANT_NONE] = "none",     [GRANT_READ] = "read",     [GRANT_WRITE] = "write",
    [GRANT_DEVICE] = "device", [GRANT_SOCKET] = "socket", [GRANT_SHOW] = "show",
};

/* Who asked for it, as `from`. */
static int put_source(json_t *object, const struct resolved *resolved, const struct source *source)
{
    struct text text = {0};
    int result;

    resolved_source(resolved, source, &text);
    result = text.failed ? -ENOMEM : value_set_text(object, "from", text.data);
    text_free(&text);
    return result;
}

void explain_grants_write(const struct resolved *resolved, struct writer *writer, const char *key)
{
    struct text source = {0};

    writer_array(writer, key);
    for (size_t i = 0; resolved && i < resolved->path_count; i++) {
        const struct resolved_path *path = &resolved->paths[i];

        if (path->grant == GRANT_NONE)
            continue;
        writer_object(writer, NULL);
        writer_path(writer, "path", path->path);
        writer_text(writer, "grant", grant_names[path->grant]);
        writer_bool(writer, "named", path->named);
        source.length = 0;
        resolved_source(resolved, &path->source, &source);
        writer_text(writer, "from", source.length ? source.data : "");
        writer_end(writer);
    }
    writer_end(writer);
    writer->text.failed |= source.failed;
    text_free(&source);
}

json_t *explain_grants(const struct resolved *resolved)
{
    struct writer writer = {0};

    explain_grants_write(resolved, &writer, NULL);
    return writer_value(&writer);
}

static json_t *make_hidden(const struct resolved *resolved)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < resolved->hidden_count; i++) {
        const struct hidden *hidden = &resolved->hidden[i];
        json_t *object = json_object();

        if (!object || value_set_path(object, "path", hidden->path) < 0 ||
            json_object_set_new(object, "named", json_boolean(hidden->named)) != 0 ||
            json_object_set_new(object, "held", json_boolean(!hidden->held)) != 0 ||
            value_set_text(object, "reason", hidden->held) < 0 ||
            put_source(object, resolved, &hidden->source) < 0 || json_array_append(array, object) != 0) {
            json_decref(object);
            json_decref(array);
            return NULL;
        }
        json_decref(object);
    }
    return array;
}

static json_t *make_protected(const struct resolved *resolved)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < resolved->protected_paths.count; i++) {
        json_t *object = json_object();

        if (!object || value_set_path(object, "path", resolved->protected_paths.items[i]) < 0 ||
            put_source(object, resolved, &resolved->protected_by[i]) < 0 ||
            json_array_append(array, object) != 0) {
            json_decref(object);
            json_decref(array);
            return NULL;
        }
        json_decref(object);
    }
    return array;
}

static json_t *make_skipped(const struct resolved *resolved)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < resolved->skipped_count; i++) {
        json_t *object = json_object();

        if (!object || value_set_text(object, "what", resolved->skipped[i].what) < 0 ||
            value_set_text(object, "why", resolved->skipped[i].why) < 0 ||
            json_array_append(array, object) != 0) {
            json_decref(object);
            json_decref(array);
            return NULL;
        }
        json_decref(object);
    }
    return array;
}

static json_t *make_resolved(const struct resolved *resolved)
{
    json_t *object = json_object();

    if (object && value_set_text(object, "mode", mode_name(resolved->mode)) == 0 &&
        value_set_path(object, "workspace", resolved->workspace) == 0 &&
        value_set_path(object, "cwd", resolved->cwd) == 0 &&
        json_object_set_new(object, "uid", json_integer(resolved->uid)) == 0 &&
        json_object_set_new(object, "grants", explain_grants(resolved)) == 0 &&
        json_object_set_new(object, "hidden", make_hidden(resolved)) == 0 &&
        json_object_set_new(object, "protected", make_protected(resolved)) == 0 &&
        json_object_set_new(object, "skipped", make_skipped(resolved)) == 0)
        return object;
    json_decref(object);
    return NULL;
}

/* Null where none is named. */
static json_t *make_runner(const struct policy_runner *runner)
{
    json_t *object;

    if (runner->command.count == 0)
        return json_null();
    object = json_object();
    if (object && json_object_set_new(object, "command", value_strings(&runner->command)) == 0 &&
        json_object_set_new(object, "failure_signatures", value_strings(&runner->failure_signatures)) == 0 &&
        json_object_set_new(object, "runner_is_script", json_boolean(runner->is_script)) == 0 &&
        json_object_set_new(object, "locked", json_boolean(runner->locked)) == 0 &&
        put_origin(object, &runner->origin) == 0)
        return object;
    json_decref(object);
    return NULL;
}

int explain_policy_json(const struct policy *policy, const struct resolved *resolved, struct text *text)
{
    json_t *root = json_object();
    int failed = !root || value_set_text(root, "schema", "confine/policy-explained/1") < 0 ||
                 json_object_set_new(root, "files", make_strings(&policy->files)) != 0;

    for (const struct policy_key *key = policy_keys; key->name && !failed; key++)
        failed = json_object_set_new(root, key->name,
                                     key->list < 0 ? make_scalar(policy, key) : make_list(policy, key)) != 0;
    if (!failed)
        failed = json_object_set_new(root, "runner", make_runner(&policy->runner)) != 0;
    if (!failed && resolved)
        failed = json_object_set_new(root, "resolved", make_resolved(resolved)) != 0;
    if (!failed)
        failed = json_object_set_new(root, "sets", make_sets()) != 0;
    if (!failed) {
        text_add_json(text, root);
        text_add(text, "\n");
    }
    json_decref(root);
    return failed || text->failed ? -ENOMEM : 0;
}
