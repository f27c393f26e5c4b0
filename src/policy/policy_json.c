/*
 * policy_json.c - the strict reader of one policy file.
 *
 * Should:  refuse everything that it does not know, with file, line, column, and the key that was probably
 * meant; say the same about a value whether it is the first or the last in the file. Mustn't: skip a key,
 * convert a type, or let a file that the command can write do anything but narrow.
 *
 * `extends` is read before everything else in its file (the bases are weaker), `locked` after (a lock is for
 * later layers). All other keys come from the table in policy_keys.c.
 */
#include "policy/policy_files.h"
#include "policy/policy_keys.h"
#include "util/json.h"

#include <errno.h>
#include <sys/stat.h>

struct reading {
    struct policy *policy;
    struct document document;
    const struct reading_file *file;
    const char *name; /* kept by the policy */
    const char *base; /* directory of relative paths, NULL: the current one */
    struct error *error;
};

static const struct place top = {0};

static struct origin origin_at(struct reading *reading, const struct place *place, bool at_key)
{
    struct origin origin = {.layer = reading->file->layer, .file = reading->name};

    document_locate(&reading->document, place, at_key, &origin.line, &origin.column);
    return origin;
}

__attribute__((format(printf, 4, 5))) static int complain(struct reading *reading, const struct place *place,
                                                          bool at_key, const char *format, ...)
{
    struct origin origin = origin_at(reading, place, at_key);
    char text[700];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    return policy_refuse(reading->error, &origin, "policy-invalid", "%s", text);
}

static const char *type_name(const json_t *value)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array",  [JSON_STRING] = "a text",
        [JSON_INTEGER] = "a number", [JSON_REAL] = "a fraction", [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",      [JSON_NULL] = "null",
    };

    return names[json_typeof(value)];
}

static int wrong_type(struct reading *reading, const struct place *place, const char *name,
                      const char *wanted, const json_t *value)
{
    int result = complain(reading, place, false, "%s must be %s, not %s", name, wanted, type_name(value));

    if (json_is_real(value) && strchr(wanted, '.'))
        return error_hint(reading->error, "a fraction needs a unit, and so is a text: \"1.5m\"");
    return result;
}

/* A value as the text that an option would have: numbers and truth in JSON's own types. Return: NULL when the
 * type is wrong; BUFFER is used for numbers. */
static const char *value_text(const struct policy_key *key, const json_t *value, char *buffer, size_t size)
{
    bool number = key->kind == KIND_DURATION || key->kind == KIND_GRACE || key->kind == KIND_SIZE ||
                  key->kind == KIND_COUNT || key->kind == KIND_USER;

    if (key->kind == KIND_FLAG)
        return json_is_true(value) ? "true" : json_is_false(value) ? "false" : NULL;
    if (number && json_is_integer(value)) {
        snprintf(buffer, size, "%lld", (long long)json_integer_value(value));
        return buffer;
    }
    return json_string_value(value);
}

static int read_scalar(struct reading *reading, const struct policy_key *key, const struct place *place,
                       const json_t *value)
{
    char buffer[32];
    const char *text = value_text(key, value, buffer, sizeof(buffer));

    if (!text)
        return wrong_type(reading, place, key->name,
                          key->kind == KIND_FLAG ? "true or false"
                          : key->kind <= KIND_NAME || key->kind == KIND_TEXT || key->kind == KIND_PROXY ||
                                  key->kind == KIND_TMP
                              ? "a text"
                              : kind_expected(key->kind),
                          value);
    return policy_set(reading->policy, (enum key)key->scalar, text, reading->base,
                      origin_at(reading, place, false), reading->error);
}

/* What the object form of an item calls its value. */
static const char *item_word(enum kind kind)
{
    static const char *const words[KIND_TOTAL] = {
        [KIND_PATHS] = "path",     [KIND_SOCKETS] = "path",     [KIND_RULES] = "rule",
        [KIND_PORTS] = "port",     [KIND_SURFACES] = "surface", [KIND_DEMANDS] = "surface",
        [KIND_VARIABLES] = "name", [KIND_UNSET] = "name",
    };

    return words[kind];
}

