/* harness.c - what harness.h promises: the checks, and main(), which runs each test in a process of its own.
 */
#include "harness.h"

/* What the processes of one test tell the parent: a mapping works behind any confinement. */
struct test_result {
    unsigned checks, failures;
    bool skipped, finished;
    char reason[256];
};

void (*test_setup)(void), (*test_teardown)(void);
char test_dir[PATH_MAX];
static char test_home[sizeof(test_dir) + sizeof(".home")];
static struct test *test_first, **test_last = &test_first;
static struct test_result *test_result;
static volatile sig_atomic_t test_ended; /* the signal that told the whole program to end */

void test_register(struct test *test)
{
    *test_last = test;
    test_last = &test->next;
}

void test_note(const char *format, ...)
{
    char line[1024] = "# ";
    va_list list;
    int length;

    va_start(list, format);
    length = vsnprintf(line + 2, sizeof(line) - 3, format, list);
    va_end(list);
    length = length < 0 ? 2 : length > (int)sizeof(line) - 4 ? (int)sizeof(line) - 2 : length + 2;
    for (int i = 0; i < length; i++)
        if (line[i] == '\n' || line[i] == '\r')
            line[i] = ' ';
    line[length] = '\n';
    if (write(STDOUT_FILENO, line, (size_t)length + 1) < 0)
        _exit(EXIT_FAILURE);
}

bool test_is_long(void)
{
    return getenv("CONFINE_LONG") != NULL;
}

void test_own_home(void)
{
    snprintf(test_home, sizeof(test_home), "%s.home", test_dir);
    if (mkdir(test_home, 0700) != 0 || setenv("HOME", test_home, 1) != 0)
        test_note("no home of its own: %s", strerror(errno));
}

_Noreturn void test_skip(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(test_result->reason, sizeof(test_result->reason), format, list);
    va_end(list);
    test_result->skipped = true;
    test_result->finished = true;
    _exit(EXIT_SUCCESS);
}

static bool test_count(bool held)
{
    __atomic_add_fetch(&test_result->checks, 1, __ATOMIC_RELAXED);
    if (!held)
        __atomic_add_fetch(&test_result->failures, 1, __ATOMIC_RELAXED);
    return held;
}

bool test_true(const char *file, int line, const char *text, bool seen)
{
    int errnum = errno;

    if (!test_count(seen))
        test_note("%s:%d: %s: expected true, seen false (errno: %s)", file, line, text, strerror(errnum));
    return seen;
}

bool test_int(const char *file, int line, const char *text, long long seen, long long expected)
{
    int errnum = errno;

    if (!test_count(seen == expected))
        test_note("%s:%d: %s: expected %lld, seen %lld (errno: %s)", file, line, text, expected, seen,
                  strerror(errnum));
    return seen == expected;
}

bool test_str(const char *file, int line, const char *text, const char *seen, const char *expected)
{
    bool held = seen && expected ? strcmp(seen, expected) == 0 : seen == expected;

    if (!test_count(held))
        test_note("%s:%d: %s: expected \"%s\", seen \"%s\"", file, line, text, expected ? expected : "(null)",
                  seen ? seen : "(null)");
    return held;
}

bool test_has(const char *file, int line, const char *text, const char *seen, const char *part)
{
    bool held = seen && strstr(seen, part);

    if (!test_count(held))
        test_note("%s:%d: %s: expected \"%s\" in it, seen \"%s\"", file, line, text, part,
                  seen ? seen : "(null)");
    return held;
}

bool test_fails(const char *file, int line, const char *text, long long result, int expected)
{
    int errnum = errno; /* read here, after CALL: the arguments of a call have no order */
    bool held = result == -1 && errnum == expected;

    if (!test_count(held))
        test_note("%s:%d: %s: expected -1 and \"%s\", seen %lld and \"%s\"", file, line, text,
                  strerror(expected), result, strerror(errnum));
    return held;
}

void test_remove(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (fd < 0 && errno == EACCES && fchmodat(at, name, 0700, 0) == 0) { /* never a link: that is ELOOP */
        fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        dir = fd < 0 ? NULL : fdopendir(fd);
    }
    if (dir) {
        if (fchmod(fd, 0700) != 0)
            test_note("%s: fchmod: %s", name, strerror(errno));
        for (struct dirent *entry; (entry = readdir(dir));)
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                test_remove(fd, entry->d_name);
        closedir(dir);
    }
    if (unlinkat(at, name, dir ? AT_REMOVEDIR : 0) != 0 && errno != ENOENT)
        test_note("%s: left behind: %s", name, strerror(errno));
}

/* Kills and reaps whatever the test left: its group, and what came to us, the subreaper, from elsewhere. */
static void end_leftovers(pid_t group)
{
    char list[4096];

    kill(-group, SIGKILL);
    for (;;) {
        int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
        ssize_t length = fd < 0 ? 0 : read(fd, list, sizeof(list) - 1);

        if (fd >= 0)
            close(fd);
        list[length > 0 ? length : 0] = '\0';
        for (char *word = list, *end; (void)(end = word), strtol(word, &end, 10) > 0 && end != word;
             word = end)
            kill((pid_t)strtol(word, NULL, 10), SIGKILL);
        if (waitpid(-1, NULL, __WALL) < 0 && errno != EINTR)
            return;
    }
}

