/*
 * privilege.c - becoming more than the caller: set-id programs, capabilities, namespaces of its own.
 */
#include "battery.h"
#include "place.h"

#include "links/kernel_abi.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static int answer_of(long result)
{
    return result < 0 ? errno : 0;
}

/* A user namespace in which we are root. Return: 0 or an errno. */
static int enter_namespace(int flags)
{
    char map[64];
    uid_t uid = geteuid();
    gid_t gid = getegid();

    if (unshare(CLONE_NEWUSER | flags) != 0)
        return errno;
    place_write("/proc/self/setgroups", "deny");
    snprintf(map, sizeof(map), "0 %u 1", gid);
    place_write("/proc/self/gid_map", map);
    snprintf(map, sizeof(map), "0 %u 1", uid);
    return place_write("/proc/self/uid_map", map);
}

/* What this process may do; 0: nothing. */
static uint32_t own_capabilities(void)
{
    struct {
        uint32_t version;
        int pid;
    } header = {CAPABILITY_VERSION_3, 0};
    uint32_t data[6] = {0};

    syscall(SYS_capget, &header, data);
    return data[0];
}

static int act_unshare(const struct order *order, struct answer *answer)
{
    (void)order;
    (void)answer;
    if (unshare(CLONE_NEWUSER) != 0)
        return errno;
    return own_capabilities() ? 0 : EPERM;
}

static int act_clone(const struct order *order, struct answer *answer)
{
    long child = kernel_call(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0, 0);

    (void)order;
    (void)answer;
    if (child == 0)
        _exit(0);
    return child < 0 ? (int)-child : 0;
}

static int act_clone3(const struct order *order, struct answer *answer)
{
    uint64_t arguments[8] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD};
    long child = kernel_call(SYS_clone3, KERNEL_PTR(arguments), sizeof(arguments), 0, 0, 0, 0);

    (void)order;
    (void)answer;
    if (child == 0)
        _exit(0);
    return child < 0 ? (int)-child : 0;
}

static int write_victim(const char *path, const struct order *order)
{
    return place_mark(open(path, O_WRONLY | O_TRUNC), order);
}

/* The file system of the victim, whatever was mounted read-only, becomes writable again. */
static int act_remount(const struct order *order, struct answer *answer)
{
    static const struct {
        unsigned long seen, wanted;
    } kept[] = {{ST_NOSUID, MS_NOSUID},
                {4 /* no devices */, MS_NODEV},
                {8 /* no programs */, MS_NOEXEC},
                {4096, MS_RELATIME},
                {1024, MS_NOATIME}};
    struct statvfs about;
    unsigned long flags = MS_REMOUNT | MS_BIND;
    int result = enter_namespace(CLONE_NEWNS);

    (void)answer;
    if (result)
        return result;
    if (mount(order->path[1], order->path[1], NULL, MS_BIND, NULL) != 0 ||
        statvfs(order->path[1], &about) != 0)
        return errno;
    for (size_t i = 0; i < ITEMS(kept); i++)
        if (about.f_flag & kept[i].seen)
            flags |= kept[i].wanted;
    if (mount(NULL, order->path[1], NULL, flags, NULL) != 0)
        return errno;
    return write_victim(order->path[0], order);
}

/* The directory outside appears in the workspace. */
static int act_bind(const struct order *order, struct answer *answer)
{
    char name[PLACE_SIZE];
    int result = enter_namespace(CLONE_NEWNS);

    (void)answer;
    if (result)
        return result;
    if (mount(order->path[1], order->inner, NULL, MS_BIND, NULL) != 0)
        return errno;
    return place_join(name, order->inner, "victim") < 0 ? ENAMETOOLONG : write_victim(name, order);
}

static int act_chroot(const struct order *order, struct answer *answer)
{
    int result = enter_namespace(0);

    (void)answer;
    if (result)
        return result;
    return chroot(order->path[1]) != 0 ? errno : write_victim("/victim", order);
}

enum { STRANGER = 65533 }; /* nobody has this user: what is set to it gives nothing away */

static int copy_self(int to)
{
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    static char block[1 << 16];
    ssize_t length = -1;

    while (from >= 0 && (length = read(from, block, sizeof(block))) > 0)
        if (write(to, block, (size_t)length) != length)
            break;
    if (from >= 0)
        close(from);
    return length == 0 ? 0 : -EIO;
}

/*
 * A file of root's, path[0], that becomes another user's when it is complete. The command's user, who owns
 * the directory, must not be able to have another file taken for it: so by descriptor, and its own from the
 * beginning. Return: 0 or -errno.
 */
