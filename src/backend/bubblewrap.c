/*
 * bubblewrap.c - the backend with the distribution's bubblewrap: where it may make namespaces and we may not.
 *
 *   detach-run … bwrap … confine-launch landlock-run … scope-run … drop-run … seccomp-run … attest-run …
 * COMMAND
 *
 * Should:  hold what the backend namespace holds, by the same checks; behind every mount of bubblewrap's
 * stands Landlock with the objects that were opened, so that a name which was swapped meanwhile opens
 * nothing. Mustn't: give bubblewrap a destination below a writable path: older ones create entries through a
 * link that was planted there. What would need one (a protected or hidden path in the workspace) is not held.
 *          Mustn't let it see a variable of the command's: its loader would obey them, outside.
 *          Mustn't run without Landlock: bubblewrap's own process 1 has no filter and can be traced.
 */
#include "backend/bubblewrap.h"
#include "backend/namespace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ROOTS_MOST 32 /* each is looked at from inside */

static const char *const private_tops[] = {"/tmp", "/run"};

static void add_pair(struct builder *b, const char *option, const char *path)
{
    build_word(b, option);
    build_word(b, path);
    build_word(b, path);
}

static void add_private(struct builder *b)
{
    for (size_t i = 0; i < ARRAY_SIZE(private_tops); i++) {
        build_word(b, "--perms");
        build_word(b, i == 0 ? "1777" : "0755");
        build_word(b, "--tmpfs");
        build_word(b, private_tops[i]);
    }
}

/* An empty directory that nobody may enter; a device on a mount without devices, which nobody can open.
 * @passing: a socket, which may go at any time */
static void add_mask(struct builder *b, const char *path, bool directory, bool passing)
{
    if (directory) {
        build_word(b, "--perms");
        build_word(b, "0000");
        build_word(b, "--tmpfs");
        build_word(b, path);
        build_word(b, "--remount-ro");
        build_word(b, path);
        return;
    }
    build_word(b, "--ro-bind");
    build_word(b, "/dev/null");
    if (!b->failed)
        b->failed = plan_mask(b->plan, path, passing);
}

/* What lies in a masked directory has no name any more that a mask could be laid on. */
static bool is_under_mask(const struct builder *b, const char *path)
{
    for (size_t i = 0; i < b->resolved->hidden_count; i++) {
        const struct hidden *hidden = &b->resolved->hidden[i];

        if (view_masks(b, hidden) && S_ISDIR(hidden->type) && strcmp(hidden->path, path) != 0 &&
            view_within(path, hidden->path))
            return true;
    }
    return false;
}

static void add_masks(struct builder *b)
{
    const struct resolved *resolved = b->resolved;

    for (size_t i = 0; i < resolved->hidden_count; i++)
        if (view_masks(b, &resolved->hidden[i]) && !is_under_mask(b, resolved->hidden[i].path))
            add_mask(b, resolved->hidden[i].path, S_ISDIR(resolved->hidden[i].type), false);
}

/* What is not hidden because somebody asked for it: after what is granted, which may have brought it. */
static void add_late_masks(struct builder *b)
{
    const struct resolved *resolved = b->resolved;

    for (size_t i = 0; i < resolved->view.sockets.count && !is_open(b, SURFACE_UNIX_PATH); i++) {
        const char *path = resolved->view.sockets.items[i];

        if (view_brings(b, path) && !resolved_under_writable(resolved, path) && !is_under_mask(b, path))
            add_mask(b, path, false, true);
    }
    for (size_t i = 0; i < resolved->view.procs.count; i++)
        if (view_masks_proc(b, resolved->view.procs.items[i]) &&
            !is_under_mask(b, resolved->view.procs.items[i]))
            add_mask(b, resolved->view.procs.items[i], true, false);
}

static void add_grants(struct builder *b)
{
    const struct resolved *resolved = b->resolved;

    for (size_t i = 0; i < resolved->path_count; i++) {
        const struct resolved_path *path = &resolved->paths[i];
        bool covered = view_is_private(path->path) && !view_shows(b, path->path);
        bool readable = path->grant == GRANT_READ && strncmp(path->path, "/proc", 5) != 0;

        if (covered && (readable || path->grant == GRANT_SOCKET))
            add_pair(b, "--ro-bind", path->path);
        else if (path->grant == GRANT_WRITE && !view_is_inner(b, path))
            add_pair(b, "--bind", path->path);
        else if (path->grant == GRANT_DEVICE && !view_is_base_device(path->path))
            add_pair(b, "--dev-bind", path->path);
    }
    for (size_t i = 0; i < resolved->view.kept.count; i++)
        if (!view_shows(b, resolved->view.kept.items[i]))
            add_pair(b, "--ro-bind", resolved->view.kept.items[i]);
}

