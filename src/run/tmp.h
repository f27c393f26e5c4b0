/*
 * tmp.h - the private temp directory of one run.
 */
#ifndef CONFINE_RUN_TMP_H
#define CONFINE_RUN_TMP_H

#include "policy/resolve.h"
#include "run/part.h"

struct tmp_directory {
    int fd;       /* O_PATH, -1: none */
    int place_fd; /* what it lies in: `confine-UID`, or the base where that cannot be had */
    int base_fd;  /* O_PATH: $TMPDIR or /tmp */
    int lock_fd;  /* holds the lock that says: somebody is using it */
    char place[32];
    char name[64];
    char path[4096];
};
#define TMP_DIRECTORY_NONE                                                                                   \
    {                                                                                                        \
        .fd = -1, .place_fd = -1, .base_fd = -1, .lock_fd = -1                                               \
    }

/*
 * tmp_make() - make a directory of a random name, 0700, owned by the command's user.
 *
 * Below `confine-UID` (the caller's) in $TMPDIR, if that is an absolute name, else in /tmp.
 * Return: 0, or -errno with @error.
 */
int tmp_make(struct tmp_directory *tmp, const struct resolved *resolved, struct error *error);

/*
 * tmp_sweep() - remove the directories of runs whose supervisor was killed: those beside @tmp that nobody
 * locks.
 *
 * Return: 0, or -errno: something is left, and @error says what.
 */
int tmp_sweep(const struct tmp_directory *tmp, struct error *error);

/*
 * tmp_remove() - remove it with all that the command left there.
 *
 * Called when the run is seen empty. An empty directory is simply removed; anything else is the work of
 * confine-sweep behind its wall, because the tree is hostile.
 * Return: 0, or -errno: something is left, and @error says what.
 */
int tmp_remove(struct tmp_directory *tmp, struct error *error);

/* Removes an empty one as soon as nobody is left, while somebody's end is still waited for. */
extern const struct part_calls tmp_part;

#endif
