/*
 * writer.h - JSON for outside, written as it is told: no tree, one growing text.
 *
 * The bytes are those of jansson with two columns of indentation and everything beyond ASCII as \u.
 */
#ifndef CONFINE_UTIL_WRITER_H
#define CONFINE_UTIL_WRITER_H

#include "util/util.h"

#include <jansson.h>

#define WRITER_DEPTH 16

struct writer {
    struct text text; /* `failed` says that memory ran out somewhere */
    size_t depth;
    char closing[WRITER_DEPTH]; /* how each open container ends */
    bool filled;                /* the innermost one has a value */
    bool compact;               /* all of it in one line */
};

/*
 * writer_object(), writer_array() - begin a container; writer_end() - end the innermost one.
 * @key: its name in an object; NULL in an array and for the outermost
 */
void writer_object(struct writer *writer, const char *key);
void writer_array(struct writer *writer, const char *key);
void writer_end(struct writer *writer);

/* One value each. Texts: bytes that are no UTF-8 become U+FFFD, NULL becomes null. */
void writer_text(struct writer *writer, const char *key, const char *text);
void writer_integer(struct writer *writer, const char *key, int64_t number);
void writer_bool(struct writer *writer, const char *key, bool value);
void writer_null(struct writer *writer, const char *key);

/* writer_path() - a text, and when something in it was replaced, its bytes in base64 under KEY_b64; not in an
 * array, which has no keys. */
void writer_path(struct writer *writer, const char *key, const char *path);

/* writer_strings() - an array of texts, NULL-terminated; NULL is an empty one. */
void writer_strings(struct writer *writer, const char *key, char *const *texts);

/* writer_argv() - the same, and when a word is no UTF-8, also KEY_b64 with one item per word: its bytes in
 * base64, or null for a word that is UTF-8. */
void writer_argv(struct writer *writer, const char *key, char *const *words);

/*
 * writer_value() - what was written, as a value; the writer is freed.
 *
 * Return: a new reference, NULL without memory.
 */
json_t *writer_value(struct writer *writer);

#endif
