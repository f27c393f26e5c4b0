/*
 * policy_path.c - what a resolved policy allows on one path, and the rule that says so.
 *
 * Should:  say the same as the rules: grants reach everything below them, the widest that reaches a path
 * holds, and what is hidden is hidden only where that is held. Mustn't: look anything up: the answer is about
 * the policy, not about what is at that path now.
 */
#include "policy/policy_explain.h"
#include "policy/policy_keys.h"
#include "policy/resolve_internal.h"
#include "util/json.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

struct answer {
    const struct resolved_path *read, *write,
        *special; /* the innermost grant of each kind; special: device, socket */
    const struct hidden *hidden;
    size_t protected;                  /* index into the protected paths; SIZE_MAX: none reaches it */
    const struct exception *exception; /* the innermost path that was taken out */
};

static void keep_longer(const struct resolved_path **best, const struct resolved_path *path)
{
    if (!*best || strlen(path->path) > strlen((*best)->path))
        *best = path;
}

static struct answer find_answer(const struct resolved *resolved, const char *canonical)
{
    struct answer answer = {.protected = SIZE_MAX};

    for (size_t i = 0; i < resolved->path_count; i++) {
        const struct resolved_path *path = &resolved->paths[i];
        bool exact = strcmp(path->path, canonical) == 0;

        if ((path->grant == GRANT_READ || path->grant == GRANT_WRITE) && path_contains(path->path, canonical))
            keep_longer(&answer.read, path);
        if (path->grant == GRANT_WRITE && path_contains(path->path, canonical))
            keep_longer(&answer.write, path);
        if ((path->grant == GRANT_DEVICE || path->grant == GRANT_SOCKET) && exact)
            answer.special = path;
    }
    for (size_t i = 0; i < resolved->hidden_count; i++)
        if (path_contains(resolved->hidden[i].path, canonical) && (!answer.hidden || answer.hidden->held))
            answer.hidden = &resolved->hidden[i];
    for (size_t i = 0; i < resolved->protected_paths.count; i++)
        if (path_contains(resolved->protected_paths.items[i], canonical))
            answer.protected = i;
    for (size_t i = 0; i < resolved->exception_count; i++)
        if (path_contains(resolved->exceptions[i].path, canonical) &&
            (!answer.exception || strlen(resolved->exceptions[i].path) > strlen(answer.exception->path)))
            answer.exception = &resolved->exceptions[i];
    return answer;
}

/* The key that a source without an entry comes from; KEY_COUNT: none. */
static enum key source_key(const char *what)
{
    static const struct {
        const char *part;
        enum key key;
    } keys[] = {{"workspace", KEY_WORKSPACE},
                {"temp", KEY_TMP},
                {"readable", KEY_READABLE},
                {"@system", KEY_READABLE}};

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (strstr(what, keys[i].part))
            return keys[i].key;
    return KEY_COUNT;
}

/* Which entry it is: its set and the item in it, where it comes from, why. */
static void say_entry(const struct resolved *resolved, const struct source *source, struct text *text)
{
    const struct entry *entry = &resolved->policy->list[source->list].items[source->index];

    if (source->item)
        text_addf(text, "%s (%s: %s), ", entry->value, source->item->value, source->item->why);
    text_addf(text, "from %s", WHERE(&entry->origin));
    if (entry->why)
        text_addf(text, " (%s)", QUOTE(entry->why));
}

void resolved_source(const struct resolved *resolved, const struct source *source, struct text *text)
{
    enum key key;

    if (source->listed) {
        say_entry(resolved, source, text);
        return;
    }
    if (!source->what) {
        text_add(text, "of confine itself");
        return;
    }
    text_add(text, source->what);
    if (source->item)
        text_addf(text, " (%s: %s)", source->item->value, source->item->why);
    key = source_key(source->what);
    if (key != KEY_COUNT)
        text_addf(text, ", from %s", WHERE(&resolved->policy->origin[key]));
}

/* Why GRANT is there. */
static void say_grant(const struct resolved *resolved, const struct resolved_path *grant, struct text *text)
{
    text_addf(text, "grant of %s, ", QUOTE(grant->path));
    resolved_source(resolved, &grant->source, text);
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
    text_addf(text, "%s, ", QUOTE(hidden->path));
    resolved_source(resolved, &hidden->source, text);
}

