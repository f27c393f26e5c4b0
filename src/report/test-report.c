/*
 * test-report.c - what a report may claim, and what may stand in it.
 */
#include "report/test-report.h"

static const struct claim_row {
    const char *name;
    enum surface surface;
    struct claim claim;
    bool open; /* opened on purpose */
    bool gap;
    enum enforcement enforcement;
} claim_rows[] = {
    {"attested",
     SURFACE_FS_WRITE,
     {STATE_ENFORCED, {{MECHANISM_LANDLOCK, EVIDENCE_ATTESTED}}, 1, NULL, 1},
     false,
     false,
     ENFORCEMENT_FULL},
    {"one of two attested",
     SURFACE_FS_WRITE,
     {STATE_ENFORCED,
      {{MECHANISM_SECCOMP, EVIDENCE_PROBED}, {MECHANISM_LANDLOCK, EVIDENCE_ATTESTED}},
      2,
      NULL,
      1},
     false,
     false,
     ENFORCEMENT_FULL},
    {"absent needs nothing", SURFACE_TTY_READ, {.state = STATE_ABSENT}, false, false, ENFORCEMENT_FULL},
    {"only probed",
     SURFACE_FS_WRITE,
     {STATE_ENFORCED, {{MECHANISM_LANDLOCK, EVIDENCE_PROBED}}, 1, NULL, 1},
     false,
     true,
     ENFORCEMENT_PARTIAL},
    {"only declared",
     SURFACE_FS_WRITE,
     {STATE_ENFORCED, {{MECHANISM_LANDLOCK, EVIDENCE_DECLARED}}, 1, NULL, 1},
     false,
     true,
     ENFORCEMENT_PARTIAL},
    {"no evidence",
     SURFACE_FS_WRITE,
     {STATE_ENFORCED, {{MECHANISM_LANDLOCK, EVIDENCE_NONE}}, 1, NULL, 1},
     false,
     true,
     ENFORCEMENT_PARTIAL},
    {"no mechanism", SURFACE_FS_WRITE, {.state = STATE_ENFORCED}, false, true, ENFORCEMENT_PARTIAL},
    {"partial",
     SURFACE_FS_HIDDEN,
     {STATE_PARTIAL, {{MECHANISM_LANDLOCK_HIDE, EVIDENCE_ATTESTED}}, 1, "names", 1},
     false,
     true,
     ENFORCEMENT_PARTIAL},
    {"open", SURFACE_PROC_VISIBLE, {.reason = "no-namespace"}, false, true, ENFORCEMENT_PARTIAL},
    {"opened on purpose", SURFACE_PROC_TRACE, {0}, true, false, ENFORCEMENT_FULL},
    {"never claimed", SURFACE_FS_ALIAS, {0}, false, false, ENFORCEMENT_FULL},
};

TEST_EACH(held_only_if_shown, struct claim_row, claim_rows)
{
    plan.claims[row->surface] = row->claim;
    resolved.open[row->surface] = row->open;
    check_int(report_gap(&report, row->surface), row->gap);
    check_int(report_enforcement(&report), row->enforcement);
}

TEST(nothing_is_claimed_without_a_plan)
{
    report.plan = NULL;
    check_int(report_enforcement(&report), ENFORCEMENT_NONE);
    check(report_gap(&report, SURFACE_FS_WRITE));
    report.resolved = NULL;
    check_int(report_enforcement(&report), ENFORCEMENT_NONE);
}

TEST(an_open_run_enforces_nothing)
{
    for (int s = 0; s < SURFACE_COUNT; s++)
        plan.claims[s] = (struct claim){.reason = "danger-full-access"};
    plan.claims[SURFACE_TTY_READ].state = STATE_ABSENT;
    resolved.mode = MODE_DANGER_FULL_ACCESS;
    check_int(report_enforcement(&report), ENFORCEMENT_NONE);
}

static const char *const key_order[] = {
    "schema",         "version",     "run",         "started", "summary",          "command",    "cwd",
    "workspace",      "session",     "mode",        "network", "grants",           "backend",    "chain",
    "tried_backends", "enforcement", "gaps",        "skipped", "ephemeral",        "surfaces",   "outcome",
    "denials",        "approvals",   "environment", "planted", "planted_complete", "escalation", "warnings",
    "error",
};

static json_t *make_json(void)
{
    struct text text = {0};
    json_t *root;

    if (report_json(&report, &text) != 0)
        return NULL;
    for (size_t i = 0; i < text.length; i++)
        check(text.data[i] == '\n' || (text.data[i] >= ' ' && text.data[i] <= '~'));
    check(text.data[text.length - 1] == '\n');
    root = json_loads(text.data, JSON_REJECT_DUPLICATES, NULL);
    text_free(&text);
    return root;
}

static void check_keys(const json_t *root)
{
    size_t i = 0;

    for (void *at = json_object_iter((json_t *)(uintptr_t)root); at; i++) {
        need(i < ARRAY_SIZE(key_order));
        check_str(json_object_iter_key(at), key_order[i]);
        at = json_object_iter_next((json_t *)(uintptr_t)root, at);
    }
    check_int((long)i, (long)ARRAY_SIZE(key_order));
}

