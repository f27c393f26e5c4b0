/*
 * landlock.c - the backend that needs nothing but Landlock: no namespace, no mount, no daemon, no privilege.
 *
 *   detach-run … landlock-run … [hide-run …] scope-run … drop-run … seccomp-run … attest-run … COMMAND
 *
 * Should:  raise a claim only together with the check that will show it, so
 *          that a surface without a check cannot be called enforced.
 * Mustn't: claim what Landlock and a filter cannot hold: metadata of the
 *          caller's own files, protected names in a writable tree, the sight of
 *          other processes. These stay open, each with its reason.
 */
#include "backend/backend.h"

#include "links/kernel_abi.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define ABI_TRUNCATE 3
#define ABI_TCP      4
#define ABI_SCOPES   6
#define ABI_UNIX     9
#define ABI_UDP      10

#define ERRATUM_DISCONNECTED (1U << 2) /* bit of erratum 3 */

#define HIDDEN_CHECKS 24 /* hidden paths tried in one run; every named one is among them */
#define SECRET_CHECKS 8

struct builder {
    const struct resolved *resolved;
    const struct host *host;
    struct plan *plan;
    bool supervised;
    int failed; /* the first error, 0 if none */
};

static void add(struct builder *b, const char *text)
{
    if (!b->failed)
        b->failed = plan_word(b->plan, text);
}

static void add_special(struct builder *b, enum word_kind kind)
{
    if (!b->failed)
        b->failed = plan_special(b->plan, kind);
}

static void add_path(struct builder *b, const char *option, size_t path)
{
    add(b, option);
    if (!b->failed)
        b->failed = plan_path(b->plan, path);
}

static void add_check(struct builder *b, struct check check)
{
    /* Without a supervisor nobody looks from outside: only what decides by its answer alone is tried. */
    if (!b->failed && (b->supervised || check.self_contained))
        b->failed = plan_check(b->plan, check);
}

static bool is_open(const struct builder *b, enum surface surface)
{
    return b->resolved->open[surface];
}

/* AF_UNIX sockets are refused where no Landlock right tells them apart by path. */
static bool refuses_unix(const struct builder *b)
{
    return b->host->landlock_abi < ABI_UNIX && !is_open(b, SURFACE_UNIX_PATH) &&
           !is_open(b, SURFACE_UNIX_ABSTRACT);
}

static bool cuts_network(const struct builder *b)
{
    return b->resolved->policy->network == NETWORK_NONE;
}

static bool has_guard(const struct builder *b)
{
    return b->supervised && b->host->landlock_abi >= ABI_SCOPES && !is_open(b, SURFACE_PROC_SIGNAL);
}

/* --- the chain ---------------------------------------------------------------------------------------- */

static void chain_detach(struct builder *b)
{
    const struct resolved *resolved = b->resolved;
    char text[64];

    add(b, "detach-run");
    add_special(b, WORD_KEEP);
    /* An exec has nobody in front who would take the terminal back, so it stays in the caller's group: no
     * signal leaves the scope, and where there is none proc.signal is open anyway. */
    if (b->supervised)
        add(b, "--session");
    if (resolved->policy->limit_file_size) {
        snprintf(text, sizeof(text), "%llu", (unsigned long long)resolved->policy->limit_file_size);
        add(b, "--file-size");
        add(b, text);
    }
    if (resolved->switch_user) {
        snprintf(text, sizeof(text), "%u:%u", (unsigned)resolved->uid, (unsigned)resolved->gid);
        add(b, "--user");
        add(b, text);
    }
    add(b, "--");
}

static void chain_landlock(struct builder *b)
{
    add(b, "landlock-run");
    for (size_t i = 0; i < b->resolved->path_count; i++) {
        enum grant grant = b->resolved->paths[i].grant;

        if (grant == GRANT_READ)
            add_path(b, "--ro", i);
        else if (grant == GRANT_WRITE || grant == GRANT_DEVICE)
            add_path(b, "--rw", i);
    }
    if (b->plan->private_tmp) {
        add(b, "--rw");
        add_special(b, WORD_TMP);
    }
    add(b, "--");
}

