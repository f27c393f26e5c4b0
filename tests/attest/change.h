/*
 * change.h - a plan, changed as data.
 *
 * Should:  take out exactly what is named, and end the test where it is not there.
 * Mustn't: touch a claim or a check: these stay and are found out.
 */
#ifndef CONFINE_TESTS_ATTEST_CHANGE_H
#define CONFINE_TESTS_ATTEST_CHANGE_H

#include "world.h"

/* world_evidence() - of one mechanism in the claim that was seen. */
static enum evidence world_evidence(enum mechanism mechanism)
{
    for (size_t i = 0; i < seen->claim.by_count; i++)
        if (seen->claim.by[i].mechanism == mechanism)
            return seen->claim.by[i].evidence;
    return EVIDENCE_NONE;
}

/* --- changing a plan ----------------------------------------------------------------------------------- */

static bool word_is(const struct word *word, const char *text)
{
    return word->kind == WORD_TEXT && strcmp(word->text, text) == 0;
}

/* world_link() - index of a link's first word. The test cannot go on without it. */
static size_t world_link(const struct world *world, const char *link)
{
    for (size_t i = 0; i < world->plan.word_count; i++)
        if (word_is(&world->plan.words[i], link))
            return i;
    test_note("no %s in this chain", link);
    _exit(EXIT_FAILURE);
}

static void world_remove(struct world *world, size_t at, size_t count)
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

static void world_insert(struct world *world, size_t at, const char *text)
{
    must(plan_word(&world->plan, text) == 0);
    world_move_last(&world->plan, at);
}

static void world_insert_special(struct world *world, size_t at, enum word_kind kind)
{
    must(plan_special(&world->plan, kind) == 0);
    world_move_last(&world->plan, at);
}

/* Index of OPTION among the words of the link that begins at AT; 0: it has none. */
static size_t world_option(const struct world *world, size_t at, const char *option)
{
    for (size_t i = at + 1; !word_is(&world->plan.words[i], "--"); i++)
        if (word_is(&world->plan.words[i], option))
            return i;
    return 0;
}

/* Takes an option and VALUES words behind it out of a link. */
static void world_without_option(struct world *world, const char *link, const char *option, size_t values)
{
    size_t at = world_option(world, world_link(world, link), option);

    must(at > 0);
    world_remove(world, at, 1 + values);
}

static void world_without_guard(struct world *world)
{
    if (!world->plan.guard)
        return;
    world_without_option(world, "scope-run", "--guard", 1);
    world_without_option(world, "scope-run", "--channel", 1);
    world->plan.guard = false;
}

/* Takes a whole link out of the chain, if it is there. */
static void world_without_link(struct world *world, const char *link)
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

#endif
