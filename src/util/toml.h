/*
 * toml.h - TOML 1.0 from outside, strictly, as the JSON that says the same.
 */
#ifndef CONFINE_UTIL_TOML_H
#define CONFINE_UTIL_TOML_H

#include "util/json.h"

#define TOML_PARTS 16 /* of one key, and arrays and tables within each other in one value */

/*
 * toml_parse() - read a document.
 * @name: for messages
 * @ret:  an object, owned by the caller; dates and times are texts in it, what is no finite number is null
 *
 * Refused although it is TOML: a NUL in a text, an integer beyond 64 bits, more than TOML_PARTS levels.
 *
 * Return: 0, or a negative errno with @error (ERROR_POLICY_INVALID, with file, line and column).
 */
int toml_parse(const char *name, const char *text, size_t length, json_t **ret, struct error *error);

#endif
