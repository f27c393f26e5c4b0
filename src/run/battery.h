/*
 * battery.h - start confine-check, the program that tries to get out.
 */
#ifndef CONFINE_RUN_BATTERY_H
#define CONFINE_RUN_BATTERY_H

#include "policy/resolve.h"

#include <sys/types.h>

/*
 * battery_start() - start confine-check beside the running confine, its stdout readable by us.
 * @resolved: its writable grants must not reach the program; NULL: not looked at
 * @words:    what it is told, NULL-terminated
 * @ret_pid:  to be waited for
 * @ret_fd:   its lines; the caller's
 *
 * Return: 0, or a negative errno with @error.
 */
int battery_start(const struct resolved *resolved, char *const *words, pid_t *ret_pid, int *ret_fd,
                  struct error *error);

#endif
