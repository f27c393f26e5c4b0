/*
 * keeper.c - the caller's terminal while a command has one of its own.
 *
 * Theory of operation. While the command runs, every key goes to its terminal: the caller's is raw. Before
 * anything is changed a watcher is started, a child that waits for a lock of ours: if we end holding it, by
 * SIGKILL, it restores what was changed. (A lock, because the kernel gives it up first of all when a process
 * ends. The end of a pipe comes late, and whoever started us may have taken the terminal by then.) It leads a
 * session of its own, so that it is no job of this terminal: it may set its modes from wherever it stands,
 * and a signal to our process group does not reach it. What it needs to know is in shared memory, written
 * before the terminal is changed.
 *
 * Should:  throw away what has come in and was not read: it was meant for the command, or it is the
 *          terminal's answer to it, and the shell would run it. An answer that is still on its way is waited
 *          for, by asking last something whose answer comes last.
 * Mustn't: change the modes from the background (that stops us), or change them back when somebody else has
 *          changed them since. Mustn't leave the watcher behind.
 */
#include "run/keeper.h"

#include "kernel/children.h"
#include "links/kernel_abi.h"
#include "run/sequence.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_MS  1000 /* how long a terminal may take to answer, and between two answers */
#define ANSWERS_MS 8000 /* for all of them */
#define WRITE_MS   1000

int keeper_open(struct keeper *keeper, int fd)
{
    void *shared =
        mmap(NULL, sizeof(*keeper->kept), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (shared == MAP_FAILED)
        return -errno;
    keeper->kept = shared;
    keeper->fd = open(FD_NAME(fd), O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    keeper->owned = keeper->fd >= 0;
    if (!keeper->owned)
        keeper->fd = fd_copy(fd, 3);
    return keeper->fd < 0 ? -errno : 0;
}

static bool same_modes(const struct termios *one, const struct termios *other)
{
    return one->c_iflag == other->c_iflag && one->c_oflag == other->c_oflag &&
           one->c_lflag == other->c_lflag && one->c_cflag == other->c_cflag &&
           one->c_cc[VMIN] == other->c_cc[VMIN] && one->c_cc[VTIME] == other->c_cc[VTIME];
}

/* All of it, as far as the terminal takes it within a moment. */
static void tell(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        ssize_t put = write(fd, bytes, size);

        if (put < 0 && errno == EAGAIN && poll(&ready, 1, WRITE_MS) == 1 && (ready.revents & POLLOUT))
            continue;
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return; /* it is gone, or does not listen: there is nothing else to restore it by */
        bytes += put;
        size -= (size_t)put;
    }
}

/* Gives the modes back, unless somebody has changed them, and throws away what was typed. */
static void put_back(int fd, const struct kept *kept)
{
    struct termios now = {0};

    if (kept->raw && tcgetattr(fd, &now) == 0 && same_modes(&now, &kept->raw_modes))
        tcsetattr(fd, TCSAFLUSH, &kept->before);
}

/* Undoes what the command has left. @cut: the last thing that was written may have been cut, so CAN first. */
static void undo(int fd, const struct kept *kept, bool cut)
{
    char bytes[1 + SEQUENCE_ROOM] = "\x18";
    size_t size = sequence_reset(kept->left, bytes + 1);

    if (kept->raw)
        tell(fd, cut ? bytes : bytes + 1, cut ? size + 1 : size);
}

/* --- the watcher ------------------------------------------------------------------------------------------
 */

_Noreturn static void watch(struct kept *kept, int terminal)
{
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    /* 0 is what it needs, and everything else is closed: nobody may wait for an end that it holds. */
    if (setsid() < 0 || chdir("/") != 0 || dup2(terminal, 0) != 0 ||
        kernel_call(SYS_close_range, 1, ~0U, 0, 0, 0, 0) != 0)
        _exit(1);
    if (pthread_mutex_lock(&kept->alive) == EOWNERDEAD) {
        put_back(0, kept); /* first: a shell is about to take these modes for its own */
        undo(0, kept, true);
    }
    _exit(0);
}

static int take_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attributes;
    int r = pthread_mutexattr_init(&attributes);

    if (r == 0)
        r = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    if (r == 0)
        r = pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    if (r == 0)
        r = pthread_mutex_init(lock, &attributes);
    return r == 0 ? pthread_mutex_lock(lock) : r;
}

