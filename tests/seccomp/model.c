/*
 * model.c - the generated tree against the rule table, call by call.
 *
 * Every number, every combination of the groups that its rules belong to, and
 * the cross product of all argument values that a rule of the call looks at
 * (each bit of a mask, each value and its neighbours, dirt in the upper half).
 * Nothing is loaded: both architectures are tested on either.
 */
#include "filter.h"

#define POOL_MAX 400

struct pool {
    uint64_t value[POOL_MAX];
    int count;
};

struct run {
    const char *arch;
    unsigned sets;
    const char *dropped;
    const struct filter *filter, *other; /* other: may be NULL; compared for any difference */
    int stride;                          /* of the cross product */
    uint32_t audit;
    struct rules rules; /* of the number at hand */
    /* results */
    unsigned long samples, wrong, differing;
    int longest;
};

static void pool_add(struct pool *pool, uint64_t value)
{
    for (int i = 0; i < pool->count; i++)
        if (pool->value[i] == value)
            return;
    need(pool->count < POOL_MAX);
    pool->value[pool->count++] = value;
}

static void fill_pool(struct pool *pool, const struct seccomp_test *test)
{
    static const uint64_t dirt[] = {0, 1ull << 32, 0xffffffffull << 32};

    for (size_t d = 0; d < sizeof(dirt) / sizeof(dirt[0]); d++) {
        pool_add(pool, dirt[d]);
        pool_add(pool, dirt[d] | 0xffffffffu);
        pool_add(pool, dirt[d] | test->value);
        if (d == 2)
            continue;
        pool_add(pool, dirt[d] | (uint32_t)(test->value + 1));
        pool_add(pool, dirt[d] | (uint32_t)(test->value - 1));
        pool_add(pool, dirt[d] | (uint32_t)~test->mask | test->value);
        if (d == 0 && test->mask != UINT32_MAX)
            for (int bit = 0; bit < 32; bit++) {
                pool_add(pool, 1u << bit);
                pool_add(pool, test->value | 1u << bit);
            }
    }
}

/* The groups of the rules of one number, and the values that these rules look at. */
static uint32_t gather(struct run *run, uint32_t nr, struct pool *pools)
{
    uint32_t groups = 0;

    memset(pools, 0, sizeof(*pools) * 6);
    rules_find(&run->rules, run->arch, nr);
    for (int r = 0; r < run->rules.count; r++) {
        const struct seccomp_rule *rule = run->rules.rule[r];

        groups |= 1u << rule->group;
        for (int t = 0; t < SECCOMP_TESTS_MAX && rule->test[t].kind != SECCOMP_TEST_NONE; t++)
            fill_pool(&pools[rule->test[t].arg], &rule->test[t]);
    }
    for (int i = 0; i < 6; i++)
        pool_add(&pools[i], 0);
    return groups & ~(1u << SECCOMP_GROUP_BASE);
}

static void try_sample(struct run *run, const struct filter *filter, const struct filter *other,
                       uint32_t groups, const struct call_data *data)
{
    uint32_t seen, expected = model_verdict(&run->rules, run->sets, groups, run->dropped, data->args);
    int steps, unused;

    seen = filter_run(filter, data, &steps);
    run->samples++;
    run->longest = steps > run->longest ? steps : run->longest;
    if (seen != expected && run->wrong++ < 5)
        test_note("%s nr %u arch %x args %llx %llx %llx %llx groups %x: table %x, filter %x", run->arch,
                  data->nr, data->arch, (long long)data->args[0], (long long)data->args[1],
                  (long long)data->args[2], (long long)data->args[3], groups, expected, seen);
    if (other && filter_run(other, data, &unused) != seen)
        run->differing++;
}

