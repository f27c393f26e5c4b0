/*
 * test-audit.c - the kernel's own records, as Linux 6.18 wrote them: which are the run's, and what they say.
 */
#include "harness.h"

#include "kernel/audit.h"
#include "links/kernel_abi.h"
#include "observe/audit_reader.h"
#include "observe/audit_record.h"

#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#define LAUNCHER "/usr/libexec/confine/confine-launch"
#define OURS     7510

/* A record; of a call the architecture's own name, and @call in place of its number, stand in front. Return:
 * its length. */
static size_t write_record(char *room, size_t size, unsigned type, long call, const char *text)
{
    const char *close = strchr(text, ')');
    int length;

    need(close != NULL);
    if (type == AUDIT_TYPE_SYSCALL)
        length = snprintf(room, size, "%.*s): arch=%x syscall=%ld %s", (int)(close - text), text,
                          KERNEL_AUDIT_ARCH, call, close + 3);
    else
        length = snprintf(room, size, "%s", text);
    need(length > 0 && (size_t)length < size);
    return (size_t)length;
}

static void take(struct audit_look *look, unsigned type, long call, const char *text)
{
    char record[4096];

    audit_take(look, type, record, write_record(record, sizeof(record), type, call, text));
}

static void take_first(struct audit_look *look)
{
    take(
        look, AUDIT_TYPE_ACCESS, 0,
        "audit(1796041395.973:72281): domain=164ea3ede blockers=fs.make_reg path=\"/tmp/demo/d\" dev=\"vda\" "
        "ino=11076213");
    take(look, AUDIT_TYPE_DOMAIN, 0,
         "audit(1796041395.973:72281): domain=164ea3ede status=allocated mode=enforcing pid=7510 uid=0 "
         "exe=\"" LAUNCHER "\" comm=\"confine-launch\"");
    take(look, AUDIT_TYPE_SYSCALL, SYS_openat,
         "audit(1796041395.973:72281): success=no exit=-13 a0=ffffff9c a1=5580d85e84f0 a2=241 a3=1b6 items=0 "
         "ppid=7506 pid=7510 auid=4294967295 uid=0 gid=0 euid=0 suid=0 fsuid=0 egid=0 sgid=0 fsgid=0 "
         "tty=(none) "
         "ses=4294967295 comm=\"sh\" exe=\"/usr/bin/dash\" key=(null)");
}

TEST(the_first_refusal_says_which_layer)
{
    struct audit_look look = {.pid = OURS};
    struct audit_refusal refusal;
    enum surface surface;
    bool within;

    take_first(&look);
    need(audit_next(&look, false, &refusal));
    check_int(refusal.called, true);
    check_int(refusal.pid, OURS);
    check_int(refusal.call, SYS_openat);
    check(refusal.arguments[0] == 0xffffff9c && refusal.arguments[1] == 0x5580d85e84f0 &&
          refusal.arguments[2] == 0x241 && refusal.arguments[3] == 0x1b6);
    check_str(refusal.executable, "/usr/bin/dash");
    check_str(refusal.path, "/tmp/demo/d");
    check_int(audit_operation(&refusal, &surface, &within), DENIAL_CREATE);
    check_int(surface, SURFACE_FS_WRITE);
    check_int(within, true);
    check(!audit_next(&look, true, &refusal));
    take(&look, AUDIT_TYPE_DOMAIN, 0,
         "audit(1796041396.021:72290): domain=164ea3ede status=deallocated denials=7");
    check_int(look.gone, true);
    check_int(look.refused, 7);
}

