/*
 * probe.c - what each backend can do on this machine, found by starting its chain on a command that does
 * nothing.
 *
 * The run of a probe is a run: the same chain, the same attestation. What it reports is what it showed.
 */
#include "run/probe.h"

#include "host/child.h"
#include "kernel/cgroup.h"
#include "run/planted.h"
#include "run/run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PROBE_MS 12000 /* a chain has ten seconds (run.c); the rest is for what comes before */
#define AGAIN_MS 3000  /* once one of them was not in time */

/* One start. */
struct question {
    const struct backend *backend;
    bool listed; /* with a list of hosts, which needs a gateway; else without a network */
};

/* Nobody connects to it, and nobody looks it up. */
static const char some_host[] = "confine.invalid";

/* What a run of this backend came to. */
static void fill_row(struct probe_row *row, const struct plan *plan, const struct error *error)
{
    const struct claim *listed = &plan->claims[SURFACE_NET_LISTED];

    for (int s = 0; s < SURFACE_COUNT && row->usable; s++) {
        row->states[s] = plan->claims[s].state;
        if (plan->claims[s].reason)
            snprintf(row->reasons[s], sizeof(row->reasons[s]), "%s", plan->claims[s].reason);
    }
    for (size_t i = 0; row->usable && i < listed->by_count && i < ARRAY_SIZE(row->list.by); i++)
        snprintf(row->list.by[i], sizeof(row->list.by[i]), "%s", mechanism_name(listed->by[i].mechanism));
    for (size_t i = 0; i < plan->warnings.count && i < ARRAY_SIZE(row->warnings); i++)
        snprintf(row->warnings[i], sizeof(row->warnings[i]), "%s", plan->warnings.items[i]);
    if (row->usable)
        return;
    snprintf(row->reason, sizeof(row->reason), "%s", error->reason);
    snprintf(row->message, sizeof(row->message), "%.511s", error->message);
    snprintf(row->hint, sizeof(row->hint), "%s", error->hint);
}

/* Large limits, as if a default asked for them: what holds them here is then found as it is for everything
 * else. The numbers of a process namespace are not tried, because a kernel without them refuses the run. */
static int ask_limits(struct policy *policy, const struct backend *backend, struct host *host,
                      struct error *error)
{
    static const struct {
        enum key key;
        const char *value;
    } limits[] = {
        {KEY_LIMIT_TIME, "24h"},        {KEY_LIMIT_OUTPUT, "1000G"}, {KEY_LIMIT_FILE_SIZE, "1000G"},
        {KEY_LIMIT_TMP_SIZE, "1G"},     {KEY_LIMIT_CPU, "24h"},      {KEY_LIMIT_MEMORY, "1000G"},
        {KEY_LIMIT_PROCESSES, "30000"},
    };
    bool numbers;
    int r = host_ask_groups(host, CGROUP_BIT(CGROUP_CPU) | CGROUP_BIT(CGROUP_PROCESSES) |
                                      CGROUP_BIT(CGROUP_MEMORY));

    if (r < 0)
        return error_set(error, ERROR_SANDBOX_UNAVAILABLE, -r, "cgroup-failed",
                         "a group of processes (cgroup) can be made here, but not as it is needed: %s",
                         strerror(-r));
    numbers = strcmp(backend->name, "namespace") == 0 && !(host->groups.uses & CGROUP_BIT(CGROUP_PROCESSES));
    for (size_t i = 0; i < ARRAY_SIZE(limits) && r == 0; i++)
        if (limits[i].key != KEY_LIMIT_PROCESSES || !numbers)
            r = policy_set(policy, limits[i].key, limits[i].value, NULL, (struct origin){0}, error);
    return r;
}

static int ask_list(struct policy *policy, struct error *error)
{
    int r = policy_set(policy, KEY_NETWORK, "listed", NULL, (struct origin){0}, error);

    return r == 0 ? policy_add(policy, LIST_ALLOW, some_host, NULL, (struct origin){0}, error) : r;
}

/* The runner that the files of this user and machine name: of all that a policy says, it is what there is to
 * be probed. */
static int take_runner(struct policy *policy, struct error *error)
{
    const struct strings files = {0};
    struct policy named;
    int r = policy_init(&named, error);

    if (r < 0)
        return r;
    r = policy_load_layers(&named, &files, error);
    if (r == 0) {
        policy->runner = named.runner;
        policy->runner.origin = policy->runner.lock =
            (struct origin){0}; /* their texts are the other one's */
        named.runner = (struct policy_runner){0};
    }
    policy_free(&named);
    return r;
}

