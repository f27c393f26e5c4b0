/*
 * view.c - reading, watching and driving what is outside; names that must stay as they are inside.
 */
#include "battery.h"
#include "place.h"

#include "links/kernel_abi.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* Reads what was opened into the answer. */
static int read_answer(int fd, struct answer *answer)
{
    if (fd < 0)
        return errno;
    return read(fd, answer->data, sizeof(answer->data)) >= 0 ? 0 : errno;
}

static int act_read(const struct order *order, struct answer *answer)
{
    return read_answer(open(order->path[0], O_RDONLY), answer);
}

/* What lies below a mount on /tmp is seen when that is gone; where there is none, it is seen already. */
static int act_reveal(const struct order *order, struct answer *answer)
{
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return errno;
    umount2("/tmp", MNT_DETACH);
    return read_answer(open(order->path[0], O_RDONLY), answer);
}

static int act_read_link(const struct order *order, struct answer *answer)
{
    char name[PLACE_SIZE];

    if (place_join(name, order->inner, "link") < 0 || symlink(order->path[0], name) != 0)
        return errno;
    return read_answer(open(name, O_RDONLY), answer);
}

static int act_read_hard_link(const struct order *order, struct answer *answer)
{
    char name[PLACE_SIZE];

    if (place_join(name, order->inner, "link") < 0 || link(order->path[0], name) != 0)
        return errno;
    return read_answer(open(name, O_RDONLY), answer);
}

static int act_read_own_root(const struct order *order, struct answer *answer)
{
    char name[2 * PLACE_SIZE];

    snprintf(name, sizeof(name), "/proc/self/root%s", order->path[0]);
    return read_answer(open(name, O_RDONLY), answer);
}

static int act_read_reopen(const struct order *order, struct answer *answer)
{
    char name[40];
    int fd = open(order->path[0], O_PATH);

    if (fd < 0)
        return errno;
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    return read_answer(open(name, O_RDONLY), answer);
}

static int act_stat(const struct order *order, struct answer *answer)
{
    struct stat object;

    if (stat(order->path[0], &object) != 0)
        return errno;
    answer->number = (long)object.st_size;
    return 0;
}

static int look_size(struct trial *trial)
{
    return trial->answer.errnum == 0 && trial->answer.number == MARK_SIZE - 1;
}

/* The longest name in path[1], by reading the directory. */
static int act_list(const struct order *order, struct answer *answer)
{
    DIR *directory = opendir(order->path[1]);
    struct dirent *entry;

    if (!directory)
        return errno;
    while ((entry = readdir(directory)))
        if (strlen(entry->d_name) > strlen(answer->data))
            snprintf(answer->data, sizeof(answer->data), "%.63s", entry->d_name);
    closedir(directory);
    return 0;
}

static int prepare_list(struct trial *trial)
{
    return place_file(trial->order.path[0], trial->dir, trial->secret, "", 0644);
}

/* A file in a directory that all programs use for temporary things. */
static int prepare_in(struct trial *trial, const char *directory)
{
    char name[MARK_SIZE + 16];
    int result;

    snprintf(name, sizeof(name), "confine-check-%s", trial->order.mark);
    if (access(directory, W_OK | X_OK) != 0)
        return place_skip(trial, "no such directory here that may be written");
    result = place_file(trial->order.path[0], directory, name, trial->secret, 0600);
    if (result == 0)
        janitor_note(LEFT_FILE, 0, trial->order.path[0]);
    return result;
}

static int prepare_tmp(struct trial *trial)
{
    return prepare_in(trial, "/tmp");
}

static int prepare_shm(struct trial *trial)
{
    return prepare_in(trial, "/dev/shm");
}

static void finish_file(struct trial *trial)
{
    unlink(trial->order.path[0]);
    janitor_forget(LEFT_FILE, 0, trial->order.path[0]);
}

static int prepare_name_in(struct trial *trial, const char *directory)
{
    char name[MARK_SIZE + 16];
    int result;

    snprintf(name, sizeof(name), "confine-check-%s", trial->order.mark);
    result = place_join(trial->order.path[2], directory, name);
    if (result == 0)
        janitor_note(LEFT_FILE, 0, trial->order.path[2]);
    return result;
}

