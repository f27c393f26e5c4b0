/*
 * link.c - seccomp-run as a program: its words, its failures, lying kernels,
 * nesting, and that what it loads is what was generated.
 */
#include "filter.h"

#include <sys/ptrace.h>
#include <sys/user.h>

#define WORDS 24

struct outcome {
    int status; /* exit status, 128 + signal */
    char out[512], err[1024];
};

#define ANY UINT32_MAX

/* A filter that answers one call, with this first argument, with an errno; 0 is a kernel that lies. */
struct liar {
    uint32_t nr, first;
    uint32_t answer;
};

static int read_all(int fd, char *text, size_t size)
{
    size_t at = 0;
    ssize_t got;

    while (at + 1 < size && (got = read(fd, text + at, size - 1 - at)) > 0)
        at += (size_t)got;
    text[at] = '\0';
    return close(fd);
}

static void load_liar(const struct liar *liar)
{
    struct sock_filter code[] = {{FILTER_LOAD, 0, 0, FILTER_DATA_NR},
                                 {FILTER_IF_EQUAL, 0, 3, liar->nr},
                                 {FILTER_LOAD, 0, 0, FILTER_DATA_ARGS},
                                 {FILTER_IF_EQUAL, 0, 1, liar->first},
                                 {FILTER_RETURN, 0, 0, SECCOMP_RET_ERRNO | liar->answer},
                                 {FILTER_RETURN, 0, 0, SECCOMP_RET_ALLOW}};

    if (liar->first == ANY)
        code[3] = (struct sock_filter){FILTER_JUMP, 0, 0, 0};
    if (filter_load(code, 6) != 0)
        _exit(126);
}

