/*
 * session_making.c - the namespaces of a session.
 *
 * Theory of operation. They are made by a chain of its own (detach-run, namespace-run --hold), which leaves
 * process 1 as the keeper's child and the descriptors in its hands.
 *
 * Mustn't: go on before process 1 has given up what it must not have.
 */
#include "run/session_making.h"

#include "backend/backend.h"
#include "links/acts.h"
#include "links/chain.h"
#include "links/kernel_abi.h"
#include "run/channel.h"
#include "run/launcher.h"
#include "run/run_error.h"
#include "run/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOLD_MS      10000 /* how long the chain may take */
#define WORDS_MS     1000
#define NAMESPACE_OK 'r' /* what process 1 says */

#define CAPABILITY_KILL      5  /* CAP_KILL */
#define CAPABILITY_SYS_ADMIN 21 /* CAP_SYS_ADMIN */

int session_keeper_fail(struct error *error, int errnum, const char *what)
{
    return run_error_errno(error, errnum, what);
}

/* The chain ended without the word: say what its last ones were. */
static int chain_failed(int errors, struct error *error)
{
    char words[1024];
    ssize_t size = 0;

    while (size < (ssize_t)sizeof(words) - 1) {
        struct pollfd ready = {.fd = errors, .events = POLLIN};
        ssize_t got = poll(&ready, 1, WORDS_MS) == 1
                          ? read(errors, words + size, sizeof(words) - 1 - (size_t)size)
                          : -1;

        if (got <= 0)
            break;
        size += got;
    }
    words[size] = '\0';
    return run_error_link(error, words);
}

/* Listeners, where there are any, then its one word, with the descriptors of the namespaces. */
static int receive_held(struct session_keeper *keeper, int channel, int errors, struct error *error)
{
    size_t expected = keeper->facts.network == NETWORK_HOST ? JOIN_NET : JOIN_COUNT;
    union {
        struct channel_word word;
        struct channel_listeners listeners;
    } message;
    struct host_lack lack = {0};
    struct handed_over handed;
    pid_t writer;
    ssize_t size;

    do
        size = channel_receive_all(channel, &message, sizeof(message), HOLD_MS, &writer, &handed);
    while (size == (ssize_t)sizeof(message.listeners) && message.listeners.type == CHANNEL_LISTENERS &&
           gateway_take(&keeper->gateway, &message.listeners, &handed));
    if (size == -ETIMEDOUT) {
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, ETIMEDOUT, "chain-timeout",
                  "the namespaces were not ready within %d seconds", HOLD_MS / 1000);
        return error_hint(error, "the machine may be overloaded; try again");
    }
    if (size == 0 || size == -ECONNRESET)
        return chain_failed(errors, error);
    if (size == (ssize_t)sizeof(message.word) && message.word.type == CHANNEL_CANNOT) {
        host_cannot(&lack, message.word.value >> 16, message.word.value & 0xffff);
        return host_lack_error(error, &lack, "the namespaces of a session");
    }
    if (size != (ssize_t)sizeof(message.word) || message.word.type != CHANNEL_HELD ||
        handed.count != expected || message.word.value <= 1) {
        if (size > 0)
            handed_close(&handed);
        return session_keeper_fail(error, size < 0 ? (int)-size : EPROTO, "understand the chain");
    }
    memcpy(keeper->join, handed.fd, expected * sizeof(int));
    keeper->facts.init = keeper->init = message.word.value;
    return 0;
}

