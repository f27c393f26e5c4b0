/*
 * test-writer.c - what is written is what jansson would write, and reads back as what it was.
 */
#include "harness.h"

#include "util/json.h"
#include "util/writer.h"

#include <stdlib.h>

static void write_everything(struct writer *writer)
{
    char *const words[] = {(char *)(uintptr_t) "plain", (char *)(uintptr_t) "\xc3\xbc", NULL};
    const char control[] = {'"', '\\', '/', '\b', '\f', '\n', '\r', '\t', 1, 0x1f, '\0'};

    writer_object(writer, NULL);
    writer_text(writer, "empty", "");
    writer_text(writer, "control", control);
    writer_text(writer, "beyond", "\xc2\x80 \xe2\x80\xae \xef\xbf\xbf \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf");
    writer_text(writer, "none", NULL);
    writer_text(writer, "k\"ey", "v");
    writer_array(writer, "numbers");
    writer_integer(writer, NULL, 0);
    writer_integer(writer, NULL, INT64_MIN);
    writer_integer(writer, NULL, INT64_MAX);
    writer_end(writer);
    writer_bool(writer, "yes", true);
    writer_bool(writer, "no", false);
    writer_array(writer, "nothing");
    writer_end(writer);
    writer_object(writer, "nobody");
    writer_end(writer);
    writer_array(writer, "deep");
    writer_array(writer, NULL);
    writer_object(writer, NULL);
    writer_null(writer, "x");
    writer_end(writer);
    writer_null(writer, NULL);
    writer_end(writer);
    writer_end(writer);
    writer_strings(writer, "words", words);
    writer_strings(writer, "no_words", NULL);
    writer_argv(writer, "argv", words);
    writer_end(writer);
}

TEST(the_bytes_are_those_of_jansson)
{
    struct writer writer = {0};
    json_t *root;
    char *dump;

    write_everything(&writer);
    check(!writer.text.failed);
    root = json_loads(writer.text.data, JSON_REJECT_DUPLICATES, NULL);
    need(root);
    dump = json_dumps(root, JSON_INDENT(2) | JSON_ENSURE_ASCII);
    need(dump);
    check_str(writer.text.data, dump);
    check_str(json_string_value(json_object_get(root, "beyond")),
              "\xc2\x80 \xe2\x80\xae \xef\xbf\xbf \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf");
    check(!json_object_get(root, "argv_b64"));
    free(dump);
    json_decref(root);
    text_free(&writer.text);
}

TEST(in_one_line_it_says_the_same)
{
    struct writer lines = {0}, line = {.compact = true};
    json_t *one, *other;

    write_everything(&lines);
    write_everything(&line);
    check(line.text.data && !strchr(line.text.data, '\n'));
    one = writer_value(&lines);
    other = writer_value(&line);
    need(one && other);
    check(json_equal(one, other));
    json_decref(one);
    json_decref(other);
}

/* jansson writes DEL as it is; a terminal takes it for a command. */
TEST(delete_is_a_control)
{
    struct writer writer = {0};

    writer_text(&writer, NULL, "a\x7f");
    check_str(writer.text.data, "\"a\\u007F\"");
    text_free(&writer.text);
}

TEST(bytes_that_are_no_utf8_are_replaced_and_kept)
{
    char *const words[] = {(char *)(uintptr_t) "ok", (char *)(uintptr_t) "a\xff", NULL};
    struct writer writer = {0};
    json_t *root;

    writer_object(&writer, NULL);
    writer_path(&writer, "p", "\xfe\xfe");
    writer_path(&writer, "q", "/plain");
    writer_text(&writer, "t", "\xed\xa0\x80"); /* a surrogate: three bytes, none of them UTF-8 */
    writer_argv(&writer, "argv", words);
    writer_end(&writer);
    root = writer_value(&writer);
    need(root);
    check_str(json_string_value(json_object_get(root, "p")), "\xef\xbf\xbd\xef\xbf\xbd");
    check_str(json_string_value(json_object_get(root, "p_b64")), "/v4=");
    check(!json_object_get(root, "q_b64"));
    check_str(json_string_value(json_object_get(root, "t")), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    check(json_is_null(json_array_get(json_object_get(root, "argv_b64"), 0)));
    check_str(json_string_value(json_array_get(json_object_get(root, "argv_b64"), 1)), "Yf8=");
    json_decref(root);
}
