/*
 * walls.c - sockets, namespaces, rings, keys, terminals and foreign entries by
 * real acts: bare, behind the filter, and behind it with a group opened or a
 * rule left out; and what must go on working behind it.
 */
#include "filter.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <termios.h>

extern char **environ;

static char path[PATH_MAX];

/* A server and a client that exchange a byte on loopback. */
static int talk(int family, int protocol)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(name);
    int server = socket(family, SOCK_STREAM | SOCK_CLOEXEC, protocol), client, peer;
    char byte = 0;

    if (server < 0)
        return errno;
    client = socket(family, SOCK_STREAM, protocol);
    if (bind(server, (void *)&name, size) != 0 || listen(server, 1) != 0 ||
        getsockname(server, (void *)&name, &size) != 0 || connect(client, (void *)&name, size) != 0)
        return errno;
    peer = accept(server, NULL, NULL);
    return write(client, "x", 1) == 1 && read(peer, &byte, 1) == 1 && byte == 'x' ? 0 : 201;
}

static int act_tcp(void)
{
    return talk(AF_INET, 0);
}

static int act_mptcp(void)
{
    int errnum = talk(AF_INET, 262);

    return errnum == EPROTONOSUPPORT || errnum == ENOPROTOOPT ? ENOSYS : errnum; /* not in this kernel */
}

static int act_udp(void)
{
    return answer(socket(AF_INET6, SOCK_DGRAM, 0));
}

static int act_raw(void)
{
    int errnum = answer(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));

    return errnum == EPERM && geteuid() != 0 ? 202 : errnum;
}

static int act_netlink(void)
{
    return answer(socket(AF_NETLINK, SOCK_RAW, 0));
}

static int act_netlink_events(void)
{
    return answer(socket(AF_NETLINK, SOCK_DGRAM, 15 /* kernel object events */));
}

static int act_unix(void)
{
    return answer(socket(AF_UNIX, SOCK_STREAM, 0));
}

static int act_socketpair(void)
{
    int pair[2];
    char byte = 0;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return errno;
    return write(pair[0], "x", 1) == 1 && read(pair[1], &byte, 1) == 1 && byte == 'x' ? 0 : 201;
}

static int act_vsock(void)
{
    int errnum = answer(socket(40, SOCK_STREAM, 0));

    return errnum == EAFNOSUPPORT ? ENOSYS : errnum;
}

static int act_unshare_user(void)
{
    return answer(unshare(CLONE_NEWUSER));
}

static int act_clone_user(void)
{
    long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

    if (child == 0)
        _exit(0);
    return answer(child);
}

static int act_ring(void)
{
    char parameters[120] = {0};

    return answer(syscall(425, 4, parameters));
}

static int act_key(void)
{
    return answer(syscall(SYS_add_key, "user", "confine-test", "x", 1, -2 /* the process keyring */));
}

static int act_queue(void)
{
    int errnum = answer(syscall(SYS_mq_open, "confine-test-mq", O_RDWR | O_CREAT, 0600, NULL));

    syscall(SYS_mq_unlink, "confine-test-mq");
    return errnum;
}

static int act_shared_memory(void)
{
    int id = (int)syscall(SYS_shmget, 0 /* IPC_PRIVATE */, 4096, 0600 | 01000);

    if (id < 0)
        return errno;
    return answer(syscall(SYS_shmctl, id, 0 /* IPC_RMID */, NULL));
}

static int act_openat2(void)
{
    struct {
        uint64_t flags, mode, resolve;
    } how = {O_RDONLY, 0, 0};

    return answer(syscall(437, AT_FDCWD, "/", &how, sizeof(how)));
}

static int act_handle(void)
{
    struct {
        unsigned bytes;
        int type;
        char handle[128];
    } handle = {.bytes = 128};
    int mount;
    int errnum = answer(syscall(SYS_name_to_handle_at, AT_FDCWD, "/", &handle, &mount, 0));

    return errnum == EOVERFLOW ? 0 : errnum;
}

static int act_executable_pages(void)
{
    return answer(personality(READ_IMPLIES_EXEC));
}

/* Types one character into the own terminal, and looks for it. */
static int act_type(void)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY), slave;
    char text[8] = "";

    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0 || setsid() < 0)
        return 203;
    slave = open(ptsname(master), O_RDWR);
    if (slave < 0 || ioctl(slave, TIOCSCTTY, 0) != 0)
        return 203;
    if (ioctl(slave, TIOCSTI, "a") != 0)
        return errno;
    if (ioctl(slave, TIOCSTI, "\n") != 0)
        return errno;
    return read(slave, text, sizeof(text)) == 2 && text[0] == 'a' ? 0 : 201;
}

