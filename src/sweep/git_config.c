/*
 * git_config.c - the syntax of git's configuration files.
 *
 * Should:  find every setting that any version of git would find.
 * Mustn't: stop at what is wrong: a plant can stand behind it, and the line before it be mended later.
 */
#include "sweep/git_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    const char *start, *at, *end;
    struct git_config *config;
    struct text section; /* of the lines that come: `section` or `section.subsection.` in its spelling */
    size_t section_length;
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_name(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-';
}

/* A carriage return before the newline is no part of the line. */
static bool at_line_end(const struct reading *reading)
{
    return reading->at == reading->end || *reading->at == '\n' ||
           (*reading->at == '\r' && reading->at + 1 < reading->end && reading->at[1] == '\n');
}

static void skip_line(struct reading *reading)
{
    while (reading->at < reading->end && *reading->at != '\n')
        reading->at++;
}

static void skip_blanks(struct reading *reading)
{
    while (reading->at < reading->end &&
           (*reading->at == ' ' || *reading->at == '\t' || *reading->at == '\r' || *reading->at == '\v' ||
            *reading->at == '\f'))
        reading->at++;
}

static void add_character(struct text *text, char c)
{
    text_add_bytes(text, &c, 1);
}

/* `"..."` of a section: with escapes, in its own case. */
static bool read_subsection(struct reading *reading)
{
    reading->at++;
    for (;; reading->at++) {
        if (reading->at == reading->end || *reading->at == '\n')
            return false;
        if (*reading->at == '"')
            break;
        if (*reading->at == '\\' && ++reading->at == reading->end)
            return false;
        if (*reading->at == '\n' || *reading->at == '\0')
            return false;
        add_character(&reading->section, *reading->at);
    }
    reading->at++;
    return true;
}

/* `[section]`, `[section "sub"]`, `[section.sub]`. Return: whether it was one. */
static bool read_section(struct reading *reading)
{
    text_free(&reading->section);
    reading->section_length = 0;
    for (reading->at++; reading->at < reading->end && (is_name(*reading->at) || *reading->at == '.');
         reading->at++) {
        if (*reading->at == '.' && reading->section_length == 0)
            reading->section_length = reading->section.length;
        add_character(&reading->section, lower(*reading->at));
    }
    if (reading->section.length == 0)
        return false;
    if (reading->section_length == 0)
        reading->section_length = reading->section.length;
    if (reading->at < reading->end && (*reading->at == ' ' || *reading->at == '\t')) {
        skip_blanks(reading);
        if (reading->at == reading->end || *reading->at != '"')
            return false;
        add_character(&reading->section, '.');
        if (!read_subsection(reading))
            return false;
    }
    if (reading->at == reading->end || *reading->at != ']')
        return false;
    reading->at++;
    add_character(&reading->section, '.');
    return true;
}

/* What `\` and the next character mean. Return: false where that is nothing. */
static bool read_escape(struct reading *reading, struct text *value)
{
    static const char from[] = "\\\"ntb", to[] = "\\\"\n\t\b";
    const char *found;

    if (reading->at < reading->end && *reading->at == '\r' && reading->at + 1 < reading->end &&
        reading->at[1] == '\n')
        reading->at++;
    if (reading->at == reading->end)
        return false;
    if (*reading->at == '\n') {
        reading->at++;
        return true;
    }
    found = *reading->at ? strchr(from, *reading->at) : NULL;
    if (!found)
        return false;
    add_character(value, to[found - from]);
    reading->at++;
    return true;
}

/* Up to the end of the line, or of the lines that `\` joins. Blanks at its end do not count, unless quoted.
 */
static bool read_value(struct reading *reading, struct text *value)
{
    bool quoted = false;
    size_t kept = 0;

    skip_blanks(reading);
    while (!at_line_end(reading)) {
        char c = *reading->at;

        if (c == '\0')
            return false;
        if (!quoted && (c == '#' || c == ';')) {
            skip_line(reading);
            break;
        }
        reading->at++;
        if (c == '"') {
            quoted = !quoted;
            kept = value->length;
            continue;
        }
        if (c == '\\') {
            if (!read_escape(reading, value))
                return false;
            kept = value->length;
            continue;
        }
        add_character(value, c);
        if (quoted || (c != ' ' && c != '\t'))
            kept = value->length;
    }
    if (value->data)
        value->data[kept] = '\0';
    value->length = kept;
    return !quoted;
}

static int add_setting(struct reading *reading, const struct text *name, struct text *value, bool implicit)
{
    struct git_config *config = reading->config;
    struct git_setting *setting;

    if (!array_more(&config->settings, config->count, sizeof(*config->settings)))
        return -ENOMEM;
    setting = &config->settings[config->count];
    *setting = (struct git_setting){
        .implicit = implicit, .section = reading->section_length, .name = reading->section.length};
    /* git takes one that stands before every section, too. */
    setting->key = text_join(reading->section.data ? reading->section.data : "", name->data, NULL);
    setting->value = value->data ? value->data : strdup("");
    *value = (struct text){0};
    config->count++;
    return setting->key && setting->value ? 0 : -ENOMEM;
}

/* `name`, or `name = value`; what is neither is passed over. Return: 0 or -ENOMEM. */
static int read_setting(struct reading *reading)
{
    struct text name = {0}, value = {0};
    size_t begin = (size_t)(reading->at - reading->start);
    bool implicit = true, good;
    int r = 0;

    while (reading->at < reading->end && is_name(*reading->at))
        add_character(&name, lower(*reading->at++));
    skip_blanks(reading);
    good = name.length > 0 && is_letter(name.data[0]);
    if (good && reading->at < reading->end && *reading->at == '=') {
        reading->at++;
        implicit = false;
        good = read_value(reading, &value);
    } else if (good) {
        good = at_line_end(reading) || *reading->at == '#' || *reading->at == ';';
        if (good)
            skip_line(reading);
    }
    if (good)
        r = add_setting(reading, &name, &value, implicit);
    if (good && r == 0) {
        struct git_setting *setting = &reading->config->settings[reading->config->count - 1];

        setting->begin = begin;
        setting->end = (size_t)(reading->at - reading->start);
    }
    text_free(&name);
    text_free(&value);
    return r;
}

int git_config_parse(struct git_config *config, const char *text, size_t length)
{
    struct reading reading = {.start = text, .at = text, .end = text + length, .config = config};
    int r = 0;

    *config = (struct git_config){0};
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        reading.at += 3;
    while (r >= 0 && reading.at < reading.end) {
        char c = *reading.at;

        if (c == '\n' || c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f') {
            reading.at++;
            continue;
        }
        if (c == '#' || c == ';')
            r = 1;
        else if (c == '[')
            r = read_section(&reading) ? 2 : 1;
        else
            r = read_setting(&reading);
        if (r >= 0 && r < 2) /* behind a section a setting may stand on its line */
            skip_line(&reading);
    }
    text_free(&reading.section);
    if (r < 0)
        git_config_free(config);
    return r < 0 ? r : 0;
}

void git_config_free(struct git_config *config)
{
    for (size_t i = 0; i < config->count; i++) {
        free(config->settings[i].key);
        free(config->settings[i].value);
    }
    free(config->settings);
    *config = (struct git_config){0};
}

const char *git_config_value(const struct git_config *config, const char *key)
{
    for (size_t i = config->count; i-- > 0;)
        if (strcmp(config->settings[i].key, key) == 0)
            return config->settings[i].value;
    return NULL;
}
