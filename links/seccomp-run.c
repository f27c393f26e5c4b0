/*
 * seccomp-run.c - refuses the system calls that no other link governs.
 *
 * The filters are constant, generated from seccomp_rules.h at build time and
 * proven there rule by rule. Three things vary when one is loaded: the returns of
 * the groups that are opened (`--without`), our own user and group, and the
 * errno of the sentinel, an unused call whose answer shows that this filter is
 * in force. For the choices of the ordinary chains there is a shorter filter
 * without returns to patch.
 *
 * The sentinel is the control pair: before, the call must not give the errno
 * (natively it is ENOSYS; inside another confinement it is that one's own);
 * after, it must. Of several filters that answer with an errno the one loaded
 * last is heard, so it works nested. A kernel, or a filter in front, that
 * answers 0 to seccomp(2) without loading anything is seen here.
 *
 * Should:  end with status 125 unless the filter was shown to be in force.
 * Mustn't: build, parse or choose rules at run time; fall back to anything.
 */
#include "chain.h"

#include <sys/syscall.h>

#include "seccomp_filter.h"
#include "seccomp_rules.h"
#include "seccomp_sets.h"

struct request {
    const char *set;
    uint32_t without; /* groups, a bit each */
    int sentinel;     /* errno */
};

static const char *find_set(const struct chain *chain, const char *name)
{
    for (size_t i = 0; i < sizeof(seccomp_sets) / sizeof(seccomp_sets[0]); i++)
        if (strcmp(seccomp_sets[i].name, name) == 0)
            return seccomp_sets[i].name;
    chain_fatal(chain, name, "usage: no such set");
}

/* The filter that was built for exactly this choice of groups; without one, that of the set that is patched.
 */
static const struct seccomp_set *find_filter(const struct chain *chain, const struct request *request)
{
    const struct seccomp_set *patched = NULL;

    for (size_t i = 0; i < sizeof(seccomp_sets) / sizeof(seccomp_sets[0]); i++) {
        if (strcmp(seccomp_sets[i].name, request->set) != 0)
            continue;
        if (seccomp_sets[i].exact && seccomp_sets[i].opened == request->without)
            return &seccomp_sets[i];
        if (!seccomp_sets[i].exact)
            patched = &seccomp_sets[i];
    }
    if (!patched)
        chain_fatal(chain, request->set, "this set has no filter for any choice of groups");
    return patched;
}

/* SECCOMP_GROUP_BASE is not among them: what it holds would undo the other rules. */
static enum seccomp_group find_group(const struct chain *chain, const char *name)
{
    for (int i = SECCOMP_GROUP_BASE + 1; i < SECCOMP_GROUP_COUNT; i++)
        if (strcmp(seccomp_group_names[i], name) == 0)
            return (enum seccomp_group)i;
    chain_fatal(chain, name, "usage: no such group of rules");
}

static char **parse_request(const struct chain *chain, struct request *request)
{
    const char *value = NULL;
    size_t at = 1;

    while (chain->argv[at] && strcmp(chain->argv[at], "--") != 0) {
        if (chain_option(chain, &at, "--set", &value)) {
            if (request->set)
                chain_fatal(chain, "--set", "usage: given twice");
            request->set = find_set(chain, value);
        } else if (chain_option(chain, &at, "--without", &value)) {
            request->without |= 1u << find_group(chain, value);
        } else if (chain_option(chain, &at, "--sentinel", &value)) {
            if (request->sentinel)
                chain_fatal(chain, "--sentinel", "usage: given twice");
            request->sentinel = chain_number(chain, "--sentinel", value);
            if (request->sentinel < SECCOMP_SENTINEL_ERRNO_MIN ||
                request->sentinel > SECCOMP_SENTINEL_ERRNO_MAX)
                chain_fatal(chain, "--sentinel", "usage: not between 256 and 4000");
        } else {
            break; /* chain_command() says what is wrong with it */
        }
    }
    if (!request->set || !request->sentinel)
        chain_fatal(chain, "usage", "--set and --sentinel are needed");
    return chain_command(chain, at);
}

/* The errno that the unused call is answered with; 0 when it is said to have succeeded. */
static int ask_sentinel(void)
{
    errno = 0;
    return syscall(SECCOMP_SENTINEL_NR, 0, 0, 0, 0, 0, 0) == -1 ? errno : 0;
}

/* The filter with its open groups, our ids and the sentinel's errno in place. */
static void fill_filter(const struct seccomp_set *set, const struct request *request,
                        struct sock_filter *code)
{
    memcpy(code, set->code, sizeof(*code) * set->length);
    for (size_t i = 0; i < set->patch_count; i++)
        if (request->without & 1u << set->patches[i].group)
            code[set->patches[i].at] = set->patches[i].open;
    for (size_t i = 0; i < set->id_count; i++)
        code[set->ids[i].at].k = set->ids[i].group ? getegid() : geteuid();
    code[set->sentinel].k = SECCOMP_RET_ERRNO | (uint32_t)request->sentinel;
}

static void load_filter(const struct chain *chain, const struct request *request)
{
    const struct seccomp_set *set = find_filter(chain, request);
    struct sock_filter code[SECCOMP_CODE_MAX];
    struct sock_fprog program = {.len = set->length, .filter = code};
    long answer;

    fill_filter(set, request, code);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        chain_fatal_errno(chain, "no_new_privs", errno);
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
        chain_fatal(chain, "no_new_privs", "the kernel reported success but it is not set");
    answer = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
    if (answer == -1)
        chain_fatal_errno(chain, "seccomp", errno);
    if (answer != 0)
        chain_fatal(chain, "seccomp", "unexpected answer");
}

/*
 * seccomp_run() - load one set of rules and hand over.
 * @chain: argv is `seccomp-run --set NAME [--without GROUP]... --sentinel ERRNO -- ...`
 *
 * Return: never to the caller's code: the next word runs, or status 125.
 */
int seccomp_run(struct chain *chain)
{
    struct request request = {0};
    char **next = parse_request(chain, &request);
    int answer;

    chain_set_dumpable(chain, false);
    answer = ask_sentinel();
    if (answer == 0)
        chain_fatal(chain, "sentinel", "a call that no kernel has was answered with success");
    if (answer == request.sentinel)
        chain_fatal(chain, "sentinel",
                    "answered already before the filter was loaded: take another --sentinel");
    load_filter(chain, &request);
    if (ask_sentinel() != request.sentinel)
        chain_fatal(chain, "seccomp", "the kernel reported success but the filter is not in force");
    return chain_hand_over(chain, next);
}

LINK_MAIN("seccomp-run", seccomp_run)
