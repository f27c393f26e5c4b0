/*
 * harness-probe.c - tests of every kind that harness.h must judge rightly; tests/unit/harness looks at the
 * verdicts.
 */
#include "tests/harness.h"

TEST_SETUP()
{
    char file[PATH_MAX + 8];
    int fd;

    snprintf(file, sizeof(file), "%s/setup", test_dir);
    fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}

TEST_TEARDOWN()
{
    char file[PATH_MAX + 8];

    snprintf(file, sizeof(file), "%s/setup", test_dir);
    test_note("teardown %s", access(file, F_OK) == 0 ? "in time" : "too late");
}

TEST(passes)
{
    char file[PATH_MAX + 8];

    snprintf(file, sizeof(file), "%s/setup", test_dir);
    check(access(file, F_OK) == 0);
    check_int(1 + 1, 2);
    check_str("a", "a");
    check_has("abc", "b");
    check_fails(close(-1), EBADF);
    need(true);
}

static const struct row {
    const char *name;
    int value;
} rows[] = {{"zero\n#", 0}, {"one", 1}};

TEST_EACH(row_is_one, struct row, rows)
{
    check_int(row->value, 1);
}

TEST(fails_check)
{
    check(false);
}

TEST(fails_str)
{
    check_str("seen\nhere", "wanted");
}

TEST(fails_errno)
{
    check_fails(close(-1), EPERM);
}

TEST(fails_need)
{
    need(1 > 2);
    test_note("not reached");
}

TEST(checks_nothing) {}

TEST(ends_early)
{
    check(true);
    _exit(0);
}

TEST(crashes)
{
    check(true);
    raise(SIGKILL);
}

TEST(skips)
{
    test_skip("no %s here", "moon");
}

TEST_IN(hangs, 1)
{
    check(true);
    for (;;)
        pause();
}

/* Leaves a daemon that holds the output open, out of reach of the process group. */
TEST(leaves_a_daemon)
{
    check(true);
    if (fork() == 0) {
        setsid();
        if (fork() == 0)
            for (;;)
                pause();
        _exit(0);
    }
}

TEST(leaves_files)
{
    char file[PATH_MAX + 16];

    snprintf(file, sizeof(file), "%s/locked", test_dir);
    need(mkdir(file, 0700) == 0);
    snprintf(file, sizeof(file), "%s/locked/deep", test_dir);
    need(mkdir(file, 0) == 0);
    snprintf(file, sizeof(file), "%s/link", test_dir);
    need(symlink("/", file) == 0);
    snprintf(file, sizeof(file), "%s/locked", test_dir);
    need(chmod(file, 0) == 0);
}