/* /dev is hidden as a whole: what is granted in it is shown again. */
static bool stays_readable(const struct resolved_path *path)
{
    return path->grant == GRANT_SHOW || path->grant == GRANT_DEVICE ||
           (path->grant == GRANT_WRITE && strncmp(path->path, "/dev/", 5) == 0);
}

static void chain_hide(struct builder *b)
{
    if (b->resolved->level_count == 0)
        return;
    add(b, "hide-run");
    for (size_t i = 0; i < b->resolved->level_count; i++) {
        const struct hide_level *level = &b->resolved->levels[i];

        add_path(b, "--level", level->path);
        for (size_t k = 0; k < level->except.count; k++) {
            add(b, "--except");
            add(b, level->except.items[k]);
        }
    }
    for (size_t i = 0; i < b->resolved->path_count; i++)
        if (stays_readable(&b->resolved->paths[i]))
            add_path(b, "--show", i);
    add(b, "--");
}

/* A layer that would hold nothing is left out. */
static void chain_scope(struct builder *b)
{
    int abi = b->host->landlock_abi;
    const struct {
        const char *option;
        bool asked;
    } classes[] = {
        {"--signal", abi >= ABI_SCOPES && !is_open(b, SURFACE_PROC_SIGNAL)},
        {"--abstract", abi >= ABI_SCOPES && !is_open(b, SURFACE_UNIX_ABSTRACT)},
        {"--tcp", abi >= ABI_TCP && cuts_network(b) && !is_open(b, SURFACE_NET_TCP)},
        {"--udp", abi >= ABI_UDP && cuts_network(b) && !is_open(b, SURFACE_NET_UDP)},
        {"--unix", abi >= ABI_UNIX && !is_open(b, SURFACE_UNIX_PATH)},
    };
    bool started = false;

    for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
        if (!classes[i].asked)
            continue;
        if (!started)
            add(b, "scope-run");
        started = true;
        add(b, classes[i].option);
    }
    for (size_t i = 0; i < b->resolved->path_count && classes[4].asked; i++)
        if (b->resolved->paths[i].grant == GRANT_SOCKET)
            add_path(b, "--socket", i);
    if (has_guard(b)) {
        b->plan->guard = true;
        add(b, "--guard");
        add_special(b, WORD_LIVENESS);
        add(b, "--channel");
        add_special(b, WORD_CHANNEL);
    }
    if (started)
        add(b, "--");
}

/* The groups of the filter that are opened, and when. */
static void chain_seccomp(struct builder *b)
{
    bool host_network = !cuts_network(b);
    const struct {
        const char *group;
        bool open;
    } groups[] = {
        {"net.inet", host_network || is_open(b, SURFACE_NET_TCP) || is_open(b, SURFACE_NET_UDP)},
        {"net.netlink", host_network || is_open(b, SURFACE_NET_OTHER)},
        {"net.other", is_open(b, SURFACE_NET_OTHER)},
        {"unix.path", !refuses_unix(b)},
        {"truncate", b->host->landlock_abi >= ABI_TRUNCATE || is_open(b, SURFACE_FS_TRUNCATE)},
        {"kernel.syscalls", is_open(b, SURFACE_KERNEL_SYSCALLS)},
        {"priv.userns", is_open(b, SURFACE_PRIV_USERNS)},
        {"priv.setuid", is_open(b, SURFACE_PRIV_SETUID)},
        {"ipc.keyring", is_open(b, SURFACE_IPC_KEYRING)},
        {"ipc.sysv", is_open(b, SURFACE_IPC_SYSV)},
        {"ipc.mqueue", is_open(b, SURFACE_IPC_MQUEUE)},
        {"proc.adjust", is_open(b, SURFACE_PROC_ADJUST)},
        {"tty.inject", is_open(b, SURFACE_TTY_INJECT)},
        {"fs.metadata", is_open(b, SURFACE_FS_METADATA)},
    };

    add(b, "seccomp-run");
    add(b, "--set");
    add(b, "landlock");
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
        if (groups[i].open) {
            add(b, "--without");
            add(b, groups[i].group);
        }
    add(b, "--sentinel");
    add_special(b, WORD_SENTINEL);
    add(b, "--");
}

