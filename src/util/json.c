/*
 * json.c - read JSON strictly and say where it is wrong.
 *
 * Should:  give file, line and column (from 1, in characters) of the first thing that is wrong, at its start.
 * Mustn't: accept what two readers could understand in two ways: repeated keys, NUL, bad UTF-8, trailing
 *          bytes; nor recurse as deeply as the text asks for.
 *
 * jansson tells positions of syntax errors only. For what is valid JSON but wrong otherwise, the text is
 * walked once more; it is known to be valid then, so the walk is a few lines, and it still trusts no length.
 */
#include "util/json.h"

#include <errno.h>

/* Where a walk stands. */
struct walk {
    const char *text;
    size_t length;
    size_t at;
};

/* Line and column of offset AT; goes on from the last one where it can. */
static void tell_position(struct document *document, size_t at, int *ret_line, int *ret_column)
{
    if (at < document->counted || document->line == 0) {
        document->counted = 0;
        document->line = document->column = 1;
    }
    for (; document->counted < at; document->counted++) {
        char byte = document->text[document->counted];

        if (byte == '\n') {
            document->line++;
            document->column = 1;
        } else if (((unsigned char)byte & 0xc0) != 0x80) {
            document->column++;
        }
    }
    *ret_line = document->line;
    *ret_column = document->column;
}

static char peek_byte(const struct walk *walk)
{
    return walk->at < walk->length ? walk->text[walk->at] : '\0';
}

/* Over white space and, for the walk, over what only separates. */
static void skip_between(struct walk *walk)
{
    while (walk->at < walk->length && strchr(" \t\r\n,:", walk->text[walk->at]))
        walk->at++;
}

static void skip_string(struct walk *walk)
{
    for (walk->at++; walk->at < walk->length && walk->text[walk->at] != '"'; walk->at++)
        if (walk->text[walk->at] == '\\')
            walk->at++;
    if (walk->at < walk->length)
        walk->at++;
}

/* Over one value, whatever is in it. */
static void skip_value(struct walk *walk)
{
    size_t depth = 0;

    do {
        char byte;

        skip_between(walk);
        byte = peek_byte(walk);
        if (byte == '"') {
            skip_string(walk);
        } else if (byte == '{' || byte == '[') {
            depth++;
            walk->at++;
        } else if (byte == '}' || byte == ']') {
            depth--;
            walk->at++;
        } else {
            while (walk->at < walk->length && !strchr(" \t\r\n,:]}", walk->text[walk->at]))
                walk->at++;
        }
    } while (depth > 0 && walk->at < walk->length);
}

/* Is the string at FROM, quotes included, KEY? It may be written with escapes. */
static bool is_key(const char *from, size_t length, const char *key)
{
    json_t *value;
    bool same;

    if (!memchr(from, '\\', length))
        return length == strlen(key) + 2 && memcmp(from + 1, key, length - 2) == 0;
    value = json_loadb(from, length, JSON_DECODE_ANY, NULL);
    same = json_is_string(value) && strcmp(json_string_value(value), key) == 0;
    json_decref(value);
    return same;
}

/* From the start of a member, the INDEXth, onwards to the one that PLACE names; *ret_key is where it begins,
 * the walk then stands at its value. */
static bool find_member(struct walk *walk, const struct place *place, struct document_mark *mark,
                        size_t index, size_t *ret_key)
{
    for (;; index++) {
        size_t start;
        bool found = !place->key && index == place->index;

        skip_between(walk);
        start = walk->at;
        if (start >= walk->length || peek_byte(walk) == '}' || peek_byte(walk) == ']')
            return false;
        if (place->key) {
            skip_string(walk);
            found = is_key(walk->text + start, walk->at - start, place->key);
            skip_between(walk);
        }
        if (found) {
            mark->member = *ret_key = start;
            mark->index = index;
            return true;
        }
        skip_value(walk);
    }
}

/* From the start of an object or array to the member that PLACE names. */
static bool enter_place(struct walk *walk, const struct place *place, struct document_mark *mark,
                        size_t *ret_key)
{
    size_t container;

    skip_between(walk);
    if (peek_byte(walk) != (place->key ? '{' : '['))
        return false;
    container = walk->at;
    if (mark->member > 0 && mark->container == container && (place->key || place->index >= mark->index)) {
        walk->at = mark->member;
        if (find_member(walk, place, mark, mark->index, ret_key))
            return true;
    }
    *mark = (struct document_mark){.container = container};
    walk->at = container + 1;
    return find_member(walk, place, mark, 0, ret_key);
}

bool document_locate(struct document *document, const struct place *place, bool at_key, int *ret_line,
                     int *ret_column)
{
    const struct place *way[DOCUMENT_DEPTH + 2];
    struct walk walk = {.text = document->text, .length = document->length};
    size_t count = 0, key = 0;

    *ret_line = *ret_column = 1;
    for (; place && place->above; place = place->above) {
        if (count == ARRAY_SIZE(way))
            return false;
        way[count++] = place;
    }
    skip_between(&walk);
    key = walk.at;
    for (size_t depth = 0; count > 0; depth++)
        if (!enter_place(&walk, way[--count], &document->marks[depth], &key))
            return false;
    tell_position(document, at_key ? key : walk.at, ret_line, ret_column);
    return true;
}

/* The first byte that opens one level too many, or LENGTH. Also right for texts that are no JSON. */
static size_t find_too_deep(const char *text, size_t length)
{
    size_t depth = 0;

    for (struct walk walk = {text, length, 0}; walk.at < length;) {
        char byte = text[walk.at];

        if (byte == '"') {
            skip_string(&walk);
            continue;
        }
        if ((byte == '[' || byte == '{') && ++depth > DOCUMENT_DEPTH)
            return walk.at;
        if ((byte == ']' || byte == '}') && depth > 0)
            depth--;
        walk.at++;
    }
    return length;
}

