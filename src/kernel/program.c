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
    static bool unknown = true; /* not zero: then it stands where something is written in any case */

    if (unknown) {
        ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1); /* behind it are zeros */

        unknown = length <= 0 || path[0] != '/';
        if (unknown && length >= 0)
            errno = ENOENT; /* "(unreachable)..." is no name */
    }
    return unknown ? NULL : path;
}
