/*
 * opener.c - open what was approved, and nothing else.
 *
 * Theory of operation. The observer has looked at an object in the command's own view; its mount may be
 * read-only there, and its name may be that of something private. So a child with the command's user and no
 * capability finds the object by the same name in the view of the machine, without following any link, and
 * compares: only the same file, or a name that is free in the same directory, is what the asker has seen. The
 * file is then opened by that descriptor, so that nothing can be put in its place between the comparison and
 * the opening.
 *
 * Should:  open with the access that was asked for and no more; be done at once whatever it opens (a lease
 *          would make it wait).
 * Mustn't: hand over a directory: `..` of it would lead out of the command's view. Mustn't open anything that
 *          acts when it is opened.
 */
#include "run/opener.h"

#include "kernel/object.h"
#include "links/kernel_abi.h"
#include "links/pass.h"
#include "observe/retreat.h"
#include "run/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#define OPENER_MS 5000
#define MODE_BITS 0777U
#define NO_UMASK  077U /* where it cannot be read */

/* Where its descriptors are. */
enum { AT_WIRE = 0, AT_OBJECT = 1 };

/* Flags of an open that change nothing of what it is allowed to do. */
#define KEPT_FLAGS (O_ACCMODE | O_APPEND | O_TRUNC | O_SYNC | O_DIRECT | O_NOATIME | O_NONBLOCK)

struct answer {
    uint32_t verdict;
    int32_t errnum;
};

/* File systems that hold files and nothing else, on this machine: what is opened there acts on nobody. */
static const uint32_t ordinary[] = {
    0x0000ef53, /* ext2 to ext4 */
    0x58465342, /* XFS */
    0x9123683e, /* Btrfs */
    0xf2f52010, /* F2FS */
    0x2fc12fc1, /* ZFS */
    0xca451a4e, /* bcachefs */
    0x794c7630, /* overlay */
    0x01021994, /* tmpfs */
    0x3153464a, /* JFS */
    0x52654973, /* ReiserFS */
    0x00004d44, /* FAT */
    0x2011bab0, /* exFAT */
};

const char *opener_word(enum opener_verdict verdict)
{
    static const char *const words[OPENER_VERDICTS] = {
        [OPENER_FAILED] = "not-opened", [OPENER_CHANGED] = "changed",
        [OPENER_NO_FILE] = "no-file",   [OPENER_OTHER_NAMES] = "other-names",
        [OPENER_SET_ID] = "set-id",     [OPENER_FILE_SYSTEM] = "file-system",
    };

    return words[verdict];
}

/* --- in the child ----------------------------------------------------------------------------------------
 */

static _Noreturn void say(enum opener_verdict verdict, int errnum, int fd)
{
    struct answer answer = {.verdict = verdict, .errnum = errnum};

    int r = pass_descriptors(AT_WIRE, &answer, sizeof(answer), &fd, fd >= 0, PASS_NOW);

    if (r == -ETOOMANYREFS) { /* the supervisor waits for this */
        answer = (struct answer){.verdict = OPENER_FAILED, .errnum = ETOOMANYREFS};
        r = pass_descriptors(AT_WIRE, &answer, sizeof(answer), NULL, 0, PASS_NOW);
    }
    _exit(r < 0);
}

static _Noreturn void say_errno(void)
{
    say(OPENER_FAILED, errno, -1);
}

/* Of the thread that waits: its number is nobody else's while it does. */
static mode_t read_umask(pid_t pid)
{
    static const char key[] = "\nUmask:";
    char path[40], text[4096], *at;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    (void)file_read(AT_FDCWD, path, text, sizeof(text)); /* it ends in any case */
    at = strstr(text, key);
    return at ? (mode_t)strtoul(at + sizeof(key) - 1, NULL, 8) & MODE_BITS : NO_UMASK;
}

/* By its whole name and without any link, on whatever is mounted there. Return: O_PATH. */
static int find(const char *path, int flags)
{
    int fd = object_open(AT_FDCWD, path, (uint64_t)(O_NOFOLLOW | flags),
                         RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);

    if (fd >= 0)
        return fd;
    errno = -fd;
    if (errno == ENOENT || errno == ELOOP || errno == ENOTDIR)
        say(OPENER_CHANGED, 0, -1);
    say_errno();
}

static void compare(int fd, struct stat *st)
{
    struct stat seen;
    struct statfs place;
    bool known = false;

    if (fstat(fd, st) != 0 || fstat(AT_OBJECT, &seen) != 0 || fstatfs(fd, &place) != 0)
        say_errno();
    if (!stat_same(st, &seen))
        say(OPENER_CHANGED, 0, -1);
    for (size_t i = 0; i < ARRAY_SIZE(ordinary); i++)
        known = known || ((unsigned long)place.f_type & 0xffffffff) == ordinary[i];
    if (!known)
        say(OPENER_FILE_SYSTEM, 0, -1);
}

