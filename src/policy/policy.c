/*
 * policy.c - a policy in memory: the built-in layer, the values of single keys, locks. Lists are in
 * policy_lists.c.
 *
 * Should:  let the later layer win; remember who asked for it; say which file locked a key.
 * Mustn't: change anything when a value is refused; treat a default as named.
 *
 * Layers come weakest first; the order of calls is the order of the layers.
 */
#include "policy/policy.h"

#include "policy/policy_keys.h"
#include "policy/policy_rules.h"

#include <errno.h>
#include <stddef.h>

_Static_assert(sizeof(enum mode) == sizeof(unsigned), "KIND_WORD stores enums as unsigned");
_Static_assert(KEY_COUNT <= 64 && LIST_COUNT <= 64, "locks are bits");

const char *policy_keep(struct policy *policy, const char *text)
{
    for (size_t i = 0; i < policy->store.count; i++)
        if (strcmp(policy->store.items[i], text) == 0)
            return policy->store.items[i];
    if (strings_add(&policy->store, text) < 0)
        return NULL;
    return policy->store.items[policy->store.count - 1];
}

int policy_init(struct policy *policy, struct error *error)
{
    static const struct {
        enum list list;
        const char *set;
    } sets[] = {{LIST_HIDE, "@credentials"}, {LIST_PROTECT, "@runs-later"}, {LIST_ENV_UNSET, "@secrets"}};
    const struct origin builtin = {.layer = LAYER_BUILTIN};

    *policy = (struct policy){.mode = MODE_READ_ONLY, .grace_ms = 3000};
    for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
        int result = policy_add(policy, sets[i].list, sets[i].set, NULL, builtin, error);

        if (result < 0) {
            policy_free(policy);
            return result;
        }
    }
    return 0;
}

void policy_free(struct policy *policy)
{
    for (size_t i = 0; i < LIST_COUNT; i++) {
        for (size_t j = 0; j < policy->list[i].count; j++) {
            free(policy->list[i].items[j].value);
            free(policy->list[i].items[j].base);
            free(policy->list[i].items[j].why);
        }
        free(policy->list[i].items);
    }
    free(policy->workspace);
    free(policy->workspace_base);
    free(policy->chdir);
    free(policy->tmp_directory);
    free(policy->backend);
    free(policy->upstream);
    free(policy->passwd);
    policy_free_runner(&policy->runner);
    strings_free(&policy->files);
    strings_free(&policy->warnings);
    strings_free(&policy->store);
    *policy = (struct policy){0};
}

/* DIGITS[.DIGITS]UNIT times the unit's weight. The rest of a fraction is dropped. */
static int parse_scaled(const char *text, const struct word *units, uint64_t most, uint64_t *ret_value)
{
    uint64_t whole = 0, part = 0, scale = 1, weight = 0;
    size_t digits = strspn(text, "0123456789"), parts;

    if (digits == 0)
        return -EINVAL;
    for (size_t i = 0; i < digits; i++) {
        whole = whole * 10 + (uint64_t)(text[i] - '0');
        if (whole > most)
            return -ERANGE;
    }
    text += digits;
    if (*text == '.') {
        parts = strspn(++text, "0123456789");
        if (parts == 0 || parts > 6)
            return -EINVAL;
        for (size_t i = 0; i < parts; i++, scale *= 10)
            part = part * 10 + (uint64_t)(text[i] - '0');
        text += parts;
        if (*text == '\0')
            return -EINVAL; /* half a second or half a byte? */
    }
    for (; units->name; units++)
        if (strcmp(units->name, text) == 0)
            weight = units->value;
    if (weight == 0)
        return -EINVAL;
    if (whole > most / weight || whole * weight + part * weight / scale > most)
        return -ERANGE;
    *ret_value = whole * weight + part * weight / scale;
    return 0;
}

