/*
 * test-confine-json.c - the library finds what confine wrote, and nothing in what was cut.
 */
#include "harness.h"

#include "confine_json.h"

static const char report[] =
    "{\n  \"schema\": \"x\",\n  \"tricky\": \"\\\"outcome\\\": {\\\\\",\n"
    "  \"list\": [{\"outcome\": 1}, [\"]\", \"}\"], -1.5e3],\n"
    "  \"outcome\": {\n    \"kind\": \"exited\", \"status\":125 , \"signal\": null\n  },\n"
    "  \"error\": null\n}\n";

TEST(members_are_found)
{
    const char *outcome = json_look(report, "outcome");

    need(outcome);
    check(json_is_word(json_look(outcome, "kind"), "exited"));
    check(!json_is_word(json_look(outcome, "kind"), "exit"));
    check(!json_is_word(json_look(outcome, "kind"), "exited!"));
    check_int(json_number(json_look(outcome, "status"), -1), 125);
    check_int(json_number(json_look(outcome, "signal"), 7), 7);
    check(json_look(outcome, "error") == NULL);
    check(json_look(report, "error") != NULL);
    check(json_look(report, "kind") == NULL);
    check(json_look(report, "lis") == NULL);
    check(!json_is_word(NULL, "x"));
    check_int(json_number(NULL, 3), 3);
    check(json_look("{}", "x") == NULL);
    check(json_look("[\"x\", 1]", "x") == NULL);
    check(json_look("null", "x") == NULL);
}

TEST(what_was_cut_is_not_complete)
{
    char cut[sizeof(report)];

    check(json_complete(report));
    check(json_complete(" [1, {\"a\": []}]\n"));
    for (size_t length = 0; length + 2 < sizeof(report) - 1; length++) {
        memcpy(cut, report, length);
        cut[length] = '\0';
        if (!check(!json_complete(cut)) || !check(json_look(cut, "outcome") == NULL))
            test_note("at %zu", length);
    }
}

static const struct text {
    const char *name;
    const char *text;
} incomplete[] = {
    {"nothing", ""},       {"a word", "\"x\""},
    {"two", "{} {}"},      {"a number", "1"},
    {"behind it", "{} x"}, {"an open string", "{\"x"},
    {"an end", "}"},       {"an escape at the end", "{\"\\"},
    {"ends only", "{}}"},  {"a colon", "{:"},
    {"blanks", " \n\t "},
};

TEST_EACH(is_not_complete, struct text, incomplete)
{
    check(!json_complete(row->text));
}

static const struct number {
    const char *name;
    const char *text;
    int number;
} numbers[] = {
    {"zero", "0", 0},
    {"below", "-5,", -5},
    {"too large", "99999999999", -9},
    {"far too large", "99999999999999999999999999", -9},
    {"no number", "true", -9},
};

TEST_EACH(is_read, struct number, numbers)
{
    check_int(json_number(row->text, -9), row->number);
}
