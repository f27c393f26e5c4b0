/*
 * namespace_claims.c - what the chain holds, each claim together with the check that will show it.
 *
 * Two walls stand one behind the other, and each is shown by itself: mounts by the names that the command
 * would use, Landlock by descriptors of the mounts out here, which no view changes.
 */
#include "backend/namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/statvfs.h>

#define HIDDEN_CHECKS    16 /* hidden paths tried in one run; every named one is among them */
#define PROTECTED_CHECKS 8
#define PROC_CHECKS      8

static void claim_files(struct builder *b)
{
    const struct resolved *resolved = b->resolved;
    bool landlock = has_landlock(b);

    for (size_t i = 0; i < resolved->edge_count; i++) {
        if (view_shows(b, resolved->edges[i].parent)) {
            build_hold(b, STATE_ENFORCED, NULL,
                       CHECK(FS_WRITE, MOUNT, NONE, EDGE, .by_name = true, .index = i, .refused = {EROFS},
                             .self_contained = true));
            build_hold(b, STATE_ENFORCED, NULL,
                       CHECK(FS_METADATA, MOUNT, REMOVE_ATTRIBUTE, EDGE, .by_name = true, .index = i,
                             .refused = {EROFS}, .self_contained = true));
        }
        if (landlock)
            build_hold(b, STATE_ENFORCED, NULL,
                       CHECK(FS_WRITE, LANDLOCK, NONE, EDGE, .index = i, .refused = {EACCES},
                             .self_contained = true));
    }
    build_hold(b, STATE_ENFORCED, NULL,
               CHECK(FS_TRUNCATE, MOUNT, MOUNTED, NONE, .name = "/", .a = ST_RDONLY, .refused = {EROFS},
                     .self_contained = true));
    /* Root's files in it are the machine's settings. A sandbox inside needs to write its own id maps. */
    if (!is_open(b, SURFACE_PRIV_USERNS))
        build_hold(b, STATE_ENFORCED, NULL,
                   CHECK(FS_WRITE, MOUNT, MOUNTED, NONE, .name = "/proc", .a = ST_RDONLY, .refused = {EROFS},
                         .self_contained = true));
    build_hold(b, STATE_ENFORCED, NULL,
               CHECK(FS_METADATA, MOUNT, MOUNTED, NONE, .name = "/", .a = ST_RDONLY, .refused = {EROFS},
                     .self_contained = true));
    build_hold(b, STATE_ENFORCED, NULL,
               CHECK(FS_DEVICE, MOUNT, MOUNTED, NONE, .name = "/", .a = ST_NODEV, .refused = {EROFS},
                     .self_contained = true));
    if (landlock) {
        build_hold(b, STATE_ENFORCED, NULL,
                   CHECK(FS_WRITE, LANDLOCK, OPEN, FILE, .a = O_WRONLY, .refused = {EACCES}));
        if (b->host->landlock_abi >= ABI_TRUNCATE)
            build_hold(b, STATE_ENFORCED, NULL,
                       CHECK(FS_TRUNCATE, LANDLOCK, TRUNCATE, FILE, .refused = {EACCES}));
        build_hold(b, STATE_ENFORCED, NULL,
                   CHECK(FS_DEVICE, LANDLOCK, OPEN, DEVICE, .a = O_WRONLY, .refused = {EACCES}));
        build_hold(b, STATE_ENFORCED, NULL,
                   CHECK(FS_SPECIAL, LANDLOCK, OPEN, FIFO, .a = O_WRONLY, .refused = {EACCES}));
    } else {
        plan_reason(b->plan, SURFACE_FS_SPECIAL, "no-landlock");
    }
    if (resolved->policy->readable_listed && landlock)
        build_hold(b, STATE_ENFORCED, NULL,
                   CHECK(FS_READ, LANDLOCK, OPEN, FILE, .a = O_RDONLY, .refused = {EACCES}));
    else
        plan_reason(b->plan, SURFACE_FS_READ, landlock ? "readable-all" : "no-landlock");
    if (b->plan->foreign) /* its tree receives what is mounted out here while the command runs */
        plan_lower(b->plan, SURFACE_FS_METADATA, "mounts-of-later");
    if (b->plan->foreign) /* and nothing keeps its devices from being read */
        plan_lower(b->plan, SURFACE_FS_DEVICE, "mounts-of-later");
    plan_reason(b->plan, SURFACE_FS_ALIAS, "hard-links");
    plan_reason(b->plan, SURFACE_FS_WATCH, "readable-files");
}

