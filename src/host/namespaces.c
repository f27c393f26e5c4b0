/*
 * namespaces.c - can this user make the namespaces of a run? Found by making them.
 *
 * For what has no attested start: an exec cannot come back from a chain that failed. A run asks nobody.
 *
 * Should:  do the steps that machines are known to refuse, in the order in which namespace-run does them.
 * Mustn't: believe an answer of 0: each step is looked at by its effect.
 */
#include "host/host.h"

#include "host/child.h"
#include "kernel/borrower.h"

#include "links/kernel_abi.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define ASK_MS 2000

#define ATTR_RDONLY UINT64_C(0x1)
#define PRIVATE     (UINT64_C(1) << 18) /* MS_PRIVATE */
#define RECURSIVE   0x8000              /* AT_RECURSIVE */

struct ask {
    uid_t uid;
    gid_t gid;
    bool network; /* a namespace of it as well, which costs more than all the others */
};

struct answer {
    int step; /* enum channel_cannot; CANNOT_NOTHING: all of it worked */
    int errnum;
};

static int write_file(const char *path, const char *text)
{
    _cleanup_fd_ int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    return write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -errno;
}

static int become(const struct ask *ask)
{
    if (geteuid() != 0 || ask->uid == 0)
        return 0;
    if (setgroups(0, NULL) != 0 || setresgid(ask->gid, ask->gid, ask->gid) != 0 ||
        setresuid(ask->uid, ask->uid, ask->uid) != 0)
        return -errno;
    return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0 ? 0 : -errno; /* its id maps would belong to root */
}

static int map_own(const struct ask *ask)
{
    char uid_line[32], gid_line[32];
    int r = write_file("/proc/self/setgroups", "deny");

    snprintf(uid_line, sizeof(uid_line), "%u %u 1\n", (unsigned)ask->uid, (unsigned)ask->uid);
    snprintf(gid_line, sizeof(gid_line), "%u %u 1\n", (unsigned)ask->gid, (unsigned)ask->gid);
    if (r == 0)
        r = write_file("/proc/self/uid_map", uid_line);
    return r == 0 ? write_file("/proc/self/gid_map", gid_line) : r;
}

static int make_read_only(void)
{
    struct {
        uint64_t set, clear, propagation, user_namespace;
    } attr = {.set = ATTR_RDONLY, .propagation = PRIVATE};
    struct statvfs root;
    long r = kernel_call(SYS_mount_setattr, AT_FDCWD, KERNEL_PTR("/"), RECURSIVE, KERNEL_PTR(&attr),
                         sizeof(attr), 0);

    if (r < 0)
        return (int)r;
    if (statvfs("/", &root) != 0)
        return -errno;
    return root.f_flag & ST_RDONLY ? 0 : -EPROTO;
}

/* Pid 1 of the new namespace, on our memory until it ends. */
static void be_init(void *data)
{
    volatile int *failed = data;
    long r = kernel_call(SYS_getpid, 0, 0, 0, 0, 0, 0) == 1 ? 0 : -EPROTO;

    if (r == 0)
        r = kernel_call(SYS_mount, KERNEL_PTR("proc"), KERNEL_PTR("/proc"), KERNEL_PTR("proc"),
                        MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, 0, 0);
    if (r == 0 && kernel_call(SYS_faccessat, AT_FDCWD, KERNEL_PTR("/proc/2/stat"), F_OK, 0, 0, 0) == 0)
        r = -EPROTO; /* a /proc of one process has one */
    *failed = (int)r;
}

static int mount_proc(void)
{
    volatile int failed = -EPROTO; /* nothing was tried, as far as we know */
    pid_t pid = borrower_start(be_init, (void *)(uintptr_t)&failed);

    if (pid < 0)
        return pid;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return failed;
}

/* The namespaces that are only looked for: making them costs more than the rest. */
static int look_for_others(void)
{
    static const char *const files[] = {"/proc/self/ns/ipc", "/proc/self/ns/uts", "/proc/self/ns/cgroup"};

    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        if (access(files[i], F_OK) != 0)
            return -ENOSYS;
    return 0;
}

