#include "harness.h"

#include "kernel/borrower.h"

#include "links/kernel_abi.h"

#include <sched.h>

struct seen {
    volatile long pid;
    volatile int turns;
};

static void write_down(void *data)
{
    struct seen *seen = data;

    seen->pid = kernel_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
    for (int i = 0; i < 100; i++) {
        kernel_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
        seen->turns++;
    }
}

TEST(what_the_child_stores_is_ours_when_it_has_ended)
{
    struct seen seen = {0};
    pid_t pid = borrower_start(write_down, &seen);

    need(pid > 0);
    check_int(seen.pid, pid);
    check_int(seen.turns, 100);
    check_int(waitpid(pid, NULL, 0), pid);
}

static void execute(void *data)
{
    static char *const words[] = {(char *)(uintptr_t) "/bin/true", NULL};
    volatile int *stored = data;

    *stored = 1;
    execve(words[0], words, words + 1);
}

TEST(it_goes_on_when_the_child_has_executed_something)
{
    volatile int stored = 0;
    pid_t pid = borrower_start(execute, (void *)(uintptr_t)&stored);
    int status = -1;

    need(pid > 0);
    check_int(stored, 1);
    check_int(waitpid(pid, &status, 0), pid);
    check(WIFEXITED(status));
}
