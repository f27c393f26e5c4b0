/*
 * learn_propose.c - from refusals to the lines of a policy.
 *
 * Should:  say of each line what asked for it.
 * Mustn't: widen beyond what a person would read as one thing: a command that is hostile teaches its own
 *          policy, and whoever puts it into force must be able to see that.
 */
#include "cli/learn.h"

#include "policy/resolve.h"
#include "policy/risk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SIBLINGS 3 /* so many in one directory stand for the directory */

static const struct {
    const char *key, *option;
    bool path; /* lines of it can become one */
} kinds[] = {
    {"read", "--read", true},        {"write", "--write", true},
    {"show", "--show", false},       {"unprotect", "--unprotect", false},
    {"sockets", "--socket", false},  {"allow", "--allow", false},
    {"mode", "--mode", false},       {"workspace", "--workspace", false},
    {"network", "--network", false},
};

static size_t kind_of(const char *key)
{
    size_t i = 0;

    while (i < ARRAY_SIZE(kinds) && strcmp(kinds[i].key, key) != 0)
        i++;
    return i;
}

static bool is_wide(const struct proposal *proposal, const char *path)
{
    return strrchr(path, '/') == path || (proposal->home && path_contains(path, proposal->home)) ||
           (proposal->env_home && path_contains(path, proposal->env_home));
}

/* What a run would refuse is no proposal, nor is what hands over more than a command may. */
static bool never_grants(const struct proposal *proposal, const char *key, const char *path)
{
    static const struct policy none; /* what is never granted is not the policy's to say */
    struct risk risk;

    return strcmp(key, "write") == 0 && (policy_never_grants(&none, proposal->env, LIST_WRITE, path) ||
                                         risk_find(proposal->home, proposal->env, LIST_WRITE, path, &risk));
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

/* `creating /x/y by /usr/bin/touch` */
static char *say_why(const json_t *denial)
{
    const char *path = text_of(denial, *text_of(denial, "path") ? "path" : "address");
    const char *program = text_of(denial, "executable");
    struct text text = {0};

    text_addf(&text, "%s %s", text_of(denial, "operation"), QUOTE(path));
    if (*program)
        text_addf(&text, " by %s", QUOTE(program));
    if (text.failed) {
        text_free(&text);
        return NULL;
    }
    return text.data;
}

#define PRIVATE "private:"

/* What `private:NAME` allows holds NAME: whose addresses are private is known only when the name alone has
 * been allowed, and refused. Return: the line that VALUE belongs to, which says the wider one from now on;
 * NULL: none, or without memory (@ret_failed). */
static struct learned *find_private(struct proposal *proposal, const char *value, bool *ret_failed)
{
    size_t front = sizeof(PRIVATE) - 1;
    bool wider = strncmp(value, PRIVATE, front) == 0;

    for (size_t i = 0; i < proposal->count; i++) {
        struct learned *item = &proposal->items[i];
        char *changed;

        if (strcmp(item->key, "allow") != 0)
            continue;
        if (!wider && strncmp(item->value, PRIVATE, front) == 0 && strcmp(item->value + front, value) == 0)
            return item;
        if (!wider || strcmp(item->value, value + front) != 0)
            continue;
        changed = strdup(value);
        *ret_failed = !changed;
        if (!changed)
            return NULL;
        free(item->value);
        item->value = changed;
        return item;
    }
    return NULL;
}

/* Return: 1 when it is new, 0, or -ENOMEM. */
static int add(struct proposal *proposal, const char *key, const char *value, const json_t *denial)
{
    uint64_t count = (uint64_t)json_integer_value(json_object_get(denial, "count"));
    size_t kind = kind_of(key);
    bool failed = false;
    struct learned *item;

    if (kind == ARRAY_SIZE(kinds))
        return 0;
    item = strcmp(key, "allow") == 0 ? find_private(proposal, value, &failed) : NULL;
    if (item) {
        item->count += count;
        return strcmp(item->value, value) == 0;
    }
    if (failed)
        return -ENOMEM;
    for (size_t i = 0; i < proposal->count; i++) {
        item = &proposal->items[i];
        if (item->key == kinds[kind].key &&
            (kinds[kind].path ? path_contains(item->value, value) : strcmp(item->value, value) == 0)) {
            item->count += count;
            return 0;
        }
    }
    if (!array_more(&proposal->items, proposal->count, sizeof(*proposal->items)))
        return -ENOMEM;
    item = &proposal->items[proposal->count];
    *item = (struct learned){
        .key = kinds[kind].key, .value = strdup(value), .why = say_why(denial), .count = count, .merged = 1};
    if (!item->value || !item->why) {
        free(item->value);
        free(item->why);
        return -ENOMEM;
    }
    proposal->count++;
    return 1;
}

/* Every text of a grant: `{"write": ["/x"]}`, `{"network": {"mode": "listed", "allow": ["y"]}}`. */
static int add_grant(struct proposal *proposal, const json_t *grant, const json_t *denial)
{
    const json_t *network = json_object_get(grant, "network"), *allow = json_object_get(network, "allow");
    int added = 0, r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(kinds) && r >= 0; i++) {
        const json_t *values =
            json_object_get(strcmp(kinds[i].key, "allow") == 0 ? network : grant, kinds[i].key);

        if (json_is_string(values))
            r = add(proposal, kinds[i].key, json_string_value(values), denial);
        for (size_t k = 0; k < json_array_size(values) && r >= 0; k++) {
            const char *value = json_string_value(json_array_get(values, k));

            r = value ? add(proposal, kinds[i].key, value, denial) : 0;
            added += r > 0;
            r = r < 0 ? r : 0;
        }
        added += r > 0;
    }
    if (r >= 0 && network && !allow)
        r = add(proposal, "network", text_of(network, "mode"), denial);
    return r < 0 ? r : added + (r > 0);
}