static int prepare_name_tmp(struct trial *trial)
{
    return prepare_name_in(trial, "/tmp");
}

static int prepare_name_shm(struct trial *trial)
{
    return prepare_name_in(trial, "/dev/shm");
}

static int act_make(const struct order *order, struct answer *answer)
{
    (void)answer;
    return open(order->path[2], O_WRONLY | O_CREAT | O_EXCL, 0600) < 0 ? errno : 0;
}

static void finish_made(struct trial *trial)
{
    unlink(trial->order.path[2]);
    janitor_forget(LEFT_FILE, 0, trial->order.path[2]);
}

/* --- what is hidden --------------------------------------------------------------------------------------
 */

static int prepare_credential(struct trial *trial)
{
    memcpy(trial->order.path[0], trial->battery->credential, PLACE_SIZE);
    memcpy(trial->order.path[1], trial->battery->base, PLACE_SIZE);
    return 0;
}

static int look_credential(struct trial *trial)
{
    return trial->answer.errnum == 0 &&
           memcmp(trial->answer.data, trial->battery->credential_secret, MARK_SIZE - 1) == 0;
}

static int look_name(struct trial *trial)
{
    return trial->answer.errnum == 0 && strcmp(trial->answer.data, "credentials") == 0;
}

/* --- devices and FIFOs -----------------------------------------------------------------------------------
 */

static int prepare_fifo(struct trial *trial)
{
    int result = place_join(trial->order.path[0], trial->dir, "fifo");

    if (result < 0 || mkfifo(trial->order.path[0], 0644) != 0)
        return result < 0 ? result : -errno;
    return place_keep(trial, 0, open(trial->order.path[0], O_RDONLY | O_NONBLOCK | O_CLOEXEC));
}

static int write_to(const char *path, const struct order *order)
{
    return place_mark(open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY), order);
}

static int act_write_to(const struct order *order, struct answer *answer)
{
    (void)answer;
    return write_to(order->path[0], order);
}

static int act_write_reopen(const struct order *order, struct answer *answer)
{
    char name[40];
    int fd = open(order->path[0], O_PATH);

    (void)answer;
    if (fd < 0)
        return errno;
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    return write_to(name, order);
}

/* The mark came out at fd[0]. */
static int look_arrived(struct trial *trial)
{
    char text[4 * MARK_SIZE] = "";
    ssize_t length = read(trial->fd[0], text, sizeof(text) - 1);

    return length > 0 && strstr(text, trial->order.mark) != NULL;
}

static int prepare_other_terminal(struct trial *trial)
{
    int result = place_keep(trial, 0, posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));

    if (result < 0)
        return result;
    if (grantpt(trial->fd[0]) != 0 || unlockpt(trial->fd[0]) != 0)
        return -errno;
    snprintf(trial->order.path[0], PLACE_SIZE, "%s", ptsname(trial->fd[0]));
    return place_keep(trial, 1, open(trial->order.path[0], O_RDWR | O_NOCTTY | O_CLOEXEC));
}

/* As root, for a moment, and as the command's user again. */
static int prepare_node(struct trial *trial)
{
    int directory = place_directory(trial), result = place_join(trial->order.path[0], trial->dir, "node");
    mode_t mask;

    if (directory < 0 || result < 0)
        return directory < 0 ? directory : result;
    mask = umask(0);
    if (seteuid(0) != 0 || mknodat(directory, "node", S_IFCHR | 0666, makedev(1, 5) /* zero */) != 0)
        result = -errno;
    if (seteuid(trial->battery->uid) != 0)
        result = -errno;
    umask(mask);
    close(directory);
    return result;
}

static int act_open_read(const struct order *order, struct answer *answer)
{
    answer->number = 1;
    return read_answer(open(order->path[0], O_RDONLY | O_NONBLOCK | O_NOCTTY), answer);
}

static int act_make_node(const struct order *order, struct answer *answer)
{
    char name[PLACE_SIZE];

    if (place_join(name, order->inner, "node") < 0 || mknod(name, S_IFCHR | 0600, makedev(1, 5)) != 0)
        return errno;
    return read_answer(open(name, O_RDONLY), answer);
}

static int act_open_device(const struct order *order, const char *name, struct answer *answer)
{
    (void)order;
    (void)answer;
    return open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY) < 0 ? errno : 0;
}

