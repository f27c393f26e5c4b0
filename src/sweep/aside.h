/*
 * aside.h - move what was planted out of the way.
 */
#ifndef CONFINE_SWEEP_ASIDE_H
#define CONFINE_SWEEP_ASIDE_H

#include "sweep/look.h"

/* One thing that was found. Texts are owned. */
struct found {
    char *kind, *path, *runs, *detail;
};

/*
 * aside_move() - out of its place, into PLANTED_ASIDE/@run at the top of its tree, under the same name.
 * @look:      whose roots it is in
 * @found:     all that was found; of one file of settings there may be several
 * @index:     which one
 * @run:       one name; made where it is not there
 *
 * A file of settings goes there as a copy, and what was found is cut out of it: the rest is honest work's.
 * Nothing is overwritten and nothing is deleted. Return: 1 with @ret_to (where it is now, owned by the
 * caller), 0 where it is not there any more or went with an earlier one, or -errno.
 */
int aside_move(const struct look *look, const struct found *found, size_t count, size_t index,
               const char *run, char **ret_to);

#endif
