/*
 * output.c - the file of --report.
 *
 * The command of an earlier run may have prepared the way to this file: a link
 * or a directory in the workspace, a second name of a file outside.
 *
 * Should:  walk to the file directory by directory and look at each one; fail
 *          before the run when there is no room for a report.
 * Mustn't: pass through anything that the command can write; follow a link at
 *          the end; touch a file that has other names or is no regular file.
 */
#include "cli/output.h"

#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX  40        /* as the kernel has it */
#define ROOM_BYTES (1 << 15) /* a report has about 10 KiB */

static int fail(struct error *error, int errnum, const char *reason, const char *name, const char *why)
{
    return error_set(error, ERROR_USAGE, errnum, reason, "report %s: %s", QUOTE(name), why);
}

/* Does the command hold a writable grant on exactly this object? Everything below it is passed on the way. */
static bool is_granted(const struct resolved *resolved, const struct stat *st)
{
    for (size_t i = 0; resolved && i < resolved->path_count; i++)
        if (resolved->paths[i].grant == GRANT_WRITE && resolved->paths[i].device == st->st_dev &&
            resolved->paths[i].inode == st->st_ino)
            return true;
    return false;
}

static int check_directory(int fd, const char *name, const struct resolved *resolved, struct error *error)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return fail(error, errno, "output-unusable", name, strerror(errno));
    if (!is_granted(resolved, &st))
        return 0;
    fail(error, EPERM, "output-in-grant", name,
         "it lies where the command may write, so it could be replaced");
    return error_hint(error, "choose a place outside the workspace, or fd:N");
}

/* Puts the target of the link NAME below FD in front of what is left of the way. */
static int expand_link(int fd, const char *component, char *rest, size_t size, const char *name,
                       const struct resolved *resolved, struct error *error)
{
    char target[PATH_MAX], joined[2 * PATH_MAX];
    ssize_t length = readlinkat(fd, component, target, sizeof(target) - 1);
    struct stat st;

    if (length < 0)
        return fail(error, errno, "output-unusable", name, strerror(errno));
    target[length] = '\0';
    /* Only the system's own links are passed: any other one may have been made by a command of an earlier
     * run. Where commands run as root these cannot be told apart. */
    if (fstatat(fd, component, &st, AT_SYMLINK_NOFOLLOW) != 0 || st.st_uid != 0 ||
        (resolved ? resolved->uid : geteuid()) == 0) {
        fail(error, ELOOP, "output-behind-link", name, "a directory on the way is a link");
        return error_hint(error, "name the file itself, without the link");
    }
    if ((size_t)snprintf(joined, sizeof(joined), "%s/%s", target, rest) >= size)
        return fail(error, ENAMETOOLONG, "output-unusable", name, strerror(ENAMETOOLONG));
    memcpy(rest, joined, strlen(joined) + 1);
    return 0;
}