/* What was taken out of the hidden or the protected paths here. */
static void say_exception(const struct resolved *resolved, const struct exception *exception,
                          struct text *text)
{
    text_addf(text, "; %s as %s, ", exception->source.list == LIST_UNPROTECT ? "unprotected" : "shown",
              QUOTE(exception->path));
    resolved_source(resolved, &exception->source, text);
}

/* With a view of its own the command finds another thing at @canonical: no grant brings the host's there. */
static bool is_replaced(const struct answer *answer, const char *canonical)
{
    const struct resolved_path *grant = answer->write ? answer->write : answer->read;

    return grant && !answer->special && is_in_private_place(canonical) && !is_in_private_place(grant->path);
}

static void say_answer(const struct resolved *resolved, const struct answer *answer, const char *canonical,
                       struct text *text)
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
    if (is_replaced(answer, canonical))
        text_add(
            text,
            "; with a view of its own (namespace, bubblewrap) a private place, without what is there now");
    if (answer->hidden) {
        text_addf(text, "; without mounts NOT hidden (%s) although asked for as ", answer->hidden->held);
        say_hidden(resolved, answer->hidden, text);
    }
    if (answer->protected != SIZE_MAX && answer->write) {
        text_addf(text, "; protected where the backend can (the report says whether it did) as %s, ",
                  QUOTE(resolved->protected_paths.items[answer->protected]));
        resolved_source(resolved, &resolved->protected_by[answer->protected], text);
    }
    if (answer->exception && (!answer->hidden || answer->exception->source.list == LIST_UNPROTECT))
        say_exception(resolved, answer->exception, text);
}

static void say_line(const struct resolved *resolved, const char *what, const char *path,
                     const struct source *source, struct text *text)
{
    text_addf(text, "%-10s %s  (", what, QUOTE(path));
    resolved_source(resolved, source, text);
    text_add(text, ")");
}

void explain_resolved(const struct resolved *resolved, struct text *text)
{
    static const char *const names[] = {[GRANT_READ] = "readable",
                                        [GRANT_WRITE] = "writable",
                                        [GRANT_DEVICE] = "device",
                                        [GRANT_SOCKET] = "socket"};

    for (size_t i = 0; i < resolved->path_count; i++) {
        const struct resolved_path *path = &resolved->paths[i];

        if (path->grant >= ARRAY_SIZE(names) || !names[path->grant] || (path->implied && !path->named))
            continue;
        say_line(resolved, names[path->grant], path->path, &path->source, text);
        text_add(text, "\n");
    }
    for (size_t i = 0; i < resolved->hidden_count; i++) {
        const struct hidden *hidden = &resolved->hidden[i];

        say_line(resolved, "hidden", hidden->path, &hidden->source, text);
        text_addf(text, "%s%s%s\n", hidden->held ? ", without mounts NOT held (" : "",
                  hidden->held ? hidden->held : "", hidden->held ? ")" : "");
    }
    for (size_t i = 0; i < resolved->protected_paths.count; i++) {
        say_line(resolved, "protected", resolved->protected_paths.items[i], &resolved->protected_by[i], text);
        text_add(text, "\n");
    }
    for (size_t i = 0; i < resolved->exception_count; i++) {
        const struct exception *exception = &resolved->exceptions[i];

        say_line(resolved, exception->source.list == LIST_SHOW ? "shown" : "open", exception->path,
                 &exception->source, text);
        text_add(text, "\n");
    }
    for (size_t i = 0; i < resolved->skipped_count; i++)
        text_addf(text, "%-10s %s  (%s)\n", "skipped", QUOTE(resolved->skipped[i].what),
                  resolved->skipped[i].why);
    for (size_t i = 0; i < resolved->warnings.count; i++)
        text_addf(text, "%-10s %s\n", "warning", resolved->warnings.items[i]);
}

