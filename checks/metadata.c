/*
 * metadata.c - mode, owner, times and attributes of files outside.
 */
#include "battery.h"
#include "place.h"

#include "links/kernel_abi.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define FLAGS_GET 0x80086601UL
#define FLAGS_SET 0x40086602UL
#define NO_DUMP   0x40

static int answer_of(long result)
{
    return result < 0 ? errno : 0;
}

static int act_chmod(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(chmod(order->path[0], 0666));
}

static int act_fchmod(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(fchmod(open(order->path[0], O_RDONLY), 0666));
}

static int act_fchmodat2(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(syscall(SYS_fchmodat2, AT_FDCWD, order->path[0], 0666, 0));
}

/* The victim by its way from the directory that the command was started in. */
static int act_chmod_relative(const struct order *order, struct answer *answer)
{
    const char *workspace_end = strrchr(order->inner, '/'), *base_end;
    char here[PLACE_SIZE], path[PLACE_SIZE];

    (void)answer;
    if (!workspace_end || !getcwd(here, sizeof(here)))
        return errno;
    if (strlen(here) != (size_t)(workspace_end - order->inner) ||
        strncmp(here, order->inner, strlen(here)) != 0) { /* the control was started elsewhere */
        snprintf(here, sizeof(here), "%.*s", (int)(workspace_end - order->inner), order->inner);
        if (chdir(here) != 0)
            return errno;
    }
    base_end = strrchr(here, '/');
    if (!base_end || strncmp(order->path[0], here, (size_t)(base_end - here) + 1) != 0)
        return ENOENT;
    if (place_join(path, "..", order->path[0] + (base_end - here) + 1) < 0)
        return ENAMETOOLONG;
    return answer_of(chmod(path, 0666));
}

static int look_mode(struct trial *trial)
{
    struct stat object;

    return stat(trial->order.path[0], &object) != 0 ? -errno : (object.st_mode & 07777) == 0666;
}

static const struct timespec early[2] = {{.tv_sec = 12345}, {.tv_sec = 12345}};

static int act_utimes(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(utimensat(AT_FDCWD, order->path[0], early, 0));
}

static int act_futimes(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(futimens(open(order->path[0], O_RDONLY), early));
}

static int look_times(struct trial *trial)
{
    struct stat object;

    return stat(trial->order.path[0], &object) != 0 ? -errno : object.st_mtime == 12345;
}

static int act_setxattr(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(setxattr(order->path[0], "user.confine-check", "x", 1, 0));
}

static int act_fsetxattr(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(fsetxattr(open(order->path[0], O_RDONLY), "user.confine-check", "x", 1, 0));
}

static int act_setxattrat(const struct order *order, struct answer *answer)
{
    struct {
        uint64_t value;
        uint32_t size, flags;
    } arguments = {(uintptr_t) "x", 1, 0};

    (void)answer;
    return answer_of(syscall(SYS_setxattrat, AT_FDCWD, order->path[0], 0, "user.confine-check", &arguments,
                             sizeof(arguments)));
}

static int look_attribute(struct trial *trial)
{
    char value;

    return getxattr(trial->order.path[0], "user.confine-check", &value, 1) == 1;
}

static int prepare_attribute(struct trial *trial)
{
    int result = place_victim(trial);

    if (result < 0)
        return result;
    if (setxattr(trial->order.path[0], "user.confine-check", "x", 1, 0) == 0)
        return 0;
    return place_skip(trial, "this file system has no attributes of users");
}

static int act_removexattr(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(removexattr(order->path[0], "user.confine-check"));
}

static int look_no_attribute(struct trial *trial)
{
    return !look_attribute(trial);
}

/* To the own group: nothing changes but the time of the change. */
static int prepare_changed(struct trial *trial)
{
    struct stat object;
    int result = place_victim(trial);
    struct timespec pause = {.tv_nsec = 20000000}; /* the clock of a file system is coarse */

    if (result < 0)
        return result;
    if (stat(trial->order.path[0], &object) != 0)
        return -errno;
    trial->id = object.st_ctim.tv_sec * 1000000000L + object.st_ctim.tv_nsec;
    nanosleep(&pause, NULL);
    return 0;
}

