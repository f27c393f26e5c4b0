/*
 * left.h - what is left of a run: processes, mounts, files.
 *
 * Should:  find everything: this process is the subreaper of all that a run starts, so "no process is left"
 * is that there is no child left to wait for. Mustn't: depend on how fast a machine is: what has to end is
 * waited for, with a limit that only a failure meets.
 */
#ifndef CONFINE_TESTS_ATTEST_LEFT_H
#define CONFINE_TESTS_ATTEST_LEFT_H

#include "world.h"

#include "kernel/children.h"

#include <dirent.h>

#define GONE_SECONDS 60
#define MADE_SECONDS 60

static const enum variant variants[] = {VARIANT_PLAIN, VARIANT_NAMESPACE};

static inline uint64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000U + (uint64_t)now.tv_nsec / 1000U;
}

static inline void pause_us(uint64_t us)
{
    struct timespec pause = {.tv_sec = (time_t)(us / 1000000U), .tv_nsec = (long)(us % 1000000U) * 1000};

    nanosleep(&pause, NULL);
}

/* Return: whether every process of the run has ended in time. This process is their last parent. */
static inline bool all_gone(void)
{
    uint64_t end = now_us() + GONE_SECONDS * 1000000U;

    for (;;) {
        pid_t pid = waitpid(-1, NULL, WNOHANG | __WALL);

        if (pid < 0 && errno == ECHILD)
            return true;
        if (pid == 0) {
            if (now_us() > end)
                return false;
            pause_us(500);
        }
    }
}

/* Ends what an assertion has found alive, so that one bad moment is not all moments to come. */
static inline void end_rest(void)
{
    children_kill(0);
    while (waitpid(-1, NULL, __WALL) > 0)
        ;
}

static inline bool tree_has(const struct world *world, const char *name)
{
    char path[3 * PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", world->base, name);
    return access(path, F_OK) == 0;
}

static inline bool wait_for(const struct world *world, const char *name)
{
    uint64_t end = now_us() + MADE_SECONDS * 1000000U;

    while (!tree_has(world, name) && now_us() < end)
        pause_us(500);
    return tree_has(world, name);
}

/* Return: in how many processes' views something of the run's tree is mounted. */
static inline unsigned count_views(const struct world *world)
{
    static char text[1 << 20];
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    unsigned count = 0;

    need(proc);
    while ((entry = readdir(proc))) {
        char path[64 + NAME_MAX];
        size_t size = 0;
        ssize_t got;
        int fd;

        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        snprintf(path, sizeof(path), "/proc/%s/mountinfo", entry->d_name);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        while (fd >= 0 && (got = read(fd, text + size, sizeof(text) - 1 - size)) > 0)
            size += (size_t)got;
        text[size] = '\0';
        count += strstr(text, world->base) != NULL;
        fd_close(fd);
    }
    closedir(proc);
    return count;
}

/* The place of a private temp directory, which a view of its own does not need. */
static inline bool tmp_is_empty(const struct world *world)
{
    char path[3 * PATH_MAX];
    const struct dirent *entry;
    unsigned count = 0;
    DIR *tmp;

    snprintf(path, sizeof(path), "%s/home", world->base);
    tmp = opendir(path);
    while (tmp && (entry = readdir(tmp)))
        count++;
    if (tmp)
        closedir(tmp);
    return count == 2 || (!tmp && errno == ENOENT);
}

/* No process, no mount, no file. */
static inline bool nothing_left(const struct world *world)
{
    bool gone = check(all_gone());

    if (world->variant == VARIANT_NAMESPACE) {
        gone = check_int(count_views(world), 0) && gone;
        gone = check(tmp_is_empty(world)) && gone;
    }
    return gone;
}

/* Where the kernel refuses namespaces there is nothing to look at; then nothing may be said of them. */
static inline bool variant_possible(enum variant variant)
{
    static struct host host;

    if (!host.proc) {
        host_look(&host);
        host_ask_namespaces(&host, getuid(), getgid());
    }
    if (variant != VARIANT_NAMESPACE || host.namespaces.answer != HOST_NO)
        return true;
    test_note("no namespaces here: only the other backend was looked at");
    return false;
}

static inline struct world new_world(enum variant variant, const char *script)
{
    struct world world = {.caller = CALLER_USER, .variant = variant, .script = script};

    need(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    world_name(&world);
    return world;
}

#endif
