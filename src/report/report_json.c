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

/* Sets a value that was just made; any failure is remembered and told once, at the end. */
static void set_value(json_t *object, const char *key, json_t *value, int *result)
{
    if (json_object_set_new(object, key, value) != 0)
        *result = -ENOMEM;
}

static void set_text(json_t *object, const char *key, const char *text, int *result)
{
    if (value_set_text(object, key, text) < 0)
        *result = -ENOMEM;
}

static void set_path(json_t *object, const char *key, const char *path, int *result)
{
    if (value_set_path(object, key, path) < 0)
        *result = -ENOMEM;
}

/* Lists that several layers filled, each text once. NULL lists are skipped. */
static json_t *merge_lists(const struct strings *const *lists, size_t count)
{
    struct strings all = {0};
    bool failed = false;
    json_t *array;

    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; lists[i] && j < lists[i]->count; j++)
            if (!strings_have(&all, lists[i]->items[j]) && strings_add(&all, lists[i]->items[j]) < 0)
                failed = true;
    array = failed ? NULL : value_strings(&all);
    strings_free(&all);
    return array;
}

static void set_head(json_t *root, const struct report *report, int *result)
{
    char summary[600], time[32], stamp[48];
    struct tm tm;

    report_summary(report, summary, sizeof(summary));
    if (!gmtime_r(&report->started.tv_sec, &tm) || !strftime(time, sizeof(time), "%Y-%m-%dT%H:%M:%S", &tm))
        time[0] = '\0';
    snprintf(stamp, sizeof(stamp), "%s.%03ldZ", time, report->started.tv_nsec / 1000000);
    set_text(root, "schema", "confine/report/1", result);
    set_text(root, "version", CONFINE_VERSION, result);
    set_text(root, "run", report->run_id, result);
    set_text(root, "started", stamp, result);
    set_text(root, "summary", summary, result);
    if (value_set_argv(root, "command", report->command) < 0)
        *result = -ENOMEM;
}

static void set_asked(json_t *root, const struct report *report, int *result)
{
    const struct resolved *resolved = report->resolved;
    json_t *mode = json_object(), *network = json_object();
    enum network asked = NETWORK_NONE;

    set_path(root, "cwd", resolved ? resolved->cwd : NULL, result);
    set_path(root, "workspace", resolved ? resolved->workspace : NULL, result);
    set_text(mode, "effective", resolved ? mode_name(resolved->mode) : NULL, result);
    set_text(mode, "from", resolved ? resolved->mode_from : NULL, result);
    set_value(root, "mode", mode, result);
    /* danger-full-access bypasses everything, whatever network the policy names. */
    if (resolved)
        asked = resolved->mode == MODE_DANGER_FULL_ACCESS ? NETWORK_HOST : resolved->policy->network;
    set_text(network, "mode", resolved ? network_name(asked) : NULL, result);
    set_value(network, "connections", json_array(), result);
    set_value(root, "network", network, result);
    set_value(root, "grants", resolved ? explain_grants(resolved) : json_array(), result);
}

static json_t *make_tried(const struct report *report, int *result)
{
    json_t *array = json_array();

    for (size_t i = 0; i < report->tried_count; i++) {
        json_t *tried = json_object();

        set_text(tried, "name", report->tried[i].name, result);
        set_text(tried, "reason", report->tried[i].reason, result);
        set_text(tried, "message", report->tried[i].message, result);
        if (json_array_append_new(array, tried) != 0)
            *result = -ENOMEM;
    }
    return array;
}

static json_t *make_chain(const struct report *report, int *result)
{
    json_t *array = json_array();
    const char **links = report->plan ? plan_links(report->plan) : NULL;

    if (report->plan && !links)
        *result = -ENOMEM;
    for (size_t i = 0; links && links[i]; i++)
        if (json_array_append_new(array, json_string(links[i])) != 0)
            *result = -ENOMEM;
    free(links);
    return array;
}

static json_t *make_skipped(const struct resolved *resolved, int *result)
{
    json_t *array = json_array();

    for (size_t i = 0; resolved && i < resolved->skipped_count; i++) {
        json_t *skipped = json_object();

        set_path(skipped, "what", resolved->skipped[i].what, result);
        set_text(skipped, "why", resolved->skipped[i].why, result);
        if (json_array_append_new(array, skipped) != 0)
            *result = -ENOMEM;
    }
    return array;
}

