/*
 * toml_scalar.h - the words of TOML: texts, numbers, dates; for toml.c alone.
 */
#ifndef CONFINE_UTIL_TOML_SCALAR_H
#define CONFINE_UTIL_TOML_SCALAR_H

#include "util/json.h"

#include <stdlib.h>
#include <string.h>

/* A document that is being read. */
struct toml {
    const char *name; /* for messages; borrowed, as the text */
    const char *text;
    size_t length;
    size_t at;
    json_t *root;
    json_int_t sections; /* how many there were, each `{}` counted as one */
    struct error *error;
    int failed; /* what toml_parse() returns */
};

/* toml_fail(), toml_no_memory() - the error, with the place of offset @at. The first one stands. Return:
 * NULL. */
void *toml_fail(struct toml *toml, size_t at, const char *what);
void *toml_no_memory(struct toml *toml);

/* toml_check_text() - is all of it UTF-8? Return: false with the error set. */
bool toml_check_text(struct toml *toml);

/* toml_peek() - the byte @ahead of where the reader stands, NUL behind the end. */
char toml_peek(const struct toml *toml, size_t ahead);

/* toml_skip_blanks() - over spaces and tabs. toml_skip_newline() - over one end of a line. Return: was there
 * one? toml_skip_comment() - over a comment, without the end of its line. Return: false with the error set.
 */
void toml_skip_blanks(struct toml *toml);
bool toml_skip_newline(struct toml *toml);
bool toml_skip_comment(struct toml *toml);

/* toml_read_text() - a text of any kind. @lines: it may be one of several lines. Return: owned, NULL with the
 * error set. */
char *toml_read_text(struct toml *toml, bool lines);

/* toml_read_scalar() - a truth, a number, a date or a time. Return: owned, NULL with the error set. */
json_t *toml_read_scalar(struct toml *toml);

#endif
