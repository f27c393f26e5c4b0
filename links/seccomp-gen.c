/*
 * seccomp-gen.c - turns the rules into constant filters, at build time.
 *
 * Runs on the machine that builds, for both architectures; prints a header
 * with one instruction array per set, or one filter for the tests.
 *
 * Loading a filter costs about 0.2 us per instruction and 2.7 us per step to
 * an average verdict, because the kernel runs it once per call number. So the
 * numbers are cut into ranges of equal verdict, found by the binary tree whose
 * average depth, weighted by the length of the ranges, is the least.
 *
 * Should:  fail the build when a path is longer than SECCOMP_PATH_MAX or a rule
 *          names an unknown call.
 * Mustn't: depend on the machine it runs on: same rules, same bytes.
 */
#include "seccomp_emit.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NUMBERS      (SECCOMP_SENTINEL_NR + 2)
#define LISTS_MAX    128
#define SEGMENTS_MAX 400
#define SET_ALL      (1u << 31) /* every rule, for the tests */

struct segment {
    uint32_t first;
    int list;
    double weight;
};

struct arch {
    const char *macro, *name;
    uint32_t audit;
    size_t range; /* offset of its column in struct seccomp_call */
};

static const struct arch arches[] = {
    {"__x86_64__", "x86_64", AUDIT_ARCH_X86_64, offsetof(struct seccomp_call, x86_64)},
    {"__aarch64__", "aarch64", AUDIT_ARCH_AARCH64, offsetof(struct seccomp_call, aarch64)},
};

static struct list lists[LISTS_MAX];
static int list_count;
static uint8_t list_of[NUMBERS];
static struct segment segments[SEGMENTS_MAX];
static int segment_count;
static int tree_root[SEGMENTS_MAX][SEGMENTS_MAX];
static const char *dropped[COUNT(seccomp_rules)];
static size_t dropped_count;

/* The tree of the least weighted depth, by the usual dynamic programme over intervals. */
static void plan_tree(void)
{
    static double cost[SEGMENTS_MAX][SEGMENTS_MAX];

    for (int length = 2; length <= segment_count; length++)
        for (int first = 0; first + length <= segment_count; first++) {
            int last = first + length - 1;
            double weight = 0, best = -1;

            for (int i = first; i <= last; i++)
                weight += segments[i].weight;
            for (int root = first; root < last; root++) {
                double sum = cost[first][root] + cost[root + 1][last];

                if (best < 0 || sum < best) {
                    best = sum;
                    tree_root[first][last] = root;
                }
            }
            cost[first][last] = best + weight;
        }
}

static int emit_tree(int first, int last)
{
    int root, right, left;

    if (first == last)
        return emit_list(&lists[segments[first].list]);
    root = tree_root[first][last];
    right = emit_tree(root + 1, last);
    left = emit_tree(first, root);
    return emit_if(FILTER_IF_AT_LEAST, segments[root + 1].first, right, left);
}

static bool is_dropped(const char *name)
{
    for (size_t i = 0; i < dropped_count; i++)
        if (strcmp(dropped[i], name) == 0)
            return true;
    return false;
}

static const struct seccomp_range *find_range(const struct arch *arch, const char *name, size_t length)
{
    for (size_t i = 0; i < COUNT(seccomp_calls); i++)
        if (strlen(seccomp_calls[i].name) == length && strncmp(seccomp_calls[i].name, name, length) == 0)
            return (const struct seccomp_range *)((const char *)&seccomp_calls[i] + arch->range);
    fail(name, "unknown call");
}

/* Adds the rule to the list of one number: lists are few, so each combination is kept once. */
static void add_rule(uint32_t number, int rule)
{
    struct list list = lists[list_of[number]];
    int last = list.count > 0 ? list.rule[list.count - 1] : -1, i;

    if (last >= 0 && seccomp_rules[last].group == SECCOMP_GROUP_BASE &&
        count_tests(&seccomp_rules[last]) == 0)
        return; /* answered already, whatever is opened */
    if (list.count == LIST_MAX)
        fail(seccomp_rules[rule].name, "too many rules for one call");
    list.rule[list.count++] = rule;
    for (i = 0; i < list_count; i++)
        if (lists[i].count == list.count &&
            memcmp(lists[i].rule, list.rule, sizeof(int) * (size_t)list.count) == 0)
            break;
    if (i == LISTS_MAX)
        fail(seccomp_rules[rule].name, "too many combinations of rules");
    if (i == list_count)
        lists[list_count++] = list;
    list_of[number] = (uint8_t)i;
}

