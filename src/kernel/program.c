/*
 * program.c - the file that this process runs.
 */
#include "kernel/program.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

const char *program_path(void)
{
    static char path[PATH_MAX];
    ssize_t length;

    if (path[0])
        return path;
    length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (length >= 0 && path[0] == '/')
        return path;
    if (length >= 0)
        errno = ENOENT; /* "(unreachable)..." is no name */
    path[0] = '\0';
    return NULL;
}
