/*
 * seccomp-gen.c - turns the rules into constant filters, at build time.
 *
 * Runs on the machine that builds, for both architectures; prints a header
 * with one instruction array per filter, or one of them for the tests.
 *
 * Should:  fail the build when a path is longer than SECCOMP_PATH_MAX or a rule
 *          names an unknown call.
 * Mustn't: depend on the machine it runs on: same rules, same bytes.
 */
#include "seccomp_tree.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define EVERY_RULE   UINT32_MAX /* also those that no set has, for the tests */

struct arch {
    const char *macro, *name;
    uint32_t audit;
    size_t range; /* offset of its column in struct seccomp_call */
};

static const struct arch arches[] = {
    {"__x86_64__", "x86_64", AUDIT_ARCH_X86_64, offsetof(struct seccomp_call, x86_64)},
    {"__aarch64__", "aarch64", AUDIT_ARCH_AARCH64, offsetof(struct seccomp_call, aarch64)},
};

static const char *dropped[COUNT(seccomp_rules)];
static size_t dropped_count;

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

static bool is_taken(const struct seccomp_rule *rule, const struct seccomp_filter_name *filter)
{
    return !is_dropped(rule->name) && strcmp(rule->calls, "@foreign") != 0 &&
           (rule->sets & filter->bit || filter->bit == EVERY_RULE) && !(filter->opened & 1u << rule->group);
}

/* The list of rules of every number. */
static void find_rules(const struct arch *arch, const struct seccomp_filter_name *filter)
{
    clear_lists();
    for (size_t r = 0; r < COUNT(seccomp_rules); r++) {
        const char *name = seccomp_rules[r].calls;

        if (!is_taken(&seccomp_rules[r], filter))
            continue;
        for (size_t length; *name; name += length + (name[length] == ' ')) {
            const struct seccomp_range *range;

            length = strcspn(name, " ");
            range = find_range(arch, name, length);
            for (int64_t n = range->first; n >= 0 && n <= range->last && n < NUMBERS; n++)
                add_rule((uint32_t)n, (int)r);
        }
    }
}

