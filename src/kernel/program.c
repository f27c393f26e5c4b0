/*
 * program.c - the file that this process runs.
 */
#include "kernel/program.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOSTLY 256 /* bytes that are enough for most; a page of its own would cost as much as some calls */

static char *read_self(size_t size)
{
    char *path = malloc(size);
    ssize_t length = path ? readlink("/proc/self/exe", path, size) : -1;

    if (length > 0 && path[0] == '/' && (size_t)length < size) {
        path[length] = '\0';
        return path;
    }
    if (length >= 0)
        errno = length > 0 && path[0] == '/' ? ENAMETOOLONG : ENOENT; /* "(unreachable)..." is no name */
    free(path);
    return NULL;
}

const char *program_path(void)
{
    static char unknown[1],
        *path = unknown; /* not zero: then it stands where something is written in any case */

    if (!path || path == unknown)
        path = read_self(MOSTLY);
    if (!path && errno == ENAMETOOLONG)
        path = read_self(PATH_MAX);
    return path;
}
