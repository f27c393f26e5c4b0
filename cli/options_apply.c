/*
 * options_apply.c - options become the strongest layer of a policy.
 */
#include "cli/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Origins borrow their texts from the policy's own store. */
static int make_origin(struct policy *policy, const char *name, struct origin *ret_origin,
                       struct error *error)
{
    *ret_origin = (struct origin){0};
    if (strings_join(&policy->store, "--", name, NULL) < 0)
        return error_no_memory(error);
    *ret_origin =
        (struct origin){.layer = LAYER_OPTION, .option = policy->store.items[policy->store.count - 1]};
    return 0;
}

/* Splits at commas; an empty piece is a typing mistake. */
static int for_each_word(struct policy *policy, const struct option_given *given, struct origin origin,
                         int (*take)(struct policy *, char *, const struct option_given *, struct origin,
                                     struct error *),
                         struct error *error)
{
    _cleanup_free_ char *copy = strdup(given->value);
    char *rest = copy, *word;
    int result = 0;

    if (!copy)
        return error_no_memory(error);
    while (!result && (word = strsep(&rest, ","))) {
        if (!*word) {
            error_set(error, ERROR_USAGE, EINVAL, "option-value", "option --%s: a word is missing in %s",
                      given->option->name, QUOTE(given->value));
            return error_hint(error, "one comma stands between two words, and none at an end");
        }
        result = take(policy, word, given, origin, error);
    }
    return result;
}

static int take_word(struct policy *policy, char *word, const struct option_given *given,
                     struct origin origin, struct error *error)
{
    return policy_add(policy, (enum list)given->option->target, word, NULL, origin, error);
}

static int take_limit(struct policy *policy, char *word, const struct option_given *given,
                      struct origin origin, struct error *error)
{
    static const struct {
        const char *name;
        enum key key;
    } limits[] = {
        {"time", KEY_LIMIT_TIME},
        {"memory", KEY_LIMIT_MEMORY},
        {"processes", KEY_LIMIT_PROCESSES},
        {"output", KEY_LIMIT_OUTPUT},
        {"file_size", KEY_LIMIT_FILE_SIZE},
        {"tmp_size", KEY_LIMIT_TMP_SIZE},
        {"cpu", KEY_LIMIT_CPU},
        {"output_end", KEY_LIMIT_OUTPUT_END},
    };
    struct nearest nearest = {.word = word};
    char *value = strchr(word, '=');

    if (!value || !value[1]) {
        error_set(error, ERROR_USAGE, EINVAL, "option-value", "option --%s: %s is not KEY=VALUE",
                  given->option->name, QUOTE(word));
        return error_hint(error, "for example --limit time=10m,file_size=1G");
    }
    *value++ = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
        nearest_try(&nearest, limits[i].name);
        if (strcmp(word, limits[i].name) == 0)
            return policy_set(policy, limits[i].key, value, NULL, origin, error);
    }
    error_set(error, ERROR_USAGE, EINVAL, "unknown-limit", "option --%s: %s is no limit", given->option->name,
              QUOTE(word));
    if (nearest.best)
        return error_hint(error, "did you mean %s?", nearest.best);
    return error_hint(error, "time, memory, processes, output, file_size, tmp_size or cpu");
}

static int take_env(struct policy *policy, const char *value, struct origin origin, struct error *error)
{
    const char *equals = strchr(value, '=');

    if (equals == value) {
        error_set(error, ERROR_USAGE, EINVAL, "option-value", "option --env: %s has no name", QUOTE(value));
        return error_hint(error, "write --env NAME=VALUE, or --env NAME for the caller's own value");
    }
    return policy_add(policy, equals ? LIST_ENV_SET : LIST_ENV_PASS, value, NULL, origin, error);
}

static int apply_one(struct policy *policy, const struct option_given *given, struct error *error)
{
    struct origin origin;
    int result = make_origin(policy, given->option->name, &origin, error);

    if (result < 0)
        return result;
    switch (given->option->kind) {
    case OPTION_OWN:
        return 0;
    case OPTION_KEY:
        return policy_set(policy, (enum key)given->option->target, given->value, NULL, origin, error);
    case OPTION_FLAG:
        return policy_set(policy, (enum key)given->option->target, "true", NULL, origin, error);
    case OPTION_LIST:
        return policy_add(policy, (enum list)given->option->target, given->value, NULL, origin, error);
    case OPTION_WORDS:
        return for_each_word(policy, given, origin, take_word, error);
    case OPTION_ENV:
        return take_env(policy, given->value, origin, error);
    case OPTION_LIMIT:
        return for_each_word(policy, given, origin, take_limit, error);
    }
    return error_set(error, ERROR_INTERNAL, EINVAL, "internal", "option --%s has no kind",
                     given->option->name);
}

/* A run has one workspace: a second one would take the first away without a word. */
static int refuse_second(const struct options *options, struct error *error)
{
    const char *first = NULL;

    for (size_t i = 0; i < options->given_count; i++) {
        const struct option_given *given = &options->given[i];

        if (given->option->kind != OPTION_KEY || given->option->target != KEY_WORKSPACE)
            continue;
        if (first && strcmp(first, given->value) != 0) {
            error_set(error, ERROR_USAGE, EINVAL, "second-workspace",
                      "option --workspace: %s, after %s: there is one workspace", QUOTE(given->value),
                      QUOTE(first));
            return error_hint(error, "more that is writable: --write %s", QUOTE(given->value));
        }
        first = given->value;
    }
    return 0;
}

int options_apply(const struct options *options, struct policy *policy, struct error *error)
{
    struct origin origin;
    int result = refuse_second(options, error);

    for (size_t i = 0; i < options->given_count && !result; i++)
        result = apply_one(policy, &options->given[i], error);
    if (result < 0)
        return result;
    /* Naming a writable root asks for writing; a rule name implies the mode that has rules. */
    if (options_value(options, OPTION_KEY, KEY_WORKSPACE) && !options_value(options, OPTION_KEY, KEY_MODE)) {
        result = make_origin(policy, "workspace", &origin, error);
        if (!result)
            result = policy_set(policy, KEY_MODE, "workspace-write", NULL, origin, error);
    }
    if (!result && options_value(options, OPTION_LIST, LIST_ALLOW) &&
        !options_value(options, OPTION_KEY, KEY_NETWORK)) {
        result = make_origin(policy, "allow", &origin, error);
        if (!result)
            result = policy_set(policy, KEY_NETWORK, "listed", NULL, origin, error);
    }
    return result;
}