/* Return: was it tried, or cannot it be? */
static bool try_hidden(struct builder *b, size_t index, enum view_hold hold)
{
    const struct hidden *hidden = &b->resolved->hidden[index];
    /* A file in it may be one that is granted. */
    bool itself = S_ISDIR(hidden->type) && (!hidden->sample || view_keeps(b, hidden));
    struct check check = CHECK(FS_HIDDEN, MOUNT, OPEN, HIDDEN, .by_name = true, .index = index, .a = O_RDONLY,
                               .refused = {EACCES}, .itself = itself, .self_contained = true);

    if (hold != VIEW_HOLD_MASK) {
        check.vanishes = true;
        check.refused[0] = ENOENT;
        if (!hidden->sample && !itself) { /* nobody has to open a FIFO to see that its name is gone */
            check.itself = true;
            check.a = O_PATH;
        }
    } else if (!hidden->sample && !itself) {
        return false;
    }
    build_hold(b, STATE_ENFORCED, NULL, check);
    return true;
}

/* What is named is tried first, so that a bound on the number of checks never cuts it. */
static void claim_hidden(struct builder *b)
{
    const struct resolved *resolved = b->resolved;
    size_t tried = 0, held = 0, masked = 0;

    if (is_open(b, SURFACE_FS_HIDDEN))
        return;
    for (int named = 1; named >= 0; named--)
        for (size_t i = 0; i < resolved->hidden_count; i++) {
            enum view_hold hold = view_holds(b, &resolved->hidden[i]);

            if (resolved->hidden[i].named != (named == 1) || hold == VIEW_HOLD_NONE ||
                hold == VIEW_HOLD_UNSEEN)
                continue;
            held++;
            masked += hold != VIEW_HOLD_NAME;
            if (tried < HIDDEN_CHECKS)
                tried += try_hidden(b, i, hold);
        }
    if (held == 0)
        plan_raise(b->plan, SURFACE_FS_HIDDEN, STATE_ABSENT, MECHANISM_NONE, NULL);
    else if (tried == 0)
        plan_raise(b->plan, SURFACE_FS_HIDDEN, STATE_ENFORCED, MECHANISM_MOUNT, NULL);
    if (masked > 0)
        plan_lower(b->plan, SURFACE_FS_HIDDEN, "replaced-reappears");
    for (size_t i = 0; i < resolved->hidden_count; i++)
        if (view_holds(b, &resolved->hidden[i]) == VIEW_HOLD_NONE)
            build_unheld(b, i, view_unheld(b, &resolved->hidden[i]));
}

static void claim_protected(struct builder *b)
{
    const struct strings *paths = &b->resolved->protected_paths;
    size_t tried = 0;

    for (size_t i = 0; i < paths->count; i++) {
        if (!view_protects(b, i) || tried++ >= PROTECTED_CHECKS)
            continue;
        build_hold(b, STATE_ENFORCED, NULL,
                   CHECK(FS_PROTECTED, MOUNT, NONE, PROTECTED, .by_name = true, .index = i,
                         .refused = {EROFS}, .self_contained = true));
        /* A file that its owner may not write either cannot be tried. */
        build_hold(b, STATE_ENFORCED, NULL,
                   CHECK(FS_PROTECTED, MOUNT, MOUNTED, PROTECTED, .index = i, .a = ST_RDONLY,
                         .refused = {EROFS}, .self_contained = true));
    }
    if (b->plan->foreign && paths->count > 0)
        plan_reason(b->plan, SURFACE_FS_PROTECTED, "no-mounts-in-writable");
    else if (tried == 0 && !is_open(b, SURFACE_FS_PROTECTED))
        plan_raise(b->plan, SURFACE_FS_PROTECTED, STATE_ABSENT, MECHANISM_NONE, NULL);
    for (size_t i = 0; i < b->resolved->protected_notes.count && !b->failed && !b->plan->foreign; i++)
        b->failed = strings_add(&b->plan->warnings, b->resolved->protected_notes.items[i]);
    if (b->resolved->protected_weak)
        plan_lower(b->plan, SURFACE_FS_PROTECTED, b->resolved->protected_weak);
}

