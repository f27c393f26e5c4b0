/*
 * ahead.c - whoever makes namespaces for namespace-run --ahead, in every way that it can go.
 *
 *     ahead MODE COMMAND [ARG]...     the command has the process as descriptor 33, and what it says as 34
 *
 * MODE: `all` makes every namespace, `local` all but the network's, `own` none, `cannot` says that a network
 * namespace was refused, `silent` ends without a word, `garbage` says another one. What there is then is
 * printed on the standard error: the numbers of the namespaces.
 */
#include "../../links/channel.h"
#include "../../links/kernel_abi.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define AHEAD       33
#define AHEAD_READY 34
#define LOCAL       (UINT64_C(1) << 32)
#define NET         (UINT64_C(2) << 32)

static int put(const char *file, const char *text)
{
    int fd = open(file, O_WRONLY), failed = write(fd, text, strlen(text)) != (ssize_t)strlen(text);

    close(fd);
    return failed;
}

static int make(int flags)
{
    char uids[40], gids[40];

    snprintf(uids, sizeof(uids), "%u %u 1", geteuid(), geteuid());
    snprintf(gids, sizeof(gids), "%u %u 1", getegid(), getegid());
    return unshare(flags | CLONE_NEWUSER) != 0 || put("/proc/self/setgroups", "deny") ||
           put("/proc/self/uid_map", uids) || put("/proc/self/gid_map", gids);
}

static void print(void)
{
    static const char *const files[] = {"/proc/self/ns/user", "/proc/self/ns/ipc", "/proc/self/ns/uts",
                                        "/proc/self/ns/net"};
    struct stat seen;

    for (size_t i = 0; i < 4; i++)
        if (stat(files[i], &seen) == 0)
            dprintf(STDERR_FILENO, "%lu\n", (unsigned long)seen.st_ino);
}

static void run(const char *mode, int ready)
{
    static const struct {
        const char *mode;
        int flags;
        uint64_t says; /* 0: nothing, and ends */
    } modes[] = {
        {"all", CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET, NET},
        {"local", CLONE_NEWIPC | CLONE_NEWUTS, LOCAL},
        {"own", 0, NET},
        {"cannot", 0, CANNOT_NET << 16 | 1},
        {"garbage", 0, 7},
        {"silent", 0, 0},
    };

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(modes[i].mode, mode) != 0)
            continue;
        if ((modes[i].flags && make(modes[i].flags) != 0) || modes[i].says == 0)
            return;
        print();
        if (write(ready, &modes[i].says, sizeof(modes[i].says)) != (ssize_t)sizeof(modes[i].says))
            return;
        for (;;)
            pause();
    }
}

int main(int argc, char **argv)
{
    int ready = eventfd(0, EFD_CLOEXEC), process;
    pid_t child;

    if (argc < 3 || ready < 0)
        return 99;
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        run(argv[1], ready);
        _exit(0);
    }
    process = child < 0 ? -1 : (int)kernel_call(SYS_pidfd_open, child, 0, 0, 0, 0, 0);
    if (process < 0 || dup2(process, AHEAD) != AHEAD || dup2(ready, AHEAD_READY) != AHEAD_READY)
        return 99;
    execvp(argv[2], argv + 2);
    return 99;
}
