/*
 * groups.c - can limits be held by groups of processes here? Found by making one.
 *
 * Should:  set each value and read it back, and leave nothing.
 * Mustn't: conclude anything from which file systems are mounted: a group that cannot be made holds nothing.
 */
#include "host/host.h"
#include "kernel/cgroup.h"

#include <errno.h>

#define SOME_MEMORY    (1U << 30)
#define SOME_PROCESSES 1000

static bool holds_memory(const struct cgroup *group)
{
    bool swap;

    return group && cgroup_limit_memory(group, SOME_MEMORY, &swap) == 0 && swap;
}

static bool holds_processes(const struct cgroup *group)
{
    return group && cgroup_limit_processes(group, SOME_PROCESSES) == 0;
}

static bool counts_time(const struct cgroup *group)
{
    uint64_t ns;

    return group && cgroup_cpu_ns(group, &ns) == 0;
}

int host_ask_groups(struct host *host, unsigned wanted)
{
    struct cgroups groups = CGROUPS_NONE;
    unsigned uses = 0;
    int r, left;

    if ((host->groups.asked & wanted) == wanted)
        return 0;
    wanted |= host->groups.asked;
    r = cgroups_make(&groups, wanted);
    if (r == 0) {
        uses |= groups.of[CGROUP_TREE] ? CGROUP_BIT(CGROUP_TREE) : 0;
        uses |= counts_time(groups.of[CGROUP_CPU]) ? CGROUP_BIT(CGROUP_CPU) : 0;
        uses |= holds_processes(groups.of[CGROUP_PROCESSES]) ? CGROUP_BIT(CGROUP_PROCESSES) : 0;
        uses |= holds_memory(groups.of[CGROUP_MEMORY]) ? CGROUP_BIT(CGROUP_MEMORY) : 0;
    }
    left = cgroups_remove(&groups);
    host->groups.asked = wanted;
    host->groups.uses = uses & wanted;
    return r < 0 ? r : left;
}
