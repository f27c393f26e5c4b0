/*
 * options.c - fuzz the options of `confine run`: the input is argv, its words divided by newlines.
 *
 * Whatever the words, the command is what stands behind the first bare `--`, as
 * it is, and never anything else; and an error has a line of its own.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 64

static void must(bool held, const char *what)
{
    if (!held) {
        fprintf(stderr, "options: %s\n", what);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *words[WORDS_MAX + 1] = {0}, *text = malloc(size + 1), *rest = text;
    struct options options = {0};
    struct policy policy = {0};
    struct error error = {0};

    must(text != NULL, "no memory");
    memcpy(text, data, size);
    text[size] = '\0';
    for (size_t i = 0; i < WORDS_MAX && rest; i++)
        words[i] = strsep(&rest, "\n");
    if (options_parse(&options, "run", FOR_RUN, words, &error) < 0) {
        must(error.code != ERROR_NONE && error.message[0], "refused without saying why");
    } else if (options.argv) {
        must(options.argv > words && strcmp(options.argv[-1], "--") == 0, "a command without `--` before it");
        must(policy_init(&policy, &error) == 0, "no policy");
        if (options_apply(&options, &policy, &error) < 0)
            must(error.code != ERROR_NONE && error.message[0], "refused without saying why");
        policy_free(&policy);
    }
    must(!strchr(error.message, '\n') && !strchr(error.message, '\033'), "a message of more than one line");
    options_free(&options);
    free(text);
    return 0;
}
