/*
 * test-confine-failure.c - whose failure a status and a text tell of.
 */
#include "harness.h"

#include "confine.h"

#define RULE(STATUS, SIGNATURE) "{\"status\": " STATUS ", \"signature\": \"" SIGNATURE "\"}"
#define PLAN(RULES)                                                                                          \
    "{\"schema\": \"confine/plan/1\", \"x\": [\"]\", {\"runner_failure_rules\": []}],\n "                    \
    "\"runner_failure_rules\": [" RULES "], \"y\": null}\n"
#define LINKS   RULE("125", ": fatal: ") ", " RULE("125", "confine: ")
#define RUNNERS LINKS ", " RULE("null", "r\\u00fcnner: \\\"no\\\" \\ud83d\\ude00")

static const struct row {
    const char *name, *plan;
    int status;
    const char *output;
    int at; /* where the line begins; -1: it tells of none */
} rows[] = {
    {"a link", PLAN(LINKS), 125, "landlock-run: fatal: /x: No such file or directory\n", 0},
    {"without an end", PLAN(LINKS), 125, "landlock-run: fatal: x", 0},
    {"confine itself", PLAN(LINKS), 125, "confine: option --x: unknown\n", 0},
    {"behind a warning", PLAN(LINKS), 125, "confine: warning: x\nconfine: y\n\n", 20},
    {"another status", PLAN(LINKS), 1, "landlock-run: fatal: x\n", -1},
    {"another line", PLAN(LINKS), 125, "make: *** [all] Error 125\n", -1},
    {"the command says more", PLAN(LINKS), 125, "x-run: fatal: y\nand goes on\n", -1},
    {"a warning alone", PLAN(LINKS), 125, "confine: warning: user-unnamed: x\n", -1},
    {"nothing", PLAN(LINKS), 125, "", -1},
    {"empty lines", PLAN(LINKS), 125, "\n\r\n", -1},
    {"a runner's", PLAN(RUNNERS), 7, "some\nr\xc3\xbcnner: \"no\" \xf0\x9f\x98\x80!\n", 5},
    {"a runner's, and it ended well", PLAN(RUNNERS), 0, "r\xc3\xbcnner: \"no\" \xf0\x9f\x98\x80\n", -1},
    {"the rules before a runner's", PLAN(RUNNERS), 125, "x: fatal: y\n", 0},
    {"no rules", PLAN(""), 125, "x: fatal: y\n", -1},
    {"a rule without a text", PLAN(RULE("125", "")), 125, "x: fatal: y\n", -1},
    {"a rule that is cut", PLAN(RULE("null", "\\u12")), 125, "x: fatal: y\n", -1},
};

TEST_EACH(whose_failure, struct row, rows)
{
    const char *line = "";

    check_int(confine_match_runner_failure(row->plan, row->status, row->output, &line), CONFINE_OK);
    check_int(line ? (int)(line - row->output) : -1, row->at);
}

TEST(what_is_no_plan)
{
    static const char *const plans[] = {"",
                                        "{}",
                                        "[]",
                                        "{\"runner_failure_rules\": [",
                                        "{\"runner_failure_rules\": 1}",
                                        "runner_failure_rules"};
    const char *line;

    for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++)
        check_int(confine_match_runner_failure(plans[i], 125, "x: fatal: y", &line), CONFINE_E_ARGUMENT);
    check_int(confine_match_runner_failure(NULL, 125, "", &line), CONFINE_E_ARGUMENT);
    check_int(confine_match_runner_failure(PLAN(LINKS), 125, NULL, &line), CONFINE_E_ARGUMENT);
    check_int(confine_match_runner_failure(PLAN(LINKS), 125, "", NULL), CONFINE_E_ARGUMENT);
}
