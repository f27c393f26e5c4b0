/*
 * bubblewrap.h - the plan of a program that takes bubblewrap's words: bubblewrap itself, or another one in
 * its place.
 */
#ifndef CONFINE_BACKEND_BUBBLEWRAP_H
#define CONFINE_BACKEND_BUBBLEWRAP_H

#include "backend/build.h"

/*
 * bubblewrap_plan() - the chain through @program, and what it is to hold.
 * @b:       zero but for what it builds from and the plan
 * @backend: its name, static
 * @program: the words in front of bubblewrap's own, NULL-terminated; the first one is absolute
 *
 * Return: 0, or a negative errno with @error.
 */
int bubblewrap_plan(struct builder *b, const char *backend, const char *const *program, struct error *error);

#endif
