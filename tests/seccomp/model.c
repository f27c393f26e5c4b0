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
    bool exact;      /* for the groups of OPENED only */
    uint32_t opened; /* a bit each */
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
    uint32_t all = gather(run, nr, pools), groups = run->opened;
    struct call_data data = {.nr = nr, .arch = run->audit};
    unsigned long total = 1;

    for (int i = 0; i < 6; i++)
        total *= (unsigned long)pools[i].count;
    if (run->exact)
        all = groups;
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
        groups = run->exact ? 0 : (groups - all) & all;
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
    const char *name, *arch, *filter;
    int row; /* of seccomp_filter_names; -1: every rule */
} trees[] = {
    {"landlock on x86_64", "x86_64", "0", 0},
    {"landlock on aarch64", "aarch64", "0", 0},
    {"landlock, exact, ABI 1, on x86_64", "x86_64", "1", 1},
    {"landlock, exact, ABI 1, on aarch64", "aarch64", "1", 1},
    {"landlock, exact, ABI 3, on x86_64", "x86_64", "2", 2},
    {"landlock, exact, ABI 3, on aarch64", "aarch64", "2", 2},
    {"landlock, exact, ABI 3, network, on x86_64", "x86_64", "3", 3},
    {"landlock, exact, ABI 3, network, on aarch64", "aarch64", "3", 3},
    {"landlock, exact, ABI 9, on x86_64", "x86_64", "4", 4},
    {"landlock, exact, ABI 9, on aarch64", "aarch64", "4", 4},
    {"landlock, exact, ABI 9, network, on x86_64", "x86_64", "5", 5},
    {"landlock, exact, ABI 9, network, on aarch64", "aarch64", "5", 5},
    {"namespace on x86_64", "x86_64", "6", 6},
    {"namespace on aarch64", "aarch64", "6", 6},
    {"namespace, exact, on x86_64", "x86_64", "7", 7},
    {"namespace, exact, on aarch64", "aarch64", "7", 7},
    {"all rules on x86_64", "x86_64", "all", -1},
    {"all rules on aarch64", "aarch64", "all", -1},
};

TEST(every_filter_has_a_tree)
{
    check_int(sizeof(trees) / sizeof(trees[0]), 2 * FILTERS + 2);
}

TEST_EACH(the_tree_answers_as_the_table, struct tree, trees)
{
    static struct filter filter;
    struct run run = {.arch = row->arch, .sets = ~0u, .filter = &filter, .stride = 3};

    if (row->row >= 0) {
        run.sets = seccomp_filter_names[row->row].bit;
        run.exact = seccomp_filter_names[row->row].exact;
        run.opened = seccomp_filter_names[row->row].opened;
    }
    need(filter_generate(&filter, row->arch, row->filter, NULL));
    try_everything(&run);
    test_note("%s: %d instructions, %lu samples, longest path %d", row->name, filter.length, run.samples,
              run.longest);
    check_int(run.wrong, 0);
    check(!run.exact || filter.patch_count == 0);
    check(run.longest <= SECCOMP_PATH_MAX);
    check(run.longest > 20); /* the samples reach the deep ends */
}

/* Sets that hold the rule, each as it is shipped; a rule that no set has, among all. */
static void drop_rule(const struct tree *tree, const struct seccomp_rule *rule)
{
    static struct filter whole, filter;
    unsigned sets = tree->row < 0 ? ~0u : seccomp_filter_names[tree->row].bit;
    struct run run = {.arch = tree->arch,
                      .sets = sets,
                      .dropped = rule->name,
                      .filter = &filter,
                      .other = &whole,
                      .stride = 29};
    bool absent = strcmp(rule->calls, "@foreign") != 0; /* on aarch64 some rules have no call: open, creat */

    if ((tree->row < 0) != (rule->sets == SET_NONE) || (tree->row >= 0 && !(rule->sets & sets)))
        return;
    for (uint32_t nr = 0; nr <= SECCOMP_SENTINEL_NR; nr++)
        absent = absent && !rule_names(rule, run.arch, nr);
    need(filter_generate(&whole, run.arch, tree->filter, NULL));
    need(filter_generate(&filter, run.arch, tree->filter, rule->name));
    try_everything(&run);
    check_int(run.wrong, 0);
    if (!check(absent || run.differing > 0))
        test_note("%s", tree->name);
}

TEST_EACH(the_tree_without_a_rule_differs, struct seccomp_rule, seccomp_rules)
{
    for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++)
        if (trees[i].row < 0 || !seccomp_filter_names[trees[i].row].exact)
            drop_rule(&trees[i], row);
}

/* What `--without priv.userns` may change in the set of the chains with namespaces. */
static const char *const inside[] = {
    "clone",         "clone3",    "unshare",        "setns",  "mount",   "umount2",  "chroot",
    "pivot_root",    "open_tree", "move_mount",     "fsopen", "fsmount", "fsconfig", "fspick",
    "mount_setattr", "listns",    "open_tree_attr", "chown",  "fchown",  "lchown",   "fchownat"};

static int count_inside(const char *arch)
{
    int count = 0;

    for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); i++) {
        const struct seccomp_range *range = range_of(arch, inside[i], strlen(inside[i]));

        need(range);
        count += range->first >= 0; /* else this machine has it not */
    }
    return count;
}

static bool is_inside(const char *arch, uint32_t nr)
{
    for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); i++) {
        const struct seccomp_range *range = range_of(arch, inside[i], strlen(inside[i]));

        need(range);
        if (range->first == nr)
            return true;
    }
    return false;
}

TEST(a_sandbox_inside_gets_namespaces_mounts_and_owners_and_nothing_else)
{
    static struct filter closed, open;
    static struct pool pools[6];
    int opened = 0;

    need(filter_generate(&closed, OWN_ARCH, "namespace", NULL));
    open = closed;
    filter_open(&closed, 0, FILTER_SENTINEL);
    filter_open(&open, 1u << SECCOMP_GROUP_PRIV_USERNS, FILTER_SENTINEL);
    for (uint32_t nr = 0; nr <= SECCOMP_NEWEST_NR + 1; nr++) {
        struct run run = {.arch = OWN_ARCH};
        struct call_data data = {.nr = nr, .arch = KERNEL_AUDIT_ARCH};
        bool differs = false, refused = false;
        unsigned long total = 1;

        gather(&run, nr, pools);
        for (int i = 0; i < 6; i++)
            total *= (unsigned long)pools[i].count;
        for (unsigned long n = 0; n < total; n++) {
            unsigned long rest = n;
            uint32_t seen;

            for (int i = 0; i < 6; i++) {
                data.args[i] = pools[i].value[rest % (unsigned long)pools[i].count];
                rest /= (unsigned long)pools[i].count;
            }
            seen = filter_run(&open, &data, &(int){0});
            refused = refused || seen != SECCOMP_RET_ALLOW;
            differs = differs || seen != filter_run(&closed, &data, &(int){0});
        }
        opened += differs;
        if (!check(differs == is_inside(OWN_ARCH, nr)) || (differs && !check(!refused)))
            test_note("call %u", nr);
    }
    check_int(opened, count_inside(OWN_ARCH));
}
