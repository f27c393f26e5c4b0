/*
 * cgroup_limits.c - what a group may use, and what it has used.
 *
 * Should:  read back what was written: a kernel may take less, or another value.
 * Mustn't: call a limit of memory held while what exceeds it goes to swap.
 */
#include "kernel/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static const char memory_old[] = "memory.limit_in_bytes", sockets_old[] = "memory.kmem.tcp.limit_in_bytes";

static bool is_rounded(uint64_t seen, uint64_t asked)
{
    return seen <= asked && asked - seen < (uint64_t)sysconf(_SC_PAGESIZE);
}

static bool reads_rounded(int directory, const char *file, uint64_t asked)
{
    uint64_t seen;

    return cgroup_number(directory, file, NULL, &seen) == 0 && is_rounded(seen, asked);
}

static bool has_swap(void)
{
    char text[256];
    const char *line;

    if (file_read(AT_FDCWD, "/proc/swaps", text, sizeof(text)) < 0)
        return false; /* a kernel without swap */
    line = strchr(text, '\n');
    return line && line[1];
}

static int limit_new(int directory, const char *bytes, bool *ret_swap)
{
    uint64_t seen;
    int r = cgroup_write(directory, "memory.max", bytes);

    if (r == 0)
        r = cgroup_write(directory, "memory.oom.group", "1");
    if (r == 0 && (cgroup_number(directory, "memory.oom.group", NULL, &seen) != 0 || seen != 1))
        r = -EPROTO;
    *ret_swap = !has_swap();
    if (r == 0 && cgroup_write(directory, "memory.swap.max", "0") == 0)
        *ret_swap = cgroup_number(directory, "memory.swap.max", NULL, &seen) == 0 && seen == 0;
    return r;
}

/* In version 1 the second limit is that of memory and swap together, and must not be the lower one. What
 * waits in sockets of TCP and UDP is counted apart there, and only where it has a limit: without one it is
 * held by nothing. */
static int limit_old(int directory, const char *bytes, uint64_t asked, bool *ret_swap)
{
    int r = cgroup_write(directory, memory_old, bytes);

    *ret_swap = !has_swap();
    if (r == 0)
        r = cgroup_write(directory, sockets_old, bytes);
    if (r == 0 && cgroup_write(directory, "memory.memsw.limit_in_bytes", bytes) == 0)
        *ret_swap = reads_rounded(directory, "memory.memsw.limit_in_bytes", asked);
    return r;
}

int cgroup_limit_memory(const struct cgroup *group, uint64_t bytes, bool *ret_swap)
{
    char text[24];
    int r;

    snprintf(text, sizeof(text), "%llu", (unsigned long long)bytes);
    r = group->version == 2 ? limit_new(group->directory, text, ret_swap)
                            : limit_old(group->directory, text, bytes, ret_swap);
    if (r < 0)
        return r;
    return cgroup_holds_memory(group, bytes) ? 0 : -EPROTO;
}

bool cgroup_holds_memory(const struct cgroup *group, uint64_t bytes)
{
    if (group->version == 2)
        return reads_rounded(group->directory, "memory.max", bytes);
    return reads_rounded(group->directory, memory_old, bytes) &&
           reads_rounded(group->directory, sockets_old, bytes);
}

bool cgroup_exceeds_memory(const struct cgroup *group, uint64_t bytes)
{
    uint64_t used;

    return group->version == 1 &&
           cgroup_number(group->directory, "memory.kmem.tcp.usage_in_bytes", NULL, &used) == 0 &&
           used > bytes;
}

int cgroup_limit_processes(const struct cgroup *group, uint64_t count)
{
    char text[24];
    int r;

    snprintf(text, sizeof(text), "%llu", (unsigned long long)count);
    r = cgroup_write(group->directory, "pids.max", text);
    if (r < 0)
        return r;
    return cgroup_holds_processes(group, count) ? 0 : -EPROTO;
}

bool cgroup_holds_processes(const struct cgroup *group, uint64_t count)
{
    uint64_t seen;

    return cgroup_number(group->directory, "pids.max", NULL, &seen) == 0 && seen == count;
}

int cgroup_processes(const struct cgroup *group, uint64_t *ret_count)
{
    return cgroup_number(group->directory, "pids.current", NULL, ret_count);
}

int cgroup_refused(const struct cgroup *group, uint64_t *ret_count)
{
    return cgroup_number(group->directory, "pids.events", "max", ret_count);
}

int cgroup_killed(const struct cgroup *group, uint64_t *ret_count)
{
    return cgroup_number(group->directory, group->version == 2 ? "memory.events" : "memory.oom_control",
                         "oom_kill", ret_count);
}

int cgroup_used_up(const struct cgroup *group, int event, uint64_t *ret_count)
{
    if (group->version == 2)
        return cgroup_number(group->directory, "memory.events", "oom", ret_count);
    if (event <= 0)
        return -EOPNOTSUPP;
    *ret_count = 0;
    if (read(event, ret_count, sizeof(*ret_count)) < 0)
        return errno == EAGAIN ? 0 : -errno;
    return 0;
}

int cgroup_memory_event(const struct cgroup *group)
{
    _cleanup_fd_ int told = -1, event = -1;
    char text[32];
    int r;

    if (group->version == 2)
        return -EOPNOTSUPP;
    told = openat(group->directory, "memory.oom_control", O_RDONLY | O_CLOEXEC);
    event = told < 0 ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event < 0)
        return -errno;
    snprintf(text, sizeof(text), "%d %d", event, told);
    r = cgroup_write(group->directory, "cgroup.event_control", text);
    return r < 0 ? r : steal_fd(&event);
}

int cgroup_cpu_ns(const struct cgroup *group, uint64_t *ret_ns)
{
    uint64_t us;
    int r;

    if (group->version != 2)
        return cgroup_number(group->directory, "cpuacct.usage", NULL, ret_ns);
    r = cgroup_number(group->directory, "cpu.stat", "usage_usec", &us);
    *ret_ns = us * 1000;
    return r;
}
