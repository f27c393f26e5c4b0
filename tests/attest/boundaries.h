/*
 * boundaries.h - what each check of a plan is to miss.
 */
#ifndef CONFINE_TESTS_ATTEST_BOUNDARIES_H
#define CONFINE_TESTS_ATTEST_BOUNDARIES_H

#include "change.h"

#include <sys/resource.h>

#define ANY_ACT ACT_COUNT

struct boundary {
    enum surface surface;
    enum mechanism mechanism;
    enum act act; /* ANY_ACT: whichever */
    void (*take_away)(struct world *world, const char *argument);
    const char *argument;
    const char *how;
    bool own; /* of a plan with a terminal of its own */
};

/* boundary_of() - what this check shows. Return: NULL: nobody has said how it is taken away. */
const struct boundary *boundary_of(const struct check *check);

/* raise_core_limit() - who starts the run may write any core, as far as its own caller lets it. Return: the
 * limit. */
rlim_t raise_core_limit(void);

#endif