int parse_duration(const char *text, uint64_t *ret_ms)
{
    static const struct word units[] = {{"", 1000},   {"ms", 1},      {"s", 1000},
                                        {"m", 60000}, {"h", 3600000}, {NULL, 0}};

    return parse_scaled(text, units, INT64_MAX / 1000000, ret_ms); /* fits when counted in nanoseconds */
}

int parse_size(const char *text, uint64_t *ret_bytes)
{
    static const struct word units[] = {
        {"", 1}, {"K", 1U << 10}, {"M", 1U << 20}, {"G", 1U << 30}, {NULL, 0}};

    return parse_scaled(text, units, INT64_MAX, ret_bytes);
}

/* A value on its way into a policy: everything is known to be good before anything is changed. */
struct value {
    unsigned word, second;
    uint64_t number;
    const char *text; /* NULL: none */
};

static bool read_word(const struct policy_key *key, const char *text, struct value *ret)
{
    for (const struct word *word = key->words; word->name; word++)
        if (strcmp(word->name, text) == 0) {
            ret->word = word->value;
            ret->text = word == key->words ? NULL : text;
            return true;
        }
    return false;
}

static bool read_flag(const struct policy_key *key, const char *text, struct value *ret)
{
    (void)key;
    ret->word = strcmp(text, "true") == 0;
    return ret->word || strcmp(text, "false") == 0;
}

static bool read_text(const struct policy_key *key, const char *text, struct value *ret)
{
    ret->text = text;
    return key->kind == KIND_PROXY ? proxy_valid(text) : *text != '\0';
}

static bool read_duration(const struct policy_key *key, const char *text, struct value *ret)
{
    return parse_duration(text, &ret->number) == 0 && (key->kind == KIND_GRACE || ret->number > 0);
}

static bool read_size(const struct policy_key *key, const char *text, struct value *ret)
{
    (void)key;
    return parse_size(text, &ret->number) == 0 && ret->number > 0;
}

bool parse_number(const char *text, uint64_t most, uint64_t *ret_number)
{
    static const struct word units[] = {{"", 1}, {NULL, 0}};

    return (text[0] != '0' || text[1] == '\0') && !strchr(text, '.') &&
           parse_scaled(text, units, most, ret_number) == 0;
}

static bool read_count(const struct policy_key *key, const char *text, struct value *ret)
{
    (void)key;
    return parse_number(text, INT32_MAX, &ret->number) && ret->number > 0;
}

static bool read_tmp(const struct policy_key *key, const char *text, struct value *ret)
{
    bool word = read_word(key, text, ret);

    ret->text = word ? NULL : text;
    ret->word = word ? ret->word : TMP_DIRECTORY;
    return word || strchr(text, '/') || text[0] == '~' ||
           text[0] == '.'; /* a bare word is a typing mistake */
}

static bool read_user(const struct policy_key *key, const char *text, struct value *ret)
{
    if (read_word(key, text, ret))
        return true;
    ret->word = USER_ID;
    return parse_number(text, UINT32_MAX - 1,
                        &ret->number); /* the last one means "no change" to the kernel */
}

static bool read_dimensions(const struct policy_key *key, const char *text, struct value *ret)
{
    size_t digits = strspn(text, "0123456789");
    char columns[8];
    uint64_t number, rows;

    (void)key;
    if (digits == 0 || digits >= sizeof(columns) || text[digits] != 'x')
        return false;
    snprintf(columns, sizeof(columns), "%.*s", (int)digits, text);
    if (!parse_number(columns, UINT16_MAX, &number) || !parse_number(text + digits + 1, UINT16_MAX, &rows))
        return false;
    ret->word = (unsigned)number;
    ret->second = (unsigned)rows;
    return ret->word > 0 && ret->second > 0;
}

