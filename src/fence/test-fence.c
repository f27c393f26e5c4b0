/*
 * test-fence.c - the protocol of a fence, with requests that nobody should send.
 *
 * What is allowed and what races come to is tested where it is used: tests/library/fence.c,
 * tests/fence/agree.py.
 */
#include "harness.h"

#include "fence/fence.h"
#include "links/kernel_abi.h"
#include "policy/test-resolve.h"

#include <jansson.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define GARBAGE 5000

/* The fence of a workspace `work`, at the other end of the socket. */
struct served {
    struct trial trial;
    pid_t pid;
    int socket;
};

static json_t *hear(int socket, int *ret_fd)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {0};
    static char text[65536];
    struct iovec piece = {text, sizeof(text)};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof(control)};
    ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    json_t *answer = got > 0 ? json_loadb(text, (size_t)got, 0, NULL) : NULL;

    need(answer != NULL);
    *ret_fd = -1;
    if (got > 0 && header)
        memcpy(ret_fd, CMSG_DATA(header), sizeof(int));
    return answer;
}

/* The type of the next answer, static for a moment; what came with it is closed. */
static const char *type_of_next(int socket)
{
    static char type[32];
    int fd;
    json_t *answer = hear(socket, &fd);

    snprintf(type, sizeof(type), "%s", json_string_value(json_object_get(answer, "type")));
    json_decref(answer);
    if (fd >= 0)
        close(fd);
    return type;
}

static struct served serve(void)
{
    struct served served = {.trial = trial_start()};
    int ends[2];

    trial_directory("work");
    trial_file("work/file", 0644);
    trial_set(&served.trial, KEY_WORKSPACE, trial_path("work"));
    trial_set(&served.trial, KEY_CHDIR, trial_path("work"));
    trial_set(&served.trial, KEY_BACKEND, "landlock");
    if (trial_resolve(&served.trial) != 0)
        test_note("%s", served.trial.error.message);
    need(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    served.pid = fork();
    need(served.pid >= 0);
    if (served.pid == 0) {
        close(ends[0]);
        _exit(fence_serve(&served.trial.resolved, ends[1], &served.trial.error) == 0 ? 0 : 1);
    }
    close(ends[1]);
    served.socket = ends[0];
    check_str(type_of_next(served.socket), "ready");
    return served;
}

/* It ends with the socket, and well. */
static void end(struct served *served)
{
    int status = -1;

    close(served->socket);
    check_int(waitpid(served->pid, &status, 0), served->pid);
    check_int(status, 0);
    trial_end(&served->trial);
}

#define OPEN_FILE "open\0read\0000\0file" /* and the NUL of the literal */

static void send_bytes(const struct served *served, const void *bytes, size_t length)
{
    check_int(send(served->socket, bytes, length, 0), (long long)length);
}

static const struct wrong {
    const char *name, *bytes;
    size_t length;
} wrong[] = {
#define WRONG(NAME, TEXT)                                                                                    \
    {                                                                                                        \
        NAME, TEXT, sizeof(TEXT) - 1                                                                         \
    }
    WRONG("no NUL at the end", "open\0read\0000\0file"),
    WRONG("a NUL", "\0"),
    WRONG("a word alone", "open\0"),
    WRONG("an unknown word", "close\0read\0000\0file\0"),
    WRONG("too few words", "open\0read\0000\0"),
    WRONG("too many words", "open\0read\0000\0file\0file\0"),
    WRONG("far too many words", "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
    WRONG("nothing wanted", "open\0\0000\0file\0"),
    WRONG("an unknown flag", "open\0read,execute\0000\0file\0"),
    WRONG("a part of a flag", "open\0rea\0000\0file\0"),
    WRONG("a comma", "open\0,read\0000\0file\0"),
    WRONG("neither read nor written", "open\0create\0000\0file\0"),
    WRONG("cut short, not written", "open\0read,truncate\0000\0file\0"),
    WRONG("exclusive, not made", "open\0read,exclusive\0000\0file\0"),
    WRONG("a directory to be written", "open\0write,directory\0000\0file\0"),
    WRONG("no mode", "open\0read\0\0file\0"),
    WRONG("a mode that is none", "open\0read\08\0file\0"),
    WRONG("a sign", "open\0read\0-1\0file\0"),
    WRONG("a set-id bit", "open\0write,create\0"
                          "4755\0new\0"),
    WRONG("a mode without end", "open\0read\0"
                                "77777777777777777777777\0file\0"),
    WRONG("mkdir with a sticky bit", "mkdir\0"
                                     "1777\0new\0"),
    WRONG("mkdir without a path", "mkdir\0"
                                  "755\0"),
    WRONG("remove two", "remove\0file\0file\0"),
    WRONG("rename to nowhere", "rename\0file\0"),
};

TEST_EACH(a_request_that_is_none_is_refused, struct wrong, wrong)
{
    struct served served = serve();
    json_t *answer;
    int fd;

    send_bytes(&served, row->bytes, row->length);
    answer = hear(served.socket, &fd);
    check_str(json_string_value(json_object_get(answer, "type")), "failed");
    check_int(json_integer_value(json_object_get(answer, "errno")), EINVAL);
    check_int(fd, -1);
    json_decref(answer);
    send_bytes(&served, OPEN_FILE, sizeof(OPEN_FILE));
    check_str(type_of_next(served.socket), "opened");
    check(access(trial_path("work/file"), F_OK) == 0 && access(trial_path("work/new"), F_OK) != 0);
    end(&served);
}

TEST(a_path_that_is_too_long_is_one_or_no_request)
{
    struct served served = serve();
    size_t room = 3 * PATH_MAX;
    char *text = malloc(room);

    need(text != NULL);
    for (size_t length = PATH_MAX - 1; length < room - 16; length += PATH_MAX) {
        memcpy(text, "remove\0", 7);
        memset(text + 7, 'x', length);
        text[7 + length] = '\0';
        send_bytes(&served, text, length + 8);
        check_str(type_of_next(served.socket), "failed");
    }
    free(text);
    end(&served);
}

TEST(whatever_comes_it_goes_on)
{
    static const char *const pieces[] = {"open", "read",    "write", "create", "000",    "644",
                                         "file", "../file", "",      "mkdir",  "rename", "remove",
                                         "/",    ",",       "\xff",  ".",      "no/no"};
    struct served served = serve();
    unsigned long number = 8;

    for (int i = 0; i < GARBAGE; i++) {
        char text[512];
        size_t length = 0;

        for (unsigned words = 1 + (unsigned)(number >> 16) % 7; words > 0; words--) {
            number = number * 6364136223846793005U + 1442695040888963407U;
            length += (size_t)snprintf(text + length, sizeof(text) - length, "%s",
                                       pieces[(number >> 33) % ARRAY_SIZE(pieces)]);
            text[length] = (number >> 40) % 9 == 0 ? 'z' : '\0';
            length++;
        }
        send_bytes(&served, text, length);
        type_of_next(served.socket);
    }
    trial_file("work/again", 0644);
    send_bytes(&served, "open\0read\0000\0again", sizeof("open\0read\0000\0again"));
    check_str(type_of_next(served.socket), "opened");
    end(&served);
}

/* What the fence has open between two requests. */
static size_t count_open(const struct served *served)
{
    char path[64];
    size_t count = 0;
    DIR *dir;

    send_bytes(served, "none", sizeof("none"));
    check_str(type_of_next(served->socket), "failed"); /* so that it has done with the one before */
    snprintf(path, sizeof(path), "/proc/%d/fd", served->pid);
    dir = opendir(path);
    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count;
}

/* Sends OPEN_FILE with COUNT times the descriptor FD. */
static void send_with(const struct served *served, int fd, size_t count)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(8 * sizeof(int))];
    } control = {0};
    char text[] = OPEN_FILE;
    struct iovec piece = {text, sizeof(text)};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = control.room,
                             .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    for (size_t i = 0; i < count; i++)
        memcpy(CMSG_DATA(header) + i * sizeof(int), &fd, sizeof(int));
    check_int(sendmsg(served->socket, &message, 0), (long long)sizeof(text));
}

