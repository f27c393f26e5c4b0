/*
 * janitor.c - what is left when the battery is killed.
 *
 * Should:  stand in a session of its own and wait for the end of the battery, however it ends.
 * Mustn't: remove anything that was not noted.
 */
#include "place.h"

#include "links/kernel_abi.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOTES 512

struct note {
    enum leftover kind;
    long id;
    char name[PLACE_SIZE];
};

static struct note *notes; /* shared with the janitor */

static void remove_below(int parent, const char *name, int depth)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct dirent *entry;
    DIR *directory;

    if (fd >= 0 && depth < 40) {
        directory = fdopendir(fd);
        while (directory && (entry = readdir(directory)))
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                unlinkat(fd, entry->d_name, 0) != 0)
                remove_below(fd, entry->d_name, depth + 1);
        if (directory)
            closedir(directory);
    }
    if (unlinkat(parent, name, 0) != 0)
        unlinkat(parent, name, AT_REMOVEDIR);
}

void remove_tree(const char *path)
{
    remove_below(AT_FDCWD, path, 0);
}

static void remove_note(const struct note *note)
{
    switch (note->kind) {
    case LEFT_PROCESS:
        kill((pid_t)note->id, SIGKILL);
        break;
    case LEFT_TREE:
        remove_tree(note->name);
        break;
    case LEFT_FILE:
        unlink(note->name);
        break;
    case LEFT_MEMORY:
        shmctl((int)note->id, IPC_RMID, NULL);
        break;
    case LEFT_SEMAPHORE:
        semctl((int)note->id, 0, IPC_RMID);
        break;
    case LEFT_QUEUE:
        msgctl((int)note->id, IPC_RMID, NULL);
        break;
    case LEFT_MOUNT:
        if (seteuid(0) == 0)
            umount2(note->name, MNT_DETACH);
        break;
    case LEFT_MQUEUE:
        syscall(SYS_mq_unlink, note->name);
        break;
    default:
        break;
    }
}

static void wait_for_end(int end)
{
    char byte;

    while (read(end, &byte, 1) < 0 && errno == EINTR)
        ;
    /* Mounts first: nothing of what is mounted is removed. Then processes: what they hold and write is
     * removed after them. */
    for (int pass = 0; pass < 3; pass++)
        for (size_t i = 0; i < NOTES; i++)
            if ((notes[i].kind == LEFT_MOUNT ? 0 : notes[i].kind == LEFT_PROCESS ? 1 : 2) == pass)
                remove_note(&notes[i]);
    _exit(0);
}

int janitor_start(void)
{
    int ends[2];
    pid_t child;

    notes = mmap(NULL, NOTES * sizeof(*notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (notes == MAP_FAILED || pipe2(ends, O_CLOEXEC) != 0)
        return -errno;
    child = fork();
    if (child < 0)
        return -errno;
    if (child == 0) {
        sigset_t all;

        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, NULL);
        setsid();
        close(ends[1]);
        for (int fd = 0; fd < 1024; fd++) /* somebody may wait for the end of our stdout */
            if (fd != ends[0])
                close(fd);
        wait_for_end(ends[0]);
    }
    close(ends[0]);
    return 0; /* the other end stays open as long as we live */
}

void janitor_note(enum leftover kind, long id, const char *name)
{
    for (size_t i = 0; i < NOTES; i++)
        if (notes[i].kind == LEFT_NONE) {
            notes[i].id = id;
            strncpy(notes[i].name, name ? name : "", PLACE_SIZE - 1);
            notes[i].kind = kind;
            return;
        }
}

void janitor_forget(enum leftover kind, long id, const char *name)
{
    for (size_t i = 0; i < NOTES; i++)
        if (notes[i].kind == kind && notes[i].id == id && strcmp(notes[i].name, name ? name : "") == 0)
            notes[i].kind = LEFT_NONE;
}
