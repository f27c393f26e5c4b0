/*
 * serve.c - the fence at the end of a socket.
 *
 * A request is one packet: words, each ended by a NUL. An answer is one packet of JSON, with the descriptor
 * of what was opened. It goes to the socket that came with the request, so that threads need not wait for
 * each other or tell answers apart; without one it goes back where the request came from, in order: where one
 * cannot be sent there, none may follow.
 *
 * Should:  end with the other end of the socket, and with nothing else: it has a session of its own, so that
 * what is typed at a terminal does not reach it. Mustn't: wait for whoever does not read its answer; believe
 * that a request is well made.
 */
#include "fence/fence.h"

#include "observe/retreat.h"
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define WORDS_MOST   5
#define REQUEST_MOST (2 * OBSERVE_PATH + 256)

/* Names of what is wanted, separated by commas. */
static const struct {
    const char *name;
    unsigned flag;
} flag_names[] = {
    {"read", FENCE_READ},           {"write", FENCE_WRITE},         {"append", FENCE_APPEND},
    {"create", FENCE_CREATE},       {"exclusive", FENCE_EXCLUSIVE}, {"truncate", FENCE_TRUNCATE},
    {"directory", FENCE_DIRECTORY}, {"nofollow", FENCE_NOFOLLOW},
};

static bool unsent; /* the last answer */

struct request {
    const char *words[WORDS_MOST];
    size_t count;
    int reply; /* where the answer goes */
};

/* --- answers -------------------------------------------------------------------------------------------- */

/* Sends all of @writer as one packet, with @fd unless that is -1. A packet that is not taken ends the socket:
 * whoever reads the next one would take it for this one. */
static void say(int socket, struct writer *writer, int fd)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec piece = {writer->text.data, writer->text.length};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    struct cmsghdr *header;

    if (fd >= 0) {
        message.msg_control = control.room;
        message.msg_controllen = sizeof(control.room);
        header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &fd, sizeof(int));
    }
    unsent = writer->text.failed || sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0;
    if (unsent)
        (void)shutdown(socket, SHUT_RDWR);
    text_free(&writer->text);
}

static void begin(struct writer *writer, const char *type)
{
    writer_object(writer, NULL);
    writer_text(writer, "type", type);
}

static void say_failed(int socket, int errnum)
{
    struct writer writer = {0};

    begin(&writer, "failed");
    writer_integer(&writer, "errno", errnum);
    writer_text(&writer, "message", strerror(errnum));
    writer_end(&writer);
    say(socket, &writer, -1);
}

void fence_refuse(int socket, const struct error *error)
{
    struct writer writer = {0};

    begin(&writer, "refused");
    report_error_write(error, &writer, "error");
    writer_end(&writer);
    say(socket, &writer, -1);
}

/* What an error says of each rule. */
static const struct {
    const char *reason, *why; /* NULL: the rule itself says why */
} rule_words[DENIAL_RULES] = {
    [DENIAL_BY_DEFAULT] = {"not-granted", "nothing grants it"},
    [DENIAL_BY_PROTECT] = {"protected", NULL},
    [DENIAL_BY_HIDE] = {"hidden", NULL},
    [DENIAL_BY_NETWORK] = {"not-granted", NULL},
    [DENIAL_BY_PLACE] = {"private-place", "a command has a place of its own there"},
    [DENIAL_BY_KIND] = {"special-file", "it is neither a regular file nor a directory"},
};

static void write_denied(struct writer *writer, const struct fence *fence, const struct denial *denial,
                         enum denial_rule rule)
{
    struct error error = {0};
    struct text phrase = {0}, option = {0};

    denial_say(denial, 300, &phrase);
    denial_option(denial, &option);
    error_set(&error, ERROR_FS_SANDBOX_DENIED, EACCES, rule_words[rule].reason,
              "%s: the policy does not allow it (%s)%s", phrase.data ? phrase.data : "",
              rule_words[rule].why ? rule_words[rule].why : denial->rule,
              denial->by_mode ? "; its mode or owner refuses as well" : "");
    error_surface(&error, surface_table[denial->surface].name);
    if (option.data)
        error_hint(&error, "ask for %s%s%s", option.data, denial->warning ? ", which " : "",
                   denial->warning ? denial->warning : "");
    else if (denial->warning)
        error_hint(&error, "no option is offered, because it %s", denial->warning);
    begin(writer, "denied");
    report_error_write(&error, writer, "error");
    writer_path(writer, "path", denial->path);
    writer_text(writer, "operation", denial_operation_name(denial->operation));
    writer_text(writer, "rule", denial->rule);
    writer_path(writer, "root", fence->resolved->workspace);
    writer_text(writer, "grant_option", option.data);
    writer_end(writer);
    writer->text.failed |= phrase.failed || option.failed;
    text_free(&phrase);
    text_free(&option);
}