static void look_at_file(int fd)
{
    struct stat st;

    compare(fd, &st);
    if (!S_ISREG(st.st_mode))
        say(OPENER_NO_FILE, 0, -1);
    if (st.st_nlink != 1)
        say(OPENER_OTHER_NAMES, 0, -1);
    if (st.st_mode & (S_ISUID | S_ISGID))
        say(OPENER_SET_ID, 0, -1);
}

/* What was opened, as the call wanted it. */
static _Noreturn void hand_over(const struct opener_request *request, int fd)
{
    if (fd < 0)
        say_errno();
    if (!(request->flags & O_NONBLOCK) && fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) != 0)
        say_errno();
    say(OPENER_FINE, 0, fd);
}

static _Noreturn void open_file(const struct opener_request *request)
{
    int flags = (int)(request->flags & KEPT_FLAGS) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, fd;

    fd = find(request->path, 0);
    look_at_file(fd);
    if (request->looks)
        say(OPENER_FINE, 0, -1);
    hand_over(request, open(FD_NAME(fd), flags));
}

/* In the directory that was seen, and only where there is nothing of the name. */
static _Noreturn void make(const struct opener_request *request)
{
    int flags = (int)(request->flags & KEPT_FLAGS) | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    static char directory[OBSERVE_PATH];
    const char *slash = strrchr(request->path, '/');
    size_t length = (size_t)(slash - request->path);
    struct stat st;
    int fd;

    if (length >= sizeof(directory) || !slash[1])
        say(OPENER_NO_FILE, 0, -1);
    memcpy(directory, length > 0 ? request->path : "/", length > 0 ? length : 1);
    fd = find(directory, O_DIRECTORY);
    compare(fd, &st);
    if (fstatat(fd, slash + 1, &st, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT)
        say(OPENER_CHANGED, 0, -1);
    if (request->looks)
        say(OPENER_FINE, 0, -1);
    if (request->kind == OBSERVE_HELD_DIRECTORY) {
        if (mkdirat(fd, slash + 1, request->mode & (MODE_BITS | S_ISVTX)) != 0)
            say_errno();
        say(OPENER_FINE, 0, -1);
    }
    hand_over(request, openat(fd, slash + 1, flags, request->mode & MODE_BITS));
}

/* Undumpable before it becomes the command's user: that one must not read what the supervisor knows. */
static _Noreturn void serve(const struct opener_request *request, int wire)
{
    mode_t mask = read_umask(request->pid);

    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || dup2(wire, AT_WIRE) != AT_WIRE ||
        dup2(request->object, AT_OBJECT) != AT_OBJECT ||
        kernel_call(SYS_close_range, AT_OBJECT + 1, ~0U, 0, 0, 0, 0) < 0)
        _exit(1);
    errno = (int)-retreat_user(request->resolved);
    if (errno != 0)
        say_errno();
    umask(mask);
    if (request->kind == OBSERVE_HELD_OPEN)
        open_file(request);
    make(request);
}

/* --- outside ---------------------------------------------------------------------------------------------
 */

static enum opener_verdict hear(int wire, bool opens, int *ret_fd, int *ret_errno)
{
    struct answer answer;
    struct handed_over handed;
    pid_t writer;
    ssize_t size = channel_receive_all(wire, &answer, sizeof(answer), OPENER_MS, &writer, &handed);

    if (size != (ssize_t)sizeof(answer) || answer.verdict >= OPENER_VERDICTS ||
        handed.count != (opens && answer.verdict == OPENER_FINE ? 1 : 0)) {
        if (size >= 0)
            handed_close(&handed);
        *ret_errno = size < 0 ? (int)-size : EPROTO;
        return OPENER_FAILED;
    }
    if (handed.count == 1)
        *ret_fd = handed.fd[0];
    *ret_errno = answer.errnum;
    return (enum opener_verdict)answer.verdict;
}

enum opener_verdict opener_run(const struct opener_request *request, int *ret_fd, int *ret_errno)
{
    bool opens = !request->looks && request->kind != OBSERVE_HELD_DIRECTORY;
    enum opener_verdict verdict;
    int ends[2];
    pid_t pid;

    *ret_fd = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        *ret_errno = errno;
        return OPENER_FAILED;
    }
    pid = fork();
    if (pid == 0)
        serve(request, ends[1]);
    *ret_errno = errno;
    fd_close(ends[1]);
    verdict = pid < 0 ? OPENER_FAILED : hear(ends[0], opens, ret_fd, ret_errno);
    fd_close(ends[0]);
    if (pid > 0) {
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    return verdict;
}
