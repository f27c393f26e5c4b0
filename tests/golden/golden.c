/*
 * golden.c - the plans of every backend over invented machines, held against files.
 *
 * A plan is a pure function, so a machine need not exist to be planned for: each case is a policy, a resolved
 * tree and a host made up (worlds.c). With GOLDEN_UPDATE the files are written anew; read the difference
 * before it is committed, it is a change of what people are told.
 */
#define CONFINE_MAY_READ_ENVIRONMENT
#include "tests/harness.h"
#include "worlds.h"

static void print_claims(const struct plan *plan, const struct resolved *resolved, struct text *text)
{
    text_addf(text, "\nclaims\n");
    for (int s = 0; s < SURFACE_COUNT; s++) {
        const struct claim *claim = &plan->claims[s];

        text_addf(text, "%c %-16s %-8s", plan_claims(resolved, (enum surface)s) ? '*' : ' ',
                  surface_table[s].name, state_name(claim->state));
        for (size_t i = 0; i < claim->by_count; i++)
            text_addf(text, " %s", mechanism_name(claim->by[i].mechanism));
        text_addf(text, "%s%s\n", claim->reason ? " because " : "", claim->reason ? claim->reason : "");
    }
}

static void print_checks(const struct plan *plan, struct text *text)
{
    text_addf(text, "\nchecks\n");
    for (size_t i = 0; i < plan->check_count; i++) {
        const struct check *check = &plan->checks[i];

        text_addf(text, "  %-16s by %-14s act %u canary %u #%zu%s%s%s a %lld b %lld refused %d%s%s\n",
                  surface_table[check->surface].name, mechanism_name(check->mechanism), check->act,
                  check->canary, check->index, check->by_name ? " by name" : "",
                  check->itself ? " itself" : "", check->name ? check->name : "", (long long)check->a,
                  (long long)check->b, check->refused[0], check->vanishes ? " vanishes" : "",
                  check->self_contained ? " self-contained" : "");
    }
}

/* The whole answer of the planner, as text. */
static void render(struct world *w, struct text *text)
{
    static char *const command[] = {(char *)(uintptr_t) "make", (char *)(uintptr_t) "test", NULL};
    struct tried_backend tried[TRIED_MAX];
    const struct backend *backend = NULL;
    struct plan plan;
    struct error error = {0};
    size_t tried_count = 0;
    int r =
        backend_choose(&w->resolved, &w->host, w->supervised, &plan, &backend, tried, &tried_count, &error);

    for (size_t i = 0; i < tried_count; i++)
        text_addf(text, "tried %s: %s: %s\n", tried[i].name, tried[i].reason, tried[i].message);
    if (r < 0) {
        text_addf(text, "refused: %s %s surface %s\n  %s\n  %s\n", error_name(error.code), error.reason,
                  *error.surface ? error.surface : "-", error.message, error.hint);
        return;
    }
    text_addf(text, "backend %s%s%s\n\n", backend->name, plan.guard ? ", guard" : "",
              plan.private_tmp ? ", private temp" : "");
    plan_print_shell(&plan, &w->resolved, command, text);
    print_claims(&plan, &w->resolved, text);
    print_checks(&plan, text);
    for (size_t i = 0; i < plan.warnings.count; i++)
        text_addf(text, "warning %s\n", plan.warnings.items[i]);
    plan_free(&plan);
}

static const char *golden_path(char *path, const char *name)
{
    const char *source = getenv("CONFINE_SOURCE");

    snprintf(path, PATH_MAX, "%s/tests/golden/%s.txt", source ? source : ".", name);
    return path;
}

static void make_world(struct world *w, const struct world_row *row)
{
    world_init(w, row->abi);
    if (row->change)
        row->change(w);
}

TEST_EACH_OF(plan_is_as_written, struct world_row, world_rows)
{
    struct world world, again;
    struct text text = {0}, twice = {0};
    char path[PATH_MAX];
    _cleanup_fd_ int fd = -1;
    _cleanup_free_ char *expected = NULL;
    size_t length;

    make_world(&world, row);
    render(&world, &text);
    make_world(&again, row);
    render(&again, &twice);
    need(!text.failed && !twice.failed);
    check_str(twice.data, text.data);
    golden_path(path, row->name);
    if (getenv("GOLDEN_UPDATE")) {
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        need(fd >= 0 && write(fd, text.data, text.length) == (ssize_t)text.length);
        return;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC);
    need(fd >= 0);
    need(fd_read_all(fd, 1 << 20, &expected, &length) == 0);
    check_str(text.data, expected);
    text_free(&text);
    text_free(&twice);
    world_free(&world);
    world_free(&again);
}

/* What a plan claims must be shown by a check of that very mechanism, or be seen at the end of the run. */
TEST_EACH_OF(every_claim_has_its_check, struct world_row, world_rows)
{
    struct world world;
    struct tried_backend tried[TRIED_MAX];
    const struct backend *backend;
    struct plan plan;
    struct error error = {0};
    size_t tried_count = 0;

    make_world(&world, row);
    if (backend_choose(&world.resolved, &world.host, world.supervised, &plan, &backend, tried, &tried_count,
                       &error) < 0) {
        check(*error.reason && *error.message);
        world_free(&world);
        return;
    }
    check(plan.word_count > 0);
    for (int s = 0; s < SURFACE_COUNT && world.supervised; s++)
        for (size_t i = 0; i < plan.claims[s].by_count; i++) {
            /* The supervisor reads a group back by itself. */
            bool shown =
                surface_table[s].shown == SHOWN_END || plan.claims[s].by[i].mechanism == MECHANISM_CGROUP;

            for (size_t k = 0; k < plan.check_count; k++)
                shown |= plan.checks[k].surface == (enum surface)s &&
                         plan.checks[k].mechanism == plan.claims[s].by[i].mechanism;
            check(shown);
        }
    plan_free(&plan);
    world_free(&world);
}
