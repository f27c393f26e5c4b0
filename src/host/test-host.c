/*
 * test-host.c - what refuses namespaces is told from what merely had no room, and asking takes bounded time.
 */
#define CONFINE_MAY_READ_ENVIRONMENT /* the harness does */
#include "host/child.h"
#include "host/host.h"
#include "tests/harness.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

TEST(limits_are_no_structure)
{
    static const int limits[] = {EAGAIN, ENOMEM, EMFILE, ENFILE, EBUSY, ETIMEDOUT, EIO};
    struct host_lack lack;

    for (int step = CANNOT_USERNS; step <= CANNOT_OTHER; step++)
        for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
            host_cannot(&lack, step, limits[i]);
            check(!lack.structural);
            check_str(lack.reason, "limit-reached");
        }
}

TEST(refusals_are_structure)
{
    static const struct {
        int step, errnum;
        const char *reason;
    } rows[] = {
        {CANNOT_USERNS, EPERM, "userns-denied"}, {CANNOT_USERNS, EACCES, "userns-denied"},
        {CANNOT_MAPS, EACCES, "userns-denied"},  {CANNOT_MAPS, EPERM, "userns-denied"},
        {CANNOT_MOUNT, EPERM, "mount-denied"},   {CANNOT_MOUNT, ENOSYS, "mount-denied"},
        {CANNOT_NET, EPERM, "netns-denied"},     {CANNOT_PROC, EPERM, "proc-masked"},
        {CANNOT_OVERLAY, EINVAL, "no-overlay"},  {CANNOT_OVERLAY, EPERM, "no-overlay"},
    };
    struct host_lack lack;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        host_cannot(&lack, rows[i].step, rows[i].errnum);
        check(lack.structural);
        check_str(lack.reason, rows[i].reason);
        check(*lack.hint != '\0' && *lack.why != '\0');
    }
}

/* Another run in the same workspace swaps a directory that a mount is about to be laid on: this run would
 * have fallen to a backend that holds less. Seen once in 400 starts. */
TEST(replaced_is_no_structure)
{
    static const int replaced[] = {ENOENT, ENOTDIR, ESTALE, ELOOP};
    static const int steps[] = {CANNOT_MOUNT, CANNOT_OVERLAY};
    struct host_lack lack;

    for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
        for (size_t j = 0; j < ARRAY_SIZE(replaced); j++) {
            host_cannot(&lack, steps[i], replaced[j]);
            check(!lack.structural);
        }
}

TEST(doubt_is_no_structure)
{
    static const int steps[] = {-1, CANNOT_NOTHING, CANNOT_OTHER, CANNOT_OTHER + 1, 1 << 20};
    struct host_lack lack;

    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        host_cannot(&lack, steps[i], EPERM);
        check(!lack.structural);
    }
    host_cannot(&lack, CANNOT_USERNS, ENOSPC); /* used up by somebody, as long as none were not allowed */
    check(!lack.structural || strstr(lack.why, "max_user_namespaces is 0"));
}

TEST(error_carries_it)
{
    struct host_lack lack;
    struct error error = {0};

    host_cannot(&lack, CANNOT_PROC, EPERM);
    check(host_lack_error(&error, &lack, "the thing") == -EPERM);
    check(error.structural && error.code == ERROR_SANDBOX_UNAVAILABLE);
    check(strncmp(error.message, "the thing cannot be used here: ", 31) == 0);
    error_set(&error, ERROR_INTERNAL, EIO, "x", "x");
    check(!error.structural);
}

static void hang(int answer, void *data)
{
    (void)answer;
    (void)data;
    for (;;)
        pause();
}

static void answer_in_part(int answer, void *data)
{
    (void)data;
    check(write(answer, "ab", 2) == 2);
}

TEST(asking_ends)
{
    char room[8];

    check(child_ask(hang, NULL, room, sizeof(room), 50) == -ETIMEDOUT);
    check(child_ask(answer_in_part, NULL, room, sizeof(room), 10000) == 2);
}

TEST(asked_is_answered)
{
    struct host host = {0};

    host_ask_namespaces(&host, getuid(), getgid());
    check(host.namespaces.answer != HOST_NOT_ASKED);
    check(host.namespaces.answer == HOST_YES || *host.namespaces.lack.reason);
    host_ask_bubblewrap(&host);
    check(host.bubblewrap.answer != HOST_NOT_ASKED);
    if (host.bubblewrap.answer == HOST_YES)
        check(access(host.bubblewrap.path, X_OK) == 0 && *host.bubblewrap.version);
    else
        check(*host.bubblewrap.lack.reason && host.bubblewrap.lack.structural);
}
