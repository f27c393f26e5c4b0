/*
 * tries.c ROWS - open what ROWS names, one after the other, and say what came of it: the command of agree.py.
 *
 * ROWS is a file of words, each ended by a NUL: the flags of open() as a number, the path. A line for each:
 * the errno (0: opened), device and inode, and whether it was made. What was made is removed again, so that
 * each finds the same.
 *
 * Mustn't: wait for anybody: what could is opened so that it does not.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Removes the file that FD is open on. Return: 0, or the errno. */
static int remove_made(int fd)
{
    char name[64], path[PATH_MAX];
    ssize_t length;

    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    length = readlink(name, path, sizeof(path) - 1);
    if (length < 0)
        return errno;
    path[length] = '\0';
    return unlink(path) == 0 ? 0 : errno;
}

/* Return: 0, or what went wrong with the test itself. */
static int try_row(int flags, const char *path)
{
    struct stat st = {0};
    int fd, errnum, made = 0;

    if (flags & O_CREAT) { /* made by us, or there already? */
        fd = open(path, (flags & ~(O_CREAT | O_EXCL | O_TRUNC)) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        made = fd < 0 && errno == ENOENT;
        if (fd >= 0)
            close(fd);
    }
    fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644);
    errnum = fd < 0 ? errno : 0;
    if (fd >= 0 && fstat(fd, &st) != 0)
        return errno;
    made = made && fd >= 0;
    printf("%d %llu %llu %d\n", errnum, (unsigned long long)st.st_dev, (unsigned long long)st.st_ino, made);
    errnum = made ? remove_made(fd) : 0;
    if (fd >= 0)
        close(fd);
    return errnum;
}

int main(int argc, char **argv)
{
    size_t room = 0;
    char *flags = NULL, *path = NULL;
    FILE *rows = argc == 2 ? fopen(argv[1], "re") : NULL;

    if (!rows) {
        fprintf(stderr, "tries: no rows\n");
        return 2;
    }
    while (getdelim(&flags, &room, '\0', rows) > 0) {
        size_t path_room = 0;
        int errnum;

        if (getdelim(&path, &path_room, '\0', rows) <= 0)
            return 2;
        errnum = try_row(atoi(flags), path);
        if (errnum) {
            fprintf(stderr, "tries: %s: %s\n", path, strerror(errnum));
            return 2;
        }
        free(path);
        path = NULL;
    }
    free(flags);
    fclose(rows);
    return 0;
}
