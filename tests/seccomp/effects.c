/*
 * effects.c - what the rules prevent and what they leave alone, by real acts.
 *
 * Each act is done three ways: bare (it has its effect, or the test says that
 * this machine has no control for it), behind the filter (the effect, looked
 * at from outside, is absent), and behind a filter without the rule.
 */
#include "filter.h"

#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define VICTIM_UID 61234

extern char **environ;

/* The three ways to do an act: without the filter, behind it, behind one without the rule at hand. */
enum way { BARE, WHOLE, DROPPED, WAYS };

static pid_t victim;
static char path[PATH_MAX];

static void start_victim(bool other_user)
{
    int ready[2];
    char byte;

    need(pipe(ready) == 0);
    victim = fork();
    if (victim == 0) {
        setpgid(0, 0);
        if (other_user && setresuid(VICTIM_UID, VICTIM_UID, VICTIM_UID) != 0)
            _exit(1);
        if (write(ready[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ready[1]);
    need(victim > 0 && read(ready[0], &byte, 1) == 1);
    close(ready[0]);
}

static void end_victim(void)
{
    kill(victim, SIGKILL);
    need(waitpid(victim, NULL, 0) == victim);
}

/* -- other processes: acts, and their effect on the victim ---------------------------------------------- */

static int act_affinity(void)
{
    cpu_set_t set;
    int first = 0;

    need(sched_getaffinity(0, sizeof(set), &set) == 0); /* not every processor need be ours */
    while (!CPU_ISSET(first, &set))
        first++;
    CPU_ZERO(&set);
    CPU_SET(first, &set);
    return answer(syscall(SYS_sched_setaffinity, victim, sizeof(set), &set));
}

static int see_affinity(void)
{
    cpu_set_t set;

    need(sched_getaffinity(victim, sizeof(set), &set) == 0);
    return CPU_COUNT(&set) == 1;
}

static int act_scheduler(void)
{
    struct sched_param param = {0};

    return answer(syscall(SYS_sched_setscheduler, victim, SCHED_BATCH, &param));
}

static int see_scheduler(void)
{
    return sched_getscheduler(victim) == SCHED_BATCH;
}

static int act_attributes(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t rest[3];
    } attributes = {.size = 48, .nice = 9};

    return answer(syscall(SYS_sched_setattr, victim, &attributes, 0));
}

static int act_priority(void)
{
    return answer(syscall(SYS_setpriority, PRIO_PROCESS, victim, 9));
}

static int act_priority_group(void)
{
    return answer(syscall(SYS_setpriority, PRIO_PGRP, victim, 9));
}

static int act_priority_user(void)
{
    return answer(syscall(SYS_setpriority, PRIO_USER, VICTIM_UID, 9));
}

static int see_priority(void)
{
    return getpriority(PRIO_PROCESS, (id_t)victim) == 9;
}

#define IDLE (3 << 13) /* an I/O priority class */

static int act_ioprio(void)
{
    return answer(syscall(SYS_ioprio_set, 1, victim, IDLE));
}

static int act_ioprio_group(void)
{
    return answer(syscall(SYS_ioprio_set, 2, victim, IDLE));
}

static int act_ioprio_user(void)
{
    return answer(syscall(SYS_ioprio_set, 3, VICTIM_UID, IDLE));
}

static int see_ioprio(void)
{
    return syscall(SYS_ioprio_get, 1, victim) == IDLE;
}

static int act_limit(void)
{
    struct rlimit limit = {33, 44};

    return answer(syscall(SYS_prlimit64, victim, RLIMIT_NOFILE, &limit, NULL));
}

static int see_limit(void)
{
    struct rlimit limit;

    need(prlimit(victim, RLIMIT_NOFILE, NULL, &limit) == 0);
    return limit.rlim_cur == 33;
}

static const struct adjust {
    const char *name, *rule;
    int (*act)(void), (*see)(void);
    int answer;
    bool root; /* a victim of another user, or other processes of the own one would be reached */
} adjusts[] = {
    {"affinity", "scheduler-other", act_affinity, see_affinity, 0, false},
    {"scheduler", "scheduler-other", act_scheduler, see_scheduler, 0, false},
    {"attributes", "scheduler-other", act_attributes, see_priority, 0, false},
    {"priority", "priority-other", act_priority, see_priority, 0, false},
    {"priority of a group", "priority-group", act_priority_group, see_priority, EPERM, false},
    {"priority of a user", "priority-user", act_priority_user, see_priority, EPERM, true},
    {"I/O priority", "ioprio-other", act_ioprio, see_ioprio, 0, false},
    {"I/O priority of a group", "ioprio-group", act_ioprio_group, see_ioprio, EPERM, false},
    {"I/O priority of a user", "ioprio-user", act_ioprio_user, see_ioprio, EPERM, true},
    {"limit", "prlimit-other", act_limit, see_limit, EPERM, false},
};

TEST_EACH(another_process_is_not_adjusted, struct adjust, adjusts)
{
    if (row->root && geteuid() != 0)
        test_skip("would adjust other processes of this user");
    for (int way = BARE; way < WAYS; way++) {
        int seen;

        start_victim(row->root);
        if (row->see()) {
            end_victim();
            test_skip("no control: it is so already"); /* one processor */
        }
        check_int(ask(way != BARE, way == DROPPED ? row->rule : NULL, NULL, row->act),
                  way == WHOLE ? row->answer : 0);
        seen = row->see();
        end_victim();
        if (way == BARE && !seen)
            test_skip("no control: it has no effect here");
        check_int(seen, way != WHOLE);
    }
}

static int act_own(void)
{
    cpu_set_t set;
    struct rlimit limit;
    struct sched_param param = {0};
    pid_t own = (pid_t)syscall(SYS_gettid);

    /* By the own number, as C libraries do: it must not fail. By 0 it has its effect. */
    if (sched_getaffinity(0, sizeof(set), &set) != 0 || sched_setaffinity(own, sizeof(set), &set) != 0 ||
        pthread_setaffinity_np(pthread_self(), sizeof(set), &set) != 0 ||
        setpriority(PRIO_PROCESS, own, 1) != 0 || sched_setscheduler(own, SCHED_BATCH, &param) != 0 ||
        pthread_setschedparam(pthread_self(), 0, &param) != 0)
        return 1;
    if (setpriority(PRIO_PROCESS, 0, 19) != 0 || getpriority(PRIO_PROCESS, 0) != 19)
        return 2;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 3;
    return prlimit(victim, RLIMIT_NOFILE, NULL, &limit) != 0 ? 4 : 0;
}

/* In an own pid namespace there is nobody else: all has its effect. */
TEST_EACH(with_namespaces_a_process_is_adjusted, struct adjust, adjusts)
{
    if (row->root && geteuid() != 0)
        test_skip("would adjust other processes of this user");
    ask_set = "namespace";
    for (int way = BARE; way <= WHOLE; way++) {
        int seen;

        start_victim(row->root);
        if (row->see()) {
            end_victim();
            test_skip("no control: it is so already"); /* one processor */
        }
        check_int(ask(way != BARE, NULL, NULL, row->act), 0);
        seen = row->see();
        end_victim();
        if (way == BARE && !seen)
            test_skip("no control: it has no effect here");
        check_int(seen, 1);
    }
}

TEST(the_own_process_may_be_adjusted)
{
    start_victim(false);
    check_int(ask(true, NULL, NULL, act_own), 0);
    end_victim();
}

/* -- set-id bits -------------------------------------------------------------------------------------------
 */

static void make_file(const char *text)
{
    int fd;

    snprintf(path, sizeof(path), "%.4000s/file", test_dir);
    unlink(path);
    if (!text)
        return;
    fd = open(path, O_WRONLY | O_CREAT, 0644);
    need(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

static int act_chmod(void)
{
    return answer(chmod(path, 04755));
}

static int act_fchmod(void)
{
    return answer(fchmod(open(path, O_RDONLY), 02755));
}

static int act_fchmodat(void)
{
    return answer(syscall(SYS_fchmodat, AT_FDCWD, path, 06755));
}

static int act_fchmodat2(void)
{
    return answer(syscall(SYS_fchmodat2, AT_FDCWD, path, 04755, 0));
}

static int act_openat(void)
{
    return answer(syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_WRONLY, 04755));
}

static int act_tmpfile(void)
{
    char name[64];
    int fd = (int)syscall(SYS_openat, AT_FDCWD, test_dir, O_TMPFILE | O_WRONLY, 04755);

    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    return fd < 0 ? errno : answer(linkat(AT_FDCWD, name, AT_FDCWD, path, AT_SYMLINK_FOLLOW));
}

static int act_mknodat(void)
{
    return answer(mknodat(AT_FDCWD, path, S_IFREG | 04755, 0));
}

#if defined(__x86_64__)
static int act_open(void)
{
    return answer(syscall(SYS_open, path, O_CREAT | O_WRONLY, 04755));
}

static int act_creat(void)
{
    return answer(syscall(SYS_creat, path, 04755));
}

static int act_mknod(void)
{
    return answer(syscall(SYS_mknod, path, S_IFREG | 04755, 0));
}
#endif

static const struct set_id {
    const char *name, *rule;
    int (*act)(void);
    bool makes;
} set_ids[] = {
    {"fchmod", "set-id-chmod", act_fchmod, false},
    {"fchmodat", "set-id-chmod-at", act_fchmodat, false},
    {"fchmodat2", "set-id-chmod-at", act_fchmodat2, false},
    {"openat", "set-id-openat", act_openat, true},
    {"O_TMPFILE", "set-id-openat", act_tmpfile, true},
    {"mknodat", "set-id-make-at", act_mknodat, true},
#if defined(__x86_64__)
    {"chmod", "set-id-chmod", act_chmod, false},
    {"open", "set-id-open", act_open, true},
    {"creat", "set-id-make", act_creat, true},
    {"mknod", "set-id-make", act_mknod, true},
#else
    {"chmod", "set-id-chmod-at", act_chmod, false},
#endif
};

static void try_set_id(const struct set_id *row)
{
    for (int way = BARE; way < WAYS; way++) {
        struct stat file = {0};
        int errnum;

        make_file(row->makes ? NULL : "x");
        errnum = ask(way != BARE, way == DROPPED ? row->rule : NULL, NULL, row->act);
        if (errnum == ENOSYS || errnum == EOPNOTSUPP)
            test_skip("not in this kernel or file system");
        check_int(errnum, way == WHOLE ? EPERM : 0);
        check(stat(path, &file) == 0 || (row->makes && way == WHOLE));
        check_int((file.st_mode & 06000) != 0, way != WHOLE);
    }
}

TEST_EACH(a_set_id_bit_is_not_set, struct set_id, set_ids)
{
    try_set_id(row);
}

TEST_EACH(with_namespaces_a_set_id_bit_is_not_set, struct set_id, set_ids)
{
    ask_set = "namespace";
    try_set_id(row);
}

static int act_ordinary_modes(void)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

    if (fd < 0 || fchmod(fd, 0755) != 0 || chmod(path, 0640) != 0 || fchmodat(AT_FDCWD, path, 01777, 0) != 0)
        return errno;
    return answer(ftruncate(fd, 0) | mkdir(strcat(path, ".d"), 0755));
}

TEST(ordinary_modes_are_set)
{
    make_file("x");
    check_int(ask(true, NULL, NULL, act_ordinary_modes), 0);
    ask_set = "namespace";
    check_int(rmdir(strcat(path, ".d")), 0);
    make_file("x");
    check_int(ask(true, NULL, NULL, act_ordinary_modes), 0);
}

/* -- truncation: the holes of Landlock below ABI 3 ---------------------------------------------------- */

static int act_truncate(void)
{
    return answer(truncate(path, 0));
}

static int act_truncate_read_only(void)
{
    return answer(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_TRUNC));
}

static int act_truncate_neither(void)
{
    return answer(syscall(SYS_openat, AT_FDCWD, path, O_ACCMODE | O_TRUNC));
}

/* Landlock as ABI 2 has it, with the right to read everywhere. */
static int restrict_as_abi_2(void)
{
    struct {
        uint64_t fs;
    } attributes = {0x3fff};
    struct __attribute__((packed)) {
        uint64_t allowed;
        int32_t parent;
    } rule = {1 << 2 | 1 << 3, open("/", O_PATH | O_CLOEXEC)};
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0);

    if (ruleset < 0 || syscall(SYS_landlock_add_rule, ruleset, 1, &rule, 0) != 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
        return -1;
    return open(path, O_WRONLY) < 0 && errno == EACCES ? 0 : -1;
}

static int old_truncate(void)
{
    return restrict_as_abi_2() ? 200 : act_truncate();
}

static int old_read_only(void)
{
    return restrict_as_abi_2() ? 200 : act_truncate_read_only();
}

static int old_neither(void)
{
    return restrict_as_abi_2() ? 200 : act_truncate_neither();
}

static const struct hole {
    const char *name, *rule;
    int (*act)(void);
    int answer;
} holes[] = {
    {"truncate", "truncate", act_truncate, EPERM},
    {"read-only", "truncate-openat", act_truncate_read_only, EPERM},
    {"neither read nor write", "openat-neither", act_truncate_neither, EACCES},
    {"truncate behind Landlock ABI 2", "truncate", old_truncate, EPERM},
    {"read-only behind Landlock ABI 2", "truncate-openat", old_read_only, EPERM},
    {"neither read nor write behind Landlock ABI 2", "openat-neither", old_neither, EACCES},
};

TEST_EACH(a_file_is_not_emptied, struct hole, holes)
{
    for (int way = BARE; way < WAYS; way++) {
        struct stat file;
        int errnum;

        make_file("content");
        errnum = ask(way != BARE, way == DROPPED ? row->rule : NULL, NULL, row->act);
        if (errnum == 200)
            test_skip("no Landlock here");
        need(stat(path, &file) == 0);
        check_int(errnum, way == WHOLE ? row->answer : 0);
        check_int(file.st_size, way == WHOLE ? 7 : 0);
    }
}

/* Mounts hold the files there; but nothing is opened for neither reading nor writing. */
TEST_EACH(with_namespaces_a_file_is_emptied, struct hole, holes)
{
    bool refused = strcmp(row->rule, "openat-neither") == 0;
    struct stat file;
    int errnum;

    ask_set = "namespace";
    make_file("content");
    errnum = ask(true, NULL, NULL, row->act);
    if (errnum == 200)
        test_skip("no Landlock here");
    need(stat(path, &file) == 0);
    check_int(errnum, refused ? row->answer : 0);
    check_int(file.st_size, refused ? 7 : 0);
}
