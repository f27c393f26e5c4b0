/*
 * gateway.c - the gateway's life: started beside the chain, opened before `go`, listened to in the loop, and
 * ended with the last process.
 *
 * The listeners are held here until everything else holds: as long as nobody accepts on them, nothing goes
 * out.
 *
 * Should:  end the run when the gateway ends: the command would wait for what can never come.
 * Mustn't: leave it behind, or wait for it without a bound.
 */
#include "run/gateway.h"

#include "kernel/children.h"
#include "links/pass.h"
#include "run/supervise.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY_MS 10000
#define TURN     64   /* messages, before the rest of the loop has its turn */
#define LAST_MS  2000 /* how long its last words may take */

void gateway_clear(struct gateway *gateway)
{
    *gateway = (struct gateway){.fd = -1, .errors = -1, .advisory = -1, .hand = HAND_NONE};
}

static int fail(struct gateway *gateway, int errnum, const char *what)
{
    if (gateway->report->error.code == ERROR_NONE)
        error_set(&gateway->report->error, ERROR_SANDBOX_UNAVAILABLE, errnum, "gateway-failed",
                  "cannot %s: %s", what, pass_strerror(errnum));
    error_surface(&gateway->report->error, "net.listed");
    return -errnum;
}

/* --- the ports out here --------------------------------------------------------------------------------- */