static void set_enforced(json_t *root, const struct report *report, int *result)
{
    const struct resolved *resolved = report->resolved;
    const struct strings *ephemeral[] = {&report->ephemeral, resolved ? &resolved->ephemeral : NULL};
    json_t *gaps = json_array();

    set_text(root, "backend", report->backend, result);
    set_value(root, "chain", make_chain(report, result), result);
    set_value(root, "tried_backends", make_tried(report, result), result);
    set_text(root, "enforcement", enforcement_names[report_enforcement(report)], result);
    for (int s = 0; s < SURFACE_COUNT; s++)
        if (report_gap(report, (enum surface)s) &&
            json_array_append_new(gaps, json_string(surface_table[s].name)) != 0)
            *result = -ENOMEM;
    set_value(root, "gaps", gaps, result);
    set_value(root, "skipped", make_skipped(resolved, result), result);
    set_value(root, "ephemeral", merge_lists(ephemeral, ARRAY_SIZE(ephemeral)), result);
    set_value(root, "surfaces", plan_surfaces_json(report->plan ? report->plan->claims : NULL), result);
}

static void set_outcome(json_t *root, const struct outcome *outcome, int *result)
{
    bool exited = outcome->kind == OUTCOME_EXITED, signaled = outcome->kind == OUTCOME_SIGNALED;
    json_t *object = json_object();

    set_text(object, "kind", outcome_names[outcome->kind], result);
    set_value(object, "status", exited ? json_integer(outcome->status) : json_null(), result);
    set_value(object, "signal", signaled ? json_integer(outcome->signal) : json_null(), result);
    set_text(object, "limit", outcome->limit, result);
    set_value(object, "wall_ms", json_integer((json_int_t)outcome->wall_ms), result);
    set_value(object, "cpu_ms", json_integer((json_int_t)outcome->cpu_ms), result);
    set_value(object, "max_rss_kib", json_integer((json_int_t)outcome->max_rss_kib), result);
    set_value(object, "survivors_killed", json_integer(outcome->survivors_killed), result);
    set_value(object, "output_truncated", json_false(), result); /* output is not limited in this version */
    set_value(root, "outcome", object, result);
}

/* No observer exists in this version, so nothing is known: neither a denial nor that there was none. */
static void set_denials(json_t *root, int *result)
{
    json_t *object = json_object();

    set_text(object, "channel", "none", result);
    set_value(object, "complete", json_false(), result);
    set_value(object, "lost", json_null(), result);
    set_value(object, "items", json_array(), result);
    set_value(root, "denials", object, result);
}

static json_t *make_escalation(const struct resolved *resolved, int *result)
{
    json_t *object;

    if (!resolved || resolved->policy->approved_mode == MODE_INVALID)
        return json_null();
    object = json_object();
    set_text(object, "from", mode_name(resolved->policy->mode), result);
    set_text(object, "to", mode_name(resolved->mode), result);
    return object;
}

static json_t *make_error(const struct error *error, int *result)
{
    json_t *object;

    if (error->code == ERROR_NONE)
        return json_null();
    object = json_object();
    set_text(object, "code", error_name(error->code), result);
    set_text(object, "reason", error->reason, result);
    set_text(object, "message", error->message, result);
    set_text(object, "hint", *error->hint ? error->hint : NULL, result);
    set_text(object, "surface", *error->surface ? error->surface : NULL, result);
    return object;
}

static void set_tail(json_t *root, const struct report *report, int *result)
{
    static const struct strings nothing;
    const struct resolved *resolved = report->resolved;
    const struct strings *warnings[] = {resolved ? &resolved->policy->warnings : NULL,
                                        resolved ? &resolved->warnings : NULL,
                                        report->plan ? &report->plan->warnings : NULL, &report->warnings};
    json_t *environment = json_object();

    set_outcome(root, &report->outcome, result);
    set_denials(root, result);
    set_value(environment, "unset", value_strings(resolved ? &resolved->env_unset : &nothing), result);
    set_value(root, "environment", environment, result);
    set_value(root, "planted", json_array(), result);
    set_value(root, "escalation", make_escalation(resolved, result), result);
    set_value(root, "warnings", merge_lists(warnings, ARRAY_SIZE(warnings)), result);
    set_value(root, "error", make_error(&report->error, result), result);
}

int report_json(const struct report *report, struct text *text)
{
    json_t *root = json_object();
    char *dump;
    int result = 0;

    set_head(root, report, &result);
    set_asked(root, report, &result);
    set_enforced(root, report, &result);
    set_tail(root, report, &result);
    dump = result == 0 ? json_dumps(root, JSON_INDENT(2) | JSON_ENSURE_ASCII) : NULL;
    json_decref(root);
    if (!dump)
        return -ENOMEM;
    text_add(text, dump);
    text_add(text, "\n");
    free(dump);
    return text->failed ? -ENOMEM : 0;
}