static const struct meaning {
    const char *name, *blockers, *path;
    long call;
    enum denial_operation operation;
    enum surface surface;
    bool within;
} meanings[] = {
    {"a file that is written", "fs.write_file", "\"/tmp/demo/d/f\"", SYS_openat, DENIAL_WRITE,
     SURFACE_FS_WRITE, false},
    {"a file that is removed", "fs.remove_file", "\"/tmp/demo/d\"", SYS_unlinkat, DENIAL_REMOVE,
     SURFACE_FS_WRITE, true},
    {"a directory", "fs.make_dir", "\"/tmp/demo/d\"", SYS_mkdirat, DENIAL_CREATE, SURFACE_FS_WRITE, true},
    {"a hard link",
     "fs.write_file,fs.remove_dir,fs.remove_file,fs.make_char,fs.make_dir,fs.make_reg,fs.make_sock,fs.make_"
     "fifo,"
     "fs.make_block,fs.make_sym,fs.refer,fs.truncate,fs.ioctl_dev",
     "\"/tmp/demo/d\"", SYS_linkat, DENIAL_LINK, SURFACE_FS_WRITE, true},
    {"a file that comes", "fs.make_reg,fs.refer", "\"/tmp/demo/d\"", SYS_renameat2, DENIAL_RENAME,
     SURFACE_FS_WRITE, true},
    {"a name that is changed", "fs.remove_file,fs.make_reg", "\"/etc\"", SYS_renameat2, DENIAL_RENAME,
     SURFACE_FS_WRITE, true},
    {"a file that is cut", "fs.truncate", "\"/tmp/demo/d/f\"", SYS_truncate, DENIAL_TRUNCATE,
     SURFACE_FS_TRUNCATE, false},
    {"a file that is read", "fs.read_file", "\"/etc/gshadow\"", SYS_openat, DENIAL_READ, SURFACE_FS_READ,
     false},
    {"a device that is made", "fs.make_block", "\"/tmp\"", SYS_mknodat, DENIAL_CREATE, SURFACE_FS_DEVICE,
     true},
    {"a device that is commanded", "fs.ioctl_dev", "\"/dev/fuse\"", SYS_ioctl, DENIAL_IOCTL,
     SURFACE_FS_DEVICE, false},
    {"a name in digits", "fs.write_file", "2F746D702F6120226222", SYS_openat, DENIAL_WRITE, SURFACE_FS_WRITE,
     false},
    {"no file", "ptrace", "", SYS_process_vm_readv, DENIAL_NOTHING, 0, false},
    {"a right of another time", "fs.new_right", "\"/etc\"", SYS_openat, DENIAL_NOTHING, 0, false},
    {"a relative name", "fs.write_file", "\"etc\"", SYS_openat, DENIAL_NOTHING, 0, false},
};

TEST_EACH(a_refusal, struct meaning, meanings)
{
    struct audit_look look = {.pid = OURS, .domain = 0x164ea3ede};
    enum surface surface = 0;
    struct audit_refusal refusal;
    bool within = false;
    char text[1024];

    snprintf(text, sizeof(text),
             "audit(1796041395.977:72282): domain=164ea3ede blockers=%s%s%s dev=\"vda\" ino=1", row->blockers,
             *row->path ? " path=" : "", row->path);
    take(&look, AUDIT_TYPE_ACCESS, 0, text);
    take(&look, AUDIT_TYPE_SYSCALL, row->call,
         "audit(1796041395.977:72282): success=no exit=-13 a0=1 a1=2 a2=3 a3=4 items=0 ppid=7506 pid=7511 "
         "comm=\"x\" exe=2F62696E2F6120622E \x01");
    need(audit_next(&look, false, &refusal));
    check_int(audit_operation(&refusal, &surface, &within), row->operation);
    check_int(surface, row->surface);
    check_int(within, row->within);
    check_str(refusal.executable, "/bin/a b.");
    if (strncmp(row->path, "2F", 2) == 0)
        check_str(refusal.path, "/tmp/a \"b\"");
}

/* Nothing of another's is left in the memory, as soon as it is known whose it is. */
static bool holds(const struct audit_look *look, const char *word)
{
    const char *bytes = (const char *)look;

    for (size_t i = 0; i + strlen(word) <= sizeof(*look); i++)
        if (memcmp(bytes + i, word, strlen(word)) == 0)
            return true;
    return false;
}

