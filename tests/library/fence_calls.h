/*
 * fence_calls.h - a fence as a test of it needs it: what must hold ends the test.
 *
 * CONFINE_STAGE/bin/confine is what opens. Below test_dir are `work`, the workspace, and `out`, which is
 * hidden. The backend that is named has no /tmp of its own, so that the place of the test does not matter.
 */
#ifndef CONFINE_TESTS_LIBRARY_FENCE_CALLS_H
#define CONFINE_TESTS_LIBRARY_FENCE_CALLS_H

#include "harness.h"

#include "confine.h"

extern int program, work, out; /* descriptors */

/* put() - a file with this text and no other. */
void put(int directory, const char *name, const char *text);

/* text_of() - what FD's file begins with. Return: ROOM */
const char *text_of(int fd, char *room, size_t size);
#define TEXT_OF(FD) text_of((FD), (char[256]){0}, 256)

/* fill() - something of each kind, in `work` and `out`. */
void fill(void);

/* fence_of() - of these words. FENCE() - of the workspace, without `out`, and of others; NULL: none. */
struct confine_fence *fence_of(const char *const *words);

#define FENCE(...)                                                                                           \
    fence_of((const char *const[]){"--backend=landlock", "-w", "ws", "--hide=out", "-C", "ws", __VA_ARGS__,  \
                                   NULL})

#endif