static int make_foreign(struct trial *trial, mode_t mode, const char *text, const uint32_t *capability)
{
    int directory = place_directory(trial), result = place_join(trial->order.path[0], trial->dir, "foreign"),
        fd = -1;

    if (directory < 0 || result < 0)
        return directory < 0 ? directory : result;
    if (seteuid(0) != 0)
        result = -errno;
    if (result == 0)
        fd = openat(directory, "foreign", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (result == 0 && fd < 0)
        result = -errno;
    if (result == 0)
        result = !text ? copy_self(fd) : write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -EIO;
    if (result == 0 && fchown(fd, STRANGER, (gid_t)-1) != 0)
        result = -errno;
    if (result == 0 && capability && fsetxattr(fd, "security.capability", capability, 20, 0) != 0)
        result = -errno;
    if (result == 0 && fchmod(fd, mode) != 0)
        result = -errno;
    if (seteuid(trial->battery->uid) != 0)
        result = -errno;
    if (fd >= 0)
        close(fd);
    close(directory);
    return result;
}

/* A copy of this program: what it is when it runs, it says. */
static int prepare_set_id(struct trial *trial)
{
    return make_foreign(trial, 04755, NULL, NULL);
}

static int prepare_file_capability(struct trial *trial)
{
    static const uint32_t capability[5] = {0x02000001 /* effective */, 1 << 28 /* leases */};

    if (trial->battery->uid == 0)
        return place_skip(trial, "root gains nothing from a file");
    return make_foreign(trial, 0755, NULL, capability);
}

/* Starts the program, and takes what it says about itself. */
static int act_start(const struct order *order, struct answer *answer)
{
    int ends[2], status;
    pid_t child;

    if (pipe(ends) != 0)
        return errno;
    child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        execl(order->path[0], "confine-check", "privilege", (char *)NULL);
        _exit(errno);
    }
    close(ends[1]);
    if (read(ends[0], answer->data, sizeof(answer->data) - 1) <= 0)
        answer->data[0] = '\0';
    if (child < 0 || waitpid(child, &status, 0) != child)
        return ECHILD;
    return WEXITSTATUS(status);
}

/* The program says whether it had another user than its caller, or a capability that it was not started with.
 */
int privilege_main(void)
{
    printf("%s", geteuid() != getuid() || (getuid() != 0 && own_capabilities()) ? "gained" : "plain");
    return 0;
}

static int look_gained(struct trial *trial)
{
    return trial->answer.errnum == 0 && strcmp(trial->answer.data, "gained") == 0;
}

static int act_give_away(const struct order *order, struct answer *answer)
{
    char path[PLACE_SIZE];

    (void)answer;
    if (place_file(path, order->inner, "own", "", 0644) < 0)
        return EIO;
    return answer_of(chown(path, 12345, (gid_t)-1));
}

static int look_given(struct trial *trial)
{
    struct stat object;
    char path[PLACE_SIZE];

    if (place_join(path, trial->order.inner, "own") < 0)
        return -ENAMETOOLONG;
    return lstat(path, &object) != 0 ? 0 : object.st_uid == 12345;
}

static int act_other_user(const struct order *order, struct answer *answer)
{
    (void)order;
    (void)answer;
    return answer_of(syscall(SYS_setresuid, 12345, 12345, 12345));
}

static int act_groups(const struct order *order, struct answer *answer)
{
    gid_t groups[] = {0, 42};

    (void)order;
    (void)answer;
    return answer_of(setgroups(2, groups));
}

static int act_mount(const struct order *order, struct answer *answer)
{
    (void)answer;
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return errno;
    return answer_of(mount("tmpfs", order->path[1], "tmpfs", 0, NULL));
}

static int act_override(const struct order *order, struct answer *answer)
{
    int fd = open(order->path[0], O_RDONLY);

    return fd < 0 ? errno : answer_of(read(fd, answer->data, sizeof(answer->data)));
}

/* A file that its owner, another user, keeps to himself. */
static int prepare_foreign(struct trial *trial)
{
    return make_foreign(trial, 0, trial->secret, NULL);
}

static int act_capable(const struct order *order, struct answer *answer)
{
    (void)order;
    (void)answer;
    return own_capabilities() ? 0 : EPERM;
}

/* The promise that no program gives more than its caller has. */
static int act_no_promise(const struct order *order, struct answer *answer)
{
    (void)order;
    (void)answer;
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0 ? 0 : EPERM;
}

static int act_bpf(const struct order *order, struct answer *answer)
{
    uint32_t attributes[32] = {2 /* array */, 4, 4, 1};

    (void)order;
    (void)answer;
    return answer_of(syscall(SYS_bpf, 0 /* create a map */, attributes, sizeof(attributes)));
}

static int act_userfault(const struct order *order, struct answer *answer)
{
    (void)order;
    (void)answer;
    return answer_of(syscall(SYS_userfaultfd, 1 /* user mode only */));
}

static int act_ring(const struct order *order, struct answer *answer)
{
    uint32_t parameters[30] = {0};

    (void)order;
    (void)answer;
    return answer_of(syscall(425, 4, parameters));
}

static int act_handle(const struct order *order, struct answer *answer)
{
    struct {
        unsigned bytes;
        int type;
        char handle[128];
    } handle = {.bytes = 128};
    int mount_id = 0;

    (void)answer;
    return answer_of(syscall(SYS_name_to_handle_at, AT_FDCWD, order->path[1], &handle, &mount_id, 0));
}

static int act_executable_pages(const struct order *order, struct answer *answer)
{
    (void)order;
    (void)answer;
    return answer_of(personality(READ_IMPLIES_EXEC));
}

