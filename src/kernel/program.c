/*
 * program.c - the file that this process runs.
 */
#include "kernel/program.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <unistd.h>

const char *program_path(void)
{
    static char path[PATH_MAX];
    static bool known;

    if (!known) {
        ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1); /* behind it are zeros */

        known = length > 0 && path[0] == '/';
        if (!known && length >= 0)
            errno = ENOENT; /* "(unreachable)..." is no name */
    }
    return known ? path : NULL;
}
