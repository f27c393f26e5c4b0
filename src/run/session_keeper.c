/*
 * session_keeper.c - the process that keeps a session.
 *
 * Theory of operation. It makes the namespaces (session_making.c), then it answers on its socket, and waits:
 * for a request to end, a signal to do so, the owner's end, or process 1's. In each case process 1 is killed,
 * and with it, by the kernel, every process of the namespace; that it can be reaped afterwards is the proof
 * that none is left. If this process is killed, process 1 sees the end of its liveness.
 *
 * Should:  hold nothing else: neither a terminal, a pipe of the caller's nor a directory but the one of the
 *          sessions.
 * Mustn't: wait for somebody who has asked: a connection that says nothing is dropped when its place has been
 *          needed for a while.
 */
#include "run/session_making.h"

#include "links/chain.h"
#include "links/kernel_abi.h"
#include "links/pass.h"
#include "run/channel.h"
#include "run/gateway.h"
#include "run/session_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ENDING_MS 30000 /* how long killed processes may take to be gone before whoever asked is told */
#define ROOM_MS   500   /* between two looks for a place, while there is none */
#define AGAIN_MS  5     /* between two attempts to hand over what a run goes into */
#define BACKLOG   512

static uint64_t seconds(clockid_t clock)
{
    struct timespec now = {0};

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec;
}

/* --- its place ------------------------------------------------------------------------------------------ */

/* The name that the socket is bound to stands in the kernel's list, and by that list views mask what others
 * listen on: so it is the whole one where it is short enough. */
static int listen_there(struct session_keeper *keeper, struct error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat made;
    char file[SESSION_FILE];

    session_file(file, keeper->name, SESSION_SOCKET);
    if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", keeper->place->path, file) >=
        sizeof(address.sun_path))
        session_address(keeper->place, keeper->name, &address);
    unlinkat(keeper->place->fd, file, 0); /* the lock is ours */
    keeper->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (keeper->listener < 0 ||
        bind(keeper->listener, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(keeper->listener, BACKLOG) != 0 ||
        fstatat(keeper->place->fd, file, &made, AT_SYMLINK_NOFOLLOW) != 0)
        return session_keeper_fail(error, errno, "listen in the directory of sessions");
    return 0;
}

static int compare(const void *left, const void *right)
{
    return *(const int *)left - *(const int *)right;
}

/* Closes everything but what a keeper needs: pipes of the caller's would never end, and files stay open. */
static int close_others(const struct session_keeper *keeper)
{
    int keep[10 + JOIN_COUNT] = {keeper->place->fd,  keeper->lock,           keeper->owner,   keeper->report,
                                 keeper->liveness,   keeper->listener,       keeper->signals, keeper->init_fd,
                                 keeper->gateway.fd, keeper->gateway.hand.fd};
    size_t count = 10;
    long next = STDERR_FILENO + 1, r = 0;

    for (size_t i = 0; i < JOIN_COUNT; i++)
        keep[count++] = keeper->join[i];
    qsort(keep, count, sizeof(*keep), compare);
    for (size_t i = 0; i < count; i++) {
        if (keep[i] < next)
            continue;
        if (keep[i] > next)
            r |= kernel_call(SYS_close_range, next, keep[i] - 1, 0, 0, 0, 0);
        next = keep[i] + 1;
    }
    r |= kernel_call(SYS_close_range, next, ~0U, 0, 0, 0, 0);
    return r < 0 ? -EIO : 0;
}

/* --- what is decided ------------------------------------------------------------------------------------ */

static void decide(struct session_facts *facts, uint64_t decision)
{
    size_t at = 0;

    while (at < SESSION_DECIDED && facts->decided[at] && facts->decided[at] != decision)
        at++;
    if (at < SESSION_DECIDED)
        facts->decided[at] = decision;
}

/* What runs may name as well, since they have it. */
static void decide_all(struct session_facts *facts, const struct policy *policy)
{
    static const enum list lists[] = {LIST_ALLOW, LIST_FORWARD, LIST_PUBLISH};

    if (policy->upstream)
        decide(facts, session_decision(LIST_COUNT, policy->upstream));
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        for (size_t k = 0; k < policy->list[lists[i]].count; k++)
            if (entry_in_force(&policy->list[lists[i]], k))
                decide(facts, session_decision(lists[i], policy->list[lists[i]].items[k].value));
}

