/*
 * sweep.h - work on a tree that somebody hostile may still be writing to.
 */
#ifndef CONFINE_SWEEP_SWEEP_H
#define CONFINE_SWEEP_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

enum sweep_end {
    SWEEP_FAILED = 0, /* something stands in the way */
    SWEEP_EMPTY,      /* seen empty at the end */
    SWEEP_BOUND       /* stopped by a bound */
};

struct sweep {
    uint64_t most_entries; /* 0: no bound */
    uint64_t most_ms;      /* 0: no bound; looked at about every thousand names */

    uint64_t removed;     /* entries taken away */
    char left[256];       /* the first name that could not be removed; not quoted */
    const char *left_why; /* static; NULL: see left_errno */
    int left_errno;
    const char *bound; /* which bound ended it: `entries`, `seconds` */
};

/*
 * sweep_remove() - take away everything below a directory, never the directory itself.
 * @directory: descriptor of it, O_PATH or readable; stays open
 * @sweep:     bounds in, account out
 *
 * Follows no link, stays on the device of @directory, needs at most four descriptors however deep the tree
 * is.
 *
 * Return: how it ended. SWEEP_EMPTY only after the directory was seen empty.
 */
enum sweep_end sweep_remove(int directory, struct sweep *sweep);

/* sweep_number() - @text as a number: digits and nothing else, @most at the most. NULL is none. Return:
 * whether it is one. */
bool sweep_number(const char *text, uint64_t most, uint64_t *ret);

#define SWEEP_DIRECTORY   3 /* the descriptor of it, where none is named */
#define SWEEP_EXIT_BOUND  2
#define SWEEP_EXIT_FAILED 125

/* sweep_main() - the program: arguments to exit status (0 empty, 2 bound, 125 failed). */
int sweep_main(char **argv);
/* look_main() - the same for `look`; 0: it was done, as far as its last text says. */
int look_main(char **argv);

#endif
