/*
 * test-check.c - what an attempt and a surface come to, for each state that is claimed and each verdict.
 */
#include "harness.h"

#include "cli/check.h"

static struct checked checked;

static const char *reason; /* of the surface */

/* One attempt at fs.write with VERDICT, where the report says STATE. */
static int judge_one(const char *state, const char *verdict)
{
    checked = (struct checked){.backend = "auto"};
    checked.attempts = json_pack("[{s:s, s:s, s:s, s:s, s:s, s:s, s:n, s:n}]", "id", "FS-02", "surface",
                                 "fs.write", "verdict", verdict, "call", "open()", "what", "overwrite", "why",
                                 "it matters", "errno", "reason");
    checked.report = json_pack("{s:s, s:n, s:[{s:s, s:s, s:s?}]}", "backend", "landlock", "error", "surfaces",
                               "id", "fs.write", "state", state, "reason", reason);
    need(checked.attempts && checked.report);
    return judge(&checked);
}

static const struct row {
    const char *name, *state, *verdict;
    enum judgement surface;
    const char *attempt;
} rows[] = {
    {"crossed what is enforced", "enforced", "crossed", JUDGED_OVER_CLAIM, "over-claim"},
    {"crossed what is absent", "absent", "crossed", JUDGED_OVER_CLAIM, "over-claim"},
    {"crossed what is partial", "partial", "crossed", JUDGED_DECLARED, "declared"},
    {"crossed what is open", "open", "crossed", JUDGED_DECLARED, "declared"},
    {"blocked, enforced", "enforced", "blocked", JUDGED_HELD, "held"},
    {"blocked, partial", "partial", "blocked", JUDGED_HELD, "held"},
    {"blocked, open", "open", "blocked", JUDGED_UNDER_CLAIM, "held"},
    {"no control, enforced", "enforced", "no-control", JUDGED_NOT_TRIED, "not-tried"},
    {"skipped, enforced", "enforced", "skipped", JUDGED_NOT_TRIED, "not-tried"},
    {"an error, enforced", "enforced", "error", JUDGED_NOT_TRIED, "not-tried"},
    {"no control, open", "open", "no-control", JUDGED_NOT_TRIED, "not-tried"},
    {"a verdict that there is not", "enforced", "held", JUDGED_NOT_TRIED, "not-tried"},
};

/* A part that is held is held: a reason excuses what it says, and nothing else. */
TEST(a_reason_excuses_no_more_than_it_says)
{
    reason = "mounts-of-later";
    need(judge_one("partial", "crossed") == 0);
    check_int(checked.tally[SURFACE_FS_WRITE].judgement, JUDGED_OVER_CLAIM);
    checked_free(&checked);
    need(judge_one("open", "crossed") == 0);
    check_int(checked.tally[SURFACE_FS_WRITE].judgement, JUDGED_DECLARED);
    checked_free(&checked);
    reason = "socket-passed";
    need(judge_one("partial", "crossed") == 0);
    check_int(checked.tally[SURFACE_FS_WRITE].judgement, JUDGED_DECLARED);
    checked_free(&checked);
}

TEST_EACH(is_judged, struct row, rows)
{
    check_int(judge_one(row->state, row->verdict), 0);
    check_int(checked.tally[SURFACE_FS_WRITE].judgement, row->surface);
    check_str(json_string_value(json_object_get(json_array_get(checked.attempts, 0), "judgement")),
              row->attempt);
    check_int(judge_surfaces(&checked, JUDGED_OVER_CLAIM), row->surface == JUDGED_OVER_CLAIM);
    check_str(checked.backend, "landlock");
    checked_free(&checked);
}

/* An attempt that had a run with more options says what that one's report claims; the others' counts no more.
 */
TEST(a_run_of_its_own_has_its_own_claim)
{
    json_t *attempt;

    need(judge_one("open", "crossed") == 0);
    check_int(checked.tally[SURFACE_FS_WRITE].judgement, JUDGED_DECLARED);
    attempt = json_array_get(checked.attempts, 0);
    need(json_object_set_new(attempt, "claim", json_string("enforced")) == 0);
    checked.tally[SURFACE_FS_WRITE] = (struct tally){0};
    check_int(judge(&checked), 0);
    check_int(checked.tally[SURFACE_FS_WRITE].state, STATE_ENFORCED);
    check_int(checked.tally[SURFACE_FS_WRITE].judgement, JUDGED_OVER_CLAIM);
    checked_free(&checked);
}

/* A surface of which the report says nothing is open: whatever crosses there is no surprise. */
TEST(what_the_report_does_not_name_is_open)
{
    need(judge_one("enforced", "crossed") == 0);
    json_array_clear(json_object_get(checked.report, "surfaces"));
    checked.tally[SURFACE_FS_WRITE] = (struct tally){0};
    check_int(judge(&checked), 0);
    check_int(checked.tally[SURFACE_FS_WRITE].judgement, JUDGED_DECLARED);
}

TEST(one_crossing_among_many_is_an_over_claim)
{
    need(judge_one("enforced", "blocked") == 0);
    for (int i = 0; i < 40; i++)
        need(json_array_append_new(checked.attempts, json_deep_copy(json_array_get(checked.attempts, 0))) ==
             0);
    json_object_set_new(json_array_get(checked.attempts, 17), "verdict", json_string("crossed"));
    checked.tally[SURFACE_FS_WRITE] = (struct tally){0};
    check_int(judge(&checked), 0);
    check_int(checked.tally[SURFACE_FS_WRITE].judgement, JUDGED_OVER_CLAIM);
    check_int(judge_count(&checked, VERDICT_BLOCKED), 40);
    check_int(judge_count(&checked, VERDICT_CROSSED), 1);
}

TEST(what_cannot_be_judged_is_an_error)
{
    need(judge_one("enforced", "blocked") == 0);
    json_object_set_new(json_array_get(checked.attempts, 0), "surface", json_string("fs.nothing"));
    check(judge(&checked) < 0);
    check_str(checked.error.reason, "battery-failed");
    checked_free(&checked);
    check(judge(&checked) < 0); /* no report */
    check_str(checked.error.reason, "battery-failed");
}

TEST(a_run_that_was_refused_says_why)
{
    need(judge_one("enforced", "blocked") == 0);
    json_object_set_new(
        checked.report, "error",
        json_pack("{s:s, s:s, s:s}", "reason", "no-landlock", "message", "there is none", "hint", "x"));
    check(judge(&checked) < 0);
    check_str(checked.error.reason, "no-landlock");
    check_str(checked.error.hint, "x");
}

TEST(people_read_of_an_over_claim_in_red)
{
    struct text text = {0};

    need(judge_one("enforced", "crossed") == 0);
    judge_text(&checked, 1, 0, true, &text);
    check(strstr(text.data, "\033[1;31mOVER-CLAIM: landlock FS-02") != NULL);
    check(strstr(text.data, "open()") != NULL);
    check(strstr(text.data, "do not rely on it") != NULL);
    text_free(&text);
    judge_text(&checked, 1, -1, false, &text);
    check(strchr(text.data, '\033') == NULL);
    check(strstr(text.data, "do not rely on it") != NULL);
    text_free(&text);
    checked_free(&checked);
    need(judge_one("enforced", "blocked") == 0);
    judge_text(&checked, 1, 0, false, &text);
    check(strstr(text.data, "OVER-CLAIM") == NULL);
    check(strstr(text.data, "enforced 1/1") != NULL);
    text_free(&text);
}