/* What the child tells: the row, whole. */
static void probe_in_child(int answer, void *data)
{
    const struct question *question = data;
    const struct backend *backend = question->backend;
    char *const command[] = {(char[]){"true"}, NULL};
    char *const env[] = {(char[]){"PATH=/usr/bin:/bin"}, NULL};
    static struct tried_backend tried[TRIED_MAX];
    static struct probe_row row;
    static struct report report;
    struct policy policy;
    struct resolved resolved = {0};
    struct plan plan = {0};
    const struct backend *chosen;
    struct host host;
    size_t tried_count = 0;
    int r = policy_init(&policy, &report.error);

    host_look(&host);
    if (r == 0)
        r = policy_set(&policy, KEY_BACKEND, backend->name, NULL, (struct origin){0}, &report.error);
    if (r == 0 && strcmp(backend->name, "custom") == 0)
        r = take_runner(&policy, &report.error);
    if (r == 0)
        r = question->listed ? ask_list(&policy, &report.error)
                             : ask_limits(&policy, backend, &host, &report.error);
    if (r == 0)
        r = resolve_policy(&policy, env, &resolved, &report.error);
    if (r == 0)
        r = backend_choose(&resolved, &host, true, &plan, &chosen, tried, &tried_count, &report.error);
    if (r == 0) {
        run_supervised(&plan, &resolved, &host, command, NULL, &report);
        planted_gone();
        r = report.error.code == ERROR_NONE || report.error.code == ERROR_COMMAND_NOT_FOUND ? 0 : -EPERM;
    }
    row.usable = r == 0;
    fill_row(&row, &plan, &report.error);
    if (write(answer, &row, sizeof(row)) != (ssize_t)sizeof(row))
        _exit(1); /* no answer is one */
}

/* What hangs for one backend hangs for the others: it is looked for once. */
static void say_silent(struct probe_row *row, bool late)
{
    static char point[256];
    static bool looked, found;

    if (late && !looked)
        found = host_find_silent(point, sizeof(point));
    looked |= late;
    snprintf(row->reason, sizeof(row->reason), late ? "probe-timeout" : "probe-failed");
    snprintf(row->message, sizeof(row->message),
             late ? "it did not answer in time" : "its probe ended without an answer");
    if (found)
        snprintf(row->hint, sizeof(row->hint),
                 "the mount %s does not answer: bring its server back, or unmount it with umount -l",
                 text_quote((char[400]){0}, 400, point, 300));
    else
        snprintf(row->hint, sizeof(row->hint), "the machine may be overloaded; probe again");
}

/* A process of its own: a run takes over its process whole, and whatever it looks at may hang. */
static int probe_one(const struct backend *backend, bool listed, struct probe_row *row, struct error *error)
{
    static int ms = PROBE_MS;
    struct question question = {.backend = backend, .listed = listed};
    ssize_t got = child_ask(probe_in_child, &question, row, sizeof(*row), ms);

    if (got < 0 && got != -ETIMEDOUT)
        return error_set(error, ERROR_INTERNAL, (int)-got, "probe-failed", "cannot probe: %s",
                         strerror((int)-got));
    if (got != (ssize_t)sizeof(*row)) {
        *row = (struct probe_row){.usable = false};
        say_silent(row, got == -ETIMEDOUT);
    }
    if (got == -ETIMEDOUT)
        ms = AGAIN_MS;
    row->backend = backend->name;
    return 0;
}

/* Whether a list can be held says nothing of the rest, and the other way round. @with_list: of that start */
static void take_list(struct probe_row *row, const struct probe_row *with_list)
{
    const enum surface listed = SURFACE_NET_LISTED;
    struct probe_list *list = &row->list;

    list->held = with_list->usable && with_list->states[listed] == STATE_ENFORCED;
    memcpy(list->by, with_list->list.by, sizeof(list->by));
    memcpy(list->reason, with_list->reason, sizeof(list->reason));
    memcpy(list->message, with_list->message, sizeof(list->message));
    memcpy(list->hint, with_list->hint, sizeof(list->hint));
    row->states[listed] = with_list->states[listed];
    snprintf(row->reasons[listed], sizeof(row->reasons[listed]), "%.39s",
             with_list->usable ? with_list->reasons[listed] : with_list->reason);
    if (!with_list->usable || list->held)
        return;
    snprintf(list->reason, sizeof(list->reason), "%s",
             *with_list->reasons[listed] ? with_list->reasons[listed] : "not-held");
    snprintf(list->message, sizeof(list->message), "a list of hosts is %s here with the backend %s",
             state_name(with_list->states[listed]), row->backend);
    snprintf(list->hint, sizeof(list->hint), "use --backend namespace");
}

/* @row: of the start without a network. A backend that does not start has no list. */
static int probe_list(const struct backend *backend, struct probe_row *row, struct error *error)
{
    static struct probe_row with_list;
    int r = row->usable ? probe_one(backend, true, &with_list, error) : 0;

    if (r == 0)
        take_list(row, row->usable ? &with_list : row);
    return r;
}

int probe_backends(const char *only, struct probe_row *rows, size_t *count, struct error *error)
{
    size_t room = *count;
    int r = 0;

    *count = 0;
    for (size_t i = 0; backend_table[i] && *count < room && r == 0; i++) {
        if (only ? strcmp(only, backend_table[i]->name) != 0 : !backend_table[i]->automatic)
            continue;
        r = probe_one(backend_table[i], false, &rows[*count], error);
        if (r == 0)
            r = probe_list(backend_table[i], &rows[*count], error);
        if (r == 0)
            ++*count;
    }
    if (r == 0 && only && *count == 0) {
        error_set(error, ERROR_USAGE, EINVAL, "unknown-backend", "there is no backend %s", QUOTE(only));
        return error_hint(error, "`confine probe` lists those of this version");
    }
    return r;
}
