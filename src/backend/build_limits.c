/*
 * build_limits.c - what holds the limits of a run: groups of processes, the supervisor, limits that the
 * kernel has for each process.
 *
 * Should:  name what holds each limit, and call one partial that some of the tree can get around.
 * Mustn't: take a limit of one process for one of the tree.
 */
#include "backend/build.h"
#include "kernel/cgroup.h"

#include <errno.h>
#include <string.h>

#define GROUPS "/sys/fs/cgroup"

bool build_has_group(const struct builder *b, enum cgroup_use use)
{
    return b->supervised && (b->host->groups.uses & CGROUP_BIT(use));
}

bool build_numbers_processes(const struct builder *b)
{
    /* The switch is the machine's where the kernel has none for each namespace, and root could write it. */
    return b->supervised && b->resolved->policy->limit_processes && b->plan->pid_namespace &&
           !b->plan->foreign && !b->resolved->session && b->resolved->uid != 0 &&
           !build_has_group(b, CGROUP_PROCESSES);
}

uint64_t build_numbers(const struct builder *b)
{
    uint64_t most = b->resolved->policy->limit_processes;

    return most < PROCESS_NUMBERS_MOST - PROCESS_NUMBERS ? most + PROCESS_NUMBERS : PROCESS_NUMBERS_MOST;
}

/* Why the command could leave its group or change its values; NULL: it cannot. */
static const char *leaks(const struct builder *b)
{
    const struct resolved *resolved = b->resolved;

    for (size_t i = 0; i < resolved->path_count; i++)
        if (resolved->paths[i].grant == GRANT_WRITE && (path_contains(GROUPS, resolved->paths[i].path) ||
                                                        path_contains(resolved->paths[i].path, GROUPS)))
            return "group-writable";
    /* In a user namespace of its own it may mount the tree anew, in which its user owns the group. */
    if (is_open(b, SURFACE_PRIV_USERNS) && b->host->uid != 0)
        return "userns-opened";
    return NULL;
}

static void hold_by_group(struct builder *b, enum surface surface)
{
    const char *why = leaks(b);

    plan_raise(b->plan, surface, why ? STATE_PARTIAL : STATE_ENFORCED, MECHANISM_CGROUP, why);
}

static const char *not_held(const struct builder *b, bool asked)
{
    return !asked ? "not-asked" : b->supervised ? "no-cgroup" : "no-supervisor";
}

static void claim_processes(struct builder *b)
{
    uint64_t most = b->resolved->policy->limit_processes;

    if (most && build_has_group(b, CGROUP_PROCESSES))
        hold_by_group(b, SURFACE_LIMIT_PROCESSES);
    else if (build_numbers_processes(b))
        build_hold(b, STATE_PARTIAL, "by-numbers",
                   CHECK(LIMIT_PROCESSES, PID_NAMESPACE, PROCESSES, NONE, .a = (int64_t)build_numbers(b),
                         .refused = {EAGAIN}));
    else
        plan_reason(b->plan, SURFACE_LIMIT_PROCESSES, not_held(b, most));
}

/* A second is the least that the kernel counts for a process. */
uint64_t build_cpu_seconds(const struct builder *b)
{
    uint64_t ms = b->resolved->policy->limit_cpu_ms;

    return ms / 1000 + (ms % 1000 != 0);
}

static void claim_cpu(struct builder *b)
{
    bool group = build_has_group(b, CGROUP_CPU);

    if (!b->resolved->policy->limit_cpu_ms || !b->supervised) {
        plan_reason(b->plan, SURFACE_LIMIT_CPU, not_held(b, b->resolved->policy->limit_cpu_ms));
        return;
    }
    if (group)
        hold_by_group(b, SURFACE_LIMIT_CPU);
    build_hold(
        b, group ? STATE_ENFORCED : STATE_PARTIAL, group ? NULL : "per-process",
        CHECK(LIMIT_CPU, RLIMIT, CPU_TIME, NONE, .a = (int64_t)build_cpu_seconds(b), .refused = {ETIME}));
    if (group && leaks(b))
        plan_lower(b->plan, SURFACE_LIMIT_CPU, leaks(b));
}

static void claim_watched(struct builder *b, enum surface surface, bool asked)
{
    if (asked && b->supervised)
        plan_raise(b->plan, surface, STATE_ENFORCED, MECHANISM_SUPERVISOR, NULL);
    else
        plan_reason(b->plan, surface, asked ? "no-supervisor" : "not-asked");
}

void build_limits(struct builder *b)
{
    const struct policy *policy = b->resolved->policy;

    claim_watched(b, SURFACE_LIMIT_TIME, policy->limit_time_ms);
    claim_watched(b, SURFACE_LIMIT_OUTPUT, policy->limit_output);
    if (policy->limit_memory && build_has_group(b, CGROUP_MEMORY))
        hold_by_group(b, SURFACE_LIMIT_MEMORY);
    else
        plan_reason(b->plan, SURFACE_LIMIT_MEMORY, not_held(b, policy->limit_memory));
    claim_processes(b);
    claim_cpu(b);
    if (policy->limit_file_size)
        build_hold(b, STATE_ENFORCED, NULL,
                   CHECK(LIMIT_FILE_SIZE, RLIMIT, FILE_SIZE, NONE, .a = (int64_t)policy->limit_file_size,
                         .refused = {EFBIG}, .self_contained = true));
    else
        plan_reason(b->plan, SURFACE_LIMIT_FILE_SIZE, "not-asked");
    /* Raised by a backend with a temp directory of its own. */
    if (b->plan->claims[SURFACE_LIMIT_TMP_SIZE].state == STATE_OPEN)
        plan_reason(b->plan, SURFACE_LIMIT_TMP_SIZE,
                    !policy->limit_tmp_size ? "not-asked"
                    : b->plan->own_tmp      ? "sizes-apart"
                                            : "no-mounts");
}
