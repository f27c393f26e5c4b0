/*
 * limits.c - more processes, memory and bytes than were asked for. Bounded, whatever was asked.
 */
#include "battery.h"
#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FORKS_MOST = 200 };
#define MEMORY_MOST (96L << 20)
#define FILE_MOST   (64L << 20)

/* What is tried is one more than what was asked for, and the most that is harmless when nothing was. */
static int prepare_amount(struct trial *trial, long asked, long most)
{
    if (asked > most)
        return place_skip(trial, "the limit is larger than what is tried");
    trial->order.number[0] = asked > 0 ? asked : most;
    return 0;
}

static int prepare_forks(struct trial *trial)
{
    return prepare_amount(trial, trial->battery->limit_processes, FORKS_MOST);
}

static int act_fork(const struct order *order, struct answer *answer)
{
    pid_t children[FORKS_MOST + 1];
    int hold[2], errnum = 0;
    long count = 0;
    char byte;

    if (pipe(hold) != 0)
        return errno;
    while (count < order->number[0] && count < FORKS_MOST) {
        pid_t child = fork();

        if (child == 0) {
            close(hold[1]);
            _exit(read(hold[0], &byte, 1) != 0);
        }
        if (child < 0) {
            errnum = errno;
            break;
        }
        children[count++] = child;
    }
    answer->number = count;
    close(hold[1]);
    for (long i = 0; i < count; i++)
        waitpid(children[i], NULL, 0);
    return errnum;
}

static int prepare_memory(struct trial *trial)
{
    return prepare_amount(trial, trial->battery->limit_memory, MEMORY_MOST);
}

static int act_memory(const struct order *order, struct answer *answer)
{
    size_t size = (size_t)order->number[0] + 4096;
    volatile char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)answer;
    if (memory == MAP_FAILED)
        return errno;
    for (size_t i = 0; i < size; i += 4096)
        memory[i] = 1;
    munmap((void *)(uintptr_t)memory, size);
    return 0;
}

static int prepare_file(struct trial *trial)
{
    int result = prepare_amount(trial, trial->battery->limit_file, FILE_MOST);

    return result != 0 ? result : place_join(trial->order.path[0], trial->order.inner, "large");
}

/* A hole and one byte: the size counts, and the disk is left alone. */
static int act_file(const struct order *order, struct answer *answer)
{
    int fd = open(order->path[0], O_WRONLY | O_CREAT | O_EXCL, 0600);

    (void)answer;
    signal(SIGXFSZ, SIG_IGN);
    return fd < 0 || pwrite(fd, "x", 1, order->number[0]) != 1 ? errno : 0;
}

static int look_large(struct trial *trial)
{
    struct stat object;

    if (stat(trial->order.path[0], &object) != 0)
        return errno == ENOENT ? 0 : -errno;
    return object.st_size > trial->order.number[0];
}

#define TAKES "what takes everything leaves nothing for the others"

const struct attempt limit_attempts[] = {
    {"RES-01", SURFACE_LIMIT_PROCESSES, SEEN_INSIDE | OWN_RUN, "fork(), many times",
     "start many processes at once", TAKES, prepare_forks, act_fork, NULL, NULL},
    {"RES-02", SURFACE_LIMIT_MEMORY, SEEN_INSIDE | OWN_RUN, "mmap(); write each page", "take much memory",
     TAKES, prepare_memory, act_memory, NULL, NULL},
    {"RES-03", SURFACE_LIMIT_FILE_SIZE, IN_WORKSPACE | OWN_RUN, "pwrite(far behind)", "write a large file",
     TAKES, prepare_file, act_file, look_large, NULL},
    {0},
};
