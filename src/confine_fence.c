/*
 * confine_fence.c - files opened for a program by `confine fence`, which decides.
 *
 * Each call has a socket of its own, which goes to the fence with the request and by which the answer comes:
 * so threads do not wait for each other's answers, and nothing has to be shared. When the fence ends, however
 * that comes, the other end of that socket closes with it: no answer, and nothing is open.
 *
 * Mustn't: open anything itself, or take an answer without a descriptor for one.
 */
#include "confine.h"

#include "confine_call.h"
#include "confine_json.h"
#include "confine_start.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define READY_MS    60000 /* how long the policy may take to be looked up */
#define ANSWER_MOST 65536
#define WORDS_MOST  4

struct confine_fence {
    int socket, pidfd;
};

/* What open() takes and a fence as well; what is always there, or of no effect here, is taken and left out.
 */
static const struct {
    int flag;
    const char *name;
} flag_names[] = {
    {O_APPEND, "append"},  {O_CREAT, "create"},        {O_EXCL, "exclusive"},
    {O_TRUNC, "truncate"}, {O_DIRECTORY, "directory"}, {O_NOFOLLOW, "nofollow"},
};

/* --- packets -------------------------------------------------------------------------------------------- */

/*
 * One packet, and the descriptor that came with it.
 * @ret_text: to be freed
 * @ret_fd: -1: none
 */
static int receive(int socket, char **ret_text, int *ret_fd)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    char *text = malloc(ANSWER_MOST + 1);
    struct iovec piece = {text, ANSWER_MOST};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof(control)};
    struct cmsghdr *header;
    ssize_t length;

    if (!text)
        return CONFINE_E_MEMORY;
    do
        length = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (length < 0 && errno == EINTR);
    *ret_fd = -1;
    header = length >= 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
        memcpy(ret_fd, CMSG_DATA(header), sizeof(int));
    text[length > 0 ? length : 0] = '\0';
    if (length > 0 && !(message.msg_flags & MSG_TRUNC) && json_complete(text)) {
        *ret_text = text;
        return CONFINE_OK;
    }
    call_close(*ret_fd);
    free(text);
    *ret_fd = -1;
    errno = length < 0 && errno != ECONNRESET ? errno : EPROTO;
    return CONFINE_E_PROGRAM;
}

/* Sends the words of a request, and the socket for its answer. */
static int ask(int socket, const struct iovec *words, size_t count, int reply)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = (struct iovec *)(size_t)words,
                             .msg_iovlen = count,
                             .msg_control = control.room,
                             .msg_controllen = sizeof(control.room)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    ssize_t sent;

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &reply, sizeof(int));
    do
        sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent >= 0                               ? CONFINE_OK
           : errno == EPIPE || errno == ECONNRESET ? CONFINE_E_PROGRAM
                                                   : CONFINE_E_SYSTEM;
}

/* One request and its answer. */
static int talk(const struct confine_fence *fence, const struct iovec *words, size_t count, char **ret_text,
                int *ret_fd)
{
    int ends[2], r;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return CONFINE_E_SYSTEM;
    r = ask(fence->socket, words, count, ends[1]);
    call_close(ends[1]);
    if (r == CONFINE_OK)
        r = receive(ends[0], ret_text, ret_fd);
    call_close(ends[0]);
    return r;
}

/* --- the handle ----------------------------------------------------------------------------------------- */

static int hear_ready(const struct confine_fence *fence, char **ret_json)
{
    char *text = NULL;
    int fd = -1, r = start_poll(fence->socket, READY_MS);

    if (r == CONFINE_OK)
        r = receive(fence->socket, &text, &fd);
    if (r != CONFINE_OK)
        return r;
    call_close(fd);
    if (json_is_word(json_look(text, "type"), "ready"))
        r = CONFINE_OK;
    else
        r = json_look(text, "error") ? CONFINE_E_REFUSED : CONFINE_E_PROGRAM;
    if (r == CONFINE_E_REFUSED && ret_json)
        *ret_json = text;
    else
        free(text);
    return r;
}