/* Landlock as ABI 4 has it, without a right: what is opened for neither reading nor writing needs none. */
static int act_open_neither(void)
{
    struct {
        uint64_t fs;
    } attributes = {0x7fff};
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0), modes = 0;
    struct termios termios;

    if (ruleset < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_landlock_restrict_self, ruleset, 0) != 0 || open("/dev/ptmx", O_RDONLY | O_NOCTTY) >= 0)
        return 200;
    modes = (int)syscall(SYS_openat, AT_FDCWD, "/dev/ptmx", O_ACCMODE | O_NOCTTY);
    return modes < 0 ? errno : answer(tcgetattr(modes, &termios));
}

static const struct wall {
    const char *name, *rule, *group; /* group NULL: it cannot be opened */
    int (*act)(void);
    int answer;
    const char *with; /* opened besides, in every way */
} walls[] = {
    {"netlink, events", "netlink-protocol", "net.netlink", act_netlink_events, EPERM, NULL},
    {"TCP on loopback", "inet-socket", "net.inet", act_tcp, EPERM, NULL},
    {"MPTCP on loopback", "inet-socket", "net.inet", act_mptcp, EPERM, NULL},
    {"UDP", "inet-socket", "net.inet", act_udp, EPERM, NULL},
    {"raw socket", "inet-type", "net.other", act_raw, EPERM, "net.inet"},
    {"netlink", "netlink-socket", "net.netlink", act_netlink, EPERM, NULL},
    {"vsock", "other-family", "net.other", act_vsock, EPERM, NULL},
    {"unix socket", "unix-socket", "unix.path", act_unix, EPERM, NULL},
    {"unshare", "unshare", "priv.userns", act_unshare_user, EPERM, NULL},
    {"clone", "clone-namespace", "priv.userns", act_clone_user, EPERM, NULL},
    {"ring", "io-uring", NULL, act_ring, ENOSYS, NULL},
    {"key", "keyring", "ipc.keyring", act_key, EPERM, NULL},
    {"message queue", "posix-queue", "ipc.mqueue", act_queue, EPERM, NULL},
    {"shared memory", "sysv-memory", "ipc.sysv", act_shared_memory, EPERM, NULL},
    {"openat2", "openat2", NULL, act_openat2, ENOSYS, NULL},
    {"file handle", "handle-name", "kernel.syscalls", act_handle, EOPNOTSUPP, NULL},
    {"READ_IMPLIES_EXEC", "personality", "kernel.syscalls", act_executable_pages, EPERM, NULL},
    {"neither reading nor writing", "openat-neither", NULL, act_open_neither, EACCES, NULL},
    {"TIOCSTI", "tty-sti", "tty.inject", act_type, EPERM, NULL},
};

static bool holds_rule(unsigned set, const char *name)
{
    for (size_t r = 0; r < RULES; r++)
        if (strcmp(seccomp_rules[r].name, name) == 0)
            return seccomp_rules[r].sets & set;
    test_skip("no rule %s", name);
}

static void try_wall(const struct wall *row)
{
    int control = ask(false, NULL, NULL, row->act);
    char opened[64];

    if (control != 0)
        test_skip("no control: bare it answers %d (%s)", control,
                  control < 200 ? strerror(control) : "no effect");
    check_int(ask(true, NULL, row->with, row->act), row->answer);
    check_int(ask(true, row->rule, row->with, row->act), 0);
    snprintf(opened, sizeof(opened), "%s%s%s", row->group ? row->group : "", row->with ? " " : "",
             row->with ? row->with : "");
    if (row->group)
        check_int(ask(true, NULL, opened, row->act), 0);
}

TEST_EACH(stands, struct wall, walls)
{
    if (holds_rule(SET_LANDLOCK, row->rule))
        try_wall(row);
    else
        check_int(ask(true, NULL, row->with, row->act), row->answer); /* by another rule */
}

/* What is no wall in this set is no hindrance. */
TEST_EACH(stands_with_namespaces, struct wall, walls)
{
    ask_set = "namespace";
    if (holds_rule(SET_NAMESPACE, row->rule))
        try_wall(row);
    else
        check_int(ask(true, NULL, row->with, row->act), ask(false, NULL, NULL, row->act));
}

