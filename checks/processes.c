/*
 * processes.c - memory of and limits for a process outside, of the same user.
 */
#include "place.h"

#include "links/kernel_abi.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

static int answer_of(long result)
{
    return result < 0 ? errno : 0;
}

/* --- memory and state
 * ---------------------------------------------------------------------------------------- */

static int look_written(struct trial *trial)
{
    return memcmp(trial->memory, trial->order.mark, 8) == 0;
}

static int act_poke(const struct order *order, struct answer *answer)
{
    long word;

    (void)answer;
    memcpy(&word, order->mark, sizeof(word));
    if (ptrace(PTRACE_SEIZE, (pid_t)order->number[0], 0, 0) != 0 ||
        ptrace(PTRACE_INTERRUPT, (pid_t)order->number[0], 0, 0) != 0)
        return errno;
    for (int i = 0; i < 2000; i++) { /* until it has stopped */
        if (ptrace(PTRACE_POKEDATA, (pid_t)order->number[0], (void *)order->number[2], (void *)word) == 0)
            return 0;
        if (errno != ESRCH)
            return errno;
        usleep(1000);
    }
    return errno;
}

static int act_attach(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(ptrace(PTRACE_ATTACH, (pid_t)order->number[0], 0, 0));
}

static int look_traced(struct trial *trial)
{
    char text[4096];
    int length = place_read_process(trial, "status", text, sizeof(text));
    const char *line = length > 0 ? strstr(text, "TracerPid:") : NULL;

    return length < 0 ? length : line && atoi(line + strlen("TracerPid:")) != 0;
}

static int act_write_memory(const struct order *order, struct answer *answer)
{
    struct iovec from = {(void *)(uintptr_t)order->mark, MARK_SIZE},
                 to = {(void *)order->number[2], MARK_SIZE};

    (void)answer;
    return answer_of(process_vm_writev((pid_t)order->number[0], &from, 1, &to, 1, 0));
}

static int prepare_memory(struct trial *trial)
{
    int result = place_alone(trial);

    if (result == 0)
        memcpy(trial->memory, trial->secret, MARK_SIZE);
    return result;
}

static int act_read_memory(const struct order *order, struct answer *answer)
{
    struct iovec from = {(void *)order->number[2], MARK_SIZE}, to = {answer->data, MARK_SIZE};

    return answer_of(process_vm_readv((pid_t)order->number[0], &to, 1, &from, 1, 0));
}

static int open_process(const struct order *order, const char *name, int flags)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%ld/%s", order->number[0], name);
    return open(path, flags);
}

static int act_memory_file(const struct order *order, struct answer *answer)
{
    int fd = open_process(order, "mem", O_RDWR);

    (void)answer;
    return fd < 0 ? errno : answer_of(pwrite(fd, order->mark, MARK_SIZE, order->number[2]));
}

static int act_memory_file_read(const struct order *order, struct answer *answer)
{
    int fd = open_process(order, "mem", O_RDONLY);

    return fd < 0 ? errno : answer_of(pread(fd, answer->data, MARK_SIZE, order->number[2]));
}

static int act_take_descriptor(const struct order *order, struct answer *answer)
{
    int process = (int)syscall(SYS_pidfd_open, order->number[0], 0), fd;

    (void)answer;
    if (process < 0)
        return errno;
    fd = (int)syscall(SYS_pidfd_getfd, process, order->number[1], 0);
    return fd < 0 ? errno : answer_of(write(fd, order->mark, MARK_SIZE - 1));
}

/* Any descriptor of a process; nothing is done with it. Return: 0 or an errno. */
static int take_any(pid_t pid)
{
    int process = (int)syscall(SYS_pidfd_open, pid, 0), errnum = process < 0 ? errno : EBADF;

    for (int fd = 0; fd < 64 && process >= 0 && errnum == EBADF; fd++)
        errnum = syscall(SYS_pidfd_getfd, process, fd, 0) < 0 ? errno : 0;
    return errnum;
}

/* The supervisor of this run, and what it has beside us: the observer with its end of our calls. For the
 * control, the victim. */
static int act_take_supervisors(const struct order *order, struct answer *answer)
{
    char path[64], text[1024] = "";
    int fd, errnum = take_any((pid_t)order->number[0]);

    (void)answer;
    if (order->number[3] == getppid())
        return errnum;
    if (errnum)
        errnum = take_any((pid_t)order->number[3]);
    snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", order->number[3], order->number[3]);
    fd = open(path, O_RDONLY);
    if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
        return errnum;
    for (char *at = text, *end; errnum; at = end) {
        long pid = strtol(at, &end, 10);

        if (end == at)
            break;
        if (pid != getppid() && pid != getpid())
            errnum = take_any((pid_t)pid);
    }
    return errnum;
}

static int prepare_supervisors(struct trial *trial)
{
    trial->order.number[3] = trial->group; /* whoever was started, in front of what acts */
    return place_alone(trial);
}