static void build_filter(const struct arch *arch, const struct seccomp_filter_name *filter)
{
    int root;

    code_count = 0;
    is_exact = filter->exact;
    find_rules(arch, filter);
    cut_segments();
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

static bool is_own(int at, uint32_t id)
{
    return code[at].code == FILTER_IF_EQUAL && code[at].k == id;
}

/* Where array number N asks for an id of its loader's. Return: how often. */
static int print_ids(size_t n)
{
    int count = 0;

    printf("static const struct seccomp_id seccomp_ids_%zu[] = {\n", n);
    for (int at = code_count - 1; at >= 0; at--) {
        if (!is_own(at, OWN_USER) && !is_own(at, OWN_GROUP))
            continue;
        printf("    {%d, %d},\n", code_count - 1 - at, is_own(at, OWN_GROUP));
        count++;
    }
    printf("%s};\n\n", count ? "" : "    {0, 0}, /* none */\n");
    return count;
}

/* What the return at a position becomes when its group is opened. */
static struct sock_filter open_return(int at)
{
    if (next_rule[at] < 0)
        return (struct sock_filter){FILTER_RETURN, 0, 0, SECCOMP_RET_ALLOW};
    return (struct sock_filter){FILTER_JUMP, 0, 0, (uint32_t)(at - next_rule[at] - 1)};
}

/* Array number N, its patches and ids. Its row of the table: what is printed here, from the name to the
 * sentinel.
 */
static void print_filter(size_t n, char *row, size_t size)
{
    const struct seccomp_filter_name *filter = &seccomp_filter_names[n];
    int patches = 0, sentinel = -1, ids;

    printf("static const struct sock_filter seccomp_code_%zu[] = {\n", n);
    for (int at = code_count - 1; at >= 0; at--) {
        if (is_sentinel(at) && sentinel >= 0)
            fail(filter->set, "two sentinels");
        if (is_sentinel(at))
            sentinel = code_count - 1 - at;
        printf("    {0x%02x, %u, %u, 0x%08xu},\n", code[at].code, code[at].jt, code[at].jf, code[at].k);
    }
    if (sentinel < 0)
        fail(filter->set, "no sentinel");
    printf("};\n\nstatic const struct seccomp_patch seccomp_patches_%zu[] = {\n", n);
    for (int at = code_count - 1; at >= 0; at--) {
        struct sock_filter open = open_return(at);

        if (code[at].code != FILTER_RETURN || group_of[at] == SECCOMP_GROUP_BASE)
            continue;
        printf("    {%d, %d, {0x%02x, 0, 0, 0x%08xu}},\n", code_count - 1 - at, group_of[at], open.code,
               open.k);
        patches++;
    }
    if (filter->exact && patches > 0)
        fail(filter->set, "an exact filter with patches");
    printf("%s};\n\n", patches ? "" : "    {0, 0, {0, 0, 0, 0}}, /* none */\n");
    ids = print_ids(n);
    snprintf(
        row, size,
        "    {\"%s\", %d, 0x%xu, seccomp_code_%zu, seccomp_patches_%zu, seccomp_ids_%zu, %d, %d, %d, %d},\n",
        filter->set, filter->exact, filter->opened, n, n, n, code_count, patches, ids, sentinel);
}

static void print_header(void)
{
    int longest = 0;

    printf("/* Generated by seccomp-gen from seccomp_rules.h: do not edit. */\n"
           "#ifndef CONFINE_SECCOMP_SETS_H\n#define CONFINE_SECCOMP_SETS_H\n");
    for (size_t a = 0; a < COUNT(arches); a++) {
        char rows[COUNT(seccomp_filter_names)][200];

        printf("\n#%s defined(%s)\n", a ? "elif" : "if", arches[a].macro);
        for (size_t n = 0; n < COUNT(seccomp_filter_names); n++) {
            const struct seccomp_filter_name *filter = &seccomp_filter_names[n];

            build_filter(&arches[a], filter);
            printf("/* %s%s, %s: %d instructions, %d on the longest path */\n", filter->set,
                   filter->exact ? ", exact" : "", arches[a].name, code_count, longest_path(code_count - 1));
            print_filter(n, rows[n], sizeof(rows[n]));
            longest = code_count > longest ? code_count : longest;
        }
        printf("static const struct seccomp_set seccomp_sets[] = {\n");
        for (size_t n = 0; n < COUNT(seccomp_filter_names); n++)
            printf("%s", rows[n]);
        printf("};\n");
    }
    printf("#else\n#error \"no system call numbers for this architecture\"\n#endif\n\n"
           "#define SECCOMP_CODE_MAX %d /* instructions of the longest set */\n\n#endif\n",
           longest);
}

/*
 * One filter as plain words, for tests: `i CODE JT JF K`, then `p AT GROUP CODE K` and `s AT`. NAME is a set,
 * or `all` for every rule; or the number of a filter.
 */
static void print_raw(const char *arch_name, const char *name)
{
    static const struct seccomp_filter_name all = {"all", EVERY_RULE, false, 0};
    const struct seccomp_filter_name *filter = strcmp(name, all.set) == 0 ? &all : NULL;
    const struct arch *arch = NULL;

    for (size_t a = 0; a < COUNT(arches); a++)
        if (strcmp(arches[a].name, arch_name) == 0)
            arch = &arches[a];
    for (size_t n = 0; n < COUNT(seccomp_filter_names) && !filter; n++)
        if (strcmp(seccomp_filter_names[n].set, name) == 0 || (name[0] == '0' + (int)n && !name[1]))
            filter = &seccomp_filter_names[n];
    if (!arch || !filter)
        fail(arch ? name : arch_name, "not known");
    build_filter(arch, filter);
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

/* seccomp-gen [--drop-rule NAME]... [--raw ARCH FILTER]: without --raw, the header. */
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
            fail(argv[i], "usage: seccomp-gen [--drop-rule NAME]... [--raw ARCH FILTER]");
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
