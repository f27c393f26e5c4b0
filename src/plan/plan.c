/*
 * plan.c - building a plan: words of the chain, claims, checks.
 */
#include "plan/plan.h"

#include "links/observe_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MOSTLY  96
#define CHECKS_MOSTLY 32

static int add_word(struct plan *plan, struct word word)
{
    if (!plan->words && !array_expect(&plan->words, WORDS_MOSTLY, sizeof(word)))
        return -ENOMEM;
    if (!array_more(&plan->words, plan->word_count, sizeof(word)))
        return -ENOMEM;
    plan->words[plan->word_count++] = word;
    return 0;
}

static int add_text(struct plan *plan, enum word_kind kind, const char *text)
{
    _cleanup_free_ char *copy = strdup(text);
    int r;

    if (!copy)
        return -ENOMEM;
    r = add_word(plan, (struct word){.kind = kind, .text = copy});
    if (r == 0)
        steal_pointer(&copy);
    return r;
}

int plan_word(struct plan *plan, const char *text)
{
    return add_text(plan, WORD_TEXT, text);
}

int plan_mask(struct plan *plan, const char *path, bool passing)
{
    return add_text(plan, passing ? WORD_MASK_IF_THERE : WORD_MASK, path);
}

int plan_path(struct plan *plan, size_t path)
{
    return add_word(plan, (struct word){.kind = WORD_PATH, .path = path});
}

int plan_special(struct plan *plan, enum word_kind kind)
{
    return add_word(plan, (struct word){.kind = kind});
}

int plan_join(struct plan *plan, enum channel_join which)
{
    return add_word(plan, (struct word){.kind = WORD_JOIN, .path = which});
}

/**
 * plan_raise() - raise a claim above `open`.
 *
 * A second mechanism joins the first; the stronger state stays, and with it its reason.
 */
void plan_raise(struct plan *plan, enum surface surface, enum surface_state state, enum mechanism mechanism,
                const char *reason)
{
    struct claim *claim = &plan->claims[surface];

    if (state == STATE_ABSENT || state > claim->state) {
        claim->state = state;
        claim->reason = reason;
    }
    if (mechanism != MECHANISM_NONE && claim->by_count < CLAIM_BY_MAX)
        claim->by[claim->by_count++] = (struct claim_by){.mechanism = mechanism};
}

/**
 * plan_lower() - a claim that something outside the chain weakens: at most `partial`, for this reason.
 */
void plan_lower(struct plan *plan, enum surface surface, const char *reason)
{
    struct claim *claim = &plan->claims[surface];

    if (claim->state <= STATE_PARTIAL)
        return;
    claim->state = STATE_PARTIAL;
    claim->reason = reason;
}

void plan_reason(struct plan *plan, enum surface surface, const char *reason)
{
    plan->claims[surface].reason = reason;
}

int plan_check(struct plan *plan, struct check check)
{
    if (plan->check_count == CHANNEL_CHECKS_MAX)
        return -E2BIG;
    if (!plan->checks && !array_expect(&plan->checks, CHECKS_MOSTLY, sizeof(check)))
        return -ENOMEM;
    if (!array_more(&plan->checks, plan->check_count, sizeof(check)))
        return -ENOMEM;
    plan->checks[plan->check_count++] = check;
    return 0;
}

int plan_unheld(struct plan *plan, size_t hidden, const char *why)
{
    if (!array_more(&plan->unheld, plan->unheld_count, sizeof(*plan->unheld)))
        return -ENOMEM;
    plan->unheld[plan->unheld_count++] = (struct unheld){.hidden = hidden, .why = why};
    return 0;
}

bool plan_limits(const struct policy *policy, enum surface surface)
{
    switch (surface) {
    case SURFACE_LIMIT_TIME:
        return policy->limit_time_ms;
    case SURFACE_LIMIT_MEMORY:
        return policy->limit_memory;
    case SURFACE_LIMIT_PROCESSES:
        return policy->limit_processes;
    case SURFACE_LIMIT_OUTPUT:
        return policy->limit_output;
    case SURFACE_LIMIT_FILE_SIZE:
        return policy->limit_file_size;
    case SURFACE_LIMIT_TMP_SIZE:
        return policy->limit_tmp_size;
    case SURFACE_LIMIT_CPU:
        return policy->limit_cpu_ms;
    default:
        return false;
    }
}

/**
 * plan_claims() - does the policy claim this surface?
 *
 * The mode x option table of the contract. What was opened on purpose is not claimed.
 */
bool plan_claims(const struct resolved *resolved, enum surface surface)
{
    const struct policy *policy = resolved->policy;

    if (resolved->open[surface])
        return false;
    if (resolved->required[surface])
        return true;
    if (resolved->mode == MODE_DANGER_FULL_ACCESS)
        return plan_limits(policy, surface); /* the one thing that it holds */
    switch (surface_table[surface].claimed) {
    case CLAIMED_BY_MODE:
        return true;
    case CLAIMED_BY_NETWORK_NONE:
        return policy->network != NETWORK_HOST;
    case CLAIMED_BY_LISTED:
        return policy->network == NETWORK_LISTED;
    case CLAIMED_BY_LIMIT:
        return plan_limits(policy, surface);
    case CLAIMED_BY_READABLE:
        return policy->readable_listed;
    case CLAIMED_NEVER:
        break;
    }
    return false;
}

bool plan_needs(const struct resolved *resolved, enum surface surface)
{
    if (resolved->open[surface])
        return false;
    if (resolved->named[surface] || resolved->required[surface])
        return true;
    return (resolved->required_group[surface] || resolved->require_full) && plan_claims(resolved, surface);
}

unsigned plan_observed(const struct resolved *resolved, const struct plan *plan)
{
    bool view = plan->own_tmp != NULL; /* its mounts hold metadata, and a namespace the network */
    unsigned asked = 0;

    if (view && !resolved->open[SURFACE_FS_METADATA])
        asked |= 1U << OBSERVE_METADATA;
    if (resolved->policy->readable_listed || resolved->policy->denials == DENIALS_READS)
        asked |= 1U << OBSERVE_READING;
    if (view)
        asked |= 1U << OBSERVE_NETWORK;
    return asked;
}

/* A word is a link when the chain stands at its start, behind a `--` before the command, or goes on. */
const char **plan_links(const struct plan *plan)
{
    const char **links = calloc(plan->word_count + 1, sizeof(*links));
    bool start = true;
    size_t count = 0;

    for (size_t i = 0; links && i < plan->word_count; i++) {
        const struct word *word = &plan->words[i];

        if (start && plan->runner && word->kind == WORD_TEXT && strcmp(word->text, plan->runner) == 0)
            links[count++] = "runner";
        else if (start && word->kind == WORD_TEXT)
            links[count++] = strrchr(word->text, '/') ? strrchr(word->text, '/') + 1 : word->text;
        start = word->kind == WORD_LAUNCHER || (word->kind == WORD_TEXT && strcmp(word->text, "--") == 0);
    }
    return links;
}

void plan_free(struct plan *plan)
{
    for (size_t i = 0; i < plan->word_count; i++)
        free(plan->words[i].text);
    free(plan->words);
    free(plan->checks);
    strings_free(&plan->warnings);
    free(plan->unheld);
    *plan = (struct plan){0};
}
