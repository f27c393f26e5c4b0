/*
 * supervise.c - the supervisor's part in the life of a guard.
 *
 *     supervise MODE COMMAND [ARG]...
 *
 * The command gets the liveness pipe as 21 and the channel as 20. MODE: `end` closes the pipe when the
 * command has ended, `die` ends itself by SIGKILL then, `deaf` has no other end of the channel. Everything
 * that the command leaves behind holds a pipe of ours, so that its end is seen, whoever and wherever it is.
 */
#include "../../links/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Waits for the pipe's end. Return: whether it came. */
static int ended(int fd, int milliseconds)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

    return poll(&poll_fd, 1, milliseconds) == 1;
}

static pid_t receive_guard(int channel)
{
    struct channel_word word = {0};
    struct iovec part = {.iov_base = &word, .iov_len = sizeof(word)};
    union {
        char room[CMSG_SPACE(sizeof(struct ucred))];
        struct cmsghdr align;
    } control;
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    struct ucred who;

    if (!ended(channel, 60000) || recvmsg(channel, &message, 0) != sizeof(word) ||
        word.type != CHANNEL_GUARD || !CMSG_FIRSTHDR(&message))
        return 0;
    memcpy(&who, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(who));
    return who.pid;
}

int main(int argc, char **argv)
{
    int channel[2], live[2], held[2], status = 0, one = 1;
    pid_t command, guard = 0;

    if (argc < 3 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) != 0 ||
        pipe2(live, O_CLOEXEC) != 0 || pipe2(held, O_CLOEXEC) != 0)
        return 99;
    setsockopt(channel[0], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one));
    if (strcmp(argv[1], "deaf") == 0)
        close(channel[0]); /* before there is anybody who could be quicker */
    command = fork();
    if (command == 0) {
        dup2(channel[1], 20);
        dup2(live[0], 21);
        dup2(held[1], 22);
        execv(argv[2], argv + 2);
        _exit(99);
    }
    close(channel[1]);
    close(live[0]);
    close(held[1]);
    if (strcmp(argv[1], "deaf") != 0) {
        guard = receive_guard(channel[0]);
        printf("guard %s\n", guard > 0 && guard != command && waitpid(guard, &status, WNOHANG) == 0
                                 ? "is our child"
                                 : "absent");
    }
    waitpid(command, &status, 0);
    printf("command %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status));
    printf("left %s\n", ended(held[0], 100) ? "nothing" : "something");
    fflush(stdout);
    if (strcmp(argv[1], "die") == 0)
        raise(SIGKILL);
    close(live[1]);
    printf("then %s\n",
           ended(held[0], strcmp(argv[1], "deaf") == 0 ? 3000 : 60000) ? "nothing" : "something");
    /* The first process of a pid namespace also inherits what the guard killed. Without a name on the channel
     * the guard is the oldest child, which the kernel looks at first. */
    guard = waitpid(guard > 0 ? guard : -1, &status, 0);
    printf("guard %d\n", guard < 0           ? -errno
                         : WIFEXITED(status) ? WEXITSTATUS(status)
                                             : 1000 + WTERMSIG(status));
    return 0;
}