/* The list of rules of every number, and the ranges of numbers that share one. */
static void find_segments(const struct arch *arch, unsigned set)
{
    memset(list_of, 0, sizeof(list_of));
    memset(lists, 0, sizeof(lists));
    list_count = 1; /* the empty one: allow */
    for (size_t r = 0; r < COUNT(seccomp_rules); r++) {
        const char *name = seccomp_rules[r].calls;

        if (is_dropped(seccomp_rules[r].name) || strcmp(name, "@foreign") == 0 ||
            (!(seccomp_rules[r].sets & set) && set != SET_ALL))
            continue;
        for (size_t length; *name; name += length + (name[length] == ' ')) {
            const struct seccomp_range *range;

            length = strcspn(name, " ");
            range = find_range(arch, name, length);
            for (int64_t n = range->first; n >= 0 && n <= range->last && n < NUMBERS; n++)
                add_rule((uint32_t)n, (int)r);
        }
    }
    segment_count = 0;
    for (uint32_t n = 0; n < NUMBERS; n++) {
        if (n == 0 || list_of[n] != list_of[n - 1]) {
            if (segment_count == SEGMENTS_MAX)
                fail("filter", "too many ranges");
            segments[segment_count++] = (struct segment){n, list_of[n], 0.01};
        }
        /* The kernel tries each number that it knows once; calls with conditions run the filter each time. */
        if (n <= SECCOMP_NEWEST_NR)
            segments[segment_count - 1].weight += lists[list_of[n]].count ? 2 : 1;
    }
    for (int i = 0; i < list_count; i++)
        lists[i].label = -1;
}

static void build_filter(const struct arch *arch, unsigned set)
{
    int root;

    code_count = 0;
    find_segments(arch, set);
    plan_tree();
    root = emit_tree(0, segment_count - 1);
    if (root != code_count - 1)
        fail("filter", "no rule is left");
    root = emit(FILTER_LOAD, 0, 0, FILTER_DATA_NR);
    if (!is_dropped("foreign-arch")) {
        int foreign = emit_return(SECCOMP_RET_ERRNO | ENOSYS, SECCOMP_GROUP_BASE, -1);

        emit_if(FILTER_IF_EQUAL, arch->audit, root, foreign);
        emit(FILTER_LOAD, 0, 0, FILTER_DATA_ARCH);
    }
    if (longest_path(code_count - 1) > SECCOMP_PATH_MAX)
        fail("filter", "a path is too long");
}

static bool is_sentinel(int at)
{
    return code[at].code == FILTER_RETURN && code[at].k == (SECCOMP_RET_ERRNO | SENTINEL_UNPATCHED);
}

/* What the return at a position becomes when its group is opened. */
static struct sock_filter open_return(int at)
{
    if (next_rule[at] < 0)
        return (struct sock_filter){FILTER_RETURN, 0, 0, SECCOMP_RET_ALLOW};
    return (struct sock_filter){FILTER_JUMP, 0, 0, (uint32_t)(at - next_rule[at] - 1)};
}

/* One array, its patches and the index of its sentinel, named SET. Returns the number of patches. */
static int print_set(const char *set, int *sentinel)
{
    int patches = 0;

    *sentinel = -1;
    printf("static const struct sock_filter seccomp_code_%s[] = {\n", set);
    for (int at = code_count - 1; at >= 0; at--) {
        if (is_sentinel(at) && *sentinel >= 0)
            fail(set, "two sentinels");
        if (is_sentinel(at))
            *sentinel = code_count - 1 - at;
        printf("    {0x%02x, %u, %u, 0x%08xu},\n", code[at].code, code[at].jt, code[at].jf, code[at].k);
    }
    printf("};\n\nstatic const struct seccomp_patch seccomp_patches_%s[] = {\n", set);
    for (int at = code_count - 1; at >= 0; at--) {
        struct sock_filter open = open_return(at);

        if (code[at].code != FILTER_RETURN || group_of[at] == SECCOMP_GROUP_BASE)
            continue;
        printf("    {%d, %d, {0x%02x, 0, 0, 0x%08xu}},\n", code_count - 1 - at, group_of[at], open.code,
               open.k);
        patches++;
    }
    printf("};\n\n");
    return patches;
}

