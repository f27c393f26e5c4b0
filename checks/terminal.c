/*
 * terminal.c - the caller's terminal: typing into it, reading it, changing its modes.
 *
 * Should:  end with the run's own end, and look at our side of the terminal only then.
 * Mustn't: touch the terminal of whoever started this.
 */
#include "terminal.h"
#include "place.h"
#include "side.h"

#include "links/kernel_abi.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { PATIENCE_MS = 120000, TYPED = 8 /* characters of the mark */ };

/* Return: 0 or -errno. fd[0] is the side of programs, fd[1] that of the person. */
static int make_terminal(struct trial *trial)
{
    struct termios modes;
    struct stat object;
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    int result = place_keep(trial, 1, posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));

    if (result < 0)
        return result;
    if (grantpt(trial->fd[1]) != 0 || unlockpt(trial->fd[1]) != 0)
        return -errno;
    snprintf(trial->order.path[2], PLACE_SIZE, "%s", ptsname(trial->fd[1]));
    result = place_keep(trial, 0, open(trial->order.path[2], O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (result < 0)
        return result;
    if (tcgetattr(trial->fd[0], &modes) != 0 || fstat(trial->fd[0], &object) != 0)
        return -errno;
    trial->order.number[0] = (long)object.st_dev;
    trial->order.number[1] = (long)object.st_ino;
    modes.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    modes.c_oflag &= ~(tcflag_t)OPOST;
    if (tcsetattr(trial->fd[0], TCSANOW, &modes) != 0 || ioctl(trial->fd[0], TIOCSWINSZ, &size) != 0)
        return -errno;
    return 0;
}

static void become_command(const struct battery *battery, struct trial *trial, const char *file, int report)
{
    static char once[] = "once";
    char *words[] = {once, (char *)(uintptr_t)file, NULL};

    setsid();
    if (ioctl(trial->fd[0], TIOCSCTTY, 0) != 0)
        _exit(125);
    for (int fd = 0; fd <= 2; fd++)
        if (dup2(trial->fd[0], fd) != fd)
            _exit(125);
    battery_exec(battery, NULL, trial->control, report, words);
}

/* What is written, until the process has ended. Return: whether it ended by itself. */
static bool follow(struct trial *trial, pid_t child, char *text, size_t size)
{
    size_t length = 0;
    bool ended = false;

    for (int waited = 0; waited < PATIENCE_MS;) {
        struct pollfd ready = {.fd = trial->fd[1], .events = POLLIN};
        int status, some = poll(&ready, 1, ended ? 0 : 20);

        if (some > 0 && length < size - 1) {
            ssize_t got = read(trial->fd[1], text + length, size - 1 - length);

            length += got > 0 ? (size_t)got : 0;
            continue;
        }
        if (ended)
            break;
        waited += 20;
        ended = waitpid(child, &status, WNOHANG) == child;
    }
    text[length] = '\0';
    return ended;
}

int terminal_run(const struct battery *battery, struct trial *trial)
{
    static const char said[] = "confine-check ";
    char file[PLACE_SIZE], text[4096];
    const char *answer;
    int fd, report, result = make_terminal(trial);
    pid_t child;

    if (result == 0)
        result = place_join(file, *trial->order.inner ? trial->order.inner : trial->dir, "order");
    if (result < 0)
        return result;
    fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, &trial->order, sizeof(trial->order)) != (ssize_t)sizeof(trial->order))
        return -EIO;
    close(fd);
    report = (int)syscall(SYS_memfd_create, "report", 1);
    child = fork();
    if (child == 0)
        become_command(battery, trial, file, report);
    if (child < 0)
        return -errno;
    janitor_note(LEFT_PROCESS, child, NULL);
    if (!follow(trial, child, text, sizeof(text))) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        result = -ETIMEDOUT;
    }
    janitor_forget(LEFT_PROCESS, child, NULL);
    close(report);
    answer = strstr(text, said);
    if (result == 0 && !answer)
        result = -ENODATA;
    if (result == 0)
        trial->answer.errnum = atoi(answer + strlen(said));
    return result;
}

/* --- acts
 * --------------------------------------------------------------------------------------------------- */

static int type_into(int fd, const struct order *order)
{
    if (fd < 0)
        return errno;
    for (int i = 0; i < TYPED; i++)
        if (ioctl(fd, TIOCSTI, order->mark + i) != 0)
            return errno;
    return 0;
}

static int act_type(const struct order *order, struct answer *answer)
{
    (void)answer;
    return type_into(open("/dev/tty", O_RDWR | O_NOCTTY), order);
}

static int act_type_stdin(const struct order *order, struct answer *answer)
{
    (void)answer;
    return type_into(0, order);
}