/* {"path": …, "optional": …, "why": …} */
static int read_item_object(struct reading *reading, const struct policy_key *key, const struct place *place,
                            json_t *object, struct entry *entry)
{
    const char *word = item_word(key->kind), *name;
    bool paths = key->kind == KIND_PATHS || key->kind == KIND_SOCKETS;
    json_t *value;

    json_object_foreach(object, name, value)
    {
        struct place here = {.above = place, .key = name};
        struct nearest nearest = {.word = name};

        if (strcmp(name, word) == 0 || strcmp(name, "why") == 0) {
            if (!json_is_string(value) || !*json_string_value(value))
                return wrong_type(reading, &here, name, "a text that is not empty", value);
            *(name[0] == 'w' ? &entry->why : &entry->value) = (char *)(uintptr_t)json_string_value(value);
        } else if (paths && strcmp(name, "optional") == 0) {
            if (!json_is_boolean(value))
                return wrong_type(reading, &here, name, "true or false", value);
            entry->optional = json_is_true(value);
        } else {
            complain(reading, &here, true, "unknown key %s in an item of %s", QUOTE(name), key->name);
            nearest_try(&nearest, word);
            nearest_try(&nearest, "why");
            if (paths)
                nearest_try(&nearest, "optional");
            return nearest.best
                       ? error_hint(reading->error, "did you mean `%s`?", nearest.best)
                       : error_hint(reading->error, "it has %s%s and why", word, paths ? ", optional" : "");
        }
    }
    if (!entry->value)
        return complain(reading, place, false, "an item of %s has no `%s`", key->name, word);
    return 0;
}

static int read_item(struct reading *reading, const struct policy_key *key, const struct place *place,
                     json_t *item)
{
    struct entry entry = {.base = (char *)(uintptr_t)reading->base};
    int result;

    if (json_is_string(item))
        return policy_add(reading->policy, (enum list)key->list, json_string_value(item), reading->base,
                          origin_at(reading, place, false), reading->error);
    if (!json_is_object(item))
        return wrong_type(reading, place, key->name, "a list of texts or objects", item);
    result = read_item_object(reading, key, place, item, &entry);
    if (result < 0)
        return result;
    entry.origin = origin_at(reading, place, false);
    return policy_add_entry(reading->policy, (enum list)key->list, &entry, reading->error);
}

/* {"NAME": "VALUE", …} */
static int read_settings(struct reading *reading, const struct policy_key *key, const struct place *place,
                         json_t *object)
{
    const char *name;
    json_t *value;

    if (!json_is_object(object))
        return wrong_type(reading, place, key->name, "an object of names and texts", object);
    json_object_foreach(object, name, value)
    {
        struct place here = {.above = place, .key = name};
        _cleanup_free_ char *setting = NULL;
        int result;

        if (!json_is_string(value))
            return wrong_type(reading, &here, QUOTE(name), "a text", value);
        if (strchr(name, '='))
            return complain(reading, &here, true, "%s: %s is no name of a variable", key->name, QUOTE(name));
        if (asprintf(&setting, "%s=%s", name, json_string_value(value)) < 0) {
            setting = NULL;
            return error_no_memory(reading->error);
        }
        result = policy_add(reading->policy, (enum list)key->list, setting, NULL,
                            origin_at(reading, &here, true), reading->error);
        if (result < 0)
            return result;
    }
    return 0;
}

static int read_key(struct reading *reading, const struct policy_key *key, const struct place *place,
                    json_t *value)
{
    json_t *item;
    size_t i;

    if (key->list < 0)
        return read_scalar(reading, key, place, value);
    if (key->kind == KIND_SETTINGS)
        return read_settings(reading, key, place, value);
    if (!json_is_array(value))
        return wrong_type(reading, place, key->name, "a list", value);
    json_array_foreach(value, i, item)
    {
        struct place here = {.above = place, .index = i};
        int result = read_item(reading, key, &here, item);

        if (result < 0)
            return result;
    }
    return 0;
}