static void build_chain(struct builder *b)
{
    chain_detach(b);
    if (b->resolved->policy->readable_listed) {
        chain_hide(b); /* it lists what is above the hidden, which landlock-run's layer forbids here */
        chain_landlock(b);
    } else {
        chain_landlock(b);
        chain_hide(b);
    }
    chain_scope(b);
    add(b, "drop-run");
    add(b, "--");
    chain_seccomp(b);
    add(b, "attest-run");
    if (b->supervised) {
        add(b, "--channel");
        add_special(b, WORD_CHANNEL);
        add(b, "--stderr");
        add_special(b, WORD_STDERR);
    }
    add_special(b, WORD_PASS);
    add_special(b, WORD_CHECKS);
    add(b, "--");
    add_special(b, WORD_COMMAND);
}

/* --- the claims --------------------------------------------------------------------------------------- */

/* A claim and the check that shows it, in one: nothing is raised without one. */
static void hold(struct builder *b, enum surface_state state, const char *reason, struct check check)
{
    struct claim *claim = &b->plan->claims[check.surface];
    bool known = false;

    if (is_open(b, check.surface))
        return;
    for (size_t i = 0; i < claim->by_count; i++)
        known |= claim->by[i].mechanism == check.mechanism;
    plan_raise(b->plan, check.surface, state, known ? MECHANISM_NONE : check.mechanism, reason);
    add_check(b, check);
}

#define CHECK(SURFACE, MECHANISM, ACT, CANARY, ...)                                                          \
    (struct check)                                                                                           \
    {                                                                                                        \
        .surface = SURFACE_##SURFACE, .mechanism = MECHANISM_##MECHANISM, .act = ACT_##ACT,                  \
        .canary = CANARY_##CANARY, __VA_ARGS__                                                               \
    }

static void claim_files(struct builder *b)
{
    const struct resolved *resolved = b->resolved;
    int abi = b->host->landlock_abi;

    for (size_t i = 0; i < resolved->edge_count; i++)
        hold(b, STATE_ENFORCED, NULL,
             CHECK(FS_WRITE, LANDLOCK, NONE, EDGE, .index = i, .refused = {EACCES}, .self_contained = true));
    hold(b, STATE_ENFORCED, NULL, CHECK(FS_WRITE, LANDLOCK, OPEN, FILE, .a = O_WRONLY, .refused = {EACCES}));
    if (abi >= ABI_TRUNCATE)
        hold(b, STATE_ENFORCED, NULL, CHECK(FS_TRUNCATE, LANDLOCK, TRUNCATE, FILE, .refused = {EACCES}));
    else
        hold(b, STATE_ENFORCED, NULL, CHECK(FS_TRUNCATE, SECCOMP, TRUNCATE, FILE, .refused = {EPERM}));
    /* Writing by landlock-run; reading, and so every ioctl, by the layer that hides /dev. */
    hold(
        b, STATE_ENFORCED, NULL,
        CHECK(FS_DEVICE, LANDLOCK, OPEN, DEVICE, .a = O_WRONLY, .refused = {EACCES}, .self_contained = true));
    hold(b, STATE_ENFORCED, NULL,
         CHECK(FS_DEVICE, LANDLOCK_HIDE, OPEN, DEVICE, .a = O_RDONLY, .refused = {EACCES},
               .self_contained = true));
    hold(b, STATE_ENFORCED, NULL,
         CHECK(FS_SPECIAL, LANDLOCK, OPEN, FIFO, .a = O_WRONLY, .refused = {EACCES}));
    if (resolved->policy->readable_listed)
        hold(b, STATE_ENFORCED, NULL,
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

            if (hidden->named != (named == 1) || hidden->held || !hidden->readable || !S_ISREG(hidden->type))
                continue;
            if (tried++ >= HIDDEN_CHECKS)
                continue;
            hold(b, STATE_PARTIAL, "names-visible",
                 CHECK(FS_HIDDEN, LANDLOCK_HIDE, OPEN_AT, HIDDEN, .index = i, .a = O_RDONLY,
                       .refused = {EACCES}, .self_contained = true));
        }
    if (holds_any(resolved) && !is_open(b, SURFACE_FS_HIDDEN) && tried == 0)
        plan_raise(b->plan, SURFACE_FS_HIDDEN, STATE_PARTIAL, MECHANISM_LANDLOCK_HIDE, "names-visible");
    for (size_t i = 0; i < resolved->hidden_count; i++)
        if (resolved->hidden[i].held)
            plan_reason(b->plan, SURFACE_FS_HIDDEN, resolved->hidden[i].held);
}