static void decide_added(struct session_keeper *keeper)
{
    const struct strings *added = &keeper->gateway.asked;

    for (; keeper->decided < added->count; keeper->decided++)
        decide(&keeper->facts, session_decision(LIST_ALLOW, added->items[keeper->decided]));
}

/* --- answering ------------------------------------------------------------------------------------------ */

/* May whoever sent this descriptor ask? It must be the lock file, opened for writing: that says more than a
 * user's number, which in here may not even have one. */
static bool may_ask(const struct session_keeper *keeper, int shown)
{
    int flags = shown < 0 ? -1 : fcntl(shown, F_GETFL);

    return flags >= 0 && (flags & O_ACCMODE) == O_RDWR && !(flags & O_PATH) && fd_same(shown, keeper->lock);
}

static void answer(struct session_keeper *keeper, int fd, int errnum)
{
    struct session_reply reply = {.version = SESSION_VERSION, .errnum = errnum, .facts = keeper->facts};

    reply.facts.age = (int64_t)(seconds(CLOCK_BOOTTIME) - keeper->since);
    /* A packet fits or the peer is gone: it asked once, and nothing else was sent. */
    (void)channel_send(fd, &reply, sizeof(reply), NULL, 0);
}

/* The same with what a command goes into, and mounts of its own. Return: 0, or -errno. */
static int answer_join(const struct session_keeper *keeper, int fd)
{
    struct session_reply reply = {.version = SESSION_VERSION, .facts = keeper->facts};
    size_t count = keeper->join[JOIN_NET] < 0 ? JOIN_NET : JOIN_COUNT;
    int fds[JOIN_COUNT], r;

    memcpy(fds, keeper->join, sizeof(fds));
    fds[JOIN_TMP] = mount_clone(AT_FDCWD, "/tmp", 0);
    fds[JOIN_SHM] = mount_clone(AT_FDCWD, "/shm", 0);
    r = fds[JOIN_TMP] < 0 ? fds[JOIN_TMP] : fds[JOIN_SHM] < 0 ? fds[JOIN_SHM] : 0;
    if (r == 0)
        r = pass_descriptors(fd, &reply, sizeof(reply), fds, count, PASS_NOW);
    fd_close(fds[JOIN_TMP]);
    fd_close(fds[JOIN_SHM]);
    return r;
}

/* A command can keep all of its user's descriptors under way for as long as it likes: nobody else waits for
 * that, and least of all the end of the session. */
static void join(struct session_keeper *keeper, struct peer *peer)
{
    const int r = answer_join(keeper, peer->fd);

    peer->joins = r == -ETOOMANYREFS && !peers_late(peer);
    if (peer->joins)
        return;
    if (r < 0)
        answer(keeper, peer->fd, -r);
    else if (keeper->facts.gateway && hearers_add(&keeper->hearers, peer->fd))
        peer->fd = -1;
    peer->fd = fd_close(peer->fd);
}

static void hear(struct session_keeper *keeper, struct peer *peer)
{
    answer(keeper, peer->fd, 0);
    if (keeper->facts.gateway && hearers_add(&keeper->hearers, peer->fd))
        peer->fd = -1;
}

/* Once more. Who has gone, or speaks again, has lost its place. */
static void join_waiting(struct session_keeper *keeper, const struct pollfd *ready)
{
    bool full = false;

    for (size_t i = 0; i < PEERS; i++) {
        struct peer *peer = &keeper->peers.peer[i];

        if (peer->fd < 0 || !peer->joins)
            continue;
        if (ready[i].revents)
            peer->fd = fd_close(peer->fd);
        else if (!full || peers_late(peer))
            join(keeper, peer);
        full = full || peer->fd >= 0;
    }
}