/* A name was looked up where nobody answers. Which one, the gateway of a listed network will tell. */
static bool is_lookup(const json_t *denial)
{
    const char *port = strrchr(text_of(denial, "address"), ':');

    return port && strcmp(port, ":53") == 0 && strcmp(text_of(denial, "rule"), "network none") == 0 &&
           strcmp(text_of(denial, "operation"), "bind") != 0;
}

/* What no line is made for, with the reason. Return: 0 or -ENOMEM. */
static int leave(struct proposal *proposal, const json_t *denial)
{
    const char *warning = json_string_value(json_object_get(denial, "warning"));
    _cleanup_free_ char *why = say_why(denial);
    struct strings *left = json_is_true(json_object_get(denial, "by_mode")) ? &proposal->by_mode
                           : warning                                        ? &proposal->risky
                                                                            : &proposal->open;
    struct text line = {0};
    int r = 0;

    if (!why)
        return -ENOMEM;
    text_addf(&line, "%s%s%s", why, warning ? ": it " : "", warning ? warning : "");
    if (line.failed || (!strings_have(left, line.data) && strings_add(left, line.data) < 0))
        r = -ENOMEM;
    text_free(&line);
    return r;
}

int proposal_take(struct proposal *proposal, const json_t *report)
{
    const json_t *items = json_object_get(json_object_get(report, "denials"), "items");
    int added = 0;

    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *denial = json_array_get(items, i), *grant = json_object_get(denial, "grant");
        int r = 0;

        if (!json_is_null(json_object_get(denial, "noise")))
            continue;
        if (json_is_object(grant) && json_is_null(json_object_get(denial, "warning")) &&
            !json_object_get(denial, "path_b64")) {
            r = add_grant(proposal, grant, denial);
            added += r > 0 ? r : 0;
        } else if (is_lookup(denial)) {
            r = add(proposal, "network", "listed", denial);
            added += r > 0 ? r : 0;
        } else {
            r = leave(proposal, denial);
        }
        if (r < 0)
            return r;
    }
    return added;
}

static void drop(struct proposal *proposal, size_t index)
{
    free(proposal->items[index].value);
    free(proposal->items[index].why);
    proposal->count--;
    memmove(&proposal->items[index], &proposal->items[index + 1],
            (proposal->count - index) * sizeof(*proposal->items));
}

/* Everything of @key below @directory becomes one line. Return: 0 or -ENOMEM. */
static int merge(struct proposal *proposal, const char *key, const char *directory)
{
    size_t first = SIZE_MAX;
    char *value = strdup(directory);

    if (!value)
        return -ENOMEM;
    for (size_t i = 0; i < proposal->count; i++) {
        struct learned *item = &proposal->items[i];

        if (item->key != key || !path_contains(value, item->value))
            continue;
        if (first == SIZE_MAX) {
            first = i;
            continue;
        }
        proposal->items[first].count += item->count;
        proposal->items[first].merged += item->merged;
        drop(proposal, i--);
    }
    if (first == SIZE_MAX) {
        free(value);
        return 0;
    }
    free(proposal->items[first].value);
    proposal->items[first].value = value;
    return 0;
}

/* How many lines of its key lie right in the directory of line @index, or below it with @deep. */
static size_t count_beside(const struct proposal *proposal, const char *key, const char *directory, bool deep)
{
    size_t count = 0, length = strlen(directory);

    for (size_t i = 0; i < proposal->count; i++) {
        const struct learned *item = &proposal->items[i];

        if (item->key != key || !path_contains(directory, item->value))
            continue;
        count += deep || strrchr(item->value, '/') == item->value + length;
    }
    return count;
}

/* One step: the first directory that is to stand for what is in it. Return: 1: done; 0: there is none; or
 * -ENOMEM. */
