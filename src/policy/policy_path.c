/*
 * policy_path.c - what a resolved policy allows on one path, and the rule that says so.
 *
 * Should:  say the same as the rules: grants reach everything below them, the widest that reaches a path
 * holds, and what is hidden is hidden only where that is held. Mustn't: look anything up: the answer is about
 * the policy, not about what is at that path now.
 *
 * A grant does not remember its entry. The entry is found again by its value; where that fails (a link on the
 * way, a set) the answer names the grant alone.
 */
#include "policy/policy_explain.h"
#include "policy/policy_keys.h"
#include "util/json.h"

#include <errno.h>

struct answer {
    const struct resolved_path *read, *write,
        *special; /* the innermost grant of each kind; special: device, socket */
    const struct hidden *hidden;
    bool protected;
};

static bool is_within(const char *path, const char *directory)
{
    size_t length = strlen(directory);

    if (length > 0 && directory[length - 1] == '/')
        length--; /* the root */
    return strncmp(path, directory, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

static void keep_longer(const struct resolved_path **best, const struct resolved_path *path)
{
    if (!*best || strlen(path->path) > strlen((*best)->path))
        *best = path;
}

static struct answer find_answer(const struct resolved *resolved, const char *canonical)
{
    struct answer answer = {0};

    for (size_t i = 0; i < resolved->path_count; i++) {
        const struct resolved_path *path = &resolved->paths[i];
        bool exact = strcmp(path->path, canonical) == 0;

        if ((path->grant == GRANT_READ || path->grant == GRANT_WRITE) && is_within(canonical, path->path))
            keep_longer(&answer.read, path);
        if (path->grant == GRANT_WRITE && is_within(canonical, path->path))
            keep_longer(&answer.write, path);
        if ((path->grant == GRANT_DEVICE || path->grant == GRANT_SOCKET) && exact)
            answer.special = path;
    }
    for (size_t i = 0; i < resolved->hidden_count; i++)
        if (is_within(canonical, resolved->hidden[i].path) && (!answer.hidden || answer.hidden->held))
            answer.hidden = &resolved->hidden[i];
    for (size_t i = 0; i < resolved->protected_paths.count; i++)
        answer.protected = answer.protected || is_within(canonical, resolved->protected_paths.items[i]);
    return answer;
}

/* Does the written VALUE mean PATH, as far as its letters tell? */
static bool means_path(const struct resolved *resolved, const char *value, const char *base, const char *path)
{
    struct text text = {0};
    bool same;

    if (strncmp(value, "~/", 2) == 0)
        text_addf(&text, "%s%s", resolved->home ? resolved->home : "", value + 1);
    else if (value[0] == '/')
        text_add(&text, value);
    else
        text_addf(&text, "%s/%s", base ? base : resolved->cwd,
                  strncmp(value, "./", 2) == 0 ? value + 2 : value);
    while (!text.failed && text.length > 1 && text.data[text.length - 1] == '/')
        text.data[--text.length] = '\0';
    same = !text.failed && strcmp(text.data, path) == 0;
    text_free(&text);
    return same;
}

/* The entry of LIST that asked for PATH, or whose set holds it; then *ret_item is the item. NULL: none was
 * found. */
static const struct entry *find_entry(const struct resolved *resolved, enum list list, const char *path,
                                      const struct set_item **ret_item)
{
    const struct entries *entries = &resolved->policy->list[list];

    *ret_item = NULL;
    for (size_t i = entries->count; i-- > 0;) {
        const struct entry *entry = &entries->items[i];
        const struct set *set = set_by_name(entry->value);

        if (!entry_in_force(entries, i))
            continue;
        if (!set && means_path(resolved, entry->value, entry->base, path))
            return entry;
        for (const struct set_item *item = set ? set->items : NULL; item && item->value; item++)
            if (item->value[0] != '$' && means_path(resolved, item->value, resolved->workspace, path)) {
                *ret_item = item;
                return entry;
            }
    }
    return NULL;
}

static void say_entry(struct text *text, const struct entry *entry, const struct set_item *item)
{
    if (item)
        text_addf(text, ", %s (%s)", entry->value, item->why);
    text_addf(text, ", from %s", WHERE(&entry->origin));
    if (entry->why)
        text_addf(text, " (%s)", QUOTE(entry->why));
}

/* Why GRANT is there. */
static void say_grant(const struct resolved *resolved, const struct resolved_path *grant, struct text *text)
{
    static const enum list lists[] = {[GRANT_READ] = LIST_READ,
                                      [GRANT_WRITE] = LIST_WRITE,
                                      [GRANT_DEVICE] = LIST_DEVICES,
                                      [GRANT_SOCKET] = LIST_SOCKETS};
    const struct policy *policy = resolved->policy;
    const struct set_item *item;
    const struct entry *entry = find_entry(resolved, lists[grant->grant], grant->path, &item);

    if (resolved->workspace && strcmp(grant->path, resolved->workspace) == 0) {
        text_addf(text, "workspace %s, from %s", QUOTE(grant->path), WHERE(&policy->origin[KEY_WORKSPACE]));
        return;
    }
    text_addf(text, "grant of %s", QUOTE(grant->path));
    if (entry)
        say_entry(text, entry, item);
    else if (grant->grant == GRANT_READ && !policy->readable_listed)
        text_addf(text, ", readable all, from %s", WHERE(&policy->origin[KEY_READABLE]));
    else if (!grant->named)
        text_add(text, ", of confine itself");
}

static void say_allowed(const struct resolved *resolved, const struct answer *answer, struct text *text)
{
    const struct resolved_path *grant = answer->special ? answer->special
                                        : answer->write ? answer->write
                                                        : answer->read;

    if (!grant) {
        text_addf(text, "nothing: no grant reaches it, readable %s from %s",
                  resolved->policy->readable_listed ? "listed" : "all",
                  WHERE(&resolved->policy->origin[KEY_READABLE]));
        return;
    }
    text_add(text, answer->special && grant->grant == GRANT_SOCKET ? "connect: "
                   : answer->special || answer->write              ? "read, write: "
                                                                   : "read: ");
    say_grant(resolved, grant, text);
}

static void say_hidden(const struct resolved *resolved, const struct hidden *hidden, struct text *text)
{
    const struct set_item *item;
    const struct entry *entry = find_entry(resolved, LIST_HIDE, hidden->path, &item);

    text_add(text, QUOTE(hidden->path));
    if (entry)
        say_entry(text, entry, item);
    else
        text_add(text, hidden->named ? ", named" : ", by a set");
}

static void say_answer(const struct resolved *resolved, const struct answer *answer, struct text *text)
{
    if (resolved->mode == MODE_DANGER_FULL_ACCESS) {
        text_addf(text, "everything: mode danger-full-access, from %s, confines nothing",
                  WHERE(&resolved->policy->origin[resolved->policy->approved_mode == MODE_DANGER_FULL_ACCESS
                                                      ? KEY_APPROVED_MODE
                                                      : KEY_MODE]));
        return;
    }
    if (answer->hidden && !answer->hidden->held) {
        text_add(text, "nothing of its contents: hidden as ");
        say_hidden(resolved, answer->hidden, text);
        return;
    }
    say_allowed(resolved, answer, text);
    if (answer->hidden) {
        text_addf(text, "; NOT hidden (%s) although asked for as ", answer->hidden->held);
        say_hidden(resolved, answer->hidden, text);
    }
    if (answer->protected && answer->write)
        text_add(text, "; protected where the backend can, the report says whether it did");
}

void explain_path(const struct resolved *resolved, const char *canonical, struct text *text)
{
    struct answer answer = find_answer(resolved, canonical);

    text_addf(text, "%s: ", QUOTE(canonical));
    say_answer(resolved, &answer, text);
    text_add(text, "\n");
}

static json_t *make_path(const struct resolved *resolved, const char *canonical)
{
    struct answer answer = find_answer(resolved, canonical);
    bool everything = resolved->mode == MODE_DANGER_FULL_ACCESS;
    bool hidden = !everything && answer.hidden && !answer.hidden->held;
    bool device = answer.special && answer.special->grant == GRANT_DEVICE;
    json_t *object = json_object();
    struct text rule = {0};
    int failed;

    say_answer(resolved, &answer, &rule);
    failed = rule.failed || !object || value_set_path(object, "path", canonical) < 0 ||
             json_object_set_new(object, "read",
                                 json_boolean(everything || (!hidden && (answer.read || device)))) != 0 ||
             json_object_set_new(object, "write",
                                 json_boolean(everything || (!hidden && (answer.write || device)))) != 0 ||
             json_object_set_new(object, "connect",
                                 json_boolean(everything || (answer.special && !device))) != 0 ||
             json_object_set_new(object, "hidden", json_boolean(hidden)) != 0 ||
             value_set_text(object, "rule", rule.data) < 0;
    text_free(&rule);
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}

int explain_paths_json(const struct resolved *resolved, const char *const *canonical, struct text *text)
{
    json_t *array = json_array();
    int failed = !array;

    for (; !failed && *canonical; canonical++)
        failed = json_array_append_new(array, make_path(resolved, *canonical)) != 0;
    if (!failed) {
        text_add_json(text, array);
        text_add(text, "\n");
    }
    json_decref(array);
    return failed || text->failed ? -ENOMEM : 0;
}
