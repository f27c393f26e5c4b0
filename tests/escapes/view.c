/*
 * view.c - the ways out of a view of its own, one after another.
 *
 *     view all MASKED            tries each; MASKED is a name that is covered by a mount
 *     view connect NAME          connects to a socket; @NAME is an abstract one
 *     view exchange ONE OTHER    exchanges two names
 *
 * Says `WAY open` or `WAY ERRNO` for each. What succeeds has changed at most the namespaces of this process.
 *
 * Should:  do exactly the same outside, where a way has to be open to count.
 * Mustn't: write: that a file could be opened for writing is enough.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLONE_TREE  1
#define RECURSIVELY 0x8000

struct attributes {
    uint64_t set, clear, propagation, userns;
};

static const char *masked;

static void say(const char *group, const char *what, long result)
{
    printf("%s%s%s %s\n", group, *what ? ":" : "", what, result < 0 ? strerrorname_np(errno) : "open");
    fflush(stdout);
}

/* --- mounts: these change the mount namespace of this process ------------------------------------------- */

static long take_mask(void)
{
    return umount2(masked, MNT_DETACH);
}

static long take_proc(void)
{
    return umount2("/proc", MNT_DETACH);
}

static long remount_root(void)
{
    return mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL);
}

static long change_root_mount(void)
{
    struct attributes attributes = {.set = 8}; /* no exec: in the control nothing becomes writable */

    return syscall(SYS_mount_setattr, AT_FDCWD, "/proc", RECURSIVELY, &attributes, sizeof(attributes));
}

static long bind_root(void)
{
    return mount("/", "/proc", NULL, MS_BIND | MS_REC, NULL);
}

static long mount_tmpfs(void)
{
    return mount("none", "/proc", "tmpfs", 0, NULL);
}

static long clone_tree(void)
{
    return syscall(SYS_open_tree, AT_FDCWD, "/", CLONE_TREE | RECURSIVELY);
}

static long open_filesystem(void)
{
    return syscall(SYS_fsopen, "tmpfs", 0);
}

static long change_root(void)
{
    return chroot("/proc");
}

/* --- namespaces, and pid 1: in a child, so that what it gets is gone with it --------------------------- */

static long in_child(long (*act)(long), long argument)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        long result = act(argument);

        _exit(result < 0 ? errno : 0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) {
        errno = ECHILD;
        return -1;
    }
    errno = WEXITSTATUS(status);
    return errno ? -1 : 0;
}

static long call_unshare(long flags)
{
    return unshare((int)flags);
}

static long call_clone(long flags)
{
    long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);

    if (pid == 0)
        _exit(0);
    return pid;
}

static long call_clone3(long flags)
{
    struct {
        uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
    } arguments = {.flags = (uint64_t)flags, .exit_signal = SIGCHLD};
    long pid = syscall(SYS_clone3, &arguments, sizeof(arguments));

    if (pid == 0)
        _exit(0);
    return pid;
}

static long enter(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    return fd < 0 ? -1 : setns(fd, 0);
}

static long enter_own(long unused)
{
    (void)unused;
    return enter("/proc/self/ns/net");
}

static long enter_first(long unused)
{
    (void)unused;
    return enter("/proc/1/ns/net");
}

static long trace_first(long unused)
{
    (void)unused;
    return ptrace(PTRACE_SEIZE, 1, 0, 0);
}

/* The address is nobody's: whoever may not look at all is told so first. */
static long read_first(long unused)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)(uintptr_t)0x10, 1};

    (void)unused;
    return process_vm_readv(1, &here, 1, &there, 1, 0) < 0 && errno != EFAULT ? -1 : 0;
}

static long steal_from_first(long unused)
{
    int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);

    (void)unused;
    if (pidfd < 0)
        return -1;
    return syscall(SYS_pidfd_getfd, pidfd, 0, 0) < 0 && errno != EBADF ? -1 : 0;
}

static long make_device(long unused)
{
    static const char name[] = "view-device";

    (void)unused;
    if (mknod(name, S_IFCHR | 0600, makedev(1, 1)) != 0)
        return -1;
    return unlink(name);
}

static const struct {
    const char *name;
    long (*act)(void);
} mounts[] = {
    {"remount", remount_root}, {"setattr", change_root_mount},
    {"open-tree", clone_tree}, {"fsopen", open_filesystem},
    {"bind", bind_root},       {"tmpfs", mount_tmpfs},
    {"umount", take_proc},     {"umount-mask", take_mask},
    {"chroot", change_root},
};

static const struct {
    const char *name;
    long (*act)(long);
    long argument;
} others[] = {
    {"unshare-user", call_unshare, CLONE_NEWUSER},
    {"unshare-mount", call_unshare, CLONE_NEWNS},
    {"unshare-pid", call_unshare, CLONE_NEWPID},
    {"unshare-net", call_unshare, CLONE_NEWNET},
    {"unshare-ipc", call_unshare, CLONE_NEWIPC},
    {"unshare-uts", call_unshare, CLONE_NEWUTS},
    {"unshare-cgroup", call_unshare, CLONE_NEWCGROUP},
    {"clone-user", call_clone, CLONE_NEWUSER},
    {"clone3-user", call_clone3, CLONE_NEWUSER},
    {"setns-own", enter_own, 0},
    {"setns-first", enter_first, 0},
    {"trace-first", trace_first, 0},
    {"read-first", read_first, 0},
    {"steal-from-first", steal_from_first, 0},
    {"mknod", make_device, 0},
};

static const struct {
    const char *name;
    bool write;
} files[] = {
    {"/proc/1/mem", false},
    {"/proc/1/mem", true},
    {"/proc/1/exe", false},
    {"/proc/1/root/etc", false},
    {"/proc/1/cwd/.", false},
    {"/proc/1/fd/0", false},
    {"/proc/1/environ", false},
    {"/proc/1/maps", false},
    {"/proc/1/ns/mnt", false},
    {"/proc/1/task/1/mem", false},
    {"/proc/sys/kernel/core_pattern", true},
    {"/proc/sys/kernel/hostname", true},
    {"/proc/sys/kernel/modprobe", true},
    {"/proc/sys/kernel/ns_last_pid", true},
    {"/proc/sys/net/ipv4/ip_forward", true},
    {"/proc/sys/vm/drop_caches", true},
    {"/proc/sys/fs/protected_symlinks", true},
    {"/proc/sysrq-trigger", true},
    {"/proc/self/uid_map", true},
    {"/sys/kernel/mm/transparent_hugepage/enabled", true},
};

static void try_all(void)
{
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        int fd = open(files[i].name, (files[i].write ? O_WRONLY : O_RDONLY) | O_CLOEXEC);

        say(files[i].write ? "write" : "read", files[i].name, fd);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        say("call", others[i].name, in_child(others[i].act, others[i].argument));
    for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++)
        say("mount", mounts[i].name, mounts[i].act());
}

static void try_connect(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", name);
    if (*name == '@')
        address.sun_path[0] = '\0';
    say("connect", "", fd < 0 ? -1 : connect(fd, (struct sockaddr *)&address, size));
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "connect") == 0) {
        try_connect(argv[2]);
    } else if (argc == 4 && strcmp(argv[1], "exchange") == 0) {
        say("exchange", "", renameat2(AT_FDCWD, argv[2], AT_FDCWD, argv[3], RENAME_EXCHANGE));
    } else if (argc == 3 && strcmp(argv[1], "all") == 0) {
        masked = argv[2];
        try_all();
    } else {
        fprintf(stderr, "view: usage\n");
        return 2;
    }
    return 0;
}