static int merge_one(struct proposal *proposal, bool deep)
{
    size_t best = 0;
    char *directory = NULL;
    const char *key = NULL;
    int r = 0;

    for (size_t i = 0; i < proposal->count; i++) {
        const struct learned *item = &proposal->items[i];
        char *above = kinds[kind_of(item->key)].path ? strdup(item->value) : NULL, *slash;

        while (above && (slash = strrchr(above, '/')) && slash != above) {
            size_t beside;

            *slash = '\0';
            beside = is_wide(proposal, above) ? 0 : count_beside(proposal, item->key, above, deep);
            /* With @deep the narrowest that joins two will do. */
            if (beside >= (deep ? 2 : SIBLINGS) && (!directory || strlen(above) > best) &&
                !never_grants(proposal, item->key, above)) {
                best = strlen(above);
                free(directory);
                directory = strdup(above);
                key = item->key;
            }
            if (!deep)
                break;
        }
        free(above);
    }
    if (directory)
        r = merge(proposal, key, directory);
    free(directory);
    return r < 0 ? r : directory != NULL;
}

/* A directory may be asked for after what is in it. Return: 0 or -ENOMEM. */
static int join_inner(struct proposal *proposal)
{
    int r = 0;

    for (size_t i = 0; i < proposal->count && r == 0; i++) {
        const struct learned *item = &proposal->items[i];

        if (!kinds[kind_of(item->key)].path || count_beside(proposal, item->key, item->value, true) < 2)
            continue;
        r = merge(proposal, item->key, item->value);
        i = SIZE_MAX; /* lines have moved: begin again */
    }
    return r;
}

int proposal_generalise(struct proposal *proposal)
{
    int r = join_inner(proposal);

    if (r < 0)
        return r;
    do
        r = merge_one(proposal, false);
    while (r > 0);
    while (r == 0 && proposal->count > PROPOSAL_LINES && (r = merge_one(proposal, true)) > 0)
        r = 0;
    return r < 0 ? r : 0;
}

int proposal_words(const struct proposal *proposal, struct strings *words)
{
    int r = 0;

    for (size_t i = 0; i < proposal->count && r == 0; i++)
        r = strings_addf(words, "%s=%s", kinds[kind_of(proposal->items[i].key)].option,
                         proposal->items[i].value);
    return r;
}

static void write_why(struct writer *writer, const struct learned *item)
{
    struct text why = {0};

    text_addf(&why, "%llu refused, the first: %s", (unsigned long long)item->count, item->why);
    if (item->merged > 1)
        text_addf(&why, " (%zu places in one)", item->merged);
    writer->text.failed |= why.failed;
    writer_text(writer, "why", why.data);
    text_free(&why);
}

static void write_list(const struct proposal *proposal, const char *key, const char *member,
                       struct writer *writer)
{
    bool begun = false;

    for (size_t i = 0; i < proposal->count; i++) {
        const struct learned *item = &proposal->items[i];

        if (strcmp(item->key, key) != 0)
            continue;
        if (!begun)
            writer_array(writer, key);
        begun = true;
        writer_object(writer, NULL);
        writer_text(writer, member, item->value);
        write_why(writer, item);
        writer_end(writer);
    }
    if (begun)
        writer_end(writer);
}

static const char *find_value(const struct proposal *proposal, const char *key)
{
    for (size_t i = 0; i < proposal->count; i++)
        if (strcmp(proposal->items[i].key, key) == 0)
            return proposal->items[i].value;
    return NULL;
}

/* Was what may be read listed? Only then is reading looked at. */
static bool looks_at_reading(const json_t *report)
{
    const json_t *covers = json_object_get(json_object_get(report, "denials"), "covers");

    for (size_t i = 0; i < json_array_size(covers); i++)
        if (strcmp(json_string_value(json_array_get(covers, i)), "fs.read") == 0)
            return true;
    return false;
}

void proposal_write(const struct proposal *proposal, const json_t *report, struct writer *writer)
{
    const char *workspace = json_string_value(json_object_get(report, "workspace"));
    const char *learned = find_value(proposal, "workspace");
    const char *mode = find_value(proposal, "mode"), *network = find_value(proposal, "network");

    writer_object(writer, NULL);
    writer_integer(writer, "policy", 1);
    writer_text(writer, "mode", mode ? mode : text_of(json_object_get(report, "mode"), "effective"));
    if (learned || workspace)
        writer_text(writer, "workspace", learned ? learned : workspace);
    /* Without it the lines for reading would say nothing: everything could be read. */
    if (looks_at_reading(report))
        writer_text(writer, "readable", "listed");
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (strcmp(kinds[i].key, "allow") != 0 && strcmp(kinds[i].key, "mode") != 0 &&
            strcmp(kinds[i].key, "workspace") != 0 && strcmp(kinds[i].key, "network") != 0)
            write_list(proposal, kinds[i].key, "path", writer);
    if (network || find_value(proposal, "allow")) {
        writer_object(writer, "network");
        writer_text(writer, "mode", network && !find_value(proposal, "allow") ? network : "listed");
        write_list(proposal, "allow", "rule", writer);
        writer_end(writer);
    }
    writer_end(writer);
}

void proposal_free(struct proposal *proposal)
{
    for (size_t i = 0; i < proposal->count; i++) {
        free(proposal->items[i].value);
        free(proposal->items[i].why);
    }
    free(proposal->items);
    strings_free(&proposal->open);
    strings_free(&proposal->by_mode);
    strings_free(&proposal->risky);
    *proposal = (struct proposal){0};
}
