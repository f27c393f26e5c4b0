/*
 * local.c - sockets of this machine, by a path and by an abstract name.
 */
#include "network.h"
#include "place.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static union name local_name(const char *path)
{
    union name name = {.local = {.sun_family = AF_UNIX}};

    snprintf(name.local.sun_path, sizeof(name.local.sun_path), "%s", path);
    return name;
}

static int prepare_path(struct trial *trial, const char *directory, int type)
{
    union name name;
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), result = place_keep(trial, 0, fd);

    if (result == 0)
        result = place_join(trial->order.path[0], directory, "s");
    if (result < 0)
        return result;
    if (strlen(trial->order.path[0]) >= sizeof(name.local.sun_path))
        return place_skip(trial, "the path is too long for the name of a socket");
    name = local_name(trial->order.path[0]);
    return bind(fd, &name.any, sizeof(name.local)) != 0 || (type != SOCK_DGRAM && listen(fd, 5) != 0) ? -errno
                                                                                                      : 0;
}

static int prepare_path_stream(struct trial *trial)
{
    return prepare_path(trial, trial->dir, SOCK_STREAM);
}

static int prepare_inner_stream(struct trial *trial)
{
    return prepare_path(trial, trial->order.inner, SOCK_STREAM);
}

static int prepare_path_datagram(struct trial *trial)
{
    return prepare_path(trial, trial->dir, SOCK_DGRAM);
}

static int act_path_stream(const struct order *order, struct answer *answer)
{
    union name name = local_name(order->path[0]);

    (void)answer;
    return socket_connect(order, &name, sizeof(name.local), SOCK_STREAM, 0);
}

static int act_path_datagram(const struct order *order, struct answer *answer)
{
    union name name = local_name(order->path[0]);

    (void)answer;
    return socket_connect(order, &name, sizeof(name.local), SOCK_DGRAM, 0);
}

static int act_path_pair(const struct order *order, struct answer *answer)
{
    union name name = local_name(order->path[0]);
    int pair[2];

    (void)answer;
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0)
        return errno;
    return sendto(pair[0], order->mark, MARK_SIZE - 1, 0, &name.any, sizeof(name.local)) < 0 ? errno : 0;
}

static int act_path_link(const struct order *order, struct answer *answer)
{
    union name name;
    char link[PLACE_SIZE];

    (void)answer;
    if (chdir(order->inner) != 0 || place_join(link, order->inner, "s") < 0 ||
        symlink(order->path[0], link) != 0)
        return errno;
    name = local_name("s");
    return socket_connect(order, &name, sizeof(name.local), SOCK_STREAM, 0);
}

static socklen_t abstract_name(const struct order *order, union name *name)
{
    *name = (union name){.local = {.sun_family = AF_UNIX}};
    memcpy(name->local.sun_path + 1, order->path[0], strlen(order->path[0]));
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(order->path[0]));
}

static int prepare_abstract(struct trial *trial, int type)
{
    union name name;
    socklen_t size;
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), result = place_keep(trial, 0, fd);

    snprintf(trial->order.path[0], PLACE_SIZE, "confine-check-%s", trial->secret);
    if (result < 0)
        return result;
    size = abstract_name(&trial->order, &name);
    return bind(fd, &name.any, size) != 0 || (type != SOCK_DGRAM && listen(fd, 5) != 0) ? -errno : 0;
}

static int prepare_abstract_stream(struct trial *trial)
{
    return prepare_abstract(trial, SOCK_STREAM);
}

static int prepare_abstract_datagram(struct trial *trial)
{
    return prepare_abstract(trial, SOCK_DGRAM);
}

static int prepare_abstract_packets(struct trial *trial)
{
    return prepare_abstract(trial, SOCK_SEQPACKET);
}

static int connect_abstract(const struct order *order, int type)
{
    union name name;
    socklen_t size = abstract_name(order, &name);

    return socket_connect(order, &name, size, type, 0);
}

static int act_abstract_stream(const struct order *order, struct answer *answer)
{
    (void)answer;
    return connect_abstract(order, SOCK_STREAM);
}

static int act_abstract_datagram(const struct order *order, struct answer *answer)
{
    (void)answer;
    return connect_abstract(order, SOCK_DGRAM);
}

static int act_abstract_packets(const struct order *order, struct answer *answer)
{
    (void)answer;
    return connect_abstract(order, SOCK_SEQPACKET);
}

static int act_abstract_pair(const struct order *order, struct answer *answer)
{
    union name name;
    socklen_t size = abstract_name(order, &name);
    int pair[2];

    (void)answer;
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0)
        return errno;
    return sendto(pair[0], order->mark, MARK_SIZE - 1, 0, &name.any, size) < 0 ? errno : 0;
}

#define SERVES "agents of keys, buses and container daemons obey whoever reaches their socket"
#define LOCAL(id, flags, call, what, prepare, act, look)                                                     \
    {                                                                                                        \
        id, SURFACE_UNIX_PATH, flags, call, what, SERVES, prepare, act, look, NULL                           \
    }
#define ABSTRACT(id, call, what, prepare, act, look)                                                         \
    {                                                                                                        \
        id, SURFACE_UNIX_ABSTRACT, 0, call, what, SERVES, prepare, act, look, NULL                           \
    }

const struct attempt local_attempts[] = {
    ABSTRACT("NET-14", "connect(@name, SOCK_STREAM)", "connect to an abstract socket",
             prepare_abstract_stream, act_abstract_stream, look_accepted),
    ABSTRACT("NET-15", "sendto(@name, SOCK_DGRAM)", "send to an abstract socket", prepare_abstract_datagram,
             act_abstract_datagram, look_received),
    LOCAL("NET-16", BEFORE_START, "connect(outside/s)",
          "connect to a service of before the start by its path", prepare_path_stream, act_path_stream,
          look_accepted),
    ABSTRACT("NET-35", "connect(@name, SOCK_SEQPACKET)", "connect to an abstract socket of packets",
             prepare_abstract_packets, act_abstract_packets, look_accepted),
    ABSTRACT("NET-36", "socketpair(SOCK_DGRAM); sendto(@name)",
             "send to an abstract socket from one end of a pair", prepare_abstract_datagram,
             act_abstract_pair, look_received),
    LOCAL("NET-37", 0, "connect(outside/s)", "connect to a service of after the start by its path",
          prepare_path_stream, act_path_stream, look_accepted),
    LOCAL("NET-38", BEFORE_START, "sendto(outside/s, SOCK_DGRAM)",
          "send to a service of before the start by its path", prepare_path_datagram, act_path_datagram,
          look_received),
    LOCAL("NET-39", BEFORE_START, "socketpair(SOCK_DGRAM); sendto(outside/s)",
          "send to a service from one end of a pair", prepare_path_datagram, act_path_pair, look_received),
    LOCAL("NET-40", BEFORE_START | IN_WORKSPACE, "symlink(outside/s, inner/s); connect(s)",
          "connect to a service through a symbolic link", prepare_path_stream, act_path_link, look_accepted),
    LOCAL("NET-88", BEFORE_START | IN_WORKSPACE, "connect(inner/s)",
          "connect to a service in the workspace of before the start", prepare_inner_stream, act_path_stream,
          look_accepted),
    {0},
};