static int act_kmsg(const struct order *order, struct answer *answer)
{
    return act_open_device(order, "/dev/kmsg", answer);
}

static int act_mem(const struct order *order, struct answer *answer)
{
    return act_open_device(order, "/dev/mem", answer);
}

static int act_console(const struct order *order, struct answer *answer)
{
    return act_open_device(order, "/dev/console", answer);
}

static int open_for_writing(const char *name)
{
    return open(name, O_WRONLY | O_APPEND) < 0 ? errno : 0;
}

static int act_core_pattern(const struct order *order, struct answer *answer)
{
    (void)order;
    (void)answer;
    return open_for_writing("/proc/sys/kernel/core_pattern");
}

static int act_modprobe(const struct order *order, struct answer *answer)
{
    (void)order;
    (void)answer;
    return open_for_writing("/proc/sys/kernel/modprobe");
}

static int act_uevent_helper(const struct order *order, struct answer *answer)
{
    (void)order;
    (void)answer;
    return open_for_writing("/sys/kernel/uevent_helper");
}

static int act_sysrq(const struct order *order, struct answer *answer)
{
    (void)order;
    (void)answer;
    return open_for_writing("/proc/sysrq-trigger");
}

/* --- watches ---------------------------------------------------------------------------------------------
 */

static int act_inotify(const struct order *order, struct answer *answer)
{
    (void)answer;
    return inotify_add_watch(inotify_init(), order->path[1], IN_CREATE) < 0 ? errno : 0;
}

static int act_fanotify(const struct order *order, struct answer *answer)
{
    int group = (int)syscall(SYS_fanotify_init, 0x200 /* report file ids */, O_RDONLY);

    (void)answer;
    if (group < 0)
        return errno;
    return syscall(SYS_fanotify_mark, group, 1 /* add */, 0x100 /* create */ | 0x40000000, AT_FDCWD,
                   order->path[1])
               ? errno
               : 0;
}

static int act_lease(const struct order *order, struct answer *answer)
{
    (void)answer;
    return fcntl(open(order->path[0], O_RDONLY), F_SETLEASE, F_RDLCK) != 0 ? errno : 0;
}

static int look_leased(struct trial *trial)
{
    int fd = open(trial->order.path[0], O_WRONLY | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return errno == EAGAIN ? 1 : -errno;
    close(fd);
    return 0;
}

static int act_lock(const struct order *order, struct answer *answer)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

    (void)answer;
    return fcntl(open(order->path[0], O_RDONLY), F_SETLK, &lock) != 0 ? errno : 0;
}

static int look_locked(struct trial *trial)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open(trial->order.path[0], O_RDWR | O_CLOEXEC), result;

    if (fd < 0)
        return -errno;
    result = fcntl(fd, F_GETLK, &lock) != 0 ? -errno : lock.l_type == F_RDLCK;
    close(fd);
    return result;
}

/* The same build, and as long awake: no other kernel is both. */
static int act_kernel(const struct order *order, struct answer *answer)
{
    struct timespec awake;
    struct utsname name;

    (void)order;
    if (uname(&name) != 0 || clock_gettime(CLOCK_BOOTTIME, &awake) != 0)
        return errno;
    snprintf(answer->data, sizeof(answer->data), "%.63s", name.version);
    answer->number = (long)awake.tv_sec;
    return 0;
}

static int look_kernel(struct trial *trial)
{
    struct answer own = {0};

    if (act_kernel(NULL, &own) != 0)
        return -EIO;
    return trial->answer.errnum == 0 && strcmp(own.data, trial->answer.data) == 0 &&
           own.number - trial->answer.number < 30 && own.number >= trial->answer.number;
}

static int act_flock(const struct order *order, struct answer *answer)
{
    (void)answer;
    return flock(open(order->path[0], O_RDONLY), LOCK_EX | LOCK_NB) != 0 ? errno : 0;
}

static int look_flocked(struct trial *trial)
{
    int fd = open(trial->order.path[0], O_RDONLY | O_CLOEXEC), result;

    if (fd < 0)
        return -errno;
    result = flock(fd, LOCK_EX | LOCK_NB) != 0;
    close(fd);
    return result;
}

