/*
 * surface-table.c - the surface x backend table, from the code.
 *
 * Prints the block that stands in README.md between its two marks; with a file as argument, as a TAP test,
 * checks that it stands there unchanged. What the table says of a kernel is what the planner says of it.
 */
#include "backend/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct column {
    const char *title, *backend;
    int abi; /* of Landlock */
} columns[] = {
    {"`namespace`, ABI 7", "namespace", 7},
    {"`landlock`, ABI 2", "landlock", 2},
    {"`landlock`, ABI 7", "landlock", 7},
    {"`landlock`, ABI 11", "landlock", 11},
};

static int plan_for(const struct column *column, struct policy *policy, struct resolved *resolved,
                    struct plan *plan)
{
    static struct resolved_path paths[] = {
        {.fd = -1, .path = (char *)(uintptr_t) "/", .grant = GRANT_READ},
        {.fd = -1, .path = (char *)(uintptr_t) "/w", .grant = GRANT_WRITE}};
    static struct hidden hidden = {.path = (char *)(uintptr_t) "/h/key",
                                   .parent_fd = -1,
                                   .name = (char *)(uintptr_t) "key",
                                   .type = 0100000,
                                   .sample = (char *)(uintptr_t) "key",
                                   .readable = true};
    static struct hide_level level = {.path = 0};
    static struct source protected_by[1];
    static struct edge edge = {.parent_fd = -1, .parent = (char *)(uintptr_t) "/h"};
    struct host host = {
        .landlock_abi = column->abi,
        .seccomp = true,
        .proc = true,
        .uid = 1000,
        .gid = 1000,
        .namespaces = {.answer = HOST_YES},
        .groups = {.asked = ~0U, .uses = ~0U},
        .bubblewrap = {.answer = HOST_NO, .lack = {.reason = "no-bubblewrap", .structural = true}}};
    struct tried_backend tried[TRIED_MAX];
    const struct backend *backend;
    struct error error = {0};
    size_t count = 0;

    if (policy_init(policy, &error) < 0 || strings_add(&resolved->env_secrets, "TOKEN") < 0 ||
        strings_add(&resolved->protected_paths, "/w/.git/hooks") < 0)
        return -ENOMEM;
    policy->backend = (char *)(uintptr_t)column->backend;
    policy->limit_tmp_size = 1000;
    policy->limit_time_ms = 1000;
    policy->limit_file_size = 1000;
    policy->limit_memory = policy->limit_processes = policy->limit_output = policy->limit_cpu_ms = 1000;
    resolved->policy = policy;
    resolved->mode = MODE_WORKSPACE_WRITE;
    resolved->uid = resolved->gid = 1000;
    resolved->paths = paths;
    resolved->path_count = ARRAY_SIZE(paths);
    resolved->protected_by = protected_by;
    resolved->hidden = &hidden;
    resolved->hidden_count = 1;
    resolved->edges = &edge;
    resolved->edge_count = 1;
    resolved->levels = &level;
    resolved->level_count = 1;
    return backend_choose(resolved, &host, true, plan, &backend, tried, &count, &error);
}

static void print_cell(const struct plan *plan, int surface, struct text *text)
{
    const struct claim *claim = &plan->claims[surface];

    text_addf(text, " %s", state_name(claim->state));
    for (size_t i = 0; i < claim->by_count; i++)
        text_addf(text, "%s%s", i ? ", " : ": ", mechanism_name(claim->by[i].mechanism));
    if (claim->reason)
        text_addf(text, " (%s)", claim->reason);
    text_add(text, " |");
}

static int print_table(struct text *text)
{
    static struct policy policy[ARRAY_SIZE(columns)];
    static struct resolved resolved[ARRAY_SIZE(columns)];
    static struct plan plan[ARRAY_SIZE(columns)];

    text_add(text, "| surface | open means: | shown |");
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
        if (plan_for(&columns[i], &policy[i], &resolved[i], &plan[i]) < 0)
            return -EINVAL;
        text_addf(text, " %s |", columns[i].title);
    }
    text_add(text, "\n|---|---|---|---|---|---|---|\n");
    for (int s = 0; s < SURFACE_COUNT; s++) {
        text_addf(text, "| `%s` | %s | %s |", surface_table[s].name, surface_table[s].what,
                  shown_name(surface_table[s].shown));
        for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
            print_cell(&plan[i], s, text);
        text_add(text, "\n");
    }
    return text->failed ? -ENOMEM : 0;
}

int main(int argc, char **argv)
{
    struct text text = {0};
    _cleanup_free_ char *readme = NULL;
    size_t length;

    if (print_table(&text) < 0) {
        fprintf(stderr, "surface-table: cannot plan\n");
        return 1;
    }
    if (argc < 2) {
        fputs(text.data, stdout);
        return 0;
    }
    _cleanup_fd_ int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fd_read_all(fd, 1 << 20, &readme, &length) < 0) {
        printf("1..1\nnot ok 1 - cannot read %s\n", argv[1]);
        return 1;
    }
    bool same = strstr(readme, text.data) != NULL;
    printf("1..1\n%s 1 - the surface table of the README is the one of the code\n", same ? "ok" : "not ok");
    if (!same)
        printf("# run the surface-table program and put its output into README.md\n");
    return same ? 0 : 1;
}
