/*
 * test-plan.c - a plan as people and programs read it.
 */
#include "harness.h"

#include "plan/plan_json.h"

static const struct quote_row {
    const char *name;
    const char *word;
    const char *expected;
} quote_rows[] = {
    {"plain", "/usr/bin/make", "/usr/bin/make"},
    {"empty", "", "''"},
    {"space", "a b", "'a b'"},
    {"tilde", "~/x", "'~/x'"},
    {"quote", "it's", "'it'\\''s'"},
    {"dollar", "$(reboot)", "'$(reboot)'"},
    {"newline", "a\nb", "$'a\\x0ab'"},
    {"newline and quote", "a\n'\\", "$'a\\x0a\\'\\\\'"},
    {"escape", "\x1b[2J", "$'\\x1b[2J'"},
};

TEST_EACH(a_shell_reads_words_back, struct quote_row, quote_rows)
{
    struct text text = {0};

    shell_quote(&text, row->word);
    check_str(text.data, row->expected);
    text_free(&text);
}

TEST(a_plan_is_printed_with_names)
{
    char make[] = "make", test_word[] = "test", *const words[] = {make, test_word, NULL};
    struct resolved_path path = {.fd = -1, .path = (char *)(uintptr_t) "/home/me/a b"};
    struct resolved resolved = {.paths = &path, .path_count = 1};
    struct plan made = {.backend = "landlock"};
    struct text text = {0};
    json_t *chain;

    need(plan_word(&made, "detach-run") == 0 && plan_special(&made, WORD_KEEP) == 0 &&
         plan_word(&made, "--") == 0);
    need(plan_word(&made, "landlock-run") == 0 && plan_word(&made, "--rw") == 0 && plan_path(&made, 0) == 0);
    need(plan_special(&made, WORD_TMP) == 0);
    need(plan_word(&made, "--") == 0 && plan_special(&made, WORD_COMMAND) == 0);
    plan_print_shell(&made, &resolved, words, &text);
    check_has(text.data,
              "\ndetach-run -- \\\n    landlock-run --rw '/home/me/a b' TMP -- \\\n    make test\n");
    chain = plan_chain_json(&made, &resolved, words);
    need(chain);
    check_int((long)json_array_size(chain), 9);
    check_str(json_string_value(json_array_get(chain, 4)), "/home/me/a b");
    check_str(json_string_value(json_array_get(chain, 8)), "test");
    json_decref(chain);
    text_free(&text);
    plan_free(&made);
}
