/*
 * namespace.c - the backend with namespaces and a view of its own: what the kernel gives to any user who may
 * make a user namespace.
 *
 *   detach-run … namespace-run … scope-run … [landlock-run …] drop-run … seccomp-run … attest-run … COMMAND
 *
 * Should:  hold files twice where it can: by read-only mounts and by Landlock, each shown by itself.
 * Mustn't: take a mount for a wall where it is none: a pathname socket or a FIFO on a read-only mount can
 * still be used.
 */
#include "backend/namespace.h"

#include <errno.h>
#include <string.h>

static const char *const private_places[] = {"/tmp", "/run", "/dev/shm", "/var/run"};

bool view_within(const char *path, const char *directory)
{
    size_t length = strlen(directory);

    return strncmp(path, directory, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

bool view_is_private(const char *path)
{
    for (size_t i = 0; i < ARRAY_SIZE(private_places); i++)
        if (view_within(path, private_places[i]))
            return true;
    return view_within(path, "/dev") || view_within(path, "/proc");
}

static bool is_place(const char *path)
{
    for (size_t i = 0; i < ARRAY_SIZE(private_places); i++)
        if (strcmp(path, private_places[i]) == 0)
            return true;
    return false;
}

bool view_shows(const struct builder *b, const char *path)
{
    if (!view_is_private(path))
        return true;
    for (size_t i = 0; i < b->granted; i++)
        if (b->resolved->paths[i].grant == GRANT_WRITE && view_within(path, b->resolved->paths[i].path))
            return true;
    return false;
}

bool view_is_inner(const struct builder *b, const struct resolved_path *path)
{
    for (size_t i = 0; i < b->resolved->path_count; i++) {
        const struct resolved_path *root = &b->resolved->paths[i];

        if (root != path && root->grant == GRANT_WRITE && view_within(path->path, root->path) &&
            (strcmp(path->path, root->path) != 0 || root < path))
            return true;
    }
    return false;
}

bool view_masks_proc(const struct builder *b, const char *path)
{
    return view_brings(b, path) && !(b->plan->foreign && resolved_under_writable(b->resolved, path));
}

bool view_protects(const struct builder *b, size_t index)
{
    const char *path = b->resolved->protected_paths.items[index];
    bool in_set = b->resolved->protected_by[index].item; /* a set gives way to a grant of just that */

    if (is_open(b, SURFACE_FS_PROTECTED) || b->plan->foreign)
        return false;
    for (size_t i = 0; i < b->resolved->path_count; i++) {
        const struct resolved_path *root = &b->resolved->paths[i];

        if (root->grant == GRANT_WRITE && view_within(path, root->path) &&
            (!in_set || strcmp(path, root->path) != 0))
            return true;
    }
    return false;
}

/* A named path that stays readable is refused, even where others are held. */
static int refuse_unhidden(const struct builder *b, struct error *error)
{
    for (size_t i = 0; i < b->resolved->hidden_count; i++) {
        const struct hidden *hidden = &b->resolved->hidden[i];
        const char *reason = view_unheld(b, hidden);

        if (!hidden->named || view_holds(b, hidden) != VIEW_HOLD_NONE || is_open(b, SURFACE_FS_HIDDEN))
            continue;
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, EINVAL, reason, "%s cannot be hidden (%s): %s",
                  QUOTE(hidden->path), reason,
                  strcmp(reason, "made-anew") == 0 ? "the view has one of its own" : "it is granted as well");
        build_say_hiding(b, hidden, error);
        return error_hint(error, "do not ask for both, or say --open fs.hidden");
    }
    return 0;
}

/* What stays shut here whatever is opened, because it is opened object by object. */
static int refuse_opening(const struct builder *b, struct error *error)
{
    static const struct shut rows[] = {
        {SURFACE_FS_METADATA, "name what may be written: --write PATH"},
        {SURFACE_UNIX_ABSTRACT, "use --network host, or the backend landlock"},
        {SURFACE_NET_TCP, "use --network host"},
        {SURFACE_NET_UDP, "use --network host"},
        {SURFACE_IPC_SYSV, "use the backend landlock"},
        {SURFACE_PROC_SIGNAL, "use the backend landlock"},
        {SURFACE_PROC_ADJUST, "use the backend landlock"},
        {SURFACE_PROC_VISIBLE, "use the backend landlock"},
    };

    return build_refuse_opening(b, rows, ARRAY_SIZE(rows), error);
}

/* A sandbox inside needs its id maps, so /proc is writable; root's would be the machine's settings as well.
 */
static int refuse_nesting_of_root(const struct builder *b, struct error *error)
{
    if (!is_open(b, SURFACE_PRIV_USERNS) || b->resolved->uid != 0)
        return 0;
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, EPERM, "root-nests",
              "the command would run as root, and user namespaces inside need a /proc that root could write");
    error_surface(error, "priv.userns");
    return error_hint(error, "run it as an ordinary user: --user UID");
}

