/*
 * harness.h - TAP 13 for tests of a thing that cannot be undone.
 *
 *     #include "harness.h"
 *
 *     TEST(opens_its_own_directory)
 *     {
 *         int fd = open(test_dir, O_RDONLY);
 *
 *         need(fd >= 0);                     // ends the test when false
 *         check_int(fstat(fd, &st), 0);      // SEEN first, EXPECTED second; goes on
 *     }
 *
 *     static const struct row { const char *name; int value; } rows[] = {{"one", 1}, {"two", 2}};
 *     TEST_EACH(is_positive, struct row, rows) { check(row->value > 0); }
 *
 * Linked with harness.c, which has main(). Every test (and every row of a table) is a process of
 * its own, so it may confine itself, close descriptors or crash. What was set up
 * is taken down by the parent, which is never confined.
 *
 * Should:  call a test passed only if it reached its end and checked something.
 * Mustn't: leave a process, a descriptor or a file behind, whatever the test did
 *          and also when the program itself is told to end.
 *
 * TEST_SETUP and TEST_TEARDOWN run in the parent, before and after each test.
 * `test_dir` is a private empty directory, made before and removed after each.
 * Arguments: words; only tests whose name holds one of them run.
 */
#ifndef CONFINE_TESTS_HARNESS_H
#define CONFINE_TESTS_HARNESS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TEST_SECONDS 120 /* the time that one test may take, unless it says otherwise */

struct test {
    const char *name;
    void (*body)(const void *row); /* row: NULL in a plain test */
    const void *rows;              /* each begins with a `const char *name` */
    size_t row_size, row_count;    /* 0 rows: until one has no name */
    unsigned seconds;
    struct test *next;
};

extern void (*test_setup)(void), (*test_teardown)(void); /* NULL where the program has none */
extern char test_dir[PATH_MAX];

/* test_register() - TEST, which stays, is run after those before it. Called before main(). */
void test_register(struct test *test);

#define TEST_REGISTER(ID, ...)                                                                               \
    __attribute__((constructor)) static void test_register_##ID(void)                                        \
    {                                                                                                        \
        static struct test test = {.name = #ID, __VA_ARGS__};                                                \
                                                                                                             \
        test_register(&test);                                                                                \
    }

/* A test with a time of its own. */
#define TEST_IN(ID, SECONDS)                                                                                 \
    static void test_body_##ID(const void *unused_row);                                                      \
    TEST_REGISTER(ID, .body = test_body_##ID, .seconds = (SECONDS))                                          \
    static void test_body_##ID(__attribute__((unused)) const void *unused_row)

#define TEST(ID) TEST_IN(ID, TEST_SECONDS)

/* One test per row of the array ROWS, whose element TYPE begins with `const char *name`. In the body: `row`.
 */
#define TEST_EACH(ID, TYPE, ROWS) TEST_EACH_IN(ID, TEST_SECONDS, TYPE, ROWS)
/* The same of an array in another file, whose last row has no name. */
#define TEST_EACH_OF(ID, TYPE, ROWS) TEST_ROWS(ID, TEST_SECONDS, TYPE, ROWS, 0)

#define TEST_EACH_IN(ID, SECONDS, TYPE, ROWS)                                                                \
    TEST_ROWS(ID, SECONDS, TYPE, ROWS, sizeof(ROWS) / sizeof((ROWS)[0]))

#define TEST_ROWS(ID, SECONDS, TYPE, ROWS, COUNT)                                                            \
    static void test_each_##ID(TYPE const *row);                                                             \
    static void test_body_##ID(const void *row)                                                              \
    {                                                                                                        \
        test_each_##ID(row);                                                                                 \
    }                                                                                                        \
    TEST_REGISTER(ID, .body = test_body_##ID, .seconds = (SECONDS), .rows = (ROWS),                          \
                  .row_size = sizeof((ROWS)[0]), .row_count = (COUNT))                                       \
    static void test_each_##ID(TYPE const *row)

#define TEST_HOOK(KIND)                                                                                      \
    static void test_##KIND##_body(void);                                                                    \
    __attribute__((constructor)) static void test_##KIND##_register(void)                                    \
    {                                                                                                        \
        test_##KIND = test_##KIND##_body;                                                                    \
    }                                                                                                        \
    static void test_##KIND##_body(void)

#define TEST_SETUP()    TEST_HOOK(setup)
#define TEST_TEARDOWN() TEST_HOOK(teardown)

/* test_note() - a line for the person who reads the log; one write, so that processes do not mix. */
__attribute__((format(printf, 1, 2))) void test_note(const char *format, ...);

/* test_own_home() - HOME is a directory beside test_dir for this test; called by its set-up. One that is not
 * there would not do: confine takes the user's real one in its place, with its policies, and keeps its caches
 * there. */
void test_own_home(void);

/* test_is_long() - is there time for the long form of a test? */
bool test_is_long(void);

/* test_skip() - end the test as skipped, from its own process. The reason is printed and counted. */
__attribute__((format(printf, 1, 2))) _Noreturn void test_skip(const char *format, ...);

/* The check functions count, say what was seen on failure, and return whether it held. */
bool test_true(const char *file, int line, const char *text, bool seen);
bool test_int(const char *file, int line, const char *text, long long seen, long long expected);
bool test_str(const char *file, int line, const char *text, const char *seen, const char *expected);
bool test_has(const char *file, int line, const char *text, const char *seen, const char *part);
bool test_fails(const char *file, int line, const char *text, long long result, int expected);

/* test_remove() - take away the tree NAME below AT, without following links; says what it could not. */
void test_remove(int at, const char *name);

#define check(EXPRESSION) test_true(__FILE__, __LINE__, #EXPRESSION, (EXPRESSION))
#define check_int(SEEN, EXPECTED)                                                                            \
    test_int(__FILE__, __LINE__, #SEEN, (long long)(SEEN), (long long)(EXPECTED))
#define check_str(SEEN, EXPECTED) test_str(__FILE__, __LINE__, #SEEN, (SEEN), (EXPECTED))
#define check_has(SEEN, PART)     test_has(__FILE__, __LINE__, #SEEN, (SEEN), (PART))
/* CALL must answer -1 with exactly this errno. */
#define check_fails(CALL, ERRNUM) test_fails(__FILE__, __LINE__, #CALL, (long long)(CALL), (ERRNUM))
/* What the rest of the test cannot do without. */
#define need(EXPRESSION)                                                                                     \
    do {                                                                                                     \
        if (!check(EXPRESSION))                                                                              \
            _exit(EXIT_FAILURE);                                                                             \
    } while (0)

#endif
