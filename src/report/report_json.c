/*
 * report_json.c - the report as one JSON object, docs/report.schema.json.
 *
 * Should:  have every key in every report, in one order; null where there is nothing.
 * Mustn't: write a control, an escape or a bidi mark as it is: everything beyond ASCII is \u.
 */
#include "report/report.h"

#include "plan/plan_json.h"
#include "policy/policy_explain.h"

#include <errno.h>
#include <stdlib.h>

static const char *const outcome_names[] = {
    [OUTCOME_NOT_STARTED] = "not-started", [OUTCOME_EXITED] = "exited", [OUTCOME_SIGNALED] = "signaled",
    [OUTCOME_TIMED_OUT] = "timed-out",     [OUTCOME_LIMIT] = "limit",
};

static const char *const enforcement_names[] = {
    [ENFORCEMENT_NONE] = "none",
    [ENFORCEMENT_PARTIAL] = "partial",
    [ENFORCEMENT_FULL] = "full",
};

const char *report_enforcement_name(const struct report *report)
{
    return enforcement_names[report_enforcement(report)];
}

#define REPORT_ROOM 16000 /* what a report takes; with what the allocator adds, below a power of two */

/* Lists that several layers filled, each text once. NULL lists are skipped. */
static void write_lists(struct writer *writer, const char *key, const struct strings *const *lists,
                        size_t count)
{
    struct strings all = {0};

    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; lists[i] && j < lists[i]->count; j++)
            if (!strings_have(&all, lists[i]->items[j]) && strings_add(&all, lists[i]->items[j]) < 0)
                writer->text.failed = true;
    writer_strings(writer, key, all.items);
    strings_free(&all);
}

/* A number at the digits of a stamp that @to ends at. */
static void put_number(char *to, size_t digits, unsigned number)
{
    for (; digits > 0; digits--, number /= 10)
        *--to = (char)('0' + number % 10);
}

/* The time in UTC. strftime() is a printf for each of its numbers, behind the command's end. */
static void put_stamp(char stamp[static 25], const struct timespec *when)
{
    struct tm tm = {0};

    memcpy(stamp, "0000-00-00T00:00:00.000Z", 25);
    if (!gmtime_r(&when->tv_sec, &tm))
        return;
    put_number(stamp + 4, 4, (unsigned)tm.tm_year + 1900U);
    put_number(stamp + 7, 2, (unsigned)tm.tm_mon + 1U);
    put_number(stamp + 10, 2, (unsigned)tm.tm_mday);
    put_number(stamp + 13, 2, (unsigned)tm.tm_hour);
    put_number(stamp + 16, 2, (unsigned)tm.tm_min);
    put_number(stamp + 19, 2, (unsigned)tm.tm_sec);
    put_number(stamp + 23, 3, (unsigned)(when->tv_nsec / 1000000));
}

static void write_head(struct writer *writer, const struct report *report)
{
    char summary[600], stamp[25];

    report_summary(report, summary, sizeof(summary));
    put_stamp(stamp, &report->started);
    writer_text(writer, "schema", "confine/report/1");
    writer_text(writer, "version", CONFINE_VERSION);
    writer_text(writer, "run", report->run_id);
    writer_text(writer, "started", stamp);
    writer_text(writer, "summary", summary);
    writer_argv(writer, "command", report->command);
}

static void write_connections(struct writer *writer, const struct connections *connections)
{
    writer_array(writer, "connections");
    for (size_t i = 0; i < connections->count; i++)
        connection_write(&connections->items[i], writer, NULL);
    writer_end(writer);
    writer_array(writer, "counted");
    for (size_t i = 0; i < connections->counted_count; i++)
        connection_write(&connections->counted[i], writer, NULL);
    writer_end(writer);
}

static void write_asked(struct writer *writer, const struct report *report)
{
    const struct resolved *resolved = report->resolved;
    enum network asked = NETWORK_NONE;

    writer_path(writer, "cwd", resolved ? resolved->cwd : NULL);
    writer_path(writer, "workspace", resolved ? resolved->workspace : NULL);
    writer_text(writer, "session", resolved && resolved->session ? resolved->session->name : NULL);
    writer_object(writer, "mode");
    writer_text(writer, "effective", resolved ? mode_name(resolved->mode) : NULL);
    writer_text(writer, "from", resolved ? resolved->mode_from : NULL);
    writer_end(writer);
    /* danger-full-access bypasses everything, whatever network the policy names. */
    if (resolved)
        asked = resolved->mode == MODE_DANGER_FULL_ACCESS ? NETWORK_HOST : resolved->policy->network;
    writer_object(writer, "network");
    writer_text(writer, "mode", resolved ? network_name(asked) : NULL);
    writer_bool(writer, "shared", resolved && resolved->session && resolved->session->told >= 0);
    write_connections(writer, &report->connections);
    writer_end(writer);
    explain_grants_write(resolved, writer, "grants");
}

static void write_tried(struct writer *writer, const struct report *report)
{
    writer_array(writer, "tried_backends");
    for (size_t i = 0; i < report->tried_count; i++) {
        writer_object(writer, NULL);
        writer_text(writer, "name", report->tried[i].name);
        writer_text(writer, "reason", report->tried[i].reason);
        writer_text(writer, "message", report->tried[i].message);
        writer_end(writer);
    }
    writer_end(writer);
}

static void write_chain(struct writer *writer, const struct report *report)
{
    const char **links = report->plan ? plan_links(report->plan) : NULL;

    writer->text.failed |= report->plan && !links;
    writer_array(writer, "chain");
    for (size_t i = 0; links && links[i]; i++)
        writer_text(writer, NULL, links[i]);
    writer_end(writer);
    free(links);
}

