/*
 * swap.c - swaps names until it is killed: `swap A B [C D]` exchanges A with B, and C with D, again and
 * again, and writes how often into the file COUNT (`swap -n COUNT A B …`) each hundredth time.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    unsigned long count = 0;
    pid_t parent = getppid();
    int file;

    if (argc < 5 || argc % 2 != 1 || strcmp(argv[1], "-n") != 0)
        return 2;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        return 2;
    file = open(argv[2], O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0)
        return 2;
    for (;;) {
        for (int i = 3; i + 1 < argc; i += 2)
            if (syscall(SYS_renameat2, AT_FDCWD, argv[i], AT_FDCWD, argv[i + 1], 2) !=
                0) { /* RENAME_EXCHANGE */
                fprintf(stderr, "swap: %s: %s\n", argv[i], strerror(errno));
                return 1;
            }
        if (++count % 100 == 0)
            dprintf(file, "%lu\n", count);
        if (count % 7 == 0)
            nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL); /* else lookups starve behind the renames */
    }
}
