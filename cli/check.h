/*
 * check.h - what the battery saw of one backend, held against what the report of that run claims.
 */
#ifndef CONFINE_CLI_CHECK_H
#define CONFINE_CLI_CHECK_H

#include "surface/surface.h"
#include "util/error.h"
#include "util/util.h"

#include <jansson.h>

enum verdict {
    VERDICT_ERROR = 0,
    VERDICT_SKIPPED,
    VERDICT_NO_CONTROL,
    VERDICT_BLOCKED,
    VERDICT_CROSSED,
    VERDICT_COUNT
};

enum judgement {
    JUDGED_NOT_TRIED = 0, /* nothing that was tried proves anything */
    JUDGED_HELD,          /* nothing crossed, and that is what is claimed */
    JUDGED_DECLARED,      /* what crossed is what the report says can cross */
    JUDGED_UNDER_CLAIM,   /* called open, and nothing crossed */
    JUDGED_OVER_CLAIM,    /* called enforced or absent, and something crossed */
    JUDGED_COUNT
};

struct tally {
    enum surface_state state;
    const char *reason; /* why it is no more than that, of the report; NULL: none is given */
    unsigned verdicts[VERDICT_COUNT];
    unsigned over_claims; /* attempts that crossed and are not excused */
    enum judgement judgement;
};

/* One backend. */
struct checked {
    char backend[32];
    json_t *attempts; /* array of the battery's objects, in its order; owned */
    json_t *report;   /* of the run that they were made in; owned, NULL: it wrote none */
    struct tally tally[SURFACE_COUNT];
    struct error error; /* why nothing was tried */
};

const char *verdict_name(enum verdict verdict);
const char *judgement_name(enum judgement judgement);
enum verdict verdict_of(const json_t *attempt);

/* judge() - fill the tallies. Return: 0, or a negative errno with the error of @checked: it cannot be used
 * here. */
int judge(struct checked *checked);

/* judge_count() - how many attempts of all surfaces came to @verdict. */
unsigned judge_count(const struct checked *checked, enum verdict verdict);
/* judge_nothing() - `nothing was tried`, with why: no attempt matched what was chosen, or none of those of
 * all
 * @count could be tried, which are two things to look for. */
void judge_nothing(const struct checked *checked, size_t count, struct text *text);
/* judge_surfaces() - how many surfaces were judged so. */
unsigned judge_surfaces(const struct checked *checked, enum judgement judgement);

/* judge_json() - everything as one value. Return: a new reference, NULL without memory. */
json_t *judge_json(const struct checked *checked, size_t count);

/* judge_text() - the table, what matters below it, and a sentence per backend. @colour: for a terminal. */
void judge_text(const struct checked *checked, size_t count, int verbosity, bool colour, struct text *text);

/* judge_html() - everything as one page of its own. */
void judge_html(const struct checked *checked, size_t count, struct text *text);

void checked_free(struct checked *checked);

#endif
