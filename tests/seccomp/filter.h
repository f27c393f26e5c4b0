/*
 * filter.h - a generated filter in the hands of a test: read from the
 * generator, run by a small interpreter, loaded for real, and beside it the
 * model: the rule table read from top to bottom, the plainest way there is.
 *
 * The tests get their programs by the environment: SECCOMP_GEN (the generator),
 * SECCOMP_ACT (makes one system call), CONFINE_LINKS (directory of seccomp-run).
 */
#ifndef CONFINE_TESTS_SECCOMP_FILTER_H
#define CONFINE_TESTS_SECCOMP_FILTER_H

#include "../harness.h"

#define SECCOMP_RULES_TABLE
#include "../../links/seccomp_calls.h"
#include "../../links/seccomp_filter.h"

#define RULES           (sizeof(seccomp_rules) / sizeof(seccomp_rules[0]))
#define CALLS           (sizeof(seccomp_calls) / sizeof(seccomp_calls[0]))
#define FILTERS         (sizeof(seccomp_filter_names) / sizeof(seccomp_filter_names[0]))
#define FILTER_MAX      4096
#define FILTER_SENTINEL 301 /* errno of the sentinel in the tests */

#if defined(__x86_64__)
#define OWN_ARCH "x86_64"
#else
#define OWN_ARCH "aarch64"
#endif

struct patch {
    int at, group;
    struct sock_filter open;
};

struct filter {
    struct sock_filter code[FILTER_MAX];
    struct patch patch[FILTER_MAX];
    int length, patch_count, sentinel;
};

/* What a filter sees of a call. */
struct call_data {
    uint32_t nr, arch;
    uint64_t ip, args[6];
};

static const char *need_environment(const char *name)
{
    const char *value = getenv(name);

    if (!value || !*value) {
        printf("Bail out! %s is not set\n", name);
        exit(1);
    }
    return value;
}

/* Asks the generator for one filter, without the rule DROPPED where that is not NULL. NAME: a set, `all`, or
 * the number of a row of seccomp_filter_names. False: it failed. */
static bool filter_generate(struct filter *filter, const char *arch, const char *name, const char *dropped)
{
    char line[4 * PATH_MAX];
    unsigned code, jt, jf, k;
    int at, group;
    FILE *output;

    snprintf(line, sizeof(line), "exec '%s' --raw %s %s %s %s", need_environment("SECCOMP_GEN"), arch, name,
             dropped ? "--drop-rule" : "", dropped ? dropped : "");
    output = popen(line, "r");
    if (!output)
        return false;
    *filter = (struct filter){.sentinel = -1};
    while (fgets(line, sizeof(line), output)) {
        if (sscanf(line, "i %u %u %u %u", &code, &jt, &jf, &k) == 4 && filter->length < FILTER_MAX)
            filter->code[filter->length++] =
                (struct sock_filter){(uint16_t)code, (uint8_t)jt, (uint8_t)jf, k};
        else if (sscanf(line, "p %d %d %u %u", &at, &group, &code, &k) == 4 &&
                 filter->patch_count < FILTER_MAX)
            filter->patch[filter->patch_count++] =
                (struct patch){at, group, {.code = (uint16_t)code, .k = k}};
        else if (sscanf(line, "s %d", &at) == 1)
            filter->sentinel = at;
    }
    return pclose(output) == 0 && filter->length > 0;
}

/* Opens the groups whose bit is set, and gives the sentinel its errno. */
__attribute__((unused)) static void filter_open(struct filter *filter, uint32_t groups, int sentinel)
{
    for (int i = 0; i < filter->patch_count; i++)
        if (groups & 1u << filter->patch[i].group)
            filter->code[filter->patch[i].at] = filter->patch[i].open;
    if (filter->sentinel >= 0)
        filter->code[filter->sentinel].k = SECCOMP_RET_ERRNO | (uint32_t)sentinel;
}

/* Runs a filter as the kernel does. Returns the verdict; 0 (kill) on anything that it should not hold. */
__attribute__((unused)) static uint32_t filter_run(const struct filter *filter, const struct call_data *data,
                                                   int *steps)
{
    uint32_t a = 0;
    int at = 0;

    for (*steps = 1; at < filter->length; at++, ++*steps) {
        const struct sock_filter *i = &filter->code[at];

        switch (i->code) {
        case FILTER_LOAD:
            if (i->k > sizeof(*data) - 4 || i->k % 4)
                return 0;
            memcpy(&a, (const char *)data + i->k, 4);
            break;
        case FILTER_AND:
            a &= i->k;
            break;
        case FILTER_JUMP:
            at += (int)i->k;
            break;
        case FILTER_IF_EQUAL:
            at += a == i->k ? i->jt : i->jf;
            break;
        case FILTER_IF_AT_LEAST:
            at += a >= i->k ? i->jt : i->jf;
            break;
        case FILTER_IF_BITS:
            at += a & i->k ? i->jt : i->jf;
            break;
        case FILTER_RETURN:
            return i->k;
        default:
            return 0;
        }
    }
    return 0;
}