/* There is nobody whom a resolver could ask. Most see at once that no way leads there; the one that would
 * wait for an answer all the same (musl) is told to wait for none. In the backend namespace process 1
 * answers. */
static void add_nameless(struct builder *b)
{
    const char *path = b->host->bubblewrap.resolver;

    if (b->resolved->policy->network != NETWORK_NONE || !*path || !cuts_network(b) ||
        resolved_under_writable(b->resolved, path) || is_under_mask(b, path))
        return;
    for (size_t i = 0; i < b->resolved->hidden_count; i++) /* nor over its own mask */
        if (strcmp(b->resolved->hidden[i].path, path) == 0)
            return;
    build_word(b, "--ro-bind-data");
    build_special(b, WORD_NAMELESS);
    build_word(b, path);
}

static void chain_bubblewrap(struct builder *b, const char *const *program)
{
    /* No cgroup namespace: as in namespace-run, JVMs break in one. */
    static const char *const first[] = {"--unshare-user",
                                        "--unshare-pid",
                                        "--unshare-ipc",
                                        "--unshare-uts",
                                        "--die-with-parent",
                                        "--cap-drop",
                                        "ALL"};
    static const char *const mounts[] = {"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"};
    static const char *const last[] = {"--remount-ro", "/proc", "--remount-ro", "/run"};

    for (size_t i = 0; program[i]; i++)
        build_word(b, program[i]);
    for (size_t i = 0; i < ARRAY_SIZE(first); i++)
        build_word(b, first[i]);
    if (cuts_network(b))
        build_word(b, "--unshare-net");
    /* Job control on the caller's terminal needs the caller's session; the scope then keeps signals in. */
    if (b->supervised || !b->host->terminal || b->host->landlock_abi < ABI_SCOPES)
        build_word(b, "--new-session");
    for (size_t i = 0; i < ARRAY_SIZE(mounts); i++)
        build_word(b, mounts[i]);
    add_private(b);
    add_masks(b);
    add_grants(b);
    add_late_masks(b);
    add_nameless(b);
    for (size_t i = 0; i < ARRAY_SIZE(last); i++)
        build_word(b, last[i]);
    build_word(b, "--chdir");
    build_word(b, b->resolved->cwd);
    build_word(b, "--");
    build_special(b, WORD_LAUNCHER);
}

static int refuse_roots(const struct builder *b, struct error *error)
{
    size_t count = 0;

    for (size_t i = 0; i < b->resolved->path_count; i++) {
        const struct resolved_path *path = &b->resolved->paths[i];

        if (path->grant != GRANT_WRITE || view_is_inner(b, path))
            continue;
        if (++count > ROOTS_MOST || strlen(path->path) >= CHANNEL_NAME) {
            error_set(error, ERROR_SANDBOX_UNAVAILABLE, E2BIG, "too-many-roots",
                      "the backend %s takes %d writable paths of less than %d bytes each", b->plan->backend,
                      ROOTS_MOST, CHANNEL_NAME);
            return error_hint(error, "use --backend namespace or landlock");
        }
    }
    return 0;
}

static int refuse_host(const struct builder *b, struct error *error)
{
    const char *why, *hint, *reason;

    if (b->host->landlock_abi < 1) {
        reason = host_no_landlock_reason(b->host, &why, &hint);
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, b->host->landlock_errno, reason,
                  "%s needs Landlock behind it: %s", b->plan->runner ? "the backend custom" : "bubblewrap",
                  why);
        error_surface(error, "fs.write");
        return error_hint(error, "%s", hint);
    }
    /* Whoever may mount inside stands under no Landlock; without it this backend is none. */
    if (is_open(b, SURFACE_PRIV_USERNS)) {
        error_set(
            error, ERROR_SANDBOX_UNAVAILABLE, EINVAL, "not-openable",
            "the backend %s cannot open priv.userns: it needs Landlock behind it, which refuses every mount",
            b->plan->backend);
        error_surface(error, "priv.userns");
        return error_hint(error, "use --backend namespace");
    }
    return view_refuse(b, error);
}