TEST(what_comes_with_a_request_is_given_back)
{
    struct served served = serve();
    size_t before;
    int ends[2], fd;
    json_t *answer;

    before = geteuid() == 0 ? count_open(&served) : 0; /* nobody else may look */
    for (size_t count = 1; count <= 8; count++) {
        need(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
        send_with(&served, ends[1], count);
        close(ends[1]);
        answer = hear(ends[0], &fd);
        check_str(json_string_value(json_object_get(answer, "type")), "opened");
        check(fd >= 0);
        json_decref(answer);
        close(fd);
        check_int(recv(ends[0], &(char){0}, 1, 0), 0); /* it has closed all of them */
        close(ends[0]);
    }
    send_with(&served, open("/dev/null", O_RDWR | O_CLOEXEC), 1); /* no socket: nobody is told */
    if (before)
        check_int(count_open(&served), before);
    end(&served);
}

TEST(who_does_not_read_is_not_waited_for)
{
    struct served served = serve();
    int ends[2];

    need(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    for (int i = 0; i < 2000; i++)
        send_with(&served, ends[1], 1);
    send_bytes(&served, OPEN_FILE, sizeof(OPEN_FILE));
    check_str(type_of_next(served.socket), "opened");
    end(&served);
}

TEST(without_openat2_there_is_no_fence)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = ARRAY_SIZE(code), .filter = code};
    struct error error = {0};

    check_int(fence_ready(&error), 0);
    need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, 2, &program) == 0);
    check(fence_ready(&error) < 0);
    check_str(error.reason, "no-openat2");
}