/* Return: whether the session is to end. */
static bool serve(struct session_keeper *keeper, struct peer *peer)
{
    struct session_request request;
    int shown[JOIN_COUNT], r;
    size_t count;
    bool allowed;

    r = session_receive(peer->fd, &request, sizeof(request), shown, &count);
    if (r == -EAGAIN)
        return false;
    allowed = r == 0 && count == 1 && may_ask(keeper, shown[0]);
    decide_added(keeper);
    keeper->facts.lost = keeper->has_hand && hand_lost(&keeper->gateway.hand);
    for (size_t i = 0; i < count; i++)
        fd_close(shown[i]);
    if (allowed && request.version == SESSION_VERSION && request.kind == SESSION_END) {
        peer->ends = true;
        return true;
    }
    if (r == 0 && !allowed)
        answer(keeper, peer->fd, EPERM);
    else if (r == 0 && (request.version != SESSION_VERSION || request.kind == SESSION_NOTHING ||
                        request.kind > SESSION_HEAR))
        answer(keeper, peer->fd, EPROTONOSUPPORT);
    else if (r == 0 && request.kind == SESSION_JOIN)
        join(keeper, peer);
    else if (r == 0 && request.kind == SESSION_HEAR)
        hear(keeper, peer);
    else if (r == 0)
        answer(keeper, peer->fd, 0);
    if (!peer->joins)
        peer->fd = fd_close(peer->fd);
    return false;
}

enum { LISTENER, OWNER, INIT, SIGNALS, GATEWAY, OTHERS, THOSE_WHO_HEAR = OTHERS + PEERS };
enum { WATCHED = THOSE_WHO_HEAR + HEARERS };

/* poll(), which takes no more places than this process may have descriptors: those without one are left out.
 */
static int poll_open(struct pollfd *ready, int timeout_ms)
{
    struct pollfd open[WATCHED];
    size_t count = 0, at = 0;
    int r;

    for (size_t i = 0; i < WATCHED; i++)
        if (ready[i].fd >= 0)
            open[count++] = ready[i];
    r = poll(open, count, timeout_ms);
    for (size_t i = 0; i < WATCHED; i++)
        ready[i].revents = ready[i].fd >= 0 && r > 0 ? open[at++].revents : 0;
    return r;
}

/* Waits until the session is to end. */
static void live(struct session_keeper *keeper)
{
    struct pollfd ready[WATCHED];

    if (keeper->gateway.fd >= 0 && fcntl(keeper->gateway.fd, F_SETFL, O_NONBLOCK) != 0)
        return; /* one that is stopped would have us wait for it */
    for (;;) {
        const bool room = peers_room(&keeper->peers);

        ready[LISTENER] = (struct pollfd){.fd = room ? keeper->listener : -1, .events = POLLIN};
        ready[OWNER] = (struct pollfd){.fd = keeper->owner, .events = POLLIN};
        ready[INIT] = (struct pollfd){.fd = keeper->init_fd, .events = POLLIN};
        ready[SIGNALS] = (struct pollfd){.fd = keeper->signals, .events = POLLIN};
        ready[GATEWAY] = (struct pollfd){.fd = keeper->gateway.fd, .events = POLLIN};
        for (size_t i = 0; i < PEERS; i++)
            ready[OTHERS + i] = (struct pollfd){.fd = keeper->peers.peer[i].fd, .events = POLLIN};
        hearers_wait(&keeper->hearers, ready + THOSE_WHO_HEAR);
        if (poll_open(ready, peers_join(&keeper->peers) ? AGAIN_MS
                             : room                     ? -1
                                                        : ROOM_MS) < 0 &&
            errno != EINTR)
            return;
        if (ready[OWNER].revents || ready[INIT].revents || ready[SIGNALS].revents)
            return;
        if (ready[GATEWAY].revents && gateway_hear(&keeper->gateway) < 0)
            return; /* no run would reach anything any more */
        hearers_hear(&keeper->hearers, ready + THOSE_WHO_HEAR);
        join_waiting(keeper, ready + OTHERS);
        for (size_t i = 0; i < PEERS; i++)
            if (ready[OTHERS + i].revents && keeper->peers.peer[i].fd >= 0 &&
                serve(keeper, &keeper->peers.peer[i]))
                return;
        if (ready[LISTENER].revents)
            peers_take(&keeper->peers, keeper->listener);
    }
}

/* --- ending --------------------------------------------------------------------------------------------- */

static void tell_enders(struct session_keeper *keeper, int errnum)
{
    for (size_t i = 0; i < PEERS; i++)
        if (keeper->peers.peer[i].fd >= 0 && keeper->peers.peer[i].ends)
            answer(keeper, keeper->peers.peer[i].fd, errnum);
}

/* Kills what is in the session and sees it gone. One that does not end (a dead file server) is told of, and
 * waited for nevertheless: the name stays taken until then. */