static void note_end(int signal)
{
    test_ended = signal;
}

/* Waits for CHILD, and for no longer than SECONDS. Return: its wait status, -1 when the time was up. */
static int await_child(pid_t child, unsigned seconds)
{
    struct timespec start, now, pause = {.tv_nsec = 200000};
    int status;

    clock_gettime(CLOCK_MONOTONIC, &start);
    for (;;) {
        pid_t done = waitpid(child, &status, WNOHANG);

        if (done == child)
            return status;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (test_ended || now.tv_sec - start.tv_sec > (time_t)seconds)
            return -1;
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 10000000)
            pause.tv_nsec += pause.tv_nsec / 2;
    }
}

_Noreturn static void be_child(const struct test *test, const void *row)
{
    static const int defaults[] = {SIGTERM, SIGINT, SIGHUP};

    setpgid(0, 0);
    for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
        signal(defaults[i], SIG_DFL);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        _exit(EXIT_FAILURE);
    errno = 0;
    test->body(row);
    test_result->finished = true;
    exit(test_result->failures ? EXIT_FAILURE : EXIT_SUCCESS); /* exit: a sanitizer looks for leaks here */
}

/* The name of a test as TAP can hold it: one line, and no `#`, which would begin a directive. */
static const char *tap_name(char *buffer, size_t size, const struct test *test, const char *row)
{
    snprintf(buffer, size, "%s%s%s", test->name, row ? ": " : "", row ? row : "");
    for (char *c = buffer; *c; c++)
        if ((unsigned char)*c < ' ' || *c == '#' || *c == 0x7f)
            *c = '?';
    return buffer;
}

/* Runs one test. Return: true if it passed or was skipped. */
static bool run_test(const struct test *test, const void *row, unsigned number)
{
    const char *temporary = getenv("CONFINE_PLACES") ?: getenv("TMPDIR"), *name;
    char skip[300] = "", why[128] = "", buffer[256];
    int status;
    pid_t child;

    name = tap_name(buffer, sizeof(buffer), test, row ? *(const char *const *)row : NULL);
    memset(test_result, 0, sizeof(*test_result));
    snprintf(test_dir, sizeof(test_dir), "%s/confine-test.XXXXXX",
             temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(test_dir)) {
        printf("Bail out! %s: %s\n", test_dir, strerror(errno));
        exit(EXIT_FAILURE);
    }
    if (test_setup)
        test_setup();
    fflush(NULL);
    child = fork();
    if (child == 0)
        be_child(test, row);
    status = child < 0 ? -1 : await_child(child, test->seconds);
    if (child > 0)
        end_leftovers(child);
    if (test_teardown)
        test_teardown();
    test_remove(AT_FDCWD, test_dir);
    if (*test_home)
        test_remove(AT_FDCWD, test_home);

    if (test_result->failures)
        snprintf(why, sizeof(why), "%u of %u checks", test_result->failures, test_result->checks);
    else if (status == -1)
        snprintf(why, sizeof(why), "not done within %u seconds", test->seconds);
    else if (WIFSIGNALED(status))
        snprintf(why, sizeof(why), "ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != 0)
        snprintf(why, sizeof(why), "exit status %d", WEXITSTATUS(status));
    else if (!test_result->finished)
        snprintf(why, sizeof(why), "its process ended before the test did");
    else if (!test_result->skipped && test_result->checks == 0)
        snprintf(why, sizeof(why), "it checked nothing");
    if (test_result->skipped && !*why)
        snprintf(skip, sizeof(skip), " # SKIP %s", test_result->reason);
    if (*why)
        test_note("%s failed: %s", name, why);
    printf("%sok %u - %s%s\n", *why ? "not " : "", number, name, skip);
    fflush(stdout);
    return !*why;
}

static size_t count_rows(const struct test *test)
{
    size_t count = 0;

    if (!test->rows)
        return 1;
    if (test->row_count > 0)
        return test->row_count;
    while (*(const char *const *)((const char *)test->rows + count * test->row_size))
        count++;
    return count;
}

static bool is_wanted(const struct test *test, char **words)
{
    for (char **word = words; *word; word++)
        if (strstr(test->name, *word))
            return true;
    return !*words;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = note_end};
    unsigned count = 0, number = 0;
    bool passed = true;

    test_result = mmap(NULL, sizeof(*test_result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (argc < 1 || test_result == MAP_FAILED || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
        printf("Bail out! the harness could not start: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    for (const struct test *test = test_first; test; test = test->next)
        if (is_wanted(test, argv + 1))
            count += (unsigned)count_rows(test);
    printf("TAP version 13\n1..%u\n", count);
    for (const struct test *test = test_first; test; test = test->next)
        for (size_t i = 0; is_wanted(test, argv + 1) && i < count_rows(test); i++) {
            const char *row = test->rows ? (const char *)test->rows + i * test->row_size : NULL;

            passed = run_test(test, row, ++number) && passed;
            if (test_ended) {
                printf("Bail out! signal %d\n", (int)test_ended);
                return 128 + test_ended;
            }
        }
    return passed && count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
