/*
 * facts.c - the command of the fault matrix: says what it can do, one NAME=VALUE per line.
 *
 *     facts DIRECTORY PID ABSTRACT [NAME:NUMBER]...
 *
 * DIRECTORY holds ws/ (the workspace), outside and secret (existing files); PID is a process outside of the
 * same user; ABSTRACT a name that it listens on; NAME a namespace, which is compared with that NUMBER. A
 * value is an errno (0: it went through) or what was read back. Ends with `end=1`, so that half a list is no
 * list.
 */
#include "../../links/kernel_abi.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#define DESCRIPTORS 64
#define SENTINEL_NR 0x3ead
#define IPC_INFO    3

static void say(const char *name, long value)
{
    printf("%s=%ld\n", name, value);
}

static void try_open(const char *name, const char *directory, const char *file, int flags)
{
    char path[4096];
    int fd;

    snprintf(path, sizeof(path), "%s%s%s", directory, *directory ? "/" : "", file);
    fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    say(name, fd < 0 ? errno : 0);
    if (fd >= 0 && (flags & O_WRONLY) && write(fd, "changed", 7) < 0)
        say("written", errno);
    if (fd >= 0)
        close(fd);
}

static void try_files(const char *directory)
{
    char path[4096];

    try_open("open-outside", directory, "outside", O_WRONLY);
    try_open("create-outside", directory, "new", O_WRONLY | O_CREAT);
    try_open("create-inside", directory, "ws/new", O_WRONLY | O_CREAT);
    try_open("read-secret", directory, "secret", O_RDONLY);
    try_open("open-device", "", "/dev/full", O_RDONLY);
    snprintf(path, sizeof(path), "%s/outside", directory);
    say("truncate-outside", truncate(path, 3) == 0 ? 0 : errno);
    say("chmod-set-id", chmod(path, 04600) == 0 ? 0 : errno);
}

static void try_socket(const char *name, int family, int type)
{
    int fd = socket(family, type | SOCK_CLOEXEC, 0);

    say(name, fd < 0 ? errno : 0);
    if (fd >= 0)
        close(fd);
}

static void try_others(pid_t pid, const char *abstract)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), pair[2];
    struct rlimit limit;
    char room[256];
    long head = 0, size = 0;

    say("signal", kill(pid, 0) == 0 ? 0 : errno);
    say("inspect", -kernel_call(SYS_get_robust_list, pid, KERNEL_PTR(&head), KERNEL_PTR(&size), 0, 0, 0));
    getrlimit(RLIMIT_NOFILE, &limit);
    say("adjust", -kernel_call(SYS_prlimit64, pid, RLIMIT_NOFILE, KERNEL_PTR(&limit), 0, 0, 0));
    strncpy(name.sun_path + 1, abstract, sizeof(name.sun_path) - 2);
    say("abstract", connect(fd, (struct sockaddr *)&name,
                            (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(abstract))) == 0
                        ? 0
                        : errno);
    try_socket("socket-inet", AF_INET, SOCK_STREAM);
    try_socket("socket-netlink", AF_NETLINK, SOCK_RAW);
    try_socket("socket-unix", AF_UNIX, SOCK_STREAM);
    say("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 ? 0 : errno);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    say("bind", bind(fd, (struct sockaddr *)&any, sizeof(any)) == 0 ? 0 : errno);
    say("keyring", -kernel_call(SYS_keyctl, 0, -3, 0, 0, 0, 0) > 0);
    say("shm", -kernel_call(SYS_shmctl, 0, IPC_INFO, KERNEL_PTR(room), 0, 0, 0) > 0);
    say("sentinel", -kernel_call(SENTINEL_NR, 0, 0, 0, 0, 0, 0));
}