static int act_notify(const struct order *order, struct answer *answer)
{
    (void)answer;
    return fcntl(open(order->path[1], O_RDONLY | O_DIRECTORY), F_NOTIFY, DN_CREATE) != 0 ? errno : 0;
}

static int act_cgroup(const struct order *order, struct answer *answer)
{
    static const char *const places[] = {"/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/unified/cgroup.procs",
                                         "/sys/fs/cgroup/systemd/cgroup.procs"};
    int errnum = ENOENT;

    (void)order;
    (void)answer;
    for (size_t i = 0; i < ITEMS(places) && errnum; i++)
        errnum = open_for_writing(places[i]);
    return errnum;
}

#define SECRETS "what is read can be sent, by whatever way is left"
#define MACHINE "it changes the machine for everybody"
#define READS(id, flags, call, what, prepare, act, look)                                                     \
    {                                                                                                        \
        id, SURFACE_FS_READ, flags, call, what, SECRETS, prepare, act, look, NULL                            \
    }
#define HIDDEN(id, flags, call, what, act, look)                                                             \
    {                                                                                                        \
        id, SURFACE_FS_HIDDEN, flags, call, what,                                                            \
            "keys and tokens of the user are worth more than the project", prepare_credential, act, look,    \
            NULL                                                                                             \
    }
#define WATCHES(id, call, what, prepare, act, look)                                                          \
    {                                                                                                        \
        id, SURFACE_FS_WATCH, 0, call, what, "it tells what others do, or makes them wait", prepare, act,    \
            look, NULL                                                                                       \
    }
#define DRIVES(id, flags, call, what, prepare, act, look)                                                    \
    {                                                                                                        \
        id, SURFACE_FS_DEVICE, flags, call, what, "a device is another way to disks, keys and screens",      \
            prepare, act, look, NULL                                                                         \
    }
#define SWITCHES(id, call, what, act)                                                                        \
    {                                                                                                        \
        id, SURFACE_FS_WRITE, SEEN_INSIDE, call, what, MACHINE, NULL, act, NULL, NULL                        \
    }