TEST(what_others_are_refused_is_not_kept)
{
    static const char secret[] = "audit(1796041395.900:72200): domain=164d5db34 blockers=fs.write_file "
                                 "path=\"/home/somebody/letter\" dev=\"vda\" ino=1212817";
    struct audit_look look = {.pid = OURS};
    struct audit_refusal refusal;

    take(&look, AUDIT_TYPE_ACCESS, 0, secret);
    check(holds(&look, "letter")); /* it may be ours as yet */
    take(&look, AUDIT_TYPE_DOMAIN, 0,
         "audit(1796041395.900:72200): domain=164d5db34 status=allocated mode=enforcing pid=24413 uid=0 "
         "exe=\"" LAUNCHER "\" comm=\"confine-launch\"");
    check(!holds(&look, "letter"));
    take(&look, AUDIT_TYPE_ACCESS, 0, secret);
    take(&look, AUDIT_TYPE_SYSCALL, SYS_openat,
         "audit(1796041395.900:72200): success=no exit=-13 a0=1 a1=2 a2=3 a3=4 items=0 ppid=1 pid=24413 "
         "comm=\"x\" exe=\"/bin/x\"");
    check(!holds(&look, "letter"));
    take(&look, AUDIT_TYPE_ACCESS, 0, secret);
    take_first(&look); /* the layer is known: everything else is another's */
    check(!holds(&look, "letter"));
    take(&look, AUDIT_TYPE_ACCESS, 0, secret);
    check(!holds(&look, "letter"));
    check(audit_next(&look, true, &refusal) && !audit_next(&look, true, &refusal));
    check_str(refusal.path, "/tmp/demo/d");
}

static const struct not_ours {
    const char *name, *text;
} not_ours[] = {
    {"another process", "domain=164ea3ede status=allocated mode=enforcing pid=7511 uid=0 exe=\"" LAUNCHER
                        "\" comm=\"confine-launch\""},
    {"another program with the number", "domain=164ea3ede status=allocated mode=enforcing pid=7510 uid=0 "
                                        "exe=\"/usr/bin/other\" comm=\"confine-launch\""},
    {"a name that says so",
     "domain=164ea3ede status=allocated mode=enforcing pid=1 uid=0 exe=\"/x\" comm=\"pid=7510\""},
    {"no number", "domain=164ea3ede status=allocated mode=enforcing pid= uid=0 exe=\"" LAUNCHER "\""},
    {"too large a number",
     "domain=164ea3ede status=allocated mode=enforcing pid=18446744073709559126 uid=0 exe=\"" LAUNCHER "\""},
    {"another state", "domain=164ea3ede status=deallocated denials=7"},
};

TEST_EACH(a_layer_that_is_not_ours, struct not_ours, not_ours)
{
    struct audit_look look = {.pid = OURS};
    struct audit_refusal refusal;
    char text[1024];

    take(&look, AUDIT_TYPE_ACCESS, 0,
         "audit(1796041395.973:72281): domain=164ea3ede blockers=fs.make_reg path=\"/tmp/demo/d\" "
         "dev=\"vda\" ino=1");
    snprintf(text, sizeof(text), "audit(1796041395.973:72281): %s", row->text);
    take(&look, AUDIT_TYPE_DOMAIN, 0, text);
    check(look.domain == 0 && !look.gone);
    check(!audit_next(&look, true, &refusal));
}

/* A command may call a program of its own as it likes, and lay a layer by it: it is the same process. */
TEST(two_layers_by_the_same_process_are_doubted)
{
    static const char *const texts[] = {
        "audit(1.1:10): domain=b status=allocated mode=enforcing pid=7510 uid=0 exe=\"/w/confine-launch\"",
        "audit(1.1:11): domain=b status=allocated mode=enforcing pid=7510 uid=0 exe=\"/w/confine-launch\"",
        "audit(1.1:12): domain=c status=allocated mode=enforcing pid=7510 uid=0 exe=\"/w/other\"",
        "audit(1.1:13): domain=a status=allocated mode=enforcing pid=7510 uid=0 exe=\"" LAUNCHER "\"",
    };
    struct audit_look look = {.pid = OURS};

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        take(&look, AUDIT_TYPE_DOMAIN, 0, texts[i]);
        check_int(look.doubted, i == ARRAY_SIZE(texts) - 1);
    }
    check_int((int)look.domain, 0xb);
}

