/*
 * audit_reader.c - reads what the kernel tells of every refusal on this machine, and hands on the run's own.
 *
 * Theory of operation. It is a process because what it reads is everybody's: it has the socket, the wire and
 * a handful of calls, nothing that opens, connects or executes, and nobody's user but the command's. The
 * observer, which reads what the command wrote, never has that socket.
 *
 * Should:  find the layer's end, which comes a moment after that of its last process: with it the kernel says
 * how much there was. Mustn't: hand on a word about another layer; keep a run waiting for long.
 */
#include "observe/audit_reader.h"

#include "kernel/audit.h"
#include "links/kernel_abi.h"
#include "observe/audit_record.h"
#include "observe/retreat.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define AUDIT_SOURCE 0
#define AUDIT_WIRE   1
#define QUIET_MS     10  /* nothing was refused, as far as anybody knows: so long the kernel may be late */
#define LATE_MS      500 /* something was: so long its layer may take to go */
#define RECORD_MOST  16384
#define HEAD_SIZE    16 /* of a netlink message */

static struct {
    struct audit_look look;
    struct audit_message last; /* a refusal that is not handed on yet; count 0: none */
    uint64_t told;
    bool overrun; /* more came than there was room for */
    bool awaits, leaves, outlived;
} reader;

static void send_message(const struct audit_message *message)
{
    size_t size = offsetof(struct audit_message, path) + strlen(message->path);
    long put;

    do
        put = kernel_call(SYS_write, AUDIT_WIRE, KERNEL_PTR(message), (long)size, 0, 0, 0);
    while (put == -EINTR);
    if (put != (long)size)
        _exit(1); /* nobody is there to be told */
}

static void hand_on(void)
{
    if (reader.last.count > 0)
        send_message(&reader.last);
    reader.last.count = 0;
}

static bool is_same(const struct audit_message *one, const struct audit_message *other)
{
    return one->operation == other->operation && one->called == other->called && one->pid == other->pid &&
           one->call == other->call &&
           memcmp(one->arguments, other->arguments, sizeof(one->arguments)) == 0 &&
           strcmp(one->path, other->path) == 0;
}

/* What is known of the run's refusals by now. One that came again at once is counted, not told twice. */
static void take_refusals(bool end)
{
    static struct audit_refusal refusal;
    static struct audit_message message;

    while (audit_next(&reader.look, end, &refusal)) {
        enum surface surface = SURFACE_FS_WRITE;
        bool within = false;

        memset(&message, 0, offsetof(struct audit_message, executable));
        message.type = AUDIT_MESSAGE_REFUSAL;
        message.operation = audit_operation(&refusal, &surface, &within);
        message.surface = surface;
        message.within = within;
        message.called = refusal.called;
        message.pid = refusal.pid;
        message.call = refusal.call;
        memcpy(message.arguments, refusal.arguments, sizeof(message.arguments));
        memcpy(message.executable, refusal.executable, sizeof(message.executable));
        memcpy(message.path, refusal.path, sizeof(message.path));
        reader.told++;
        if (reader.last.count == 0 || !is_same(&reader.last, &message)) {
            hand_on();
            reader.last = message;
        }
        reader.last.count++;
    }
}

/* Return: was there a record? */
static bool read_record(void)
{
    static char record[RECORD_MOST];
    uint16_t type;
    long got = audit_receive(AUDIT_SOURCE, record, sizeof(record));

    reader.overrun = reader.overrun || got == -ENOBUFS;
    if (got < HEAD_SIZE)
        return got == -ENOBUFS || got == -EPERM || got > 0;
    memcpy(&type, record + 4, sizeof(type));
    audit_take(&reader.look, type, record + HEAD_SIZE, (size_t)got - HEAD_SIZE);
    take_refusals(false);
    return true;
}

/* A word of the supervisor's, or the end of the run. */
static void hear(void)
{
    struct audit_order order = {0};
    long got = kernel_call(SYS_read, AUDIT_WIRE, KERNEL_PTR(&order), sizeof(order), 0, 0, 0);

    if (got == -EINTR)
        return;
    if (got != (long)sizeof(order)) {
        reader.leaves = true;
        return;
    }
    if (order.pid > 0)
        reader.look.pid = order.pid;
    reader.awaits = reader.awaits || order.awaits;
}

/* How long to wait for the next record; -1: until something happens. */
static int time_left(int64_t left_at)
{
    bool late = (reader.look.domain || reader.awaits) && !reader.outlived;
    int64_t most = late ? LATE_MS : QUIET_MS;
    int64_t left = left_at + most - clock_ms(CLOCK_MONOTONIC);

    if (!reader.leaves)
        return reader.last.count > 0 ? 0 : -1;
    return reader.look.gone || left < 0 ? 0 : (int)left;
}

static void serve(void)
{
    struct pollfd ends[] = {{.fd = AUDIT_SOURCE, .events = POLLIN}, {.fd = AUDIT_WIRE, .events = POLLIN}};
    int64_t left_at = 0;

    for (;;) {
        bool left = reader.leaves;
        int wait = time_left(left_at);
        struct timespec limit = {.tv_sec = wait / 1000, .tv_nsec = wait % 1000 * 1000000L};
        long r;

        ends[0].revents = ends[1].revents = 0;
        r = kernel_call(SYS_ppoll, KERNEL_PTR(ends), ARRAY_SIZE(ends), wait < 0 ? 0 : KERNEL_PTR(&limit), 0,
                        0, 0);
        if (r < 0 && r != -EINTR)
            _exit(1);
        if (r == 0)
            hand_on();
        if (ends[1].revents)
            hear();
        while (ends[0].revents && read_record() && !reader.look.gone)
            ;
        if (left && (r == 0 || wait == 0)) /* others' records may come without an end */
            return;
        if (reader.leaves && !left) {
            left_at = clock_ms(CLOCK_MONOTONIC);
            ends[1].fd = -1;
        }
    }
}

static int load_filter(void)
{
    static const long calls[] = {SYS_ppoll,      SYS_read,         SYS_recvfrom,     SYS_write,
                                 SYS_exit_group, SYS_rt_sigreturn, SYS_clock_gettime};
    struct sock_filter code[RETREAT_BEGIN + 2 * ARRAY_SIZE(calls) + 1];
    size_t at = retreat_list(code, calls, ARRAY_SIZE(calls));

    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    return retreat_calls(code, at);
}

/* Two descriptors, the command's user, and no call that makes anything. Return: 0 or -errno. */
static int give_up(const struct audit_setup *setup)
{
    sigset_t all;
    int r;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    if (setsid() < 0 || chdir("/") != 0)
        return -errno;
    if (dup2(setup->source, AUDIT_SOURCE) != AUDIT_SOURCE || dup2(setup->wire, AUDIT_WIRE) != AUDIT_WIRE ||
        kernel_call(SYS_close_range, AUDIT_WIRE + 1, ~0U, 0, 0, 0, 0) < 0)
        return -EIO;
    r = retreat_below(setup->resolved, setup->supervisor, false);
    return r < 0 ? r : load_filter();
}

void audit_serve(const struct audit_setup *setup)
{
    struct audit_message message = {.type = AUDIT_MESSAGE_READY};

    if (give_up(setup) < 0)
        _exit(1);
    send_message(&message);
    reader.outlived = setup->outlived;
    serve();
    take_refusals(true);
    hand_on();
    message.type = AUDIT_MESSAGE_END;
    message.count = reader.told;
    message.all =
        reader.look.gone && !reader.look.doubted && !reader.overrun && reader.look.refused == reader.told;
    send_message(&message);
    _exit(0);
}
