/*
 * test-json.c - what is refused and where, positions of what is valid, names that are no UTF-8.
 */
#include "harness.h"

#include "util/json.h"

/* `at` is what the message must begin with, `part` must be in it. */
static const struct bad_row {
    const char *name, *text, *at, *part;
    size_t length; /* 0: up to the NUL */
} bad[] = {
    {"empty", "", "f:1:1:", "end of file", 0},
    {"open_object", "{", "f:1:2:", "end of file", 0},
    {"open_string", "{\"a\": \"b", "f:1:7:", "end of input", 0},
    {"trailing_comma", "{\"a\": 1,\n}", "f:2:1:", "}", 0},
    {"trailing_bytes", "{}\n\n  x", "f:3:3:", "end of file expected", 0},
    {"two_values", "{} {}", "f:1:4:", "end of file expected", 0},
    {"repeated_key", "{\n  \"a\": 1,\n  \"a\": 2\n}", "f:3:3:", "duplicate", 0},
    {"repeated_long_key", "{\"abcdefghijklmnopqrstuvwxyz\": 1,\n \"abcdefghijklmnopqrstuvwxyz\": 2}",
     "f:2:2:", "duplicate", 0},
    {"repeated_key_with_quotes",
     "{\"a\\\\\\\"bcdefghijklmnopqrstuvw\": 1, \"a\\\\\\\"bcdefghijklmnopqrstuvw\": 2}",
     "f:1:36:", "duplicate", 0},
    {"repeated_key_by_escape", "{\"ab\": 1, \"\\u0061b\": 2}", "f:1:11:", "duplicate", 0},
    {"nul_byte", "{\"a\": \"x\0y\"}", "f:1:9:", "NUL", 12},
    {"nul_escape", "{\"a\": \"x\\u0000\"}", "f:1:7:", "a NUL character is not allowed at ", 0},
    {"nul_behind", "{}\0", "f:1:3:", "NUL", 3},
    {"bad_utf8", "{\"a\": \"\xff\"}", "f:1:7:", "0xff", 0},
    {"control", "{\"a\": \"\t\"}", "f:1:7:", "control character", 0},
    {"unquoted", "{a: 1}", "f:1:2:", "a", 0},
    {"single_quotes", "{'a': 1}", "f:1:2:", "", 0},
    {"comment", "{ // x\n}", "f:1:3:", "", 0},
    {"nan", "[NaN]", "f:1:2:", "NaN", 0},
    {"leading_zero", "[01]", "f:1:2:", "", 0},
    {"plus", "[+1]", "f:1:2:", "", 0},
    {"big_integer", "[9223372036854775808]", "f:1:2:", "too big", 0},
    {"lone_surrogate", "[\"\\ud800\"]", "f:1:2:", "", 0},
    {"bom", "\xef\xbb\xbf{}", "f:1:1:", "", 0},
    {"deep", "[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", "f:1:17:", "more than 16", 0},
    {"umlauts_count_once", "{\"ä\": 1,\n\"öö\": x}", "f:2:7:", "x", 0},
};

TEST_EACH(refuses, struct bad_row, bad)
{
    struct document document;
    struct error error = {0};

    check_int(
        document_parse(&document, "f", row->text, row->length ? row->length : strlen(row->text), &error),
        -EINVAL);
    check(document.root == NULL);
    check_int(error.code, ERROR_POLICY_INVALID);
    check_str(error.reason, "policy-invalid");
    if (!check(strncmp(error.message, row->at, strlen(row->at)) == 0))
        test_note("seen: %s", error.message);
    check_has(error.message, row->part);
    for (const char *byte = error.message; *byte; byte++)
        need((unsigned char)*byte >= 0x20); /* one line, whatever was in the text */
}

static const char good[] = "{\n"
                           "  \"a\": 1,\n"
                           "  \"b}\": [\"x]\", {\"c\\\"\": [true, null]}, -1.5e3],\n"
                           "  \"\\u0064\": {\"a\": {\"a\": 2}}\n"
                           "}\n";

static void check_place(struct document *document, const struct place *place, int key_line, int key_column,
                        int line, int column)
{
    int seen_line, seen_column;

    check(document_locate(document, place, true, &seen_line, &seen_column));
    check_int(seen_line, key_line);
    check_int(seen_column, key_column);
    check(document_locate(document, place, false, &seen_line, &seen_column));
    check_int(seen_line, line);
    check_int(seen_column, column);
}

