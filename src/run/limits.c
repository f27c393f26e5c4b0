/*
 * limits.c - what a group of processes holds during a run.
 *
 * Theory of operation. The groups are made before the chain, and its first process joins them before its
 * exec: so whatever the run starts is in them. The kernel keeps the limits of memory and processes by itself;
 * that the memory was used up, and how much time was, is looked at every now and then and once more at the
 * end. The limit of processes is set last, to what stands beside the command and what it may have: the links
 * have children of their own while they confine themselves.
 *
 * Should:  end the whole run when the kernel has ended one process for the lack of memory: half a build is
 * no build. Mustn't: call a limit held when it was not found again at the end: whoever manages the place that
 * our group lies in may have turned its controller off.
 */
#include "run/limits.h"

#include "links/channel.h"
#include "run/supervise.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define LOOK_MS  50 /* between two looks */
#define LEAST_MS 2

static const char limit_memory[] = "memory", limit_cpu[] = "cpu";

static const struct {
    enum surface surface;
    enum cgroup_use use;
} held[] = {
    {SURFACE_LIMIT_MEMORY, CGROUP_MEMORY},
    {SURFACE_LIMIT_PROCESSES, CGROUP_PROCESSES},
    {SURFACE_LIMIT_CPU, CGROUP_CPU},
    {SURFACE_PROC_SURVIVOR, CGROUP_TREE},
};

static struct claim_by *by_group(struct plan *plan, enum surface surface)
{
    struct claim *claim = &plan->claims[surface];

    for (size_t i = 0; i < claim->by_count; i++)
        if (claim->by[i].mechanism == MECHANISM_CGROUP)
            return &claim->by[i];
    return NULL;
}

static bool has_limit(const struct limits *limits, enum cgroup_use use)
{
    return limits->groups.of[use] && limits->groups.count > 0;
}

static int refuse(struct error *error, int errnum, const char *what)
{
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, errnum, "cgroup-failed",
              "cannot %s the group of processes (cgroup) of this run: %s", what, strerror(errnum));
    return error_hint(error, "try again; if it stays so, look at the groups in /proc/self/cgroup");
}

static int limit_processes(struct limits *limits, uint64_t beside, struct error *error)
{
    const struct cgroup *group = limits->groups.of[CGROUP_PROCESSES];
    int r;

    limits->most = limits->resolved->policy->limit_processes;
    limits->most =
        limits->most < PROCESS_NUMBERS_MOST - beside ? limits->most + beside : PROCESS_NUMBERS_MOST;
    r = cgroup_limit_processes(group, limits->most);
    if (r == 0)
        r = cgroup_refused(group, &limits->refused);
    return r < 0 ? refuse(error, -r, "limit the processes of") : 0;
}

int limits_make(struct limits *limits, const struct resolved *resolved, struct plan *plan, bool chain,
                struct error *error)
{
    unsigned wanted = 0;
    bool swap = true;
    int r;

    *limits = (struct limits){.resolved = resolved, .plan = plan, .groups = CGROUPS_NONE};
    for (size_t i = 0; i < ARRAY_SIZE(held); i++)
        if (by_group(plan, held[i].surface))
            wanted |= CGROUP_BIT(held[i].use);
    if (!wanted)
        return 0;
    r = cgroups_make(&limits->groups, wanted);
    for (size_t i = 0; i < ARRAY_SIZE(held) && r == 0; i++)
        if ((wanted & CGROUP_BIT(held[i].use)) && !limits->groups.of[held[i].use])
            r = -ENOENT; /* it could be had a moment ago */
    if (r < 0)
        return refuse(error, -r, "make");
    if (wanted & CGROUP_BIT(CGROUP_MEMORY))
        r = cgroup_limit_memory(limits->groups.of[CGROUP_MEMORY], resolved->policy->limit_memory, &swap);
    if (r == 0 && !swap)
        r = -EOPNOTSUPP;
    if (r < 0)
        return refuse(error, -r, "limit the memory of");
    if (wanted & CGROUP_BIT(CGROUP_MEMORY)) {
        int event = cgroup_memory_event(limits->groups.of[CGROUP_MEMORY]);

        limits->event = event > 0 ? event : 0; /* where nothing tells, the looking has to do */
    }
    return !chain && (wanted & CGROUP_BIT(CGROUP_PROCESSES)) ? limit_processes(limits, 0, error) : 0;
}

bool limits_join(struct limits *limits)
{
    return cgroups_join(&limits->groups);
}

int limits_joined(const struct limits *limits, struct error *error)
{
    return limits->groups.join_error ? refuse(error, limits->groups.join_error, "join") : 0;
}