TEST(every_report_has_every_key_in_order)
{
    json_t *root = make_json();

    need(root);
    check_keys(root);
    check_int((long)json_array_size(json_object_get(root, "surfaces")), SURFACE_COUNT);
    check_str(json_string_value(json_object_get(root, "enforcement")), "full");
    check(json_is_null(json_object_get(root, "error")));
    check_str(json_string_value(json_object_get(json_object_get(root, "denials"), "channel")), "none");
    check(json_is_null(json_object_get(json_object_get(root, "denials"), "lost")));
    json_decref(root);
}

TEST(a_report_of_nothing_has_every_key_too)
{
    json_t *root;

    report = (struct report){0};
    error_set(&report.error, ERROR_USAGE, EINVAL, "unknown-option", "option --x");
    root = make_json();
    need(root);
    check_keys(root);
    check_str(json_string_value(json_object_get(json_object_get(root, "outcome"), "kind")), "not-started");
    check(json_is_null(json_object_get(json_object_get(root, "outcome"), "status")));
    check_str(json_string_value(json_object_get(json_object_get(root, "error"), "code")), "USAGE");
    check_str(json_string_value(json_object_get(root, "enforcement")), "none");
    json_decref(root);
}

TEST(bytes_that_are_no_text_are_kept)
{
    char first[] = {'a', '\xff', 'b', '\0'}, second[] = "ü", *const odd[] = {first, second, NULL};
    json_t *root, *coded;

    report.command = odd;
    resolved.cwd = (char *)(uintptr_t) "/w\xfe";
    root = make_json();
    need(root);
    check_str(json_string_value(json_array_get(json_object_get(root, "command"), 0)), "a\xef\xbf\xbd"
                                                                                      "b");
    check_str(json_string_value(json_array_get(json_object_get(root, "command"), 1)), "ü");
    coded = json_object_get(root, "command_b64");
    need(coded);
    check_str(json_string_value(json_array_get(coded, 0)), "Yf9i");
    check(json_is_null(json_array_get(coded, 1)));
    check_str(json_string_value(json_object_get(root, "cwd_b64")), "L3f+");
    check(!json_object_get(root, "workspace_b64"));
    json_decref(root);
}

TEST(danger_reports_the_network_that_it_has)
{
    json_t *root;

    resolved.mode = MODE_DANGER_FULL_ACCESS;
    root = make_json();
    need(root);
    check_str(json_string_value(json_object_get(json_object_get(root, "network"), "mode")), "host");
    json_decref(root);
}

TEST(what_was_allowed_while_it_ran_is_told)
{
    struct approval_item item = {.operation = DENIAL_WRITE, .path = (char *)(uintptr_t) "/x\xfe", .pid = 7};
    const json_t *items;
    char summary[600];
    json_t *root;

    root = make_json();
    need(root);
    check(json_is_null(json_object_get(root, "approvals")));
    json_decref(root);
    report.approvals.asks = true;
    check_int(approvals_add(&report.approvals, &item), 0);
    check_int(approvals_add(&report.approvals, &item), 0);
    item.for_run = true; /* another answer: another item */
    check_int(approvals_add(&report.approvals, &item), 0);
    item.operation = DENIAL_CREATE; /* the same: it is the path that was allowed */
    check_int(approvals_add(&report.approvals, &item), 0);
    check_int((long)approvals_total(&report.approvals), 4);
    root = make_json();
    need(root);
    items = json_object_get(json_object_get(root, "approvals"), "items");
    check_int((long)json_array_size(items), 2);
    check_int(json_integer_value(json_object_get(json_array_get(items, 0), "count")), 2);
    check_str(json_string_value(json_object_get(json_array_get(items, 0), "answer")), "once");
    check_str(json_string_value(json_object_get(json_array_get(items, 0), "path_b64")), "L3j+");
    check_str(json_string_value(json_object_get(json_array_get(items, 1), "answer")), "run");
    json_decref(root);
    report_summary(&report, summary, sizeof(summary));
    check_has(summary, "4 accesses outside the grants were approved");
    approvals_free(&report.approvals);
}

TEST(an_approval_is_recorded)
{
    json_t *root, *escalation;

    policy.mode = MODE_READ_ONLY;
    policy.approved_mode = MODE_WORKSPACE_WRITE;
    root = make_json();
    need(root);
    escalation = json_object_get(root, "escalation");
    check_str(json_string_value(json_object_get(escalation, "from")), "read-only");
    check_str(json_string_value(json_object_get(escalation, "to")), "workspace-write");
    json_decref(root);
}

TEST(a_name_that_is_no_text_leaves_the_report_whole)
{
    static const char *const names[] = {"/srv/\xff\xfe/y", "/srv/y/x"};
    const json_t *items;
    json_t *root;

    report.outcome = (struct outcome){.kind = OUTCOME_EXITED};
    add_refused(names, ARRAY_SIZE(names));
    root = make_json();
    need(root);
    items = json_object_get(json_object_get(root, "denials"), "items");
    check_int((long)json_array_size(items), 2);
    check_str(json_string_value(json_object_get(json_array_get(items, 0), "path_b64")), "L3Nydi///i95");
    check(json_is_null(json_object_get(json_array_get(items, 0), "grant"))); /* not of another path */
    check(json_is_object(json_object_get(json_array_get(items, 1), "grant")));
    json_decref(root);
}
