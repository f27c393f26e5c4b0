/*
 * seccomp_cases.h - the code for the rules of one call, for seccomp-gen alone.
 *
 * The rules are asked in the order of the table, but no test is made whose
 * outcome follows from those before it: on each way the tests that were made
 * and how they went are known (facts), and so is what is in the accumulator.
 *
 * Mustn't: take a test for decided on a guess; one that is asked twice costs an
 *          instruction, one that is not asked costs a rule.
 */
#ifndef CONFINE_LINKS_SECCOMP_CASES_H
#define CONFINE_LINKS_SECCOMP_CASES_H

#include "seccomp_emit.h"

#define LIST_MAX  16
#define FACTS_MAX 40

/* The rules of one call, or of a range of them, in the order in which they are asked. */
struct list {
    int count, label; /* label: position of its code, -1 before there is one */
    int rule[LIST_MAX];
};

struct facts {
    int count;
    struct {
        const struct seccomp_test *test;
        bool holds;
    } fact[FACTS_MAX];
};

/* What is in the accumulator: a word, of which the bits of the mask are left. */
struct loaded {
    uint32_t source, mask;
};

enum known { KNOWN_NOT = 0, KNOWN_HOLDS, KNOWN_FAILS };

/* Whether the filter is for one choice of groups only: nothing in it is patched. */
static bool is_exact;

static int group_for(const struct seccomp_rule *rule)
{
    return is_exact ? SECCOMP_GROUP_BASE : (int)rule->group;
}

static bool is_value(const struct seccomp_test *test)
{
    return test->kind == SECCOMP_TEST_MASKED || test->kind == SECCOMP_TEST_OTHER;
}

/* What the outcome of one test says about another one of the same argument. */
static enum known ask_fact(const struct seccomp_test *fact, bool holds, const struct seccomp_test *test)
{
    bool equal = is_value(fact) && (fact->kind == SECCOMP_TEST_MASKED) == holds;
    enum known is_equal = KNOWN_NOT;

    if (fact->kind == test->kind && fact->mask == test->mask && fact->value == test->value)
        return holds ? KNOWN_HOLDS : KNOWN_FAILS;
    if (equal && test->kind == SECCOMP_TEST_BITS) {
        if (fact->value & test->mask)
            return KNOWN_HOLDS;
        return test->mask & ~fact->mask ? KNOWN_NOT : KNOWN_FAILS;
    }
    if (!is_value(fact) || !is_value(test))
        return KNOWN_NOT;
    if (equal && (fact->value ^ test->value) & fact->mask & test->mask)
        is_equal = KNOWN_FAILS;
    else if (equal && !(test->mask & ~fact->mask))
        is_equal = KNOWN_HOLDS;
    else if (!equal && !(fact->mask & ~test->mask) && (test->value & fact->mask) == fact->value)
        is_equal = KNOWN_FAILS;
    if (is_equal == KNOWN_NOT || test->kind == SECCOMP_TEST_MASKED)
        return is_equal;
    return is_equal == KNOWN_HOLDS ? KNOWN_FAILS : KNOWN_HOLDS;
}

static enum known ask_facts(const struct facts *facts, const struct seccomp_test *test)
{
    uint32_t free_bit = ~test->mask;

    for (int i = 0; i < facts->count; i++) {
        enum known known = KNOWN_NOT;

        if (facts->fact[i].test->arg == test->arg)
            known = ask_fact(facts->fact[i].test, facts->fact[i].holds, test);
        if (known != KNOWN_NOT)
            return known;
    }
    if (is_value(test) && free_bit && !(free_bit & (free_bit - 1))) { /* one of two values: both excluded? */
        struct seccomp_test without = *test, with = *test;

        without.mask = with.mask = UINT32_MAX;
        with.value |= free_bit;
        if (ask_facts(facts, &without) == ask_facts(facts, &with))
            return ask_facts(facts, &with);
    }
    return KNOWN_NOT;
}

static struct facts learn(const struct facts *facts, const struct seccomp_test *test, bool holds)
{
    struct facts more = *facts;

    if (more.count == FACTS_MAX)
        fail("rule", "too many tests for one call");
    more.fact[more.count].test = test;
    more.fact[more.count++].holds = holds;
    return more;
}

