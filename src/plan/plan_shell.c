/*
 * plan_shell.c - a plan as lines that a person can read.
 *
 * Should:  look like the command line that the chain is, one link per line.
 * Mustn't: be taken for something to run: the run puts opened descriptors where names stand here.
 */
#include "plan/plan_json.h"

#include <string.h>

static const char plain_bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=:,@%";

void shell_quote(struct text *text, const char *word)
{
    bool printable = true;

    if (*word && word[strspn(word, plain_bytes)] == '\0') {
        text_add(text, word);
        return;
    }
    for (const char *c = word; *c; c++)
        if (*c < ' ' || *c > '~')
            printable = false;
    text_add(text, printable ? "'" : "$'");
    for (const char *c = word; *c; c++) {
        if (*c < ' ' || *c > '~')
            text_addf(text, "\\x%02x", (unsigned char)*c);
        else if (*c == '\'')
            text_add(text, printable ? "'\\''" : "\\'");
        else if (*c == '\\' && !printable)
            text_add(text, "\\\\");
        else
            text_addf(text, "%c", *c);
    }
    text_add(text, "'");
}

static void add_word(struct text *text, const char *word, bool *start)
{
    if (!*start)
        text_add(text, " ");
    shell_quote(text, word);
    *start = false;
}

void plan_print_shell(const struct plan *plan, const struct resolved *resolved, char *const *command,
                      struct text *text)
{
    bool start = true;

    text_add(text, "# for reading: the run passes opened descriptors where paths stand\n");
    for (size_t i = 0; i < plan->word_count; i++) {
        const struct word *word = &plan->words[i];
        const char *shown = plan_word_text(word, resolved);

        if (shown)
            add_word(text, shown, &start);
        for (size_t j = 0; word->kind == WORD_COMMAND && command && command[j]; j++)
            add_word(text, command[j], &start);
        if (word->kind == WORD_TEXT && strcmp(word->text, "--") == 0) {
            text_add(text, " \\\n    ");
            start = true;
        }
    }
    text_add(text, "\n");
}