/* The table of segments of this process, which only 32-bit programs have. */
static int act_segments(const struct order *order, struct answer *answer)
{
#if defined(SYS_modify_ldt)
    char table[64];

    (void)order;
    (void)answer;
    return answer_of(syscall(SYS_modify_ldt, 0 /* read */, table, sizeof(table)));
#else
    (void)order;
    (void)answer;
    return ENOSYS;
#endif
}

#define GAINS         "whoever has the rights of root ends every other rule"
#define OWN_NAMESPACE "most holes of the kernel are reached as root of a namespace of one's own"
#define NAMESPACE(id, flags, call, what, prepare, act, look)                                                 \
    {                                                                                                        \
        id, SURFACE_PRIV_USERNS, flags, call, what, OWN_NAMESPACE, prepare, act, look, NULL                  \
    }
#define CAPABLE(id, flags, call, what, prepare, act, look)                                                   \
    {                                                                                                        \
        id, SURFACE_PRIV_CAPS, flags, call, what, GAINS, prepare, act, look, NULL                            \
    }
#define KERNEL(id, call, what, act)                                                                          \
    {                                                                                                        \
        id, SURFACE_KERNEL_SYSCALLS, SEEN_INSIDE, call, what,                                                \
            "it has been the way in of many exploits, and few programs need it", NULL, act, NULL, NULL       \
    }

const struct attempt privilege_attempts[] = {
    NAMESPACE("PROC-22", SEEN_INSIDE, "unshare(CLONE_NEWUSER)", "become root of a user namespace", NULL,
              act_unshare, NULL),
    NAMESPACE("PROC-47", SEEN_INSIDE, "clone(CLONE_NEWUSER)", "start a process in a user namespace", NULL,
              act_clone, NULL),
    NAMESPACE("PROC-48", SEEN_INSIDE, "clone3(CLONE_NEWUSER)",
              "start a process in a user namespace by the newer call", NULL, act_clone3, NULL),
    NAMESPACE("FS-25", 0, "unshare(CLONE_NEWUSER|CLONE_NEWNS); mount(MS_REMOUNT|MS_BIND)",
              "mount what is outside writable, and write it", place_victim, act_remount, look_changed),
    NAMESPACE("FS-26", IN_WORKSPACE, "unshare(CLONE_NEWUSER|CLONE_NEWNS); mount(outside, inner, MS_BIND)",
              "mount what is outside into the workspace, and write it", place_victim, act_bind, look_changed),
    NAMESPACE("FS-29", 0, "unshare(CLONE_NEWUSER); chroot(outside)",
              "make what is outside the root, and write it", place_victim, act_chroot, look_changed),
    {"PROC-20", SURFACE_PRIV_SETUID, NEEDS_ROOT | BEFORE_START, "execve(outside/program, mode 4755)",
     "start a set-id program", GAINS, prepare_set_id, act_start, look_gained, NULL},
    {"PROC-21", SURFACE_PRIV_SETUID, NEEDS_ROOT | BEFORE_START,
     "execve(outside/program, security.capability)", "start a program with file capabilities", GAINS,
     prepare_file_capability, act_start, look_gained, NULL},
    CAPABLE("PROC-49", IN_WORKSPACE, "chown(own file, another user)", "give a file away", NULL, act_give_away,
            look_given),
    CAPABLE("PROC-50", SEEN_INSIDE, "setresuid(another user)", "become another user", NULL, act_other_user,
            NULL),
    CAPABLE("PROC-51", SEEN_INSIDE, "setgroups()", "join another group", NULL, act_groups, NULL),
    CAPABLE("PROC-52", SEEN_INSIDE, "unshare(CLONE_NEWNS); mount(tmpfs)", "mount a file system", NULL,
            act_mount, NULL),
    CAPABLE("PROC-53", NEEDS_ROOT, "open(file of another user, mode 0)",
            "read a file that its owner keeps to himself", prepare_foreign, act_override, look_secret),
    CAPABLE("PROC-54", SEEN_INSIDE, "capget()", "hold a capability", NULL, act_capable, NULL),
    {"PROC-55", SURFACE_PRIV_SETUID, SEEN_INSIDE, "prctl(PR_GET_NO_NEW_PRIVS)",
     "be free to start programs that give more rights", GAINS, NULL, act_no_promise, NULL, NULL},
    KERNEL("KERN-02", "bpf(BPF_MAP_CREATE)", "reach the kernel's own programs", act_bpf),
    KERNEL("KERN-03", "userfaultfd()", "hold the kernel up in the middle of a copy", act_userfault),
    KERNEL("KERN-04", "io_uring_setup()", "reach the kernel by a ring", act_ring),
    KERNEL("KERN-05", "name_to_handle_at()", "get a handle of a file", act_handle),
    KERNEL("KERN-06", "personality(READ_IMPLIES_EXEC)", "make all memory executable", act_executable_pages),
    KERNEL("KERN-07", "modify_ldt()", "reach the table of segments", act_segments),
    {0},
};
