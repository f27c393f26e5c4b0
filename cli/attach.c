/*
 * attach.c - the socket of --control.
 *
 * Should:  say before the run what is wrong with a descriptor or a name.
 * Mustn't: take a socket that the command has as well: it could end, and one day widen, its own run; connect
 *          to what a command may have put there, or to a socket of another user's.
 */
#include "cli/attach.h"

#include "cli/way.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define CONNECT_S 5 /* how long a listener whose queue is full is waited for */

static bool same_object(const struct stat *object, int fd)
{
    struct stat other;

    return fd >= 0 && fstat(fd, &other) == 0 && stat_same(&other, object);
}

/* Each socket is an object of its own, so a copy under another number is found too. */
static int refuse_shared(const struct way *way, int fd, int report, struct error *error)
{
    struct stat object;

    if (fstat(fd, &object) != 0)
        return way_fail(way, error, errno, "control-unusable", strerror(errno));
    for (int standard = 0; standard < 3; standard++)
        if (same_object(&object, standard))
            return way_fail(way, error, EPERM, "control-shared", "the command has this socket on 0 to 2");
    for (size_t i = 0; way->resolved && i < way->resolved->pass_fd_count; i++)
        if (same_object(&object, way->resolved->pass_fds[i]))
            return way_fail(way, error, EPERM, "control-shared", "it is passed to the command");
    if (same_object(&object, report))
        return way_fail(way, error, EPERM, "control-shared", "the report goes there");
    return 0;
}

static int take_descriptor(const struct way *way, int report, int *ret_fd, struct error *error)
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof(peer), type_size = sizeof(int);
    const char *digits = way->name + 3;
    char *end;
    long number = strtol(digits, &end, 10);
    int fd, type = 0, result;

    if (*digits < '0' || *digits > '9' || *end || number > INT_MAX)
        return way_fail(way, error, EINVAL, "option-value", "not the number of a descriptor");
    if (number < 3)
        return way_fail(way, error, EINVAL, "option-value", "0 to 2 are the command's");
    fd = (int)number;
    if (fcntl(fd, F_GETFD) < 0)
        return way_fail(way, error, errno, "control-unusable", "this descriptor is not open");
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size) != 0 || type != SOCK_STREAM) {
        way_fail(way, error, ENOTSOCK, "control-unusable",
                 "it must be a stream socket, as lines go both ways");
        return error_hint(error, "use one end of a socketpair()");
    }
    if (getpeername(fd, (struct sockaddr *)&peer, &size) != 0)
        return way_fail(way, error, errno, "control-unusable", "this socket is not connected");
    result = refuse_shared(way, fd, report, error);
    if (result < 0)
        return result;
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        return way_fail(way, error, errno, "control-unusable", strerror(errno));
    *ret_fd = fd;
    return 0;
}

static int check_listener(const struct way *way, int fd, struct error *error)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        return way_fail(way, error, errno, "control-unusable", strerror(errno));
    if (peer.uid != 0 && peer.uid != geteuid())
        return way_fail(way, error, EPERM, "control-foreign", "another user listens there");
    return 0;
}

static int connect_socket(const struct way *way, int *ret_fd, struct error *error)
{
    _cleanup_fd_ int directory = -1, fd = -1;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval most = {.tv_sec = CONNECT_S};
    char rest[PATH_MAX];
    struct stat object;
    int result = way_walk(way, rest, sizeof(rest), &directory, error);

    if (result < 0)
        return result;
    if (fstatat(directory, rest, &object, AT_SYMLINK_NOFOLLOW) != 0)
        return way_fail(way, error, errno, "control-unusable", strerror(errno));
    if (!S_ISSOCK(object.st_mode))
        return way_fail(way, error, ENOTSOCK, "control-unusable", "it is no socket");
    if (way_granted(way, &object))
        return way_fail(way, error, EPERM, "output-in-grant", "the command may write it");
    /* By the directory that was looked at, and so without a bound on the length of its name. */
    if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", directory,
                         rest) >= sizeof(address.sun_path))
        return way_fail(way, error, ENAMETOOLONG, "control-unusable", strerror(ENAMETOOLONG));
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most)) != 0 ||
        connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
        return way_fail(way, error, errno, "control-unusable", strerror(errno));
    result = check_listener(way, fd, error);
    if (result == 0)
        *ret_fd = steal_fd(&fd);
    return result;
}

int attach_control(const char *value, int report, const struct resolved *resolved, int *ret_fd,
                   struct error *error)
{
    struct way way = {.what = "control",
                      .instead =
                          "give one end of a socketpair() as fd:N, or unix:PATH of a socket where you listen",
                      .name = value,
                      .resolved = resolved};

    if (strncmp(value, "fd:", 3) == 0)
        return take_descriptor(&way, report, ret_fd, error);
    if (strncmp(value, "unix:", 5) == 0 && value[5]) {
        way.name = value + 5;
        return connect_socket(&way, ret_fd, error);
    }
    way_fail(&way, error, EINVAL, "option-value", "it is neither fd:N nor unix:PATH");
    return error_hint(error, "for example --control fd:3");
}
