/*
 * landlock.c - the backend that needs nothing but Landlock: no namespace, no mount, no daemon, no privilege.
 *
 *   detach-run … scope-run … landlock-run … [hide-run …] drop-run … seccomp-run … attest-run … COMMAND
 *
 * Should:  raise a claim only together with the check that will show it, so
 *          that a surface without a check cannot be called enforced.
 * Mustn't: claim what Landlock and a filter cannot hold: metadata of the
 *          caller's own files, protected names in a writable tree, the sight of
 *          other processes. These stay open, each with its reason.
 */
#include "backend/landlock.h"

#include <errno.h>
#include <string.h>

#define ERRATUM_DISCONNECTED (1U << 2) /* bit of erratum 3 */

static int refuse_host(const struct builder *b, struct error *error)
{
    const char *why, *hint, *reason, *name = b->resolved->policy->backend;
    int r;

    if (b->host->landlock_abi < 1) {
        reason = host_no_landlock_reason(b->host, &why, &hint);
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, b->host->landlock_errno, reason,
                  "Landlock cannot be used here: %s", why);
        error_surface(error, "fs.write");
        return error_hint(error, "%s", hint);
    }
    r = build_refuse_host(b, error);
    if (r < 0)
        return r;
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
        build_say_hiding(b, hidden, error);
        return error_hint(error, "%sdo not ask for it, or say --open fs.hidden",
                          strcmp(hidden->held, "inside-writable") == 0 ? "move it out of what is writable, "
                                                                       : "");
    }
    return 0;
}

/* Below ABI 9 the filter refuses every such socket, the one that is asked for as well. */
static int refuse_sockets(const struct builder *b, struct error *error)
{
    for (size_t i = 0; i < b->resolved->path_count; i++) {
        const struct resolved_path *path = &b->resolved->paths[i];

        if (path->grant != GRANT_SOCKET || b->host->landlock_abi >= ABI_UNIX || is_open(b, SURFACE_UNIX_PATH))
            continue;
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, EPERM, "socket-refused",
                  "the backend landlock cannot let %s be reached: this kernel does not tell one socket from "
                  "another, and all are refused",
                  QUOTE(path->path));
        error_surface(error, "unix.path");
        return error_hint(error, "use --backend namespace, or say --open unix.path");
    }
    return 0;
}

/* There is no network of the command's own in which a list could be held. Who accepts that gets variables. */
static int take_list(struct builder *b, struct error *error)
{
    const struct own_network *network = &b->resolved->network;
    bool ports = b->resolved->policy->list[LIST_FORWARD].count > 0 || network->published_count > 0;

    b->advisory = b->resolved->policy->network == NETWORK_LISTED && is_open(b, SURFACE_NET_LISTED) &&
                  !ports && b->supervised;
    b->plan->gateway = b->plan->advisory = b->advisory;
    b->plan->landlock_abi = b->host->landlock_abi;
    return build_refuse_gateway(b, error);
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
        r = take_list(&b, error);
    if (r == 0)
        r = refuse_unhidden(&b, error);
    if (r == 0)
        r = refuse_sockets(&b, error);
    if (r == 0)
        r = build_refuse_kernel(&b, error);
    if (r < 0)
        return r;
    build_chain(&b);
    build_claims(&b);
    backend_lower_handed(resolved, host, plan);
    /* /dev is hidden, wherever it is mounted. A node that root made on a disk, as chroots have them, is not.
     */
    plan_lower(plan, SURFACE_FS_DEVICE, "nodes-on-disk");
    if (cuts_network(&b) && !is_open(&b, SURFACE_NET_TCP) && !b.failed)
        b.failed = strings_add(&plan->warnings, "no-loopback: with the network off there is no loopback "
                                                "either; local servers need --network host");
    if (!(host->landlock_errata & ERRATUM_DISCONNECTED) && !b.failed)
        b.failed =
            strings_add(&plan->warnings,
                        "landlock-erratum-3: this kernel misjudges directories that are moved out of a bind "
                        "mount while they are in use");
    return build_finish(&b, error);
}

/* Without a guard a group of processes shows that nobody is left. Not to have one is no reason to refuse. */
static int ask_landlock(struct host *host, const struct resolved *resolved, bool supervised,
                        struct error *error)
{
    (void)error;
    if (supervised && (host->landlock_abi < ABI_SCOPES || resolved->open[SURFACE_PROC_SIGNAL]))
        host_ask_groups(host, CGROUP_BIT(CGROUP_TREE));
    return 0;
}

static const char *const denial_signatures[] = {"Permission denied", "Operation not permitted", NULL};
const struct backend backend_landlock = {
    .name = "landlock",
    .what = "Landlock and a system call filter; needs no namespace, mount or privilege",
    .ask = ask_landlock,
    .plan = plan_landlock,
    .denial_signatures = denial_signatures,
    .failure_rules = backend_link_failures,
    .automatic = true,
};