/* Every text of an array of texts. @each: NULL: they are only looked at. */
static int read_texts(struct reading *reading, const struct place *place, const char *name, json_t *array,
                      int (*each)(struct reading *, const struct place *, const char *))
{
    json_t *item;
    size_t i;

    if (!json_is_array(array))
        return wrong_type(reading, place, name, "a list of texts", array);
    json_array_foreach(array, i, item)
    {
        struct place here = {.above = place, .index = i};
        int result;

        if (!json_is_string(item))
            return wrong_type(reading, &here, name, "a list of texts", item);
        if (!*json_string_value(item))
            return complain(reading, &here, false, "%s: an empty text stands for nothing", name);
        result = each ? each(reading, &here, json_string_value(item)) : 0;
        if (result < 0)
            return result;
    }
    return 0;
}

/* The same, kept in @list. */
static int read_texts_into(struct reading *reading, const struct place *place, json_t *array,
                           struct strings *list)
{
    int result = read_texts(reading, place, place->key, array, NULL);

    for (size_t i = 0; result == 0 && i < json_array_size(array); i++)
        if (strings_add(list, json_string_value(json_array_get(array, i))) < 0)
            result = error_no_memory(reading->error);
    return result;
}

static int extend_by(struct reading *reading, const struct place *place, const char *name)
{
    struct origin origin = origin_at(reading, place, false);

    return policy_extend(reading->policy, name, reading->file, &origin, reading->error);
}

static int lock_key(struct reading *reading, const struct place *place, const char *name)
{
    return policy_lock(reading->policy, name, origin_at(reading, place, false), reading->error);
}

static int read_extends(struct reading *reading, const struct place *place, json_t *value)
{
    return read_texts(reading, place, "extends", value, extend_by);
}

static int read_locked(struct reading *reading, const struct place *place, json_t *value)
{
    return read_texts(reading, place, "locked", value, lock_key);
}

static int read_version(struct reading *reading, const struct place *place, json_t *value)
{
    if (json_is_integer(value) && json_integer_value(value) == 1)
        return 0;
    complain(reading, place, false, "policy must be 1, the version of the format");
    return error_hint(reading->error, "a later version needs a later confine");
}

static int read_schema(struct reading *reading, const struct place *place, json_t *value)
{
    return json_is_string(value) ? 0 : wrong_type(reading, place, "$schema", "a text", value);
}

/* One member of the runner; what it holds goes into @runner. */
static int read_runner_member(struct reading *reading, const struct place *place, json_t *value,
                              struct policy_runner *runner)
{
    static const char *const names[] = {"command", "failure_signatures", "runner_is_script"};
    struct nearest nearest = {.word = place->key};

    if (strcmp(place->key, "command") == 0)
        return read_texts_into(reading, place, value, &runner->command);
    if (strcmp(place->key, "failure_signatures") == 0)
        return read_texts_into(reading, place, value, &runner->failure_signatures);
    if (strcmp(place->key, "runner_is_script") == 0) {
        runner->is_script = json_is_true(value);
        return json_is_boolean(value) ? 0 : wrong_type(reading, place, place->key, "true or false", value);
    }
    complain(reading, place, true, "unknown key %s in runner", QUOTE(place->key));
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        nearest_try(&nearest, names[i]);
    return nearest.best ? error_hint(reading->error, "did you mean `%s`?", nearest.best) : -EINVAL;
}

/* A line is what a failure is looked for in: a text that spans lines is found in none. */
static int refuse_lines(struct reading *reading, const struct place *place, const struct strings *texts)
{
    for (size_t i = 0; i < texts->count; i++)
        if (strpbrk(texts->items[i], "\n\r") || texts->items[i][strspn(texts->items[i], " \t")] == '\0')
            return complain(reading, place, false, "a failure signature must be part of one line, not %s",
                            QUOTE(texts->items[i]));
    return 0;
}

static int read_runner(struct reading *reading, const struct place *place, json_t *object)
{
    struct policy_runner runner = {0};
    const char *name;
    json_t *value;
    int result = 0;

    if (!json_is_object(object))
        return wrong_type(reading, place, "runner", "an object", object);
    json_object_foreach(object, name, value)
    {
        struct place here = {.above = place, .key = name};

        result = read_runner_member(reading, &here, value, &runner);
        if (result < 0)
            break;
    }
    if (result == 0 && runner.command.count == 0)
        result = complain(reading, place, false, "runner has no `command`");
    if (result == 0)
        result = refuse_lines(reading, place, &runner.failure_signatures);
    if (result < 0) {
        policy_free_runner(&runner);
        return result;
    }
    runner.origin = origin_at(reading, place, true);
    return policy_set_runner(reading->policy, &runner, reading->error);
}

