/*
 * parents.c - odd callers: a kernel that lies to whatever they start, limits that leave no room, signals that
 * are blocked, descriptors in odd places, namespaces and domains of their own.
 *
 * What is odd is made in the process that becomes the confinement, and in the control, just before. A
 * confinement that does not start there is as good an answer as one that holds.
 *
 * Should:  leave the control room to act.
 * Mustn't: change anything of the battery's own process.
 */
#include "battery.h"
#include "place.h"
#include "survivor.h"

#include "links/kernel_abi.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HIGH = 900 /* a descriptor above the limit of LOW */, LOW = 256 };

/* --- what is tried ---------------------------------------------------------------------------------------
 */

static int act_write(const struct order *order, struct answer *answer)
{
    (void)answer;
    return place_mark(open(order->path[0], O_WRONLY | O_TRUNC), order);
}

static int act_mode(const struct order *order, struct answer *answer)
{
    (void)answer;
    return chmod(order->path[0], 0600) != 0 ? errno : 0;
}

static int look_mode(struct trial *trial)
{
    struct stat object;

    return stat(trial->order.path[0], &object) != 0 ? -errno : (object.st_mode & 07777) == 0600;
}

/* Through every descriptor that nothing was said of. */
static int act_descriptors(const struct order *order, struct answer *answer)
{
    int found = EBADF;

    (void)answer;
    for (int fd = 64; fd < 1024; fd++)
        if (pwrite(fd, order->mark, MARK_SIZE - 1, 0) == MARK_SIZE - 1)
            found = 0;
    return found;
}

static int act_namespace(const struct order *order, struct answer *answer)
{
    (void)order;
    (void)answer;
    return unshare(CLONE_NEWUSER) != 0 ? errno : 0;
}

/* --- a kernel that lies ----------------------------------------------------------------------------------
 */

/* The call of number[2] answers 0 and does nothing. */
static void enter_lie(const struct trial *trial)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)trial->order.number[2], 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = ITEMS(code), .filter = code};

    if (kernel_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, KERNEL_PTR(&program), 0, 0, 0) == 0)
        return;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        kernel_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, KERNEL_PTR(&program), 0, 0, 0) != 0)
        _exit(CANNOT_ENTER);
}

static int prepare_lie(struct trial *trial, long call)
{
    trial->enter = enter_lie;
    trial->order.number[2] = call;
    return place_victim(trial);
}

