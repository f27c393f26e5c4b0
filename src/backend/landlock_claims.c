/*
 * landlock_claims.c - what the chain holds, each claim together with the check that will show it.
 *
 * Should:  say why a surface stays open.
 * Mustn't: raise a claim without a check: it could be called enforced without having been shown.
 */
#include "backend/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#define HIDDEN_CHECKS 24 /* hidden paths tried in one run; every named one is among them */

static void claim_files(struct builder *b)
{
    const struct resolved *resolved = b->resolved;
    int abi = b->host->landlock_abi;

    for (size_t i = 0; i < resolved->edge_count; i++)
        build_hold(
            b, STATE_ENFORCED, NULL,
            CHECK(FS_WRITE, LANDLOCK, NONE, EDGE, .index = i, .refused = {EACCES}, .self_contained = true));
    build_hold(b, STATE_ENFORCED, NULL,
               CHECK(FS_WRITE, LANDLOCK, OPEN, FILE, .a = O_WRONLY, .refused = {EACCES}));
    if (abi >= ABI_TRUNCATE)
        build_hold(b, STATE_ENFORCED, NULL,
                   CHECK(FS_TRUNCATE, LANDLOCK, TRUNCATE, FILE, .refused = {EACCES}));
    else
        build_hold(b, STATE_ENFORCED, NULL, CHECK(FS_TRUNCATE, SECCOMP, TRUNCATE, FILE, .refused = {EPERM}));
    /* Writing by landlock-run; reading, and so every ioctl, by the layer that hides /dev. */
    build_hold(b, STATE_ENFORCED, NULL,
               CHECK(FS_DEVICE, LANDLOCK, OPEN, DEVICE, .by_name = true, .a = O_WRONLY, .refused = {EACCES}));
    build_hold(
        b, STATE_ENFORCED, NULL,
        CHECK(FS_DEVICE, LANDLOCK_HIDE, OPEN, DEVICE, .by_name = true, .a = O_RDONLY, .refused = {EACCES}));
    build_hold(b, STATE_ENFORCED, NULL,
               CHECK(FS_SPECIAL, LANDLOCK, OPEN, FIFO, .a = O_WRONLY, .refused = {EACCES}));
    if (resolved->policy->readable_listed)
        build_hold(b, STATE_ENFORCED, NULL,
                   CHECK(FS_READ, LANDLOCK, OPEN, FILE, .a = O_RDONLY, .refused = {EACCES}));
    else
        plan_reason(b->plan, SURFACE_FS_READ, "readable-all");
    plan_reason(b->plan, SURFACE_FS_METADATA, "metadata-ungoverned");
    plan_reason(b->plan, SURFACE_FS_PROTECTED, "no-mounts");
    plan_reason(b->plan, SURFACE_FS_ALIAS, "hard-links");
    plan_reason(b->plan, SURFACE_FS_WATCH, "readable-files");
}

static bool holds_any(const struct resolved *resolved)
{
    for (size_t i = 0; i < resolved->hidden_count; i++)
        if (!resolved->hidden[i].held)
            return true;
    return false;
}

/* What is named is tried first, so that a bound on the number of checks never cuts it. */
static void claim_hidden(struct builder *b)
{
    const struct resolved *resolved = b->resolved;
    size_t tried = 0;

    if (resolved->hidden_count == 0) {
        plan_raise(b->plan, SURFACE_FS_HIDDEN, STATE_ABSENT, MECHANISM_NONE, NULL);
        return;
    }
    for (int named = 1; named >= 0; named--)
        for (size_t i = 0; i < resolved->hidden_count; i++) {
            const struct hidden *hidden = &resolved->hidden[i];

            if (hidden->named != (named == 1) || hidden->held || !hidden->sample)
                continue;
            if (tried++ >= HIDDEN_CHECKS)
                continue;
            build_hold(b, STATE_PARTIAL, "names-visible",
                       CHECK(FS_HIDDEN, LANDLOCK_HIDE, OPEN_AT, HIDDEN, .index = i, .a = O_RDONLY,
                             .refused = {EACCES}, .self_contained = true));
        }
    if (holds_any(resolved) && !is_open(b, SURFACE_FS_HIDDEN) && tried == 0)
        plan_raise(b->plan, SURFACE_FS_HIDDEN, STATE_PARTIAL, MECHANISM_LANDLOCK_HIDE, "names-visible");
    for (size_t i = 0; i < resolved->hidden_count; i++)
        if (resolved->hidden[i].held && !is_open(b, SURFACE_FS_HIDDEN))
            build_unheld(b, i, resolved->hidden[i].held);
}

