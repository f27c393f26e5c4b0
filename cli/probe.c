/*
 * probe.c - `confine probe`: one row per backend, with the reason and the remedy where it cannot be used.
 */
#include "run/probe.h"
#include "cli/cli.h"
#include "report/report.h"
#include "util/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 8

/* Why something cannot be had: each of the three is empty where there is nothing to say. */
static int set_why(json_t *object, const char *reason, const char *message, const char *hint)
{
    return value_set_text(object, "reason", *reason ? reason : NULL) |
           value_set_text(object, "message", *message ? message : NULL) |
           value_set_text(object, "hint", *hint ? hint : NULL);
}

static void add_why(struct text *text, const char *reason, const char *message, const char *hint)
{
    text_addf(text, "no: %s [%s]%s%s%s\n", message, reason, *hint ? " (" : "", hint, *hint ? ")" : "");
}

static int set_states(json_t *row_object, const struct probe_row *row)
{
    json_t *states = json_object(), *reasons = json_object(), *warnings = json_array();
    int result = 0;

    for (int s = 0; s < SURFACE_COUNT; s++) {
        result |= json_object_set_new(states, surface_table[s].name, json_string(state_name(row->states[s])));
        if (*row->reasons[s])
            result |= value_set_text(reasons, surface_table[s].name, row->reasons[s]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(row->warnings) && *row->warnings[i]; i++)
        result |= json_array_append_new(warnings, json_string(row->warnings[i]));
    result |= json_object_set_new(row_object, "surfaces", states);
    result |= json_object_set_new(row_object, "reasons", reasons);
    result |= json_object_set_new(row_object, "warnings", warnings);
    return result;
}

static int set_list(json_t *row_object, const struct probe_list *list)
{
    json_t *object = json_object(), *by = json_array();
    int result = json_object_set_new(object, "held", json_boolean(list->held));

    for (size_t i = 0; i < ARRAY_SIZE(list->by) && *list->by[i]; i++)
        result |= json_array_append_new(by, json_string(list->by[i]));
    result |= json_object_set_new(object, "by", by);
    result |= set_why(object, list->reason, list->message, list->hint);
    result |= json_object_set_new(row_object, "host_list", object);
    return result;
}

static const struct {
    const char *reason, *why;
} audit_lacks[] = {
    {"no-records", "Landlock writes none on this kernel (ABI 7, Linux 6.15)"},
    {"no-capability", "the caller has no CAP_AUDIT_READ"},
    {"audit-off", "audit is off, and is not switched on for a run"},
    {"audit-panics", "a lost record ends the machine here, and a command could make too many"},
    {"other-namespace", "only the machine's first network and process namespaces have it"},
    {"audit-refused", "the kernel lets this caller listen to nothing"},
};

/* Can what the kernel's audit has of a run's refusals be read? NULL: it can. */
static const char *ask_audit(void)
{
    struct host host;

    host_look(&host);
    host_ask_audit(&host);
    return host.audit_lack;
}

static void print_audit(const char *lack, struct text *text)
{
    for (size_t i = 0; i < ARRAY_SIZE(audit_lacks) && lack; i++)
        if (strcmp(audit_lacks[i].reason, lack) == 0)
            text_addf(text, "kernel's audit: not read: %s [%s]\n", audit_lacks[i].why, lack);
    if (!lack)
        text_add(text, "kernel's audit: read, for what is refused to a command\n");
}

static int set_audit(json_t *root, const char *lack)
{
    json_t *object = json_object();
    int result = json_object_set_new(root, "audit", object);

    result |= json_object_set_new(object, "readable", json_boolean(lack == NULL));
    result |= value_set_text(object, "reason", lack);
    return result;
}

static int print_json(const struct probe_row *rows, size_t count, struct text *text)
{
    json_t *root = json_object(), *array = json_array();
    int result = json_object_set_new(root, "schema", json_string("confine/probe/1"));
    char *dump;

    result |= json_object_set_new(root, "version", json_string(CONFINE_VERSION));
    result |= json_object_set_new(root, "backends", array);
    result |= set_audit(root, ask_audit());
    for (size_t i = 0; result == 0 && i < count; i++) {
        json_t *object = json_object();

        result |= value_set_text(object, "name", rows[i].backend);
        result |= json_object_set_new(object, "usable", json_boolean(rows[i].usable));
        result |= set_why(object, rows[i].reason, rows[i].message, rows[i].hint);
        result |= set_states(object, &rows[i]);
        result |= set_list(object, &rows[i].list);
        result |= json_array_append_new(array, object);
    }
    dump = result == 0 ? json_dumps(root, JSON_INDENT(2) | JSON_ENSURE_ASCII) : NULL;
    json_decref(root);
    if (!dump)
        return -ENOMEM;
    text_addf(text, "%s\n", dump);
    free(dump);
    return 0;
}

static void print_list(const struct probe_list *list, struct text *text)
{
    text_add(text, "  list of hosts (--allow): ");
    if (!list->held) {
        add_why(text, list->reason, list->message, list->hint);
        return;
    }
    text_add(text, "held by ");
    for (size_t i = 0; i < ARRAY_SIZE(list->by) && *list->by[i]; i++)
        text_addf(text, "%s%s", i > 0 ? ", " : "", list->by[i]);
    text_add(text, "\n");
}

static void print_people(const struct probe_row *row, struct text *text)
{
    static struct plan plan;
    const struct report report = {.plan = &plan};
    struct text lines = {0};

    text_addf(text, "%s: ", row->backend);
    if (!row->usable) {
        add_why(text, row->reason, row->message, row->hint);
        return;
    }
    text_addf(text, "usable%s%s\n", *row->message ? ": " : "", row->message);
    for (int s = 0; s < SURFACE_COUNT; s++)
        plan.claims[s] = (struct claim){.state = row->states[s]};
    report_surfaces(&report, false, &lines);
    for (const char *line = lines.data; line && *line; line += strcspn(line, "\n") + 1)
        text_addf(text, "  %.*s\n", (int)(strcspn(line, "\n") - strlen("confine:   ")),
                  line + strlen("confine:   "));
    text_free(&lines);
    print_list(&row->list, text);
    for (size_t i = 0; i < ARRAY_SIZE(row->warnings) && *row->warnings[i]; i++)
        text_addf(text, "  note: %s\n", row->warnings[i]);
}

int command_probe(char **argv, char **envp)
{
    struct probe_row rows[ROWS_MAX] = {0};
    struct options options;
    struct error error = {0};
    struct text text = {0};
    size_t count = ROWS_MAX;
    int result = options_parse(&options, "probe", FOR_PROBE, argv, &error), status;
    const char *only = options_value(&options, OPTION_KEY, KEY_BACKEND);

    (void)envp;
    if (result == 0 && options.help) {
        help_command(command_by_name("probe"), &text);
    } else if (result == 0) {
        result = probe_backends(only && strcmp(only, "auto") == 0 ? NULL : only, rows, &count, &error);
        if (result == 0 && options.json && print_json(rows, count, &text) < 0)
            result = error_no_memory(&error);
        for (size_t i = 0; result == 0 && !options.json && i < count; i++)
            print_people(&rows[i], &text);
        if (result == 0 && !options.json)
            print_audit(ask_audit(), &text);
    }
    status = result < 0 ? cli_fail_json(&error, options.json) : cli_print(&text);
    text_free(&text);
    options_free(&options);
    return status;
}