/* All that stands there now, but for the one who becomes the command. */
static int limit_beside(struct limits *limits, struct error *error)
{
    uint64_t seen;
    int r = cgroup_processes(limits->groups.of[CGROUP_PROCESSES], &seen);

    if (r == 0 && seen == 0)
        r = -ESRCH;
    return r < 0 ? refuse(error, -r, "count the processes of") : limit_processes(limits, seen - 1, error);
}

int limits_arm(struct limits *limits, pid_t command, struct error *error)
{
    uint64_t seen;
    int r;

    if (limits->groups.count == 0)
        return 0;
    r = command ? cgroups_hold(&limits->groups, command) : 1;
    if (r <= 0)
        return refuse(error, r < 0 ? -r : ESRCH, "see the command in");
    if (has_limit(limits, CGROUP_PROCESSES) && limits->most == 0) {
        r = limit_beside(limits, error);
        if (r < 0)
            return r;
    }
    if (has_limit(limits, CGROUP_CPU)) {
        r = cgroup_cpu_ns(limits->groups.of[CGROUP_CPU], &seen);
        if (r < 0)
            return refuse(error, -r, "read the processor time of");
    }
    for (size_t i = 0; i < ARRAY_SIZE(held); i++) {
        struct claim_by *by = by_group(limits->plan, held[i].surface);

        if (!by || held[i].use == CGROUP_TREE) /* that is seen at the end */
            continue;
        by->evidence = command ? EVIDENCE_ATTESTED : EVIDENCE_PROBED;
        limits->plan->claims[held[i].surface].tried++;
    }
    limits->armed = true;
    return 0;
}

void limits_explain(const struct limits *limits, bool started, struct error *error)
{
    const struct cgroup *group = limits->groups.of[CGROUP_MEMORY];
    bool silent = strcmp(error->reason, "link-ended") == 0;
    uint64_t count = 0;
    bool so;

    if (!has_limit(limits, CGROUP_MEMORY) || !by_group(limits->plan, SURFACE_LIMIT_MEMORY))
        return;
    so = (!started && error->errnum == ENOMEM) || (cgroup_killed(group, &count) == 0 && count > 0);
    /* Where the kernel finds nobody to end, it counts none: what gets no memory ends by itself. */
    so = so || (silent && cgroup_used_up(group, limits->event, &count) == 0 && count > 0);
    if (!so)
        return;
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, ENOMEM, "limit-too-small",
              "the limit memory is less than the links need before the command starts");
    error_surface(error, "limit.memory");
    error_hint(error, "ask for more: --limit memory=16M is enough for a small command");
}

/* --- while it runs -------------------------------------------------------------------------------------- */

/* Return: which limit has been reached, NULL for none; @ret_ms: when to look again. */
static const char *find_reached(const struct limits *limits, uint64_t *ret_ms)
{
    const struct policy *policy = limits->resolved->policy;
    const struct cgroup *group = limits->groups.of[CGROUP_MEMORY];
    uint64_t killed, used, most = policy->limit_cpu_ms;
    uint64_t longest = limits->alarmed ? LEAST_MS : LOOK_MS;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);

    *ret_ms = longest;
    if (has_limit(limits, CGROUP_MEMORY) && by_group(limits->plan, SURFACE_LIMIT_MEMORY) &&
        ((cgroup_killed(group, &killed) == 0 && killed > 0) ||
         cgroup_exceeds_memory(group, policy->limit_memory)))
        return limit_memory;
    if (!most || !has_limit(limits, CGROUP_CPU) || cgroup_cpu_ns(limits->groups.of[CGROUP_CPU], &used) != 0)
        return NULL;
    used /= 1000000U;
    if (used >= most)
        return limit_cpu;
    /* The soonest that it can be reached is when every processor works for it alone. */
    *ret_ms = (most - used) / (uint64_t)(processors > 0 ? processors : 1);
    if (*ret_ms < LEAST_MS)
        *ret_ms = LEAST_MS;
    if (*ret_ms > longest)
        *ret_ms = longest;
    return NULL;
}

static void on_look(uv_timer_t *timer)
{
    struct limits *limits = timer->data;
    uint64_t next;
    const char *reached = find_reached(limits, &next);

    if (reached)
        supervise_limit(limits->supervision, reached, true);
    else
        uv_timer_start(timer, on_look, next, 0);
}

/* Something is about to be ended for lack of memory, or has been. */
static void on_told(uv_poll_t *handle, int status, int events)
{
    struct limits *limits = handle->data;

    (void)events;
    uv_poll_stop(handle);
    if (status < 0) /* then it is looked for as before */
        return;
    limits->alarmed = true;
    on_look(&limits->look);
}

static int hear_memory(struct limits *limits, uv_loop_t *uv)
{
    if (limits->event <= 0)
        return 0;
    limits->told.data = limits;
    return uv_poll_init(uv, &limits->told, limits->event);
}