int confine_fence_new(const struct confine_options *options, struct confine_fence **ret_fence,
                      char **ret_json)
{
    struct confine_fence *fence;
    struct call call;
    int ends[2], r;

    if (ret_json)
        *ret_json = NULL;
    if (!ret_fence)
        return CONFINE_E_ARGUMENT;
    *ret_fence = NULL;
    if (options && options->descriptor_count > 0)
        return CONFINE_E_ARGUMENT;
    fence = malloc(sizeof(*fence));
    if (!fence)
        return CONFINE_E_MEMORY;
    *fence = (struct confine_fence){-1, -1};
    r = call_begin(&call, options, "fence", 0);
    if (r == CONFINE_OK && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        r = CONFINE_E_SYSTEM;
    else if (r == CONFINE_OK) {
        fence->socket = ends[0];
        call.places[0] = ends[1];
        r = call_options(&call, NULL);
        if (r == CONFINE_OK)
            r = call_start(&call, &fence->pidfd);
        call_close(ends[1]);
    }
    call_end(&call);
    if (r == CONFINE_OK)
        r = hear_ready(fence, ret_json);
    if (r == CONFINE_OK)
        *ret_fence = fence;
    else
        confine_fence_unref(fence);
    return r;
}

void confine_fence_unref(struct confine_fence *fence)
{
    if (!fence)
        return;
    if (fence->socket >= 0)
        shutdown(fence->socket, SHUT_RDWR); /* which ends it, also where a fork of the caller holds a copy */
    if (fence->pidfd >= 0)
        start_end(fence->pidfd);
    call_close(fence->socket);
    call_close(fence->pidfd);
    free(fence);
}

/* --- requests ------------------------------------------------------------------------------------------- */

/* FLAGS of open() in the words of the fence. Return: TEXT; NULL: there is one that it does not have. */
static const char *write_flags(int flags, char *text, size_t size)
{
    static const char *const access[] = {[O_RDONLY] = "read", [O_WRONLY] = "write", [O_RDWR] = "read,write"};
    int mode = flags & O_ACCMODE, rest = flags & ~(O_ACCMODE | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    size_t at;

    if (mode != O_RDONLY && mode != O_WRONLY && mode != O_RDWR)
        return NULL;
    at = (size_t)snprintf(text, size, "%s", access[mode]);
    for (size_t i = 0; i < sizeof(flag_names) / sizeof(flag_names[0]); i++) {
        if ((rest & flag_names[i].flag) != flag_names[i].flag)
            continue;
        at += (size_t)snprintf(text + at, size - at, ",%s", flag_names[i].name);
        rest &= ~flag_names[i].flag;
    }
    return (rest & ~O_LARGEFILE) == 0 ? text : NULL;
}

/* Return: TEXT; NULL: it has more than permission bits. */
static const char *write_mode(unsigned mode, char *text, size_t size)
{
    snprintf(text, size, "%o", mode);
    return mode <= 0777 ? text : NULL;
}

/* What an answer says that is none of success. Takes TEXT. */
static int judge_refusal(char *text, char **ret_json)
{
    int r;

    if (json_look(text, "error")) {
        if (ret_json)
            *ret_json = text;
        else
            free(text);
        return CONFINE_E_REFUSED;
    }
    errno = json_number(json_look(text, "errno"), EPROTO);
    r = json_look(text, "errno") ? CONFINE_E_SYSTEM : CONFINE_E_PROGRAM;
    free(text);
    return r;
}

/* A request of COUNT words; where one is NULL the call was wrong. @ret_fd: what was opened; NULL: nothing is
 * to be. */
static int request(const struct confine_fence *fence, const char *const *words, size_t count, int *ret_fd,
                   char **ret_json)
{
    struct iovec pieces[WORDS_MOST];
    char *text = NULL;
    int fd = -1, r;

    if (ret_json)
        *ret_json = NULL;
    if (!fence)
        return CONFINE_E_ARGUMENT;
    for (size_t i = 0; i < count; i++)
        if (!words[i])
            return CONFINE_E_ARGUMENT;
    for (size_t i = 0; i < count; i++) {
        pieces[i] = (struct iovec){(char *)(size_t)words[i], strlen(words[i]) + 1};
        if (pieces[i].iov_len > PATH_MAX) {
            errno = ENAMETOOLONG;
            return CONFINE_E_SYSTEM;
        }
    }
    r = talk(fence, pieces, count, &text, &fd);
    if (r != CONFINE_OK)
        return r;
    if (!json_is_word(json_look(text, "type"), ret_fd ? "opened" : "done") || (ret_fd && fd < 0)) {
        call_close(fd);
        return judge_refusal(text, ret_json);
    }
    free(text);
    if (ret_fd)
        *ret_fd = fd;
    else
        call_close(fd);
    return CONFINE_OK;
}

int confine_fence_open(struct confine_fence *fence, const char *path, int flags, unsigned mode, int *ret_fd,
                       char **ret_json)
{
    char names[128], bits[16];
    const char *const words[] = {"open", write_flags(flags, names, sizeof(names)),
                                 write_mode(mode, bits, sizeof(bits)), path};

    if (ret_fd)
        return request(fence, words, 4, ret_fd, ret_json);
    if (ret_json)
        *ret_json = NULL;
    return CONFINE_E_ARGUMENT;
}

int confine_fence_mkdir(struct confine_fence *fence, const char *path, unsigned mode, char **ret_json)
{
    char bits[16];

    return request(fence, (const char *const[]){"mkdir", write_mode(mode, bits, sizeof(bits)), path}, 3, NULL,
                   ret_json);
}

int confine_fence_remove(struct confine_fence *fence, const char *path, char **ret_json)
{
    return request(fence, (const char *const[]){"remove", path}, 2, NULL, ret_json);
}

int confine_fence_rename(struct confine_fence *fence, const char *from, const char *to, char **ret_json)
{
    return request(fence, (const char *const[]){"rename", from, to}, 3, NULL, ret_json);
}