/* Process 1 is our child, has given up what it must not have, and can be waited for. */
static int take_init(struct session_keeper *keeper, struct error *error)
{
    struct pollfd ready = {.fd = keeper->liveness, .events = POLLIN};
    siginfo_t info = {0};
    char byte = 0;

    if (waitid(P_PID, (id_t)keeper->init, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        return session_keeper_fail(error, errno, "take over process 1");
    if (poll(&ready, 1, HOLD_MS) != 1 || read(keeper->liveness, &byte, 1) != 1 || byte != NAMESPACE_OK)
        return session_keeper_fail(error, EPROTO, "see process 1 ready");
    keeper->init_fd = (int)kernel_call(SYS_pidfd_open, keeper->init, 0, 0, 0, 0, 0);
    if (keeper->init_fd < 0)
        return session_keeper_fail(error, -keeper->init_fd, "hold on to process 1");
    for (size_t i = 0; i < JOIN_COUNT; i++) {
        struct stat number;

        if (i == JOIN_TMP || i == JOIN_SHM || keeper->join[i] < 0)
            continue;
        if (fstat(keeper->join[i], &number) != 0)
            return session_keeper_fail(error, errno, "look at the namespaces");
        keeper->facts.number[i] = number.st_ino;
    }
    return 0;
}

int session_keeper_enter(struct session_keeper *keeper, struct error *error)
{
    const uint32_t needed =
        1U << CAPABILITY_KILL | 1U << CAPABILITY_SYS_ADMIN; /* for another user's; for mounts */
    const struct capability_data few[2] = {{.effective = needed, .permitted = needed}, {0}};
    struct capability_header header = {.version = CAPABILITY_VERSION_3};

    if (setns(keeper->join[JOIN_USER], CLONE_NEWUSER) != 0 ||
        setns(keeper->join[JOIN_TMP], CLONE_NEWNS) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
        kernel_call(SYS_capset, KERNEL_PTR(&header), KERNEL_PTR(few), 0, 0, 0, 0) != 0)
        return session_keeper_fail(error, errno ? errno : EPERM, "enter the session");
    keeper->join[JOIN_TMP] = fd_close(keeper->join[JOIN_TMP]);
    keeper->join[JOIN_SHM] = fd_close(keeper->join[JOIN_SHM]);
    return 0;
}

static int wait_for_chain(struct session_keeper *keeper, int errors, struct error *error)
{
    int status;

    while (waitpid(keeper->chain, &status, 0) < 0)
        if (errno != EINTR)
            return session_keeper_fail(error, errno, "wait for the chain");
    keeper->chain = 0;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : chain_failed(errors, error);
}

/* The chain's ends of what it is given. */
struct ends {
    int channel, liveness, errors, null, root;
};

static int spawn_hold(const struct resolved *resolved, const struct ends *ends, struct error *error)
{
    static char *no_command[] = {NULL};
    const int standard[3] = {ends->null, ends->null, ends->errors};
    struct chain_fds fds = CHAIN_FDS_NONE;
    struct launch launch = {0};
    struct plan plan = {0};
    _cleanup_fd_ int launcher = launcher_open(resolved, "confine-launch", error);
    pid_t pid;
    int r = launcher < 0 ? launcher : backend_plan_session(resolved, &plan, error);

    if (r < 0)
        return r;
    fds.channel = ends->channel;
    fds.liveness = ends->liveness;
    r = launch_prepare(&launch, &plan, resolved, &fds, 0, NULL, NULL, no_command);
    if (r < 0) {
        plan_free(&plan);
        return error_no_memory(error);
    }
    free(launch.env.items); /* the list alone: nothing in this chain reads a variable */
    launch.env = (struct strings){0};
    pid = spawn_chain(launcher, &launch, standard, ends->root, NULL, NULL);
    launch_free(&launch);
    plan_free(&plan); /* the words are its own */
    return pid < 0 ? run_error_spawn(error, (int)-pid, "/") : pid;
}

/* What is published is reached by sockets of the session's network, and a rule that comes later needs
 * listeners there: the hand makes them. Once in the session, the keeper can start nothing any more: a name
 * there leads to what a command may have put under it. */
static int start_hand(struct session_keeper *keeper, const struct resolved *resolved, struct error *error)
{
    struct hand *hand = &keeper->gateway.hand;
    int r;

    if (resolved->network.published_count == 0 && !resolved->network.listed)
        return 0;
    hand->user = fd_copy(keeper->join[JOIN_USER], 3);
    hand->net = fd_copy(keeper->join[JOIN_NET], 3);
    r = hand->user < 0 || hand->net < 0 ? -errno : hand_start(hand, resolved);
    keeper->has_hand = r == 0;
    return r < 0 ? session_keeper_fail(error, -r, "start what opens sockets in the session") : 0;
}

/* The gateway's errors stand in a report, as it has a run's; that of a session is nobody's to read. */
static int of_gateway(struct session_keeper *keeper, int result, struct error *error)
{
    if (result < 0 && keeper->gateway.report)
        *error = keeper->gateway.report->error;
    return result;
}

static int prepare_gateway(struct session_keeper *keeper, const struct resolved *resolved,
                           struct error *error)
{
    static struct report report;
    static struct plan plan;
    struct host host = {0};

    if (!network_gateway(&resolved->network))
        return 0;
    host_look(&host);
    plan = (struct plan){.backend = "namespace", .gateway = true, .landlock_abi = host.landlock_abi};
    return of_gateway(keeper, gateway_prepare(&keeper->gateway, &plan, resolved, &report), error);
}

int session_keeper_make(struct session_keeper *keeper, const struct resolved *resolved, struct error *error)
{
    _cleanup_fd_ int channel = -1, errors = -1;
    struct ends ends = {-1, -1, -1, open("/dev/null", O_RDWR | O_CLOEXEC),
                        open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    int pair[2], r;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0) {
        channel = pair[0];
        ends.channel = pair[1];
    }
    if (channel >= 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0) {
        keeper->liveness = pair[0];
        ends.liveness = pair[1];
    }
    if (keeper->liveness >= 0 && pipe2(pair, O_CLOEXEC) == 0) {
        errors = pair[0];
        ends.errors = pair[1];
    }
    if (errors < 0 || ends.null < 0 || ends.root < 0)
        return session_keeper_fail(error, errno, "make the channel");
    r = prepare_gateway(keeper, resolved, error);
    if (r == 0)
        r = keeper->chain = spawn_hold(resolved, &ends, error);
    fd_close(ends.channel);
    fd_close(ends.liveness);
    fd_close(ends.errors);
    fd_close(ends.null);
    fd_close(ends.root);
    if (r >= 0)
        r = of_gateway(keeper, gateway_start(&keeper->gateway), error);
    if (r >= 0)
        r = receive_held(keeper, channel, errors, error);
    if (r == 0)
        r = wait_for_chain(keeper, errors, error);
    if (r == 0)
        r = take_init(keeper, error);
    if (r == 0)
        r = start_hand(keeper, resolved, error);
    return r == 0 ? of_gateway(keeper, gateway_open(&keeper->gateway), error) : r;
}
