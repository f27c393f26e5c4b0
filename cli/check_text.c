/*
 * check_text.c - what the battery saw, for people: a table, what matters, and a sentence.
 *
 * Should:  say first what is wrong; escape what did not come from our own tables.
 * Mustn't: call a surface held of which nothing was proved.
 */
#include "cli/check.h"

#include <string.h>

static const char red[] = "\033[1;31m", green[] = "\033[32m", plain[] = "\033[0m";

/* `enforced 30/30`: what is claimed, and how many of those that could cross did not. */
static void add_cell(const struct tally *tally, bool colour, struct text *text)
{
    unsigned blocked = tally->verdicts[VERDICT_BLOCKED], tried = blocked + tally->verdicts[VERDICT_CROSSED];
    const char *paint = "";
    char cell[48];

    if (tried > 0)
        snprintf(cell, sizeof(cell), "%s %u/%u%s", state_name(tally->state), blocked, tried,
                 tally->judgement == JUDGED_OVER_CLAIM ? " !" : "");
    else
        snprintf(cell, sizeof(cell), "%s -", state_name(tally->state));
    if (colour && tally->judgement == JUDGED_OVER_CLAIM)
        paint = red;
    else if (colour && tally->judgement == JUDGED_HELD)
        paint = green;
    text_addf(text, "%s%-20s%s", paint, cell, *paint ? plain : "");
}

static bool has_attempts(const struct checked *checked, size_t count, int surface)
{
    for (size_t i = 0; i < count; i++)
        for (int v = 0; v < VERDICT_COUNT; v++)
            if (checked[i].tally[surface].verdicts[v])
                return true;
    return false;
}

static void add_table(const struct checked *checked, size_t count, bool colour, struct text *text)
{
    text_addf(text, "%-18s", "surface");
    for (size_t i = 0; i < count; i++)
        if (checked[i].error.code == ERROR_NONE)
            text_addf(text, "%-20s", checked[i].backend);
    text_add(text, "\n");
    for (int s = 0; s < SURFACE_COUNT; s++) {
        if (!has_attempts(checked, count, s))
            continue;
        text_addf(text, "%-18s", surface_table[s].name);
        for (size_t i = 0; i < count; i++)
            if (checked[i].error.code == ERROR_NONE)
                add_cell(&checked[i].tally[s], colour, text);
        while (text->length > 0 && text->data[text->length - 1] == ' ') /* nobody wants to copy that */
            text->data[--text->length] = '\0';
        text_add(text, "\n");
    }
}

static const char *value_of(const json_t *attempt, const char *key)
{
    return json_string_value(json_object_get(attempt, key));
}

static void add_attempt(const struct checked *checked, const json_t *attempt, const char *heading,
                        struct text *text)
{
    const char *errnum = value_of(attempt, "errno"), *reason = value_of(attempt, "reason");

    text_addf(text, "%s%s %s %s: %s%s%s: %s", heading, checked->backend, value_of(attempt, "id"),
              value_of(attempt, "surface"), value_of(attempt, "verdict"), errnum ? " " : "",
              errnum ? errnum : "", value_of(attempt, "what"));
    text_addf(text, "\n    %s\n", value_of(attempt, "call"));
    if (reason)
        text_addf(text, "    %s\n", reason);
}

/* What must be looked at, then with -v everything else. */
static void add_attempts(const struct checked *checked, int verbosity, bool colour, struct text *text)
{
    json_t *attempt;
    size_t i;

    json_array_foreach(checked->attempts, i, attempt)
    {
        const char *judgement = value_of(attempt, "judgement");

        if (judgement && strcmp(judgement, judgement_name(JUDGED_OVER_CLAIM)) == 0) {
            text_add(text, colour ? red : "");
            add_attempt(checked, attempt, "OVER-CLAIM: ", text);
            text_addf(text, "    it matters: %s\n%s", value_of(attempt, "why"), colour ? plain : "");
        } else if (verdict_of(attempt) == VERDICT_ERROR || verbosity > 0) {
            add_attempt(checked, attempt, "", text);
        }
    }
    for (int s = 0; s < SURFACE_COUNT; s++)
        if (checked->tally[s].judgement == JUDGED_UNDER_CLAIM)
            text_addf(text, "%s %s: it is called open, and none of %u attempts crossed\n", checked->backend,
                      surface_table[s].name, checked->tally[s].verdicts[VERDICT_BLOCKED]);
}

static void add_crossed_names(const struct checked *checked, struct text *text)
{
    const char *between = " (";

    for (int s = 0; s < SURFACE_COUNT; s++) {
        if (checked->tally[s].judgement != JUDGED_DECLARED)
            continue;
        text_addf(text, "%s%s", between, surface_table[s].name);
        between = ", ";
    }
    text_add(text, *between == ',' ? ")" : "");
}

static void add_sentence(const struct checked *checked, bool colour, struct text *text)
{
    unsigned over = 0, crossed = judge_count(checked, VERDICT_CROSSED),
             blocked = judge_count(checked, VERDICT_BLOCKED);
    unsigned rest = judge_count(checked, VERDICT_NO_CONTROL) + judge_count(checked, VERDICT_SKIPPED) +
                    judge_count(checked, VERDICT_ERROR);

    if (checked->error.code != ERROR_NONE) {
        text_addf(text, "%s: not tried: %s [%s]\n", checked->backend, checked->error.message,
                  checked->error.reason);
        return;
    }
    if (crossed + blocked == 0) {
        text_addf(text, "%s: ", checked->backend);
        judge_nothing(checked, 1, text);
        text_add(text, "\n");
        return;
    }
    for (int s = 0; s < SURFACE_COUNT; s++)
        if (checked->tally[s].judgement == JUDGED_OVER_CLAIM)
            over += checked->tally[s].verdicts[VERDICT_CROSSED];
    if (over > 0)
        text_addf(
            text,
            "%s%s: %u of %u attempts crossed where the report says that nothing can: do not rely on it.%s",
            colour ? red : "", checked->backend, over, crossed + blocked, colour ? plain : "");
    else
        text_addf(text, "%s: none of %u attempts crossed where the report says that nothing can.",
                  checked->backend, crossed + blocked);
    if (crossed > over) {
        text_addf(text, " %u crossed where it says that they can", crossed - over);
        add_crossed_names(checked, text);
        text_add(text, ".");
    }
    if (rest > 0)
        text_addf(text, " %u more proved nothing here.", rest);
    text_add(text, "\n");
}

void judge_text(const struct checked *checked, size_t count, int verbosity, bool colour, struct text *text)
{
    if (verbosity >= 0)
        add_table(checked, count, colour, text);
    for (size_t i = 0; i < count && verbosity >= 0; i++)
        if (checked[i].error.code == ERROR_NONE)
            add_attempts(&checked[i], verbosity, colour, text);
    for (size_t i = 0; i < count; i++)
        add_sentence(&checked[i], colour, text);
}