/* Loads a filter into this process. Returns 0 or -errno. */
__attribute__((unused)) static int filter_load(struct sock_filter *code, int length)
{
    struct sock_fprog program = {.len = (unsigned short)length, .filter = code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -errno;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 ? 0 : -errno;
}

/* The bits of the groups in TEXT, which are separated by one space. */
__attribute__((unused)) static uint32_t groups_of(const char *text)
{
    uint32_t groups = 0;

    for (size_t length; text && *text; text += length + (text[length] == ' ')) {
        length = strcspn(text, " ");
        for (int g = 0; g < SECCOMP_GROUP_COUNT; g++)
            if (strlen(seccomp_group_names[g]) == length &&
                strncmp(seccomp_group_names[g], text, length) == 0)
                groups |= 1u << g;
    }
    return groups;
}

static const struct seccomp_range *range_of(const char *arch, const char *name, size_t length)
{
    for (size_t i = 0; i < CALLS; i++)
        if (strlen(seccomp_calls[i].name) == length && strncmp(seccomp_calls[i].name, name, length) == 0)
            return strcmp(arch, "x86_64") == 0 ? &seccomp_calls[i].x86_64 : &seccomp_calls[i].aarch64;
    return NULL;
}

__attribute__((unused)) static bool rule_names(const struct seccomp_rule *rule, const char *arch, uint32_t nr)
{
    for (const char *name = rule->calls; *name;) {
        size_t length = strcspn(name, " ");
        const struct seccomp_range *range = range_of(arch, name, length);

        if (range && range->first >= 0 && nr >= range->first && nr <= range->last)
            return true;
        name += length + (name[length] == ' ');
    }
    return false;
}

__attribute__((unused)) static bool rule_holds(const struct seccomp_rule *rule, const uint64_t *args)
{
    for (int i = 0; i < SECCOMP_TESTS_MAX && rule->test[i].kind != SECCOMP_TEST_NONE; i++) {
        const struct seccomp_test *test = &rule->test[i];
        uint32_t low = (uint32_t)args[test->arg], high = (uint32_t)(args[test->arg] >> 32);
        bool holds = false;

        if (test->kind == SECCOMP_TEST_BITS)
            holds = low & test->mask;
        else if (test->kind == SECCOMP_TEST_MASKED)
            holds = (low & test->mask) == test->value;
        else if (test->kind == SECCOMP_TEST_OTHER)
            holds = (low & test->mask) != test->value;
        else if (test->kind == SECCOMP_TEST_HIGH_BITS)
            holds = high & test->mask;
        else if (test->kind == SECCOMP_TEST_POINTER)
            holds = args[test->arg] != 0;
        if (!holds)
            return false;
    }
    return true;
}

/* The rules that name a number, in the order of the table. */
struct rules {
    const struct seccomp_rule *rule[RULES];
    int count;
};

__attribute__((unused)) static void rules_find(struct rules *rules, const char *arch, uint32_t nr)
{
    rules->count = 0;
    for (size_t r = 0; r < RULES; r++)
        if (strcmp(seccomp_rules[r].calls, "@foreign") != 0 && rule_names(&seccomp_rules[r], arch, nr))
            rules->rule[rules->count++] = &seccomp_rules[r];
}

/* The verdict by the table: the first rule of the call that holds and whose group is not open. */
__attribute__((unused)) static uint32_t model_verdict(const struct rules *rules, unsigned sets,
                                                      uint32_t groups, const char *dropped,
                                                      const uint64_t *args)
{
    for (int r = 0; r < rules->count; r++) {
        const struct seccomp_rule *rule = rules->rule[r];

        if (!(rule->sets & sets || sets == ~0u) || (groups & 1u << rule->group) ||
            (dropped && strcmp(dropped, rule->name) == 0))
            continue;
        if (rule_holds(rule, args))
            return SECCOMP_RET_ERRNO |
                   (uint32_t)(rule->answer == SENTINEL_UNPATCHED ? FILTER_SENTINEL : rule->answer);
    }
    return SECCOMP_RET_ALLOW;
}

/* The set that ask() takes. */
__attribute__((unused)) static const char *ask_set = "landlock";

/* What ACT answers (an errno, or 0) in a process of its own. FILTERED: behind the shipped filter, without the
 * rule DROPPED if any, with the groups of WITHOUT opened if any. */
__attribute__((unused)) static int ask(bool filtered, const char *dropped, const char *without,
                                       int (*act)(void))
{
    static struct filter filter;
    int status;
    pid_t child;

    if (filtered) {
        need(filter_generate(&filter, OWN_ARCH, ask_set, dropped));
        filter_open(&filter, groups_of(without), FILTER_SENTINEL);
    }
    child = fork();
    if (child == 0) {
        if (filtered && filter_load(filter.code, filter.length) != 0)
            _exit(255);
        _exit(act());
    }
    need(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) != 255);
    return WEXITSTATUS(status);
}

/* The result of a call as ask() passes it on. */
__attribute__((unused)) static int answer(long result)
{
    return result < 0 ? errno : 0;
}

#endif