static int start_limits(void *self, struct supervision *supervision, uv_loop_t *uv)
{
    struct limits *limits = self;
    int r = uv_timer_init(uv, &limits->look);

    limits->look.data = limits;
    limits->supervision = supervision;
    supervision->groups = limits->groups.count > 0 ? &limits->groups : NULL;
    return r < 0 ? r : hear_memory(limits, uv);
}

static void go_limits(void *self)
{
    struct limits *limits = self;

    if (has_limit(limits, CGROUP_MEMORY) || has_limit(limits, CGROUP_CPU))
        uv_timer_start(&limits->look, on_look, LEAST_MS, 0);
    if (limits->event > 0)
        uv_poll_start(&limits->told, UV_READABLE, on_told);
}

/* What was found at the start must still be there. */
static void look_again(struct limits *limits)
{
    const struct policy *policy = limits->resolved->policy;
    bool memory = !has_limit(limits, CGROUP_MEMORY) ||
                  cgroup_holds_memory(limits->groups.of[CGROUP_MEMORY], policy->limit_memory);
    bool processes = !has_limit(limits, CGROUP_PROCESSES) ||
                     cgroup_holds_processes(limits->groups.of[CGROUP_PROCESSES], limits->most);

    if (!memory && by_group(limits->plan, SURFACE_LIMIT_MEMORY))
        plan_lower(limits->plan, SURFACE_LIMIT_MEMORY, "limit-lost");
    if (!processes && by_group(limits->plan, SURFACE_LIMIT_PROCESSES))
        plan_lower(limits->plan, SURFACE_LIMIT_PROCESSES, "limit-lost");
}

static void end_limits(void *self)
{
    struct limits *limits = self;
    const char *reached;
    uint64_t unused, used;

    if (limits->groups.count == 0)
        return;
    if (limits->event > 0)
        uv_poll_stop(&limits->told);
    reached = find_reached(limits, &unused);
    if (reached)
        supervise_limit(limits->supervision, reached, true);
    /* Nothing else ends what is left without a chain, or in a session, and it would go on without its limits:
     * they end with the group. */
    if (limits->supervision->channel < 0 || limits->plan->joined)
        cgroups_kill(&limits->groups);
    limits->supervision->group_empty = cgroups_empty(&limits->groups) == 1;
    if (has_limit(limits, CGROUP_CPU) && cgroup_cpu_ns(limits->groups.of[CGROUP_CPU], &used) == 0)
        limits->supervision->cpu_ms = used / 1000000U;
    look_again(limits);
}

const struct part_calls limits_part = {.start = start_limits, .go = go_limits, .end = end_limits};

void limits_own_files(const struct policy *policy, bool on)
{
    static rlim_t before;
    uint64_t most = policy->limit_file_size;
    struct rlimit limit;

    if (most == 0 || getrlimit(RLIMIT_FSIZE, &limit) != 0)
        return;
    if (on)
        before = limit.rlim_cur; /* SIGXFSZ is ignored: the write says EFBIG */
    limit.rlim_cur = on && most < before ? most : before;
    setrlimit(RLIMIT_FSIZE, &limit);
}

/* --- afterwards ----------------------------------------------------------------------------------------- */

/* A program that a shell or make waited for is theirs to tell of: by this status, if at all. */
static int tell_file_size(const struct limits *limits, const struct outcome *outcome,
                          struct strings *warnings)
{
    if (outcome->kind != OUTCOME_EXITED || outcome->status != 128 + SIGXFSZ ||
        limits->resolved->policy->limit_file_size == 0)
        return 0;
    return strings_addf(warnings,
                        "limit-reached: file_size: status %d says that a program in it was ended by SIGXFSZ, "
                        "at a file as large as --limit file_size allows",
                        outcome->status);
}

int limits_tell(const struct limits *limits, const struct outcome *outcome, struct strings *warnings)
{
    uint64_t refused;

    if (tell_file_size(limits, outcome, warnings) < 0)
        return -ENOMEM;
    if (!limits->armed || !has_limit(limits, CGROUP_PROCESSES) ||
        cgroup_refused(limits->groups.of[CGROUP_PROCESSES], &refused) != 0 || refused <= limits->refused)
        return 0;
    refused -= limits->refused;
    return strings_addf(warnings, "limit-reached: processes: %llu new process%s or thread%s refused",
                        (unsigned long long)refused, refused == 1 ? "" : "es",
                        refused == 1 ? " was" : "s were");
}

int limits_remove(struct limits *limits, struct error *error)
{
    int r;

    if (limits->event > 0)
        fd_close(limits->event);
    limits->event = 0;
    r = cgroups_remove(&limits->groups);

    return r < 0 ? refuse(error, -r, "remove") : 0;
}
