/*
 * planted.h - the look at the trees that a command could write, when it has ended.
 */
#ifndef CONFINE_RUN_PLANTED_H
#define CONFINE_RUN_PLANTED_H

#include "report/report.h"
#include "run/part.h"

#include <time.h>

#define PLANTED_ROOTS  64
#define PLANTED_BEFORE 64

/* What was kept from before the run. */
struct planted_look {
    bool wanted;
    const char *impossible; /* static: why the look cannot be made; NULL: it can */
    const char *aside; /* the run, whose name the place has to which things are moved; NULL: nothing is */
    struct timespec since;
    int before[PLANTED_BEFORE]; /* copies in memory of repositories' settings, */
    char *path[PLANTED_BEFORE]; /* and of which file */
    size_t before_count;
    pid_t pid;    /* of confine-sweep, which waits; 0: none */
    int go, said; /* a byte for it to begin; its findings */
    bool more;    /* trees than it can be given */
    bool begun;
};

/* Lets the look begin as soon as nobody is left, while what is in front has still to end. Where nobody says
 * that, it begins with planted_look(). */
extern const struct part_calls planted_part;

/*
 * planted_begin() - note the time, and keep what changes in honest work as well.
 * @landlock_abi: of this machine
 *
 * Costs a few calls for each writable tree, whatever is in it. Return: 0 or -errno of what should not fail.
 */
int planted_begin(struct planted_look *planted, const struct resolved *resolved, int landlock_abi);

/*
 * planted_start() - start confine-sweep, which waits until it is to look. What goes wrong is said by the
 * look.
 * @run_id: by which the place is named that things are moved to, and which is kept by the caller
 */
void planted_start(struct planted_look *planted, const struct resolved *resolved, const char *run_id);

/*
 * planted_look() - have confine-sweep look, and take its findings into the report. What goes wrong is said as
 * `incomplete`, and ends nothing.
 */
void planted_look(struct planted_look *planted, struct report *report);

/* planted_end() - end it, and give back what was kept. */
void planted_end(struct planted_look *planted);

/* planted_gone() - wait for what planted_end() has ended: when there is nothing else to do any more, and
 * before this process ends or starts another run. */
void planted_gone(void);

#endif