int keeper_watch(struct keeper *keeper)
{
    pid_t pid;
    int r;

    if (keeper->fd < 0)
        return 0;
    r = take_lock(&keeper->kept->alive);
    if (r != 0)
        return -r;
    pid = fork();
    if (pid == 0)
        watch(keeper->kept, keeper->fd);
    if (pid < 0)
        return -errno;
    keeper->watcher = pid;
    children_except(pid);
    return 0;
}

/* --- the modes --------------------------------------------------------------------------------------------
 */

bool keeper_is_foreground(const struct keeper *keeper)
{
    pid_t foreground;

    /* Of a terminal that is not the one of our session, anybody may change the modes. */
    return ioctl(keeper->fd, TIOCGPGRP, &foreground) != 0 || foreground == getpgrp();
}

bool keeper_enter(struct keeper *keeper)
{
    struct kept *kept = keeper->kept;
    struct termios now = {0};

    if (!keeper_is_foreground(keeper) || tcgetattr(keeper->fd, &now) != 0)
        return false;
    if (kept->raw && same_modes(&now, &kept->raw_modes))
        return true;
    kept->before = kept->raw_modes = now;
    kept->raw_modes.c_iflag &= ~(tcflag_t)(IGNBRK | BRKINT | PARMRK | ISTRIP | INLCR | IGNCR | ICRNL | IXON);
    kept->raw_modes.c_oflag &= ~(tcflag_t)OPOST;
    kept->raw_modes.c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ICANON | ISIG | IEXTEN);
    kept->raw_modes.c_cc[VMIN] = 1;
    kept->raw_modes.c_cc[VTIME] = 0;
    kept->raw = true;
    if (tcsetattr(keeper->fd, TCSANOW, &kept->raw_modes) != 0)
        kept->raw = false;
    return kept->raw;
}

void keeper_leave(struct keeper *keeper)
{
    if (!keeper->kept || !keeper->kept->raw)
        return;
    undo(keeper->fd, keeper->kept, false);
    put_back(keeper->fd, keeper->kept);
    keeper->kept->raw = false;
}

/* What was asked is answered in turn. So the answer to one more question is the last of all, and what comes
 * before it is thrown away; a terminal that does not answer at all costs a moment. */
static void await_answers(const struct keeper *keeper)
{
    static const char question[] = "\033[5n", answer[] = "\033[0n";
    int64_t until;
    size_t seen = 0;

    tell(keeper->fd, question, sizeof(question) - 1);
    until = clock_ms(CLOCK_MONOTONIC) + ANSWERS_MS;
    while (seen < sizeof(answer) - 1) {
        struct pollfd ready = {.fd = keeper->fd, .events = POLLIN};
        char byte;

        if (clock_ms(CLOCK_MONOTONIC) >= until || poll(&ready, 1, ANSWER_MS) != 1 ||
            read(keeper->fd, &byte, 1) != 1)
            return;
        seen = byte == answer[seen] ? seen + 1 : byte == answer[0];
    }
}

void keeper_end(struct keeper *keeper, bool asked)
{
    if (keeper->fd < 0)
        return;
    if (keeper->kept->raw && keeper_is_foreground(keeper)) {
        undo(keeper->fd, keeper->kept, false);
        if (asked)
            await_answers(keeper);
        put_back(keeper->fd, keeper->kept);
    }
    keeper->kept->raw = false;
    if (keeper->watcher > 0) {
        pthread_mutex_unlock(&keeper->kept->alive);
        while (waitpid(keeper->watcher, NULL, 0) < 0 && errno == EINTR)
            ;
        children_include(keeper->watcher);
        keeper->watcher = 0;
    }
    keeper->fd = fd_close(keeper->fd);
    munmap(keeper->kept, sizeof(*keeper->kept));
    keeper->kept = NULL;
}