/* jansson stands behind the token that it did not like. Return: where that token begins. */
static size_t find_token(const char *text, size_t length, const json_error_t *seen, const char *token,
                         size_t token_length)
{
    size_t at = seen->position < 0 ? 0 : (size_t)seen->position;

    if (at > length)
        at = length;
    if (token_length > 0 && token_length <= at && memcmp(text + at - token_length, token, token_length) == 0)
        return at - token_length;
    if (json_error_code(seen) != json_error_duplicate_key || at < 2)
        return at;
    for (at--; at > 0; at--) { /* a long key: back to the quote that opens it */
        size_t slashes = 0;

        if (text[at - 1] != '"')
            continue;
        while (slashes + 1 < at && text[at - 2 - slashes] == '\\')
            slashes++;
        if (slashes % 2 == 0)
            return at - 1;
    }
    return 0;
}

/* jansson's own words, with the token quoted: it comes from outside. */
static int refuse_text(struct document *document, const json_error_t *seen, struct error *error)
{
    static const char mark[] = " near '";
    char what[sizeof(seen->text)], *near;
    /* There jansson names a flag of its own. */
    const char *said =
        json_error_code(seen) == json_error_null_character ? "a NUL character is not allowed" : what;
    const char *token = "";
    size_t token_length = 0;
    int line, column;

    snprintf(what, sizeof(what), "%s", seen->text);
    near = strstr(what, mark);
    if (near) {
        token = near + sizeof(mark) - 1;
        token_length = strlen(token);
        if (token_length > 0 && token[token_length - 1] == '\'')
            near[sizeof(mark) - 1 + --token_length] = '\0';
        *near = '\0';
    }
    tell_position(document, find_token(document->text, document->length, seen, token, token_length), &line,
                  &column);
    return error_set(error, ERROR_POLICY_INVALID, 0, "policy-invalid", "%s:%d:%d: %s%s%s",
                     QUOTE(document->name), line, column, said, near ? " at " : "", near ? QUOTE(token) : "");
}

int document_parse(struct document *document, const char *name, const char *text, size_t length,
                   struct error *error)
{
    size_t deep = find_too_deep(text, length);
    const char *nul = memchr(text, '\0', length);
    json_error_t seen;
    int line, column;

    *document = (struct document){.name = name, .text = text, .length = length};
    if (nul) {
        tell_position(document, (size_t)(nul - text), &line, &column);
        return error_set(error, ERROR_POLICY_INVALID, 0, "policy-invalid", "%s:%d:%d: a NUL byte",
                         QUOTE(name), line, column);
    }
    if (deep < length) {
        tell_position(document, deep, &line, &column);
        return error_set(error, ERROR_POLICY_INVALID, 0, "policy-invalid",
                         "%s:%d:%d: more than %d arrays and objects within each other", QUOTE(name), line,
                         column, DOCUMENT_DEPTH);
    }
    document->root = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &seen);
    if (document->root)
        return 0;
    if (json_error_code(&seen) == json_error_out_of_memory)
        return error_no_memory(error);
    return refuse_text(document, &seen, error);
}

void document_free(struct document *document)
{
    json_decref(document->root);
    *document = (struct document){0};
}

bool text_add_valid(struct text *valid, const char *text, size_t length)
{
    bool replaced = false;

    text_add(valid, "");
    for (size_t at = 0; at < length;) {
        uint32_t character;
        size_t size = utf8_decode(text + at, length - at, &character);

        if (size == 0) {
            text_add(valid, "\xef\xbf\xbd");
            replaced = true;
            size = 1;
        } else {
            text_add_bytes(valid, text + at, size);
        }
        at += size;
    }
    return replaced;
}

static int set_text(json_t *object, const char *key, const char *text, bool *ret_replaced)
{
    struct text valid = {0};
    int failed;

    *ret_replaced = text && text_add_valid(&valid, text, strlen(text));
    failed =
        valid.failed || json_object_set_new(object, key, text ? json_string(valid.data) : json_null()) != 0;
    text_free(&valid);
    return failed ? -ENOMEM : 0;
}

int value_set_text(json_t *object, const char *key, const char *text)
{
    bool replaced;

    return set_text(object, key, text, &replaced);
}

int value_append_text(json_t *array, const char *text)
{
    json_t *holder = json_object();
    int result = holder ? value_set_text(holder, "text", text) : -ENOMEM;

    if (result == 0 && json_array_append(array, json_object_get(holder, "text")) != 0)
        result = -ENOMEM;
    json_decref(holder);
    return result;
}

json_t *value_strings(const struct strings *strings)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < strings->count; i++)
        if (value_append_text(array, strings->items[i]) < 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

int value_set_path(json_t *object, const char *key, const char *path)
{
    struct text coded = {0};
    char name[64];
    bool replaced;
    int result = set_text(object, key, path, &replaced);

    if (result < 0 || !replaced)
        return result;
    snprintf(name, sizeof(name), "%s_b64", key);
    text_add_base64(&coded, path, strlen(path));
    if (coded.failed || json_object_set_new(object, name, json_string(coded.data)) != 0)
        result = -ENOMEM;
    text_free(&coded);
    return result;
}

static int take_piece(const char *piece, size_t length, void *text)
{
    text_add_bytes(text, piece, length);
    return 0;
}

void text_add_json(struct text *text, const json_t *value)
{
    if (json_dump_callback(value, take_piece, text, JSON_INDENT(2) | JSON_ENCODE_ANY) != 0)
        text->failed = true;
}