/* Reaches a named socket outside through one end of a pair of TYPE. */
static int reach_by_pair(int type)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int pair[2];

    memcpy(name.sun_path, path, strlen(path) + 1);
    if (socketpair(AF_UNIX, type, 0, pair) != 0)
        return errno;
    if (type == SOCK_DGRAM)
        return answer(sendto(pair[0], "x", 1, 0, (void *)&name, sizeof(name)));
    close(pair[1]);
    return answer(connect(pair[0], (void *)&name, sizeof(name)));
}

static int act_reach_datagram(void)
{
    return reach_by_pair(SOCK_DGRAM);
}

static int act_reach_stream(void)
{
    return reach_by_pair(SOCK_STREAM);
}

static int act_reach_sequence(void)
{
    return reach_by_pair(SOCK_SEQPACKET);
}

static const struct pair {
    const char *name;
    int type;
    int (*act)(void);
} pairs[] = {
    {"datagram", SOCK_DGRAM, act_reach_datagram},
    {"stream", SOCK_STREAM, act_reach_stream},
    {"sequence of packets", SOCK_SEQPACKET, act_reach_sequence},
};

/* A pair must not become a way to sockets outside: a connected end cannot be connected anew, but a datagram
 * end can be sent on to any name. */
TEST_EACH(a_pair_reaches_no_socket_outside, struct pair, pairs)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int outside = socket(AF_UNIX, row->type | SOCK_NONBLOCK, 0), length;
    char byte;

    length = snprintf(name.sun_path, sizeof(name.sun_path), "%s", test_dir);
    need(length > 0 && (size_t)length + sizeof("/s") <= sizeof(name.sun_path));
    memcpy(name.sun_path + length, "/s", sizeof("/s"));
    memcpy(path, name.sun_path, sizeof(name.sun_path));
    need(outside >= 0 && bind(outside, (void *)&name, sizeof(name)) == 0);
    if (row->type == SOCK_DGRAM) {
        check_int(ask(false, NULL, NULL, row->act), 0);
        check_int(read(outside, &byte, 1), 1);
        check_int(ask(true, NULL, NULL, row->act), EPERM);
        check_fails(read(outside, &byte, 1), EAGAIN);
        check_int(ask(true, "unix-pair", NULL, row->act), 0);
        check_int(read(outside, &byte, 1), 1);
    } else {
        need(listen(outside, 1) == 0);
        check_int(ask(true, NULL, NULL, row->act), EISCONN);
        check_fails(accept(outside, NULL, NULL), EAGAIN);
    }
}

static void *run_thread(void *word)
{
    *(int *)word = 1;
    return NULL;
}

static int act_thread(void)
{
    pthread_t thread;
    int done = 0;

    return pthread_create(&thread, NULL, run_thread, &done) || pthread_join(thread, NULL) || !done;
}

static int act_spawn(void)
{
    char *argv[] = {(char *)"true", NULL};
    pid_t child;
    int status;

    return posix_spawnp(&child, "true", NULL, NULL, argv, environ) || waitpid(child, &status, 0) != child ||
           status;
}

static int act_system(void)
{
    return system("exit 3") != 3 << 8;
}

static int act_clone3(void)
{
    return answer(syscall(435, NULL, 0)) == ENOSYS ? 0 : 1;
}

static int act_unshare_files(void)
{
    return answer(unshare(CLONE_FILES | CLONE_FS));
}

static int act_no_random(void)
{
    return personality(ADDR_NO_RANDOMIZE) == -1 || personality(0xffffffff) != ADDR_NO_RANDOMIZE;
}

static int act_landlock(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 0 && errno == EPERM;
}

static int act_filter(void)
{
    struct sock_filter allow = {FILTER_RETURN, 0, 0, SECCOMP_RET_ALLOW};

    return filter_load(&allow, 1) != 0;
}

static int act_memory_file(void)
{
    return answer(syscall(SYS_memfd_create, "x", 0));
}

static const struct going {
    const char *name;
    int (*act)(void);
} goings[] = {
    {"threads", act_thread},
    {"posix_spawn", act_spawn},
    {"system", act_system},
    {"clone3 answers as an older kernel", act_clone3},
    {"unshare of files", act_unshare_files},
    {"socketpair", act_socketpair},
    {"ADDR_NO_RANDOMIZE", act_no_random},
    {"Landlock", act_landlock},
    {"another filter", act_filter},
    {"memfd_create", act_memory_file},
};

TEST_EACH(goes_on_working, struct going, goings)
{
    check_int(ask(true, NULL, NULL, row->act), 0);
    ask_set = "namespace";
    check_int(ask(true, NULL, NULL, row->act), 0);
}

