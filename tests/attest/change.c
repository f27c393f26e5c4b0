/* change.c - words of a plan: found, taken out, put in. */
#include "change.h"

bool word_is(const struct word *word, const char *text)
{
    return word->kind == WORD_TEXT && strcmp(word->text, text) == 0;
}

size_t world_link(const struct world *world, const char *link)
{
    for (size_t i = 0; i < world->plan.word_count; i++)
        if (word_is(&world->plan.words[i], link))
            return i;
    test_note("no %s in this chain", link);
    _exit(EXIT_FAILURE);
}

void world_remove(struct world *world, size_t at, size_t count)
{
    struct plan *plan = &world->plan;

    must(at + count <= plan->word_count);
    for (size_t i = at; i < at + count; i++)
        free(plan->words[i].text);
    memmove(plan->words + at, plan->words + at + count,
            (plan->word_count - at - count) * sizeof(*plan->words));
    plan->word_count -= count;
}

static void world_move_last(struct plan *plan, size_t at)
{
    struct word last = plan->words[plan->word_count - 1];

    memmove(plan->words + at + 1, plan->words + at, (plan->word_count - 1 - at) * sizeof(*plan->words));
    plan->words[at] = last;
}

void world_insert(struct world *world, size_t at, const char *text)
{
    must(plan_word(&world->plan, text) == 0);
    world_move_last(&world->plan, at);
}

void world_insert_special(struct world *world, size_t at, enum word_kind kind)
{
    must(plan_special(&world->plan, kind) == 0);
    world_move_last(&world->plan, at);
}

size_t world_option(const struct world *world, size_t at, const char *option)
{
    for (size_t i = at + 1; !word_is(&world->plan.words[i], "--"); i++)
        if (word_is(&world->plan.words[i], option))
            return i;
    return 0;
}

void world_without_option(struct world *world, const char *link, const char *option, size_t values)
{
    size_t at = world_option(world, world_link(world, link), option);

    must(at > 0);
    world_remove(world, at, 1 + values);
}

void world_without_guard(struct world *world)
{
    if (!world->plan.guard)
        return;
    world_without_option(world, "scope-run", "--guard", 1);
    world_without_option(world, "scope-run", "--channel", 1);
    world->plan.guard = false;
}

void world_without_link(struct world *world, const char *link)
{
    size_t at = 0, end;

    while (at < world->plan.word_count && !word_is(&world->plan.words[at], link))
        at++;
    if (at == world->plan.word_count)
        return;
    if (strcmp(link, "scope-run") == 0)
        world->plan.guard = false;
    for (end = at; !word_is(&world->plan.words[end], "--"); end++)
        ;
    world_remove(world, at, end - at + 1);
}
