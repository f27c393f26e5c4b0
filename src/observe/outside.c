/*
 * outside.c - what a name of the command's view is in the observer's own.
 */
#include "observe/outside.h"

#include "kernel/object.h"
#include "observe/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool outside_read_only(const char *path)
{
    static char directory[OBSERVE_PATH];
    char *slash;
    bool answer;
    int fd = open_only(AT_FDCWD, path, 0);

    if (fd == -ENOENT) {
        memcpy(directory, path, strlen(path) + 1);
        slash = strrchr(directory, '/');
        if (slash)
            slash[slash == directory] = '\0';
        fd = open_only(AT_FDCWD, directory, 0);
    }
    if (fd < 0)
        return false;
    answer = object_read_only(fd);
    close(fd);
    return answer;
}

bool outside_refuses(const char *path, int mode)
{
    int fd = open_only(AT_FDCWD, path, 0);
    bool refuses;

    if (fd < 0)
        return fd == -EACCES;
    refuses = !object_permits(fd, mode);
    close(fd);
    return refuses;
}