/* Two events at once, on two processors; and one whose call nobody tells. */
TEST(events_may_be_mixed)
{
    struct audit_look look = {.pid = OURS, .domain = 0xa};
    struct audit_refusal refusal;

    take(&look, AUDIT_TYPE_ACCESS, 0, "audit(1.1:10): domain=a blockers=fs.write_file path=\"/one\"");
    take(&look, AUDIT_TYPE_ACCESS, 0, "audit(1.1:11): domain=a blockers=fs.write_file path=\"/two\"");
    take(&look, AUDIT_TYPE_ACCESS, 0, "audit(1.1:12): domain=a blockers=fs.write_file path=\"/three\"");
    take(&look, AUDIT_TYPE_SYSCALL, SYS_openat, "audit(1.1:11): a0=1 a1=2 a2=3 a3=4 pid=9 exe=\"/b\"");
    need(audit_next(&look, false, &refusal));
    check_str(refusal.path, "/two");
    check_int(refusal.pid, 9);
    take(&look, AUDIT_TYPE_SYSCALL, SYS_openat, "audit(1.1:10): a0=1 a1=2 a2=3 a3=4 pid=8 exe=\"/b\"");
    need(audit_next(&look, false, &refusal));
    check_str(refusal.path, "/one");
    check_int(refusal.pid, 8);
    check(!audit_next(&look, false, &refusal));
    need(audit_next(&look, true, &refusal));
    check_str(refusal.path, "/three");
    check_int(refusal.called, false);
}

/* Whoever governs the network can write to anybody's socket of this kind; the kernel has no number. */
TEST(a_message_of_somebody_else_is_none)
{
    struct {
        uint16_t family, pad;
        uint32_t port, groups;
    } place = {0};
    struct {
        uint32_t length;
        uint16_t type, flags;
        uint32_t sequence, port;
        char text[64];
    } message = {.length = sizeof(message), .type = AUDIT_TYPE_DOMAIN, .text = "audit(1.1:1): domain=a"};
    int reader = audit_listen(), writer = socket(16, SOCK_RAW | SOCK_CLOEXEC, 9);
    socklen_t length = sizeof(place);
    char room[16384] = {0};
    long got;

    if (reader < 0)
        test_skip("the kernel's audit may not be listened to");
    need(writer >= 0 && getsockname(reader, (struct sockaddr *)&place, &length) == 0 && place.port != 0);
    place.groups = 0;
    if (sendto(writer, &message, sizeof(message), 0, (struct sockaddr *)&place, sizeof(place)) < 0)
        test_skip("nobody here may write to another's socket");
    do /* of the kernel there may be some */
        need(poll(&(struct pollfd){.fd = reader, .events = POLLIN}, 1, 10000) == 1);
    while ((got = audit_receive(reader, room, sizeof(room))) >= 0 && !strstr(room + 16, "domain=a"));
    check_int((int)got, -EPERM);
}

/* --- the process ------------------------------------------------------------------------------------------
 */

/* Two ends of which the second receives as if the kernel wrote: where its number would be, the address of the
 * first has zeros. */
static void make_source(int ends[2])
{
    struct sockaddr_un from = {.sun_family = AF_UNIX, .sun_path = {0, 'a', 0, 0, 0, 0}}, to = from;
    socklen_t length = offsetof(struct sockaddr_un, sun_path) + 14;
    int pid = getpid();

    memcpy(from.sun_path + 6, &pid, sizeof(pid));
    memcpy(to.sun_path + 6, &pid, sizeof(pid));
    to.sun_path[13] = 't';
    for (int i = 0; i < 2; i++) {
        ends[i] = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        need(ends[i] >= 0 && bind(ends[i], (struct sockaddr *)(i ? &to : &from), length) == 0);
    }
    need(connect(ends[0], (struct sockaddr *)&to, length) == 0);
}

struct packet {
    uint32_t length;
    uint16_t type, flags;
    uint32_t sequence, port;
    char text[4096];
};