/* With its loopback up, as a run has it. */
static int make_network(void)
{
    struct ifreq lo = {.ifr_name = "lo"};
    _cleanup_fd_ int fd = -1;

    if (unshare(CLONE_NEWNET) != 0)
        return -errno;
    fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &lo) != 0)
        return -errno;
    lo.ifr_flags |= IFF_UP;
    return ioctl(fd, SIOCSIFFLAGS, &lo) == 0 ? 0 : -errno;
}

/* Is there room for one, as far as can be seen without making it? */
static int look_for_network(void)
{
    _cleanup_fd_ int fd = open("/proc/sys/user/max_net_namespaces", O_RDONLY | O_CLOEXEC);
    char text[2];

    if (access("/proc/self/ns/net", F_OK) != 0)
        return -ENOSYS;
    return fd >= 0 && read(fd, text, sizeof(text)) == 2 && memcmp(text, "0\n", 2) == 0 ? -ENOSPC : 0;
}

static void make_namespaces(int fd, void *data)
{
    const struct ask *ask = data;
    struct answer answer = {.step = CANNOT_OTHER};
    struct stat before, after;
    int r = become(ask), room = look_for_network(); /* the switch of this user namespace, not of the next */

    if (r == 0 && stat("/proc/self/ns/user", &before) != 0)
        r = -errno;
    if (r == 0) {
        answer.step = CANNOT_USERNS;
        r = unshare(CLONE_NEWUSER) == 0 ? 0 : -errno;
    }
    if (r == 0 && (stat("/proc/self/ns/user", &after) != 0 || before.st_ino == after.st_ino))
        r = -EPROTO;
    if (r == 0) {
        answer.step = CANNOT_MAPS;
        r = map_own(ask);
    }
    if (r == 0) {
        answer.step = CANNOT_MOUNT;
        r = unshare(CLONE_NEWNS | CLONE_NEWPID) == 0 ? look_for_others() : -errno;
    }
    if (r == 0) {
        answer.step = CANNOT_NET;
        r = room == 0 && ask->network ? make_network() : room;
    }
    if (r == 0) {
        answer.step = CANNOT_MOUNT;
        r = host_look_nodes();
    }
    if (r == 0)
        r = make_read_only();
    if (r == 0) {
        answer.step = CANNOT_PROC;
        r = mount_proc();
    }
    answer.errnum = -r;
    if (r == 0)
        answer.step = CANNOT_NOTHING;
    if (write(fd, &answer, sizeof(answer)) != (ssize_t)sizeof(answer))
        _exit(1); /* no answer is one */
}

static void take(struct host *host, ssize_t got, const struct answer *answer)
{
    const struct answer none = {.step = CANNOT_OTHER, .errnum = got < 0 ? (int)-got : EPROTO};
    const struct answer *seen = got == (ssize_t)sizeof(*answer) ? answer : &none;

    host->namespaces.answer = seen->step == CANNOT_NOTHING ? HOST_YES : HOST_NO;
    if (seen->step != CANNOT_NOTHING)
        host_cannot(&host->namespaces.lack, seen->step, seen->errnum);
}

static void ask_now(struct host *host, struct ask *question)
{
    struct answer answer;

    take(host, child_ask(make_namespaces, question, &answer, sizeof(answer), ASK_MS), &answer);
}

/* The question that is under way; its child reads `pending_ask` in its own copy. */
static struct asked pending = {.fd = -1};
static struct ask pending_ask;

void host_begin_namespaces(uid_t uid, gid_t gid)
{
    if (pending.fd >= 0)
        return;
    pending_ask = (struct ask){.uid = uid, .gid = gid};
    if (child_begin(&pending, make_namespaces, &pending_ask, ASK_MS) < 0)
        pending.fd = -1; /* it is asked again, and then told */
}

void host_ask_namespaces(struct host *host, uid_t uid, gid_t gid)
{
    struct answer answer;
    bool begun = pending.fd >= 0, same = begun && pending_ask.uid == uid && pending_ask.gid == gid;
    ssize_t got = begun ? child_finish(&pending, &answer, sizeof(answer)) : 0;

    if (!same) {
        ask_now(host, &(struct ask){.uid = uid, .gid = gid});
        return;
    }
    take(host, got, &answer);
}

void host_ask_all(struct host *host, uid_t uid, gid_t gid)
{
    ask_now(host, &(struct ask){.uid = uid, .gid = gid, .network = true});
}