static void claim_network(struct builder *b)
{
    static const enum surface surfaces[] = {SURFACE_NET_TCP, SURFACE_NET_UDP, SURFACE_NET_OTHER};
    int abi = b->host->landlock_abi;

    plan_reason(b->plan, SURFACE_NET_LISTED,
                b->resolved->policy->network == NETWORK_LISTED ? "no-network-namespace" : "not-listed-mode");
    if (!cuts_network(b)) {
        for (size_t i = 0; i < ARRAY_SIZE(surfaces); i++)
            plan_reason(b->plan, surfaces[i], "network-host");
        return;
    }
    /* One group of the filter holds TCP and UDP: INET sockets as a whole. */
    if (is_open(b, SURFACE_NET_TCP) != is_open(b, SURFACE_NET_UDP)) {
        plan_reason(b->plan, SURFACE_NET_TCP, "inet-opened");
        plan_reason(b->plan, SURFACE_NET_UDP, "inet-opened");
    } else {
        const int families[] = {AF_INET, AF_INET6};

        for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
            hold(b, STATE_ENFORCED, NULL,
                 CHECK(NET_TCP, SECCOMP, SOCKET, NONE, .a = families[i], .b = SOCK_STREAM, .refused = {EPERM},
                       .self_contained = true));
            hold(b, STATE_ENFORCED, NULL,
                 CHECK(NET_UDP, SECCOMP, SOCKET, NONE, .a = families[i], .b = SOCK_DGRAM, .refused = {EPERM},
                       .self_contained = true));
        }
        if (abi >= ABI_TCP)
            hold(b, STATE_ENFORCED, NULL, CHECK(NET_TCP, LANDLOCK_SCOPE, BIND, TCP, .refused = {EACCES}));
        if (abi >= ABI_UDP)
            hold(b, STATE_ENFORCED, NULL, CHECK(NET_UDP, LANDLOCK_SCOPE, SEND_UDP, UDP, .refused = {EACCES}));
    }
    hold(b, STATE_ENFORCED, NULL,
         CHECK(NET_OTHER, SECCOMP, SOCKET, NONE, .a = AF_NETLINK, .b = SOCK_RAW, .refused = {EPERM},
               .self_contained = true));
}

