/*
 * host_calls.h - a run as a test of the library needs it: what must hold ends the test.
 *
 * CONFINE_STAGE/bin/confine is what runs. All of a run's processes hold the end of a pipe that was passed to
 * the command, so its end says that nothing is left, whatever numbers the processes had.
 */
#ifndef CONFINE_TESTS_LIBRARY_HOST_CALLS_H
#define CONFINE_TESTS_LIBRARY_HOST_CALLS_H

#include "harness.h"

#include "confine.h"

#define LONG_MS    100000 /* for what must come; nothing is measured by it */
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

extern struct confine_options options; /* the program, and no more */

/* on_child() - a handler of SIGCHLD that counts. */
extern volatile sig_atomic_t children_told;
void on_child(int signum);

struct confine_run *spawn(const struct confine_options *with, const char *const *command);

/* end_of() - wait for the end, and give the handle back. */
struct confine_end end_of(struct confine_run *run);

void say(const struct confine_run *run, const char *line);

/* hear_line() - the next line of the channel, without the newline. hear() - read until a line of TYPE. */
bool hear_line(const struct confine_run *run, char *line, size_t size);
bool hear(const struct confine_run *run, const char *type);

/* all_gone() - wait for the end of what the command and all that it started hold. */
bool all_gone(int fd);

size_t count_open(void);

#endif