/* The interfaces, as the C library asks for them. */
static int act_interfaces(void)
{
    struct ifaddrs *first;

    if (getifaddrs(&first) != 0)
        return errno;
    freeifaddrs(first);
    return if_nametoindex("lo") == 1 ? 0 : 201;
}

static int act_limit_of_child(void)
{
    struct rlimit limit = {10, 10};
    pid_t child = fork();
    int errnum;

    if (child == 0)
        for (;;)
            pause();
    errnum = answer(prlimit(child, RLIMIT_NOFILE, &limit, NULL))
                 ?: answer(setpriority(PRIO_PROCESS, (id_t)child, 9));
    if (errnum == 0 && getpriority(PRIO_PROCESS, (id_t)child) != 9)
        errnum = 201;
    kill(child, SIGKILL);
    return waitpid(child, NULL, 0) == child ? errnum : 201;
}

static const struct going goings_inside[] = {
    {"TCP on loopback", act_tcp},
    {"UDP", act_udp},
    {"unix socket", act_unix},
    {"interfaces by netlink", act_interfaces},
    {"message queue", act_queue},
    {"shared memory", act_shared_memory},
    {"limit and priority of a child", act_limit_of_child},
};

TEST_EACH(goes_on_working_with_namespaces, struct going, goings_inside)
{
    int control = ask(false, NULL, NULL, row->act);

    if (control != 0)
        test_skip("no control: bare it answers %d", control);
    ask_set = "namespace";
    check_int(ask(true, NULL, NULL, row->act), 0);
}

/* A sandbox of its own, by the old calls or the new ones: namespaces, a file system, another root. */
static int make_sandbox(bool by_new_calls)
{
    char root[PATH_MAX];
    int mounts;

    snprintf(root, sizeof(root), "%.4000s", test_dir);
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) != 0)
        return errno;
    if (!by_new_calls && mount("tmpfs", root, "tmpfs", 0, NULL) != 0)
        return errno;
    if (by_new_calls) {
        int context = (int)syscall(430 /* fsopen */, "tmpfs", 0);

        if (context < 0 || syscall(431 /* fsconfig */, context, 6 /* create */, NULL, NULL, 0) != 0)
            return errno;
        mounts = (int)syscall(432 /* fsmount */, context, 0, 0);
        if (mounts < 0 || syscall(429 /* move_mount */, mounts, "", AT_FDCWD, root, 4 /* empty path */) != 0)
            return errno;
    }
    if (chdir(root) != 0 || syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0 ||
        chroot(".") != 0)
        return errno;
    return access("/etc", F_OK) == 0 ? 201 : 0;
}

static int act_sandbox(void)
{
    return make_sandbox(false);
}

static int act_sandbox_new(void)
{
    return make_sandbox(true);
}

static const struct inside {
    const char *name;
    int (*act)(void);
} insides[] = {{"by mount", act_sandbox}, {"by fsmount", act_sandbox_new}};

TEST_EACH(a_sandbox_can_be_made_inside, struct inside, insides)
{
    int control = ask(false, NULL, NULL, row->act);

    if (control != 0)
        test_skip("no control: bare it answers %d", control);
    ask_set = "namespace";
    check_int(ask(true, NULL, NULL, row->act), EPERM);
    check_int(ask(true, NULL, "priv.userns", row->act), 0);
    check_int(ask(true, "mount-inside", NULL, row->act), EPERM); /* namespaces are still refused */
}

#if defined(__x86_64__)
/* mkdir by the 32-bit entry, which has other numbers. The name must lie below 4 GiB. */
static int act_mkdir_i386(void)
{
    char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    long result;

    if (low == MAP_FAILED)
        return 203;
    strcpy(low, path);
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(39L), "b"(low), "c"(0700L)
                     : "memory", "r8", "r9", "r10", "r11");
    return result < 0 ? (int)-result : 0;
}

TEST(the_32_bit_entry_is_closed)
{
    int control;

    snprintf(path, sizeof(path), "%.4000s/dir", test_dir);
    control = ask(false, NULL, NULL, act_mkdir_i386);
    if (control == ENOSYS || control == EFAULT)
        test_skip("this kernel has no 32-bit entry");
    check_int(control, 0);
    check_int(rmdir(path), 0);
    check_int(ask(true, NULL, NULL, act_mkdir_i386), ENOSYS);
    check_fails(rmdir(path), ENOENT);
    check_int(ask(true, "foreign-arch", NULL, act_mkdir_i386), 0);
    check_int(rmdir(path), 0);
}
#endif