/* Return: a listener on loopback, or -errno. */
static int listen_on(int family, unsigned port)
{
    struct sockaddr_in four = {
        .sin_family = AF_INET, .sin_port = htons((in_port_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_in6 six = {
        .sin6_family = AF_INET6, .sin6_port = htons((in_port_t)port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const void *address = family == AF_INET ? (void *)&four : (void *)&six;
    socklen_t size = family == AF_INET ? sizeof(four) : sizeof(six);
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1, errnum;

    if (fd < 0)
        return -errno;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 && bind(fd, address, size) == 0 &&
        listen(fd, SOMAXCONN) == 0)
        return fd;
    errnum = errno;
    fd_close(fd);
    return -errnum;
}

/* Of each port an IPv4 socket, and an IPv6 one where there is IPv6. */
static int listen_outside(struct gateway *gateway)
{
    const struct own_network *network = &gateway->resolved->network;

    gateway->published = calloc(2 * network->published_count + 1, sizeof(int));
    if (!gateway->published)
        return error_no_memory(&gateway->report->error);
    for (size_t i = 0; i < 2 * network->published_count; i++)
        gateway->published[i] = -1;
    for (size_t i = 0; i < network->published_count; i++) {
        unsigned port = network->published[i].host;
        int four = listen_on(AF_INET, port), six = listen_on(AF_INET6, port);

        gateway->published[2 * i] = four;
        gateway->published[2 * i + 1] = six;
        if (four >= 0 && (six >= 0 || six == -EAFNOSUPPORT || six == -EADDRNOTAVAIL))
            continue;
        error_set(&gateway->report->error, ERROR_SANDBOX_UNAVAILABLE, four < 0 ? -four : -six,
                  "port-not-published", "--publish %u: cannot listen on this port of the loopback: %s", port,
                  strerror(four < 0 ? -four : -six));
        if (four == -EMFILE || six == -EMFILE)
            return error_hint(&gateway->report->error, "raise the limit on open files (ulimit -n)");
        return error_hint(&gateway->report->error, "%s: --publish PORT:%u, and PORT is the one outside",
                          four == -EACCES ? "only root may listen there; choose a higher one"
                                          : "choose another one",
                          network->published[i].inside);
    }
    return 0;
}

/* Where nothing holds the list: a proxy on the host's loopback, for who obeys the variables. */
static int listen_advisory(struct gateway *gateway)
{
    struct sockaddr_in address = {0};
    socklen_t size = sizeof(address);

    gateway->advisory = listen_on(AF_INET, 0);
    if (gateway->advisory < 0 || getsockname(gateway->advisory, (struct sockaddr *)&address, &size) != 0)
        return fail(gateway, gateway->advisory < 0 ? -gateway->advisory : errno, "listen for the proxy");
    gateway->proxy_port = ntohs(address.sin_port);
    if (strings_add(&gateway->report->warnings,
                    "advisory: nothing here holds a list; programs that ignore proxy variables are not "
                    "stopped") < 0)
        return error_no_memory(&gateway->report->error);
    return 0;
}

/* --- start and end -------------------------------------------------------------------------------------- */

int gateway_prepare(struct gateway *gateway, const struct plan *plan, const struct resolved *resolved,
                    struct report *report)
{
    gateway->wanted = plan->gateway;
    if (!gateway->wanted)
        return 0;
    gateway->plan = plan;
    gateway->resolved = resolved;
    gateway->report = report;
    gateway->proxy_port = resolved->network.proxy_port;
    gateway->listeners = calloc(resolved->network.listener_count + 1, sizeof(int));
    if (!gateway->listeners)
        return error_no_memory(&report->error);
    for (size_t i = 0; i < resolved->network.listener_count; i++)
        gateway->listeners[i] = -1;
    return plan->advisory ? listen_advisory(gateway) : listen_outside(gateway);
}

int gateway_start(struct gateway *gateway)
{
    int ends[2], r;

    if (!gateway->wanted)
        return 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return fail(gateway, errno, "make the gateway's channel");
    gateway->fd = ends[0];
    r = gateway_spawn(gateway, ends[1], &gateway->report->error);
    fd_close(ends[1]);
    if (r == 0 && gateway_say_start(gateway) < 0)
        return gateway_failed(gateway, &gateway->report->error);
    return r;
}

bool gateway_take(struct gateway *gateway, const struct channel_listeners *message,
                  struct handed_over *handed)
{
    bool fits = gateway->wanted && message->count == handed->count;

    for (size_t i = 0; i < handed->count && fits; i++) {
        size_t index = message->index[i];

        fits = index < gateway->resolved->network.listener_count && gateway->listeners[index] < 0;
        if (!fits)
            break;
        gateway->listeners[index] = handed->fd[i];
        handed->fd[i] = -1;
    }
    handed_close(handed);
    return fits;
}

bool gateway_take_entrance(struct gateway *gateway, struct handed_over *handed)
{
    bool fits = gateway->wanted && gateway->hand.net < 0 && handed->count == 2;

    if (fits) {
        gateway->hand.user = handed->fd[0];
        gateway->hand.net = handed->fd[1];
        handed->count = 0;
    }
    handed_close(handed);
    return fits;
}

/* One word of the hand's. @fd: NULL: it makes no socket. Return: 0; 1: of IPv6, which this kernel has not; or
 * -errno. */
static int make_one(struct gateway *gateway, const char *option, const char *value, int *fd)
{
    char word[128];
    int r;

    snprintf(word, sizeof(word), "%s %s", option, value);
    r = hand_ask(&gateway->hand, gateway->resolved, word, fd);
    return strchr(value, '[') && (r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL || r == -EOPNOTSUPP) ? 1 : r;
}

int gateway_make(struct gateway *gateway, pid_t pid)
{
    const struct own_network *network = gateway->wanted ? &gateway->resolved->network : NULL;
    int r;

    if (!network || !gateway->plan->foreign)
        return 0;
    r = hand_look(&gateway->hand, pid);
    if (r == 0 && network->listed) {
        r = make_one(gateway, "--address", NETWORK_SELF4, NULL);
        if (r == 0)
            r = make_one(gateway, "--address", NETWORK_SELF6, NULL);
        if (r >= 0)
            r = make_one(gateway, "--local", NETWORK_LOCAL6, NULL);
    }
    for (size_t i = 0; i < network->locals.count && r >= 0; i++)
        r = make_one(gateway, "--local", network->locals.items[i], NULL);
    for (size_t i = 0; i < network->listener_count && r >= 0; i++)
        r = make_one(gateway, "--listen", network->listeners[i].word, &gateway->listeners[i]);
    return r < 0 ? fail(gateway, -r, "listen in the command's network") : 0;
}

/* Every listener of IPv4 must be there: the chain leaves out those of IPv6 where the kernel has none. */
static int check_listeners(struct gateway *gateway)
{
    const struct own_network *network = &gateway->resolved->network;

    for (size_t i = 0; i < network->listener_count && !gateway->plan->advisory; i++)
        if (gateway->listeners[i] < 0 && !strchr(network->listeners[i].word, '['))
            return fail(gateway, EPROTO, "get all listeners of the command's network");
    return 0;
}

int gateway_open(struct gateway *gateway)
{
    uint64_t until = supervise_now_ns() + READY_MS * UINT64_C(1000000);
    int r;

    if (!gateway->wanted)
        return 0;
    r = check_listeners(gateway);
    if (r < 0)
        return r;
    while (!gateway->confined || !gateway->ready) {
        struct pollfd said = {.fd = gateway->fd, .events = POLLIN};
        uint64_t now = supervise_now_ns();

        if (now >= until || (poll(&said, 1, (int)((until - now) / 1000000U) + 1) < 0 && errno != EINTR))
            return fail(gateway, ETIMEDOUT, "see the gateway ready");
        if (gateway_hear(gateway) < 0)
            return gateway_failed(gateway, &gateway->report->error);
    }
    r = gateway_say_listeners(gateway);
    gateway->begun = true;
    return r < 0 ? fail(gateway, -r, "hand the listeners to the gateway") : 0;
}

static void let_go(struct gateway *gateway)
{
    for (size_t i = 0; gateway->listeners && i < gateway->resolved->network.listener_count; i++)
        fd_close(gateway->listeners[i]);
    for (size_t i = 0; gateway->published && i < 2 * gateway->resolved->network.published_count; i++)
        fd_close(gateway->published[i]);
    gateway_forget(gateway);
    free(gateway->listeners);
    free(gateway->published);
    gateway->listeners = gateway->published = NULL;
    gateway->advisory = fd_close(gateway->advisory);
    gateway->fd = fd_close(gateway->fd);
    gateway->errors = fd_close(gateway->errors);
}

void gateway_abandon(struct gateway *gateway)
{
    gateway->fd = fd_close(gateway->fd); /* that ends it, also where we may not signal it */
    /* One that ended by itself may have been reaped, and then its number is another's. */
    if (gateway->pid > 0 && children_include(gateway->pid)) {
        kill(gateway->pid, SIGKILL);
        while (waitpid(gateway->pid, NULL, __WALL) < 0 && errno == EINTR)
            ;
    }
    gateway->pid = 0;
    hand_end(&gateway->hand);
    let_go(gateway);
}

/* --- in the loop ---------------------------------------------------------------------------------------- */

void gateway_stop_hearing(struct gateway *gateway)
{
    if (gateway->polling)
        uv_poll_stop(&gateway->poll);
    gateway->polling = false;
    gateway->fd = fd_close(gateway->fd);
}

/* Nothing inside reaches anything any more. */
static void note_lost(struct gateway *gateway)
{
    struct error *error = &gateway->report->error;

    gateway_stop_hearing(gateway);
    if (gateway->shared)
        return; /* what comes from here on is not known */
    if (error->code == ERROR_NONE) {
        error_set(error, ERROR_INTERNAL, ECONNRESET, "gateway-lost",
                  "the gateway of the command's network ended, and the run with it");
        error_surface(error, "net.listed");
        error_hint(error, "run it again; please report it if it was not ended by somebody");
    }
    supervise_limit(gateway->supervision, "gateway", true);
}

static void on_said(uv_poll_t *handle, int status, int events)
{
    struct gateway *gateway = handle->data;
    int r = 1;

    (void)status;
    (void)events;
    for (int i = 0; i < TURN && r > 0; i++)
        r = gateway_hear(gateway);
    if (r < 0)
        note_lost(gateway);
}

int gateway_start_hearing(void *self, struct supervision *supervision, uv_loop_t *uv)
{
    struct gateway *gateway = self;
    int r = uv_poll_init(uv, &gateway->poll, gateway->fd);

    gateway->supervision = supervision;
    gateway->poll.data = gateway;
    return r;
}

void gateway_go_hearing(void *self)
{
    struct gateway *gateway = self;

    /* It was begun with a descriptor that can be waited for. */
    gateway->polling = uv_poll_start(&gateway->poll, UV_READABLE, on_said) == 0;
}

bool gateway_await(struct gateway *gateway, const bool *said)
{
    uint64_t until = supervise_now_ns() + LAST_MS * UINT64_C(1000000);

    while (!*said) {
        struct pollfd ready = {.fd = gateway->fd, .events = POLLIN};
        uint64_t now = supervise_now_ns();

        if (now >= until || (poll(&ready, 1, (int)((until - now) / 1000000U) + 1) < 0 && errno != EINTR) ||
            gateway_hear(gateway) < 0)
            return false;
    }
    return true;
}

static void end_gateway(void *self)
{
    struct gateway *gateway = self;

    uv_poll_stop(&gateway->poll);
    gateway->polling = false;
    /* What it has still to say: how much went through what was open until now. */
    if (gateway->fd >= 0 && gateway_say(gateway, "end", NULL, NULL) == 0)
        (void)gateway_await(gateway, &gateway->ended);
    if (gateway->fd >= 0 && !gateway->ended)
        strings_add(
            &gateway->report->warnings,
            "gateway-silent: it did not say its last words in time and was ended; the connections in the "
            "report may not be all");
    gateway_abandon(gateway);
}

int gateway_may_allow(const struct gateway *gateway, struct error *error)
{
    if (gateway->resolved->policy->network != NETWORK_LISTED)
        return error_set(error, ERROR_USAGE, EINVAL, "no-list", "allow: the command's network has no list");
    if (gateway->resolved->policy->locked_lists & UINT64_C(1) << LIST_ALLOW)
        return error_set(error, ERROR_POLICY_INVALID, EPERM, "locked",
                         "allow: the rules of the network are locked by a policy file");
    return 0;
}

static int allow_rule(void *self, const char *rule, struct error *error)
{
    struct gateway *gateway = self;
    int r = gateway_may_allow(gateway, error);

    if (r < 0)
        return r;
    r = gateway_allow(gateway, rule);
    if (r < 0)
        return error_set(error, ERROR_INTERNAL, -r, "gateway-failed", "allow: the gateway cannot be told: %s",
                         strerror(-r));
    return 0;
}

const struct part_calls gateway_part = {
    .start = gateway_start_hearing, .go = gateway_go_hearing, .allow = allow_rule, .end = end_gateway};