static bool (*const readers[KIND_TOTAL])(const struct policy_key *, const char *, struct value *) = {
    [KIND_NONE] = NULL,           [KIND_PROXY] = read_text,
    [KIND_WORD] = read_word,      [KIND_CHOICE] = read_word,
    [KIND_NAME] = read_word,      [KIND_FLAG] = read_flag,
    [KIND_TEXT] = read_text,      [KIND_DURATION] = read_duration,
    [KIND_GRACE] = read_duration, [KIND_SIZE] = read_size,
    [KIND_COUNT] = read_count,    [KIND_TMP] = read_tmp,
    [KIND_USER] = read_user,      [KIND_DIMENSIONS] = read_dimensions,
};

/* Replaces the text in PLACE by a copy of TEXT below BASE. Return: 0 or -ENOMEM, then nothing has changed. */
static int replace_text(char **place, const char *text, const char *base)
{
    char *copy = NULL;

    if (text && base && !strchr("/~$@", text[0])) {
        if (asprintf(&copy, "%s/%s", base, text) < 0)
            return -ENOMEM;
    } else if (text) {
        copy = strdup(text);
        if (!copy)
            return -ENOMEM;
    }
    free(*place);
    *place = copy;
    return 0;
}

static int store_value(struct policy *policy, const struct policy_key *key, const struct value *value,
                       const char *base)
{
    void *field = (char *)policy + key->offset;

    switch (key->kind) {
    case KIND_WORD:
        *(unsigned *)field = value->word;
        return 0;
    case KIND_CHOICE:
    case KIND_FLAG:
        *(bool *)field = value->word;
        return 0;
    case KIND_NAME:
    case KIND_PROXY:
    case KIND_TEXT:
        if (key->scalar == KEY_WORKSPACE && replace_text(&policy->workspace_base, base, NULL) < 0)
            return -ENOMEM;
        return replace_text(field, value->text, NULL);
    case KIND_TMP:
        if (replace_text(&policy->tmp_directory, value->text, base) < 0)
            return -ENOMEM;
        policy->tmp = (enum tmp)value->word;
        return 0;
    case KIND_USER:
        policy->user = (enum user)value->word;
        policy->user_id = (unsigned)value->number;
        return 0;
    case KIND_DIMENSIONS:
        policy->columns = value->word;
        policy->rows = value->second;
        return 0;
    default:
        *(uint64_t *)field = value->number;
        return 0;
    }
}

/* `memory`, for the one option that has all limits; else empty. */
static const char *limit_name(const struct policy_key *key, const struct origin *origin)
{
    static const char group[] = "limits.";

    return origin->option && strcmp(origin->option, "--limit") == 0 &&
                   strncmp(key->name, group, sizeof(group) - 1) == 0
               ? key->name + sizeof(group) - 1
               : "";
}

/* `1.5`: of what? */
static bool is_bare_fraction(const struct policy_key *key, const char *text)
{
    size_t digits = strspn(text, "0123456789.");

    return (key->kind == KIND_DURATION || key->kind == KIND_GRACE || key->kind == KIND_SIZE) && digits > 0 &&
           text[digits] == '\0' && strchr(text, '.');
}

static int refuse_value(const struct policy_key *key, const struct origin *origin, const char *text,
                        struct error *error)
{
    const char *limit = limit_name(key, origin);
    bool secret = key->kind == KIND_PROXY && strchr(text, '@');
    struct nearest nearest = {.word = text};
    struct text words = {0};

    for (const struct word *word = key->words; word && word->name; word++) {
        if (key->kind == KIND_NAME && word->value == WORD_RESERVED)
            continue;
        nearest_try(&nearest, word->name);
        text_addf(&words, "%s%s", words.length ? ", " : "one of ", word->name);
    }
    policy_refuse(error, origin, "bad-value", "%s%s%s%s%s is not %s", NAME_BEFORE(key, origin), limit,
                  *limit ? "=" : "", secret ? "the URL (it has a password)" : QUOTE(text),
                  key->words && key->kind <= KIND_NAME && words.data ? words.data : kind_expected(key->kind));
    text_free(&words);
    if (nearest.best)
        error_hint(error, "did you mean `%s`?", nearest.best);
    else if (is_bare_fraction(key, text))
        error_hint(error, "a fraction needs a unit: %s%s", text, key->kind == KIND_SIZE ? "G" : "s");
    return -EINVAL;
}

