/*
 * survivor.c - a process that wants to stay when its run has ended.
 *
 * Should:  end by itself when nobody ends it.
 * Mustn't: hold anything open that somebody waits for.
 */
#include "survivor.h"

#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* A process that left its family behind, and holds a lock as long as it lives. */
int survivor_act(const struct order *order, struct answer *answer)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char path[PLACE_SIZE], byte;
    int ready[2], fd;
    sigset_t none;
    pid_t child;

    (void)answer;
    sigemptyset(&none);
    if (place_file(path, order->inner, "lock", "", 0600) < 0 || pipe(ready) != 0)
        return errno;
    child = fork();
    if (child == 0) {
        setsid();
        if (fork() != 0)
            _exit(0);
        close(ready[0]);
        for (int i = 0; i < 64; i++)
            if (i != ready[1])
                close(i);
        fd = open(path, O_RDWR);
        if (fcntl(fd, F_SETLK, &lock) == 0 && write(ready[1], "r", 1) != 1)
            _exit(1);
        close(ready[1]);
        signal(SIGALRM, SIG_DFL); /* nobody may be left to end it */
        sigprocmask(SIG_SETMASK, &none, NULL);
        alarm(120);
        for (;;)
            pause();
    }
    close(ready[1]);
    return child > 0 && read(ready[0], &byte, 1) == 1 ? 0 : ECHILD;
}

/* Who holds the lock. Return: 1, with @ret_pid 0 where that has no number here; 0: nobody; or -errno. */
static int find_holder(const struct trial *trial, pid_t *ret_pid)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char path[PLACE_SIZE];
    int fd, result;

    if (place_join(path, trial->order.inner, "lock") < 0)
        return -ENAMETOOLONG;
    fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -errno;
    result = fcntl(fd, F_GETLK, &lock) != 0 ? -errno : lock.l_type != F_UNLCK;
    *ret_pid = result == 1 && lock.l_pid > 0 ? lock.l_pid : 0;
    close(fd);
    return result;
}

int survivor_look(struct trial *trial)
{
    pid_t holder = 0;

    return trial->answer.errnum != 0 ? 0 : find_holder(trial, &holder);
}

void survivor_finish(struct trial *trial)
{
    pid_t holder = 0;

    if (find_holder(trial, &holder) == 1 && holder > 0)
        kill(holder, SIGKILL);
}
