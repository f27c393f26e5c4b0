/*
 * seccomp_emit.h - the code of a filter, for seccomp-gen alone.
 *
 * A filter jumps forward only, so its code is built from its end to its start:
 * whatever an instruction jumps to exists already, and its distance is known.
 * Positions count from the end: code[0] is the last instruction.
 *
 * Mustn't: let an opened rule allow its call: it goes on to the next rule.
 */
#ifndef CONFINE_LINKS_SECCOMP_EMIT_H
#define CONFINE_LINKS_SECCOMP_EMIT_H

#define SECCOMP_RULES_TABLE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "seccomp_calls.h"
#include "seccomp_filter.h"

#define CODE_MAX 4000 /* the kernel takes 4096 */
#define LIST_MAX 16
#define NEAR     240 /* a conditional jump reaches 255 */

/* The rules of one call, or of a range of them, in the order in which they are asked. */
struct list {
    int count, label; /* label: position of its code, -1 before there is one */
    int rule[LIST_MAX];
};

static struct sock_filter code[CODE_MAX];
static int next_rule[CODE_MAX]; /* of a return: where it goes when opened; -1: allow */
static int group_of[CODE_MAX];  /* of a return; SECCOMP_GROUP_BASE: not to be opened */
static int code_count;

_Noreturn static void fail(const char *what, const char *why)
{
    fprintf(stderr, "seccomp-gen: %s: %s\n", what, why);
    exit(1);
}

static int emit(uint16_t op, uint8_t jt, uint8_t jf, uint32_t k)
{
    if (code_count == CODE_MAX)
        fail("filter", "too many instructions");
    code[code_count] = (struct sock_filter){op, jt, jf, k};
    next_rule[code_count] = -1;
    group_of[code_count] = SECCOMP_GROUP_BASE;
    return code_count++;
}

/* A return with this verdict: one that is near already, or a new one. */
static int emit_return(uint32_t verdict, int group, int next)
{
    int at;

    for (at = code_count - 1; at >= 0 && code_count - at < NEAR; at--)
        if (code[at].code == FILTER_RETURN && code[at].k == verdict && group_of[at] == group &&
            next_rule[at] == next)
            return at;
    at = emit(FILTER_RETURN, 0, 0, verdict);
    group_of[at] = group;
    next_rule[at] = next;
    return at;
}

/* A position that a conditional jump emitted next, or next but one, can reach and that does the same. */
static int emit_near(int target)
{
    if (code_count - target < NEAR)
        return target;
    if (code[target].code == FILTER_RETURN)
        return emit_return(code[target].k, group_of[target], next_rule[target]);
    return emit(FILTER_JUMP, 0, 0, (uint32_t)(code_count - target - 1));
}

static int emit_if(uint16_t op, uint32_t k, int yes, int no)
{
    yes = emit_near(yes);
    no = emit_near(no);
    return emit(op, (uint8_t)(code_count - yes - 1), (uint8_t)(code_count - no - 1), k);
}

/* The word that a test looks at first, and whether it is still in the accumulator afterwards. */
static uint32_t source_of(const struct seccomp_test *test)
{
    return FILTER_DATA_ARGS + 8 * test->arg + (test->kind == SECCOMP_TEST_HIGH_BITS ? 4 : 0);
}

static bool keeps_source(const struct seccomp_test *test)
{
    bool masks = test->kind == SECCOMP_TEST_MASKED || test->kind == SECCOMP_TEST_OTHER;

    return test->kind != SECCOMP_TEST_POINTER && !(masks && test->mask != UINT32_MAX);
}

static int emit_test(const struct seccomp_test *test, bool load, int yes, int no)
{
    uint32_t source = source_of(test);
    int at;

    switch (test->kind) {
    case SECCOMP_TEST_POINTER:
        at = emit_if(FILTER_IF_EQUAL, 0, no, yes);
        at = emit(FILTER_LOAD, 0, 0, source + 4);
        at = emit_if(FILTER_IF_EQUAL, 0, at, yes);
        break;
    case SECCOMP_TEST_BITS:
    case SECCOMP_TEST_HIGH_BITS:
        at = emit_if(FILTER_IF_BITS, test->mask, yes, no);
        break;
    case SECCOMP_TEST_MASKED:
    case SECCOMP_TEST_OTHER:
        if (test->kind == SECCOMP_TEST_MASKED)
            at = emit_if(FILTER_IF_EQUAL, test->value, yes, no);
        else
            at = emit_if(FILTER_IF_EQUAL, test->value, no, yes);
        if (test->mask != UINT32_MAX)
            at = emit(FILTER_AND, 0, 0, test->mask);
        break;
    default:
        fail("rule", "unknown kind of test");
    }
    return load ? emit(FILTER_LOAD, 0, 0, source) : at;
}

static int count_tests(const struct seccomp_rule *rule)
{
    int count = 0;

    while (count < SECCOMP_TESTS_MAX && rule->test[count].kind != SECCOMP_TEST_NONE)
        count++;
    return count;
}

/* The word in the accumulator wherever the rule is left, when that is the same on every way; 0: not known. */
static uint32_t source_after(const struct seccomp_rule *rule, uint32_t before)
{
    uint32_t source = before;

    for (int i = 0; i < count_tests(rule); i++) {
        if (!keeps_source(&rule->test[i]) || (i > 0 && source_of(&rule->test[i]) != source))
            return 0;
        source = source_of(&rule->test[i]);
    }
    return source;
}

/* The code of all rules of one call, from the last to the first. */
static int emit_list(struct list *list)
{
    int next = emit_return(SECCOMP_RET_ALLOW, SECCOMP_GROUP_BASE, -1), allow = next;
    uint32_t source[LIST_MAX + 1] = {0};

    if (list->label >= 0)
        return list->label;
    for (int i = 0; i < list->count; i++)
        source[i + 1] = source_after(&seccomp_rules[list->rule[i]], source[i]);
    for (int i = list->count - 1; i >= 0; i--) {
        const struct seccomp_rule *rule = &seccomp_rules[list->rule[i]];
        int yes = emit_return(SECCOMP_RET_ERRNO | (uint32_t)rule->answer, (int)rule->group,
                              next == allow ? -1 : next);
        int no = next;

        for (int t = count_tests(rule) - 1; t >= 0; t--) {
            uint32_t have = t > 0 ? source_of(&rule->test[t - 1]) : source[i];
            bool load = have != source_of(&rule->test[t]) || (t > 0 && !keeps_source(&rule->test[t - 1]));

            yes = emit_test(&rule->test[t], load, yes, no);
        }
        next = yes;
    }
    if (list->count > 0 && code[next].code != FILTER_RETURN)
        list->label = next;
    return next;
}

/* The instructions on the longest way from an entry to a verdict, with any choice of groups opened. */
static int longest_path(int entry)
{
    static int steps[CODE_MAX];

    for (int at = 0; at <= entry; at++) {
        int a = -1, b = -1;

        if (code[at].code == FILTER_RETURN)
            a = next_rule[at];
        else if (code[at].code == FILTER_JUMP)
            a = at - 1 - (int)code[at].k;
        else
            a = at - 1;
        if (code[at].code == FILTER_IF_EQUAL || code[at].code == FILTER_IF_AT_LEAST ||
            code[at].code == FILTER_IF_BITS) {
            a = at - 1 - code[at].jt;
            b = at - 1 - code[at].jf;
        }
        steps[at] = 1 + (a < 0 ? 0 : steps[a]);
        if (b >= 0 && steps[b] + 1 > steps[at])
            steps[at] = steps[b] + 1;
    }
    return steps[entry];
}

#endif
