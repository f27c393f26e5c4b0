/*
 * launcher.h - where the links come from.
 */
#ifndef CONFINE_RUN_LAUNCHER_H
#define CONFINE_RUN_LAUNCHER_H

#include "policy/resolve.h"

/*
 * launcher_open() - open a program of ours, to be executed by descriptor.
 * @resolved: its writable grants must not reach the program; NULL: not looked at
 * @program:  `confine-launch`, `confine-sweep`
 *
 * Found relative to the real path of the running confine, never by PATH, environment or option.
 * Return: a descriptor (O_PATH|O_CLOEXEC, the caller's), or -errno with @error: `missing-launcher`,
 * `launcher-writable`.
 */
int launcher_open(const struct resolved *resolved, const char *program, struct error *error);

#endif
