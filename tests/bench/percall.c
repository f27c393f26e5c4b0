/*
 * percall.c - CPU time of single file operations, for one process: bare or confined.
 *
 *     percall DIRECTORY CALLS
 *
 * Works below DIRECTORY, in names of its own that it removes. Prints one line per operation: NAME and
 * nanoseconds of CPU per call, the least of five repetitions. CPU time, because wall time on a busy machine
 * is mostly the others'; the least, because nothing makes a call faster than it is.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define REPETITIONS 5

static int open_read_close(void)
{
    char byte;
    int fd = open("file", O_RDONLY | O_CLOEXEC);

    return fd < 0 || read(fd, &byte, 1) != 1 || close(fd) != 0;
}

static int stat_file(void)
{
    struct stat st;

    return stat("file", &st);
}

static int create_unlink(void)
{
    int fd = open("made", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    return fd < 0 || close(fd) != 0 || unlink("made") != 0;
}

static int rename_file(void)
{
    return rename("file", "other") != 0 || rename("other", "file") != 0;
}

static int get_parent(void)
{
    return getppid() < 0;
}

static const struct {
    const char *name;
    int (*act)(void);
    int calls; /* of what the name says, in one act */
} operations[] = {
    {"open+read+close", open_read_close, 1},
    {"stat", stat_file, 1},
    {"create+unlink", create_unlink, 1},
    {"rename", rename_file, 2},
    {"getppid", get_parent, 1},
};

static int64_t cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int main(int argc, char **argv)
{
    long calls = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
    int fd;

    if (calls <= 0 || chdir(argv[1]) != 0)
        return 2;
    fd = open("file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, "x", 1) != 1 || close(fd) != 0)
        return 1;
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
        int64_t least = INT64_MAX;

        for (int repetition = 0; repetition < REPETITIONS; repetition++) {
            int64_t start = cpu_ns(), spent;

            for (long call = 0; call < calls; call++)
                if (operations[i].act() != 0)
                    return 1;
            spent = cpu_ns() - start;
            if (spent < least)
                least = spent;
        }
        printf("%s\t%.0f\n", operations[i].name, (double)least / (double)calls / operations[i].calls);
    }
    return unlink("file") != 0;
}
