/*
 * check_html.c - what the battery saw, as one page that needs nothing else: no script, no network, no font.
 *
 * Should:  be readable on a telephone, in black and white, and by a program that reads aloud.
 * Mustn't: put a text from anywhere into the page as it is.
 */
#include "cli/check.h"

#include "report/report.h"

#include <string.h>

static const char head[] =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>confine "
    "check</title>\n<style>\n"
    ":root { color-scheme: light dark; --line: #8886; --ok: #1a7f37; --bad: #cf222e; --open: #9a6700; }\n"
    "body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 72em; padding: 1em; }\n"
    "table { border-collapse: collapse; width: 100%; }\n"
    "th, td { border-bottom: 1px solid var(--line); padding: .35em .6em; text-align: left; vertical-align: "
    "top; }\n"
    ".wide { overflow-x: auto; }\ncode { overflow-wrap: anywhere; }\n"
    "td.held { color: var(--ok); }\ntd.declared, td.under-claim { color: var(--open); }\n"
    "td.over-claim, p.over-claim { color: var(--bad); font-weight: bold; }\ntd.not-tried { opacity: .65; }\n"
    "details p { margin: .3em 0; font-weight: normal; }\nsummary { cursor: pointer; }\n"
    /* On a telephone a row is a block, and each cell says whose it is. */
    "@media (max-width: 40em) {\n"
    "thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }\n"
    "tr { display: block; padding: .4em 0; border-bottom: 1px solid var(--line); }\n"
    "th[scope=row], td { display: block; border: 0; padding: .1em 0; }\n"
    "td { padding-left: 1.2em; }\n"
    "td::before { content: attr(data-backend) \": \"; color: CanvasText; font-weight: normal; }\n"
    "}\n</style>\n</head>\n<body>\n<h1>confine "
    "check</h1>\n";

static void add_escaped(struct text *text, const char *piece)
{
    static const struct {
        char character;
        const char *entity;
    } rows[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};

    for (; piece && *piece; piece++) {
        const char *entity = NULL;

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
            if (rows[i].character == *piece)
                entity = rows[i].entity;
        if (entity)
            text_add(text, entity);
        else
            text_add_bytes(text, piece, 1);
    }
}

static const char *value_of(const json_t *attempt, const char *key)
{
    return json_string_value(json_object_get(attempt, key));
}

static void add_sentences(const struct checked *checked, size_t count, struct text *text)
{
    for (size_t i = 0; i < count; i++) {
        struct text sentence = {0};

        judge_text(&checked[i], 1, -1, false, &sentence);
        text_add(text,
                 judge_surfaces(&checked[i], JUDGED_OVER_CLAIM) > 0 ? "<p class=\"over-claim\">" : "<p>");
        add_escaped(text, sentence.data);
        text_add(text, "</p>\n");
        text->failed = text->failed || sentence.failed;
        text_free(&sentence);
    }
}

static void add_heading(const struct checked *checked, size_t count, const char *first, struct text *text)
{
    text_addf(text, "<div class=\"wide\"><table>\n<thead><tr><th scope=\"col\">%s</th>", first);
    for (size_t i = 0; i < count; i++) {
        if (checked[i].error.code != ERROR_NONE)
            continue;
        text_add(text, "<th scope=\"col\">");
        add_escaped(text, checked[i].backend);
        text_add(text, "</th>");
    }
    text_add(text, "</tr></thead>\n<tbody>\n");
}

static void begin_cell(const char *judgement, const struct checked *checked, struct text *text)
{
    text_addf(text, "<td class=\"%s\" data-backend=\"", judgement);
    add_escaped(text, checked->backend);
    text_add(text, "\">");
}

