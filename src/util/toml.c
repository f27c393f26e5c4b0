/*
 * toml.c - read TOML 1.0 strictly and say where it is wrong.
 *
 * Should:  know which tables are closed: those of `{}`, those with a header, and those of dotted keys once
 *          their section has ended.
 * Mustn't: take what TOML forbids, nor recurse as deeply as the text asks for.
 *
 * Debian has no C library for it that a static program could have. What a table is stands in the table itself
 * while it is read, under a key that no text can spell, because it is no UTF-8.
 */
#include "util/toml.h"

#include "util/toml_scalar.h"

#include <errno.h>

#define MARK "\xff"

/* What made a table. Above 0: dotted keys, in the section of that number. */
enum how {
    HOW_ELEMENT = -3, /* `[[x]]` */
    HOW_INLINE = -2,  /* `{}` */
    HOW_HEADER = -1,  /* `[x]` */
    HOW_PASSED = 0,   /* something below it has a header */
};

struct key {
    char *part[TOML_PARTS];
    size_t count;
};

static json_t *read_value(struct toml *toml, int depth);

static void free_key(struct key *key)
{
    for (size_t i = 0; i < key->count; i++)
        free(key->part[i]);
    key->count = 0;
}

static json_int_t how_made(const json_t *table)
{
    return json_integer_value(json_object_get(table, MARK));
}

static bool mark_made(json_t *table, json_int_t how)
{
    return json_object_set_new_nocheck(table, MARK, json_integer(how)) == 0;
}

/* A table of that making under KEY. Return: borrowed, NULL without memory. */
static json_t *add_table(struct toml *toml, json_t *table, const char *key, json_int_t how)
{
    json_t *made = json_object();

    if (!made || json_object_set_new(table, key, made) != 0 || !mark_made(made, how))
        return toml_no_memory(toml);
    return made;
}

/* --- keys
 * --------------------------------------------------------------------------------------------------- */

static bool is_bare(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           byte == '_' || byte == '-';
}

static char *read_part(struct toml *toml)
{
    size_t from = toml->at;
    char *part;

    if (toml_peek(toml, 0) == '"' || toml_peek(toml, 0) == '\'')
        return toml_read_text(toml, false);
    while (is_bare(toml_peek(toml, 0)))
        toml->at++;
    if (toml->at == from)
        return toml_fail(toml, from, "a key is expected here");
    part = strndup(toml->text + from, toml->at - from);
    return part ? part : toml_no_memory(toml);
}

/* One key, its parts separated by dots, and the blanks behind it. */
static bool read_key(struct toml *toml, struct key *key)
{
    key->count = 0;
    for (;;) {
        char *part;

        toml_skip_blanks(toml);
        if (key->count == TOML_PARTS) {
            toml_fail(toml, toml->at, "a key of too many parts");
            break;
        }
        part = read_part(toml);
        if (!part)
            break;
        key->part[key->count++] = part;
        toml_skip_blanks(toml);
        if (toml_peek(toml, 0) != '.')
            return true;
        toml->at++;
    }
    free_key(key);
    return false;
}

/* --- pairs
 * -------------------------------------------------------------------------------------------------- */

/* From TABLE down the dotted KEY to the table that its last part belongs to. */
static json_t *enter_dotted(struct toml *toml, json_t *table, const struct key *key, json_int_t section,
                            size_t at)
{
    for (size_t i = 0; i + 1 < key->count; i++) {
        json_t *next = json_object_get(table, key->part[i]);

        if (!next) {
            next = add_table(toml, table, key->part[i], section);
            if (!next)
                return NULL;
        } else if (!json_is_object(next) || (how_made(next) != HOW_PASSED && how_made(next) != section)) {
            return toml_fail(toml, at, "a dotted key adds to what was complete");
        } else if (!mark_made(next, section)) {
            return toml_no_memory(toml);
        }
        table = next;
    }
    return table;
}

