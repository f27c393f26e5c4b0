/*
 * policy_lists.c - the lists of a policy: what may stand in each, and which entries count.
 *
 * Should:  add what a later layer says; remember who asked for every entry.
 * Mustn't: change anything when an entry is refused.
 *
 * What removes (`!@set`) is an entry as well: sets are expanded last, by whoever resolves, and
 * entry_in_force() says which entries still count.
 */
#include "policy/policy.h"

#include "policy/policy_keys.h"
#include "policy/policy_rules.h"

#include <errno.h>

#define LIST_MOST 16384 /* entries: whoever expands a list compares them with each other */

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
        return parse_number(value, INT32_MAX, &number) && number > 2;
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
    if (nearest.best && strcmp(nearest.best, entry->value) != 0)
        return error_hint(error, "did you mean `%s`?", nearest.best);
    return surface_is_group(entry->value)
               ? error_hint(error, "name surfaces of that group; confine-report(5) lists them")
               : error_hint(error, "confine-report(5) lists the surfaces");
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
        return policy_refuse_locked(policy, list_name((enum list)key->undoes),
                                    KEY_COUNT + (size_t)key->undoes, &entry->origin, error);
    if (policy->locked_lists >> key->list & 1 && (entry->remove || !narrows))
        return policy_refuse_locked(policy, key->name, KEY_COUNT + (size_t)key->list, &entry->origin, error);
    return 0;
}

static int append_entry(struct entries *entries, const struct entry *entry)
{
    struct entry copy = *entry;

    if (!array_more(&entries->items, entries->count, sizeof(copy)))
        return -ENOMEM;
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

int policy_read_rule(const char *value, const char *reason, struct text *ret_text, struct error *error)
{
    const char *why, *instead;
    struct rule rule;

    if (!value || !rule_parse(value, &rule)) {
        why = value ? rule_mistake(value) : NULL;
        return error_set(error, ERROR_USAGE, EINVAL, reason,
                         "%s%s: a rule as --allow takes it must be here%s%s%s", value ? "allow: " : "rule",
                         value ? QUOTE(value) : "", why ? " (" : "", why ? why : "", why ? ")" : "");
    }
    if (rule_useless(&rule, &why, &instead))
        return error_set(error, ERROR_USAGE, EINVAL, "useless-rule", "allow: %s: %s (%s)", QUOTE(value), why,
                         instead);
    rule_text(&rule, ret_text);
    return ret_text->failed ? error_no_memory(error) : 0;
}