/* Each writable root is a mount of its own, and the kernel links and renames nothing from one into another.
 */
static void warn_apart(struct builder *b)
{
    const struct resolved *resolved = b->resolved;
    const struct resolved_path *roots[3]; /* two are named: to find all takes the square of their number */
    size_t count = 0;

    for (size_t i = 0; i < resolved->path_count && count < ARRAY_SIZE(roots); i++) {
        const struct resolved_path *path = &resolved->paths[i];

        if (path->grant != GRANT_WRITE || path->implied || !S_ISDIR(path->type) || view_is_inner(b, path))
            continue;
        roots[count++] = path;
    }
    if (count < 2 || b->failed)
        return;
    b->failed = strings_addf(&b->plan->warnings,
                             "separate-mounts: link and rename from one of these into another answer EXDEV, "
                             "and a program has to copy: %s, %s%s",
                             QUOTE(roots[0]->path), QUOTE(roots[1]->path), count > 2 ? " and others" : "");
}

/* The number that a namespace must have: a session's. 0: any but ours. */
static int64_t wanted(const struct builder *b, enum channel_join which)
{
    return b->resolved->session ? (int64_t)b->resolved->session->number[which] : 0;
}

/* An address that no rule and no pool makes local: nothing may lead there. NULL: the rules name everything.
 */
static const char *find_outside(const struct own_network *network, int family)
{
    static const char *const addresses[] = {"192.0.2.1", "9.9.9.9", "2001:db8::1", "2620:fe::9"};

    for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
        bool six = strchr(addresses[i], ':');

        if (six == (family == AF_INET6) && !network_has(network, addresses[i]))
            return addresses[i];
    }
    return NULL;
}

/* One listener of those that names lead to; where there is no rule, the resolver's. */
static void claim_listener(struct builder *b)
{
    const struct own_network *network = &b->resolved->network;

    for (size_t i = 0; i < network->listener_count && !b->plan->joined;
         i++) { /* a session's are its keeper's */
        const struct listener *listener = &network->listeners[i];
        if ((listener->role != LISTENER_TCP && listener->role != LISTENER_DNS_TCP) ||
            strchr(listener->address, ':'))
            continue;
        build_hold(b, STATE_ENFORCED, NULL,
                   CHECK(NET_LISTED, GATEWAY, LISTENER, LISTENER, .index = i, .refused = {EISCONN}));
        return;
    }
}

/* The list holds because nothing leads out, and because whoever accepts inside is the gateway. */
static void claim_listed(struct builder *b)
{
    const struct own_network *network = &b->resolved->network;
    static const int families[] = {AF_INET, AF_INET6};

    if (b->resolved->policy->network != NETWORK_LISTED) {
        plan_reason(b->plan, SURFACE_NET_LISTED, "not-listed-mode");
        return;
    }
    build_hold(b, STATE_ENFORCED, NULL,
               CHECK(NET_LISTED, NET_NAMESPACE, NAMESPACE, NAMESPACE, .name = "net", .b = wanted(b, JOIN_NET),
                     .refused = {EXDEV}, .self_contained = true));
    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        const char *outside = find_outside(network, families[i]);

        if (outside)
            build_hold(b, STATE_ENFORCED, NULL,
                       CHECK(NET_LISTED, NET_NAMESPACE, ROUTE, NONE, .name = outside,
                             .refused = {ENETUNREACH}, .self_contained = true));
    }
    claim_listener(b);
    if (!b->failed)
        b->failed =
            strings_add(&b->plan->warnings,
                        "listed-network: the kernel lets traffic reach only the gateway, which connects "
                        "only to listed names and ports and to the address that it checked; not "
                        "stopped: what is sent to a listed host, which site behind a shared address "
                        "answers, data in the labels of names below a *. rule");
}

static void claim_network(struct builder *b)
{
    static const enum surface surfaces[] = {SURFACE_NET_TCP, SURFACE_NET_UDP, SURFACE_NET_OTHER};

    claim_listed(b);
    for (size_t i = 0; i < ARRAY_SIZE(surfaces); i++) {
        struct check check = CHECK(NET_TCP, NET_NAMESPACE, NAMESPACE, NAMESPACE, .name = "net",
                                   .refused = {EXDEV}, .self_contained = true);

        if (!cuts_network(b)) {
            plan_reason(b->plan, surfaces[i], "network-host");
            continue;
        }
        check.surface = surfaces[i];
        check.b = wanted(b, JOIN_NET);
        build_hold(b, STATE_ENFORCED, NULL, check);
    }
    /* Families that no network namespace holds. */
    if (cuts_network(b))
        build_hold(b, STATE_ENFORCED, NULL,
                   CHECK(NET_OTHER, SECCOMP, SENTINEL, NONE, .self_contained = true));
}

