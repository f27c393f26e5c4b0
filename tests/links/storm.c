/*
 * storm.c - a command that leaves as much behind as it can.
 *
 *     storm DAEMONS STORMS    double-forked daemons in sessions of their own, and processes that only fork;
 * then ends storm guard             looks for a guard of ours and tries to reach it; prints each errno
 *
 * Everything ends by itself after SECONDS: a wall that is missing must not hurt the machine.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <time.h>
#include <unistd.h>

#ifndef SECONDS
#define SECONDS 20
#endif

static void daemonize(void)
{
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            alarm(SECONDS);
            for (;;)
                pause();
        }
        _exit(0);
    }
}

static void fork_forever(void)
{
    time_t end = time(NULL) + SECONDS;

    signal(SIGCHLD, SIG_IGN);
    if (fork() != 0)
        return;
    setsid();
    while (time(NULL) < end)
        if (fork() > 0)
            _exit(0);
    _exit(0);
}

static int answer(long result)
{
    return result < 0 ? errno : 0;
}

/* Return: whether a guard was found. */
static int reach_guard(void)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;

    while (proc && (entry = readdir(proc))) {
        char path[300], name[64] = "", words[64];
        pid_t pid = atoi(entry->d_name);
        ssize_t size;
        int fd;

        if (pid <= 0)
            continue;
        snprintf(path, sizeof(path), "/proc/%d/comm", pid);
        fd = open(path, O_RDONLY);
        if (fd < 0 || read(fd, name, sizeof(name) - 1) <= 0 || strcmp(name, "confine-guard\n") != 0) {
            close(fd);
            continue;
        }
        close(fd);
        snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
        fd = open(path, O_RDONLY);
        size = read(fd, words, sizeof(words));
        close(fd);
        for (ssize_t i = 0; i < size; i++)
            if (words[i])
                printf("word left ");
        printf("stop %d", answer(kill(pid, SIGSTOP)));
        printf(" kill %d", answer(kill(pid, SIGKILL)));
        printf(" trace %d", answer(ptrace(PTRACE_SEIZE, pid, NULL, NULL)));
        snprintf(path, sizeof(path), "/proc/%d/environ", pid);
        printf(" environ %d", answer(open(path, O_RDONLY)));
        snprintf(path, sizeof(path), "/proc/%d/mem", pid);
        printf(" mem %d", answer(open(path, O_RDWR)));
        snprintf(path, sizeof(path), "/proc/%d/fd/0", pid);
        printf(" fd %d\n", answer(readlink(path, words, sizeof(words))));
        return 1;
    }
    closedir(proc);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2) {
        for (int i = 0; i < 100; i++) { /* it may not have its name yet */
            if (reach_guard())
                return 0;
            usleep(20000);
        }
        printf("no guard\n");
        return 1;
    }
    if (argc != 3)
        return 99;
    for (int i = 0; i < atoi(argv[1]); i++)
        daemonize();
    for (int i = 0; i < atoi(argv[2]); i++)
        fork_forever();
    return 0;
}