static int act_open_descriptor(const struct order *order, struct answer *answer)
{
    char name[24];
    int fd;

    (void)answer;
    snprintf(name, sizeof(name), "fd/%ld", order->number[1]);
    fd = open_process(order, name, O_WRONLY | O_NONBLOCK);
    return fd < 0 ? errno : answer_of(write(fd, order->mark, MARK_SIZE - 1));
}

static int look_pipe(struct trial *trial)
{
    char text[4 * MARK_SIZE] = "";

    return read(trial->fd[0], text, sizeof(text) - 1) > 0 && strstr(text, trial->order.mark) != NULL;
}

static int act_compare(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(syscall(SYS_kcmp, order->number[0], getpid(), 1 /* memory */, 0, 0));
}

/* The longest line that may hold the secret. */
static int read_process_file(const struct order *order, const char *name, struct answer *answer, size_t skip)
{
    char text[512];
    int fd = open_process(order, name, O_RDONLY);
    ssize_t length;

    if (fd < 0)
        return errno;
    length = read(fd, text, sizeof(text));
    if (length < 0)
        return errno;
    for (ssize_t i = (ssize_t)skip; i < length && i < (ssize_t)skip + MARK_SIZE; i++)
        answer->data[i - (ssize_t)skip] = text[i];
    return 0;
}

static int act_environ(const struct order *order, struct answer *answer)
{
    return read_process_file(order, "environ", answer, strlen("MARK="));
}

static int act_cmdline(const struct order *order, struct answer *answer)
{
    char text[512] = "";
    int fd = open_process(order, "cmdline", O_RDONLY);
    ssize_t length;

    if (fd < 0)
        return errno;
    length = read(fd, text, sizeof(text));
    if (length < MARK_SIZE)
        return length < 0 ? errno : ENODATA;
    memcpy(answer->data, text + length - MARK_SIZE, MARK_SIZE);
    return 0;
}

static int act_see(const struct order *order, struct answer *answer)
{
    char path[40];

    snprintf(path, sizeof(path), "/proc/%ld/status", order->number[0]);
    answer->number = access(path, F_OK) == 0 ? order->number[0] : 0;
    return answer->number ? 0 : errno;
}

static int look_number(struct trial *trial)
{
    return trial->answer.errnum == 0 && trial->answer.number == trial->order.number[0];
}

static int act_maps(const struct order *order, struct answer *answer)
{
    int fd = open_process(order, "maps", O_RDONLY);

    if (fd < 0)
        return errno;
    return answer_of(read(fd, answer->data, sizeof(answer->data)));
}

/* --- what can be set for it
 * ------------------------------------------------------------------------------------ */

static int act_priority(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(setpriority(PRIO_PROCESS, (id_t)order->number[0], 9));
}

static int act_priority_group(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(setpriority(PRIO_PGRP, (id_t)order->number[0], 9));
}

static int look_priority(struct trial *trial)
{
    return getpriority(PRIO_PROCESS, (id_t)trial->order.number[0]) == 9;
}

static int act_limit(const struct order *order, struct answer *answer)
{
    struct rlimit limit = {33, 44};

    (void)answer;
    return answer_of(syscall(SYS_prlimit64, order->number[0], RLIMIT_NOFILE, &limit, NULL));
}

static int look_limit(struct trial *trial)
{
    struct rlimit limit = {0};

    return syscall(SYS_prlimit64, trial->order.number[0], RLIMIT_NOFILE, NULL, &limit) != 0
               ? -errno
               : limit.rlim_cur == 33;
}

static int act_affinity(const struct order *order, struct answer *answer)
{
    unsigned long first = 1;

    (void)answer;
    return answer_of(syscall(SYS_sched_setaffinity, order->number[0], sizeof(first), &first));
}

static int look_affinity(struct trial *trial)
{
    unsigned long own[16] = {0}, other[16] = {0};

    if (syscall(SYS_sched_getaffinity, 0, sizeof(own), own) < 0 ||
        syscall(SYS_sched_getaffinity, trial->order.number[0], sizeof(other), other) < 0)
        return -errno;
    return memcmp(own, other, sizeof(own)) != 0;
}

static int act_scheduler(const struct order *order, struct answer *answer)
{
    int priority = 0;

    (void)answer;
    return answer_of(syscall(SYS_sched_setscheduler, order->number[0], 3 /* batch */, &priority));
}

static int act_attributes(const struct order *order, struct answer *answer)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attributes = {
        .size = sizeof(attributes), .policy = 3, .nice = getpriority(PRIO_PROCESS, (id_t)order->number[0])};

    (void)answer;
    return answer_of(syscall(SYS_sched_setattr, order->number[0], &attributes, 0));
}

static int look_scheduler(struct trial *trial)
{
    return syscall(SYS_sched_getscheduler, trial->order.number[0]) == 3;
}

enum { IDLE = 3 << 13 };

static int act_io_priority(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(syscall(SYS_ioprio_set, 1, order->number[0], IDLE));
}

static int act_io_priority_group(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(syscall(SYS_ioprio_set, 2, order->number[0], IDLE));
}

static int look_io_priority(struct trial *trial)
{
    return syscall(SYS_ioprio_get, 1, trial->order.number[0]) == IDLE;
}

