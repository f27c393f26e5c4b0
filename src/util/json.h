/*
 * json.h - JSON texts from outside, strictly, with the position of every complaint; and JSON for outside.
 *
 * jansson reads (it refuses repeated keys, NUL, bad UTF-8 and trailing bytes) and writes. What it lacks is
 * here: a bound on the depth, positions of what is valid JSON but wrong, and names that are no UTF-8.
 */
#ifndef CONFINE_UTIL_JSON_H
#define CONFINE_UTIL_JSON_H

#include "util/error.h"
#include "util/util.h"

#include <jansson.h>

#define DOCUMENT_DEPTH 16 /* nested arrays and objects */

/* Where the last look-up stood on one level: the next one usually goes on from there. */
struct document_mark {
    size_t container; /* offset of the array or object; the rest holds for this one only */
    size_t member;    /* offset of the member found in it; 0: none */
    size_t index;     /* of that member */
};

/* A text and what it says. */
struct document {
    const char *name; /* for messages; borrowed */
    const char *text; /* borrowed, for as long as positions are asked for */
    size_t length;
    json_t *root; /* owned */
    struct document_mark marks[DOCUMENT_DEPTH + 2];
    size_t counted; /* offset up to which lines were counted, */
    int line;       /* and what was seen there */
    int column;
};

/* Where in a document: the way down, outermost first. Steps are linked on the stack of the reader. */
struct place {
    const struct place *above; /* NULL: the whole text */
    const char *key;           /* NULL: an array item */
    size_t index;              /* of the array item */
};

/*
 * document_parse() - read @text. The root may be any value.
 *
 * Return: 0, or -EINVAL with @error (ERROR_POLICY_INVALID, reason `policy-invalid`) and file, line and
 * column.
 */
int document_parse(struct document *document, const char *name, const char *text, size_t length,
                   struct error *error);
void document_free(struct document *document);

/*
 * document_locate() - line and column, both from 1 and in characters, of what @place names.
 * @at_key: of the key rather than of the value
 *
 * Going through a document in its own order takes time in proportion to its length, not to its square.
 *
 * Return: true, or false when there is no such place (both numbers are 1 then).
 */
bool document_locate(struct document *document, const struct place *place, bool at_key, int *ret_line,
                     int *ret_column);

/* text_add_valid() - add @length bytes as UTF-8, with U+FFFD for each that is none. Return: whether there was
 * one. */
bool text_add_valid(struct text *valid, const char *text, size_t length);

/*
 * value_set_text() - put @text under @key; bytes that are no UTF-8 become U+FFFD. NULL becomes null.
 * value_set_path() - the same, and when something was replaced, the bytes in base64 under KEY_b64.
 *
 * Return: 0 or -ENOMEM.
 */
int value_set_text(json_t *object, const char *key, const char *text);
int value_set_path(json_t *object, const char *key, const char *path);

/* value_append_text() - add @text to @array; bytes that are no UTF-8 become U+FFFD. Return: 0 or -ENOMEM. */
int value_append_text(json_t *array, const char *text);

/* value_strings() - texts as an array; bytes that are no UTF-8 become U+FFFD. Return: a new reference, NULL
 * without memory. */
json_t *value_strings(const struct strings *strings);

/* text_add_json() - append @value, indented by two, keys in the order in which they were set. */
void text_add_json(struct text *text, const json_t *value);

#endif
