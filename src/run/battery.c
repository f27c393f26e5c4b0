/*
 * battery.c - start confine-check, the program that tries to get out.
 *
 * Should:  take it from where the links are taken from, and hand it the caller's environment as it is.
 * Mustn't: let it have our stdin: what somebody types there is not for it.
 */
#include "run/battery.h"

#include "run/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static _Noreturn void become_battery(int program, int out, char *const *words)
{
    static char name[] = "confine-check";
    char **argv;
    size_t count = 0;
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

    while (words[count])
        count++;
    argv = calloc(count + 2, sizeof(*argv));
    if (!argv || nothing < 0 || dup2(nothing, 0) != 0 || dup2(out, 1) != 1)
        _exit(125);
    argv[0] = name;
    memcpy(argv + 1, words, count * sizeof(*argv));
    execve(FD_NAME(program), argv, environ);
    _exit(126);
}

int battery_start(const struct resolved *resolved, char *const *words, pid_t *ret_pid, int *ret_fd,
                  struct error *error)
{
    _cleanup_fd_ int program = launcher_open(resolved, "confine-check", error);
    int ends[2];
    pid_t child;

    if (program < 0)
        return program;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set(error, ERROR_INTERNAL, errno, "no-pipe", "pipe: %s", strerror(errno));
    child = fork();
    if (child == 0)
        become_battery(program, ends[1], words);
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return error_set(error, ERROR_INTERNAL, errno, "no-process", "fork: %s", strerror(errno));
    }
    *ret_pid = child;
    *ret_fd = ends[0];
    return 0;
}