static int act_chown(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(chown(order->path[0], (uid_t)-1, getgid()));
}

static int act_fchown(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(fchown(open(order->path[0], O_RDONLY), (uid_t)-1, getgid()));
}

static int look_changed_time(struct trial *trial)
{
    struct stat object;

    if (stat(trial->order.path[0], &object) != 0)
        return -errno;
    return object.st_ctim.tv_sec * 1000000000L + object.st_ctim.tv_nsec != trial->id;
}

static int act_flags(const struct order *order, struct answer *answer)
{
    int fd = open(order->path[0], O_RDONLY), flags = 0;

    (void)answer;
    if (fd < 0 || ioctl(fd, FLAGS_GET, &flags) != 0)
        return errno;
    flags |= NO_DUMP;
    return answer_of(ioctl(fd, FLAGS_SET, &flags));
}

static int act_file_setattr(const struct order *order, struct answer *answer)
{
    struct {
        uint64_t flags;
        uint32_t extent, blocks, project, copy_extent;
    } attributes = {0};

    (void)answer;
    if (syscall(SYS_file_getattr, AT_FDCWD, order->path[0], &attributes, sizeof(attributes), 0) != 0)
        return errno;
    attributes.flags |= 0x80; /* no dump */
    return answer_of(syscall(SYS_file_setattr, AT_FDCWD, order->path[0], &attributes, sizeof(attributes), 0));
}

static int look_flags(struct trial *trial)
{
    int fd = open(trial->order.path[0], O_RDONLY | O_CLOEXEC), flags = 0, result;

    if (fd < 0)
        return -errno;
    result = ioctl(fd, FLAGS_GET, &flags) != 0 ? 0 : (flags & NO_DUMP) != 0;
    close(fd);
    return result;
}

/* Is the mount on PATH one whose peers receive what is mounted below? */
static bool is_shared(const char *path)
{
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    char line[4096], point[PLACE_SIZE];
    bool shared = false;

    while (mounts && fgets(line, sizeof(line), mounts))
        if (sscanf(line, "%*d %*d %*s %*s %511s", point) == 1 && strcmp(point, path) == 0)
            shared = strstr(line, " shared:") != NULL;
    if (mounts)
        fclose(mounts);
    return shared;
}

