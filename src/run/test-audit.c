/*
 * test-audit.c - what a reader of the kernel's audit tells, held against what an observer saw: on a wire,
 * since audit is off where most tests run.
 */
#include "harness.h"

#include "report/test-report.h"
#include "run/audit.h"

#include <stddef.h>
#include <sys/socket.h>

static struct audit audit;
static uv_loop_t loop;
static int reader; /* the other end of the wire */

/* A run that reads, up to where the command is about to start. */
static void begin(void)
{
    int ends[2];

    need(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    reader = ends[1];
    report.denials.channel = "none";
    audit_clear(&audit);
    need(audit_begin(&audit, &resolved, &plan, &report) == 0);
    audit.wire = ends[0];
    audit.wanted = true;
    need(uv_loop_init(&loop) == 0);
    need(audit_part.start(&audit, NULL, &loop) == 0);
}

static void close_handle(uv_handle_t *handle, void *count)
{
    uv_close(handle, NULL);
    ++*(int *)count;
}

/* As supervise_release() does. */
static void release(void)
{
    int handles = 0;

    uv_walk(&loop, close_handle, &handles);
    check_int(handles, 1);
    uv_run(&loop, UV_RUN_DEFAULT);
    check_int(uv_loop_close(&loop), 0);
}

static void tell(struct audit_message message)
{
    size_t size = offsetof(struct audit_message, path) + strlen(message.path);

    need(send(reader, &message, size, 0) == (ssize_t)size);
}

/* A start that fails behind this: the loop closes all that it has. */
TEST(the_loop_outlives_a_start_that_failed)
{
    begin();
    audit_abandon(&audit);
    release();
    check_int(audit.wire, -1);
}

static void go_on_to_the_end(void)
{
    audit_part.go(&audit);
    close(reader);
    audit_part.end(&audit);
    release();
}

/* A refusal as the kernel tells it; which call it was is each test's. */
static const struct audit_message created = {.type = AUDIT_MESSAGE_REFUSAL,
                                             .operation = DENIAL_CREATE,
                                             .surface = SURFACE_FS_WRITE,
                                             .within = true,
                                             .called = true,
                                             .pid = 7,
                                             .count = 1,
                                             .path = "/o"};

TEST(the_same_call_is_one_refusal)
{
    static const char *const names[] = {"/o/new", "/o/other"};
    const struct observe_message seen = {.pid = 7, .call = 257, .arguments = {1, 2, 3, 4}};
    struct audit_message told = created;

    told.call = seen.call;
    memcpy(told.arguments, seen.arguments, sizeof(told.arguments));
    begin();
    add_refused(names, ARRAY_SIZE(names));
    audit_call(&audit, &seen, 1);
    tell(told);
    told.arguments[3] = 5; /* the observer told of no such call */
    told.count = 2;
    tell(told);
    tell((struct audit_message){.type = AUDIT_MESSAGE_END, .count = 3, .all = true});
    go_on_to_the_end();
    need(report.denials.count == 3);
    check_int(report.denials.items[0].evidence, DENIAL_BOTH);
    check_int(report.denials.items[1].evidence, DENIAL_PREDICTED);
    check_int(report.denials.items[2].evidence, DENIAL_KERNEL);
    check_str(report.denials.items[2].path, "/o");
    check_int(report.denials.items[2].within, true);
    check_int((long long)report.denials.items[2].count, 2);
    check(report.denials.audit.read && report.denials.audit.complete);
    check_int((long long)report.denials.audit.refused, 3);
    check_int((long long)report.denials.audit.joined, 1);
    check_str(report.denials.channel, "observer");
}

/* Where a call had no room, one of the observer's may be the one that is meant. */
TEST(what_may_be_the_same_is_not_told_twice)
{
    static const char *const names[] = {"/o/new"};
    struct audit_message told = created;

    begin();
    add_refused(names, ARRAY_SIZE(names));
    audit.calls_short = true;
    tell(told);
    snprintf(told.path, sizeof(told.path), "/elsewhere");
    tell(told);
    go_on_to_the_end();
    need(report.denials.count == 2);
    check_int(report.denials.items[0].evidence, DENIAL_PREDICTED);
    check_int((long long)report.denials.items[0].count, 1);
    check_str(report.denials.items[1].path, "/elsewhere");
    check_int((long long)report.denials.audit.joined, 0);
}

/* Its end before the sum, and a sum that is not what came. */
TEST(without_the_sum_it_is_not_complete)
{
    for (int sums = 0; sums < 2; sums++) {
        begin();
        if (sums)
            tell((struct audit_message){.type = AUDIT_MESSAGE_END, .count = 1, .all = true});
        go_on_to_the_end();
        check(report.denials.audit.read && !report.denials.audit.complete);
        check_str(report.denials.channel, "audit");
    }
}