static void claim_ipc(struct builder *b)
{
    int abi = b->host->landlock_abi;

    if (refuses_unix(b)) {
        hold(b, STATE_ENFORCED, NULL,
             CHECK(UNIX_PATH, SECCOMP, SOCKET, NONE, .a = AF_UNIX, .b = SOCK_STREAM, .refused = {EPERM},
                   .self_contained = true));
        /* Datagram sockets of a pair reach every name as well. */
        hold(b, STATE_ENFORCED, NULL,
             CHECK(UNIX_PATH, SECCOMP, SOCKETPAIR, NONE, .a = AF_UNIX, .b = SOCK_DGRAM, .refused = {EPERM},
                   .self_contained = true));
        hold(b, STATE_ENFORCED, NULL,
             CHECK(UNIX_ABSTRACT, SECCOMP, SOCKET, NONE, .a = AF_UNIX, .b = SOCK_DGRAM, .refused = {EPERM},
                   .self_contained = true));
        hold(b, STATE_ENFORCED, NULL,
             CHECK(UNIX_ABSTRACT, SECCOMP, SOCKETPAIR, NONE, .a = AF_UNIX, .b = SOCK_DGRAM,
                   .refused = {EPERM}, .self_contained = true));
    } else if (abi < ABI_UNIX) {
        plan_reason(b->plan, SURFACE_UNIX_PATH, "unix-sockets-opened");
        plan_reason(b->plan, SURFACE_UNIX_ABSTRACT, "no-scopes");
    } else {
        hold(b, STATE_ENFORCED, NULL,
             CHECK(UNIX_PATH, LANDLOCK_SCOPE, CONNECT_PATH, SOCKET_PATH, .refused = {EACCES}));
    }
    if (abi >= ABI_SCOPES)
        hold(b, STATE_ENFORCED, NULL,
             CHECK(UNIX_ABSTRACT, LANDLOCK_SCOPE, CONNECT_ABSTRACT, SOCKET_ABSTRACT, .refused = {EPERM}));
    hold(b, STATE_ENFORCED, NULL,
         CHECK(IPC_SYSV, SECCOMP, SHM_INFO, NONE, .refused = {EPERM}, .self_contained = true));
    hold(b, STATE_ENFORCED, NULL,
         CHECK(IPC_KEYRING, SECCOMP, KEYRING, NONE, .refused = {EPERM}, .self_contained = true));
    hold(b, STATE_ENFORCED, NULL, CHECK(IPC_MQUEUE, SECCOMP, SENTINEL, NONE, .self_contained = true));
}

static void claim_processes(struct builder *b)
{
    hold(b, STATE_ENFORCED, NULL, CHECK(PROC_TRACE, LANDLOCK, READ_MEMORY, PROCESS, .refused = {EPERM}));
    hold(b, STATE_ENFORCED, NULL, CHECK(PROC_ADJUST, SECCOMP, PRLIMIT, PROCESS, .refused = {EPERM}));
    if (b->host->landlock_abi >= ABI_SCOPES)
        hold(b, STATE_ENFORCED, NULL,
             CHECK(PROC_SIGNAL, LANDLOCK_SCOPE, SIGNAL, PROCESS, .refused = {EPERM}));
    else
        plan_reason(b->plan, SURFACE_PROC_SIGNAL, "no-scopes");
    plan_reason(b->plan, SURFACE_PROC_VISIBLE, "no-pid-namespace");
    if (has_guard(b))
        plan_raise(b->plan, SURFACE_PROC_SURVIVOR, STATE_ENFORCED, MECHANISM_GUARD, NULL);
    else if (b->supervised)
        plan_raise(b->plan, SURFACE_PROC_SURVIVOR, STATE_PARTIAL, MECHANISM_SUPERVISOR, "no-guard");
    else
        plan_reason(b->plan, SURFACE_PROC_SURVIVOR, "no-supervisor");
}

static void claim_privileges(struct builder *b)
{
    hold(b, STATE_ENFORCED, NULL,
         CHECK(PRIV_SETUID, NO_NEW_PRIVS, NO_NEW_PRIVS, NONE, .refused = {EPERM}, .self_contained = true));
    hold(b, STATE_ENFORCED, NULL,
         CHECK(PRIV_CAPS, CAPABILITIES, CAPABILITIES, NONE, .refused = {EPERM}, .self_contained = true));
    hold(b, STATE_ENFORCED, NULL, CHECK(PRIV_USERNS, SECCOMP, SENTINEL, NONE, .self_contained = true));
    hold(b, STATE_ENFORCED, NULL, CHECK(KERNEL_SYSCALLS, SECCOMP, SENTINEL, NONE, .self_contained = true));
    plan_reason(b->plan, SURFACE_KERNEL_SEPARATE, "same-kernel");
}

