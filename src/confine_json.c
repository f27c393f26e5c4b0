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

const char *json_first(const char *array)
{
    const char *at = *array == '[' && skip_value(array) ? skip_blank(array + 1) : NULL;

    return at && *at != ']' ? at : NULL;
}

const char *json_next(const char *value)
{
    const char *behind = skip_value(value);

    behind = behind ? skip_blank(behind) : NULL;
    return behind && *behind == ',' ? skip_blank(behind + 1) : NULL;
}

/* The four digits at AT. Return: 0 where they are none. */
static unsigned unit_at(const char *at)
{
    char digits[5] = "";

    if (strspn(at, "0123456789abcdefABCDEF") < sizeof(digits) - 1)
        return 0;
    memcpy(digits, at, sizeof(digits) - 1);
    return (unsigned)strtoul(digits, NULL, 16);
}

/* CODE in UTF-8, behind TO. Return: behind that. */
static char *put_code(char *to, unsigned code)
{
    int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;

    *to++ = (char)(more == 0 ? code : (0xff00U >> (more + 1) & 0xffU) | code >> 6 * more);
    while (more-- > 0)
        *to++ = (char)(0x80 | (code >> 6 * more & 0x3f));
    return to;
}

char *json_text(const char *value)
{
    static const char escapes[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char *end = value && *value == '"' ? skip_string(value) : NULL;
    char *text = malloc(end ? (size_t)(end - value) : 1), *to = text;

    if (!text || !end) {
        if (text)
            *text = '\0';
        return text;
    }
    for (const char *at = value + 1; at < end - 1;) {
        const char *escape = *at == '\\' ? strchr(escapes, at[1]) : NULL;

        if (*at != '\\') {
            *to++ = *at++;
        } else if (escape) {
            *to++ = meant[escape - escapes];
            at += 2;
        } else if (end - 1 - at < 6) {
            break; /* confine writes no such thing */
        } else {
            unsigned code = unit_at(at + 2), low = 0;

            at += 6;
            if (code >> 10 == 0x36 && end - 1 - at >= 6)
                low = unit_at(at + 2);
            if (low >> 10 == 0x37) {
                code = 0x10000 + ((code & 0x3ff) << 10 | (low & 0x3ff));
                at += 6;
            }
            to = put_code(to, code);
        }
    }
    *to = '\0';
    return text;
}