/* One step of walk_to(): opens the next component, or expands the link that it is. */
static int walk_step(int *fd, const char *component, char *rest, size_t size, int *links, const char *name,
                     const struct resolved *resolved, struct error *error)
{
    _cleanup_fd_ int next = openat(*fd, component, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    int result;

    if (next < 0 || fstat(next, &st) != 0)
        return fail(error, errno, "output-unusable", name, strerror(errno));
    if (S_ISLNK(st.st_mode)) {
        if (++*links > LINKS_MAX)
            return fail(error, ELOOP, "output-unusable", name, strerror(ELOOP));
        result = expand_link(*fd, component, rest, size, name, resolved, error);
        if (result < 0 || *rest != '/')
            return result;
        fd_close(*fd);
        *fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        return *fd < 0 ? fail(error, errno, "output-unusable", name, strerror(errno))
                       : check_directory(*fd, name, resolved, error);
    }
    if (!S_ISDIR(st.st_mode))
        return fail(error, ENOTDIR, "output-unusable", name, strerror(ENOTDIR));
    fd_close(*fd);
    *fd = steal_fd(&next);
    return check_directory(*fd, name, resolved, error);
}

/* Does the current directory, or one above it, belong to the command? */
static int check_start(const char *name, const struct resolved *resolved, struct error *error)
{
    _cleanup_fd_ int fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat st, above;

    if (fd < 0)
        return fail(error, errno, "output-unusable", name, strerror(errno));
    for (;;) {
        int up, result = check_directory(fd, name, resolved, error);

        if (result < 0)
            return result;
        up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (up < 0 || fstat(fd, &st) != 0 || fstat(up, &above) != 0) {
            result = fail(error, errno, "output-unusable", name, strerror(errno));
            fd_close(up);
            return result;
        }
        fd_close(fd);
        fd = up;
        if (st.st_dev == above.st_dev && st.st_ino == above.st_ino)
            return 0;
    }
}

/* The directory of NAME, opened; *REST is set to what is left: the file's own name. */
static int walk_to(const char *name, char *rest, size_t size, const struct resolved *resolved, int *ret_fd,
                   struct error *error)
{
    _cleanup_fd_ int fd = open(*name == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int links = 0, result;

    if (fd < 0)
        return fail(error, errno, "output-unusable", name, strerror(errno));
    if ((size_t)snprintf(rest, size, "%s", name) >= size)
        return fail(error, ENAMETOOLONG, "output-unusable", name, strerror(ENAMETOOLONG));
    result = *name == '/' ? check_directory(fd, name, resolved, error) : check_start(name, resolved, error);
    while (result == 0) {
        char component[NAME_MAX + 1];
        char *start = rest + strspn(rest, "/"), *slash = strchr(start, '/');

        memmove(rest, start, strlen(start) + 1);
        if (!slash)
            break;
        slash = strchr(rest, '/');
        if ((size_t)(slash - rest) >= sizeof(component))
            return fail(error, ENAMETOOLONG, "output-unusable", name, strerror(ENAMETOOLONG));
        memcpy(component, rest, (size_t)(slash - rest));
        component[slash - rest] = '\0';
        memmove(rest, slash + 1, strlen(slash + 1) + 1);
        result = walk_step(&fd, component, rest, size, &links, name, resolved, error);
    }
    if (result == 0 && (!*rest || strcmp(rest, ".") == 0 || strcmp(rest, "..") == 0))
        result = fail(error, EISDIR, "output-unusable", name, "it is a directory");
    if (result == 0)
        *ret_fd = steal_fd(&fd);
    return result;
}

static int open_descriptor(struct output *output, const char *name, const struct resolved *resolved,
                           struct error *error)
{
    char *end;
    long number = strtol(name + 3, &end, 10);
    int flags;

    if (name[3] < '0' || name[3] > '9' || *end || number < 1 || number > INT_MAX)
        return fail(error, EINVAL, "option-value", name, "not the number of a descriptor");
    for (size_t i = 0; resolved && i < resolved->pass_fd_count; i++)
        if (resolved->pass_fds[i] == number)
            return fail(error, EPERM, "output-in-grant", name,
                        "it is passed to the command, which could write a report");
    flags = fcntl((int)number, F_GETFL);
    if (flags < 0)
        return fail(error, errno, "output-unusable", name, "this descriptor is not open");
    if ((flags & O_ACCMODE) == O_RDONLY || flags & O_PATH)
        return fail(error, EBADF, "output-unusable", name, "this descriptor is not open for writing");
    /* A copy, so that the command cannot inherit it; 1 and 2 stay the command's as well. */
    output->fd = fcntl((int)number, F_DUPFD_CLOEXEC, 3);
    if (output->fd < 0)
        return fail(error, errno, "output-unusable", name, strerror(errno));
    if (number > 2 && fcntl((int)number, F_SETFD, FD_CLOEXEC) != 0)
        return fail(error, errno, "output-unusable", name, strerror(errno));
    return 0;
}

/* What was opened must be a file of the caller's alone; then there must be room in it. */
static int check_file(int fd, const char *name, const struct resolved *resolved, struct error *error)
{
    struct rlimit limit;
    struct stat st;

    if (fstat(fd, &st) != 0)
        return fail(error, errno, "output-unusable", name, strerror(errno));
    if (!S_ISREG(st.st_mode)) {
        fail(error, EINVAL, "output-not-regular", name, "it is no regular file");
        return error_hint(error, "use fd:N for pipes and devices");
    }
    if (st.st_nlink > 1)
        return fail(error, EMLINK, "output-behind-link", name, "the file has other names (hard links)");
    if (is_granted(resolved, &st))
        return fail(error, EPERM, "output-in-grant", name, "the command may write it");
    if (ftruncate(fd, 0) != 0)
        return fail(error, errno, "output-unusable", name, strerror(errno));
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < ROOM_BYTES)
        return fail(error, EFBIG, "output-no-room", name,
                    "the limit on the size of files (ulimit -f) is too low");
    if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, ROOM_BYTES) != 0 && errno != EOPNOTSUPP && errno != ENOSYS &&
        errno != EINVAL)
        return fail(error, errno, "output-no-room", name, strerror(errno));
    return 0;
}

int output_open(struct output *output, const char *name, const struct resolved *resolved, struct error *error)
{
    _cleanup_fd_ int directory = -1, fd = -1;
    char rest[PATH_MAX];
    int result;

    *output = OUTPUT_NONE;
    output->name = name;
    if (strncmp(name, "fd:", 3) == 0)
        return open_descriptor(output, name, resolved, error);
    result = walk_to(name, rest, sizeof(rest), resolved, &directory, error);
    if (result < 0)
        return result;
    fd = openat(directory, rest, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0666);
    if (fd < 0 && errno == ELOOP) {
        fail(error, ELOOP, "output-behind-link", name, "it is a symbolic link");
        return error_hint(error, "name the file itself");
    }
    if (fd < 0)
        return fail(error, errno, errno == ENOSPC ? "output-no-room" : "output-unusable", name,
                    strerror(errno));
    result = check_file(fd, name, resolved, error);
    if (result < 0)
        return result;
    output->regular = true;
    output->fd = steal_fd(&fd);
    return 0;
}

int output_write(struct output *output, const struct text *text, struct error *error)
{
    int result = cli_write(output->fd, text);

    /* What was reserved and not needed goes back: only a change of size makes every file system do it. */
    if (result == 0 && output->regular && text->length < ROOM_BYTES &&
        (ftruncate(output->fd, ROOM_BYTES) != 0 || ftruncate(output->fd, (off_t)text->length) != 0))
        result = -errno;
    if (close(output->fd) != 0 && result == 0)
        result = -errno;
    output->fd = -1;
    if (result < 0)
        return fail(error, -result, "output-failed", output->name, strerror(-result));
    return 0;
}