void policy_say_file(struct error *error, const struct origin *origin)
{
    size_t length = strlen(error->message);

    if (origin && origin->file)
        snprintf(error->message + length, sizeof(error->message) - length, "; %s asks for it", WHERE(origin));
}

int policy_refuse_locked(const struct policy *policy, const char *name, size_t lock,
                         const struct origin *origin, struct error *error)
{
    policy_refuse(error, origin, "locked", "%s is locked by %s", name, WHERE(&policy->lock[lock]));
    return error_hint(error, "leave %s as it is, or change that file", name);
}

/* Does the policy hold exactly this value already? Then a lock is not touched. */
static bool holds_value(const struct policy *policy, const struct policy_key *key, const struct value *value)
{
    const void *field = (const char *)policy + key->offset;

    if (key->kind == KIND_WORD)
        return *(const unsigned *)field == value->word;
    if (key->kind == KIND_CHOICE || key->kind == KIND_FLAG)
        return *(const bool *)field == (value->word != 0);
    if (key->kind == KIND_NAME) {
        const char *held = *(char *const *)field;

        return held && value->text ? strcmp(held, value->text) == 0 : !held && !value->text;
    }
    return false;
}

int policy_set(struct policy *policy, enum key key, const char *value, const char *base, struct origin origin,
               struct error *error)
{
    const struct policy_key *row = policy_key_of(key);
    struct value read = {0};

    if (!row || !readers[row->kind])
        return error_set(error, ERROR_INTERNAL, 0, "no-such-key", "key %d is not in the table", (int)key);
    if (!readers[row->kind](row, value, &read))
        return refuse_value(row, &origin, value, error);
    if (policy->locked >> key & 1 && !holds_value(policy, row, &read))
        return policy_refuse_locked(policy, row->name, key, &origin, error);
    if (key == KEY_APPROVED_MODE && policy->locked >> KEY_MODE & 1) /* the same by another name */
        return policy_refuse_locked(policy, key_name(KEY_MODE), KEY_MODE, &origin, error);
    if (store_value(policy, row, &read, base) < 0)
        return error_no_memory(error);
    policy->origin[key] = origin;
    return 0;
}

static void lock_key(struct policy *policy, const struct policy_key *key, const struct origin *origin)
{
    size_t lock = key->list < 0 ? (size_t)key->scalar : KEY_COUNT + (size_t)key->list;

    if (key->list < 0)
        policy->locked |= 1ULL << key->scalar;
    else
        policy->locked_lists |= 1ULL << key->list;
    if (!policy->lock[lock].file) /* the first one to lock is the one to ask */
        policy->lock[lock] = *origin;
}

int policy_lock(struct policy *policy, const char *name, struct origin origin, struct error *error)
{
    struct nearest nearest = {.word = name};
    size_t length = strlen(name);
    bool found = false;

    if (strcmp(name, "runner") == 0) { /* no row of the table: it is no scalar and no list */
        policy->runner.lock = policy->runner.locked ? policy->runner.lock : origin;
        policy->runner.locked = true;
        return 0;
    }
    for (const struct policy_key *row = policy_keys; row->name; row++) {
        if (!row->in_file)
            continue;
        nearest_try(&nearest, row->name);
        if (strncmp(row->name, name, length) != 0 || (row->name[length] && row->name[length] != '.'))
            continue;
        lock_key(policy, row, &origin);
        found = true;
    }
    if (found)
        return 0;
    policy_refuse(error, &origin, "bad-value", "locked: %s is no key that can be locked", QUOTE(name));
    return nearest.best ? error_hint(error, "did you mean `%s`?", nearest.best)
                        : error_hint(error, "confine-policy(5) lists the keys");
}
