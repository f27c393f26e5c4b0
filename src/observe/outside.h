/*
 * outside.h - what a name of the command's view is in the observer's own, which is the machine's.
 */
#ifndef CONFINE_OBSERVE_OUTSIDE_H
#define CONFINE_OBSERVE_OUTSIDE_H

#include <stdbool.h>

/* outside_read_only() - is the mount of what has the canonical name @path read-only there too? Of what is
 * missing, that of its directory. */
bool outside_read_only(const char *path);

/* outside_refuses() - does mode or owner of what has that name refuse there? In a view that of the command's
 * may be a cover's, which nobody may open. @mode: R_OK, W_OK and X_OK */
bool outside_refuses(const char *path, int mode);

#endif
