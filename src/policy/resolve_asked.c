/*
 * resolve_asked.c - who asked for what, and what became of it: for messages, the report and the explanation.
 */
#include "policy/resolve_internal.h"

/* Who asks: FRONT and NAME, without a printf. */
static void say_who(struct asked *asked, const char *front, const char *name)
{
    size_t length = strnlen(front, sizeof(asked->by) - 1),
           rest = strnlen(name, sizeof(asked->by) - 1 - length);

    memcpy(asked->by, front, length);
    memcpy(asked->by + length, name, rest); /* behind it are zeros */
}

struct asked asked_entry(const struct entry *entry, enum list list)
{
    struct asked asked = {
        .value = entry->value, .optional = entry->optional, .named = origin_named(entry->origin)};
    const struct origin *origin = &entry->origin;

    if (origin->option)
        say_who(&asked, origin->option, "");
    else if (origin->file && origin->line > 0)
        snprintf(asked.by, sizeof(asked.by), "%s:%d: %s", QUOTE(origin->file), origin->line, list_name(list));
    else if (origin->file)
        snprintf(asked.by, sizeof(asked.by), "%s: %s", QUOTE(origin->file), list_name(list));
    else
        say_who(&asked, "built-in ", list_name(list));
    return asked;
}

struct asked asked_key(const struct policy *policy, enum key key, const char *value)
{
    struct asked asked = {.value = value, .single = true, .named = origin_named(policy->origin[key])};
    const struct origin *origin = &policy->origin[key];

    if (origin->option)
        say_who(&asked, origin->option, "");
    else if (origin->file)
        snprintf(asked.by, sizeof(asked.by), "%s:%d: %s", QUOTE(origin->file), origin->line, key_name(key));
    else
        say_who(&asked, key_name(key), "");
    return asked;
}

int resolved_skip(struct resolved *resolved, const char *by, const char *value, const char *why)
{
    struct skipped skipped = {.why = strdup(why)};

    if (asprintf(&skipped.what, "%s %s", by, value) < 0)
        skipped.what = NULL;
    if (!skipped.what || !skipped.why ||
        !array_more(&resolved->skipped, resolved->skipped_count, sizeof(skipped))) {
        free(skipped.what);
        free(skipped.why);
        return -ENOMEM;
    }
    resolved->skipped[resolved->skipped_count++] = skipped;
    return 0;
}

int resolving_skip(struct resolving *resolving, const struct asked *asked, const char *why)
{
    const char *home = asked->value[0] == '~' ? resolving->resolved->home : NULL;
    struct text where = {0};
    int r;

    text_addf(&where, home ? "%s (~ is %s)" : "%s", why, QUOTE(home ? home : ""));
    r = where.failed ? -ENOMEM : resolved_skip(resolving->resolved, asked->by, asked->value, where.data);
    text_free(&where);
    return r < 0 ? error_no_memory(resolving->error) : 0;
}

int resolving_except(struct resolving *resolving, const char *path, struct source source)
{
    struct resolved *resolved = resolving->resolved;
    struct exception exception = {.path = strdup(path), .source = source};

    if (!exception.path || !array_more(&resolved->exceptions, resolved->exception_count, sizeof(exception))) {
        free(exception.path);
        return error_no_memory(resolving->error);
    }
    resolved->exceptions[resolved->exception_count++] = exception;
    return 0;
}
