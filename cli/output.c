/*
 * output.c - the file of --report.
 *
 * The command of an earlier run may have prepared the way to this file (way.c), or a second name of a file
 * outside.
 *
 * Should:  fail before the run when there is no room for a report.
 * Mustn't: follow a link at the end; touch a file that has other names or is no regular file.
 */
#include "cli/output.h"

#include "cli/cli.h"
#include "cli/way.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOM_BYTES (1 << 15) /* a report has about 10 KiB */

static int open_descriptor(struct output *output, const struct way *way, struct error *error)
{
    const struct resolved *resolved = way->resolved;
    const char *name = way->name;
    char *end;
    long number = strtol(name + 3, &end, 10);
    int flags;

    if (name[3] < '0' || name[3] > '9' || *end || number < 1 || number > INT_MAX)
        return way_fail(way, error, EINVAL, "option-value", "not the number of a descriptor");
    for (size_t i = 0; resolved && i < resolved->pass_fd_count; i++)
        if (resolved->pass_fds[i] == number)
            return way_fail(way, error, EPERM, "output-in-grant",
                            "it is passed to the command, which could write a report");
    flags = fcntl((int)number, F_GETFL);
    if (flags < 0)
        return way_fail(way, error, errno, "output-unusable", "this descriptor is not open");
    if ((flags & O_ACCMODE) == O_RDONLY || flags & O_PATH)
        return way_fail(way, error, EBADF, "output-unusable", "this descriptor is not open for writing");
    /* A copy, so that the command cannot inherit it; 1 and 2 stay the command's as well. */
    output->fd = fcntl((int)number, F_DUPFD_CLOEXEC, 3);
    if (output->fd < 0)
        return way_fail(way, error, errno, "output-unusable", strerror(errno));
    if (number > 2 && fcntl((int)number, F_SETFD, FD_CLOEXEC) != 0)
        return way_fail(way, error, errno, "output-unusable", strerror(errno));
    return 0;
}

/* What was opened must be a file of the caller's alone; then there must be room in it. */
static int check_file(int fd, const struct way *way, struct error *error)
{
    struct rlimit limit;
    struct stat st;

    if (fstat(fd, &st) != 0)
        return way_fail(way, error, errno, "output-unusable", strerror(errno));
    if (!S_ISREG(st.st_mode)) {
        way_fail(way, error, EINVAL, "output-not-regular", "it is no regular file");
        return error_hint(error, "use fd:N for pipes and devices");
    }
    if (st.st_nlink > 1)
        return way_fail(way, error, EMLINK, "output-behind-link", "the file has other names (hard links)");
    if (way_granted(way, &st))
        return way_fail(way, error, EPERM, "output-in-grant", "the command may write it");
    if (ftruncate(fd, 0) != 0)
        return way_fail(way, error, errno, "output-unusable", strerror(errno));
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < ROOM_BYTES)
        return way_fail(way, error, EFBIG, "output-no-room",
                        "the limit on the size of files (ulimit -f) is too low");
    if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, ROOM_BYTES) != 0 && errno != EOPNOTSUPP && errno != ENOSYS &&
        errno != EINVAL)
        return way_fail(way, error, errno, "output-no-room", strerror(errno));
    return 0;
}

int output_open(struct output *output, const char *what, const char *name, const struct resolved *resolved,
                struct error *error)
{
    const struct way way = {.what = what,
                            .instead =
                                "name a file, in a directory that is there, that only you can write; or an "
                                "open descriptor, fd:N",
                            .name = name,
                            .resolved = resolved};
    const int flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;
    _cleanup_fd_ int directory = -1, fd = -1;
    char rest[PATH_MAX];
    bool made;
    int result;

    *output = OUTPUT_NONE;
    output->name = name;
    output->what = what;
    if (strncmp(name, "fd:", 3) == 0)
        return open_descriptor(output, &way, error);
    result = way_walk(&way, rest, sizeof(rest), &directory, error);
    if (result < 0)
        return result;
    fd = openat(directory, rest, flags | O_EXCL, 0666);
    made = fd >= 0;
    if (fd < 0 && errno == EEXIST)
        fd = openat(directory, rest, flags, 0666);
    if (fd < 0 && errno == ELOOP) {
        way_fail(&way, error, ELOOP, "output-behind-link", "it is a symbolic link");
        return error_hint(error, "name the file itself; stdout is fd:1");
    }
    if (fd < 0)
        return way_fail(&way, error, errno, errno == ENOSPC ? "output-no-room" : "output-unusable",
                        strerror(errno));
    result = check_file(fd, &way, error);
    if (result < 0 && made)
        unlinkat(directory, rest, 0); /* an empty file would be taken for a report */
    if (result < 0)
        return result;
    output->regular = true;
    output->fd = steal_fd(&fd);
    return 0;
}

int output_write(struct output *output, const struct text *text, struct error *error)
{
    const struct way way = {.what = output->what, .name = output->name};
    int result = cli_write(output->fd, text);

    /* What was reserved and not needed goes back: only a change of size makes every file system do it. */
    if (result == 0 && output->regular && text->length < ROOM_BYTES &&
        (ftruncate(output->fd, ROOM_BYTES) != 0 || ftruncate(output->fd, (off_t)text->length) != 0))
        result = -errno;
    if (close(output->fd) != 0 && result == 0)
        result = -errno;
    output->fd = -1;
    if (result < 0)
        return way_fail(&way, error, -result, "output-failed", strerror(-result));
    return 0;
}
