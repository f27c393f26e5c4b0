/*
 * gateway.c - the program: confine itself, then serve until the channel closes.
 *
 *     confine-gateway --channel FD
 *
 * Should:  read nothing from outside before its walls stand and the supervisor has said `start`.
 * Mustn't: outlive the supervisor, or go on without its resolver's walls.
 */
#include "network/gateway.h"

#include "network/wall.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define STATUS_FAILED 125
#define SPARE_FILES   64 /* for listeners and what is asked for on the way */
#define FILES_EACH    3  /* of a connection: both ends, and one more while two addresses are tried */

static void on_turned(struct loop *loop)
{
    struct gateway *gateway = (struct gateway *)loop;

    supervisor_turned(gateway);

    while (!list_empty(&gateway->gone))
        connection_free((struct connection *)gateway->gone.after);
}

/* As many files as may be had. Return: connections that fit in. */
static size_t raise_files(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 64;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 && getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 64;
    if (limit.rlim_cur < 2 * (rlim_t)SPARE_FILES)
        return 16;
    if (limit.rlim_cur > SPARE_FILES + (rlim_t)FILES_EACH * CONNECTIONS_MOST)
        return CONNECTIONS_MOST;
    return (limit.rlim_cur - SPARE_FILES) / FILES_EACH;
}

/* The number behind `--channel`, the one option. Return: -1: it is not called as it should be. */
static int read_channel(int argc, char **argv)
{
    int type, fd = 0;
    socklen_t length = sizeof(type);

    if (argc != 3 || strcmp(argv[1], "--channel") != 0 || !argv[2][0] || strlen(argv[2]) > 6)
        return -1;
    for (const char *digit = argv[2]; *digit; digit++) {
        if (*digit < '0' || *digit > '9')
            return -1;
        fd = fd * 10 + (*digit - '0');
    }
    if (fd < 3 || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_SEQPACKET)
        return -1;
    return fd;
}

static int begin(struct gateway *gateway, int channel)
{
    int error = loop_begin(&gateway->loop), fd;
    const char *missing;

    list_begin(&gateway->listeners);
    list_begin(&gateway->connections);
    list_begin(&gateway->gone);
    if (!error)
        error = supervisor_begin(gateway, channel);
    if (error)
        return error;
    gateway->connection_most = raise_files();
    missing = wall_attest();
    if (missing) {
        supervisor_fail(gateway, "it is not confined as it should be: %s", missing);
        return 0;
    }
    fd = resolver_start();
    error = fd < 0 ? fd : resolve_begin(&gateway->resolve, &gateway->loop, fd);
    if (error)
        return error;
    missing = wall_files();
    if (!missing)
        missing = wall_gateway();
    if (!missing && !resolver_stands(fd))
        missing = "its resolver is not confined";
    if (missing)
        supervisor_fail(gateway, "it cannot confine itself: %s", missing);
    else
        supervisor_say_word(gateway, "confined");
    return 0;
}

int gateway_main(int argc, char **argv)
{
    static struct gateway gateway;
    int channel, error;

    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_SET_NAME, "confine-gateway", 0, 0, 0) != 0)
        return STATUS_FAILED;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    channel = read_channel(argc, argv);
    if (channel < 0) {
        fprintf(stderr, "usage: confine-gateway --channel FD\n");
        return STATUS_FAILED;
    }
    error = begin(&gateway, channel);
    if (!error && !gateway.loop.ended)
        error = loop_run(&gateway.loop, on_turned);
    if (error) {
        fprintf(stderr, "confine-gateway: fatal: %s\n", strerror(-error));
        return STATUS_FAILED;
    }
    return gateway.status;
}
