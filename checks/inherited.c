/*
 * inherited.c - what the caller left open, and what its environment says.
 */
#include "battery.h"
#include "place.h"

#include "links/kernel_abi.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

enum { FIRST = 100 /* where no number stands for anything else */ };

/* Leaves FD open for whoever is started now; number[0]. */
static int leave_open(struct trial *trial, int fd)
{
    int copy;

    if (fd < 0)
        return -errno;
    copy = fcntl(fd, F_DUPFD, FIRST);
    close(fd);
    trial->order.number[0] = copy;
    return place_keep(trial, 0, copy);
}

static int prepare_open(struct trial *trial, int flags)
{
    int result = place_victim(trial);

    return result < 0 ? result : leave_open(trial, open(trial->order.path[0], flags | O_CLOEXEC));
}

static int prepare_writable(struct trial *trial)
{
    return prepare_open(trial, O_RDWR);
}

static int prepare_readable(struct trial *trial)
{
    return prepare_open(trial, O_RDONLY);
}

static int prepare_path(struct trial *trial)
{
    return prepare_open(trial, O_PATH);
}

static int prepare_directory(struct trial *trial)
{
    int result = place_victim(trial);

    return result < 0 ? result : leave_open(trial, open(trial->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static int prepare_socket(struct trial *trial)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
        return -errno;
    trial->fd[1] = pair[0];
    return leave_open(trial, pair[1]);
}

static int act_write(const struct order *order, struct answer *answer)
{
    (void)answer;
    return place_mark((int)order->number[0], order);
}

static int act_below(const struct order *order, struct answer *answer)
{
    (void)answer;
    return place_mark(openat((int)order->number[0], "victim", O_WRONLY | O_TRUNC), order);
}

static int reopen(const struct order *order, const char *format)
{
    char name[40];

    snprintf(name, sizeof(name), "%s/%ld", format, order->number[0]);
    return place_mark(open(name, O_WRONLY | O_TRUNC), order);
}

static int act_reopen(const struct order *order, struct answer *answer)
{
    (void)answer;
    return reopen(order, "/proc/self/fd");
}

static int act_reopen_dev(const struct order *order, struct answer *answer)
{
    (void)answer;
    return reopen(order, "/dev/fd");
}

static int act_mode(const struct order *order, struct answer *answer)
{
    (void)answer;
    return fchmod((int)order->number[0], 0666) != 0 ? errno : 0;
}

static int look_mode(struct trial *trial)
{
    struct stat object;

    return stat(trial->order.path[0], &object) != 0 ? -errno : (object.st_mode & 07777) == 0666;
}

static int act_go_there(const struct order *order, struct answer *answer)
{
    (void)answer;
    if (fchdir((int)order->number[0]) != 0)
        return errno;
    return place_mark(open("victim", O_WRONLY | O_TRUNC), order);
}

static int look_said(struct trial *trial)
{
    char text[4 * MARK_SIZE] = "";

    return read(trial->fd[1], text, sizeof(text) - 1) > 0 && strstr(text, trial->order.mark) != NULL;
}

/* The channel by which a run is told what to do: whoever has it can have it allow more. */
static int prepare_control(struct trial *trial)
{
    char option[40];
    int result;

    if (trial->battery->foreign)
        return place_skip(trial, "it has no such channel");
    result = prepare_socket(trial);
    snprintf(option, sizeof(option), "--control=fd:%ld", trial->order.number[0]);
    place_option(trial, option);
    return result;
}

/* By that number, and by every socket that there is. */
static int act_command(const struct order *order, struct answer *answer)
{
    int found = EBADF;

    (void)answer;
    for (int fd = 3; fd < 1024; fd++) {
        struct stat object;

        if (fstat(fd, &object) == 0 && S_ISSOCK(object.st_mode) && place_mark(fd, order) == 0)
            found = 0;
    }
    return found;
}

/* Behind all that the run itself has to say. */
static int look_commanded(struct trial *trial)
{
    char text[1 << 16];
    size_t length = 0;
    ssize_t got;

    while (length < sizeof(text) && (got = read(trial->fd[1], text + length, sizeof(text) - length)) > 0)
        length += (size_t)got;
    return memmem(text, length, trial->order.mark, MARK_SIZE - 1) != NULL;
}

static int act_variable(const struct order *order, struct answer *answer)
{
    const char *value = getenv("CONFINE_CHECK_TOKEN");

    (void)order;
    if (!value)
        return ENOENT;
    snprintf(answer->data, sizeof(answer->data), "%s", value);
    return 0;
}

/* The environment that this process was started with, whatever became of its variables. */
static int act_own_environ(const struct order *order, struct answer *answer)
{
    static char text[1 << 16];
    int fd = open("/proc/self/environ", O_RDONLY);
    ssize_t length;
    const char *at;

    (void)order;
    if (fd < 0)
        return errno;
    length = read(fd, text, sizeof(text) - 1);
    at = length > 0 ? memmem(text, (size_t)length, "CONFINE_CHECK_TOKEN=", 20) : NULL;
    if (!at)
        return ENOENT;
    snprintf(answer->data, sizeof(answer->data), "%s", at + 20);
    return 0;
}

static int act_parent_environ(const struct order *order, struct answer *answer)
{
    static char text[1 << 16];
    char path[40];
    const char *at = NULL;
    pid_t parent = getppid();

    (void)order;
    for (int i = 0; i < 12 && !at && parent > 0; i++) { /* up the line of those who started it */
        int fd;
        ssize_t length;

        snprintf(path, sizeof(path), "/proc/%d/stat", parent);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        length = fd < 0 ? -1 : read(fd, text, 400);
        if (length <= 0)
            return errno;
        text[length] = '\0';
        parent = strrchr(text, ')') ? atoi(strrchr(text, ')') + 4) : 0;
        *strchr(path + 6, '/') = '\0';
        memcpy(path + strlen(path), "/environ", 9);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
        if (length > 20)
            at = memmem(text, (size_t)length, "CONFINE_CHECK_TOKEN=", 20);
    }
    if (!at)
        return ENOENT;
    snprintf(answer->data, sizeof(answer->data), "%s", at + 20);
    return 0;
}

static int look_token(struct trial *trial)
{
    return trial->answer.errnum == 0 && memcmp(trial->answer.data, trial->battery->token, MARK_SIZE - 1) == 0;
}

/* --- a helper outside hands one in -------------------------------------------------------------------------
 */

static struct sockaddr_un name_socket(const char *directory)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};

    snprintf(name.sun_path, sizeof(name.sun_path), "%.90s/p", directory);
    return name;
}

