#include "harness.h"

#include "kernel/cgroup.h"

#include <sys/syscall.h>

#define ALL                                                                                                  \
    (CGROUP_BIT(CGROUP_TREE) | CGROUP_BIT(CGROUP_CPU) | CGROUP_BIT(CGROUP_PROCESSES) |                       \
     CGROUP_BIT(CGROUP_MEMORY))
#define MEMORY (24U << 20)

static struct cgroups groups = CGROUPS_NONE;

static void make(unsigned wanted)
{
    need(cgroups_make(&groups, wanted) == 0);
    for (int use = 0; use < CGROUP_USES; use++)
        if ((wanted & CGROUP_BIT(use)) && !groups.of[use]) {
            cgroups_remove(&groups);
            test_skip("no group can be made here for use %d", use);
        }
}

/* As an exec does it: a lock is held as long as anybody has its descriptor. */
static void close_groups(void)
{
    for (size_t i = 0; i < groups.count; i++) {
        close(groups.group[i].directory);
        close(groups.group[i].place);
    }
}

/* A member that does @work; the harness ends what is left of it. */
static pid_t member(void (*work)(void))
{
    int ready[2];
    char byte = 0;
    pid_t pid;

    need(pipe2(ready, O_CLOEXEC) == 0);
    pid = fork();
    need(pid >= 0);
    if (pid == 0) {
        if (!cgroups_join(&groups))
            _exit(99);
        if (write(ready[1], "r", 1) != 1)
            _exit(98);
        close_groups();
        work();
        _exit(0);
    }
    close(ready[1]);
    need(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    return pid;
}

static void sleep_on(void)
{
    for (;;)
        pause();
}

static void take_memory(void)
{
    for (size_t i = 0; i < 4 * MEMORY / 4096; i++) {
        volatile char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (page == MAP_FAILED)
            _exit(97);
        *page = 1;
    }
}

static void take_processes(void)
{
    for (int i = 0; i < 20; i++)
        if (fork() == 0)
            sleep_on();
    sleep_on();
}

static void take_time(void)
{
    for (volatile unsigned i = 0;; i++)
        ;
}

static bool is_there(const struct cgroup *group)
{
    return faccessat(group->place, group->name, F_OK, 0) == 0;
}

TEST(a_group_is_joined_emptied_and_removed)
{
    struct cgroup kept;
    pid_t pid;
    int place;

    make(CGROUP_BIT(CGROUP_TREE));
    kept = *groups.of[CGROUP_TREE];
    place = dup(kept.place);
    check(is_there(&kept));
    check_int(cgroups_empty(&groups), 1);
    check_int(cgroups_hold(&groups, getpid()), 0);
    pid = member(sleep_on);
    check_int(cgroups_hold(&groups, pid), 1);
    check_int(cgroups_empty(&groups), 0);
    check_int(cgroups_kill(&groups), 0);
    need(waitpid(pid, NULL, 0) == pid);
    check_int(cgroups_empty(&groups), 1);
    check_int(cgroups_remove(&groups), 0);
    check(faccessat(place, kept.name, F_OK, 0) != 0);
}

TEST(every_value_is_read_back)
{
    bool swap;

    make(ALL);
    check_int(cgroup_limit_memory(groups.of[CGROUP_MEMORY], MEMORY + 5, &swap), 0);
    check(cgroup_holds_memory(groups.of[CGROUP_MEMORY], MEMORY + 5));
    check(!cgroup_holds_memory(groups.of[CGROUP_MEMORY], MEMORY + 4096));
    check(!cgroup_holds_memory(groups.of[CGROUP_MEMORY], MEMORY - 4096));
    check(swap);
    check_int(cgroup_limit_processes(groups.of[CGROUP_PROCESSES], 7), 0);
    check(!cgroup_holds_processes(groups.of[CGROUP_PROCESSES], 8));
    check_int(cgroups_remove(&groups), 0);
}

TEST(memory_that_is_used_up_is_counted)
{
    uint64_t killed = 0;
    bool swap;
    int status;
    pid_t pid;

    make(CGROUP_BIT(CGROUP_MEMORY));
    need(cgroup_limit_memory(groups.of[CGROUP_MEMORY], MEMORY, &swap) == 0);
    check_int(cgroup_killed(groups.of[CGROUP_MEMORY], &killed), 0);
    check_int(killed, 0);
    pid = member(take_memory);
    need(waitpid(pid, &status, 0) == pid);
    check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    check_int(cgroup_killed(groups.of[CGROUP_MEMORY], &killed), 0);
    check_int(killed, 1);
    check_int(cgroups_remove(&groups), 0);
}

/* Descriptor 0 is the caller's input, and 0 says that there is no event. */
TEST(without_an_event_nothing_is_read)
{
    const struct cgroup old = {.version = 1, .directory = -1};
    const uint64_t input = 7;
    uint64_t count = 1, left = 0;
    int ends[2];

    need(pipe(ends) == 0 && write(ends[1], &input, sizeof(input)) == sizeof(input));
    need(dup2(ends[0], 0) == 0);
    check_int(cgroup_used_up(&old, 0, &count), -EOPNOTSUPP);
    need(read(0, &left, sizeof(left)) == sizeof(left));
    check_int(left, input);
}

TEST(processes_beyond_the_limit_are_refused_and_counted)
{
    uint64_t refused = 0, count = 0;
    pid_t pid;

    make(CGROUP_BIT(CGROUP_PROCESSES));
    need(cgroup_limit_processes(groups.of[CGROUP_PROCESSES], 5) == 0);
    pid = member(take_processes);
    while (cgroup_refused(groups.of[CGROUP_PROCESSES], &refused) == 0 && refused < 16)
        usleep(1000);
    check_int(cgroup_processes(groups.of[CGROUP_PROCESSES], &count), 0);
    check_int(count, 5);
    check_int(refused, 16);
    check_int(cgroups_kill(&groups), 0);
    need(waitpid(pid, NULL, 0) == pid);
    check_int(cgroups_remove(&groups), 0); /* waits for the others */
}

TEST(processor_time_is_that_of_all)
{
    uint64_t ns = 0;
    pid_t pids[2];

    make(CGROUP_BIT(CGROUP_CPU));
    for (int i = 0; i < 2; i++)
        pids[i] = member(take_time);
    while (cgroup_cpu_ns(groups.of[CGROUP_CPU], &ns) == 0 && ns < 30000000)
        usleep(1000);
    check(ns >= 30000000);
    check_int(cgroups_kill(&groups), 0);
    for (int i = 0; i < 2; i++)
        need(waitpid(pids[i], NULL, 0) == pids[i]);
    check_int(cgroups_remove(&groups), 0);
}

/* Somebody makes groups, has a member, and is killed: `told` says which. */
static struct cgroup left_behind(pid_t *ret_member, bool ends)
{
    struct told {
        struct cgroup group;
        pid_t member;
    } told;
    int tell[2];
    pid_t pid;

    need(pipe2(tell, O_CLOEXEC) == 0);
    pid = fork();
    need(pid >= 0);
    if (pid == 0) {
        make(CGROUP_BIT(CGROUP_TREE));
        told.group = *groups.of[CGROUP_TREE];
        told.member = member(sleep_on);
        if (write(tell[1], &told, sizeof(told)) == (ssize_t)sizeof(told))
            sleep_on();
        _exit(1);
    }
    need(read(tell[0], &told, sizeof(told)) == (ssize_t)sizeof(told));
    if (ends) {
        kill(pid, SIGKILL);
        need(waitpid(pid, NULL, 0) == pid);
    }
    *ret_member = told.member;
    return told.group;
}

TEST(what_a_killed_one_left_is_ended_and_removed)
{
    struct cgroup left;
    pid_t pid;

    make(CGROUP_BIT(CGROUP_TREE));
    need(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
    check_int(cgroups_remove(&groups), 0);
    left = left_behind(&pid, true);
    make(CGROUP_BIT(CGROUP_TREE)); /* sweeps */
    check(faccessat(groups.of[CGROUP_TREE]->place, left.name, F_OK, 0) != 0);
    need(waitpid(pid, NULL, 0) == pid);
    check_int(cgroups_remove(&groups), 0);
}

TEST(what_a_living_one_holds_is_left_alone)
{
    struct cgroup left;
    pid_t pid;

    make(CGROUP_BIT(CGROUP_TREE));
    check_int(cgroups_remove(&groups), 0);
    left = left_behind(&pid, false);
    make(CGROUP_BIT(CGROUP_TREE));
    check(faccessat(groups.of[CGROUP_TREE]->place, left.name, F_OK, 0) == 0);
    check_int(kill(pid, 0), 0);
    check_int(cgroups_remove(&groups), 0);
}

/* Nobody but its owner removes a directory that merely looks like one of ours. */
TEST(other_names_are_left_alone)
{
    static const char *const names[] = {"confine.0123456789abcde", "confine.0123456789abcdefg",
                                        "confine.0123456789ABCDEF", "xconfine.0123456789abcdef"};
    int place;

    make(CGROUP_BIT(CGROUP_TREE));
    place = dup(groups.of[CGROUP_TREE]->place);
    check_int(cgroups_remove(&groups), 0);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        need(mkdirat(place, names[i], 0755) == 0);
    make(CGROUP_BIT(CGROUP_TREE));
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        check_int(unlinkat(place, names[i], AT_REMOVEDIR), 0);
    check_int(cgroups_remove(&groups), 0);
}