static void claim_network(struct builder *b)
{
    static const enum surface surfaces[] = {SURFACE_NET_TCP, SURFACE_NET_UDP, SURFACE_NET_OTHER};
    int abi = b->host->landlock_abi;

    plan_reason(b->plan, SURFACE_NET_LISTED,
                b->advisory                                      ? "advisory"
                : b->resolved->policy->network == NETWORK_LISTED ? "no-network-namespace"
                                                                 : "not-listed-mode");
    if (!cuts_network(b)) {
        for (size_t i = 0; i < ARRAY_SIZE(surfaces); i++)
            plan_reason(b->plan, surfaces[i], b->advisory ? "advisory" : "network-host");
        return;
    }
    /* One group of the filter holds TCP and UDP: INET sockets as a whole. */
    if (is_open(b, SURFACE_NET_TCP) != is_open(b, SURFACE_NET_UDP)) {
        plan_reason(b->plan, SURFACE_NET_TCP, "inet-opened");
        plan_reason(b->plan, SURFACE_NET_UDP, "inet-opened");
    } else {
        /* AF_INET6 is of the same rule, and not on every host: a second sample at most. */
        build_hold(b, STATE_ENFORCED, NULL,
                   CHECK(NET_TCP, SECCOMP, SOCKET, NONE, .a = AF_INET, .b = SOCK_STREAM, .refused = {EPERM},
                         .self_contained = true));
        build_hold(b, STATE_ENFORCED, NULL,
                   CHECK(NET_UDP, SECCOMP, SOCKET, NONE, .a = AF_INET, .b = SOCK_DGRAM, .refused = {EPERM},
                         .self_contained = true));
        if (abi >= ABI_TCP)
            build_hold(b, STATE_ENFORCED, NULL,
                       CHECK(NET_TCP, LANDLOCK_SCOPE, BIND, TCP, .refused = {EACCES}));
        if (abi >= ABI_UDP)
            build_hold(b, STATE_ENFORCED, NULL,
                       CHECK(NET_UDP, LANDLOCK_SCOPE, SEND_UDP, UDP, .refused = {EACCES}));
    }
    build_hold(b, STATE_ENFORCED, NULL,
               CHECK(NET_OTHER, SECCOMP, SOCKET, NONE, .a = AF_NETLINK, .b = SOCK_RAW, .refused = {EPERM},
                     .self_contained = true));
}

