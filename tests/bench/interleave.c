/*
 * interleave.c - run several commands in turn, many times, and print how long each took.
 *
 *     interleave ROUNDS NAME ARG... [++ NAME ARG...]...
 *
 * One line per command, tab-separated: NAME, p10 and median of wall time, median of user+system time of the
 * whole tree (all in microseconds), the largest resident set of a process of it (KiB).
 *
 * Machines drift by tens of percent within minutes and are busy with other things. So each round runs every
 * command once, each round starts with the next one, and only figures of one call may be compared.
 *
 * Should:  be small, since what a child shares with us until its exec counts as its memory.
 * Mustn't: count a run that failed: any status but 0 ends the whole, with status 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CASES_MAX   32
#define REPORT_MOST (1 << 20)
#define REPORT_FD   3 /* a pipe that is emptied between the runs: where `--report fd:3` goes */

struct sample {
    uint32_t wall_us;
    uint32_t cpu_us;
};

struct row {
    const char *name;
    char **argv;
    struct sample *samples;
    long rss_kib;
};

extern char **environ;

static int out, errors, drain; /* our standard output and error, moved away; our end of the report's pipe */
static int said;               /* our end of the commands' standard error */

static uint32_t elapsed_us(const struct timespec *from)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)((now.tv_sec - from->tv_sec) * 1000000 + (now.tv_nsec - from->tv_nsec) / 1000);
}

static uint32_t time_us(const struct timeval *time)
{
    return (uint32_t)(time->tv_sec * 1000000 + time->tv_usec);
}

static int run_once(struct row *row, struct sample *sample)
{
    struct timespec start;
    struct rusage usage;
    char report[4096];
    int status = 0, error;
    pid_t pid;

    clock_gettime(CLOCK_MONOTONIC, &start);
    error = posix_spawn(&pid, row->argv[0], NULL, NULL, row->argv, environ);
    if (error == 0 && wait4(pid, &status, 0, &usage) != pid)
        error = errno;
    sample->wall_us = elapsed_us(&start);
    if (error != 0 || status != 0) {
        ssize_t size = read(said, report, sizeof(report));

        dprintf(errors, "interleave: %s: %s, status 0x%x: %.*s\n", row->name, strerror(error),
                (unsigned)status, size > 0 ? (int)size : 0, report);
        return -1;
    }
    sample->cpu_us = time_us(&usage.ru_utime) + time_us(&usage.ru_stime);
    if (usage.ru_maxrss > row->rss_kib)
        row->rss_kib = usage.ru_maxrss;
    while (read(drain, report, sizeof(report)) > 0)
        ;
    return 0;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static void print_row(const struct row *row, size_t rounds, uint32_t *room)
{
    uint32_t p10, median;

    for (size_t i = 0; i < rounds; i++)
        room[i] = row->samples[i].wall_us;
    qsort(room, rounds, sizeof(*room), compare);
    p10 = room[rounds / 10];
    median = room[rounds / 2];
    for (size_t i = 0; i < rounds; i++)
        room[i] = row->samples[i].cpu_us;
    qsort(room, rounds, sizeof(*room), compare);
    dprintf(out, "%s\t%u\t%u\t%u\t%ld\n", row->name, p10, median, room[rounds / 2], row->rss_kib);
}

/* 0, 1 and 2 become the null device, so that nothing is relayed; ours move out of the way. Return: 0, or -1.
 */
static int prepare_descriptors(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), ends[2], error_ends[2];

    out = fcntl(1, F_DUPFD_CLOEXEC, 20);
    errors = fcntl(2, F_DUPFD_CLOEXEC, 20);
    if (out < 0 || errors < 0 || null < 0 || pipe2(ends, O_CLOEXEC) != 0 ||
        pipe2(error_ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return -1;
    said = fcntl(error_ends[0], F_DUPFD_CLOEXEC, 20);
    drain = fcntl(ends[0], F_DUPFD_CLOEXEC, 20);
    ends[1] = fcntl(ends[1], F_DUPFD_CLOEXEC, 20);
    /* It is emptied between the runs only, so a whole report must fit: with 1,000 grants those are 200 KB. */
    if (drain < 0 || said < 0 || ends[1] < 0 || fcntl(drain, F_SETFL, O_NONBLOCK) != 0 ||
        fcntl(drain, F_SETPIPE_SZ, REPORT_MOST) < 0)
        return -1;
    if (dup2(null, 0) != 0 || dup2(null, 1) != 1 || dup2(error_ends[1], 2) != 2)
        return -1;
    for (int fd = 3; fd < 20; fd++)
        close(fd);
    return dup2(ends[1], REPORT_FD) == REPORT_FD ? 0 : -1;
}

/* Splits the words at `++`. Return: the number of rows, 0 when the words make no sense. */
static size_t parse_rows(char **word, struct row *rows, size_t rounds)
{
    size_t count = 0;

    for (; *word; count++) {
        if (count == CASES_MAX || !word[1])
            return 0;
        rows[count] =
            (struct row){.name = word[0], .argv = word + 1, .samples = calloc(rounds, sizeof(struct sample))};
        if (!rows[count].samples)
            return 0;
        while (*word && strcmp(*word, "++") != 0)
            word++;
        if (*word)
            *word++ = NULL;
    }
    return count;
}

int main(int argc, char **argv)
{
    static struct row rows[CASES_MAX];
    size_t rounds = argc > 3 ? (size_t)strtoul(argv[1], NULL, 10) : 0;
    size_t count = rounds ? parse_rows(argv + 2, rows, rounds) : 0;
    uint32_t *room = calloc(rounds + 1, sizeof(*room));
    struct sample unused;

    if (count == 0 || !room || prepare_descriptors() != 0) {
        dprintf(2, "interleave: usage: interleave ROUNDS NAME ARG... [++ NAME ARG...]...\n");
        return 2;
    }
    for (size_t i = 0; i < count; i++) /* once for the caches */
        if (run_once(&rows[i], &unused) != 0)
            return 1;
    for (size_t round = 0; round < rounds; round++)
        for (size_t i = 0; i < count; i++) {
            struct row *row = &rows[(round + i) % count];

            if (run_once(row, &row->samples[round]) != 0)
                return 1;
        }
    for (size_t i = 0; i < count; i++)
        print_row(&rows[i], rounds, room);
    return 0;
}
