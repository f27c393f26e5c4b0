/*
 * starts.c - whoever starts a confinement is killed at each moment of the start.
 *
 * What holds the run's output is what is left of it: when nobody has it any more, its end is read outside.
 *
 * Should:  take moments from before the first link to after the command's start.
 * Mustn't: wait for ever for what is left.
 */
#include "battery.h"
#include "place.h"
#include "side.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOMENTS = 16, LATEST_MS = 10000, LEFT_MS = 20000 };

static long now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000L + now.tv_nsec / 1000;
}

/* The command: it leaves a process behind that has its output, and says that it has started. */
static int act_stay(const struct order *order, struct answer *answer)
{
    pid_t child;

    (void)answer;
    if (!order->number[0]) /* the battery's own run has nothing to do */
        return 0;
    child = fork();
    if (child == 0) {
        setsid();
        alarm(60);
        for (;;)
            pause();
    }
    printf("started %ld\n", (long)child);
    fflush(stdout);
    return child > 0 ? 0 : errno;
}

/* Starts the command; the output's end is @ret_out. Return: the process, or -errno. */
static pid_t start(struct trial *trial, const char *file, int *ret_out)
{
    static char once[] = "once";
    char *words[] = {once, (char *)(uintptr_t)file, NULL};
    int ends[2], nothing = open("/dev/null", O_RDWR | O_CLOEXEC), report;
    pid_t child;

    if (nothing < 0 || pipe2(ends, O_CLOEXEC) != 0)
        return -errno;
    child = fork();
    if (child == 0) {
        report = dup(nothing);
        setpgid(0, 0);
        if (report < 0 || dup2(nothing, 0) != 0 || dup2(ends[1], 1) != 1 || dup2(nothing, 2) != 2)
            _exit(125);
        battery_exec(trial->battery, trial, trial->control, report, words);
    }
    close(nothing);
    close(ends[1]);
    *ret_out = ends[0];
    return child < 0 ? -errno : child;
}

/* Return: whether the output has ended before @until; else, with @text, whether something was said. */
static bool read_until(int fd, char *text, size_t size, long until)
{
    char ignored[256] = "";

    for (long left = until - now_us(); left > 0; left = until - now_us()) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        ssize_t got;

        if (poll(&ready, 1, (int)(left / 1000) + 1) <= 0)
            continue;
        got = read(fd, text ? text : ignored, text ? size - 1 : sizeof(ignored));
        if (text)
            text[got > 0 ? got : 0] = '\0';
        if (text || got <= 0)
            return text ? got > 0 : true;
    }
    return false;
}

static void sleep_until(long moment)
{
    long left = moment - now_us();
    struct timespec pause = {.tv_sec = left / 1000000, .tv_nsec = left % 1000000 * 1000};

    if (left > 0)
        nanosleep(&pause, NULL);
}

/* Kills the one that was started, after @moment microseconds, or, for 0, when the command has started, which
 * takes @took. Return: 1 when something was left, 0, or -errno. */
static int kill_at(struct trial *trial, const char *file, long moment, long *took)
{
    char text[64] = "";
    struct side side = SIDE_NONE;
    long begun = now_us(), stayed = 0;
    bool ended;
    int out = -1;

    side.pid = start(trial, file, &out);
    if (side.pid < 0)
        return (int)side.pid;
    if (moment > 0)
        sleep_until(begun + moment);
    else if (read_until(out, text, sizeof(text), begun + LATEST_MS * 1000L))
        *took = now_us() - begun;
    side_kill(trial->battery, &side);
    /* The control is left, and known; what is to end may take its time. */
    ended = read_until(out, NULL, 0, now_us() + (trial->control ? 100 : LEFT_MS) * 1000L);
    if (trial->control && sscanf(text, "started %ld", &stayed) == 1 && stayed > 1)
        kill((pid_t)stayed, SIGKILL);
    close(out);
    return moment == 0 && !*took ? -ETIMEDOUT : !ended;
}

static int look_started(struct trial *trial)
{
    struct order order = trial->order;
    char file[PLACE_SIZE];
    long took = 0, ignored = 0;
    int fd, result = place_join(file, trial->dir, "order");

    if (result < 0)
        return result;
    order.number[0] = 1;
    fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, &order, sizeof(order)) != (ssize_t)sizeof(order))
        return -EIO;
    close(fd);
    result = kill_at(trial, file, 0, &took);
    for (int i = 0; i < MOMENTS && result == 0; i++)
        result = kill_at(trial, file, 1 + took * i / (MOMENTS * 3 / 4), &ignored);
    return result;
}

const struct attempt starts_attempts[] = {
    {"SET-111", SURFACE_PROC_SURVIVOR, OWN_RUN, "kill(supervisor, SIGKILL) at 16 moments of a start",
     "have the command started, or left, by a start whose parent is dead",
     "a harness that crashes must not leave what it started", NULL, act_stay, look_started, NULL},
    {0},
};
