/*
 * confine_json.h - look into what confine itself wrote, without a library of JSON in somebody else's process.
 */
#ifndef CONFINE_CONFINE_JSON_H
#define CONFINE_CONFINE_JSON_H

#include <stdbool.h>
#include <stddef.h>

/*
 * json_look() - the value under @key of the object that begins at @text.
 * @text: NUL-terminated; what is no complete object has no value at all
 *
 * Return: where the value begins, or NULL.
 */
const char *json_look(const char *text, const char *key);

/* json_complete() - is @text one whole object or array, with nothing but white space behind it? */
bool json_complete(const char *text);

/* json_is_word() - is @value, of json_look(), the text @word? */
bool json_is_word(const char *value, const char *word);

/* json_first(), json_next() - the first value of the array that begins at @array; the one behind @value,
 * which is in one. Return: where it begins, or NULL. */
const char *json_first(const char *array);
const char *json_next(const char *value);

/* json_text() - the text that @value is, empty if it is none, to be freed. Return: NULL without memory. */
char *json_text(const char *value);

/* json_number() - @value as a number, or @otherwise if it is none. */
int json_number(const char *value, int otherwise);

#endif
