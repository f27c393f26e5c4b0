/*
 * test-answer.c - what a model is told of a tool for files.
 */
#include "harness.h"

#include "mcp/mcp.h"

#include <string.h>

#define HEAD "Could not write /x/a"

/* How often WORD stands in the answer for COUNT refusals. */
static int said(int count, const char *word)
{
    const struct text none = {0};
    struct mcp_outcome outcome = {.status = 1, .out = &none, .err = &none, .done = "", .failed = HEAD};
    json_t *items = json_array(), *answer, *text;
    int times = 0;

    for (int i = 0; i < count; i++)
        json_array_append_new(items, json_pack("{s:s, s:s, s:s, s:n}", "operation", "create", "path", "/x/a",
                                               "grant_option", "--write /x", "noise"));
    outcome.report = json_pack("{s:{s:s}, s:{s:o}}", "outcome", "kind", "exited", "denials", "items", items);
    answer = mcp_answer(&outcome);
    text = json_object_get(json_array_get(json_object_get(answer, "content"), 0), "text");
    check_int(strncmp(json_string_value(text), HEAD, strlen(HEAD)), 0);
    for (const char *at = json_string_value(text); (at = strstr(at, word)); at += strlen(word))
        times++;
    json_decref(answer);
    json_decref(outcome.report);
    return times;
}

TEST(three_refusals_at_most)
{
    static const char sentence[] = ". The sandbox refused it (create /x/a): ask for --write /x";

    for (int count = 0; count <= 3; count++)
        check_int(said(count, sentence), count);
    for (int count = 4; count <= 9; count++)
        check_int(said(count, sentence), 3);
}
