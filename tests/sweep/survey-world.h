/*
 * survey-world.h - trees, surveys and looks for the tests of the survey.
 */
#ifndef CONFINE_TESTS_SURVEY_WORLD_H
#define CONFINE_TESTS_SURVEY_WORLD_H

#include "harness.h"

#include "sweep/look.h"
#include "sweep/survey.h"

extern int tree;  /* where make_directory() and put() do it */
extern int go[2]; /* the pipe that a survey asks */

struct answer {
    struct text text; /* a line for each finding */
    struct look look;
};

/* make_directory() - in `tree`. put() - add @text to a file there, which anybody may execute. */
void make_directory(const char *name);
void put(const char *name, const char *text);

/* open_top() - the test's own directory; makes the pipe. */
int open_top(void);

/* clock_of_files() - the one that stamps them. passed_ms() - since then. */
struct timespec clock_of_files(void);
int64_t passed_ms(const struct timespec *from);
/* let_settle() - wait until what has been made counts as left alone. */
void let_settle(void);

/* prepare() - a look at @fd, in which all that has changed at or after @since is new. */
void prepare(struct answer *answer, int fd, const struct timespec *since);
/* look_at() - makes it. @survey: of @fd; NULL: without one. */
void look_at(struct answer *answer, int fd, const struct timespec *since, const struct survey *survey);
/* check_same() - do both looks, at the same tree, say the same? */
bool check_same(const struct answer *with, const struct answer *without);
/* lines() - how many findings. forget() - frees them. */
int lines(const struct answer *answer);
void forget(struct answer *answer);

#endif
