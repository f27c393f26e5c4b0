/*
 * populate.c - make COUNT small files, a hundred in a directory, below the working directory.
 *
 *     populate COUNT
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    long count = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
    char name[64];

    for (long i = 0; i < count; i++) {
        int fd;

        snprintf(name, sizeof(name), "d%ld", i / 100);
        if (i % 100 == 0 && mkdir(name, 0755) != 0)
            return 1;
        snprintf(name, sizeof(name), "d%ld/f%ld", i / 100, i);
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (fd < 0 || dprintf(fd, "%ld\n", i) < 0 || close(fd) != 0)
            return 1;
    }
    return 0;
}