/* What is to be read is the host's, and what is there inside is the view's own. One that may be written is
 * shown as it was asked for: it serves both. */
static int refuse_places(const struct builder *b, struct error *error)
{
    const struct resolved *resolved = b->resolved;
    const char *place = NULL;

    for (size_t i = 0; i < resolved->view.kept.count; i++)
        if (is_place(resolved->view.kept.items[i]) && !view_shows(b, resolved->view.kept.items[i]))
            place = resolved->view.kept.items[i];
    for (size_t i = 0; i < resolved->path_count; i++)
        if (is_place(resolved->paths[i].path) && resolved->paths[i].grant == GRANT_READ)
            place = resolved->paths[i].path;
    if (!place)
        return 0;
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, EINVAL, "private-place",
              "--read %s: this directory is private inside, so that the host's cannot be seen there",
              QUOTE(place));
    return error_hint(error, "name what is in it, or use the backend landlock");
}

int view_refuse(const struct builder *b, struct error *error)
{
    int r = build_refuse_host(b, error);

    if (r == 0)
        r = host_refuse_tmp(b->host, error);
    if (r == 0)
        r = refuse_places(b, error);
    return r == 0 ? refuse_opening(b, error) : r;
}

static int plan_namespace(const struct resolved *resolved, const struct host *host, bool supervised,
                          struct plan *plan, struct error *error)
{
    struct builder b = {.resolved = resolved, .host = host, .plan = plan, .supervised = supervised};
    int r;

    plan->backend = "namespace";
    plan->supervised = supervised;
    plan->pid_namespace = true;
    plan->own_tmp = "/tmp";
    plan->joined = resolved->session;
    plan->gateway = supervised && !resolved->session && network_gateway(&resolved->network);
    plan->landlock_abi = host->landlock_abi;
    plan->overlays = supervised && resolved->cache_lock >= 0 && host->overlays != HOST_NO;
    if (host->namespaces.answer == HOST_NO)
        return host_lack_error(error, &host->namespaces.lack, "the namespaces of this run");
    if (view_know(&b) < 0)
        return error_no_memory(error);
    r = view_refuse(&b, error);
    if (r == 0)
        r = refuse_unhidden(&b, error);
    if (r == 0)
        r = refuse_nesting_of_root(&b, error);
    if (r == 0) {
        build_namespace_chain(&b);
        build_namespace_claims(&b);
        backend_lower_handed(resolved, host, plan);
        r = build_finish(&b, error);
    }
    view_forget(&b);
    return r;
}

const struct backend backend_namespace = {
    .name = "namespace",
    .what = "own namespaces with a read-only view of the host, Landlock and a system call filter",
    .ask = backend_ask_namespaces,
    .plan = plan_namespace,
    .denial_signatures = backend_view_signatures,
    .failure_rules = backend_link_failures,
    .automatic = true,
    .sessions = true,
};
