/*
 * answer.c - the answers of `confine mcp`: the end of a run, for a model and for a program.
 *
 * Should:  say to a model what happened in a form that it cannot mistake for the command's own words.
 * Mustn't: let a name that the command chose stand unquoted in what is ours.
 */
#include "mcp/mcp.h"

#include <string.h>

#define REFUSED_MOST 3 /* of a tool for files, in its text */

/* A text of the command's as JSON can have it: what is no UTF-8 becomes U+FFFD. */
static json_t *text_value(const struct text *text)
{
    struct text clean = {0};
    json_t *value;

    text_add_valid(&clean, text->data ? text->data : "", text->length);
    value = clean.failed ? NULL : json_stringn(clean.data, clean.length);
    text_free(&clean);
    return value;
}

static json_t *content(json_t *text, bool is_error)
{
    return text ? json_pack("{s:[{s:s, s:o}], s:b}", "content", "type", "text", "text", text, "isError",
                            (int)is_error)
                : NULL;
}

json_t *mcp_answer_text(const char *text)
{
    return content(json_string(text), true);
}

static const char *string_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* What was refused to a tool for files, and what would allow it. */
static void add_refused(const json_t *report, struct text *text)
{
    const json_t *items = json_object_get(json_object_get(report, "denials"), "items"), *item;
    size_t said = 0, i;

    json_array_foreach(items, i, item)
    {
        const char *operation = string_of(item, "operation"), *path = string_of(item, "path");
        const char *option = string_of(item, "grant_option"), *warning = string_of(item, "warning");

        if (string_of(item, "noise") || !operation || !path)
            continue;
        if (said++ == REFUSED_MOST)
            break;
        text_addf(text, ". The sandbox refused it (%s %s)", operation, QUOTE(path));
        if (option)
            text_addf(text, ": ask for %s%s%s", option, warning ? ", which " : "", warning ? warning : "");
        else if (warning)
            text_addf(text, ", and no option is offered, because it %s", warning);
        else if (json_is_true(json_object_get(item, "by_mode")))
            text_add(text, ", and file modes do as well, so no option would help");
    }
}

/* A tool for files is a script, and a summary of that says nothing to who asked for a file. */
static void add_act(const struct mcp_outcome *outcome, bool started, struct text *text)
{
    const json_t *error = json_object_get(outcome->report, "error");
    const char *message = string_of(error, "message"), *hint = string_of(error, "hint");
    const char *kind = string_of(json_object_get(outcome->report, "outcome"), "kind");

    text_add(text, outcome->status == 0 && started ? outcome->done : outcome->failed);
    if (!started)
        text_addf(text, ". %s%s%s%s", message ? message : "The sandbox could not be started",
                  hint ? " (" : "", hint ? hint : "", hint ? ")" : "");
    else if (outcome->status != 0)
        add_refused(outcome->report, text);
    if (kind && (strcmp(kind, "timed-out") == 0 || strcmp(kind, "limit") == 0))
        text_add(text, ". A limit ended it");
    if (json_array_size(json_object_get(outcome->report, "planted")) > 0)
        /* By whom is not known: other calls may have been at work. */
        text_add(text, " (something written meanwhile runs later outside: see `planted`)");
}

static bool was_started(const struct mcp_outcome *outcome)
{
    const char *kind = string_of(json_object_get(outcome->report, "outcome"), "kind");

    return kind && strcmp(kind, "not-started") != 0;
}

/* For a model: first what is ours, then the command's own words, each with its length, so that nothing in
 * them passes for ours. */
static json_t *answer_value(const struct mcp_outcome *outcome)
{
    const json_t *summary = json_object_get(outcome->report, "summary");
    const struct text *streams[] = {outcome->out, outcome->err};
    static const char *const names[] = {"stdout", "stderr"};
    const bool cut[] = {outcome->out_cut, outcome->err_cut};
    struct text text = {0};
    json_t *value;

    if (outcome->report && outcome->done)
        add_act(outcome, was_started(outcome), &text);
    else if (json_is_string(summary))
        text_add(&text, json_string_value(summary));
    else
        text_addf(&text, "confine ended with status %d and no report.", outcome->status);
    for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
        if (streams[i]->length == 0)
            continue;
        text_addf(&text, "\n\n%s, %zu bytes%s:\n", names[i], streams[i]->length,
                  cut[i] ? " (the first of more)" : "");
        text_add_bytes(&text, streams[i]->data, streams[i]->length);
    }
    value = text.failed ? NULL : text_value(&text);
    text_free(&text);
    return value;
}

json_t *mcp_answer(const struct mcp_outcome *outcome)
{
    static const char *const copied[] = {"outcome", "denials", "planted", "planted_complete", "error"};
    bool started = was_started(outcome);
    json_t *answer = content(answer_value(outcome), !started || outcome->status != 0);
    json_t *data =
        json_pack("{s:i, s:b, s:o, s:o, s:b, s:b}", "status", outcome->status, "started", (int)started,
                  "stdout", text_value(outcome->out), "stderr", text_value(outcome->err), "stdout_cut",
                  (int)outcome->out_cut, "stderr_cut", (int)outcome->err_cut);
    int r = answer && data ? 0 : -1;

    for (size_t i = 0; i < ARRAY_SIZE(copied) && r == 0; i++) {
        json_t *value = json_object_get(outcome->report, copied[i]);

        if (value)
            r = json_object_set(data, copied[i], value);
    }
    if (r == 0 && json_object_set(answer, "structuredContent", data) == 0) {
        json_decref(data);
        return answer;
    }
    json_decref(data);
    json_decref(answer);
    return NULL;
}