static void claim_inherited(struct builder *b)
{
    static const enum surface terminal[] = {SURFACE_TTY_READ, SURFACE_TTY_INJECT, SURFACE_TTY_STATE};
    size_t secrets = b->resolved->env_secrets.count;

    /* Without a supervisor nothing stands between the command and a file on 0-2: its flags are shared. */
    if (!b->supervised && b->host->regular)
        hold(b, STATE_PARTIAL, "file-on-0-2",
             CHECK(FD_INHERITED, DETACH, DESCRIPTOR, DESCRIPTOR, .refused = {EBADF}, .self_contained = true));
    else
        hold(b, STATE_ENFORCED, NULL,
             CHECK(FD_INHERITED, DETACH, DESCRIPTOR, DESCRIPTOR, .refused = {EBADF}, .self_contained = true));
    plan_reason(b->plan, SURFACE_FD_PASSED, "helpers-outside");

    for (size_t i = 0; i < secrets && i < SECRET_CHECKS; i++)
        hold(b, STATE_ENFORCED, NULL,
             CHECK(ENV_SECRETS, ENVIRONMENT, ENVIRONMENT, SECRET, .index = i, .refused = {ENOENT},
                   .self_contained = true));
    if (secrets == 0 && !is_open(b, SURFACE_ENV_SECRETS))
        plan_raise(b->plan, SURFACE_ENV_SECRETS, STATE_ABSENT, MECHANISM_NONE, NULL);

    for (size_t i = 0; i < ARRAY_SIZE(terminal); i++) {
        struct check check =
            CHECK(TTY_READ, DETACH, TERMINAL, NONE, .refused = {ENXIO}, .self_contained = true);

        check.surface = terminal[i];
        if (!b->supervised && b->host->terminal) {
            plan_reason(b->plan, terminal[i], "callers-terminal");
            continue;
        }
        /* None is handed over, and none of those that exist can be opened by name. */
        hold(b, STATE_ENFORCED, NULL, check);
        check.mechanism = MECHANISM_LANDLOCK_HIDE;
        check.act = ACT_OPEN;
        check.canary = CANARY_TERMINAL;
        check.a = O_RDONLY;
        check.refused[0] = EACCES;
        check.self_contained = false;
        hold(b, STATE_ENFORCED, NULL, check);
    }
    if (!b->supervised && b->host->terminal)
        hold(b, STATE_PARTIAL, "filter-only",
             CHECK(TTY_INJECT, SECCOMP, SENTINEL, NONE, .self_contained = true));
}

static void claim_limits(struct builder *b)
{
    const struct policy *policy = b->resolved->policy;
    static const enum surface groups[] = {SURFACE_LIMIT_MEMORY, SURFACE_LIMIT_PROCESSES, SURFACE_LIMIT_OUTPUT,
                                          SURFACE_LIMIT_TMP_SIZE, SURFACE_LIMIT_CPU};

    for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
        plan_reason(b->plan, groups[i],
                    plan_claims(b->resolved, groups[i]) ? "not-in-this-version" : "not-asked");
    if (policy->limit_time_ms && b->supervised)
        plan_raise(b->plan, SURFACE_LIMIT_TIME, STATE_ENFORCED, MECHANISM_SUPERVISOR, NULL);
    else
        plan_reason(b->plan, SURFACE_LIMIT_TIME, policy->limit_time_ms ? "no-supervisor" : "not-asked");
    if (policy->limit_file_size)
        hold(b, STATE_ENFORCED, NULL,
             CHECK(LIMIT_FILE_SIZE, RLIMIT, FILE_SIZE, NONE, .a = (int64_t)policy->limit_file_size,
                   .refused = {EFBIG}, .self_contained = true));
    else
        plan_reason(b->plan, SURFACE_LIMIT_FILE_SIZE, "not-asked");
    plan_reason(b->plan, SURFACE_LATER_EXEC, "not-looked-at");
    plan_raise(b->plan, SURFACE_LATER_CRASH, STATE_PARTIAL, MECHANISM_RLIMIT, "core-limit-only");
}

/* --- the plan ----------------------------------------------------------------------------------------- */

