/*
 * wall.h - what confine-sweep makes of itself before it reads a byte of a tree.
 */
#ifndef CONFINE_SWEEP_WALL_H
#define CONFINE_SWEEP_WALL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define WALL_KEPT 256 /* descriptors beside 0 to 2 */

/* What is left. Zeros: nothing. */
struct wall {
    int kept[WALL_KEPT]; /* ascending, each once */
    size_t kept_count;
    int trees[WALL_KEPT]; /* of those: what may be read */
    size_t tree_count;
    bool looks;   /* what `look` does may be done */
    bool changes; /* what is read may be changed */
    bool user;    /* becomes this user and group; root alone can */
    uid_t uid;
    gid_t gid;
};

/* wall_keep() - @fd stays open; with @tree it may be read, and what is below it. Return: false: too many. */
bool wall_keep(struct wall *wall, int fd, bool tree);

/*
 * wall_build() - take everything else away: descriptors, files, capabilities, system calls.
 *
 * Each is shown to be away, or the wall is none.
 * Return: NULL, or what could not be done (static).
 */
const char *wall_build(const struct wall *wall);

#endif