TEST(positions)
{
    struct document document;
    struct error error;
    int line, column;

    need(document_parse(&document, "f", good, strlen(good), &error) == 0);
    const struct place top = {0};
    const struct place d = {.above = &top, .key = "d"}, da = {.above = &d, .key = "a"},
                       daa = {.above = &da, .key = "a"};
    const struct place b = {.above = &top, .key = "b}"}, b0 = {.above = &b, .index = 0},
                       b1 = {.above = &b, .index = 1}, b2 = {.above = &b, .index = 2},
                       c = {.above = &b1, .key = "c\""}, c1 = {.above = &c, .index = 1};
    const struct place a = {.above = &top, .key = "a"}, none = {.above = &top, .key = "c"},
                       far = {.above = &b, .index = 3}, within = {.above = &a, .key = "x"};

    for (int i = 0; i < 2; i++) { /* also backwards, and when nothing is new */
        check_place(&document, &top, 1, 1, 1, 1);
        check_place(&document, &daa, 4, 20, 4, 25);
        check_place(&document, &a, 2, 3, 2, 8);
        check_place(&document, &b1, 3, 16, 3, 16);
        check_place(&document, &b0, 3, 10, 3, 10);
        check_place(&document, &b2, 3, 39, 3, 39);
        check_place(&document, &c1, 3, 31, 3, 31);
        check_place(&document, &d, 4, 3, 4, 13);
    }
    check(!document_locate(&document, &none, true, &line, &column));
    check(!document_locate(&document, &far, true, &line, &column));
    check(!document_locate(&document, &within, true, &line, &column));
    check_int(line, 1);
    check_int(column, 1);
    document_free(&document);
}

/* Every place of a long document: with a walk from the start for each this takes minutes. */
TEST_IN(positions_take_linear_time, 20)
{
    enum { COUNT = 60000 };
    struct text text = {0};
    struct document document;
    struct error error;
    const struct place top = {0}, list = {.above = &top, .key = "list"},
                       object = {.above = &top, .key = "object"};

    text_add(&text, "{\"list\": [");
    for (int i = 0; i < COUNT; i++)
        text_addf(&text, "%s\n\"%d\"", i ? "," : "", i);
    text_add(&text, "],\n\"object\": {");
    for (int i = 0; i < COUNT; i++)
        text_addf(&text, "%s\n\"%d\": 1", i ? "," : "", i);
    text_add(&text, "}}");
    need(!text.failed);
    need(document_parse(&document, "f", text.data, text.length, &error) == 0);
    for (size_t i = 0; i < COUNT; i++) {
        const struct place item = {.above = &list, .index = i};
        int line, column;

        need(document_locate(&document, &item, false, &line, &column));
        need(line == (int)i + 2 && column == 1);
    }
    for (size_t i = 0; i < COUNT; i++) {
        char key[16];
        const struct place member = {.above = &object, .key = key};
        int line, column;

        snprintf(key, sizeof(key), "%zu", i);
        need(document_locate(&document, &member, true, &line, &column));
        need(line == (int)i + COUNT + 3 && column == 1);
    }
    check(true);
    document_free(&document);
    text_free(&text);
}

static const struct path_row {
    const char *name, *path, *valid, *coded;
} paths[] = {
    {"plain", "/a/b", "/a/b", NULL},
    {"utf8",
     "/gr\xc3\xb6\xc3\x9f"
     "e",
     "/gr\xc3\xb6\xc3\x9f"
     "e",
     NULL},
    {"latin1", "/gr\xf6", "/gr\xef\xbf\xbd", "L2dy9g=="},
    {"two_bytes", "\xff\xfe", "\xef\xbf\xbd\xef\xbf\xbd", "//4="},
    {"three_bytes",
     "a\xff"
     "b",
     "a\xef\xbf\xbd"
     "b",
     "Yf9i"},
    {"empty", "", "", NULL},
};

TEST_EACH(paths_in_json, struct path_row, paths)
{
    json_t *object = json_object();

    check_int(value_set_path(object, "path", row->path), 0);
    check_str(json_string_value(json_object_get(object, "path")), row->valid);
    check_str(json_string_value(json_object_get(object, "path_b64")), row->coded);
    json_decref(object);
}

TEST(json_is_printed_in_order)
{
    json_t *object = json_object();
    struct text text = {0};

    check_int(value_set_text(object, "z", "\n"), 0);
    check_int(value_set_text(object, "a", NULL), 0);
    text_add_json(&text, object);
    check_str(text.data, "{\n  \"z\": \"\\n\",\n  \"a\": null\n}");
    text_free(&text);
    json_decref(object);
}
