/*
 * worlds.h - machines made up: a policy, a resolved tree and a host, all that a planner looks at.
 */
#ifndef CONFINE_TESTS_GOLDEN_WORLDS_H
#define CONFINE_TESTS_GOLDEN_WORLDS_H

#include "backend/backend.h"

#define PATHS 12

struct world {
    struct policy policy;
    struct resolved resolved;
    struct resolved_path paths[PATHS];
    struct hide_level levels[2];
    struct hidden hidden[4], around[1];
    struct edge edges[2];
    struct host host;
    bool supervised;
};

struct world_row {
    const char *name; /* of its file */
    int abi;
    void (*change)(struct world *w); /* of what world_init() made; NULL: nothing */
};

extern const struct world_row world_rows[]; /* the last one has no name */

/* world_init() - an ordinary user's workspace on a kernel with Landlock ABI ABI. To be given to world_free().
 */
void world_init(struct world *w, int abi);
void world_free(struct world *w);

#endif