/* Which services are reached all the same. No mount of bubblewrap's lies below what is writable. */
static const char *find_unmasked(const struct builder *b)
{
    const struct view *view = &b->resolved->view;

    if (view->sockets_unknown)
        return "sockets-unmasked";
    for (size_t i = 0; i < view->sockets.count && b->plan->foreign; i++)
        if (resolved_under_writable(b->resolved, view->sockets.items[i]))
            return "sockets-in-writable";
    return "sockets-of-later";
}

static void claim_ipc(struct builder *b)
{
    static const enum surface surfaces[] = {SURFACE_IPC_SYSV, SURFACE_IPC_MQUEUE};
    const char *left = find_unmasked(b);
    int abi = b->host->landlock_abi;

    for (size_t i = 0; i < ARRAY_SIZE(surfaces); i++) {
        struct check check = CHECK(IPC_SYSV, IPC_NAMESPACE, NAMESPACE, NAMESPACE, .name = "ipc",
                                   .refused = {EXDEV}, .self_contained = true);

        check.surface = surfaces[i];
        check.b = wanted(b, JOIN_IPC);
        build_hold(b, STATE_ENFORCED, NULL, check);
    }
    build_hold(b, STATE_ENFORCED, NULL,
               CHECK(IPC_KEYRING, SECCOMP, KEYRING, NONE, .refused = {EPERM}, .self_contained = true));
    if (cuts_network(b))
        build_hold(b, STATE_ENFORCED, NULL,
                   CHECK(UNIX_ABSTRACT, NET_NAMESPACE, NAMESPACE, NAMESPACE, .name = "net",
                         .b = wanted(b, JOIN_NET), .refused = {EXDEV}, .self_contained = true));
    else if (abi < ABI_SCOPES)
        plan_reason(b->plan, SURFACE_UNIX_ABSTRACT, "no-scopes");
    if (abi >= ABI_SCOPES)
        build_hold(
            b, STATE_ENFORCED, NULL,
            CHECK(UNIX_ABSTRACT, LANDLOCK_SCOPE, CONNECT_ABSTRACT, SOCKET_ABSTRACT, .refused = {EPERM}));
    /* Names in /run and /tmp are gone, and masks lie on those that somebody listened on at the start. */
    if (abi >= ABI_UNIX && !is_open(b, SURFACE_PRIV_USERNS))
        build_hold(b, STATE_ENFORCED, NULL,
                   CHECK(UNIX_PATH, LANDLOCK_SCOPE, CONNECT_PATH, SOCKET_PATH, .refused = {EACCES}));
    build_hold(
        b, STATE_PARTIAL, left,
        CHECK(UNIX_PATH, MOUNT, OBJECT, OBJECT, .name = "/run", .refused = {EXDEV}, .self_contained = true));
    if (!resolved_under_writable(b->resolved, "/tmp")) /* the host's, as it was asked for */
        build_hold(b, STATE_PARTIAL, left,
                   CHECK(UNIX_PATH, MOUNT, OBJECT, OBJECT, .name = "/tmp", .refused = {EXDEV},
                         .self_contained = true));
}

/* Another mount of procfs shows the processes outside as well. */
static void claim_other_procs(struct builder *b)
{
    const struct view *view = &b->resolved->view;

    for (size_t i = 0, tried = 0; i < view->procs.count; i++)
        if (view_masks_proc(b, view->procs.items[i]) && tried++ < PROC_CHECKS)
            build_hold(b, STATE_ENFORCED, NULL,
                       CHECK(PROC_VISIBLE, MOUNT, OBJECT, OBJECT, .name = view->procs.items[i],
                             .refused = {EXDEV}, .self_contained = true));
    for (size_t i = 0; i < view->procs.count; i++) /* last: a check raises what it holds */
        if (!view_masks_proc(b, view->procs.items[i]) && view_brings(b, view->procs.items[i]))
            plan_lower(b->plan, SURFACE_PROC_VISIBLE, "proc-elsewhere");
    if (view->procs_unknown)
        plan_lower(b->plan, SURFACE_PROC_VISIBLE, "proc-elsewhere");
    if (b->plan->foreign) /* its tree receives what is mounted out here while the command runs */
        plan_lower(b->plan, SURFACE_PROC_VISIBLE, "mounts-of-later");
}

