/*
 * test-observe.c - what a name means, held against the kernel's own answer; what the observer can still do.
 */
#include "harness.h"

#include "links/kernel_abi.h"
#include "observe/base.h"
#include "observe/evaluate.h"
#include "observe/memory.h"
#include "observe/paths.h"
#include "observe/retreat.h"
#include "util/util.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* --- names -----------------------------------------------------------------------------------------------
 */

static unsigned state = 7;

static unsigned dice(unsigned sides)
{
    state = state * 1664525U + 1013904223U;
    return (state >> 9) % sides;
}

/* A tree in which every way of a name to be another one is there. */
static void make_tree(void)
{
    char absolute[PATH_MAX];

    need(chdir(test_dir) == 0);
    need(mkdir("a", 0755) == 0 && mkdir("a/b", 0755) == 0 && mkdir("c", 0755) == 0);
    need(close(open("a/f", O_CREAT | O_WRONLY, 0644)) == 0 &&
         close(open("f", O_CREAT | O_WRONLY, 0644)) == 0);
    need(symlink("../c", "a/up") == 0 && symlink("a/b", "down") == 0 && symlink("loop", "loop") == 0);
    need(symlink("nothing", "dangling") == 0 && symlink("c/nothing", "far") == 0 &&
         symlink(".", "here") == 0);
    need(symlink("f/", "slash") == 0 && symlink("a/../c/./", "dots") == 0);
    need(snprintf(absolute, sizeof(absolute), "%s/a", test_dir) > 0 && symlink(absolute, "c/abs") == 0);
    need(symlink("/proc/self/cwd/a", "magic") == 0 && symlink("/", "c/root") == 0);
}

static void make_name(char *name, size_t size)
{
    static const char *const parts[] = {"a",        "b",   "c",    "f",     "up",   "down",  "loop",
                                        "dangling", "far", "here", "slash", "abs",  "dots",  "magic",
                                        "new",      "..",  ".",    "",      "root", "tmp",   "proc",
                                        "self",     "cwd", "fd",   "0",     "etc",  "passwd"};
    size_t length = 0, count = 1 + dice(6);

    name[0] = '\0';
    if (dice(6) == 0)
        length = (size_t)snprintf(name, size, "%s/", dice(2) ? test_dir : "");
    for (size_t i = 0; i < count; i++)
        length += (size_t)snprintf(name + length, size - length, "%s%s", i > 0 ? "/" : "",
                                   parts[dice(ARRAY_SIZE(parts))]);
    if (dice(8) == 0)
        snprintf(name + length, size - length, "/");
}

/* What the kernel finds. Return: whether there is something, with its name. */
static bool find(int directory, const char *name, bool follow, char *path)
{
    int fd = openat(directory, name, O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));
    bool found = fd >= 0 && path_of(fd, path, OBSERVE_PATH) > 0;

    if (fd >= 0)
        close(fd);
    return found;
}

TEST(names_are_what_the_kernel_takes_them_for)
{
    static struct target target;
    static char name[PATH_MAX], path[OBSERVE_PATH];
    unsigned there = 0, missing = 0;
    int directory;

    make_tree();
    directory = open("a", O_RDONLY | O_DIRECTORY);
    need(directory >= 0);
    for (int i = 0; i < 20000; i++) {
        bool follow = dice(2), found;
        int at = dice(4) == 0 ? directory : AT_FDCWD;

        make_name(name, sizeof(name));
        found = find(at, name, follow, path);
        target_resolve(&target, getpid(), at, name, follow);
        if (found != (target.object >= 0) || (found && strcmp(path, target.path) != 0)) {
            printf("# %s %d %s: the kernel %s, we %s errno %d\n", name, follow,
                   at == AT_FDCWD ? "" : "below a", found ? path : "nothing", target.path, target.errnum);
            check(false);
            return;
        }
        there += found;
        if (!found && target.errnum == 0 && !target.unreadable) {
            /* A free name: its directory is there, and nothing of this name in it. */
            char *slash = strrchr(target.path, '/');
            struct stat st;

            need(slash);
            missing++;
            if (lstat(target.path, &st) == 0 || errno != ENOENT) {
                printf("# %s %d: %s is no free name\n", name, follow, target.path);
                check(false);
                return;
            }
        }
        target_close(&target);
    }
    check(there > 1000);
    check(missing > 1000);
}