static void print_header(void)
{
    int longest = 0;

    printf("/* Generated by seccomp-gen from seccomp_rules.h: do not edit. */\n"
           "#ifndef CONFINE_SECCOMP_SETS_H\n#define CONFINE_SECCOMP_SETS_H\n");
    for (size_t a = 0; a < COUNT(arches); a++) {
        int patches[COUNT(seccomp_set_names)], sentinel[COUNT(seccomp_set_names)],
            length[COUNT(seccomp_set_names)];

        printf("\n#%s defined(%s)\n", a ? "elif" : "if", arches[a].macro);
        for (size_t s = 0; s < COUNT(seccomp_set_names); s++) {
            build_filter(&arches[a], seccomp_set_names[s].bit);
            printf("/* %s, %s: %d instructions, %d on the longest path */\n", seccomp_set_names[s].name,
                   arches[a].name, code_count, longest_path(code_count - 1));
            patches[s] = print_set(seccomp_set_names[s].name, &sentinel[s]);
            length[s] = code_count;
            longest = code_count > longest ? code_count : longest;
            if (sentinel[s] < 0)
                fail(seccomp_set_names[s].name, "no sentinel");
        }
        printf("static const struct seccomp_set seccomp_sets[] = {\n");
        for (size_t s = 0; s < COUNT(seccomp_set_names); s++)
            printf("    {\"%s\", seccomp_code_%s, seccomp_patches_%s, %d, %d, %d},\n",
                   seccomp_set_names[s].name, seccomp_set_names[s].name, seccomp_set_names[s].name, length[s],
                   patches[s], sentinel[s]);
        printf("};\n");
    }
    printf("#else\n#error \"no system call numbers for this architecture\"\n#endif\n\n"
           "#define SECCOMP_CODE_MAX %d /* instructions of the longest set */\n\n#endif\n",
           longest);
}

/* One filter as plain words, for tests: `i CODE JT JF K`, then `p AT GROUP CODE K` and `s AT`. */
static void print_raw(const char *arch_name, const char *set_name)
{
    const struct arch *arch = NULL;
    unsigned set = strcmp(set_name, "all") == 0 ? SET_ALL : 0;

    for (size_t a = 0; a < COUNT(arches); a++)
        if (strcmp(arches[a].name, arch_name) == 0)
            arch = &arches[a];
    for (size_t s = 0; s < COUNT(seccomp_set_names); s++)
        if (strcmp(seccomp_set_names[s].name, set_name) == 0)
            set = seccomp_set_names[s].bit;
    if (!arch || !set)
        fail(arch ? set_name : arch_name, "not known");
    build_filter(arch, set);
    for (int at = code_count - 1; at >= 0; at--)
        printf("i %u %u %u %u\n", code[at].code, code[at].jt, code[at].jf, code[at].k);
    for (int at = code_count - 1; at >= 0; at--) {
        struct sock_filter open = open_return(at);

        if (is_sentinel(at))
            printf("s %d\n", code_count - 1 - at);
        else if (code[at].code == FILTER_RETURN && group_of[at] != SECCOMP_GROUP_BASE)
            printf("p %d %d %u %u\n", code_count - 1 - at, group_of[at], open.code, open.k);
    }
}

/* seccomp-gen [--drop-rule NAME]... [--raw ARCH SET]: without --raw, the header. */
int main(int argc, char **argv)
{
    const char *raw_arch = NULL, *raw_set = NULL;

    for (int i = 1; i < argc; i++) {
        bool known = false;

        if (strcmp(argv[i], "--raw") == 0 && i + 2 < argc) {
            raw_arch = argv[++i];
            raw_set = argv[++i];
            continue;
        }
        if (strcmp(argv[i], "--drop-rule") != 0 || i + 1 == argc || dropped_count == COUNT(dropped))
            fail(argv[i], "usage: seccomp-gen [--drop-rule NAME]... [--raw ARCH SET]");
        dropped[dropped_count] = argv[++i];
        for (size_t r = 0; r < COUNT(seccomp_rules); r++)
            known = known || strcmp(seccomp_rules[r].name, argv[i]) == 0;
        if (!known)
            fail(argv[i], "no such rule");
        dropped_count++;
    }
    if (raw_arch)
        print_raw(raw_arch, raw_set);
    else
        print_header();
    if (fflush(stdout) != 0 || ferror(stdout))
        fail("output", "cannot be written");
    return 0;
}
