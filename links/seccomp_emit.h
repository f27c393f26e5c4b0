/*
 * seccomp_emit.h - the instructions of a filter, for seccomp-gen alone.
 *
 * A filter jumps forward only, so its code is built from its end to its start:
 * whatever an instruction jumps to exists already, and its distance is known.
 * Positions count from the end: code[0] is the last instruction.
 *
 * Each instruction costs the kernel time whenever the filter is loaded, so what
 * exists already and is near enough is used again.
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
#define NEAR     240  /* a conditional jump reaches 255 */

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

static bool is_near(int at)
{
    return at >= 0 && code_count - at < NEAR;
}

static bool is_branch(int at)
{
    return code[at].code == FILTER_IF_EQUAL || code[at].code == FILTER_IF_AT_LEAST ||
           code[at].code == FILTER_IF_BITS;
}

/* A return with this verdict: one that is near already, or a new one. */
static int emit_return(uint32_t verdict, int group, int next)
{
    int at;

    for (at = code_count - 1; is_near(at); at--)
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
    if (is_near(target))
        return target;
    if (code[target].code == FILTER_RETURN)
        return emit_return(code[target].k, group_of[target], next_rule[target]);
    return emit(FILTER_JUMP, 0, 0, (uint32_t)(code_count - target - 1));
}

static int emit_branch(uint16_t op, uint32_t k, int yes, int no)
{
    yes = emit_near(yes);
    no = emit_near(no);
    return emit(op, (uint8_t)(code_count - yes - 1), (uint8_t)(code_count - no - 1), k);
}

static int emit_if(uint16_t op, uint32_t k, int yes, int no)
{
    if (yes == no)
        return yes;
    for (int at = code_count - 1; is_near(at); at--)
        if (code[at].code == op && code[at].k == k && at - 1 - code[at].jt == yes &&
            at - 1 - code[at].jf == no)
            return at;
    return emit_branch(op, k, yes, no);
}

/* An instruction without a choice, which NEXT follows. */
static int emit_before(uint16_t op, uint32_t k, int next)
{
    for (int at = code_count - 1; is_near(at); at--)
        if (code[at].code == op && code[at].k == k && at - 1 == next)
            return at;
    if (next != code_count - 1) {
        if (is_branch(next))
            emit_branch(code[next].code, code[next].k, next - 1 - code[next].jt, next - 1 - code[next].jf);
        else
            emit(FILTER_JUMP, 0, 0, (uint32_t)(code_count - next - 1));
    }
    return emit(op, 0, 0, k);
}

/* The instructions on the longest way from an entry to a verdict, with any choice of groups opened. */
static int longest_path(int entry)
{
    static int steps[CODE_MAX];

    for (int at = 0; at <= entry; at++) {
        int a = at - 1, b = -1;

        if (code[at].code == FILTER_RETURN)
            a = next_rule[at];
        else if (code[at].code == FILTER_JUMP)
            a = at - 1 - (int)code[at].k;
        else if (is_branch(at)) {
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