TEST(a_guess_is_right_or_none)
{
    static struct target target, guess;

    make_tree();
    target_resolve(&target, getpid(), AT_FDCWD, "a/new", false);
    check_int(target.errnum, 0);
    target_close(&target);
    for (int follow = 0; follow < 2; follow++) {
        check(target_guess(&guess, getpid(), AT_FDCWD, "a/other", follow));
        check_str(strrchr(guess.path, '/'), "/other");
        check(target_guess(&guess, getpid(), AT_FDCWD, "a/f", follow));
        check(!target_guess(&guess, getpid(), AT_FDCWD, "c/other", follow));
        check(!target_guess(&guess, getpid(), AT_FDCWD, "down/other", follow));
        check(!target_guess(&guess, getpid(), AT_FDCWD, "a/../c/other", follow));
        check(!target_guess(&guess, getpid(), AT_FDCWD, "a/", follow));
        check(!target_guess(&guess, getpid(), AT_FDCWD, "a/.", follow));
        check_int(target_guess(&guess, getpid(), AT_FDCWD, "a/up", follow), !follow);
    }
}

/* And what has been guessed is found alike, link or not. */
TEST(a_guess_is_what_is_found)
{
    static struct target target, guess;
    static char name[PATH_MAX];
    unsigned guessed = 0;

    make_tree();
    for (int i = 0; i < 5000; i++) {
        bool follow = dice(2);

        make_name(name, sizeof(name));
        target_resolve(&target, getpid(), AT_FDCWD, name, follow);
        target_close(&target);
        if (target_guess(&guess, getpid(), AT_FDCWD, name, follow)) {
            check_str(guess.path, target.path);
            check(!follow || !target.is_link);
            guessed++;
        }
    }
    check(guessed > 100);
}

static void check_begins(int directory, const char *where)
{
    static struct target target;
    char expected[PATH_MAX];

    need(snprintf(expected, sizeof(expected), "%s/%s/new", test_dir, where) > 0);
    base_forget();
    target_resolve(&target, getpid(), directory, "new", false);
    check_str(target.path, expected);
    target_close(&target);
}

/* A link that is kept open leads where the thread is now. */
TEST(where_a_name_begins_is_looked_at_each_time)
{
    static struct target target;
    int directory, other;

    make_tree();
    directory = open("a", O_PATH);
    need(directory >= 0);
    for (int i = 0; i < 6; i++) {
        const char *where = i % 2 ? "a/b" : "c";

        need(chdir(test_dir) == 0);
        other = open(where, O_PATH);
        need(other >= 0 && dup2(other, directory) == directory && close(other) == 0 && chdir(where) == 0);
        check_begins(AT_FDCWD, where);
        check_begins(directory, where);
    }
    need(close(directory) == 0);
    base_forget();
    target_resolve(&target, getpid(), directory, "new", false);
    check(target.unreadable);
    target_close(&target);
    check_begins(AT_FDCWD, "a/b");
}

TEST(a_string_ends_where_its_memory_does)
{
    char *pages = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), room[64];

    need(pages != MAP_FAILED && munmap(pages + 4096, 4096) == 0);
    memcpy(pages + 4096 - 4, "end", 4);
    check_int(memory_text(getpid(), (uintptr_t)pages + 4096 - 4, room, sizeof(room)), 3);
    check_str(room, "end");
    memcpy(pages + 4096 - 3, "end", 3);
    check_int(memory_text(getpid(), (uintptr_t)pages + 4096 - 3, room, sizeof(room)), -EFAULT);
    check_int(memory_text(getpid(), 0, room, sizeof(room)), -EFAULT);
    memset(pages, 'x', 100);
    check_int(memory_text(getpid(), (uintptr_t)pages, room, sizeof(room)), -ENAMETOOLONG);
}

/* Who may not read asks who may: here one who has the same at the same address, and answers as it is told. */
enum answers { HONEST, LATE_FIRST, REFUSED, TOO_MUCH, NEVER };

static void answer_requests(int fd, enum answers how)
{
    struct memory_request request;
    static struct memory_answer answer;

    while (how != NEVER && read(fd, &request, sizeof(request)) == sizeof(request)) {
        const size_t head = offsetof(struct memory_answer, bytes);
        size_t size = (size_t)request.size;

        memcpy(answer.bytes, (const void *)(uintptr_t)request.address, size);
        answer.errnum = how == REFUSED ? EFAULT : 0;
        answer.number = request.number - 1;
        if (how == LATE_FIRST)
            need(write(fd, &answer, head) > 0);
        answer.number = request.number;
        if (how == TOO_MUCH)
            size++;
        need(write(fd, &answer, head + (how == REFUSED ? 0 : size)) > 0);
    }
    for (;;)
        pause();
}

static void be_unreadable(int fd, enum answers how)
{
    (void)how;
    need(prctl(PR_SET_DUMPABLE, 0) == 0 && write(fd, "", 1) == 1);
    for (;;)
        pause();
}