/* A file system that somebody mounts outside, now: the confinement stands already. */
static int prepare_mounted(struct trial *trial)
{
    char point[PLACE_SIZE];
    int result = place_join(point, trial->dir, "mount");

    if (result < 0)
        return result;
    if (mkdir(point, 0755) != 0 || seteuid(0) != 0)
        return -errno;
    if (mount("tmpfs", point, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0777,size=64k") != 0)
        result = -errno;
    else
        janitor_note(LEFT_MOUNT, 0, point);
    if (seteuid(trial->battery->uid) != 0)
        return -errno;
    if (result == 0 && !is_shared(point))
        return place_skip(trial, "no namespace receives what is mounted here");
    return result < 0 ? result : place_file(trial->order.path[0], point, "victim", "original", 0644);
}

static void finish_mounted(struct trial *trial)
{
    char point[PLACE_SIZE];

    if (place_join(point, trial->dir, "mount") < 0 || seteuid(0) != 0)
        return;
    if (umount2(point, MNT_DETACH) == 0)
        janitor_forget(LEFT_MOUNT, 0, point);
    if (seteuid(trial->battery->uid) != 0)
        _exit(125); /* as root it would not show what the user can do */
}

static int act_chmod_descriptor(const struct order *order, struct answer *answer)
{
    char name[40];
    int fd = open(order->path[0], O_PATH);

    (void)answer;
    if (fd < 0)
        return errno;
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    return answer_of(chmod(name, 0666));
}

static int act_chown_path(const struct order *order, struct answer *answer)
{
    int fd = open(order->path[0], O_PATH);

    (void)answer;
    if (fd < 0)
        return errno;
    return answer_of(fchownat(fd, "", (uid_t)-1, getgid(), AT_EMPTY_PATH));
}

/* Version 2; the owner may do anything, and so may everybody else. */
static int act_acl(const struct order *order, struct answer *answer)
{
    static const struct {
        uint16_t tag, permissions;
        uint32_t id;
    } entries[] = {{1, 6, ~0U}, {4, 6, ~0U}, {32, 6, ~0U}};
    unsigned char list[4 + sizeof(entries)] = {2};

    (void)answer;
    memcpy(list + 4, entries, sizeof(entries));
    return answer_of(setxattr(order->path[0], "system.posix_acl_access", list, sizeof(list), 0));
}

static int act_directory(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(chmod(order->path[1], 0777));
}

static int look_directory(struct trial *trial)
{
    struct stat object;

    return stat(trial->dir, &object) != 0 ? -errno : (object.st_mode & 07777) == 0777;
}

#define CHANGES "a mode opens a key to everybody, a time deceives make and backups"
#define METADATA(id, call, what, prepare, act, look)                                                         \
    {                                                                                                        \
        id, SURFACE_FS_METADATA, 0, call, what, CHANGES, prepare, act, look, NULL                            \
    }

const struct attempt metadata_attempts[] = {
    METADATA("FS-31", "chmod(outside/victim, 0666)", "change the mode of a file outside", place_victim,
             act_chmod, look_mode),
    METADATA("FS-32", "utimensat(outside/victim)", "change the times of a file outside", place_victim,
             act_utimes, look_times),
    METADATA("FS-33", "setxattr(outside/victim)", "set an attribute of a file outside", place_victim,
             act_setxattr, look_attribute),
    METADATA("FS-34", "chown(outside/victim)", "change the group of a file outside", prepare_changed,
             act_chown, look_changed_time),
    METADATA("FS-103", "fchmod(open(outside/victim, O_RDONLY), 0666)",
             "change a mode through a descriptor for reading", place_victim, act_fchmod, look_mode),
    METADATA("FS-104", "fchmodat2(outside/victim, 0666)", "change a mode by the newer call", place_victim,
             act_fchmodat2, look_mode),
    METADATA("FS-105", "futimens(open(outside/victim, O_RDONLY))",
             "change times through a descriptor for reading", place_victim, act_futimes, look_times),
    METADATA("FS-106", "fsetxattr(open(outside/victim, O_RDONLY))",
             "set an attribute through a descriptor for reading", place_victim, act_fsetxattr,
             look_attribute),
    METADATA("FS-107", "setxattrat(outside/victim)", "set an attribute by the newer call", place_victim,
             act_setxattrat, look_attribute),
    METADATA("FS-108", "removexattr(outside/victim)", "remove an attribute of a file outside",
             prepare_attribute, act_removexattr, look_no_attribute),
    METADATA("FS-109", "fchown(open(outside/victim, O_RDONLY))",
             "change a group through a descriptor for reading", prepare_changed, act_fchown,
             look_changed_time),
    METADATA("FS-110", "ioctl(open(outside/victim, O_RDONLY), FS_IOC_SETFLAGS)",
             "set a flag of a file outside", place_victim, act_flags, look_flags),
    METADATA("FS-111", "file_setattr(outside/victim)", "set a flag by the newer call", place_victim,
             act_file_setattr, look_flags),
    METADATA("FS-114", "chmod(/proc/self/fd/N, 0666)", "change a mode through what was opened as a mere path",
             place_victim, act_chmod_descriptor, look_mode),
    METADATA("FS-115", "fchownat(N, AT_EMPTY_PATH)", "change a group through what was opened as a mere path",
             prepare_changed, act_chown_path, look_changed_time),
    METADATA("FS-116", "setxattr(outside/victim, system.posix_acl_access)",
             "change who may do what, as a list", place_victim, act_acl, look_mode),
    METADATA("FS-117", "chmod(outside, 0777)", "change the mode of a directory outside", NULL, act_directory,
             look_directory),
    {"FS-122", SURFACE_FS_METADATA, OWN_WORKSPACE | IN_WORKSPACE, "chmod(../outside/victim, 0666)",
     "change a mode by the way from the directory that it was started in", CHANGES, place_victim,
     act_chmod_relative, look_mode, NULL},
    {"FS-123", SURFACE_FS_METADATA, NEEDS_ROOT, "chmod(outside/mount/victim, 0666)",
     "change a mode on a file system that was mounted outside after the start", CHANGES, prepare_mounted,
     act_chmod, look_mode, finish_mounted},
    {0},
};