/* `key = value` into TABLE. */
static bool read_pair(struct toml *toml, json_t *table, json_int_t section, int depth)
{
    size_t at = toml->at;
    struct key key;
    json_t *value = NULL;
    bool good = false;

    if (!read_key(toml, &key))
        return false;
    if (toml_peek(toml, 0) != '=') {
        toml_fail(toml, toml->at, "= is expected here");
    } else {
        toml->at++;
        toml_skip_blanks(toml);
        table = enter_dotted(toml, table, &key, section, at);
        value = table ? read_value(toml, depth) : NULL;
    }
    if (value && json_object_get(table, key.part[key.count - 1])) {
        toml_fail(toml, at, "a key that there is already");
    } else if (value) {
        good = json_object_set(table, key.part[key.count - 1], value) == 0;
        if (!good)
            toml_no_memory(toml);
    }
    json_decref(value);
    free_key(&key);
    return good;
}

/* --- values
 * ------------------------------------------------------------------------------------------------- */

/* Blanks, lines and comments, as an array has them between its items. */
static bool skip_lines(struct toml *toml)
{
    for (;;) {
        toml_skip_blanks(toml);
        if (toml_peek(toml, 0) == '#') {
            if (!toml_skip_comment(toml))
                return false;
        } else if (!toml_skip_newline(toml)) {
            return true;
        }
    }
}

static json_t *read_array(struct toml *toml, int depth)
{
    json_t *array = json_array();

    if (!array)
        return toml_no_memory(toml);
    for (toml->at++; skip_lines(toml);) {
        json_t *value;

        if (toml_peek(toml, 0) == ']') {
            toml->at++;
            return array;
        }
        value = read_value(toml, depth - 1);
        if (!value)
            break;
        if (json_array_append_new(array, value) != 0) {
            toml_no_memory(toml);
            break;
        }
        if (!skip_lines(toml))
            break;
        if (toml_peek(toml, 0) == ',') {
            toml->at++;
        } else if (toml_peek(toml, 0) != ']') {
            toml_fail(toml, toml->at, "a comma or ] is expected here");
            break;
        }
    }
    json_decref(array);
    return NULL;
}

static json_t *read_inline(struct toml *toml, int depth)
{
    json_int_t section = ++toml->sections;
    json_t *table = json_object();

    if (!table || !mark_made(table, HOW_INLINE)) {
        json_decref(table);
        return toml_no_memory(toml);
    }
    toml->at++;
    toml_skip_blanks(toml);
    if (toml_peek(toml, 0) == '}') {
        toml->at++;
        return table;
    }
    while (read_pair(toml, table, section, depth - 1)) {
        char byte;

        toml_skip_blanks(toml);
        byte = toml_peek(toml, 0);
        if (byte != ',' && byte != '}') {
            toml_fail(toml, toml->at, "a comma or } is expected here");
            break;
        }
        toml->at++;
        if (byte == '}')
            return table;
        toml_skip_blanks(toml);
    }
    json_decref(table);
    return NULL;
}

static json_t *read_value(struct toml *toml, int depth)
{
    char byte = toml_peek(toml, 0);
    char *text;
    json_t *value;

    if (depth == 0)
        return toml_fail(toml, toml->at, "too many arrays and tables within each other");
    if (byte == '[')
        return read_array(toml, depth);
    if (byte == '{')
        return read_inline(toml, depth);
    if (byte != '"' && byte != '\'')
        return toml_read_scalar(toml);
    text = toml_read_text(toml, true);
    value = text ? json_string(text) : NULL;
    if (text && !value)
        toml_no_memory(toml);
    free(text);
    return value;
}

/* --- headers
 * ------------------------------------------------------------------------------------------------ */

/* The table that a header goes on from: under KEY in TABLE, or its last element. */
static json_t *enter_header(struct toml *toml, json_t *table, const char *key, size_t at)
{
    json_t *next = json_object_get(table, key);

    if (!next)
        return add_table(toml, table, key, HOW_PASSED);
    if (json_is_array(next) && json_array_size(next) > 0) {
        next = json_array_get(next, json_array_size(next) - 1);
        if (how_made(next) != HOW_ELEMENT)
            next = NULL;
    }
    if (!json_is_object(next) || how_made(next) == HOW_INLINE)
        return toml_fail(toml, at, "a header adds to what is complete, or no table");
    return next;
}

