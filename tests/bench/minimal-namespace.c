/*
 * minimal-namespace.c - the least that a program with namespaces of its own must do; namespace-run is held
 * against it.
 *
 *     minimal-namespace DIRECTORY COMMAND [ARG]...
 *
 * The same namespaces, one's own id, / read-only, one directory bound back, a fork, an exec. No private /tmp,
 * /dev or /proc, no pid 1 that stays, and nothing is checked.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../links/kernel_abi.h"

static int put(const char *file, const char *text)
{
    int fd = open(file, O_WRONLY), wrote = (int)write(fd, text, strlen(text));

    close(fd);
    return wrote < 0;
}

int main(int argc, char **argv)
{
    const struct mount_attributes read_only = {.set = MOUNT_READ_ONLY};
    unsigned uid = geteuid(), gid = getegid();
    char map[2][64];
    int clone, at, status = 0;
    pid_t child;

    if (argc < 3)
        return 99;
    snprintf(map[0], sizeof(map[0]), "%u %u 1", uid, uid);
    snprintf(map[1], sizeof(map[1]), "%u %u 1", gid, gid);
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
                CLONE_NEWNET) != 0 ||
        put("/proc/self/setgroups", "deny") || put("/proc/self/uid_map", map[0]) ||
        put("/proc/self/gid_map", map[1]))
        return 98;
    at = open(argv[1], O_PATH);
    clone = mount_clone(at, "", 0);
    if (clone < 0 || mount_change(AT_FDCWD, "/", MOUNT_TREE_RECURSIVE, &read_only) != 0 ||
        mount_attach(clone, at) != 0)
        return 97;
    child = fork();
    if (child == 0) {
        execv(argv[2], argv + 2);
        _exit(96);
    }
    while (waitpid(child, &status, 0) < 0)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 95;
}
