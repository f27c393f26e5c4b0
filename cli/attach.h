/*
 * attach.h - the socket of --control: taken or connected before anything runs.
 */
#ifndef CONFINE_CLI_ATTACH_H
#define CONFINE_CLI_ATTACH_H

#include "policy/resolve.h"

/*
 * attach_control() - take `fd:N`, a connected stream socket, or connect to `unix:PATH`.
 * @report:   the other output, which must be another one; -1: none
 * @resolved: what reaches the command; NULL when that is not known because resolving failed
 *
 * Return: 0 with a descriptor that no child inherits, or a negative errno with @error.
 */
int attach_control(const char *value, int report, const struct resolved *resolved, int *ret_fd,
                   struct error *error);

#endif
