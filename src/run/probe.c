/*
 * probe.c - what each backend can do on this machine, found by starting its chain on a command that does
 * nothing.
 *
 * The run of a probe is a run: the same chain, the same attestation. What it reports is what it showed.
 */
#include "run/probe.h"

#include "run/run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the child tells: the row, whole. */
static void probe_in_child(const struct backend *backend, int result)
{
    char *const command[] = {(char[]){"true"}, NULL};
    char *const env[] = {(char[]){"PATH=/usr/bin:/bin"}, NULL};
    static struct tried_backend tried[TRIED_MAX];
    struct probe_row row = {.backend = NULL};
    struct policy policy;
    struct resolved resolved = {0};
    struct plan plan = {0};
    struct report report = {0};
    const struct backend *chosen;
    struct host host;
    size_t tried_count = 0;
    int r = policy_init(&policy, &report.error);

    host_look(&host);
    if (r == 0)
        r = policy_set(&policy, KEY_BACKEND, backend->name, NULL, (struct origin){0}, &report.error);
    if (r == 0)
        r = resolve_policy(&policy, env, &resolved, &report.error);
    if (r == 0)
        r = backend_choose(&resolved, &host, true, &plan, &chosen, tried, &tried_count, &report.error);
    if (r == 0) {
        run_supervised(&plan, &resolved, &host, command, &report);
        r = report.error.code == ERROR_NONE || report.error.code == ERROR_COMMAND_NOT_FOUND ? 0 : -EPERM;
    }
    row.usable = r == 0;
    for (int s = 0; s < SURFACE_COUNT; s++)
        row.states[s] = row.usable ? plan.claims[s].state : STATE_OPEN;
    if (!row.usable) {
        snprintf(row.reason, sizeof(row.reason), "%s", report.error.reason);
        snprintf(row.message, sizeof(row.message), "%.511s", report.error.message);
        snprintf(row.hint, sizeof(row.hint), "%s", report.error.hint);
    }
    _exit(write(result, &row, sizeof(row)) == (ssize_t)sizeof(row) ? 0 : 1);
}

/* A process of its own: a run takes over its process whole. It limits its own time (run.c). */
static int probe_one(const struct backend *backend, struct probe_row *row, struct error *error)
{
    int ends[2];
    ssize_t size;
    pid_t pid;

    if (pipe(ends) != 0)
        return error_set(error, ERROR_INTERNAL, errno, "probe-failed", "cannot probe: %s", strerror(errno));
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        probe_in_child(backend, ends[1]);
    }
    close(ends[1]);
    size = pid < 0 ? -1 : read(ends[0], row, sizeof(*row));
    close(ends[0]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    if (size != (ssize_t)sizeof(*row))
        return error_set(error, ERROR_INTERNAL, EPROTO, "probe-failed", "the probe of %s did not answer",
                         backend->name);
    row->backend = backend->name;
    return 0;
}

int probe_backends(const char *only, struct probe_row *rows, size_t *count, struct error *error)
{
    size_t room = *count;
    int r = 0;

    *count = 0;
    for (size_t i = 0; backend_table[i] && *count < room && r == 0; i++) {
        if (only ? strcmp(only, backend_table[i]->name) != 0 : !backend_table[i]->automatic)
            continue;
        r = probe_one(backend_table[i], &rows[*count], error);
        if (r == 0)
            ++*count;
    }
    if (r == 0 && only && *count == 0) {
        error_set(error, ERROR_USAGE, EINVAL, "unknown-backend", "there is no backend %s", QUOTE(only));
        return error_hint(error, "`confine probe` lists those of this version");
    }
    return r;
}
