/*
 * ahead.c - whoever makes namespaces for namespace-run --ahead, in every way that it can go.
 *
 *     ahead MODE COMMAND [ARG]...     the command has the socket as descriptor 33
 *
 * MODE: `all` makes every namespace, `local` all but the network's, `part` leaves out the last two, `own`
 * sends those that it is in itself, `cannot` says that a network namespace was refused, `silent` ends without
 * a word, `garbage` sends another one. The numbers of what is sent are printed on the standard error.
 */
#include "../../links/channel.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define AHEAD 33

static const char *const files[] = {"/proc/self/ns/user", "/proc/self/ns/ipc", "/proc/self/ns/uts",
                                    "/proc/self/ns/net"};

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

static int tell(int socket, struct channel_word word, size_t count)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(4 * sizeof(int))];
    } control = {.room = ""};
    struct iovec part = {.iov_base = &word, .iov_len = sizeof(word)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    int fds[4];

    for (size_t i = 0; i < count; i++) {
        struct stat seen;

        fds[i] = open(files[i], O_RDONLY);
        if (fds[i] < 0 || fstat(fds[i], &seen) != 0)
            return 1;
        dprintf(STDERR_FILENO, "%lu\n", (unsigned long)seen.st_ino);
    }
    if (count > 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(&control.header), fds, count * sizeof(int));
    }
    return sendmsg(socket, &message, 0) != (ssize_t)sizeof(word);
}

static int run(const char *mode, int socket)
{
    const struct channel_word made = {.type = CHANNEL_AHEAD};
    const int local = CLONE_NEWIPC | CLONE_NEWUTS;

    if (strcmp(mode, "all") == 0)
        return make(local | CLONE_NEWNET) || tell(socket, made, 4);
    if (strcmp(mode, "local") == 0)
        return make(local) || tell(socket, made, 3);
    if (strcmp(mode, "part") == 0)
        return make(local) || tell(socket, made, 2);
    if (strcmp(mode, "own") == 0)
        return tell(socket, made, 4);
    if (strcmp(mode, "cannot") == 0)
        return tell(socket, (struct channel_word){.type = CHANNEL_CANNOT, .value = CANNOT_NET << 16 | 1}, 0);
    if (strcmp(mode, "garbage") == 0)
        return tell(socket, (struct channel_word){.type = CHANNEL_HERE}, 0);
    return strcmp(mode, "silent") != 0;
}

int main(int argc, char **argv)
{
    int ends[2], status = 0;
    pid_t child;

    if (argc < 3 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return 99;
    child = fork();
    if (child == 0)
        _exit(run(argv[1], ends[1]));
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0 || dup2(ends[0], AHEAD) != AHEAD)
        return 99;
    close(ends[1]);
    execvp(argv[2], argv + 2);
    return 99;
}
