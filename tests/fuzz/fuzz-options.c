/*
 * fuzz-options.c - any words whatever: the parser ends, and what it says is one line.
 *
 * The input is the words of a command line, separated by NUL; its first byte picks the command.
 */
#include "cli/options.h"

#include "report/report.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORDS_MAX 64

static void look_at_error(const struct error *error)
{
    struct text text = {0};

    report_error(error, &text);
    if (!text.data || strchr(text.data, '\n') != text.data + text.length - 1)
        abort(); /* not one line */
    for (size_t i = 0; i + 1 < text.length; i++)
        if ((unsigned char)text.data[i] < ' ')
            abort(); /* a terminal would obey it */
    text_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned bits[] = {FOR_RUN, FOR_EXEC, FOR_PLAN, FOR_POLICY, FOR_PROBE};
    static const char *const names[] = {"run", "exec", "plan", "policy", "probe"};
    char *copy, *argv[WORDS_MAX + 1];
    struct options options;
    struct policy policy = {0};
    struct error error = {0};
    size_t which, count = 0, dashes = WORDS_MAX;

    if (size == 0)
        return 0;
    which = data[0] % ARRAY_SIZE(bits);
    copy = calloc(1, size + 1);
    if (!copy)
        return 0;
    memcpy(copy, data + 1, size - 1);
    for (size_t at = 0; at < size - 1 && count < WORDS_MAX; at += strlen(copy + at) + 1)
        argv[count++] = copy + at;
    argv[count] = NULL;
    for (size_t i = 0; i < count && dashes == WORDS_MAX; i++)
        if (strcmp(argv[i], "--") == 0)
            dashes = i;
    if (options_parse(&options, names[which], bits[which], argv, &error) < 0) {
        look_at_error(&error);
    } else {
        for (size_t i = 0; i < options.given_count; i++)
            for (size_t j = dashes; j < count; j++)
                if (options.given[i].value == argv[j])
                    abort(); /* a word of the command was read as an option's value */
        if (policy_init(&policy, &error) == 0 && options_apply(&options, &policy, &error) < 0)
            look_at_error(&error);
        policy_free(&policy);
    }
    options_free(&options);
    free(copy);
    return 0;
}
