/*
 * test-gateway.c - a gateway that somebody else has taken over.
 */
#include "harness.h"

#include "run/gateway.h"
#include "util/util.h"

#include <string.h>
#include <sys/socket.h>

#define PATIENCE 20000 /* packets; then nobody bounds them */

static const char packet[] = "{\"type\":\"told\"}";

/* Whoever hears one finds the next one there. */
struct flood {
    int fd;
    size_t heard;
};

static void go_on(void *self, bool told, const char *text, size_t size)
{
    struct flood *flood = self;

    (void)told;
    if (++flood->heard < PATIENCE)
        need(send(flood->fd, text, size, MSG_NOSIGNAL) == (ssize_t)size);
}

TEST(one_that_never_ends_is_heard_for_a_while)
{
    static struct resolved resolved;
    static struct report report;
    struct gateway gateway;
    struct flood flood = {0};
    int ends[2];

    gateway_clear(&gateway);
    need(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    gateway.resolved = &resolved;
    gateway.report = &report;
    gateway.heard = go_on;
    gateway.hearer = &flood;
    gateway.fd = ends[0];
    flood.fd = ends[1];
    go_on(&flood, true, packet, strlen(packet));
    check(!gateway_name_at(&gateway, "198.18.0.9"));
    check(flood.heard > 1 && flood.heard < PATIENCE);
    flood.heard = 0;
    check(!gateway_is_private(&gateway, "example.org"));
    check(flood.heard > 1 && flood.heard < PATIENCE);
    fd_close(ends[0]);
    fd_close(ends[1]);
}