static int refuse_host(const struct builder *b, struct error *error)
{
    const char *why, *hint, *reason, *name = b->resolved->policy->backend;

    if (b->host->landlock_abi < 1) {
        reason = host_no_landlock_reason(b->host, &why, &hint);
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, b->host->landlock_errno, reason,
                  "Landlock cannot be used here: %s", why);
        error_surface(error, "fs.write");
        return error_hint(error, "%s", hint);
    }
    if (!b->host->proc) {
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, ENOENT, "no-proc", "/proc is not mounted here");
        return error_hint(error, "mount it: descriptors are handed to the chain as /proc/self/fd/N");
    }
    if (!b->host->seccomp) {
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, EINVAL, "no-seccomp",
                  "the kernel loads no system call filters");
        error_surface(error, "kernel.syscalls");
        return error_hint(error, "run a kernel with CONFIG_SECCOMP_FILTER");
    }
    if (b->host->uid == 0 && b->resolved->uid == 0 && (!name || strcmp(name, "landlock") != 0)) {
        error_set(
            error, ERROR_SANDBOX_UNAVAILABLE, EPERM, "root-metadata",
            "the command would run as root, and without mounts nothing keeps root from changing modes and "
            "owners of system files");
        error_surface(error, "fs.metadata");
        return error_hint(error, "run as an ordinary user, give a workspace that one owns, or accept it with "
                                 "--backend landlock");
    }
    return 0;
}

/* A named path that stays readable is refused, even where others are held and the surface as a whole is
 * partial. */
static int refuse_unhidden(const struct builder *b, struct error *error)
{
    for (size_t i = 0; i < b->resolved->hidden_count; i++) {
        const struct hidden *hidden = &b->resolved->hidden[i];

        if (!hidden->named || !hidden->held || is_open(b, SURFACE_FS_HIDDEN))
            continue;
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, ENOSYS, hidden->held,
                  "the backend landlock cannot hide %s (%s): without mounts it stays readable",
                  QUOTE(hidden->path), hidden->held);
        error_surface(error, "fs.hidden");
        return error_hint(error,
                          "move it out of what is writable, do not ask for it, or say --open fs.hidden");
    }
    return 0;
}

static int plan_landlock(const struct resolved *resolved, const struct host *host, bool supervised,
                         struct plan *plan, struct error *error)
{
    struct builder b = {.resolved = resolved, .host = host, .plan = plan, .supervised = supervised};
    int r;

    plan->backend = "landlock";
    plan->supervised = supervised;
    plan->private_tmp = supervised && resolved->policy->tmp == TMP_PRIVATE;
    r = refuse_host(&b, error);
    if (r == 0)
        r = refuse_unhidden(&b, error);
    if (r < 0)
        return r;
    build_chain(&b);
    claim_files(&b);
    claim_hidden(&b);
    claim_network(&b);
    claim_ipc(&b);
    claim_processes(&b);
    claim_privileges(&b);
    claim_inherited(&b);
    claim_limits(&b);
    backend_lower_handed(resolved, host, plan);
    for (int s = 0; s < SURFACE_COUNT; s++)
        if (resolved->open[s] && plan->claims[s].state == STATE_OPEN && !plan->claims[s].reason)
            plan_reason(plan, (enum surface)s, "opened");
    if (cuts_network(&b) && !is_open(&b, SURFACE_NET_TCP) && !b.failed)
        b.failed = strings_add(&plan->warnings,
                               "no-loopback: without a network namespace local servers do not work either");
    if (!(host->landlock_errata & ERRATUM_DISCONNECTED) && !b.failed)
        b.failed =
            strings_add(&plan->warnings,
                        "landlock-erratum-3: this kernel misjudges directories that are moved out of a bind "
                        "mount while they are in use");
    if (b.failed == -ENOMEM)
        return error_no_memory(error);
    if (b.failed) {
        error_set(error, ERROR_INTERNAL, -b.failed, "plan-too-large", "the plan has too many checks");
        return error_hint(error, "name fewer paths");
    }
    return 0;
}

static const char *const denial_signatures[] = {"Permission denied", "Operation not permitted", NULL};
static const struct runner_failure_rule failure_rules[] = {
    {125, ": fatal: "},
    {125, "confine: "},
    {0, NULL},
};

const struct backend backend_landlock = {
    .name = "landlock",
    .what = "Landlock and a system call filter; needs no namespace, mount or privilege",
    .plan = plan_landlock,
    .denial_signatures = denial_signatures,
    .failure_rules = failure_rules,
    .automatic = true,
};
