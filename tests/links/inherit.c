/*
 * inherit.c - what a program inherits.
 *
 *     inherit COMMAND [ARG]...          opens, ignores, blocks and starts what can be inherited, and runs the
 * rest inherit                           prints what it has inherited inherit keyring COMMAND [ARG]...  joins
 * a session keyring named after its own, and runs the rest inherit keyring                   is it still that
 * one?
 */
#include "../../links/kernel_abi.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static int say(void)
{
    struct itimerval timer = {0};
    struct sigaction action;
    sigset_t blocked;

    printf("open");
    for (int fd = 0, first = -1; fd <= 100; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) {
            first = first < 0 ? fd : first;
            continue;
        }
        if (first >= 0)
            printf(first == fd - 1 ? " %d" : " %d-%d", first, fd - 1);
        first = -1;
    }
    printf("\nignored");
    for (int i = 1; i < 32; i++)
        if (sigaction(i, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            printf(" %d", i);
    printf("\nblocked");
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    for (int i = 1; i < 32; i++)
        if (sigismember(&blocked, i))
            printf(" %d", i);
    getitimer(ITIMER_REAL, &timer);
    printf("\ntimer %d\n", timer.it_value.tv_sec > 0);
    return 0;
}

static int keyring(char **rest)
{
    const char *name = "confine-test-session";
    char seen[256] = "";

    if (rest[0]) {
        if (kernel_call(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, KERNEL_PTR(name), 0, 0, 0, 0) < 0)
            return 99;
        execv(rest[0], rest);
        return 99;
    }
    if (kernel_call(SYS_keyctl, 6 /* KEYCTL_DESCRIBE */, KEY_SPEC_SESSION_KEYRING, KERNEL_PTR(seen),
                    sizeof(seen), 0, 0) < 0)
        return 99;
    puts(strstr(seen, name) ? "same" : "other");
    return 0;
}

int main(int argc, char **argv)
{
    struct itimerval timer = {.it_value.tv_sec = 1000};
    sigset_t blocked;

    if (argc > 1 && strcmp(argv[1], "keyring") == 0)
        return keyring(argv + 2);
    if (argc < 2)
        return say();
    for (int fd = 3; fd <= 40; fd++)
        if (dup2(2, fd) != fd)
            return 99;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    execv(argv[1], argv + 1);
    return 99;
}