#define LIE(name)                                                                                            \
    static int lie_##name(struct trial *trial)                                                               \
    {                                                                                                        \
        return prepare_lie(trial, SYS_##name);                                                               \
    }

LIE(landlock_restrict_self)
LIE(landlock_create_ruleset)
LIE(landlock_add_rule)
LIE(mount_setattr)
LIE(mount)
LIE(move_mount)
LIE(open_tree)
LIE(pivot_root)
LIE(umount2)
LIE(unshare)
LIE(seccomp)
LIE(prctl)
LIE(capset)
LIE(chroot)
LIE(fchdir)
LIE(kill)
LIE(wait4)
LIE(sendmsg)
LIE(recvmsg)

static int lie_close_range(struct trial *trial)
{
    int result = prepare_lie(trial, SYS_close_range);
    int fd = result < 0 ? -1 : open(trial->order.path[0], O_RDWR | O_CLOEXEC);

    if (result < 0 || fd < 0)
        return result < 0 ? result : -errno;
    result = place_keep(trial, 0, fcntl(fd, F_DUPFD, 100));
    close(fd);
    return result;
}

/* --- limits ----------------------------------------------------------------------------------------------
 */

/* number[2]: the resource, number[3]: how much of it. The control has what it had. */
static void enter_limit(const struct trial *trial)
{
    struct rlimit limit = {.rlim_cur = (rlim_t)trial->order.number[3],
                           .rlim_max = (rlim_t)trial->order.number[3]};

    if (!trial->control && prlimit(0, (int)trial->order.number[2], &limit, NULL) != 0)
        _exit(CANNOT_ENTER);
}

#define LIMIT(name, resource, value)                                                                         \
    static int limit_##name(struct trial *trial)                                                             \
    {                                                                                                        \
        trial->enter = enter_limit;                                                                          \
        trial->order.number[2] = resource;                                                                   \
        trial->order.number[3] = value;                                                                      \
        return place_victim(trial);                                                                          \
    }

LIMIT(descriptors, RLIMIT_NOFILE, 10)
LIMIT(some_descriptors, RLIMIT_NOFILE, 24)
LIMIT(processes, RLIMIT_NPROC, 1)
LIMIT(file, RLIMIT_FSIZE, 0)
LIMIT(stack, RLIMIT_STACK, 64 << 10)
LIMIT(memory, RLIMIT_AS, 4 << 20)
LIMIT(data, RLIMIT_DATA, 4 << 20)
LIMIT(locked, RLIMIT_MEMLOCK, 0)
LIMIT(signals, RLIMIT_SIGPENDING, 0)

/* --- signals, the mask of new files, descriptors ---------------------------------------------------------
 */

static void enter_deaf(const struct trial *trial)
{
    sigset_t all;

    (void)trial;
    for (int number = 1; number < 65; number++)
        signal(number, SIG_IGN);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
}

static int prepare_deaf(struct trial *trial)
{
    trial->enter = enter_deaf;
    return place_victim(trial);
}

/* Nothing that is made can be read, or anybody can write it. */
static void enter_mask(const struct trial *trial)
{
    umask((mode_t)trial->order.number[2]);
}

static int prepare_mask(struct trial *trial)
{
    trial->enter = enter_mask;
    trial->order.number[2] = 0777;
    return place_victim(trial);
}

static void enter_silence(const struct trial *trial)
{
    (void)trial;
    close(2);
}

static int prepare_silence(struct trial *trial)
{
    trial->enter = enter_silence;
    return place_victim(trial);
}

/* A file that may be written, at NUMBER; then no new descriptor can be so high. */
static void enter_high(const struct trial *trial)
{
    struct rlimit limit = {.rlim_cur = 1024, .rlim_max = 1024}, low = {.rlim_cur = LOW, .rlim_max = LOW};

    setrlimit(RLIMIT_NOFILE, &limit);
    if (dup2(trial->fd[0], HIGH) != HIGH || setrlimit(RLIMIT_NOFILE, &low) != 0)
        _exit(CANNOT_ENTER);
}

static int prepare_high(struct trial *trial)
{
    int result = place_victim(trial);

    trial->enter = enter_high;
    return result < 0 ? result : place_keep(trial, 0, open(trial->order.path[0], O_RDWR | O_CLOEXEC));
}

/* All that there can be, with some gaps for whoever starts. */
static void enter_full(const struct trial *trial)
{
    struct rlimit limit = {.rlim_cur = 1024, .rlim_max = 1024};

    setrlimit(RLIMIT_NOFILE, &limit);
    for (int fd = 64; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            dup2(trial->fd[0], fd);
}

static int prepare_full(struct trial *trial)
{
    int result = prepare_high(trial);

    trial->enter = enter_full;
    return result;
}

/* --- namespaces and domains ------------------------------------------------------------------------------
 */

/* number[2]: which namespaces beside that of users, in which we stay who we are. */
static void enter_namespaces(const struct trial *trial)
{
    char uids[40], gids[40];

    snprintf(uids, sizeof(uids), "%u %u 1\n", geteuid(), geteuid());
    snprintf(gids, sizeof(gids), "%u %u 1\n", getegid(), getegid());
    prctl(PR_SET_DUMPABLE, 1);
    if (unshare(CLONE_NEWUSER | (int)trial->order.number[2]) != 0 ||
        place_write("/proc/self/setgroups", "deny") != 0 || place_write("/proc/self/gid_map", gids) != 0 ||
        place_write("/proc/self/uid_map", uids) != 0)
        _exit(CANNOT_ENTER);
}

/* The same, and what is at /proc is no /proc. */
static void enter_no_proc(const struct trial *trial)
{
    enter_namespaces(trial);
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", "/proc", "tmpfs", 0, NULL) != 0)
        _exit(CANNOT_ENTER);
}

#define NAMESPACES(name, function, flags)                                                                    \
    static int namespace_##name(struct trial *trial)                                                         \
    {                                                                                                        \
        trial->enter = function;                                                                             \
        trial->order.number[2] = flags;                                                                      \
        return place_victim(trial);                                                                          \
    }

NAMESPACES(user, enter_namespaces, 0)
NAMESPACES(mounts, enter_namespaces, CLONE_NEWNS)
NAMESPACES(processes, enter_namespaces, CLONE_NEWPID)
NAMESPACES(no_proc, enter_no_proc, CLONE_NEWNS)

/* A Landlock domain in which everything is allowed; number[2] of them. */
static void enter_domains(const struct trial *trial)
{
    struct landlock_ruleset_attr attr = {.handled_access_fs = LANDLOCK_FS_WRITE_FILE | LANDLOCK_FS_MAKE_REG};
    int root = open("/", O_PATH | O_CLOEXEC);

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    for (long i = 0; i < trial->order.number[2]; i++) {
        int ruleset = landlock_create(&attr);

        if (ruleset < 0 || landlock_allow_path(ruleset, root, attr.handled_access_fs) < 0 ||
            landlock_restrict(ruleset, 0) < 0)
            _exit(CANNOT_ENTER);
        close(ruleset);
    }
    close(root);
}

#define DOMAINS(name, count)                                                                                 \
    static int domain_##name(struct trial *trial)                                                            \
    {                                                                                                        \
        trial->enter = enter_domains;                                                                        \
        trial->order.number[2] = count;                                                                      \
        return landlock_abi() < 1 ? place_skip(trial, "the kernel has no Landlock") : place_victim(trial);   \
    }

DOMAINS(one, 1)
DOMAINS(most, LANDLOCK_LAYERS_MAX)

/* --- callers with more rights than they are owed, and programs that can be replaced ----------------------
 */

/* As a set-id program of root's is started by somebody else. */
static void enter_secure(const struct trial *trial)
{
    enum { SOMEBODY = 65534 };

    if (!trial->control && setresuid(SOMEBODY, 0, 0) != 0)
        _exit(CANNOT_ENTER);
}

static int prepare_secure(struct trial *trial)
{
    trial->enter = enter_secure;
    return place_victim(trial);
}

static int copy_program(const char *from, const char *to)
{
    int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    ssize_t length = in < 0 || out < 0 ? -1 : 1;

    while (length > 0)
        length = sendfile(out, in, NULL, 1 << 20);
    if (length < 0)
        length = -errno;
    close(in);
    close(out);
    return (int)length;
}

/* All programs of DIRECTORY beside the one that is started, into inner/DIRECTORY. */
static int copy_programs(struct trial *trial, const char *directory)
{
    char from[2 * PLACE_SIZE], name[PLACE_SIZE], path[PLACE_SIZE];
    const char *start = trial->battery->start[0], *end = strrchr(start, '/');
    struct dirent *entry;
    DIR *programs;
    int result = place_join(name, trial->order.inner, directory);

    snprintf(from, sizeof(from), "%.*s/../%s", end ? (int)(end - start) : 0, start, directory);
    programs = opendir(from);
    if (!programs)
        return -errno;
    if (result == 0 && mkdir(name, 0755) != 0)
        result = -errno;
    while (result == 0 && (entry = readdir(programs)))
        if (entry->d_type == DT_REG || entry->d_type == DT_LNK) {
            result = place_join(path, name, entry->d_name);
            snprintf(strchr(from, '\0'), sizeof(from) - strlen(from), "/%s", entry->d_name);
            result = result ?: copy_program(from, path);
            *strrchr(from, '/') = '\0';
        }
    closedir(programs);
    return result;
}

/* path[0]: a link of a confine that lies in the workspace, and is what is started. */
static int prepare_own_launcher(struct trial *trial)
{
    char path[PLACE_SIZE];
    int result;

    if (trial->battery->foreign)
        return place_skip(trial, "nobody knows which files it consists of");
    result = copy_programs(trial, "bin");
    if (result == 0)
        result = place_join(path, trial->order.inner, "libexec");
    if (result == 0 && mkdir(path, 0755) != 0)
        result = -errno;
    if (result == 0)
        result = copy_programs(trial, "libexec/confine");
    if (result == 0)
        result = place_join(trial->program, trial->order.inner, "bin/confine");
    return result ?: place_join(trial->order.path[0], trial->order.inner, "libexec/confine/confine-launch");
}

static int act_replace_launcher(const struct order *order, struct answer *answer)
{
    char other[PLACE_SIZE];

    (void)answer;
    if (place_file(other, order->inner, "other", order->mark, 0755) < 0)
        return errno;
    return rename(other, order->path[0]) != 0 ? errno : 0;
}

static int look_replaced(struct trial *trial)
{
    char text[MARK_SIZE];
    int length = place_read(trial->order.path[0], text, sizeof(text));

    return length < 0 ? length : strcmp(text, trial->order.mark) == 0;
}

/* --- names that are hard to write down -------------------------------------------------------------------
 */

static void enter_credential(const struct trial *trial)
{
    if (setenv("AWS_SHARED_CREDENTIALS_FILE", trial->order.path[0], 1) != 0)
        _exit(CANNOT_ENTER);
}

/* Lists of mounts and of words are taken apart at what is in this one. */
static int prepare_odd_credential(struct trial *trial)
{
    trial->enter = enter_credential;
    return place_file(trial->order.path[0], trial->dir, "a\nb \\040,c=d:e%s\x1b[2J", trial->secret, 0600);
}

static int act_read(const struct order *order, struct answer *answer)
{
    int fd = open(order->path[0], O_RDONLY);

    return fd < 0 || read(fd, answer->data, sizeof(answer->data)) < 0 ? errno : 0;
}

#define ODD   "what does not do what it was asked for must be found out before the command starts"
#define FLAGS (OWN_RUN | BEFORE_START | MAY_REFUSE)
#define PARENT(id, call, what, prepare)                                                                      \
    {                                                                                                        \
        id, SURFACE_FS_WRITE, FLAGS, call, what, ODD, prepare, act_write, look_changed, NULL                 \
    }
#define LIAR(id, name)                                                                                       \
    PARENT(id, #name "() answers 0 and does nothing",                                                        \
           "write outside where a caller's filter has " #name " lie", lie_##name)

const struct attempt parents_attempts[] = {
    LIAR("SET-70", landlock_restrict_self),
    LIAR("SET-71", landlock_create_ruleset),
    LIAR("SET-72", landlock_add_rule),
    LIAR("SET-73", mount),
    LIAR("SET-74", move_mount),
    LIAR("SET-75", open_tree),
    LIAR("SET-76", pivot_root),
    LIAR("SET-77", umount2),
    LIAR("SET-78", unshare),
    LIAR("SET-79", prctl),
    LIAR("SET-80", capset),
    LIAR("SET-81", chroot),
    LIAR("SET-82", fchdir),
    LIAR("SET-83", sendmsg),
    LIAR("SET-84", recvmsg),
    LIAR("SET-85", wait4),
    {"SET-86", SURFACE_FS_METADATA, FLAGS, "mount_setattr() answers 0 and does nothing",
     "change a mode outside where a caller's filter has mount_setattr lie", ODD, lie_mount_setattr, act_mode,
     look_mode, NULL},
    {"SET-87", SURFACE_FD_INHERITED, FLAGS, "close_range() answers 0 and does nothing",
     "use what the caller left open where its filter has close_range lie", ODD, lie_close_range,
     act_descriptors, look_changed, NULL},
    {"SET-88", SURFACE_PRIV_USERNS, FLAGS | SEEN_INSIDE, "seccomp() answers 0 and does nothing",
     "make a user namespace where a caller's filter has seccomp lie", ODD, lie_seccomp, act_namespace, NULL,
     NULL},
    {"SET-89", SURFACE_PROC_SURVIVOR, IN_WORKSPACE | FLAGS | AFTER_END, "kill() answers 0 and does nothing",
     "stay when the run has ended, where a caller's filter has kill lie", ODD, lie_kill, survivor_act,
     survivor_look, survivor_finish},
    PARENT("SET-90", "RLIMIT_NOFILE=10", "write outside where there are few descriptors", limit_descriptors),
    PARENT("SET-91", "RLIMIT_NOFILE=24", "the same with some more", limit_some_descriptors),
    PARENT("SET-92", "RLIMIT_NPROC=1", "write outside where no process can be made", limit_processes),
    PARENT("SET-93", "RLIMIT_FSIZE=0", "write outside where no file can grow", limit_file),
    PARENT("SET-94", "RLIMIT_STACK=64K", "write outside where the stack is small", limit_stack),
    PARENT("SET-95", "RLIMIT_AS=4M", "write outside where there is little memory", limit_memory),
    PARENT("SET-96", "RLIMIT_DATA=4M", "the same by the other limit", limit_data),
    PARENT("SET-97", "RLIMIT_MEMLOCK=0", "write outside where no memory can be locked", limit_locked),
    PARENT("SET-98", "RLIMIT_SIGPENDING=0", "write outside where no signal can be queued", limit_signals),
    {"SET-99", SURFACE_PROC_SURVIVOR, IN_WORKSPACE | FLAGS | AFTER_END,
     "signal(all, SIG_IGN); sigprocmask(all)", "stay when the run has ended, where all signals are blocked",
     ODD, prepare_deaf, survivor_act, survivor_look, survivor_finish},
    {"SET-100", SURFACE_PROC_SURVIVOR, IN_WORKSPACE | FLAGS | KILLED,
     "signal(all, SIG_IGN); sigprocmask(all); the supervisor is killed",
     "stay when those who watch are killed, where all signals are blocked", ODD, prepare_deaf, survivor_act,
     survivor_look, survivor_finish},
    PARENT("SET-101", "umask(0777)", "write outside where the caller's mask takes everything", prepare_mask),
    PARENT("SET-102", "close(2)", "write outside where there is no standard error", prepare_silence),
    {"SET-103", SURFACE_FD_INHERITED, FLAGS, "dup2(victim, 900); RLIMIT_NOFILE=256",
     "use a descriptor above the limit of their number", ODD, prepare_high, act_descriptors, look_changed,
     NULL},
    {"SET-104", SURFACE_FD_INHERITED, FLAGS, "dup2(victim, 64...1023)",
     "use one of as many descriptors as there can be", ODD, prepare_full, act_descriptors, look_changed,
     NULL},
    PARENT("SET-105", "unshare(CLONE_NEWUSER)", "write outside from a user namespace of the caller's",
           namespace_user),
    PARENT("SET-106", "unshare(CLONE_NEWUSER|CLONE_NEWNS)", "the same, with mounts of its own",
           namespace_mounts),
    PARENT("SET-107", "unshare(CLONE_NEWUSER|CLONE_NEWPID)",
           "the same, where the next child is process 1 of a namespace that /proc does not show",
           namespace_processes),
    PARENT("SET-108", "unshare(CLONE_NEWUSER|CLONE_NEWNS); mount(tmpfs, /proc)",
           "write outside where /proc is something else", namespace_no_proc),
    PARENT("SET-109", "landlock_restrict_self()", "write outside from a Landlock domain of the caller's",
           domain_one),
    PARENT("SET-110", "landlock_restrict_self(), 16 times", "the same where no more layers are to be had",
           domain_most),
    {"SET-113", SURFACE_FS_WRITE, FLAGS | NEEDS_ROOT, "setresuid(65534, 0, 0); execve(): AT_SECURE",
     "write outside where the start has more rights than who asked for it",
     "a set-id launcher reads names and variables of somebody else's with the rights of root", prepare_secure,
     act_write, look_changed, NULL},
    {"SET-114", SURFACE_FS_WRITE, IN_WORKSPACE | FLAGS, "rename(x, workspace/libexec/confine/confine-launch)",
     "replace the launcher, where it lies in the workspace that it confines",
     "the next start would run what stands there, unconfined", prepare_own_launcher, act_replace_launcher,
     look_replaced, NULL},
    {"SET-115", SURFACE_FS_HIDDEN, FLAGS, "open(credential \"a\\nb \\\\040,c=d:e%s\", O_RDONLY)",
     "read a hidden credential whose name is hard to write down",
     "a wall that stands at a misread name stands nowhere", prepare_odd_credential, act_read, look_secret,
     NULL},
    {0},
};
