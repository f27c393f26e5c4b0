/*
 * confine_json.c - look into what confine itself wrote.
 *
 * Should:  find a member of an object by its name, and nothing of a text that was cut.
 * Mustn't: judge JSON from anywhere else: this follows strings and brackets and believes the rest.
 */
#include "confine_json.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_blank(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

/* Behind the string that begins at AT; NULL if it has no end. */
static const char *skip_string(const char *at)
{
    for (at++; *at && *at != '"'; at++)
        if (*at == '\\' && at[1])
            at++;
    return *at ? at + 1 : NULL;
}

/* Behind the value that begins at AT; NULL if it has no end. */
static const char *skip_value(const char *at)
{
    size_t depth = 0;

    do {
        at = skip_blank(at);
        if (*at == '"') {
            at = skip_string(at);
            if (!at)
                return NULL;
        } else if (*at == '{' || *at == '[') {
            depth++;
            at++;
        } else if (*at == '}' || *at == ']') {
            if (depth-- == 0)
                return NULL;
            at++;
        } else if (*at == ',' || *at == ':') {
            at++;
        } else {
            at += strcspn(at, " \t\r\n,:]}");
        }
    } while (depth > 0 && *at);
    return depth == 0 ? at : NULL;
}

bool json_complete(const char *text)
{
    const char *end;

    text = skip_blank(text);
    end = *text == '{' || *text == '[' ? skip_value(text) : NULL;
    return end && *skip_blank(end) == '\0';
}

const char *json_look(const char *text, const char *key)
{
    size_t length = strlen(key);
    const char *at = skip_blank(text), *end = *at == '{' ? skip_value(at) : NULL;

    if (!end)
        return NULL;
    for (at = skip_blank(at + 1); *at == '"'; at = skip_blank(at)) {
        const char *name = at + 1, *behind = skip_string(at), *value = skip_blank(skip_blank(behind) + 1);

        if ((size_t)(behind - 1 - name) == length && memcmp(name, key, length) == 0)
            return value;
        at = skip_blank(skip_value(value));
        if (*at == ',')
            at = skip_blank(at + 1);
    }
    return NULL;
}

bool json_is_word(const char *value, const char *word)
{
    size_t length = strlen(word);

    return value && *value == '"' && strncmp(value + 1, word, length) == 0 && value[1 + length] == '"';
}

int json_number(const char *value, int otherwise)
{
    char *end;
    long number;

    if (!value)
        return otherwise;
    number = strtol(value, &end, 10);
    return end == value || number < INT_MIN || number > INT_MAX ? otherwise : (int)number;
}
