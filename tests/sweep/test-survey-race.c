/* test-survey-race.c - somebody plants and moves things all the time while the survey walks. */
#include "survey-world.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#define EXCHANGE    2 /* renameat2() */
#define RACES       8
#define RACE_PLACES 100
#define RACE_ACTS   50

static atomic_int acts;
static uint32_t dice;

static unsigned roll(unsigned sides)
{
    dice ^= dice << 13;
    dice ^= dice >> 17;
    dice ^= dice << 5;
    return dice % sides;
}

/* What does not go, because an earlier one is in its way, is none. */
static void act_at_random(void)
{
    const unsigned one = roll(RACE_PLACES), other = roll(RACE_PLACES);
    char from[64], to[64];
    int fd = -1;

    snprintf(from, sizeof(from), "d%u", one);
    switch (roll(5)) {
    case 0:
        snprintf(from, sizeof(from), "d%u/.envrc", one);
        fd = openat(tree, from, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        break;
    case 1:
        snprintf(to, sizeof(to), "d%u", other);
        (void)syscall(SYS_renameat2, tree, from, tree, to, EXCHANGE);
        break;
    case 2:
        snprintf(to, sizeof(to), "d%u/below/in", other);
        (void)renameat(tree, from, tree, to);
        break;
    case 3:
        snprintf(from, sizeof(from), "d%u/below", one);
        snprintf(to, sizeof(to), "d%u/.vscode", other);
        (void)renameat(tree, from, tree, to);
        break;
    default:
        snprintf(from, sizeof(from), "d%u/below/tasks.json", one);
        fd = openat(tree, from, O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0644);
        break;
    }
    if (fd >= 0)
        close(fd);
}

static void *act_for_long(void *unused)
{
    (void)unused;
    for (int i = 0; i < RACE_ACTS; i++) {
        act_at_random();
        atomic_fetch_add(&acts, 1);
    }
    return NULL;
}

static void make_race(int top, const char *name)
{
    char path[64];

    need(mkdirat(top, name, 0755) == 0);
    tree = openat(top, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    need(tree >= 0);
    for (int i = 0; i < RACE_PLACES; i++) {
        snprintf(path, sizeof(path), "d%d", i);
        make_directory(path);
        snprintf(path, sizeof(path), "d%d/below", i);
        make_directory(path);
        for (int j = 0; j < 4; j++) {
            snprintf(path, sizeof(path), "d%d/%d", i, j);
            put(path, "");
        }
    }
    need(close(tree) == 0);
}

TEST_IN(what_somebody_plants_while_it_walks_is_found, 300)
{
    int top = open_top(), planted = 0;
    int64_t sum = 0;
    char name[32];

    for (int i = 0; i < RACES; i++) {
        snprintf(name, sizeof(name), "%d", i);
        make_race(top, name);
    }
    let_settle();
    for (int i = 0; i < RACES; i++) {
        struct timespec since = clock_of_files();
        struct answer ahead = {.look = {0}}, with = {.look = {0}}, without = {.look = {0}};
        struct survey survey = {0};
        pthread_t thread;

        snprintf(name, sizeof(name), "%d", i);
        tree = openat(top, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        need(tree >= 0);
        dice = 2463534242U + (uint32_t)i;
        prepare(&ahead, tree, &since);
        need(pthread_create(&thread, NULL, act_for_long, NULL) == 0);
        while (atomic_load(&acts) <= i * RACE_ACTS)
            sched_yield();
        survey_trees(&survey, &ahead.look, go[0]);
        pthread_join(thread, NULL);
        look_at(&with, tree, &since, &survey);
        look_at(&without, tree, &since, NULL);
        check_same(&with, &without);
        planted += lines(&without);
        sum += (int64_t)without.look.entries - (int64_t)with.look.entries;
        survey_free(&survey);
        forget(&with);
        forget(&without);
        need(close(tree) == 0);
    }
    test_note("%d findings, %lld names spared", planted, (long long)sum);
    check(planted > RACES && sum > 0); /* else nothing was tried */
}
