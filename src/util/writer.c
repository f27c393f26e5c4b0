/*
 * writer.c - JSON for outside, written as it is told.
 *
 * A report is written behind the command's end, where somebody waits: a tree of it took six hundred blocks of
 * memory and a fifth of the time of a short run.
 *
 * Should:  give the bytes that jansson would.
 * Mustn't: write a control, an escape or a bidi mark as it is, or bytes that are no UTF-8.
 */
#include "util/writer.h"

#include <stdlib.h>

static const char hex[] = "0123456789ABCDEF";

static void add_unit(struct text *text, uint32_t unit)
{
    const char piece[] = {'\\',          'u', hex[unit >> 12 & 15], hex[unit >> 8 & 15], hex[unit >> 4 & 15],
                          hex[unit & 15]};

    text_add_bytes(text, piece, sizeof(piece));
}

/* One character that does not stand for itself. */
static void add_escaped(struct text *text, uint32_t character)
{
    static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *found = character && character < 0x80 ? strchr(plain, (int)character) : NULL;

    if (found) {
        const char piece[] = {'\\', letters[found - plain]};

        text_add_bytes(text, piece, sizeof(piece));
    } else if (character > 0xffff) {
        add_unit(text, 0xd800 + ((character - 0x10000) >> 10));
        add_unit(text, 0xdc00 + ((character - 0x10000) & 0x3ff));
    } else {
        add_unit(text, character);
    }
}

static bool is_plain(char byte)
{
    return byte >= ' ' && byte < 0x7f && byte != '"' && byte != '\\';
}

/* Nearly every string, in one piece: all of it in quotes, and BEHIND. Return: false, and nothing is written,
 * where something in it does not stand for itself. */
static bool add_plain(struct text *text, const char *string, const char *behind)
{
    size_t length = 0, more = strlen(behind);
    char *room;

    while (is_plain(string[length]))
        length++;
    if (string[length])
        return false;
    room = text_take(text, length + 2 + more);
    if (room) {
        room[0] = '"';
        memcpy(room + 1, string, length);
        room[1 + length] = '"';
        memcpy(room + 2 + length, behind, more); // NOLINT: text_take() has made room for the end, and set it
    }
    return true;
}

/* Return: whether every byte of it is UTF-8. */
static bool add_string(struct text *text, const char *string)
{
    size_t length, at = 0;
    bool valid = true;

    if (add_plain(text, string, ""))
        return true;
    length = strlen(string);
    text_add_bytes(text, "\"", 1);
    while (at < length) {
        size_t from = at, size;
        uint32_t character = 0;

        while (at < length && is_plain(string[at]))
            at++;
        text_add_bytes(text, string + from, at - from);
        if (at == length)
            break;
        size = utf8_decode(string + at, length - at, &character);
        add_escaped(text, size ? character : 0xfffd);
        valid = valid && size;
        at += size ? size : 1;
    }
    text_add_bytes(text, "\"", 1);
    return valid;
}

static void add_base64(struct text *text, const char *bytes)
{
    text_add_bytes(text, "\"", 1);
    text_add_base64(text, bytes, strlen(bytes));
    text_add_bytes(text, "\"", 1);
}

/* A new line, behind a comma or not. */
static void new_line(struct writer *writer, bool comma)
{
    static const char blanks[] = ",\n                                ";
    size_t front = comma ? 0 : 1;

    text_add_bytes(&writer->text, blanks + front, 1 - front + (writer->compact ? 0 : 1 + 2 * writer->depth));
}

/* Everything that stands before a value. */
static void begin_value(struct writer *writer, const char *key)
{
    if (writer->depth > 0)
        new_line(writer, writer->filled);
    else if (writer->filled)
        text_add_bytes(&writer->text, ",", 1);
    if (key && !add_plain(&writer->text, key, ": ")) {
        add_string(&writer->text, key);
        text_add_bytes(&writer->text, ": ", 2);
    }
    writer->filled = true;
}

static void open_container(struct writer *writer, const char *key, char opening, char closing)
{
    begin_value(writer, key);
    text_add_bytes(&writer->text, &opening, 1);
    if (writer->depth == WRITER_DEPTH)
        abort(); /* no text of ours is that deep */
    writer->closing[writer->depth++] = closing;
    writer->filled = false;
}

void writer_object(struct writer *writer, const char *key)
{
    open_container(writer, key, '{', '}');
}

void writer_array(struct writer *writer, const char *key)
{
    open_container(writer, key, '[', ']');
}

void writer_end(struct writer *writer)
{
    char closing = writer->closing[--writer->depth];

    if (writer->filled)
        new_line(writer, false);
    text_add_bytes(&writer->text, &closing, 1);
    writer->filled = true;
}

void writer_null(struct writer *writer, const char *key)
{
    begin_value(writer, key);
    text_add_bytes(&writer->text, "null", 4);
}

static bool write_text(struct writer *writer, const char *key, const char *text)
{
    if (!text) {
        writer_null(writer, key);
        return true;
    }
    begin_value(writer, key);
    return add_string(&writer->text, text);
}

void writer_text(struct writer *writer, const char *key, const char *text)
{
    write_text(writer, key, text);
}

void writer_path(struct writer *writer, const char *key, const char *path)
{
    char name[64];

    if (write_text(writer, key, path) || !key)
        return;
    snprintf(name, sizeof(name), "%s_b64", key);
    begin_value(writer, name);
    add_base64(&writer->text, path);
}

void writer_integer(struct writer *writer, const char *key, int64_t number)
{
    begin_value(writer, key);
    text_add_number(&writer->text, number);
}

void writer_bool(struct writer *writer, const char *key, bool value)
{
    begin_value(writer, key);
    text_add(&writer->text, value ? "true" : "false");
}

void writer_strings(struct writer *writer, const char *key, char *const *texts)
{
    writer_array(writer, key);
    for (; texts && *texts; texts++)
        writer_text(writer, NULL, *texts);
    writer_end(writer);
}

void writer_argv(struct writer *writer, const char *key, char *const *words)
{
    bool valid = true;
    char name[64];

    writer_strings(writer, key, words);
    for (char *const *word = words; word && *word && valid; word++)
        valid = utf8_valid(*word);
    if (valid)
        return;
    snprintf(name, sizeof(name), "%s_b64", key);
    writer_array(writer, name);
    for (; *words; words++) {
        /* null says: take it as it stands. */
        if (utf8_valid(*words)) {
            writer_null(writer, NULL);
            continue;
        }
        begin_value(writer, NULL);
        add_base64(&writer->text, *words);
    }
    writer_end(writer);
}

json_t *writer_value(struct writer *writer)
{
    json_t *value = writer->text.failed ? NULL : json_loadb(writer->text.data, writer->text.length, 0, NULL);

    text_free(&writer->text);
    return value;
}