/* What a test needs in the accumulator, and leaves there. POINTER leaves one of two words: none is known. */
static struct loaded loaded_for(const struct seccomp_test *test, struct loaded loaded)
{
    uint32_t source = FILTER_DATA_ARGS + 8 * test->arg;

    if (test->kind == SECCOMP_TEST_POINTER)
        return (struct loaded){0, 0};
    if (test->kind == SECCOMP_TEST_HIGH_BITS)
        source += 4;
    if (is_value(test))
        return (struct loaded){source, test->mask};
    if (loaded.source == source && !(test->mask & ~loaded.mask))
        return loaded;
    return (struct loaded){source, UINT32_MAX};
}

static int emit_test(const struct seccomp_test *test, struct loaded loaded, int yes, int no)
{
    struct loaded need = loaded_for(test, loaded);
    int at;

    if (yes == no)
        return yes;
    switch (test->kind) {
    case SECCOMP_TEST_POINTER:
        need.source = FILTER_DATA_ARGS + 8 * test->arg;
        at = emit_if(FILTER_IF_EQUAL, 0, no, yes);
        at = emit_before(FILTER_LOAD, need.source + 4, at);
        at = emit_if(FILTER_IF_EQUAL, 0, at, yes);
        return emit_before(FILTER_LOAD, need.source, at);
    case SECCOMP_TEST_BITS:
    case SECCOMP_TEST_HIGH_BITS:
        at = emit_if(FILTER_IF_BITS, test->mask, yes, no);
        break;
    case SECCOMP_TEST_MASKED:
        at = emit_if(FILTER_IF_EQUAL, test->value, yes, no);
        break;
    case SECCOMP_TEST_OTHER:
        at = emit_if(FILTER_IF_EQUAL, test->value, no, yes);
        break;
    default:
        fail("rule", "unknown kind of test");
    }
    if (loaded.source == need.source && loaded.mask == need.mask)
        return at;
    if (need.mask != UINT32_MAX)
        at = emit_before(FILTER_AND, need.mask, at);
    if (loaded.source == need.source && !(need.mask & ~loaded.mask))
        return at;
    return emit_before(FILTER_LOAD, need.source, at);
}

static int count_tests(const struct seccomp_rule *rule)
{
    int count = 0;

    while (count < SECCOMP_TESTS_MAX && rule->test[count].kind != SECCOMP_TEST_NONE)
        count++;
    return count;
}

static bool is_allow(int at)
{
    return code[at].code == FILTER_RETURN && code[at].k == SECCOMP_RET_ALLOW;
}

/* The code from a test of a rule on; TEST counts within the rule, RULE within the list. */
static int emit_rules(const struct list *list, int rule, int test, const struct facts *facts,
                      struct loaded loaded)
{
    for (; rule < list->count; rule++, test = 0) {
        const struct seccomp_rule *row = &seccomp_rules[list->rule[rule]];
        enum known known = KNOWN_HOLDS;
        struct facts with, without;
        struct loaded after;
        int next, yes;

        while (test < count_tests(row) && (known = ask_facts(facts, &row->test[test])) == KNOWN_HOLDS)
            test++;
        if (known == KNOWN_FAILS)
            continue;
        if (known == KNOWN_HOLDS) { /* all of them: it answers, or steps aside for the next */
            next = group_for(row) == SECCOMP_GROUP_BASE ? -1 : emit_rules(list, rule + 1, 0, facts, loaded);
            return emit_return(SECCOMP_RET_ERRNO | (uint32_t)row->answer, group_for(row),
                               next < 0 || is_allow(next) ? -1 : next);
        }
        after = loaded_for(&row->test[test], loaded);
        with = learn(facts, &row->test[test], true);
        without = learn(facts, &row->test[test], false);
        yes = emit_rules(list, rule, test + 1, &with, after);
        next = emit_rules(list, rule + 1, 0, &without, after);
        return emit_test(&row->test[test], loaded, yes, next);
    }
    return emit_return(SECCOMP_RET_ALLOW, SECCOMP_GROUP_BASE, -1);
}

/* The code of all rules of one call. */
static int emit_list(struct list *list)
{
    struct facts facts = {0};

    if (list->label >= 0 && is_near(list->label))
        return list->label;
    list->label = emit_rules(list, 0, 0, &facts, (struct loaded){FILTER_DATA_NR, UINT32_MAX});
    return list->label;
}

#endif
