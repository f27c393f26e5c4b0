/*
 * policy.c - a policy in memory: the built-in layer, one merge rule per key, locks.
 *
 * Should:  let the later layer win for scalars and add for lists; remember who asked for every entry; say
 * which file locked a key. Mustn't: change anything when a value is refused; treat a default as named.
 *
 * Layers come weakest first; the order of calls is the order of the layers. What removes (`!@set`) is an
 * entry as well: sets are expanded last, by whoever resolves, and entry_in_force() says which entries still
 * count.
 */
#include "policy/policy.h"

#include "policy/policy_keys.h"
#include "policy/policy_rules.h"

#include <errno.h>
#include <stddef.h>

#define LIST_MOST 16384 /* entries: whoever expands a list compares them with each other */

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

/* Whole, in decimal, without sign or leading zero. */
static bool read_number(const char *text, uint64_t most, uint64_t *ret_number)
{
    static const struct word units[] = {{"", 1}, {NULL, 0}};

    return (text[0] != '0' || text[1] == '\0') && !strchr(text, '.') &&
           parse_scaled(text, units, most, ret_number) == 0;
}

static bool read_count(const struct policy_key *key, const char *text, struct value *ret)
{
    (void)key;
    return read_number(text, INT32_MAX, &ret->number) && ret->number > 0;
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
    return read_number(text, UINT32_MAX - 1, &ret->number); /* the last one means "no change" to the kernel */
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
    if (!read_number(columns, UINT16_MAX, &number) || !read_number(text + digits + 1, UINT16_MAX, &rows))
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

/* `hide`, `: ` for a file; an option says its name itself. */
#define NAME_BEFORE(KEY, ORIGIN) (ORIGIN)->option ? "" : (KEY)->name, (ORIGIN)->option ? "" : ": "

/* `memory`, for the one option that has all limits; else empty. */
static const char *limit_name(const struct policy_key *key, const struct origin *origin)
{
    static const char group[] = "limits.";

    return origin->option && strcmp(origin->option, "--limit") == 0 &&
                   strncmp(key->name, group, sizeof(group) - 1) == 0
               ? key->name + sizeof(group) - 1
               : "";
}

static int refuse_value(const struct policy_key *key, const struct origin *origin, const char *text,
                        struct error *error)
{
    const char *limit = limit_name(key, origin);
    bool secret = key->kind == KIND_PROXY && strchr(text, '@');
    struct nearest nearest = {.word = text};
    struct text words = {0};

    for (const struct word *word = key->words; word && word->name; word++) {
        nearest_try(&nearest, word->name);
        text_addf(&words, "%s%s", words.length ? ", " : "one of ", word->name);
    }
    policy_refuse(error, origin, "bad-value", "%s%s%s%s%s is not %s", NAME_BEFORE(key, origin), limit,
                  *limit ? "=" : "", secret ? "the URL (it has a password)" : QUOTE(text),
                  key->words && key->kind <= KIND_NAME && words.data ? words.data : kind_expected(key->kind));
    text_free(&words);
    if (nearest.best)
        error_hint(error, "did you mean `%s`?", nearest.best);
    return -EINVAL;
}

static int refuse_locked(const struct policy *policy, const char *name, size_t lock,
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
        return refuse_locked(policy, row->name, key, &origin, error);
    if (key == KEY_APPROVED_MODE && policy->locked >> KEY_MODE & 1) /* the same by another name */
        return refuse_locked(policy, key_name(KEY_MODE), KEY_MODE, &origin, error);
    if (store_value(policy, row, &read, base) < 0)
        return error_no_memory(error);
    policy->origin[key] = origin;
    return 0;
}

bool variable_valid(const char *name, size_t length)
{
    if (length == 0 || (name[0] >= '0' && name[0] <= '9'))
        return false;
    for (size_t i = 0; i < length; i++)
        if (!(name[i] == '_' || (name[i] >= '0' && name[i] <= '9') ||
              ((name[i] | 32) >= 'a' && (name[i] | 32) <= 'z')))
            return false;
    return true;
}

static bool is_list_value(enum kind kind, const char *value)
{
    struct rule rule;
    uint64_t number;

    switch (kind) {
    case KIND_RULES:
        return rule_parse(value, &rule);
    case KIND_PORTS:
        return ports_valid(value);
    case KIND_SURFACES:
        return surface_by_name(value) >= 0;
    case KIND_DEMANDS:
        return surface_by_name(value) >= 0 || surface_is_group(value) || strcmp(value, "full") == 0;
    case KIND_SETTINGS:
        return strchr(value, '=') && variable_valid(value, strcspn(value, "="));
    case KIND_VARIABLES:
    case KIND_UNSET:
        return variable_valid(value, strlen(value));
    case KIND_NUMBERS:
        return read_number(value, INT32_MAX, &number) && number > 2;
    default:
        return *value != '\0';
    }
}

static bool may_hold_set(enum kind kind, const struct set *set)
{
    static const enum set_kind wanted[] = {
        [KIND_PATHS] = SET_PATHS, [KIND_SOCKETS] = SET_SOCKETS, [KIND_UNSET] = SET_NAMES};

    return (kind == KIND_PATHS || kind == KIND_SOCKETS || kind == KIND_UNSET) && set->kind == wanted[kind];
}

static int check_set(const struct policy_key *key, const struct entry *entry, struct error *error)
{
    const struct set *set = set_by_name(entry->value);
    struct nearest nearest = {.word = entry->value};

    if (set && may_hold_set(key->kind, set))
        return 0;
    for (const struct set *next = policy_sets; next->name; next++)
        if (may_hold_set(key->kind, next))
            nearest_try(&nearest, next->name);
    policy_refuse(error, &entry->origin, "bad-set", "%s%s%s is %s", NAME_BEFORE(key, &entry->origin),
                  QUOTE(entry->value), set ? "not a set that can stand here" : "no set");
    if (nearest.best)
        return error_hint(error, "did you mean `%s`?", nearest.best);
    return error_hint(error, "`confine policy` prints the sets; a file of that name is written ./%s",
                      QUOTE(entry->value));
}

static int refuse_entry(const struct policy_key *key, const struct entry *entry, struct error *error)
{
    struct nearest nearest = {.word = entry->value};
    const char *instead = key->kind == KIND_RULES ? rule_mistake(entry->value) : NULL;

    policy_refuse(error, &entry->origin, "bad-value", "%s%s%s is not %s", NAME_BEFORE(key, &entry->origin),
                  QUOTE(entry->value), kind_expected(key->kind));
    if (instead)
        return error_hint(error, "%s", instead);
    if (key->kind != KIND_SURFACES && key->kind != KIND_DEMANDS)
        return -EINVAL;
    for (size_t i = 0; i < SURFACE_COUNT; i++) {
        nearest_try(&nearest, surface_table[i].name);
        if (key->kind == KIND_DEMANDS)
            nearest_try(&nearest, surface_table[i].group);
    }
    return nearest.best ? error_hint(error, "did you mean `%s`?", nearest.best) : -EINVAL;
}

/* What no backend can open is refused here: accepted, it would stay shut and be reported open. */
static int check_opening(enum list list, const struct policy_key *key, const struct entry *entry,
                         struct error *error)
{
    const char *instead = list == LIST_OPEN ? surface_table[surface_by_name(entry->value)].instead : NULL;

    if (!instead)
        return 0;
    policy_refuse(error, &entry->origin, "not-openable", "%s%s%s cannot be opened",
                  NAME_BEFORE(key, &entry->origin), entry->value);
    error_surface(error, entry->value);
    return error_hint(error, "%s", instead);
}

/* A rule that nothing could ever match would be taken for a wider one. */
static int check_rule(const struct policy_key *key, const struct entry *entry, struct error *error)
{
    const char *why, *instead;
    struct rule rule;

    if (key->kind != KIND_RULES || !rule_parse(entry->value, &rule) || !rule_useless(&rule, &why, &instead))
        return 0;
    policy_refuse(error, &entry->origin, "useless-rule", "%s%s%s: %s", NAME_BEFORE(key, &entry->origin),
                  QUOTE(entry->value), why);
    return error_hint(error, "%s", instead);
}

/* A lock on a list that narrows is about taking back; on any other it is about adding. */
static int check_lock(const struct policy *policy, const struct policy_key *key, const struct entry *entry,
                      struct error *error)
{
    bool narrows = key->narrow == NARROW_ADD || key->list == LIST_ENV_UNSET || key->list == LIST_REQUIRE;

    if (key->undoes >= 0 && policy->locked_lists >> key->undoes & 1)
        return refuse_locked(policy, list_name((enum list)key->undoes), KEY_COUNT + (size_t)key->undoes,
                             &entry->origin, error);
    if (policy->locked_lists >> key->list & 1 && (entry->remove || !narrows))
        return refuse_locked(policy, key->name, KEY_COUNT + (size_t)key->list, &entry->origin, error);
    return 0;
}

static int append_entry(struct entries *entries, const struct entry *entry)
{
    struct entry copy = *entry, *larger = realloc(entries->items, (entries->count + 1) * sizeof(*larger));

    if (!larger)
        return -ENOMEM;
    entries->items = larger;
    copy.value = strdup(entry->value);
    copy.base = entry->base ? strdup(entry->base) : NULL;
    copy.why = entry->why ? strdup(entry->why) : NULL;
    if (!copy.value || (entry->base && !copy.base) || (entry->why && !copy.why)) {
        free(copy.value);
        free(copy.base);
        free(copy.why);
        return -ENOMEM;
    }
    entries->items[entries->count++] = copy;
    return 0;
}

int policy_add_entry(struct policy *policy, enum list list, const struct entry *entry, struct error *error)
{
    const struct policy_key *key = policy_key_of_list(list);
    int result = 0;

    if (!key)
        return error_set(error, ERROR_INTERNAL, 0, "no-such-key", "list %d is not in the table", (int)list);
    if (policy->list[list].count >= LIST_MOST)
        return policy_refuse(error, &entry->origin, "too-many", "more than %d entries of %s", LIST_MOST,
                             key->name);
    if (entry->value[0] == '@' || entry->remove)
        result = check_set(key, entry, error);
    else if (!is_list_value(key->kind, entry->value))
        result = refuse_entry(key, entry, error);
    else
        result = check_opening(list, key, entry, error);
    if (result == 0 && !entry->remove)
        result = check_rule(key, entry, error);
    if (result == 0)
        result = check_lock(policy, key, entry, error);
    if (result < 0)
        return result;
    return append_entry(&policy->list[list], entry) < 0 ? error_no_memory(error) : 0;
}

int policy_add(struct policy *policy, enum list list, const char *value, const char *base,
               struct origin origin, struct error *error)
{
    const struct policy_key *key = policy_key_of_list(list);
    bool paths = key && (key->kind == KIND_PATHS || key->kind == KIND_SOCKETS);
    bool sets = paths || (key && key->kind == KIND_UNSET);
    char *copy = strdup(value);
    struct entry entry = {.base = (char *)(uintptr_t)base, .origin = origin};
    size_t length;
    int result;

    if (!copy)
        return error_no_memory(error);
    length = strlen(copy);
    if (paths && length > 1 && copy[length - 1] == '?') {
        entry.optional = true;
        copy[length - 1] = '\0';
    }
    entry.remove = sets && strncmp(copy, "!@", 2) == 0;
    entry.value = copy + entry.remove;
    result = policy_add_entry(policy, list, &entry, error);
    free(copy);
    return result;
}

bool entry_in_force(const struct entries *entries, size_t index)
{
    const struct entry *entry = &entries->items[index];

    if (entry->remove)
        return false;
    for (size_t i = index + 1; i < entries->count; i++)
        if (entries->items[i].remove && strcmp(entries->items[i].value, entry->value) == 0)
            return false;
    return true;
}

int policy_lock(struct policy *policy, const char *name, struct origin origin, struct error *error)
{
    const struct policy_key *key = policy_key_by_name(name);
    struct nearest nearest = {.word = name};
    size_t lock;

    if (strcmp(name, "runner") == 0) { /* no row of the table: it is no scalar and no list */
        policy->runner.lock = policy->runner.locked ? policy->runner.lock : origin;
        policy->runner.locked = true;
        return 0;
    }
    if (!key && strcmp(name, "network") == 0) /* the word that people use for it */
        key = policy_key_of(KEY_NETWORK);
    if (!key || !key->in_file) {
        policy_refuse(error, &origin, "bad-value", "locked: %s is no key that can be locked", QUOTE(name));
        for (const struct policy_key *row = policy_keys; row->name; row++)
            if (row->in_file)
                nearest_try(&nearest, row->name);
        return nearest.best ? error_hint(error, "did you mean `%s`?", nearest.best) : -EINVAL;
    }
    lock = key->list < 0 ? (size_t)key->scalar : KEY_COUNT + (size_t)key->list;
    if (key->list < 0)
        policy->locked |= 1ULL << key->scalar;
    else
        policy->locked_lists |= 1ULL << key->list;
    if (!policy->lock[lock].file) /* the first one to lock is the one to ask */
        policy->lock[lock] = origin;
    return 0;
}
