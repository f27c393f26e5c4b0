/*
 * namespace_serve.c - a hand in the command's network, while it runs.
 *
 *     namespace-run --serve --join-user FD --join-net FD --channel FD
 *
 * Goes into a network namespace and does there what is asked for over the
 * channel, one word a packet: an address, a network that is local, a listener,
 * a socket that is not connected (`socket 4`, `socket 6`). The answer is a word
 * with 0 or an errno, and the descriptor.
 *
 * Should:  keep only the two capabilities that this takes, in that namespace.
 * Mustn't: do anything else from then on: a filter of a dozen calls; outlive the other end.
 */
#include "capability.h"
#include "namespace_net.h"
#include "pass.h"
#include "small.h"

#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>

#define BIND_SERVICE 10 /* CAP_NET_BIND_SERVICE */
#define NET_ADMIN    12 /* CAP_NET_ADMIN */
#define WORD_MOST    160

static void enter(const struct namespace *ns, enum channel_join which, const char *name, int flag)
{
    struct stat wanted = {0}, seen = {.st_ino = 1};
    char path[40];

    if (setns(ns->join[which], flag) != 0)
        namespace_cannot(ns, CANNOT_NET, name, errno);
    snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
    if (fstat(ns->join[which], &wanted) != 0 || stat(path, &seen) != 0)
        chain_fatal_errno(ns->chain, name, errno);
    if (wanted.st_dev != seen.st_dev || wanted.st_ino != seen.st_ino)
        chain_fatal(ns->chain, name, "the kernel reported success but it is another namespace");
    close(ns->join[which]);
}

static int load_filter(void)
{
    struct sock_filter code[] = {
        FEW_CALLS_BEGIN,
        FEW_CALLS_ALLOW(SYS_recvfrom),
        FEW_CALLS_ALLOW(SYS_sendto),
        FEW_CALLS_ALLOW(SYS_sendmsg),
        FEW_CALLS_ALLOW(SYS_ppoll),
        FEW_CALLS_ALLOW(SYS_socket),
        FEW_CALLS_ALLOW(SYS_setsockopt),
        FEW_CALLS_ALLOW(SYS_bind),
        FEW_CALLS_ALLOW(SYS_listen),
        FEW_CALLS_ALLOW(SYS_close),
        FEW_CALLS_ALLOW(SYS_write),
        FEW_CALLS_ALLOW(SYS_exit_group),
        FEW_CALLS_END,
    };

    return few_calls_load(code, sizeof(code) / sizeof(code[0]));
}

/* Nothing is left but what the words need. */
static void become_small(const struct namespace *ns, int routes)
{
    const uint32_t needed = 1U << BIND_SERVICE | 1U << NET_ADMIN;
    const struct capability_data few[2] = {{.effective = needed, .permitted = needed}, {0}};
    struct capability_data seen[2];
    int keep[] = {0, 1, 2, ns->channel, routes}; /* no answer is descriptor 0 */

    if (!namespace_keep(keep, 5) || chdir("/") != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        capability_set(few) != 0 || capability_get(seen) != 0 || (seen[0].permitted & ~needed) ||
        seen[1].permitted || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
        prctl(PR_SET_NAME, "confine-launch", 0, 0, 0) != 0 || load_filter() != 0)
        chain_fatal(ns->chain, "--serve", "cannot give up what it must not have");
}

/* Does what one word says. Return: 0, a descriptor, or -errno. */
static int do_word(const struct namespace *ns, char *word, int routes)
{
    char *value = strchr(word, ' ');
    struct net_place place;

    if (!value)
        return -EINVAL;
    *value++ = '\0';
    if (strcmp(word, "socket") == 0) {
        int fd = socket(value[0] == '6' ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        return fd < 0 ? -errno : fd;
    }
    for (enum form form = 0; form < FORM_COUNT; form++)
        if (strcmp(word, net_forms[form].option) == 0 && net_read_place(ns, form, value, &place))
            return form == FORM_LISTEN ? net_open_listener(&place) : -net_ask_local(ns, routes, &place, form);
    return -EINVAL;
}

static bool answer(const struct namespace *ns, int done)
{
    struct channel_word word = {.type = CHANNEL_SERVED, .value = done < 0 ? -done : 0};
    int r = pass_descriptors(ns->channel, &word, sizeof(word), &done, done > 0, PASS_NOW);

    if (done > 0)
        close(done);
    if (r == -ETOOMANYREFS) { /* who has asked waits in a loop */
        word.value = ETOOMANYREFS;
        r = pass_descriptors(ns->channel, &word, sizeof(word), NULL, 0, PASS_NOW);
    }
    return r == 0;
}

/*
 * namespace_serve() - enter the namespaces that were given, and answer until the channel ends.
 */
_Noreturn void namespace_serve(struct namespace *ns)
{
    char word[WORD_MOST];
    ssize_t size;
    int routes;

    enter(ns, JOIN_USER, "user", CLONE_NEWUSER);
    enter(ns, JOIN_NET, "net", CLONE_NEWNET);
    namespace_open_ports(); /* bubblewrap made the network: it does not */
    routes = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (routes < 0)
        chain_fatal_errno(ns->chain, "routes", errno);
    become_small(ns, routes);
    if (!answer(ns, 0)) /* it is there */
        _exit(LINK_FAILED);
    for (;;) {
        size = recv(ns->channel, word, sizeof(word) - 1, 0);
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            _exit(0);
        word[size] = '\0';
        if (!answer(ns, do_word(ns, word, routes)))
            _exit(0);
    }
}