static void say_denied(int socket, const struct fence *fence, struct fence_answer *answer)
{
    struct denial_list list = {0};
    struct denial denial = {.surface = answer->verdict.surface,
                            .operation = answer->operation,
                            .path = answer->path,
                            .by_mode = answer->by_mode};
    struct writer writer = {0};

    if (denials_add(&list, fence->resolved, &denial, answer->verdict.rule, answer->verdict.index) < 0) {
        say_failed(socket, ENOMEM);
        return;
    }
    write_denied(&writer, fence, &list.items[0], answer->verdict.rule);
    denials_free(&list);
    say(socket, &writer, -1);
}

static void say_opened(int socket, const struct fence_answer *answer)
{
    struct writer writer = {0};

    begin(&writer, "opened");
    writer_path(&writer, "path", answer->path);
    writer_end(&writer);
    say(socket, &writer, answer->fd);
}

static void say_done(int socket)
{
    struct writer writer = {0};

    begin(&writer, "done");
    writer_end(&writer);
    say(socket, &writer, -1);
}

static void say_ready(int socket, const struct fence *fence)
{
    struct writer writer = {0};

    begin(&writer, "ready");
    writer_text(&writer, "mode", mode_name(fence->resolved->mode));
    writer_path(&writer, "root", fence->resolved->workspace);
    writer_path(&writer, "directory", fence->resolved->cwd);
    writer_end(&writer);
    say(socket, &writer, -1);
}

/* --- requests ------------------------------------------------------------------------------------------- */

/* Return: FENCE_..., 0: a word is none, or nothing can be opened so. */
static unsigned parse_flags(const char *text)
{
    unsigned flags = 0;

    while (*text) {
        size_t length = strcspn(text, ","), i = 0;

        while (i < ARRAY_SIZE(flag_names) &&
               (strlen(flag_names[i].name) != length || memcmp(flag_names[i].name, text, length) != 0))
            i++;
        if (i == ARRAY_SIZE(flag_names))
            return 0;
        flags |= flag_names[i].flag;
        text += length + (text[length] == ',');
    }
    if (flags & FENCE_APPEND)
        flags |= FENCE_WRITE;
    if (!(flags & (FENCE_READ | FENCE_WRITE)) || ((flags & FENCE_TRUNCATE) && !(flags & FENCE_WRITE)) ||
        ((flags & FENCE_EXCLUSIVE) && !(flags & FENCE_CREATE)) ||
        ((flags & FENCE_DIRECTORY) && (flags & (FENCE_WRITE | FENCE_CREATE))))
        return 0;
    return flags;
}

/* An octal number of permission bits. Return: false: it is none. */
static bool parse_mode(const char *text, mode_t *ret)
{
    char *end;
    unsigned long mode = strtoul(text, &end, 8);

    *ret = (mode_t)mode;
    return *text >= '0' && *text <= '7' && !*end && mode <= 0777;
}

/* `open`, what for, the mode of what is made, the path. */
static void serve_open(const struct fence *fence, const struct request *request)
{
    unsigned flags = parse_flags(request->words[1]);
    struct fence_answer answer;
    mode_t mode;

    if (!flags || !parse_mode(request->words[2], &mode)) {
        say_failed(request->reply, EINVAL);
        return;
    }
    fence_open(fence, request->words[3], flags, mode, &answer);
    if (answer.fd >= 0)
        say_opened(request->reply, &answer);
    else if (answer.denied)
        say_denied(request->reply, fence, &answer);
    else
        say_failed(request->reply, answer.errnum);
    fd_close(answer.fd);
}

static void answer_change(const struct fence *fence, const struct request *request,
                          const struct fence_change *change)
{
    struct fence_answer answer;

    fence_change(fence, change, &answer);
    if (answer.denied)
        say_denied(request->reply, fence, &answer);
    else if (answer.errnum)
        say_failed(request->reply, answer.errnum);
    else
        say_done(request->reply);
}