static int act_oom(const struct order *order, struct answer *answer)
{
    int fd = open_process(order, "oom_score_adj", O_WRONLY);

    (void)answer;
    return fd < 0 ? errno : answer_of(write(fd, "900", 3));
}

static int look_oom(struct trial *trial)
{
    char text[32];
    int length = place_read_process(trial, "oom_score_adj", text, sizeof(text));

    return length < 0 ? length : atoi(text) == 900;
}

static int act_perf(const struct order *order, struct answer *answer)
{
    uint32_t attributes[32] = {1 /* software */, sizeof(attributes), 0};

    (void)answer;
    return answer_of(syscall(SYS_perf_event_open, attributes, order->number[0], -1, -1, 0));
}

#define TRACES  "who writes the memory of a program is that program"
#define ADJUSTS "it makes others slow, or lets them fail"
#define SEES    "arguments and variables of other programs hold secrets"
#define TRACE(id, call, what, prepare, act, look)                                                            \
    {                                                                                                        \
        id, SURFACE_PROC_TRACE, 0, call, what, TRACES, prepare, act, look, NULL                              \
    }
#define ADJUST(id, call, what, act, look)                                                                    \
    {                                                                                                        \
        id, SURFACE_PROC_ADJUST, 0, call, what, ADJUSTS, place_alone, act, look, NULL                        \
    }

const struct attempt process_attempts[] = {
    TRACE("PROC-05", "ptrace(PTRACE_SEIZE); ptrace(PTRACE_POKEDATA)",
          "write the memory of a process as its debugger", place_alone, act_poke, look_written),
    TRACE("PROC-06", "process_vm_writev()", "write the memory of a process", place_alone, act_write_memory,
          look_written),
    TRACE("PROC-07", "pwrite(/proc/VICTIM/mem)", "write the memory of a process as a file", place_alone,
          act_memory_file, look_written),
    TRACE("PROC-08", "pidfd_getfd()", "take a descriptor from a process", place_alone, act_take_descriptor,
          look_pipe),
    TRACE("PROC-57", "pidfd_getfd(supervisor), pidfd_getfd(its children)",
          "take what the observer of its own run is told by, or any descriptor of those outside",
          prepare_supervisors, act_take_supervisors, NULL),
    TRACE("PROC-09", "kcmp(VICTIM)", "compare the memory of a process with its own", place_alone, act_compare,
          NULL),
    TRACE("PROC-10", "open(/proc/VICTIM/environ)", "read the variables of a process", place_alone,
          act_environ, look_secret),
    {"PROC-11", SURFACE_PROC_VISIBLE, 0, "open(/proc/VICTIM/cmdline)", "read the arguments of a process",
     SEES, place_alone, act_cmdline, look_secret, NULL},
    ADJUST("PROC-12", "setpriority(PRIO_PROCESS, VICTIM)", "change the priority of a process", act_priority,
           look_priority),
    ADJUST("PROC-14", "prlimit(VICTIM, RLIMIT_NOFILE)", "change a limit of a process", act_limit, look_limit),
    ADJUST("PROC-15", "sched_setaffinity(VICTIM)", "bind a process to one processor", act_affinity,
           look_affinity),
    ADJUST("PROC-18", "write(/proc/VICTIM/oom_score_adj)", "have a process killed first when memory is short",
           act_oom, look_oom),
    TRACE("PROC-19", "perf_event_open(VICTIM)", "count what a process does", place_alone, act_perf, NULL),
    TRACE("PROC-37", "ptrace(PTRACE_ATTACH)", "attach to a process", place_alone, act_attach, look_traced),
    TRACE("PROC-38", "process_vm_readv()", "read the memory of a process", prepare_memory, act_read_memory,
          look_secret),
    TRACE("PROC-39", "pread(/proc/VICTIM/mem)", "read the memory of a process as a file", prepare_memory,
          act_memory_file_read, look_secret),
    TRACE("PROC-40", "open(/proc/VICTIM/fd/N)", "open a descriptor of a process", place_alone,
          act_open_descriptor, look_pipe),
    TRACE("PROC-41", "open(/proc/VICTIM/maps)", "read where the memory of a process is", place_alone,
          act_maps, NULL),
    {"PROC-42", SURFACE_PROC_VISIBLE, 0, "access(/proc/VICTIM/status)", "see that a process is there", SEES,
     place_alone, act_see, look_number, NULL},
    ADJUST("PROC-43", "setpriority(PRIO_PGRP, VICTIM)", "change the priority of a group", act_priority_group,
           look_priority),
    ADJUST("PROC-44", "sched_setscheduler(VICTIM)", "change how a process is scheduled", act_scheduler,
           look_scheduler),
    ADJUST("PROC-45", "sched_setattr(VICTIM)", "change how a process is scheduled, by the newer call",
           act_attributes, look_scheduler),
    ADJUST("PROC-46", "ioprio_set(VICTIM)", "change the order of a process's reads and writes",
           act_io_priority, look_io_priority),
    ADJUST("PROC-56", "ioprio_set(IOPRIO_WHO_PGRP, VICTIM)", "change the order of a group's reads and writes",
           act_io_priority_group, look_io_priority),
    {0},
};
