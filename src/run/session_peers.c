/*
 * session_peers.c - see session_peers.h.
 */
#include "run/session_peers.h"

#include "run/supervise.h"
#include "util/util.h"

#include <sys/resource.h>
#include <sys/socket.h>

#define SECOND UINT64_C(1000000000)
#define SILENT (2 * SECOND) /* how long one keeps its place while others wait for one */
#define JOIN   (8 * SECOND) /* and how long it waits for room for its descriptors */

void peers_clear(struct peers *peers)
{
    struct rlimit limit = {0};

    getrlimit(RLIMIT_NOFILE, &limit);
    peers->most = limit.rlim_cur / 4 < PEERS ? (size_t)limit.rlim_cur / 4 : PEERS;
    for (size_t i = 0; i < PEERS; i++)
        peers->peer[i] = (struct peer){.fd = -1};
}

/* A free place, or that of the one that has kept silent longest, and too long. Return: PEERS: there is none.
 */
static size_t find_place(const struct peers *peers)
{
    size_t oldest = PEERS;

    for (size_t i = 0; i < peers->most; i++) {
        const struct peer *peer = &peers->peer[i];

        if (peer->fd < 0)
            return i;
        if (!peer->joins && (oldest == PEERS || peer->since < peers->peer[oldest].since))
            oldest = i;
    }
    return oldest < PEERS && supervise_now_ns() - peers->peer[oldest].since > SILENT ? oldest : PEERS;
}

bool peers_join(const struct peers *peers)
{
    for (size_t i = 0; i < peers->most; i++)
        if (peers->peer[i].fd >= 0 && peers->peer[i].joins)
            return true;
    return false;
}

bool peers_late(const struct peer *peer)
{
    return supervise_now_ns() - peer->since > JOIN;
}

bool peers_room(const struct peers *peers)
{
    return find_place(peers) < PEERS;
}

void peers_take(struct peers *peers, int listener)
{
    const size_t at = find_place(peers);
    const int fd = at == PEERS ? -1 : accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return;
    fd_close(peers->peer[at].fd);
    peers->peer[at] = (struct peer){.fd = fd, .since = supervise_now_ns()};
}