/* A named path that stays readable is refused. */
static int refuse_unhidden(const struct builder *b, struct error *error)
{
    for (size_t i = 0; i < b->resolved->hidden_count; i++) {
        const struct hidden *hidden = &b->resolved->hidden[i];

        if (!hidden->named || view_masks(b, hidden) || !view_sees(b, hidden->path) ||
            is_open(b, SURFACE_FS_HIDDEN))
            continue;
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, EINVAL, "inside-writable",
                  "the backend %s cannot hide %s: it lies in what is writable, or something in it is granted",
                  b->plan->backend, QUOTE(hidden->path));
        build_say_hiding(b, hidden, error);
        return error_hint(error, "move it out of what is writable, or say --open fs.hidden");
    }
    return 0;
}

/* What is bound is what was opened: bubblewrap takes names. */
static void claim_roots(struct builder *b)
{
    for (size_t i = 0; i < b->resolved->path_count; i++)
        if (b->resolved->paths[i].grant == GRANT_WRITE && !view_is_inner(b, &b->resolved->paths[i]))
            build_hold(b, STATE_ENFORCED, NULL,
                       CHECK(FS_WRITE, MOUNT, REPLACED, ROOT, .index = i, .refused = {ESTALE},
                             .self_contained = true));
}

static int say_version(struct builder *b, struct error *error)
{
    const struct host_bubblewrap *bubblewrap = &b->host->bubblewrap;
    int r = 0;

    if (bubblewrap->old)
        r = strings_addf(&b->plan->warnings,
                         "bubblewrap-old: %s says that it is %s; below 0.12 it creates entries through "
                         "planted links, so no mount of this run lies in what is writable",
                         bubblewrap->path, bubblewrap->version);
    if (r == 0 && bubblewrap->set_uid)
        r = strings_addf(&b->plan->warnings, "bubblewrap-set-uid: %s starts as another user",
                         bubblewrap->path);
    return r < 0 ? error_no_memory(error) : 0;
}

static int ask_bubblewrap(struct host *host, const struct resolved *resolved, bool supervised,
                          struct error *error)
{
    if (host->bubblewrap.answer == HOST_NOT_ASKED)
        host_ask_bubblewrap(host);
    if (host->bubblewrap.answer == HOST_NO)
        return host_lack_error(error, &host->bubblewrap.lack, "bubblewrap");
    /* An exec cannot come back from it. Where confine may not make namespaces, bubblewrap may all the same.
     */
    if (!supervised && !host->bubblewrap.tried)
        host_try_bubblewrap(host, resolved->uid, resolved->gid);
    if (!supervised && host->bubblewrap.answer == HOST_NO)
        return host_lack_error(error, &host->bubblewrap.lack, "bubblewrap");
    return 0;
}

int bubblewrap_plan(struct builder *b, const char *backend, const char *const *program, struct error *error)
{
    struct plan *plan = b->plan;
    int r;

    plan->backend = backend;
    plan->supervised = b->supervised;
    plan->pid_namespace = plan->foreign = true;
    plan->own_tmp = "/tmp";
    plan->gateway = b->supervised && network_gateway(&b->resolved->network);
    plan->landlock_abi = b->host->landlock_abi;
    if (view_know(b) < 0)
        return error_no_memory(error);
    r = refuse_host(b, error);
    if (r == 0)
        r = refuse_roots(b, error);
    if (r == 0)
        r = refuse_unhidden(b, error);
    if (r == 0)
        r = build_refuse_kernel(b, error);
    if (r == 0) {
        build_detach(b);
        chain_bubblewrap(b, program);
        build_view_links(b);
        build_namespace_claims(b);
        claim_roots(b);
        backend_lower_handed(b->resolved, b->host, plan);
        r = build_finish(b, error);
    }
    view_forget(b);
    return r;
}

static int plan_bubblewrap(const struct resolved *resolved, const struct host *host, bool supervised,
                           struct plan *plan, struct error *error)
{
    struct builder b = {.resolved = resolved, .host = host, .plan = plan, .supervised = supervised};
    const char *const program[] = {host->bubblewrap.path, NULL};
    int r;

    plan->backend = "bubblewrap";
    if (host->bubblewrap.answer != HOST_YES)
        return host_lack_error(error, &host->bubblewrap.lack, "bubblewrap");
    r = bubblewrap_plan(&b, "bubblewrap", program, error);
    return r == 0 ? say_version(&b, error) : r;
}

static const struct runner_failure_rule failure_rules[] = {
    {125, ": fatal: "},
    {125, "confine: "},
    {1, "bwrap: "},
    {0, NULL},
};

const struct backend backend_bubblewrap = {
    .name = "bubblewrap",
    .what = "the distribution's bubblewrap, with Landlock and a system call filter inside",
    .ask = ask_bubblewrap,
    .plan = plan_bubblewrap,
    .denial_signatures = backend_view_signatures,
    .failure_rules = failure_rules,
    .automatic = true,
};