/* Does the policy allow it? @granted: by the grants, which say whether it may be read, or written */
static bool lets(const struct resolved *resolved, const struct answer *answer, bool granted)
{
    bool hidden = answer->hidden && !answer->hidden->held;
    bool device = answer->special && answer->special->grant == GRANT_DEVICE;

    return resolved->mode == MODE_DANGER_FULL_ACCESS || (!hidden && (granted || device));
}

/* Where a file's mode or owner lets less than the policy. In a private place it is another file. */
static void say_modes(const struct resolved *resolved, const struct answer *answer, const char *canonical,
                      const struct path_modes *modes, struct text *text)
{
    bool read = lets(resolved, answer, answer->read) && modes->there && !modes->read;
    bool write = lets(resolved, answer, answer->write) && !modes->write;

    if (!modes->known || is_replaced(answer, canonical) || (!read && !write))
        return;
    if (modes->there)
        text_addf(text, "; but its mode or owner does not let user %u %s it", (unsigned)resolved->uid,
                  read && write ? "read or write"
                  : read        ? "read"
                                : "write");
    else
        text_addf(text, "; but the mode or owner of its directory does not let user %u make it",
                  (unsigned)resolved->uid);
}

/* Nobody is to read "read" as the answer to whether his keys would be hidden. */
static void say_missing(const struct resolved *resolved, const struct answer *answer, const char *canonical,
                        const struct path_modes *modes, struct text *text)
{
    if (resolved->mode != MODE_DANGER_FULL_ACCESS && modes->known && !modes->there && !answer->hidden &&
        !is_replaced(answer, canonical))
        text_add(text, "; it does not exist, and sets hide and protect only what does");
}

void explain_path(const struct resolved *resolved, const char *canonical, const struct path_modes *modes,
                  struct text *text)
{
    struct answer answer = find_answer(resolved, canonical);

    text_addf(text, "%s: ", QUOTE(canonical));
    say_answer(resolved, &answer, canonical, text);
    say_missing(resolved, &answer, canonical, modes, text);
    say_modes(resolved, &answer, canonical, modes, text);
    text_add(text, "\n");
}

/* Null where nothing is known. */
static json_t *make_modes(const struct path_modes *modes)
{
    if (!modes->known)
        return json_null();
    return json_pack("{s:b, s:b, s:b}", "exists", modes->there, "read", modes->read, "write", modes->write);
}

static json_t *make_path(const struct resolved *resolved, const char *canonical,
                         const struct path_modes *modes)
{
    struct answer answer = find_answer(resolved, canonical);
    bool everything = resolved->mode == MODE_DANGER_FULL_ACCESS;
    bool hidden = !everything && answer.hidden && !answer.hidden->held;
    bool device = answer.special && answer.special->grant == GRANT_DEVICE;
    json_t *object = json_object();
    struct text rule = {0};
    int failed;

    say_answer(resolved, &answer, canonical, &rule);
    failed =
        rule.failed || !object || value_set_path(object, "path", canonical) < 0 ||
        json_object_set_new(object, "read", json_boolean(lets(resolved, &answer, answer.read))) != 0 ||
        json_object_set_new(object, "write", json_boolean(lets(resolved, &answer, answer.write))) != 0 ||
        json_object_set_new(object, "mode", make_modes(modes)) != 0 ||
        json_object_set_new(object, "connect", json_boolean(everything || (answer.special && !device))) !=
            0 ||
        json_object_set_new(object, "hidden", json_boolean(hidden)) != 0 ||
        json_object_set_new(object, "protected",
                            json_boolean(!everything && answer.write && answer.protected != SIZE_MAX)) != 0 ||
        json_object_set_new(object, "private",
                            json_boolean(!everything && is_replaced(&answer, canonical))) != 0 ||
        value_set_text(object, "rule", rule.data) < 0;
    text_free(&rule);
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}

int explain_paths_json(const struct resolved *resolved, const char *const *canonical,
                       const struct path_modes *modes, struct text *text)
{
    json_t *array = json_array();
    int failed = !array;

    for (; !failed && *canonical; canonical++, modes++)
        failed = json_array_append_new(array, make_path(resolved, *canonical, modes)) != 0;
    if (!failed) {
        text_add_json(text, array);
        text_add(text, "\n");
    }
    json_decref(array);
    return failed || text->failed ? -ENOMEM : 0;
}
