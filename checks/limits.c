/*
 * limits.c - more processes, memory and bytes than were asked for. Bounded, whatever was asked.
 */
#include "battery.h"
#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FORKS_MOST = 200 };
#define MEMORY_MOST (96L << 20)
#define FILE_MOST   (64L << 20)
#define ROOM_MOST   (8L << 20)
enum { TIME_MOST_MS = 2000, TIME_MORE_MS = 5000 };

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

/* What nobody reads from TO, a datagram socket of the loopback. Return: the bytes that wait there, or -errno.
 */
static long fill_socket(int from, int to)
{
    static const char block[16384];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    uint32_t waits[16] = {0}; /* SK_MEMINFO_VARS, and more in later kernels */

    if (bind(to, (struct sockaddr *)&address, length) != 0 ||
        getsockname(to, (struct sockaddr *)&address, &length) != 0)
        return -errno;
    for (int i = 0; i < 32; i++) /* what finds no room is dropped */
        sendto(from, block, sizeof(block), MSG_DONTWAIT, (struct sockaddr *)&address, length);
    length = sizeof(waits);
    return getsockopt(to, SOL_SOCKET, SO_MEMINFO, waits, &length) == 0 ? (long)waits[0] : -errno;
}

static int act_sockets(const struct order *order, struct answer *answer)
{
    int from = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), idle = 0;

    if (from < 0)
        return errno;
    while (answer->number <= order->number[0] && idle < 8) {
        int to = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0); /* it stays open */
        long waits = to < 0 ? -errno : fill_socket(from, to);

        if (waits < 0)
            return (int)-waits;
        answer->number += waits;
        idle = waits == 0 ? idle + 1 : 0;
    }
    return answer->number > order->number[0] ? 0 : ENOMEM;
}

/* A time that is asked for and little more; without one, a moment. */
static int prepare_time(struct trial *trial, long asked_ms)
{
    if (asked_ms > TIME_MOST_MS)
        return place_skip(trial, "the limit is larger than what is tried");
    trial->order.number[0] = asked_ms > 0 ? asked_ms + TIME_MORE_MS : 10;
    return 0;
}

static int prepare_sleep(struct trial *trial)
{
    return prepare_time(trial, trial->battery->limit_time);
}

static int act_sleep(const struct order *order, struct answer *answer)
{
    struct timespec left = {.tv_sec = order->number[0] / 1000, .tv_nsec = order->number[0] % 1000 * 1000000};

    (void)answer;
    while (nanosleep(&left, &left) != 0)
        if (errno != EINTR)
            return errno;
    return 0;
}

static int prepare_work(struct trial *trial)
{
    return prepare_time(trial, trial->battery->limit_cpu);
}

static int act_work(const struct order *order, struct answer *answer)
{
    struct timespec used = {0};

    (void)answer;
    while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < order->number[0])
        if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0)
            return errno;
    return 0;
}

static int prepare_room(struct trial *trial)
{
    return prepare_amount(trial, trial->battery->limit_tmp, ROOM_MOST);
}

/* A file without a name, so that nothing can be left. */
static int act_room(const struct order *order, struct answer *answer)
{
    static const char block[4096] = {1};
    int fd = open(getenv("TMPDIR") ?: "/tmp", O_TMPFILE | O_WRONLY, 0600);

    (void)answer;
    if (fd < 0)
        return errno;
    for (long size = 0; size <= order->number[0]; size += (long)sizeof(block))
        if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
            return errno ? errno : ENOSPC;
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
    {"RES-07", SURFACE_LIMIT_MEMORY, SEEN_INSIDE | OWN_RUN, "sendto() to sockets that nobody reads",
     "leave much memory waiting in sockets", TAKES, prepare_memory, act_sockets, NULL, NULL},
    {"RES-03", SURFACE_LIMIT_FILE_SIZE, IN_WORKSPACE | OWN_RUN, "pwrite(far behind)", "write a large file",
     TAKES, prepare_file, act_file, look_large, NULL},
    {"RES-04", SURFACE_LIMIT_TIME, SEEN_INSIDE | OWN_RUN, "nanosleep()", "take more time", TAKES,
     prepare_sleep, act_sleep, NULL, NULL},
    {"RES-05", SURFACE_LIMIT_CPU, SEEN_INSIDE | OWN_RUN, "clock_gettime(), again and again",
     "take more processor time", TAKES, prepare_work, act_work, NULL, NULL},
    {"RES-06", SURFACE_LIMIT_TMP_SIZE, SEEN_INSIDE | OWN_RUN, "open($TMPDIR, O_TMPFILE); write()",
     "fill the temp directory", TAKES, prepare_room, act_room, NULL, NULL},
    {0},
};