static void try_number(struct run *run, uint32_t nr)
{
    static struct filter filter, other;
    static struct pool pools[6];
    uint32_t all = gather(run, nr, pools), groups = 0;
    struct call_data data = {.nr = nr, .arch = run->audit};
    unsigned long total = 1;

    for (int i = 0; i < 6; i++)
        total *= (unsigned long)pools[i].count;
    do { /* every subset of the groups */
        filter = *run->filter;
        filter_open(&filter, groups, FILTER_SENTINEL);
        if (run->other) {
            other = *run->other;
            filter_open(&other, groups, FILTER_SENTINEL);
        }
        for (unsigned long n = 0; n<total; n += total> 5000 ? (unsigned long)run->stride : 1) {
            unsigned long rest = n;

            for (int i = 0; i < 6; i++) {
                data.args[i] = pools[i].value[rest % (unsigned long)pools[i].count];
                rest /= (unsigned long)pools[i].count;
            }
            try_sample(run, &filter, run->other ? &other : NULL, groups, &data);
        }
        groups = (groups - all) & all;
    } while (groups);
}

static void try_everything(struct run *run)
{
    static const uint32_t odd[] = {SECCOMP_SENTINEL_NR - 1,
                                   SECCOMP_SENTINEL_NR,
                                   SECCOMP_SENTINEL_NR + 1,
                                   0x3fffffff,
                                   0x40000000,
                                   0x40000000 | 41,
                                   0x40000000 | 257,
                                   0x7fffffff,
                                   0x80000000,
                                   UINT32_MAX};
    static const uint32_t foreign[] = {0,          AUDIT_ARCH_I386, AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64,
                                       0x40000028, UINT32_MAX};
    uint32_t own = strcmp(run->arch, "x86_64") == 0 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_AARCH64;

    run->audit = own;
    for (uint32_t nr = 0; nr < 520; nr++)
        try_number(run, nr);
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
        try_number(run, odd[i]);
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
        for (uint32_t nr = 0; nr < 480 && foreign[i] != own; nr++) {
            struct call_data data = {.nr = nr, .arch = foreign[i]};
            uint32_t seen = filter_run(run->filter, &data, &(int){0});

            if (run->dropped && strcmp(run->dropped, "foreign-arch") == 0)
                run->differing += seen == SECCOMP_RET_ALLOW;
            else
                run->wrong += seen != (SECCOMP_RET_ERRNO | ENOSYS);
        }
}

static const struct tree {
    const char *name, *arch, *set;
    unsigned sets;
} trees[] = {
    {"landlock on x86_64", "x86_64", "landlock", SET_LANDLOCK},
    {"landlock on aarch64", "aarch64", "landlock", SET_LANDLOCK},
    {"all rules on x86_64", "x86_64", "all", ~0u},
    {"all rules on aarch64", "aarch64", "all", ~0u},
};

TEST_EACH(the_tree_answers_as_the_table, struct tree, trees)
{
    static struct filter filter;
    struct run run = {.arch = row->arch, .sets = row->sets, .filter = &filter, .stride = 3};

    need(filter_generate(&filter, row->arch, row->set, NULL));
    try_everything(&run);
    test_note("%s: %d instructions, %lu samples, longest path %d", row->name, filter.length, run.samples,
              run.longest);
    check_int(run.wrong, 0);
    check(run.longest <= SECCOMP_PATH_MAX);
    check(run.longest > 20); /* the samples reach the deep ends */
}

TEST_EACH(the_tree_without_a_rule_differs, struct seccomp_rule, seccomp_rules)
{
    static struct filter whole, filter;

    for (int i = 2; i < 4; i++) {
        struct run run = {.arch = trees[i].arch,
                          .sets = ~0u,
                          .dropped = row->name,
                          .filter = &filter,
                          .other = &whole,
                          .stride = 29};
        bool absent = true;

        for (uint32_t nr = 0; nr <= SECCOMP_SENTINEL_NR; nr++)
            absent = absent && !rule_names(row, run.arch, nr);
        need(filter_generate(&whole, run.arch, "all", NULL));
        need(filter_generate(&filter, run.arch, "all", row->name));
        try_everything(&run);
        check_int(run.wrong, 0);
        if (!absent || strcmp(row->calls, "@foreign") == 0)
            check(run.differing > 0); /* on aarch64 some rules have no call: open, creat */
    }
}