static int read_group(struct reading *reading, const struct place *place, json_t *object);

/* The keys that are no row of the table. `phase` orders them: 0 before everything, 2 after. */
static const struct special {
    const char *name;
    int (*read)(struct reading *, const struct place *, json_t *);
    int phase;
    bool narrows; /* may stand in the workspace's file */
} specials[] = {
    {"policy", read_version, 0, true},   {"$schema", read_schema, 0, true},
    {"extends", read_extends, 0, false}, {"network", read_group, 1, true},
    {"limits", read_group, 1, true},     {"environment", read_group, 1, false},
    {"runner", read_runner, 1, false},   {"locked", read_locked, 2, false},
};

static const struct special *find_special(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(specials); i++)
        if (strcmp(specials[i].name, name) == 0)
            return &specials[i];
    return NULL;
}

/* The part of a key's name that stands in the object GROUP, "" for the top; NULL for a key of another place.
 */
static const char *name_within(const struct policy_key *key, const char *group)
{
    size_t length = strlen(group);

    if (length == 0)
        return strchr(key->name, '.') ? NULL : key->name;
    return strncmp(key->name, group, length) == 0 && key->name[length] == '.' ? key->name + length + 1 : NULL;
}

static int refuse_unknown(struct reading *reading, const struct place *place, const char *group)
{
    const char *name = place->key, *inside = *group ? " in " : "";
    struct nearest nearest = {.word = name};

    complain(reading, place, true, "unknown key %s%s%s", QUOTE(name), inside, group);
    for (const struct policy_key *key = policy_keys; key->name; key++) {
        const char *within = name_within(key, group), *dot = strchr(key->name, '.');

        if (within && key->in_file)
            nearest_try(&nearest, within);
        if (!within && key->in_file && strcmp(dot ? dot + 1 : key->name, name) == 0)
            return error_hint(reading->error, "its place is %s%.*s", dot ? "inside " : "the top of the file",
                              dot ? (int)(dot - key->name) : 0, key->name);
        if (within && !key->in_file && strcmp(within, name) == 0)
            return error_hint(reading->error, "it is an option only: %s", key->option);
        if (key->in_file && key->option && strncmp(key->option, "--", 2) == 0 &&
            strcmp(key->option + 2, name) == 0)
            return error_hint(reading->error, "here the option %s is called %s", key->option, key->name);
    }
    for (size_t i = 0; !*group && i < ARRAY_SIZE(specials); i++)
        nearest_try(&nearest, specials[i].name);
    return nearest.best ? error_hint(reading->error, "did you mean `%s`?", nearest.best)
                        : error_hint(reading->error, "confine-policy(5) lists the keys");
}

static int refuse_widening(struct reading *reading, const struct place *place, const char *group)
{
    struct origin origin = origin_at(reading, place, true);

    policy_refuse(reading->error, &origin, "not-narrowing",
                  "%s%s%s may not stand here: a command can write this file, so it may only narrow", group,
                  *group ? "." : "", QUOTE(place->key));
    return error_hint(reading->error,
                      "it may hold hide, protect, network.mode, network.allow, limits and mode");
}

static int read_member(struct reading *reading, const char *group, const struct place *place, json_t *value)
{
    bool workspace = reading->file->layer == LAYER_WORKSPACE;
    char full[128];
    const struct policy_key *key;

    snprintf(full, sizeof(full), "%s%s%.100s", group, *group ? "." : "", place->key);
    key = policy_key_by_name(full);
    if (!key || !key->in_file || !name_within(key, group))
        return refuse_unknown(reading, place, group);
    if (workspace && key->narrow == NARROW_NEVER)
        return refuse_widening(reading, place, group);
    return read_key(reading, key, place, value);
}