static json_t *open_table(struct toml *toml, json_t *table, const char *key, size_t at)
{
    json_t *there = json_object_get(table, key);

    if (!there)
        return add_table(toml, table, key, HOW_HEADER);
    if (!json_is_object(there) || how_made(there) != HOW_PASSED)
        return toml_fail(toml, at, "a table that there is already");
    return mark_made(there, HOW_HEADER) ? there : toml_no_memory(toml);
}

static json_t *open_element(struct toml *toml, json_t *table, const char *key, size_t at)
{
    json_t *there = json_object_get(table, key), *made;

    if (!there) {
        there = json_array();
        if (!there || json_object_set_new(table, key, there) != 0)
            return toml_no_memory(toml);
    } else if (!json_is_array(there) || json_array_size(there) == 0 ||
               how_made(json_array_get(there, json_array_size(there) - 1)) != HOW_ELEMENT) {
        return toml_fail(toml, at, "[[ adds to what is no array of tables");
    }
    made = json_object();
    if (!made || json_array_append_new(there, made) != 0 || !mark_made(made, HOW_ELEMENT))
        return toml_no_memory(toml);
    return made;
}

/* `[key]` or `[[key]]`: the table that the following pairs belong to. */
static json_t *read_header(struct toml *toml)
{
    bool element = toml_peek(toml, 1) == '[';
    json_t *table = toml->root;
    size_t at = toml->at;
    struct key key;

    toml->at += element ? 2 : 1;
    if (!read_key(toml, &key))
        return NULL;
    if (toml_peek(toml, 0) != ']' || (element && toml_peek(toml, 1) != ']'))
        table = toml_fail(toml, toml->at, "] is expected here");
    toml->at += element ? 2 : 1;
    for (size_t i = 0; table && i + 1 < key.count; i++)
        table = enter_header(toml, table, key.part[i], at);
    if (table && element)
        table = open_element(toml, table, key.part[key.count - 1], at);
    else if (table)
        table = open_table(toml, table, key.part[key.count - 1], at);
    free_key(&key);
    return table;
}

/* --- the whole
 * ---------------------------------------------------------------------------------------------- */

static bool read_line_end(struct toml *toml)
{
    toml_skip_blanks(toml);
    if (toml_peek(toml, 0) == '#')
        return toml_skip_comment(toml);
    if (toml->at == toml->length || toml_skip_newline(toml))
        return true;
    toml_fail(toml, toml->at, "the end of the line is expected here");
    return false;
}

static bool read_all(struct toml *toml)
{
    json_t *table = toml->root;
    json_int_t section = ++toml->sections;

    while (skip_lines(toml) && toml->at < toml->length) {
        if (toml_peek(toml, 0) == '[') {
            table = read_header(toml);
            section = ++toml->sections;
            if (!table)
                return false;
        } else if (!read_pair(toml, table, section, TOML_PARTS)) {
            return false;
        }
        if (!read_line_end(toml))
            return false;
    }
    return !toml->failed;
}

/* Takes out what tables were made by. No deeper than a key and a value are. */
static void clean(json_t *value)
{
    json_t *inner;
    const char *key;
    size_t i;

    if (json_is_object(value))
        json_object_del(value, MARK);
    json_object_foreach(value, key, inner)
    {
        clean(inner);
    }
    json_array_foreach(value, i, inner)
    {
        clean(inner);
    }
}

int toml_parse(const char *name, const char *text, size_t length, json_t **ret, struct error *error)
{
    struct toml toml = {.name = name, .text = text, .length = length, .root = json_object(), .error = error};

    if (!toml.root)
        return error_no_memory(error);
    if (!toml_check_text(&toml) || !read_all(&toml)) {
        json_decref(toml.root);
        return toml.failed;
    }
    clean(toml.root);
    *ret = toml.root;
    return 0;
}
