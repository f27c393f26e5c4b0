/*
 * handed.c - look at a descriptor that is handed to the command.
 *
 * A filter refuses the making of sockets and Landlock the opening of terminals; what is open already is
 * subject to neither. A connected stream of UNIX sockets (what Node gives as standard input) reaches its peer
 * alone. A datagram socket reaches every name, and a TCP connection can be dissolved and made anew.
 */
#include "kernel/handed.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* -1 when the kernel does not say. */
static int ask(int fd, int option)
{
    int value = -1;
    socklen_t size = sizeof(value);

    return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

/* A pair, or a connection: it cannot be connected to another name. */
static bool has_peer(int fd, int type)
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof(peer);

    return (type == SOCK_STREAM || type == SOCK_SEQPACKET) &&
           getpeername(fd, (struct sockaddr *)&peer, &size) == 0;
}

void handed_look(struct handed *handed, int fd)
{
    struct stat object;
    int family, type;

    if (fstat(fd, &object) != 0)
        return;
    if (!S_ISSOCK(object.st_mode)) {
        handed->directory |= S_ISDIR(object.st_mode);
        handed->read_only |= S_ISREG(object.st_mode) && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY;
        handed->regular |= S_ISREG(object.st_mode);
        handed->terminal |= S_ISCHR(object.st_mode) && isatty(fd);
        return;
    }
    family = ask(fd, SO_DOMAIN);
    type = ask(fd, SO_TYPE);
    if (family == AF_UNIX)
        handed->unix_name |= !has_peer(fd, type);
    else if ((family == AF_INET || family == AF_INET6) && type == SOCK_STREAM)
        handed->tcp = true;
    else if ((family == AF_INET || family == AF_INET6) && type == SOCK_DGRAM)
        handed->udp = true;
    else
        handed->other = true;
    if (family < 0 || type < 0)
        handed->tcp = handed->udp = handed->unix_name = true;
}