const struct attempt view_attempts[] = {
    {"FS-30", SURFACE_FS_READ, BEFORE_START, "open(/tmp/file, O_RDONLY)",
     "read a file of another program in /tmp", SECRETS, prepare_tmp, act_read, look_secret, finish_file},
    {"FS-27", SURFACE_FS_READ, BEFORE_START, "unshare(CLONE_NEWUSER|CLONE_NEWNS); umount2(/tmp, MNT_DETACH)",
     "take the private /tmp away to see the other one", SECRETS, prepare_tmp, act_reveal, look_secret,
     finish_file},
    DRIVES("FS-35", IN_WORKSPACE, "mknod(inner/node, S_IFCHR); open(inner/node)",
           "make a device node in the workspace, and open it", NULL, act_make_node, NULL),
    DRIVES("FS-36", NEEDS_ROOT | BEFORE_START, "open(outside/node)", "open a device node that is not in /dev",
           prepare_node, act_open_read, NULL),
    {"FS-37", SURFACE_FS_SPECIAL, 0, "open(outside/fifo, O_WRONLY|O_NONBLOCK)", "write to a FIFO outside",
     "a read-only mount does not stop it, and somebody obeys what comes out", prepare_fifo, act_write_to,
     look_arrived, NULL},
    READS("FS-38", 0, "open(outside/secret, O_RDONLY)", "read a private file outside", place_secret, act_read,
          look_secret),
    WATCHES("FS-39", "stat(outside/secret)", "learn the size of a private file outside", place_secret,
            act_stat, look_size),
    WATCHES("FS-40", "inotify_add_watch(outside)", "watch a directory outside", NULL, act_inotify, NULL),
    WATCHES("FS-42", "fcntl(outside/victim, F_SETLEASE, F_RDLCK)", "take a lease on a file outside",
            place_victim, act_lease, look_leased),
    {"FS-43", SURFACE_FS_WRITE, 0, "open(/dev/shm/made, O_CREAT)", "create a file in the host's /dev/shm",
     "programs of the user share memory there", prepare_name_shm, act_make, look_made, finish_made},
    DRIVES("FS-56", SEEN_INSIDE, "open(/dev/kmsg, O_RDONLY)", "read the log of the kernel", NULL, act_kmsg,
           NULL),
    SWITCHES("FS-57", "open(/proc/sys/kernel/core_pattern, O_WRONLY)",
             "open the switch that names the crash handler", act_core_pattern),
    {"FS-81", SURFACE_FS_WRITE, 0, "open(/tmp/made, O_CREAT)", "create a file in the host's /tmp",
     "programs of the user look for files of theirs there", prepare_name_tmp, act_make, look_made,
     finish_made},
    READS("FS-82", 0, "readdir(outside)", "list a directory outside", prepare_list, act_list, look_secret),
    {"FS-83", SURFACE_FS_READ, BEFORE_START, "open(/dev/shm/file, O_RDONLY)",
     "read a file of another program in /dev/shm", SECRETS, prepare_shm, act_read, look_secret, finish_file},
    HIDDEN("FS-84", 0, "open(credential, O_RDONLY)", "read a hidden credential", act_read, look_credential),
    HIDDEN("FS-85", IN_WORKSPACE, "symlink(credential, link); open(link)",
           "read a credential through a symbolic link", act_read_link, look_credential),
    HIDDEN("FS-86", IN_WORKSPACE, "link(credential, link); open(link)",
           "give a credential a name in the workspace, and read it", act_read_hard_link, look_credential),
    HIDDEN("FS-87", 0, "open(/proc/self/root/credential)", "read a credential by way of /proc/self/root",
           act_read_own_root, look_credential),
    HIDDEN("FS-88", 0, "open(credential, O_PATH); open(/proc/self/fd/N)",
           "open a credential as a mere path, and that for reading", act_read_reopen, look_credential),
    HIDDEN("FS-89", 0, "readdir(directory of the credential)", "see the name of a credential", act_list,
           look_name),
    WATCHES("FS-90", "fcntl(outside/victim, F_SETLK, F_RDLCK)", "lock a file outside", place_victim, act_lock,
            look_locked),
    WATCHES("IPC-06", "fanotify_mark(outside)", "watch a directory outside by the other interface", NULL,
            act_fanotify, NULL),
    {"FS-91", SURFACE_FS_SPECIAL, 0, "open(outside/fifo, O_PATH); open(/proc/self/fd/N, O_WRONLY)",
     "write to a FIFO that was opened as a mere path",
     "a read-only mount does not stop it, and somebody obeys what comes out", prepare_fifo, act_write_reopen,
     look_arrived, NULL},
    DRIVES("FS-92", 0, "open(/dev/pts/N, O_WRONLY)", "write on another terminal of the user",
           prepare_other_terminal, act_write_to, look_arrived),
    DRIVES("FS-93", SEEN_INSIDE, "open(/dev/mem, O_RDONLY)", "read the memory of the machine", NULL, act_mem,
           NULL),
    DRIVES("FS-94", SEEN_INSIDE, "open(/dev/console, O_RDONLY)", "open the console", NULL, act_console, NULL),
    SWITCHES("FS-95", "open(/proc/sys/kernel/modprobe, O_WRONLY)",
             "open the switch that names the module loader", act_modprobe),
    SWITCHES("FS-96", "open(/sys/kernel/uevent_helper, O_WRONLY)",
             "open the switch that names the helper for devices", act_uevent_helper),
    SWITCHES("FS-97", "open(/proc/sysrq-trigger, O_WRONLY)", "open the switch that restarts the machine",
             act_sysrq),
    {"KERN-01", SURFACE_KERNEL_SEPARATE, 0, "uname(); clock_gettime(CLOCK_BOOTTIME)",
     "find out that the kernel is the host's", "a fault of the kernel is everybody's", NULL, act_kernel,
     look_kernel, NULL},
    WATCHES("FS-118", "fcntl(outside, F_NOTIFY)", "watch a directory outside by signals", NULL, act_notify,
            NULL),
    WATCHES("FS-119", "flock(outside/victim, LOCK_EX)", "lock a whole file outside", place_victim, act_flock,
            look_flocked),
    SWITCHES("PROC-27", "open(/sys/fs/cgroup/cgroup.procs, O_WRONLY)",
             "open what moves processes to another group", act_cgroup),
    {0},
};