static void add_surfaces(const struct checked *checked, size_t count, struct text *text)
{
    text_add(
        text,
        "<h2>Surfaces</h2>\n<p>What is claimed; how many of the attempts that cross unconfined were "
        "stopped; and what that comes to: <i>held</i>, nothing crossed; <i>declared</i>, what crossed is "
        "what the report says can cross; <i>under-claim</i>, called open, and nothing crossed; "
        "<i>over-claim</i>, something crossed where the report says that nothing can.</p>\n");
    add_heading(checked, count, "surface", text);
    for (int s = 0; s < SURFACE_COUNT; s++) {
        text_addf(text,
                  "<tr><th scope=\"row\"><details><summary>%s</summary><p>open means: %s</p></details></th>",
                  surface_table[s].name, surface_table[s].what);
        for (size_t i = 0; i < count; i++) {
            const struct tally *tally = &checked[i].tally[s];
            unsigned blocked = tally->verdicts[VERDICT_BLOCKED];

            if (checked[i].error.code != ERROR_NONE)
                continue;
            begin_cell(judgement_name(tally->judgement), &checked[i], text);
            text_addf(text, "%s, %u of %u: %s</td>", state_name(tally->state), blocked,
                      blocked + tally->verdicts[VERDICT_CROSSED], judgement_name(tally->judgement));
        }
        text_add(text, "</tr>\n");
    }
    text_add(text, "</tbody></table></div>\n");
}

/* The same attempt of another backend: all make the same ones, in the same order, unless one of them stopped.
 */
static const json_t *same_attempt(const struct checked *checked, const json_t *attempt)
{
    json_t *other;
    size_t i;

    json_array_foreach(checked->attempts, i,
                       other) if (strcmp(value_of(other, "id"), value_of(attempt, "id")) == 0) return other;
    return NULL;
}

static void add_verdict(const struct checked *checked, const json_t *attempt, struct text *text)
{
    const char *errnum = attempt ? value_of(attempt, "errno") : NULL,
               *reason = attempt ? value_of(attempt, "reason") : NULL;

    begin_cell(attempt ? value_of(attempt, "judgement") : "not-tried", checked, text);
    add_escaped(text, attempt ? value_of(attempt, "verdict") : "not tried");
    if (errnum) {
        text_add(text, " ");
        add_escaped(text, errnum);
    }
    if (reason) {
        text_add(text, ": ");
        add_escaped(text, reason);
    }
    text_add(text, "</td>");
}

static void add_attempts(const struct checked *checked, size_t count, const struct checked *first,
                         struct text *text)
{
    json_t *attempt;
    size_t at;

    text_add(text, "<h2>Attempts</h2>\n");
    add_heading(checked, count, "attempt", text);
    json_array_foreach(first->attempts, at, attempt)
    {
        static const char *const keys[] = {"what", "call", "why"};

        text_add(text, "<tr><th scope=\"row\"><details><summary>");
        add_escaped(text, value_of(attempt, "id"));
        text_add(text, " ");
        add_escaped(text, value_of(attempt, "surface"));
        text_add(text, "</summary>");
        for (size_t k = 0; k < ARRAY_SIZE(keys); k++) {
            text_add(text, k == 1 ? "<p><code>" : "<p>");
            add_escaped(text, value_of(attempt, keys[k]));
            text_add(text, k == 1 ? "</code></p>" : "</p>");
        }
        text_add(text, "</details></th>");
        for (size_t i = 0; i < count; i++)
            if (checked[i].error.code == ERROR_NONE)
                add_verdict(&checked[i], same_attempt(&checked[i], attempt), text);
        text_add(text, "</tr>\n");
    }
    text_add(text, "</tbody></table></div>\n");
}

void judge_html(const struct checked *checked, size_t count, struct text *text)
{
    const struct checked *first = NULL;

    for (size_t i = 0; i < count; i++)
        if (checked[i].error.code == ERROR_NONE &&
            (!first || json_array_size(checked[i].attempts) > json_array_size(first->attempts)))
            first = &checked[i];
    text_add(text, head);
    add_sentences(checked, count, text);
    if (first) {
        add_surfaces(checked, count, text);
        add_attempts(checked, count, first, text);
    }
    text_addf(
        text,
        "<p>confine %s. Every attempt was made unconfined first; what does not cross then proves nothing "
        "(<i>no-control</i>). See confine-check(1).</p>\n</body>\n</html>\n",
        CONFINE_VERSION);
}