/* A list makes the network a listed one. Beside another mode, one of the two is not what was meant. */
static int match_network(struct reading *reading, const struct place *place, const json_t *object)
{
    const json_t *mode = json_object_get(object, "mode"), *rules = json_object_get(object, "allow");
    struct place allow = {.above = place, .key = "allow"};
    struct origin origin = origin_at(reading, &allow, true);

    if (rules && !mode)
        return policy_set(reading->policy, KEY_NETWORK, "listed", NULL, origin, reading->error);
    if (json_array_size(rules) == 0 || strcmp(json_string_value(mode), "listed") == 0)
        return 0;
    policy_refuse(reading->error, &origin, "no-such-network",
                  "network.allow: it means nothing with the network %s", json_string_value(mode));
    return error_hint(reading->error, "leave `mode` out, or the rules");
}

static int read_group(struct reading *reading, const struct place *place, json_t *object)
{
    const char *name;
    json_t *value;

    if (!json_is_object(object))
        return wrong_type(reading, place, place->key, "an object", object);
    json_object_foreach(object, name, value)
    {
        struct place here = {.above = place, .key = name};
        int result = read_member(reading, place->key, &here, value);

        if (result < 0)
            return result;
    }
    return strcmp(place->key, "network") == 0 ? match_network(reading, place, object) : 0;
}

static int read_top(struct reading *reading, int phase)
{
    const char *name;
    json_t *value;

    json_object_foreach(reading->document.root, name, value)
    {
        struct place here = {.above = &top, .key = name};
        const struct special *special = find_special(name);
        int result = 0;

        if ((special ? special->phase : 1) != phase)
            continue;
        if (special && reading->file->layer == LAYER_WORKSPACE && !special->narrows)
            result = refuse_widening(reading, &here, "");
        else
            result = special ? special->read(reading, &here, value) : read_member(reading, "", &here, value);
        if (result < 0)
            return result;
    }
    return 0;
}

static int read_root(struct reading *reading)
{
    int result = 0;

    if (!json_is_object(reading->document.root))
        return wrong_type(reading, &top, "a policy", "an object", reading->document.root);
    if (!json_object_get(reading->document.root, "policy")) {
        complain(reading, &top, false, "the key `policy` is missing");
        return error_hint(reading->error, "a policy file begins with {\"policy\": 1");
    }
    for (int phase = 0; phase <= 2 && result == 0; phase++)
        result = read_top(reading, phase);
    return result;
}

int policy_read_open(struct policy *policy, int fd, struct reading_file *file, struct error *error)
{
    struct reading reading = {.policy = policy, .file = file, .error = error};
    _cleanup_free_ char *text = NULL, *base = NULL;
    size_t length = 0;
    struct stat status;
    int result;

    if (fstat(fd, &status) < 0)
        return error_set(error, ERROR_POLICY_INVALID, errno, "policy-unreadable", "%s: %s", QUOTE(file->name),
                         strerror(errno));
    file->device = status.st_dev;
    file->inode = status.st_ino;
    result = fd_read_all(fd, POLICY_BYTES, &text, &length);
    if (result == -EFBIG)
        return error_set(error, ERROR_POLICY_INVALID, EFBIG, "policy-unsafe", "%s is longer than 1 MiB",
                         QUOTE(file->name));
    if (result < 0)
        return error_set(error, ERROR_POLICY_INVALID, -result, "policy-unreadable", "%s: %s",
                         QUOTE(file->name), strerror(-result));
    reading.name = policy_keep(policy, file->name);
    base = file->name[0] == '/' ? strdup(file->name) : NULL;
    if (!reading.name || (file->name[0] == '/' && !base))
        return error_no_memory(error);
    if (base) {
        char *slash = strrchr(base, '/');

        slash[slash == base] = '\0'; /* the root keeps its own slash */
    }
    reading.base = base;
    result = document_parse(&reading.document, reading.name, text, length, error);
    if (result == 0)
        result = read_root(&reading);
    else if (error->code == ERROR_POLICY_INVALID && !*error->hint && file->layer != LAYER_WORKSPACE)
        error_hint(error, "a policy is JSON, without comments; see confine-policy(5)");
    document_free(&reading.document);
    return result;
}

int policy_read_file(struct policy *policy, int fd, const char *name, enum layer layer, struct error *error)
{
    struct reading_file file = {.name = name, .layer = layer};

    return policy_read_open(policy, fd, &file, error);
}
