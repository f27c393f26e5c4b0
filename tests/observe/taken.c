/*
 * taken.c - run a command where the place of an observer is taken: a filter around it announces calls already
 * (none, as it happens).
 *
 *     taken COMMAND [ARG]...
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

int main(int argc, char **argv)
{
    struct sock_filter code[] = {{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
    struct sock_fprog program = {1, code};
    int status;
    pid_t pid;

    if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program) < 0) {
        perror("taken");
        return 99;
    }
    pid = fork();
    if (pid == 0) {
        execvp(argv[1], argv + 1);
        _exit(99);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return 99;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
