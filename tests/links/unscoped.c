/*
 * unscoped.c - the guard's own check: without a scope it must kill nothing.
 *
 *     unscoped [MUTATED]
 *
 * Starts the guard with no domain at all and ends the liveness pipe. Run it only in a pid namespace of its
 * own, as pid 1: what it must not do would end every process that it may signal.
 */
#include "../../links/guard.h"

#include <stdio.h>
#include <sys/wait.h>

int main(int argc, char **argv, char **envp)
{
    struct chain chain = {.name = "unscoped", .argv = argv, .envp = envp, .words = argv};
    int channel[2], live[2], status = 0, guard = 0;
    pid_t bystander, middle;

    (void)argc;
    if (getpid() != 1 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET, 0, channel) != 0 || pipe(live) != 0)
        return 99;
    bystander = fork();
    if (bystander == 0) {
        close(live[1]);
        for (;;)
            pause();
    }
    middle = fork();
    if (middle == 0) {
        close(live[1]);
        guard_start(&chain, live[0], channel[1]);
        _exit(0);
    }
    close(live[0]);
    waitpid(middle, &status, 0);
    close(live[1]);
    for (pid_t gone; (gone = waitpid(-1, &status, 0)) > 0;) {
        if (gone == bystander)
            break;
        guard = WEXITSTATUS(status);
        kill(bystander, SIGTERM); /* if it is still there, this is what ends it */
    }
    printf("guard %d, bystander %d\n", guard, WIFSIGNALED(status) ? WTERMSIG(status) : -1);
    return 0;
}