static void read_capabilities(void)
{
    struct capability_header header = {.version = CAPABILITY_VERSION_3};
    struct capability_data data[2] = {{0}, {0}};
    long bounding = 0;

    kernel_call(SYS_capget, KERNEL_PTR(&header), KERNEL_PTR(data), 0, 0, 0, 0);
    for (int capability = 0; capability < 64; capability++)
        bounding += prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 1;
    say("permitted", (long)data[0].permitted | (long)data[1].permitted << 32);
    say("effective", (long)data[0].effective | (long)data[1].effective << 32);
    say("inheritable", (long)data[0].inheritable | (long)data[1].inheritable << 32);
    say("bounding", bounding);
    say("securebits", prctl(PR_GET_SECUREBITS, 0, 0, 0, 0));
    say("no-new-privs", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
}

/* What is inherited. The open descriptors are looked at before anything else has opened one. */
static void read_inherited(void)
{
    struct rlimit limit;
    sigset_t blocked;
    mode_t mask = umask(0);
    long ignored = 0, blocks = 0;

    umask(mask);
    for (int fd = 3; fd < DESCRIPTORS; fd++)
        if (fcntl(fd, F_GETFD) >= 0) {
            printf("descriptor-%d=1\n", fd);
            if (write(fd, "changed", 7) == 7)
                printf("written-by-%d=1\n", fd);
        }
    say("uid", getuid());
    say("euid", geteuid());
    say("gid", getgid());
    say("egid", getegid());
    say("groups", getgroups(0, NULL));
    say("own-session", getsid(0) == getpid());
    say("own-group", getpgrp() == getpid());
    say("umask", (long)mask);
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    for (int signal = 1; signal < 32; signal++) {
        struct sigaction action = {.sa_handler = SIG_DFL};

        sigaction(signal, NULL, &action);
        ignored |= action.sa_handler == SIG_IGN ? 1L << signal : 0;
        blocks |= sigismember(&blocked, signal) ? 1L << signal : 0;
    }
    say("ignored", ignored);
    say("blocked", blocks);
    getrlimit(RLIMIT_CORE, &limit);
    say("core", (long)limit.rlim_max);
    getrlimit(RLIMIT_FSIZE, &limit);
    say("file-size", (long)limit.rlim_max);
    getrlimit(RLIMIT_CPU, &limit);
    say("cpu-time", (long)limit.rlim_cur);
    say("secret", getenv("CANARY_API_TOKEN") != NULL);
}

/* Is 0 a terminal, and that of a session which this process leads? */
static void read_terminal(void)
{
    say("terminal", isatty(0));
    say("own-terminal", tcgetsid(0) == getpid());
    try_open("controlling-terminal", "", "/dev/tty", O_RDWR);
}

static void read_namespace(const char *asked)
{
    size_t length = strcspn(asked, ":");
    struct stat seen = {0};
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/ns/%.*s", (int)length, asked);
    if (stat(path, &seen) != 0)
        seen.st_ino = 0;
    printf("same-%.*s=%d\n", (int)length, asked, seen.st_ino == strtoull(asked + length + 1, NULL, 10));
}

static long read_limit(const char *directory, const char *file)
{
    char path[4096], text[64] = "";
    int fd;

    snprintf(path, sizeof(path), "%s/%s", directory, file);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 0)
        text[0] = '\0';
    if (fd >= 0)
        close(fd);
    return strtol(text, NULL, 10);
}

/* The groups of a run's own that this process is in, and what they hold; in version 1 and 2. */
static void read_groups(void)
{
    char line[4096], directory[4200];
    FILE *list = fopen("/proc/self/cgroup", "re");
    long groups = list ? 0 : -1, memory = 0, processes = 0;

    while (list && fgets(line, sizeof(line), list)) {
        char *controller = strchr(line, ':'), *path = controller ? strchr(++controller, ':') : NULL;

        if (!path || !strstr(path, "/confine."))
            continue;
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        snprintf(directory, sizeof(directory), "/sys/fs/cgroup/%s%s", controller, path);
        groups++;
        memory |= read_limit(directory, *controller ? "memory.limit_in_bytes" : "memory.max");
        processes |= read_limit(directory, "pids.max");
    }
    if (list)
        fclose(list);
    say("groups", groups);
    say("memory-limit", memory);
    say("process-limit", processes);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 99;
    read_inherited();
    read_terminal();
    for (int i = 4; i < argc; i++)
        read_namespace(argv[i]);
    read_groups();
    read_capabilities();
    try_files(argv[1]);
    try_others((pid_t)atoi(argv[2]), argv[3]);
    say("end", 1);
    return 0;
}