static pid_t in_child(void (*act)(int, enum answers), int fd, enum answers how)
{
    pid_t pid = fork();

    need(pid >= 0);
    if (pid == 0) {
        need(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
        act(fd, how);
        _exit(0);
    }
    return pid;
}

static void read_by_another(enum answers how, ssize_t expected)
{
    static const char name[64] = "a/name/of/the/command"; /* as much as is asked for */
    const struct timeval limit =
        how == NEVER ? (struct timeval){.tv_usec = 1000} : (struct timeval){.tv_sec = 60};
    int asking[2], told[2];
    pid_t target, answering;
    char room[sizeof(name)], byte;

    need(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, asking) == 0 && pipe(told) == 0);
    need(setsockopt(asking[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0);
    if (geteuid() == 0)
        need(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
    target = in_child(be_unreadable, told[1], HONEST);
    need(read(told[0], &byte, 1) == 1);
    answering = in_child(answer_requests, asking[1], how);
    memory_ask_at(-1);
    check_int(memory_text(target, (uintptr_t)name, room, sizeof(room)), -EPERM);
    memory_ask_at(asking[0]);
    for (int i = 0; i < 2; i++) { /* the second time it is asked at once */
        memset(room, 0, sizeof(room));
        check_int(memory_text(target, (uintptr_t)name, room, sizeof(room)), expected);
        if (expected > 0)
            check_str(room, name);
    }
    memory_ask_at(-1);
    kill(target, SIGKILL);
    kill(answering, SIGKILL);
}

TEST(what_may_not_be_read_is_asked_for)
{
    read_by_another(HONEST, strlen("a/name/of/the/command"));
}

TEST(an_answer_to_another_question_is_passed_over)
{
    read_by_another(LATE_FIRST, strlen("a/name/of/the/command"));
}

TEST(an_answer_can_be_an_error)
{
    read_by_another(REFUSED, -EFAULT);
}

TEST(an_answer_that_is_too_long_is_none)
{
    read_by_another(TOO_MUCH, -EPERM);
}

TEST(nobody_answers)
{
    read_by_another(NEVER, -EPERM);
}

/* --- verdicts --------------------------------------------------------------------------------------------
 */

static const struct verdict_row {
    const char *name;
    bool view, layer;
    enum denial_operation operation;
    struct object object;
    enum answer answer;
    enum denial_rule rule;
} verdict_rows[] = {
    {"inside", false, true, DENIAL_CREATE, {.path = "/ws/x"}, ANSWER_ALLOWED, 0},
    {"outside", false, true, DENIAL_CREATE, {.path = "/etc/x"}, ANSWER_REFUSED, DENIAL_BY_DEFAULT},
    {"a name that only begins alike",
     false,
     true,
     DENIAL_CREATE,
     {.path = "/wsx"},
     ANSWER_REFUSED,
     DENIAL_BY_DEFAULT},
    {"granted by another name",
     false,
     true,
     DENIAL_WRITE,
     {.path = "/mnt/x", .exists = true, .type = S_IFREG, .granted = true},
     ANSWER_ALLOWED,
     0},
    {"no layer, and nothing read-only",
     true,
     false,
     DENIAL_WRITE,
     {.path = "/etc/x", .exists = true, .type = S_IFREG},
     ANSWER_ALLOWED,
     0},
    {"a read-only mount",
     true,
     false,
     DENIAL_WRITE,
     {.path = "/etc/x", .exists = true, .type = S_IFREG, .read_only = true},
     ANSWER_REFUSED,
     DENIAL_BY_DEFAULT},
    {"read-only for everybody",
     true,
     true,
     DENIAL_WRITE,
     {.path = "/cd/x", .exists = true, .type = S_IFREG, .read_only = true, .read_only_outside = true},
     ANSWER_ALLOWED,
     0},
    {"the mode comes first",
     false,
     true,
     DENIAL_WRITE,
     {.path = "/etc/x", .exists = true, .type = S_IFREG, .by_mode = true, .mode_first = true},
     ANSWER_BY_MODE,
     0},
    {"the mode comes last",
     false,
     true,
     DENIAL_CREATE,
     {.path = "/etc/x", .by_mode = true},
     ANSWER_REFUSED,
     DENIAL_BY_DEFAULT},
    {"a device on a read-only mount",
     true,
     false,
     DENIAL_WRITE,
     {.path = "/dev/null", .exists = true, .type = S_IFCHR, .read_only = true},
     ANSWER_ALLOWED,
     0},
    {"removing nothing", false, true, DENIAL_REMOVE, {.path = "/etc/x"}, ANSWER_ALLOWED, 0},
    {"moved to where nothing is",
     false,
     true,
     DENIAL_RENAME,
     {.path = "/etc/x", .arrives = true},
     ANSWER_REFUSED,
     DENIAL_BY_DEFAULT},
    {"metadata without mounts",
     false,
     true,
     DENIAL_METADATA,
     {.path = "/etc/x", .exists = true, .type = S_IFREG},
     ANSWER_ALLOWED,
     0},
    {"protected",
     true,
     true,
     DENIAL_WRITE,
     {.path = "/ws/.git/hooks/x", .exists = true, .type = S_IFREG},
     ANSWER_REFUSED,
     DENIAL_BY_PROTECT},
    {"what holds something protected",
     true,
     true,
     DENIAL_RENAME,
     {.path = "/ws/.git", .exists = true, .type = S_IFDIR},
     ANSWER_REFUSED,
     DENIAL_BY_PROTECT},
    {"the name of what is granted, and something protected below it",
     true,
     true,
     DENIAL_REMOVE,
     {.path = "/ws", .as_name = true, .exists = true, .type = S_IFDIR, .read_only = true},
     ANSWER_REFUSED,
     DENIAL_BY_DEFAULT},
    {"the same without mounts",
     false,
     true,
     DENIAL_RENAME,
     {.path = "/ws", .as_name = true, .exists = true, .type = S_IFDIR},
     ANSWER_REFUSED,
     DENIAL_BY_DEFAULT},
    {"what is granted itself",
     false,
     true,
     DENIAL_CREATE,
     {.path = "/ws", .exists = true, .type = S_IFDIR},
     ANSWER_ALLOWED,
     0},
    {"beside what is protected",
     true,
     true,
     DENIAL_WRITE,
     {.path = "/ws/.git/config", .exists = true, .type = S_IFREG},
     ANSWER_ALLOWED,
     0},
};

TEST_EACH(a_verdict, struct verdict_row, verdict_rows)
{
    struct resolved_path paths[] = {{.fd = -1, .path = (char *)(uintptr_t) "/ws", .grant = GRANT_WRITE}};
    char *held[] = {(char *)(uintptr_t) "/ws/.git/hooks", NULL};
    struct policy policy = {.network = NETWORK_NONE};
    struct resolved resolved = {
        .policy = &policy, .paths = paths, .path_count = 1, .protected_paths = {held, 1}};
    struct rules rules = {
        .resolved = &resolved, .view = row->view, .layer = row->layer, .protects = row->view};
    struct verdict verdict = evaluate_change(&rules, row->operation, &row->object);

    check_int(verdict.answer, row->answer);
    if (row->answer == ANSWER_REFUSED)
        check_int(verdict.rule, row->rule);
}

/* --- what is given up ------------------------------------------------------------------------------------
 */

static int open_to_read(void)
{
    return (int)kernel_call(SYS_openat, AT_FDCWD, KERNEL_PTR("/dev/null"), O_RDONLY, 0, 0, 0);
}

static int open_to_look(void)
{
    return open_only(AT_FDCWD, "/", 0);
}

static int make_socket(void)
{
    return (int)kernel_call(SYS_socket, AF_UNIX, SOCK_STREAM, 0, 0, 0, 0);
}

static int make_process(void)
{
    return (int)kernel_call(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
}

static int execute(void)
{
    return (int)kernel_call(SYS_execve, KERNEL_PTR("/bin/true"), 0, 0, 0, 0, 0);
}

static int other_ioctl(void)
{
    return (int)kernel_call(SYS_ioctl, 0, 0x5401, 0, 0, 0, 0);
}

static int write_memory(void)
{
    return (int)kernel_call(SYS_process_vm_writev, 1, 0, 0, 0, 0, 0);
}

static int signal_others(void)
{
    return (int)kernel_call(SYS_kill, getpid(), 0, 0, 0, 0, 0);
}

static int map_code(void)
{
    return (int)kernel_call(SYS_mmap, 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static const struct kept_row {
    const char *name;
    int (*act)(void);
    bool kept;
} kept_rows[] = {
    {"looking", open_to_look, true},
    {"reading a file", open_to_read, false},
    {"a socket", make_socket, false},
    {"a process", make_process, false},
    {"an exec", execute, false},
    {"another ioctl", other_ioctl, false},
    {"writing memory", write_memory, false},
    {"signals", signal_others, false},
    {"new code", map_code, false},
};

TEST_EACH(the_observer_has_given_up, struct kept_row, kept_rows)
{
    struct resolved resolved = {.uid = getuid(), .gid = getgid()};
    struct observe_setup setup = {.reader = -1, .resolved = &resolved, .supervisor = getpid()};
    int ends[2], status = 0;
    pid_t pid;

#ifdef __SANITIZE_ADDRESS__
    if (row->kept)
        test_skip("the sanitizer makes calls of its own");
#endif
    need(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    setup.wire = fcntl(ends[1], F_DUPFD, 100);
    pid = fork();
    need(pid >= 0);
    if (pid == 0) {
        if (retreat(&setup) != 0)
            _exit(9);
        _exit(row->act() >= 0 ? 0 : 1);
    }
    need(waitpid(pid, &status, 0) == pid);
    if (row->kept)
        check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    else
        check(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}
