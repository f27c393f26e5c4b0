/*
 * test-spawn.c - the words of a launch, however many they are.
 */
#include "harness.h"

#include "run/spawn.h"

#define MOST 140 /* past the sizes at which a list of strings would grow by itself */

static char name[] = "command";
static char *const command[] = {name, NULL};

/* BEFORE words, what becomes the terminal, and as many words as make MOST. */
static void prepare(size_t before, struct launch *launch)
{
    static const struct resolved resolved;
    struct chain_fds fds = CHAIN_FDS_NONE;
    struct plan plan = {0};

    fds.onto = "4,0,1";
    for (size_t i = 0; i < before; i++)
        need(plan_word(&plan, "word") == 0);
    need(plan_special(&plan, WORD_ONTO) == 0);
    for (size_t i = before; i < MOST; i++)
        need(plan_word(&plan, "word") == 0);
    need(plan_special(&plan, WORD_COMMAND) == 0);
    need(launch_prepare(launch, &plan, &resolved, &fds, 300, NULL, NULL, command) == 0);
    check_int((long)launch->argv.count, 1 + MOST + 1 + 1);
    check_str(launch->argv.items[1 + before], "4,0,1");
    for (size_t i = 1; i < launch->argv.count - 1; i++)
        if (i != 1 + before)
            check_str(launch->argv.items[i], "word");
    check_str(launch->argv.items[launch->argv.count - 1], "command");
    check(!launch->argv.items[launch->argv.count]);
    launch_free(launch);
    plan_free(&plan);
}

TEST(words_wherever_the_terminal_stands)
{
    for (size_t before = 1; before < MOST; before++) {
        struct launch launch;

        prepare(before, &launch);
    }
}