/* Runs seccomp-run with these words, or WORDS[0] itself when it holds a slash. */
static void run(struct outcome *outcome, const struct liar *liar, const char *const *words)
{
    static char link[PATH_MAX];
    const char *argv[WORDS + 2];
    int out[2], err[2], status, count = 0;
    pid_t child;

    snprintf(link, sizeof(link), "%s/seccomp-run", need_environment("CONFINE_LINKS"));
    if (!words[0] || !strchr(words[0], '/'))
        argv[count++] = link;
    for (int i = 0; i < WORDS && words[i]; i++)
        argv[count++] = strcmp(words[i], "LINK") == 0 ? link : words[i];
    argv[count] = NULL;
    need(pipe(out) == 0 && pipe(err) == 0);
    child = fork();
    if (child == 0) {
        dup2(out[1], STDOUT_FILENO);
        dup2(err[1], STDERR_FILENO);
        if (liar)
            load_liar(liar);
        execv(argv[0], (char **)argv);
        _exit(127);
    }
    close(out[1]);
    close(err[1]);
    read_all(out[0], outcome->out, sizeof(outcome->out));
    read_all(err[0], outcome->err, sizeof(outcome->err));
    need(child > 0 && waitpid(child, &status, 0) == child);
    outcome->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* One line `seccomp-run: fatal: ...`, status 125, and the command did not run. */
static void check_refused(const struct outcome *outcome, const char *part)
{
    check_int(outcome->status, 125);
    check_str(outcome->out, "");
    check(strncmp(outcome->err, "seccomp-run: fatal: ", 20) == 0);
    check_has(outcome->err, part);
    check(strchr(outcome->err, '\n') && strchr(outcome->err, '\n')[1] == '\0');
}

#define RAN "/bin/sh", "-c", "echo ran"

static const struct refusal {
    const char *name, *part;
    const char *words[WORDS];
} refusals[] = {
    {"nothing", "usage", {NULL}},
    {"no set", "usage", {"--sentinel", "300", "--", RAN}},
    {"no sentinel", "usage", {"--set", "landlock", "--", RAN}},
    {"one set after another",
     "twice",
     {"--set", "landlock", "--set", "namespace", "--sentinel", "300", "--", RAN}},
    {"the number of a filter", "no such set", {"--set", "1", "--sentinel", "300", "--", RAN}},
    {"unknown set", "no such set", {"--set", "landlok", "--sentinel", "300", "--", RAN}},
    {"a set that tests alone have", "no such set", {"--set", "all", "--sentinel", "300", "--", RAN}},
    {"empty set", "no such set", {"--set", "", "--sentinel", "300", "--", RAN}},
    {"set twice", "twice", {"--set", "landlock", "--set", "landlock", "--sentinel", "300", "--", RAN}},
    {"sentinel twice", "twice", {"--set", "landlock", "--sentinel", "300", "--sentinel", "300", "--", RAN}},
    {"sentinel too low", "256", {"--set", "landlock", "--sentinel", "255", "--", RAN}},
    {"sentinel too high", "4000", {"--set", "landlock", "--sentinel", "4001", "--", RAN}},
    {"sentinel 0", "256", {"--set", "landlock", "--sentinel", "0", "--", RAN}},
    {"sentinel huge", "number", {"--set", "landlock", "--sentinel", "99999999999999999999", "--", RAN}},
    {"sentinel negative", "number", {"--set", "landlock", "--sentinel", "-300", "--", RAN}},
    {"sentinel in hexadecimal", "number", {"--set", "landlock", "--sentinel", "0x12c", "--", RAN}},
    {"sentinel with a tail", "number", {"--set", "landlock", "--sentinel", "300 ", "--", RAN}},
    {"unknown group",
     "no such group",
     {"--set", "landlock", "--without", "net", "--sentinel", "300", "--", RAN}},
    {"the base group",
     "no such group",
     {"--set", "landlock", "--without", "base", "--sentinel", "300", "--", RAN}},
    {"two groups in a word",
     "no such group",
     {"--set", "landlock", "--without", "net.inet,unix.path", "--sentinel", "300", "--", RAN}},
    {"abbreviation",
     "unknown option",
     {"--set", "landlock", "--sentinel", "300", "--witho", "net.inet", "--", RAN}},
    {"equals sign", "usage", {"--set=landlock", "--sentinel", "300", "--", RAN}},
    {"missing --", "unknown option", {"--set", "landlock", "--sentinel", "300", RAN}},
    {"missing value", "needs a value", {"--set", "landlock", "--sentinel", "300", "--without"}},
    {"no command", "no command", {"--set", "landlock", "--sentinel", "300", "--"}},
    {"no such command", "No such file", {"--set", "landlock", "--sentinel", "300", "--", "/nowhere/command"}},
    {"no such command by PATH",
     "no-such-cmd: ",
     {"--set", "landlock", "--sentinel", "300", "--", "no-such-cmd"}},
    {"a directory", "Permission denied", {"--set", "landlock", "--sentinel", "300", "--", "/"}},
    {"not executable", "Permission denied", {"--set", "landlock", "--sentinel", "300", "--", "/etc/passwd"}},
};

TEST_EACH(refuses, struct refusal, refusals)
{
    struct outcome outcome;

    run(&outcome, NULL, row->words);
    check_refused(&outcome, row->part);
}

static const struct lie {
    const char *name, *part;
    struct liar liar;
} lies[] = {
    {"seccomp answers 0", "not in force", {SYS_seccomp, ANY, 0}},
    {"seccomp is refused", "seccomp: ", {SYS_seccomp, ANY, EPERM}},
    {"seccomp does not exist", "seccomp: ", {SYS_seccomp, ANY, ENOSYS}},
    {"seccomp has no memory", "seccomp: ", {SYS_seccomp, ANY, ENOMEM}},
    {"seccomp is interrupted", "seccomp: ", {SYS_seccomp, ANY, EINTR}},
    {"prctl answers 0", "success but", {SYS_prctl, ANY, 0}},
    {"prctl is refused", "PR_SET_DUMPABLE", {SYS_prctl, ANY, EPERM}},
    {"no_new_privs is refused", "no_new_privs: ", {SYS_prctl, PR_SET_NO_NEW_PRIVS, EINVAL}},
    {"no_new_privs reads as 0", "not set", {SYS_prctl, PR_GET_NO_NEW_PRIVS, 0}},
    {"no_new_privs cannot be read", "no_new_privs: ", {SYS_prctl, PR_GET_NO_NEW_PRIVS, EFAULT}},
    {"the unused call succeeds", "success", {SECCOMP_SENTINEL_NR, ANY, 0}},
    {"the unused call answers the errno already", "already", {SECCOMP_SENTINEL_NR, ANY, 300}},
};

TEST_EACH(a_lying_kernel_ends_in_125, struct lie, lies)
{
    static const char *const words[] = {"--set", "landlock", "--sentinel", "300", "--", RAN, NULL};
    struct outcome outcome;

    run(&outcome, &row->liar, words);
    check_refused(&outcome, row->part);
}

TEST(an_older_container_in_front_is_no_hindrance)
{
    static const char *const words[] = {"--set", "landlock", "--sentinel", "300", "--", RAN, NULL};
    struct liar eperm = {SECCOMP_SENTINEL_NR, ANY, EPERM};
    struct outcome outcome;

    run(&outcome, &eperm, words);
    check_int(outcome.status, 0);
    check_str(outcome.out, "ran\n");
}

TEST(strace_that_answers_for_the_kernel_is_noticed)
{
    char link[PATH_MAX];
    const char *words[] = {"/usr/bin/strace",
                           "-qq",
                           "-o",
                           "/dev/null",
                           "-e",
                           "trace=seccomp",
                           "-e",
                           "inject=seccomp:retval=0",
                           link,
                           "--set",
                           "landlock",
                           "--sentinel",
                           "300",
                           "--",
                           RAN,
                           NULL};
    struct outcome outcome;

    if (access(words[0], X_OK) != 0)
        test_skip("no strace");
    snprintf(link, sizeof(link), "%s/seccomp-run", need_environment("CONFINE_LINKS"));
    run(&outcome, NULL, words);
    check_refused(&outcome, "not in force");
}

static const struct ending {
    const char *name, *script;
    int status;
} endings[] = {
    {"0", "exit 0", 0},
    {"7", "exit 7", 7},
    {"125 with the words of a failure", "echo 'seccomp-run: fatal: x: y' >&2; exit 125", 125},
    {"signal", "kill -TERM $$", 128 + SIGTERM},
};

TEST_EACH(repeats_the_status, struct ending, endings)
{
    const char *words[] = {"--set", "landlock", "--sentinel", "300", "--", "sh", "-c", row->script, NULL};
    struct outcome outcome;

    run(&outcome, NULL, words);
    check_int(outcome.status, row->status);
}

TEST(works_inside_itself)
{
    char number[32];
    const char *words[] = {
        "--set",    "landlock",  "--sentinel", "300",        "--",  "LINK", "--set",
        "landlock", "--without", "net.inet",   "--sentinel", "301", "--",   need_environment("SECCOMP_ACT"),
        "native",   number,      "0",          "0",          "0",   "0",    "0",
        "0",        NULL};
    struct outcome outcome;

    snprintf(number, sizeof(number), "%d", SECCOMP_SENTINEL_NR);
    run(&outcome, NULL, words);
    check_int(outcome.status, 0);
    check_str(outcome.out, "301\n"); /* the filter loaded last is heard */
    words[11] = "300";
    run(&outcome, NULL, words);
    check_refused(&outcome, "already");
}

TEST(an_inner_filter_opens_nothing)
{
    const char *words[] = {
        "--set",    "landlock",  "--sentinel", "300",        "--",  "LINK", "--set",
        "landlock", "--without", "net.inet",   "--sentinel", "301", "--",   need_environment("SECCOMP_ACT"),
        "native",   "41",        "2",          "1",          "0",   "0",    "0",
        "0",        NULL};
    struct outcome outcome;

    if (SYS_socket != 41)
        words[15] = "198";
    run(&outcome, NULL, words);
    check_int(outcome.status, 0);
    check_str(outcome.out, "1\n");
}

TEST(a_set_id_copy_refuses)
{
    char copy[PATH_MAX], link[PATH_MAX], line[3 * PATH_MAX];
    const char *words[] = {"/usr/bin/setpriv",
                           "--reuid",
                           "65534",
                           "--regid",
                           "65534",
                           "--clear-groups",
                           copy,
                           "--set",
                           "landlock",
                           "--sentinel",
                           "300",
                           "--",
                           RAN,
                           NULL};
    struct outcome outcome;

    if (geteuid() != 0 || access(words[0], X_OK) != 0)
        test_skip("needs root and setpriv");
    snprintf(link, sizeof(link), "%s/seccomp-run", need_environment("CONFINE_LINKS"));
    snprintf(copy, sizeof(copy), "%.4000s/copy", test_dir);
    snprintf(line, sizeof(line), "cp '%s' '%s'", link, copy);
    need(system(line) == 0 && chmod(copy, 04755) == 0 && chmod(test_dir, 0755) == 0);
    run(&outcome, NULL, words);
    check_refused(&outcome, "AT_SECURE");
}

/* Reads the program that a traced seccomp-run hands to the kernel. Returns its length, or -errno. */
static int capture_filter(pid_t child, struct sock_filter *code)
{
    int status, length = -ENODATA;

    need(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
    while (length == -ENODATA) {
        struct user_regs_struct regs;
        uint64_t program[2];

        need(ptrace(PTRACE_SYSCALL, child, 0, 0) == 0);
        need(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
#if defined(__x86_64__)
        need(ptrace(PTRACE_GETREGS, child, 0, &regs) == 0);
        if (regs.orig_rax != SYS_seccomp || regs.rdi != SECCOMP_SET_MODE_FILTER)
            continue;
        for (int i = 0; i < 2; i++) {
            errno = 0;
            program[i] = (uint64_t)ptrace(PTRACE_PEEKDATA, child, regs.rdx + 8 * (uint64_t)i, 0);
        }
        length = errno ? -errno : (int)(program[0] & 0xffff);
        for (int i = 0; i < length; i++) {
            long word = ptrace(PTRACE_PEEKDATA, child, program[1] + 8 * (uint64_t)i, 0);

            memcpy(&code[i], &word, sizeof(code[i]));
        }
#endif
    }
    kill(child, SIGKILL);
    need(waitpid(child, &status, 0) == child);
    return length;
}

static pid_t start_traced(const char *set, uint32_t groups)
{
    char link[PATH_MAX], *argv[2 * SECCOMP_GROUP_COUNT + 8] = {link, "--set", (char *)set};
    int count = 3;
    pid_t child;

    snprintf(link, sizeof(link), "%s/seccomp-run", need_environment("CONFINE_LINKS"));
    for (int g = SECCOMP_GROUP_COUNT - 1; g > SECCOMP_GROUP_BASE; g--) /* the order does not matter */
        if (groups & 1u << g) {
            argv[count++] = "--without";
            argv[count++] = (char *)seccomp_group_names[g];
        }
    argv[count++] = "--sentinel";
    argv[count++] = "777";
    argv[count++] = "--";
    argv[count++] = "true";
    child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        execv(link, argv);
        _exit(127);
    }
    need(child > 0);
    return child;
}

/* Compares what the link loads for this choice with a generated filter. */
static bool loads(const struct filter *generated, const char *set, uint32_t groups)
{
    static struct sock_filter code[FILTER_MAX];
    static struct filter filter;
    int length = capture_filter(start_traced(set, groups), code);

    if (length == -EIO && geteuid() != 0)
        test_skip("the link is undumpable: its memory can be read by root only");
    filter = *generated;
    filter_open(&filter, groups, 777);
    for (int i = 0; i < filter.length; i++)
        if (filter.code[i].code == FILTER_IF_EQUAL && filter.code[i].k == OWN_USER)
            filter.code[i].k = geteuid();
        else if (filter.code[i].code == FILTER_IF_EQUAL && filter.code[i].k == OWN_GROUP)
            filter.code[i].k = getegid();
    return length == filter.length && memcmp(code, filter.code, sizeof(code[0]) * (size_t)length) == 0;
}

static bool has_exact(const char *set, uint32_t groups)
{
    for (size_t n = 0; n < FILTERS; n++)
        if (seccomp_filter_names[n].exact && seccomp_filter_names[n].opened == groups &&
            strcmp(seccomp_filter_names[n].set, set) == 0)
            return true;
    return false;
}

TEST_EACH(loads_what_was_generated, struct seccomp_filter_name, seccomp_filter_names)
{
    static struct filter generated;
    char number[8];

    if (strcmp(OWN_ARCH, "x86_64") != 0)
        test_skip("registers are read on x86-64 only");
    snprintf(number, sizeof(number), "%d", (int)(row - seccomp_filter_names));
    need(filter_generate(&generated, OWN_ARCH, number, NULL));
    if (row->exact)
        check(loads(&generated, row->set, row->opened));
    for (int group = SECCOMP_GROUP_BASE; group < SECCOMP_GROUP_COUNT && !row->exact; group++) {
        uint32_t groups = group == SECCOMP_GROUP_BASE ? 0 : 1u << group; /* base: nothing is opened */

        if (!has_exact(row->set, groups) && !check(loads(&generated, row->set, groups)))
            test_note("with group %d open", group);
    }
}

/* As outside of any user namespace: what is one's own can be given to oneself alone. */
TEST(own_ids_are_those_of_the_caller)
{
    static const char give[] =
        "f=$(mktemp) && exec 9>$f && u=$(id -u) g=$(id -g) && LC_ALL=C && export LC_ALL || exit 9;"
        "for o in $u $u:$g :$g $((u + 1)) $((u + 1)):$g :$((g + 1)) $u:$((g + 1)); do "
        "for h in '' -h; do chown $h $o $f 2>&1 | sed 's/.*: //'; done; echo =; done; rm $f";
    struct outcome outcome;

    run(&outcome, NULL,
        (const char *const[]){"--set", "namespace", "--sentinel", "300", "--", "/bin/sh", "-c", give, NULL});
    check_int(outcome.status, 0);
    check_str(outcome.out, "=\n=\n=\n"
                           "Operation not permitted\nOperation not permitted\n=\n"
                           "Operation not permitted\nOperation not permitted\n=\n"
                           "Operation not permitted\nOperation not permitted\n=\n"
                           "Operation not permitted\nOperation not permitted\n=\n");
}

TEST(takes_the_filter_for_just_this_choice)
{
    static struct filter patched, exact;

    if (strcmp(OWN_ARCH, "x86_64") != 0)
        test_skip("registers are read on x86-64 only");
    need(filter_generate(&patched, OWN_ARCH, "landlock", NULL) &&
         filter_generate(&exact, OWN_ARCH, "2", NULL));
    check(exact.length < patched.length);
    check(loads(&exact, "landlock", GROUP(TRUNCATE)));
    check(!loads(&exact, "landlock", 0));
    check(!loads(&exact, "landlock", GROUP(TRUNCATE) | GROUP(TTY_INJECT)));
}