static void write_skipped(struct writer *writer, const struct resolved *resolved)
{
    writer_array(writer, "skipped");
    for (size_t i = 0; resolved && i < resolved->skipped_count; i++) {
        writer_object(writer, NULL);
        writer_path(writer, "what", resolved->skipped[i].what);
        writer_text(writer, "why", resolved->skipped[i].why);
        writer_end(writer);
    }
    writer_end(writer);
}

static void write_enforced(struct writer *writer, const struct report *report)
{
    const struct resolved *resolved = report->resolved;
    const struct strings *ephemeral[] = {&report->ephemeral, resolved ? &resolved->ephemeral : NULL};

    writer_text(writer, "backend", report->backend);
    write_chain(writer, report);
    write_tried(writer, report);
    writer_text(writer, "enforcement", report_enforcement_name(report));
    writer_array(writer, "gaps");
    for (int s = 0; s < SURFACE_COUNT; s++)
        if (report_gap(report, (enum surface)s))
            writer_text(writer, NULL, surface_table[s].name);
    writer_end(writer);
    write_skipped(writer, resolved);
    write_lists(writer, "ephemeral", ephemeral, ARRAY_SIZE(ephemeral));
    plan_surfaces_write(writer, "surfaces", report->plan ? report->plan->claims : NULL);
}

static void write_number(struct writer *writer, const char *key, bool known, int number)
{
    if (known)
        writer_integer(writer, key, number);
    else
        writer_null(writer, key);
}

static void write_outcome(struct writer *writer, const struct outcome *outcome)
{
    writer_object(writer, "outcome");
    writer_text(writer, "kind", outcome_names[outcome->kind]);
    write_number(writer, "status", outcome->kind == OUTCOME_EXITED, outcome->status);
    write_number(writer, "signal", outcome->kind == OUTCOME_SIGNALED, outcome->signal);
    writer_text(writer, "limit", outcome->limit);
    writer_integer(writer, "wall_ms", (int64_t)outcome->wall_ms);
    writer_integer(writer, "cpu_ms", (int64_t)outcome->cpu_ms);
    writer_integer(writer, "max_rss_kib", (int64_t)outcome->max_rss_kib);
    writer_integer(writer, "survivors_killed", outcome->survivors_killed);
    writer_bool(writer, "output_truncated", outcome->output_truncated);
    writer_end(writer);
}

static void write_escalation(struct writer *writer, const struct report *report)
{
    const struct resolved *resolved = report->resolved;

    if (!resolved || resolved->policy->approved_mode == MODE_INVALID) {
        if (!denials_escalate(writer, "escalation", &report->denials))
            writer_null(writer, "escalation");
        return;
    }
    writer_object(writer, "escalation");
    writer_text(writer, "from", mode_name(resolved->policy->mode));
    writer_text(writer, "to", mode_name(resolved->mode));
    writer_end(writer);
}

void report_error_write(const struct error *error, struct writer *writer, const char *key)
{
    if (error->code == ERROR_NONE) {
        writer_null(writer, key);
        return;
    }
    writer_object(writer, key);
    writer_text(writer, "code", error_name(error->code));
    writer_text(writer, "reason", error->reason);
    writer_text(writer, "message", error->message);
    writer_text(writer, "hint", *error->hint ? error->hint : NULL);
    writer_text(writer, "surface", *error->surface ? error->surface : NULL);
    writer_end(writer);
}

static void write_planted(struct writer *writer, const struct planted_list *planted)
{
    writer_array(writer, "planted");
    for (size_t i = 0; i < planted->count; i++) {
        const struct planted_item *item = &planted->items[i];

        writer_object(writer, NULL);
        writer_text(writer, "kind", item->kind);
        writer_path(writer, "path", item->path);
        writer_text(writer, "runs", item->runs);
        writer_path(writer, "detail", *item->detail ? item->detail : NULL);
        writer_path(writer, "moved", item->moved);
        writer_text(writer, "stays", item->stays);
        writer_end(writer);
    }
    writer_end(writer);
    if (planted->looked)
        writer_bool(writer, "planted_complete", !planted->incomplete);
    else
        writer_null(writer, "planted_complete");
}

static void write_tail(struct writer *writer, const struct report *report)
{
    const struct resolved *resolved = report->resolved;
    const struct strings *warnings[] = {resolved ? &resolved->policy->warnings : NULL,
                                        resolved ? &resolved->warnings : NULL,
                                        report->plan ? &report->plan->warnings : NULL, &report->warnings};

    write_outcome(writer, &report->outcome);
    denials_write(writer, "denials", &report->denials);
    approvals_write(writer, "approvals", &report->approvals);
    writer_object(writer, "environment");
    writer_strings(writer, "unset", resolved ? resolved->env_unset.items : NULL);
    writer_end(writer);
    write_planted(writer, &report->planted);
    write_escalation(writer, report);
    write_lists(writer, "warnings", warnings, ARRAY_SIZE(warnings));
    report_error_write(&report->error, writer, "error");
}

void report_write(const struct report *report, struct writer *writer, const char *key)
{
    text_reserve(&writer->text, writer->text.length + REPORT_ROOM);
    writer_object(writer, key);
    write_head(writer, report);
    write_asked(writer, report);
    write_enforced(writer, report);
    write_tail(writer, report);
    writer_end(writer);
}

int report_json(const struct report *report, struct text *text)
{
    struct writer writer = {.text = *text};

    report_write(report, &writer, NULL);
    text_add(&writer.text, "\n");
    *text = writer.text;
    return text->failed ? -ENOMEM : 0;
}
