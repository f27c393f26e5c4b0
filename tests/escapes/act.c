/*
 * act.c - single acts of a hostile command, for the scripts beside it. Says on standard output what happened.
 *
 *   open FLAGS PATH...        opens each with the numeric flags: `PATH open` or `PATH ERRNO`
 *   traceme [COMMAND...]      asks to be traced by the parent, then becomes COMMAND
 *   sibling SECONDS           makes a child of its own parent that lives so long; waits for the end of one of
 * 0 send-unix FD PATH         sends a datagram on FD to the socket PATH accept FD                 accepts a
 * connection on FD modes FD                  reads the modes of the terminal FD socket FAMILY TYPE COMMAND...
 * becomes COMMAND with such a socket as standard input around FD NAME            reads NAME in the directory
 * FD, and changes its mode
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

static int say(const char *what, int failed)
{
    printf("%s %s\n", what, failed ? strerrorname_np(errno) : "open");
    fflush(stdout);
    return failed ? 1 : 0;
}

static int act_open(char **words)
{
    int flags = atoi(words[0]), failed = 0;

    for (words++; *words; words++)
        failed |= say(*words, open(*words, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) < 0);
    return failed;
}

static int act_traceme(char **words)
{
    if (say("traced", ptrace(PTRACE_TRACEME, 0, 0, 0) != 0))
        return 1;
    if (*words)
        execvp(words[0], words);
    return 1;
}

static int act_sibling(char **words)
{
    long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
    unsigned seconds = (unsigned)atoi(words[0]);
    char path[32], state = 'R';

    if (pid == 0) {
        sleep(seconds);
        _exit(0);
    }
    snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    for (int i = 0; i < 2000 && seconds == 0 && state != 'Z'; i++) {
        FILE *stat = fopen(path, "r");

        if (!stat) /* reaped */
            break;
        if (fscanf(stat, "%*d (%*[^)]) %c", &state) != 1)
            state = 'R';
        fclose(stat);
        usleep(5000);
    }
    return say("sibling", pid < 0);
}

static int act_send_unix(char **words)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};

    snprintf(name.sun_path, sizeof(name.sun_path), "%s", words[1]);
    return say("send", sendto(atoi(words[0]), "escaped", 7, 0, (struct sockaddr *)&name, sizeof(name)) != 7);
}

static int act_accept(char **words)
{
    return say("accept", accept(atoi(words[0]), NULL, NULL) < 0);
}

static int act_modes(char **words)
{
    struct termios modes;

    return say("modes", tcgetattr(atoi(words[0]), &modes) != 0);
}

static int act_socket(char **words)
{
    int fd = socket(atoi(words[0]), atoi(words[1]), 0);

    if (fd < 0 || dup2(fd, 0) != 0)
        return say("socket", 1);
    execvp(words[2], words + 2);
    return 1;
}

static int act_around(char **words)
{
    char byte;
    int directory = atoi(words[0]), fd = openat(directory, words[1], O_RDONLY | O_CLOEXEC);

    if (say("read", fd < 0 || read(fd, &byte, 1) != 1))
        return 1;
    return say("mode", fchmodat(directory, words[1], 0604, 0) != 0);
}

static const struct act {
    const char *name;
    int words; /* at least */
    int (*run)(char **words);
} acts[] = {
    {"open", 2, act_open},     {"traceme", 0, act_traceme}, {"send-unix", 2, act_send_unix},
    {"accept", 1, act_accept}, {"modes", 1, act_modes},     {"socket", 3, act_socket},
    {"around", 2, act_around}, {"sibling", 1, act_sibling},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof(acts) / sizeof(acts[0]); i++)
        if (strcmp(argv[1], acts[i].name) == 0 && argc - 2 >= acts[i].words)
            return acts[i].run(argv + 2);
    fprintf(stderr, "act: usage\n");
    return 2;
}