static void claim_ipc(struct builder *b)
{
    int abi = b->host->landlock_abi;

    if (refuses_unix(b)) {
        build_hold(b, STATE_ENFORCED, NULL,
                   CHECK(UNIX_PATH, SECCOMP, SOCKET, NONE, .a = AF_UNIX, .b = SOCK_STREAM, .refused = {EPERM},
                         .self_contained = true));
        /* Datagram sockets of a pair reach every name as well. */
        build_hold(b, STATE_ENFORCED, NULL,
                   CHECK(UNIX_PATH, SECCOMP, SOCKETPAIR, NONE, .a = AF_UNIX, .b = SOCK_DGRAM,
                         .refused = {EPERM}, .self_contained = true));
        build_hold(b, STATE_ENFORCED, NULL,
                   CHECK(UNIX_ABSTRACT, SECCOMP, SOCKET, NONE, .a = AF_UNIX, .b = SOCK_DGRAM,
                         .refused = {EPERM}, .self_contained = true));
        build_hold(b, STATE_ENFORCED, NULL,
                   CHECK(UNIX_ABSTRACT, SECCOMP, SOCKETPAIR, NONE, .a = AF_UNIX, .b = SOCK_DGRAM,
                         .refused = {EPERM}, .self_contained = true));
    } else if (abi < ABI_UNIX) {
        plan_reason(b->plan, SURFACE_UNIX_PATH, "unix-sockets-opened");
        plan_reason(b->plan, SURFACE_UNIX_ABSTRACT, "no-scopes");
    } else {
        build_hold(b, STATE_ENFORCED, NULL,
                   CHECK(UNIX_PATH, LANDLOCK_SCOPE, CONNECT_PATH, SOCKET_PATH, .refused = {EACCES}));
    }
    if (abi >= ABI_SCOPES)
        build_hold(
            b, STATE_ENFORCED, NULL,
            CHECK(UNIX_ABSTRACT, LANDLOCK_SCOPE, CONNECT_ABSTRACT, SOCKET_ABSTRACT, .refused = {EPERM}));
    build_hold(b, STATE_ENFORCED, NULL,
               CHECK(IPC_SYSV, SECCOMP, SHM_INFO, NONE, .refused = {EPERM}, .self_contained = true));
    build_hold(b, STATE_ENFORCED, NULL,
               CHECK(IPC_KEYRING, SECCOMP, KEYRING, NONE, .refused = {EPERM}, .self_contained = true));
    build_hold(b, STATE_ENFORCED, NULL, CHECK(IPC_MQUEUE, SECCOMP, SENTINEL, NONE, .self_contained = true));
}

static void claim_processes(struct builder *b)
{
    build_hold(b, STATE_ENFORCED, NULL,
               CHECK(PROC_TRACE, LANDLOCK, READ_MEMORY, PROCESS, .refused = {EPERM}));
    build_hold(b, STATE_ENFORCED, NULL, CHECK(PROC_ADJUST, SECCOMP, PRLIMIT, PROCESS, .refused = {EPERM}));
    if (b->host->landlock_abi >= ABI_SCOPES)
        build_hold(b, STATE_ENFORCED, NULL,
                   CHECK(PROC_SIGNAL, LANDLOCK_SCOPE, SIGNAL, PROCESS, .refused = {EPERM}));
    else
        plan_reason(b->plan, SURFACE_PROC_SIGNAL, "no-scopes");
    plan_reason(b->plan, SURFACE_PROC_VISIBLE, "no-pid-namespace");
    if (has_guard(b))
        plan_raise(b->plan, SURFACE_PROC_SURVIVOR, STATE_ENFORCED, MECHANISM_GUARD, NULL);
    else if (build_has_group(b, CGROUP_TREE))
        /* It ends with its supervisor only where that one is there to end it. */
        plan_raise(b->plan, SURFACE_PROC_SURVIVOR, STATE_PARTIAL, MECHANISM_CGROUP, "supervisor-killed");
    else if (b->supervised)
        plan_raise(b->plan, SURFACE_PROC_SURVIVOR, STATE_PARTIAL, MECHANISM_SUPERVISOR, "no-guard");
    else
        plan_reason(b->plan, SURFACE_PROC_SURVIVOR, "no-supervisor");
}

/* Terminals that exist: none can be opened by its name. */
static void claim_terminals(struct builder *b)
{
    static const enum surface surfaces[] = {SURFACE_TTY_READ, SURFACE_TTY_INJECT, SURFACE_TTY_STATE};

    for (size_t i = 0; i < ARRAY_SIZE(surfaces); i++) {
        struct check check =
            CHECK(TTY_READ, LANDLOCK_HIDE, OPEN, TERMINAL, .a = O_RDONLY, .refused = {EACCES});

        check.surface = surfaces[i];
        if (b->supervised || !b->host->terminal)
            build_hold(b, STATE_ENFORCED, NULL, check);
    }
}

void build_claims(struct builder *b)
{
    claim_files(b);
    claim_hidden(b);
    claim_network(b);
    claim_ipc(b);
    claim_processes(b);
    build_claims_common(b);
    claim_terminals(b);
}