/* What the process namespace keeps out of reach. In a session another run's process may have the number of
 * any of ours, so that none can be tried: then it is shown by which one it is, as the network's is. */
static void claim_outside(struct builder *b, struct check tried)
{
    struct check read_back = CHECK(PROC_SIGNAL, PID_NAMESPACE, NAMESPACE, NAMESPACE, .name = "pid",
                                   .b = wanted(b, JOIN_PID), .refused = {EXDEV}, .self_contained = true);

    read_back.surface = tried.surface;
    build_hold(b, STATE_ENFORCED, NULL, b->plan->joined ? read_back : tried);
}

static void claim_processes(struct builder *b)
{
    claim_outside(b, CHECK(PROC_SIGNAL, PID_NAMESPACE, SIGNAL, PROCESS, .refused = {ESRCH}));
    /* The control of this one is taken by the link that makes the namespace. */
    if (b->host->landlock_abi >= ABI_SCOPES && !b->plan->foreign)
        build_hold(b, STATE_ENFORCED, NULL,
                   CHECK(PROC_SIGNAL, LANDLOCK_SCOPE, SIGNAL, INIT, .refused = {EPERM}));
    claim_outside(b, CHECK(PROC_TRACE, PID_NAMESPACE, READ_MEMORY, PROCESS, .refused = {ESRCH}));
    claim_outside(b, CHECK(PROC_ADJUST, PID_NAMESPACE, PRLIMIT, PROCESS, .refused = {ESRCH}));
    build_hold(b, STATE_ENFORCED, NULL,
               CHECK(PROC_VISIBLE, PID_NAMESPACE, NAMESPACE, NAMESPACE, .name = "pid",
                     .b = wanted(b, JOIN_PID), .refused = {EXDEV}, .self_contained = true));
    build_hold(b, STATE_ENFORCED, NULL,
               CHECK(PROC_VISIBLE, MOUNT, OBJECT, OBJECT, .name = "/proc", .refused = {EXDEV},
                     .self_contained = true));
    claim_other_procs(b);
    if (b->plan->joined)
        plan_raise(b->plan, SURFACE_PROC_SURVIVOR, STATE_PARTIAL, MECHANISM_PID_NAMESPACE,
                   "until-session-ends");
    else
        plan_raise(b->plan, SURFACE_PROC_SURVIVOR, STATE_ENFORCED, MECHANISM_PID_NAMESPACE, NULL);
}

/* The view has terminals of its own: none that exists out here has a name in it. */
static void claim_terminals(struct builder *b)
{
    static const enum surface surfaces[] = {SURFACE_TTY_READ, SURFACE_TTY_INJECT, SURFACE_TTY_STATE};

    for (size_t i = 0; i < ARRAY_SIZE(surfaces); i++) {
        struct check check = CHECK(TTY_READ, MOUNT, OBJECT, OBJECT, .name = "/dev/pts", .refused = {EXDEV},
                                   .self_contained = true);

        check.surface = surfaces[i];
        if (b->supervised || !b->host->terminal)
            build_hold(b, STATE_ENFORCED, NULL, check);
    }
}

static void claim_room(struct builder *b)
{
    if (b->resolved->policy->limit_tmp_size && !b->plan->foreign)
        build_hold(b, STATE_ENFORCED, NULL,
                   CHECK(LIMIT_TMP_SIZE, MOUNT, ROOM, NONE, .name = "/tmp",
                         .a = (int64_t)b->resolved->policy->limit_tmp_size, .refused = {EFBIG},
                         .self_contained = true));
}

void build_namespace_claims(struct builder *b)
{
    claim_files(b);
    claim_hidden(b);
    claim_protected(b);
    claim_network(b);
    claim_ipc(b);
    claim_processes(b);
    claim_room(b);
    warn_apart(b);
    build_claims_common(b);
    claim_terminals(b);
}