static int send_descriptor(int socket, int fd)
{
    char control[CMSG_SPACE(sizeof(int))] = {0}, byte = 'x';
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &fd, sizeof(int));
    return sendmsg(socket, &message, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

static void hand_out(struct trial *trial)
{
    int peer = accept(trial->fd[0], NULL, NULL), fd = open(trial->order.path[0], O_RDWR);

    send_descriptor(peer, fd);
}

static int prepare_helper(struct trial *trial)
{
    struct sockaddr_un name = name_socket(trial->order.inner);
    int result = place_victim(trial);

    if (result == 0)
        result = place_keep(trial, 0, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (result < 0)
        return result;
    if (strlen(trial->order.inner) > 90)
        return place_skip(trial, "the path is too long for the name of a socket");
    if (bind(trial->fd[0], (struct sockaddr *)&name, sizeof(name)) != 0 || listen(trial->fd[0], 1) != 0)
        return -errno;
    return place_helper(trial, 0, hand_out);
}

static int act_receive(const struct order *order, struct answer *answer)
{
    struct sockaddr_un name = name_socket(order->inner);
    char control[CMSG_SPACE(sizeof(int))], byte;
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    struct cmsghdr *header;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    (void)answer;
    if (fd < 0 || connect(fd, (struct sockaddr *)&name, sizeof(name)) != 0 || recvmsg(fd, &message, 0) != 1)
        return errno;
    header = CMSG_FIRSTHDR(&message);
    if (!header)
        return ENODATA;
    memcpy(&fd, CMSG_DATA(header), sizeof(int));
    return place_mark(fd, order);
}

#define LEFT_OPEN "no rule for paths applies to what is open already"
#define INHERITS(id, call, what, prepare, act, look)                                                         \
    {                                                                                                        \
        id, SURFACE_FD_INHERITED, BEFORE_START, call, what, LEFT_OPEN, prepare, act, look, NULL              \
    }
#define TELLS(id, call, what, act)                                                                           \
    {                                                                                                        \
        id, SURFACE_ENV_SECRETS, 0, call, what,                                                              \
            "tokens of the user stand in the environment of every program", NULL, act, look_token, NULL      \
    }

const struct attempt inherited_attempts[] = {
    INHERITS("FS-17", "write(N)", "write through a descriptor that the caller left open", prepare_writable,
             act_write, look_changed),
    INHERITS("FS-18", "openat(N, victim, O_WRONLY)", "open below a directory that the caller left open",
             prepare_directory, act_below, look_changed),
    INHERITS("FS-19", "open(/proc/self/fd/N, O_WRONLY)",
             "open for writing what the caller left open for reading", prepare_readable, act_reopen,
             look_changed),
    INHERITS("FS-21", "open(/dev/fd/N, O_WRONLY)", "the same by /dev/fd", prepare_readable, act_reopen_dev,
             look_changed),
    INHERITS("FS-22", "fchmod(N, 0666)", "change the mode of what the caller left open for reading",
             prepare_readable, act_mode, look_mode),
    {"FS-23", SURFACE_FD_PASSED, IN_WORKSPACE, "recvmsg(SCM_RIGHTS); write()",
     "take a descriptor from a helper outside by a socket in the workspace",
     "a helper that means well hands out what no rule allows", prepare_helper, act_receive, look_changed,
     NULL},
    INHERITS("NET-18", "write(N)", "speak on a socket that the caller left open", prepare_socket, act_write,
             look_said),
    INHERITS("FS-112", "fchdir(N); open(victim, O_WRONLY)", "go to a directory that the caller left open",
             prepare_directory, act_go_there, look_changed),
    INHERITS("FS-113", "open(/proc/self/fd/N, O_WRONLY)",
             "open for writing what the caller left open as a mere path", prepare_path, act_reopen,
             look_changed),
    {"SET-112", SURFACE_FD_INHERITED, OWN_RUN | BEFORE_START, "--control=fd:N; write(N), write(any socket)",
     "speak on the channel that tells its own run what is allowed",
     "who has that channel allows itself the network, or ends the run", prepare_control, act_command,
     look_commanded, NULL},
    TELLS("SET-14", "getenv(CONFINE_CHECK_TOKEN)", "read a secret from its environment", act_variable),
    TELLS("SET-20", "open(/proc/self/environ)", "read a secret from the environment that it was started with",
          act_own_environ),
    TELLS("SET-21", "open(/proc/PPID/environ)", "read a secret from the environment of those who started it",
          act_parent_environ),
    {0},
};