static void end_processes(struct session_keeper *keeper)
{
    struct pollfd gone = {.fd = keeper->init_fd, .events = POLLIN};

    gateway_abandon(&keeper->gateway);
    if (keeper->chain > 0)
        kill(keeper->chain, SIGKILL);
    if (keeper->init > 0)
        kill(keeper->init, SIGKILL);
    if (keeper->init_fd >= 0 && poll(&gone, 1, ENDING_MS) == 0)
        tell_enders(keeper, ETIMEDOUT);
    while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR) /* one without a name has seen its liveness end */
        ;
    keeper->init = keeper->chain = 0;
}

/* --- the life ------------------------------------------------------------------------------------------- */

static int prepare(struct session_keeper *keeper, struct error *error)
{
    static const int ends[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    sigset_t all, taken;

    sigfillset(&all);
    sigemptyset(&taken);
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
        sigaddset(&taken, ends[i]);
    keeper->signals = signalfd(-1, &taken, SFD_CLOEXEC);
    if (sigprocmask(SIG_SETMASK, &all, NULL) != 0 || signal(SIGCHLD, SIG_DFL) == SIG_ERR ||
        keeper->signals < 0 || setsid() < 0 || chdir("/") != 0 ||
        prctl(PR_SET_NAME, "confine-keeper", 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return session_keeper_fail(error, errno, "prepare the keeper");
    return 0;
}

/* Says that it lives, and waits to be told to: whoever started it may have been killed meanwhile. */
static bool agree(const struct session_keeper *keeper, const struct error *error)
{
    struct pollfd ready = {.fd = keeper->report, .events = POLLIN};
    char byte;

    if (channel_send(keeper->report, error, sizeof(*error), NULL, 0) < 0 || error->code != ERROR_NONE)
        return false;
    while (poll(&ready, 1, -1) < 0 && errno == EINTR)
        ;
    return read(keeper->report, &byte, 1) == 1;
}

/* Nothing of the caller's stays open. */
static bool let_go(struct session_keeper *keeper)
{
    for (int fd = 0; fd < 3; fd++)
        if (dup2(keeper->null, fd) != fd)
            return false;
    keeper->report = fd_close(keeper->report);
    return close_others(keeper) == 0;
}

_Noreturn void session_keep(const struct session_place *place, const char *name,
                            const struct resolved *resolved, int lock, int owner, pid_t owner_pid, int report)
{
    struct session_keeper keeper = {.place = place,
                                    .name = name,
                                    .lock = lock,
                                    .owner = owner,
                                    .report = report,
                                    .null = open("/dev/null", O_RDWR | O_CLOEXEC),
                                    .liveness = -1,
                                    .listener = -1,
                                    .signals = -1,
                                    .init_fd = -1};
    struct error error = {0};

    gateway_clear(&keeper.gateway);
    keeper.facts = (struct session_facts){.uid = resolved->uid,
                                          .gid = resolved->gid,
                                          .network = resolved->policy->network,
                                          .tmp_size = resolved->policy->limit_tmp_size,
                                          .gateway = network_gateway(&resolved->network),
                                          .owner = owner_pid,
                                          .started = (int64_t)seconds(CLOCK_REALTIME)};
    keeper.facts.published_count = resolved->network.published_count;
    for (size_t i = 0; i < resolved->network.published_count && i < SESSION_PUBLISHED; i++) {
        keeper.facts.published[i].host = resolved->network.published[i].host;
        keeper.facts.published[i].inside = resolved->network.published[i].inside;
    }
    decide_all(&keeper.facts, resolved->policy);
    keeper.since = seconds(CLOCK_BOOTTIME);
    for (size_t i = 0; i < JOIN_COUNT; i++)
        keeper.join[i] = -1;
    peers_clear(&keeper.peers);
    hearers_clear(&keeper.hearers, &keeper.gateway);
    if (prepare(&keeper, &error) == 0 && session_keeper_make(&keeper, resolved, &error) == 0)
        (void)(listen_there(&keeper, &error) ?: session_keeper_enter(&keeper, &error));
    if (agree(&keeper, &error) && let_go(&keeper))
        live(&keeper);
    keeper.liveness = fd_close(keeper.liveness);
    end_processes(&keeper);
    session_remove(place, name);
    tell_enders(&keeper, 0);
    _exit(error.code == ERROR_NONE ? 0 : LINK_FAILED);
}
