/*
 * change.h - a plan, changed as data.
 *
 * Should:  take out exactly what is named, and end the test where it is not there.
 * Mustn't: touch a claim or a check: these stay and are found out.
 */
#ifndef CONFINE_TESTS_ATTEST_CHANGE_H
#define CONFINE_TESTS_ATTEST_CHANGE_H

#include "world.h"

bool word_is(const struct word *word, const char *text);

/* world_link() - index of a link's first word. The test cannot go on without it. */
size_t world_link(const struct world *world, const char *link);

/* world_option() - index of OPTION among the words of the link that begins at AT; 0: it has none. */
size_t world_option(const struct world *world, size_t at, const char *option);

/* world_remove(), world_insert() - COUNT words from AT on; one in front of the one at AT. */
void world_remove(struct world *world, size_t at, size_t count);
void world_insert(struct world *world, size_t at, const char *text);
void world_insert_special(struct world *world, size_t at, enum word_kind kind);

/* world_without_option() - take an option and VALUES words behind it out of a link. */
void world_without_option(struct world *world, const char *link, const char *option, size_t values);

/* world_without_link() - take a whole link out of the chain, if it is there. */
void world_without_link(struct world *world, const char *link);
void world_without_guard(struct world *world);

#endif
