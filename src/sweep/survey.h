/*
 * survey.h - the trees, walked ahead while the command still runs, so that the look has less to list.
 */
#ifndef CONFINE_SWEEP_SURVEY_H
#define CONFINE_SWEEP_SURVEY_H

#include "sweep/look.h"

#include <sys/stat.h>

/* One directory, known by the names that lead to it. */
struct survey_place {
    dev_t device;
    ino_t inode;
    struct timespec changed;
    uint32_t first, count; /* directories in it: places that stand one after the other */
    uint32_t name;         /* where it begins among the names */
    bool plain;            /* listed whole, with nothing in it that the look cares for, and long unchanged */
};

/* Zeros: nothing is known. */
struct survey {
    struct survey_place *places; /* the roots, in their order, and what was found below them */
    size_t count;
    struct text names;
};

/* Where a comparison with a listing stands; zeros: at its begin. */
struct survey_cursor {
    uint32_t at;
    uint64_t tried;
};

enum survey_answer {
    SURVEY_NOBODY = 0, /* the other end is closed: nobody wants to know */
    SURVEY_NOT_YET,
    SURVEY_GO
};

/* survey_ask() - has somebody sent a byte into the pipe @go? Waits for @ms, at most; -1: for as long as it
 * takes. */
enum survey_answer survey_ask(int go, int ms);

/*
 * survey_trees() - walk the roots of @look, which is prepared, until all is seen, nothing more can be kept,
 * or there is an answer on @go: it stops where it stands.
 *
 * What fails is not known then: the look finds out by itself.
 */
void survey_trees(struct survey *survey, const struct look *look, int go);
void survey_free(struct survey *survey);

/* survey_holds() - is the directory that @status tells of still what was seen at @place, plain and unchanged?
 */
bool survey_holds(const struct survey_place *place, const struct stat *status);

/* survey_below() - what is known of the directory @name of @place. Names that come in the order of the survey
 * are found at once, and looking for others is bounded. Return: NULL: nothing. */
const struct survey_place *survey_below(const struct survey *survey, const struct survey_place *place,
                                        const char *name, struct survey_cursor *cursor);

/* survey_name() - of a place that is no root. Return: borrowed. */
const char *survey_name(const struct survey *survey, const struct survey_place *place);

#endif