static void tell(int source, unsigned type, long call, const char *text)
{
    struct packet message = {.type = (uint16_t)type};
    size_t size =
        offsetof(struct packet, text) + write_record(message.text, sizeof(message.text), type, call, text);

    message.length = (uint32_t)size;
    need(send(source, &message, size, 0) == (ssize_t)size);
}

static void tell_refusal(int source)
{
    tell(source, AUDIT_TYPE_ACCESS, 0, "audit(1.1:10): domain=a blockers=fs.make_reg path=\"/o\"");
    tell(source, AUDIT_TYPE_SYSCALL, SYS_openat, "audit(1.1:10): a0=1 a1=2 a2=3 a3=4 pid=7510 exe=\"/b\"");
}

static void check_status(pid_t pid, const char *line)
{
    char name[64], status[8192];

    snprintf(name, sizeof(name), "/proc/%d/status", (int)pid);
    need(file_read(AT_FDCWD, name, status, sizeof(status)) > 0);
    check(strstr(status, line) != NULL);
}

static pid_t start_reader(int source, int wire, pid_t supervisor)
{
    static const struct resolved resolved;
    pid_t pid = fork();

    need(pid >= 0);
    if (pid == 0)
        audit_serve(&(struct audit_setup){
            .wire = wire, .source = source, .supervisor = supervisor, .resolved = &resolved});
    close(source);
    close(wire);
    return pid;
}

TEST(the_reader_has_nothing_else_and_tells_the_sum)
{
    const struct audit_order order = {.pid = OURS};
    static struct audit_message message;
    int source[2], wire[2], status;
    uint64_t told = 0;
    pid_t pid;

    make_source(source);
    need(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, wire) == 0);
    pid = start_reader(source[1], wire[1], getpid());
    need(recv(wire[0], &message, sizeof(message), 0) > 0);
    check_int(message.type, AUDIT_MESSAGE_READY);
    check_status(pid, "\nSeccomp:\t2\n");
    check_status(pid, "\nNoNewPrivs:\t1\n");
    check_status(pid, "\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n");
    need(send(wire[0], &order, sizeof(order), 0) == (ssize_t)sizeof(order));
    tell(source[0], AUDIT_TYPE_DOMAIN, 0,
         "audit(1.1:10): domain=a status=allocated mode=enforcing pid=7510 uid=0 exe=\"" LAUNCHER "\"");
    tell_refusal(source[0]);
    tell_refusal(source[0]);
    tell(source[0], AUDIT_TYPE_ACCESS, 0, "audit(1.1:11): domain=b blockers=fs.make_reg path=\"/secret\"");
    tell(source[0], AUDIT_TYPE_DOMAIN, 0, "audit(1.1:12): domain=a status=deallocated denials=2");
    need(shutdown(wire[0], SHUT_WR) == 0);
    for (;;) {
        memset(&message, 0, sizeof(message));
        need(recv(wire[0], &message, sizeof(message), 0) > 0);
        if (message.type != AUDIT_MESSAGE_REFUSAL)
            break;
        check_int(message.operation, DENIAL_CREATE);
        check_str(message.path, "/o");
        check_str(message.executable, "/b");
        told += message.count;
    }
    check_int((long long)told, 2);
    check_int(message.type, AUDIT_MESSAGE_END);
    check_int((long long)message.count, 2);
    check_int(message.all, true);
    need(waitpid(pid, &status, 0) == pid);
#ifndef __SANITIZE_ADDRESS__ /* which makes calls of its own at an exit */
    check_int(status, 0);
#endif
}

/* Whoever started it may have ended before it could ask to end with that one. */
TEST(without_its_supervisor_the_reader_does_not_begin)
{
    static struct audit_message message;
    int source[2], wire[2], status;
    pid_t pid;

    make_source(source);
    need(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, wire) == 0);
    pid = start_reader(source[1], wire[1], getpid() + 1);
    check_int((long long)recv(wire[0], &message, sizeof(message), 0), 0);
    need(waitpid(pid, &status, 0) == pid);
    check_int(status, 1 << 8);
}