/* `mkdir`, the mode, the path. */
static void serve_mkdir(const struct fence *fence, const struct request *request)
{
    struct fence_change change = {.act = FENCE_MAKE_DIRECTORY, .path = request->words[2]};

    if (parse_mode(request->words[1], &change.mode))
        answer_change(fence, request, &change);
    else
        say_failed(request->reply, EINVAL);
}

/* `remove`, the path. */
static void serve_remove(const struct fence *fence, const struct request *request)
{
    answer_change(fence, request, &(struct fence_change){.act = FENCE_REMOVE, .path = request->words[1]});
}

/* `rename`, the old path, the new one. */
static void serve_rename(const struct fence *fence, const struct request *request)
{
    answer_change(
        fence, request,
        &(struct fence_change){.act = FENCE_RENAME, .path = request->words[1], .to = request->words[2]});
}

static const struct {
    const char *name;
    size_t words; /* with the name */
    void (*serve)(const struct fence *fence, const struct request *request);
} requests[] = {
    {"open", 4, serve_open},
    {"mkdir", 3, serve_mkdir},
    {"remove", 2, serve_remove},
    {"rename", 3, serve_rename},
};

static void serve(const struct fence *fence, const struct request *request)
{
    for (size_t i = 0; i < ARRAY_SIZE(requests) && request->count > 0; i++)
        if (strcmp(requests[i].name, request->words[0]) == 0 && requests[i].words == request->count) {
            requests[i].serve(fence, request);
            return;
        }
    say_failed(request->reply, EINVAL);
}

static void part_words(struct request *request, const char *text, size_t length)
{
    request->count = 0;
    if (length == 0 || text[length - 1] != '\0')
        return;
    for (size_t at = 0; at < length; at += strlen(text + at) + 1) {
        if (request->count == WORDS_MOST) {
            request->count = 0;
            return;
        }
        request->words[request->count++] = text + at;
    }
}

/* The first descriptor of @message is where the answer goes; there are to be no others. */
static void take_reply(struct msghdr *message, struct request *request, int *owned)
{
    *owned = -1;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
        size_t count = header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS
                           ? (header->cmsg_len - CMSG_LEN(0)) / sizeof(int)
                           : 0;

        for (size_t i = 0; i < count; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
            if (*owned < 0)
                *owned = fd;
            else
                close(fd);
        }
    }
    if (*owned >= 0)
        request->reply = *owned;
}

/* Return: false: the other end is closed, or does not read its answers. */
static bool serve_next(const struct fence *fence, int socket)
{
    static char text[REQUEST_MOST];
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(4 * sizeof(int))];
    } control;
    struct iovec piece = {text, sizeof(text)};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = control.room,
                             .msg_controllen = sizeof(control.room)};
    struct request request = {.reply = socket};
    ssize_t length = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    int owned;

    if (length < 0 && errno == EINTR)
        return true;
    if (length <= 0)
        return false;
    take_reply(&message, &request, &owned);
    part_words(&request, text, message.msg_flags & MSG_TRUNC ? 0 : (size_t)length);
    serve(fence, &request);
    fd_close(owned);
    return !unsent || owned >= 0;
}

/* What opens has no more rights than the command of a run. Return: 0 or -errno. */
static int become_user(const struct resolved *resolved)
{
    bool unconfined = resolved->mode == MODE_DANGER_FULL_ACCESS && !resolved->switch_user;

    return unconfined ? 0 : retreat_user(resolved);
}

int fence_serve(const struct resolved *resolved, int socket, struct error *error)
{
    struct fence fence;
    int r = fence_ready(error);

    if (r < 0)
        return r;
    r = fence_init(&fence, resolved);
    if (r == 0)
        r = become_user(resolved);
    if (r < 0)
        error_set(error, ERROR_INTERNAL, -r, "no-fence", "fence: it cannot be set up: %s", strerror(-r));
    setsid(); /* fails for whoever leads a group already, which no terminal's key reaches but by its own doing
               */
    if (r == 0) {
        say_ready(socket, &fence);
        while (serve_next(&fence, socket))
            ;
    }
    fence_free(&fence);
    return r;
}