static int act_type_name(const struct order *order, struct answer *answer)
{
    (void)answer;
    return type_into(open(order->path[2], O_RDWR | O_NOCTTY), order);
}

static int act_type_stderr(const struct order *order, struct answer *answer)
{
    (void)answer;
    return type_into(2, order);
}

static int look_typed(struct trial *trial)
{
    char text[256] = "";

    if (fcntl(trial->fd[0], F_SETFL, O_NONBLOCK) != 0)
        return -errno;
    if (read(trial->fd[0], text, sizeof(text) - 1) <= 0)
        return 0;
    text[sizeof(text) - 1] = '\0';
    return memmem(text, sizeof(text), trial->order.mark, TYPED) != NULL;
}

static int silence(int fd)
{
    struct termios modes;

    if (fd < 0 || tcgetattr(fd, &modes) != 0)
        return errno;
    modes.c_iflag |= IXANY; /* of no use to anybody, and not set before */
    return tcsetattr(fd, TCSANOW, &modes) != 0 ? errno : 0;
}

static int act_modes(const struct order *order, struct answer *answer)
{
    (void)order;
    (void)answer;
    return silence(0);
}

static int act_modes_tty(const struct order *order, struct answer *answer)
{
    (void)order;
    (void)answer;
    return silence(open("/dev/tty", O_RDWR | O_NOCTTY));
}

static int act_modes_name(const struct order *order, struct answer *answer)
{
    (void)answer;
    return silence(open(order->path[2], O_RDWR | O_NOCTTY));
}

static int look_modes(struct trial *trial)
{
    struct termios modes;

    return tcgetattr(trial->fd[0], &modes) != 0 ? -errno : (modes.c_iflag & IXANY) != 0;
}

static int act_size(const struct order *order, struct answer *answer)
{
    struct winsize size = {.ws_row = 7, .ws_col = 77};

    (void)order;
    (void)answer;
    return ioctl(0, TIOCSWINSZ, &size) != 0 ? errno : 0;
}

static int look_size(struct trial *trial)
{
    struct winsize size;

    return ioctl(trial->fd[0], TIOCGWINSZ, &size) != 0 ? -errno : size.ws_row == 7;
}

/* It opens the terminal by its name for reading: then what is typed is its own. Another one may have the name
 * inside. */
static int act_listen(const struct order *order, struct answer *answer)
{
    int fd = open(order->path[2], O_RDONLY | O_NOCTTY | O_NONBLOCK);
    struct stat object;

    (void)answer;
    if (fd < 0 || fstat(fd, &object) != 0)
        return errno;
    return (long)object.st_dev == order->number[0] && (long)object.st_ino == order->number[1] ? 0 : ENXIO;
}

#define TYPES "what is typed after the run is done by the user's shell, unconfined"
#define MODES "a terminal without echo, or of another size, deceives who uses it next"
#define INJECTS(id, call, what, act)                                                                         \
    {                                                                                                        \
        id, SURFACE_TTY_INJECT, ON_TERMINAL, call, what, TYPES, NULL, act, look_typed, NULL                  \
    }
#define CHANGES(id, call, what, act, look)                                                                   \
    {                                                                                                        \
        id, SURFACE_TTY_STATE, ON_TERMINAL, call, what, MODES, NULL, act, look, NULL                         \
    }

const struct attempt terminal_attempts[] = {
    INJECTS("TTY-01", "ioctl(/dev/tty, TIOCSTI)", "type into the controlling terminal", act_type),
    INJECTS("TTY-02", "ioctl(0, TIOCSTI)", "type into standard input", act_type_stdin),
    CHANGES("TTY-06", "tcsetattr(0)", "change the modes of the terminal", act_modes, look_modes),
    INJECTS("TTY-07", "ioctl(/dev/pts/N, TIOCSTI)", "type into the terminal by its name", act_type_name),
    INJECTS("TTY-08", "ioctl(2, TIOCSTI)", "type into standard error", act_type_stderr),
    CHANGES("TTY-09", "tcsetattr(/dev/tty)", "change the modes of the controlling terminal", act_modes_tty,
            look_modes),
    CHANGES("TTY-10", "tcsetattr(/dev/pts/N)", "change the modes of the terminal by its name", act_modes_name,
            look_modes),
    CHANGES("TTY-11", "ioctl(0, TIOCSWINSZ)", "change the size of the terminal", act_size, look_size),
    {"TTY-12", SURFACE_TTY_READ, ON_TERMINAL | SEEN_INSIDE, "open(/dev/pts/N, O_RDONLY)",
     "read what is typed at the terminal, by its name", "passwords are typed there", NULL, act_listen, NULL,
     NULL},
    {0},
};
