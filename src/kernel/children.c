/*
 * children.c - the children of this process.
 *
 * The kernel lists them in /proc/self/task/TID/children where it is built so; elsewhere every /proc/PID/stat
 * is asked for its parent.
 */
#include "kernel/children.h"

#include "util/util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHILDREN_MOST 4096

static int list = -1;     /* the kernel's list, opened by */
static pid_t list_opener; /* this process: it has only its own children */

/* To open it makes five objects in /proc; to read it once more is a call. Return: as open(). */
static int open_list(void)
{
    pid_t self = getpid();

    if (list < 0 || list_opener != self) {
        list = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
        list_opener = self;
    }
    return list;
}

void children_prepare(void)
{
    (void)open_list();
}

/* Numbers with a space behind each. */
static int read_list(pid_t *pids, size_t most)
{
    int fd = open_list(), count = 0;
    char piece[512];
    off_t at = 0;
    pid_t pid = 0;
    ssize_t size;

    if (fd < 0)
        return -errno;
    while ((size = pread(fd, piece, sizeof(piece), at)) > 0) {
        at += size;
        for (ssize_t i = 0; i < size; i++)
            if (piece[i] >= '0' && piece[i] <= '9') {
                pid = pid * 10 + (piece[i] - '0');
            } else {
                if (pid > 0 && (size_t)count < most)
                    pids[count++] = pid;
                pid = 0;
            }
    }
    return size < 0 ? -errno : count;
}

/* The words behind the last parenthesis of /proc/PID/stat, since a name may hold anything. */
bool children_look(pid_t pid, char *ret_state, pid_t *ret_parent)
{
    char path[64], text[512];
    const char *end;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (file_read(AT_FDCWD, path, text, sizeof(text)) <= 0)
        return false;
    end = strrchr(text, ')');
    return end && sscanf(end + 1, " %c %d", ret_state, ret_parent) == 2;
}

static int scan_all(pid_t *pids, size_t most)
{
    DIR *proc = opendir("/proc");
    pid_t self = getpid();
    int count = 0;

    if (!proc)
        return -ENOSYS;
    for (struct dirent *entry; (size_t)count < most && (entry = readdir(proc));) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10), parent;
        char state;

        if (pid > 0 && children_look(pid, &state, &parent) && parent == self)
            pids[count++] = pid;
    }
    closedir(proc);
    return count;
}

#define EXCEPTED 7

static pid_t excepted[EXCEPTED]; /* 0: none */

bool children_leaves_out(pid_t pid)
{
    for (size_t i = 0; i < EXCEPTED; i++)
        if (excepted[i] == pid)
            return true;
    return false;
}

int children_list(pid_t *pids, size_t most)
{
    int count = read_list(pids, most), kept = 0;

    if (count < 0)
        count = scan_all(pids, most);
    for (int i = 0; i < count; i++)
        if (!children_leaves_out(pids[i]))
            pids[kept++] = pids[i];
    return count < 0 ? count : kept;
}

void children_except(pid_t pid)
{
    for (size_t i = 0; i < EXCEPTED; i++)
        if (excepted[i] == 0) {
            excepted[i] = pid;
            return;
        }
}

bool children_include(pid_t pid)
{
    for (size_t i = 0; i < EXCEPTED && pid != 0; i++)
        if (excepted[i] == pid) {
            excepted[i] = 0;
            return true;
        }
    return false;
}

bool children_excepted(void)
{
    bool any = false;

    for (size_t i = 0; i < EXCEPTED; i++)
        any |= excepted[i] != 0;
    return any;
}

bool children_gone(void)
{
    pid_t pids[1 + EXCEPTED];

    return children_excepted() && children_list(pids, ARRAY_SIZE(pids)) == 0;
}

bool children_only(pid_t pid)
{
    pid_t pids[EXCEPTED + 2];
    int count = read_list(pids, ARRAY_SIZE(pids)), others = 0;
    bool found = false;

    for (int i = 0; i < count; i++) {
        found = found || pids[i] == pid;
        others += pids[i] != pid && !children_leaves_out(pids[i]);
    }
    return found && others == 0;
}

int children_kill(pid_t spare)
{
    static pid_t pids[CHILDREN_MOST];
    int count = children_list(pids, CHILDREN_MOST), killed = 0;

    for (int i = 0; i < count; i++)
        if (pids[i] != spare && kill(pids[i], SIGKILL) == 0)
            killed++;
    return count < 0 ? count : killed;
}
