/*
 * alone.c - for tests of packages: a root of its own with nothing in it, and the one program that is there.
 *
 *   alone in ROOT PROGRAM [ARG...]   PROGRAM in ROOT: nothing else of this machine but /proc and /dev, no
 * network set up alone act INSIDE OUTSIDE         writes both files; 0: both, 3: only the first, 4: only the
 * second, 5: neither
 *
 * Should:  be entered by pivot_root. In a chroot the kernel makes no user namespace, and a machine has none
 * around it. Mustn't: change a mount of this machine: the namespace is private before anything is mounted.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void must(int result, const char *what)
{
    if (result >= 0)
        return;
    fprintf(stderr, "alone: %s: %s\n", what, strerror(errno));
    exit(99);
}

static void put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    must(fd, path);
    must(write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1, path);
    close(fd);
}

static void become_mapped(void)
{
    char map[64];
    unsigned uid = getuid(), gid = getgid();

    must(unshare(CLONE_NEWUSER), "unshare(CLONE_NEWUSER)");
    put("/proc/self/setgroups", "deny");
    snprintf(map, sizeof(map), "%u %u 1\n", uid, uid);
    put("/proc/self/uid_map", map);
    snprintf(map, sizeof(map), "%u %u 1\n", gid, gid);
    put("/proc/self/gid_map", map);
}

/* @name of this machine in the root that is the working directory. */
static void keep(const char *name)
{
    if (mkdir(name + 1, 0755) != 0 && errno != EEXIST)
        must(-1, name);
    must(mount(name, name + 1, NULL, MS_BIND | MS_REC, NULL), name);
}

static int enter(char **argv)
{
    static char *const environment[] = {"HOME=/", "LC_ALL=C", NULL};

    if (geteuid() != 0)
        become_mapped();
    must(unshare(CLONE_NEWNS), "unshare(CLONE_NEWNS)");
    must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "make mounts private");
    must(mount(argv[0], argv[0], NULL, MS_BIND | MS_REC, NULL), argv[0]);
    must(chdir(argv[0]), argv[0]);
    keep("/proc");
    keep("/dev");
    must((int)syscall(SYS_pivot_root, ".", "."), "pivot_root");
    must(umount2(".", MNT_DETACH), "the old root");
    must(chdir("/"), "/");
    execve(argv[1], argv + 1, environment);
    must(-1, argv[1]);
    return 99;
}

static int make_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    if (fd < 0)
        return printf("%s: %s\n", path, strerror(errno)), 0;
    close(fd);
    return printf("%s: made\n", path), 1;
}

int main(int argc, char **argv)
{
    if (argc >= 4 && strcmp(argv[1], "in") == 0)
        return enter(argv + 2);
    if (argc == 4 && strcmp(argv[1], "act") == 0) {
        int inside = make_file(argv[2]), outside = make_file(argv[3]);

        return inside && outside ? 0 : inside ? 3 : outside ? 4 : 5;
    }
    fprintf(stderr, "usage: alone in ROOT PROGRAM [ARG...] | alone act INSIDE OUTSIDE\n");
    return 99;
}
