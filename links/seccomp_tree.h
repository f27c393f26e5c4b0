/*
 * seccomp_tree.h - which rules a call number has, for seccomp-gen alone.
 *
 * The numbers are cut into ranges that share their rules. They are told apart
 * by the cheapest of all trees that split at a number and whose leaves take out
 * single numbers before they answer for the rest. Loading a filter costs time
 * for each instruction (it is checked, converted and compiled) and for each step
 * to an answer (the kernel tries every number that it knows once).
 *
 * Mustn't: weigh by how often a call is made: the kernel remembers what is
 *          always allowed and does not run the filter for it again.
 */
#ifndef CONFINE_LINKS_SECCOMP_TREE_H
#define CONFINE_LINKS_SECCOMP_TREE_H

#include "seccomp_cases.h"

#define NUMBERS      (SECCOMP_SENTINEL_NR + 2)
#define LISTS_MAX    128
#define SEGMENTS_MAX 400
#define SINGLES_MAX  8 /* numbers taken out before one answer */

/* Microseconds, measured on Linux 6.18. A step is taken for each of the numbers. */
#define COST_INSTRUCTION 0.15
#define COST_STEP        (1.0 / SECCOMP_NEWEST_NR)

struct segment {
    uint32_t first, size;
    int list;
    double weight; /* numbers that the kernel knows */
};

/* The cheapest way to answer for a run of segments. */
struct plan {
    double cost;
    int split; /* the last segment of the lower half; -1: none, then */
    int rest;  /* the list of all but some single numbers */
};

static struct list lists[LISTS_MAX];
static int list_count;
static uint8_t list_of[NUMBERS];
static struct segment segments[SEGMENTS_MAX];
static int segment_count;
static struct plan plans[SEGMENTS_MAX][SEGMENTS_MAX];

/* The first rule of the table that asks and answers the same: calls that differ in nothing else share a list.
 */
static int first_alike(int rule)
{
    for (int i = 0; i < rule; i++)
        if (group_for(&seccomp_rules[i]) == group_for(&seccomp_rules[rule]) &&
            seccomp_rules[i].answer == seccomp_rules[rule].answer &&
            memcmp(seccomp_rules[i].test, seccomp_rules[rule].test, sizeof(seccomp_rules[i].test)) == 0)
            return i;
    return rule;
}

/* Adds the rule to the list of one number: lists are few, so each combination is kept once. */
static void add_rule(uint32_t number, int rule)
{
    struct list list = lists[list_of[number]];
    int last = list.count > 0 ? list.rule[list.count - 1] : -1, i;

    if (last >= 0 && group_for(&seccomp_rules[last]) == SECCOMP_GROUP_BASE &&
        count_tests(&seccomp_rules[last]) == 0)
        return; /* answered already, whatever is opened */
    if (list.count == LIST_MAX)
        fail(seccomp_rules[rule].name, "too many rules for one call");
    list.rule[list.count++] = first_alike(rule);
    for (i = 0; i < list_count; i++)
        if (lists[i].count == list.count &&
            memcmp(lists[i].rule, list.rule, sizeof(int) * (size_t)list.count) == 0)
            break;
    if (i == LISTS_MAX)
        fail(seccomp_rules[rule].name, "too many combinations of rules");
    if (i == list_count)
        lists[list_count++] = list;
    list_of[number] = (uint8_t)i;
}

static void clear_lists(void)
{
    memset(list_of, 0, sizeof(list_of));
    memset(lists, 0, sizeof(lists));
    list_count = 1; /* the empty one: allow */
}

/* The runs of numbers that share a list. */
static void cut_segments(void)
{
    struct segment *last = segments;

    *last = (struct segment){.first = 0, .list = list_of[0]};
    for (uint32_t n = 0; n < NUMBERS; n++) {
        if (list_of[n] != last->list) {
            if (++last == segments + SEGMENTS_MAX)
                fail("filter", "too many ranges");
            *last = (struct segment){.first = n, .list = list_of[n]};
        }
        last->size++;
        last->weight += n <= SECCOMP_NEWEST_NR;
    }
    last->size = UINT32_MAX - last->first;
    segment_count = (int)(last - segments) + 1;
    for (int i = 0; i < list_count; i++)
        lists[i].label = -1;
}

/* One answer for all, after the numbers with another one were taken out. */
static void plan_leaf(int first, int last, struct plan *plan)
{
    for (int rest = 0; rest < list_count; rest++) {
        uint64_t singles = 0;
        double weight = 0, cost;

        for (int i = first; i <= last && singles <= SINGLES_MAX; i++)
            if (segments[i].list != rest)
                singles += segments[i].size;
            else
                weight += segments[i].weight;
        if (singles > SINGLES_MAX)
            continue;
        cost = (double)singles * (COST_INSTRUCTION + COST_STEP * (weight + ((double)singles + 1) / 2));
        if (plan->cost < 0 || cost < plan->cost)
            *plan = (struct plan){cost, -1, rest};
    }
}

static void plan_tree(void)
{
    for (int length = 1; length <= segment_count; length++)
        for (int first = 0; first + length <= segment_count; first++) {
            int last = first + length - 1;
            struct plan best = {.cost = -1};
            double weight = 0;

            plan_leaf(first, last, &best);
            for (int i = first; i <= last; i++)
                weight += segments[i].weight;
            for (int split = first; split < last; split++) {
                double cost = plans[first][split].cost + plans[split + 1][last].cost + COST_INSTRUCTION +
                              COST_STEP * weight;

                if (best.cost < 0 || cost < best.cost)
                    best = (struct plan){cost, split, 0};
            }
            plans[first][last] = best;
        }
}

static int emit_leaf(int first, int last, int rest)
{
    uint32_t number[SINGLES_MAX];
    int special[SINGLES_MAX], count = 0, at;

    for (int i = first; i <= last; i++)
        for (uint32_t n = 0; segments[i].list != rest && n < segments[i].size; n++) {
            number[count] = segments[i].first + n;
            special[count++] = emit_list(&lists[segments[i].list]);
        }
    at = emit_list(&lists[rest]);
    while (count-- > 0)
        at = emit_if(FILTER_IF_EQUAL, number[count], special[count], at);
    return at;
}

static int emit_tree(int first, int last)
{
    const struct plan *plan = &plans[first][last];
    int right, left;

    if (plan->split < 0)
        return emit_leaf(first, last, plan->rest);
    right = emit_tree(plan->split + 1, last);
    left = emit_tree(first, plan->split);
    return emit_if(FILTER_IF_AT_LEAST, segments[plan->split + 1].first, right, left);
}

#endif
