/*
 * namespace_chain.c - the words of the chain.
 *
 *   detach-run … namespace-run … [scope-run …] [landlock-run …] drop-run … seccomp-run … attest-run … COMMAND
 *
 * Paths are handed over as descriptors opened before the chain started. namespace-run opens their names again
 * in the mount namespace that it makes, and compares; landlock-run takes the objects as they are. What exists
 * in the view only (/tmp, /dev/shm, /dev/pts) is named.
 */
#include "backend/namespace.h"

#include "kernel/object.h"

#include <stdio.h>
#include <string.h>

static void add_named(struct builder *b, const char *option, const char *name)
{
    build_word(b, option);
    build_word(b, name);
}

bool view_is_base_device(const char *path)
{
    for (const char *const *node = object_nodes; *node; node++)
        if (strcmp(path, *node) == 0)
            return true;
    return false;
}

/* What can be read although it lies where the view is private. */
static void add_kept(struct builder *b)
{
    const struct resolved *resolved = b->resolved;

    for (size_t i = 0; i < resolved->path_count; i++) {
        const struct resolved_path *path = &resolved->paths[i];

        if (path->grant == GRANT_READ && strncmp(path->path, "/proc", 5) != 0 &&
            (view_puts_back(b, path->path) || (view_is_private(path->path) && !view_shows(b, path->path))))
            build_path(b, "--ro", i);
    }
    for (size_t i = 0; i < resolved->view.kept.count; i++)
        if (!view_shows(b, resolved->view.kept.items[i]) && !view_hides(b, resolved->view.kept.items[i]))
            add_named(b, "--ro", resolved->view.kept.items[i]);
    for (size_t i = 0; i < resolved->shown.count; i++)
        if (view_puts_back(b, resolved->shown.items[i]))
            add_named(b, "--ro", resolved->shown.items[i]);
}

static void add_roots(struct builder *b)
{
    const struct resolved *resolved = b->resolved;

    for (size_t i = 0; i < resolved->path_count; i++) {
        const struct resolved_path *path = &resolved->paths[i];

        if (path->grant == GRANT_WRITE)
            build_path(b, "--rw", i);
        else if (path->grant == GRANT_DEVICE && !view_is_base_device(path->path))
            build_path(b, "--device", i);
        else if (path->grant == GRANT_SOCKET)
            build_path(b, "--socket", i);
    }
}

/* Private caches over the user's own. They are locked as long as the supervisor lives: an exec has none. */
static void add_overlays(struct builder *b)
{
    const struct resolved *resolved = b->resolved;

    for (size_t i = 0; i < resolved->cache_count && b->plan->overlays; i++) {
        if (resolved->caches[i].place == SIZE_MAX)
            continue;
        build_path(b, "--overlay", resolved->caches[i].place);
        build_path(b, "--upper", resolved->caches[i].upper);
    }
}

static void add_held(struct builder *b)
{
    const struct resolved *resolved = b->resolved;

    build_hidden(b);
    for (size_t i = 0; i < resolved->view.sockets.count && !is_open(b, SURFACE_UNIX_PATH); i++)
        if (view_brings(b, resolved->view.sockets.items[i]))
            add_named(b, "--hide", resolved->view.sockets.items[i]);
    for (size_t i = 0; i < resolved->view.procs.count; i++)
        if (view_masks_proc(b, resolved->view.procs.items[i]))
            add_named(b, "--hide", resolved->view.procs.items[i]);
    for (size_t i = 0; i < resolved->view.kernel.count; i++)
        if (view_shows(b, resolved->view.kernel.items[i]))
            add_named(b, "--protect", resolved->view.kernel.items[i]);
    for (size_t i = 0; i < resolved->protected_paths.count; i++)
        if (view_protects(b, i))
            add_named(b, "--protect", resolved->protected_paths.items[i]);
    for (size_t i = 0; i < resolved->view.copies.count; i++)
        add_named(b, "--copy", resolved->view.copies.items[i]);
}

/* What is in the network beside loopback; the listeners in the order of resolved->network. */
static void chain_network(struct builder *b)
{
    const struct own_network *network = &b->resolved->network;

    build_word(b, "--net");
    if (network->listed) {
        add_named(b, "--address", NETWORK_SELF4);
        add_named(b, "--address", NETWORK_SELF6);
        add_named(b, "--local", NETWORK_LOCAL6);
    }
    for (size_t i = 0; i < network->locals.count; i++)
        add_named(b, "--local", network->locals.items[i]);
    for (size_t i = 0; i < network->listener_count; i++)
        add_named(b, "--listen", network->listeners[i].word);
    if (network->nameless)
        add_named(b, "--nameless", network->nameless);
    if (b->plan->gateway && (network->listed || network->published_count > 0))
        build_word(b, "--entrance");
}

/* Whose namespaces the command gets: new ones, or a session's, with what was mapped and raised there. */
static void chain_namespaces(struct builder *b)
{
    const struct session *session = b->resolved->session;

    if (!session) {
        if (b->resolved->uid == 0)
            add_named(b, "--map", "all");
        if (cuts_network(b))
            chain_network(b);
        build_special(b, WORD_AHEAD);
        return;
    }
    build_join(b, "--join-user", JOIN_USER);
    build_join(b, "--join-ipc", JOIN_IPC);
    build_join(b, "--join-uts", JOIN_UTS);
    build_join(b, "--join-pid", JOIN_PID);
    if (b->resolved->policy->tmp != TMP_PRIVATE) {
        build_join(b, "--join-tmp", JOIN_TMP);
        build_join(b, "--join-shm", JOIN_SHM);
    }
    if (cuts_network(b))
        build_join(b, "--join-net", JOIN_NET);
}

static void chain_room(struct builder *b)
{
    uint64_t size = b->resolved->policy->limit_tmp_size;
    char text[32];

    if (size == 0)
        return;
    snprintf(text, sizeof(text), "%llu", (unsigned long long)size);
    add_named(b, "--tmp-size", text);
}

static void chain_numbers(struct builder *b)
{
    char text[32];

    if (!build_numbers_processes(b))
        return;
    snprintf(text, sizeof(text), "%llu", (unsigned long long)build_numbers(b));
    add_named(b, "--process-numbers", text);
}

static void chain_liveness(struct builder *b)
{
    build_word(b, "--liveness");
    build_special(b, WORD_LIVENESS);
    build_word(b, "--channel");
    build_special(b, WORD_CHANNEL);
}

static void chain_namespace(struct builder *b)
{
    build_word(b, "namespace-run");
    chain_namespaces(b);
    if (is_open(b, SURFACE_PRIV_USERNS))
        build_word(b, "--nest");
    chain_room(b);
    chain_numbers(b);
    if (b->supervised)
        chain_liveness(b);
    else /* a group of its own in any case: kill(0) reaches past a pid namespace */
        build_word(b, "--terminal");
    if (b->resolved->policy->wait_all)
        build_word(b, "--wait-all");
    add_kept(b);
    add_roots(b);
    add_overlays(b);
    add_held(b);
    build_word(b, "--");
}

static void end_grants(struct builder *b)
{
    static const char *const own[] = {"/tmp", "/dev/shm", "/dev/pts"};

    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        add_named(b, "--rw", own[i]);
    for (size_t i = 0; i < b->resolved->cache_count && b->plan->overlays; i++)
        if (b->resolved->caches[i].place != SIZE_MAX) /* the overlay's own object, which is there by now */
            add_named(b, "--rw", b->resolved->paths[b->resolved->caches[i].place].path);
    build_word(b, "--");
}

static void chain_landlock(struct builder *b)
{
    if (!has_landlock(b))
        return;
    build_landlock(b, end_grants);
}

static void chain_scope(struct builder *b)
{
    int abi = b->host->landlock_abi;
    bool nests = is_open(b, SURFACE_PRIV_USERNS);
    bool names = abi >= ABI_UNIX && !is_open(b, SURFACE_UNIX_PATH) && !nests;

    if (abi < ABI_SCOPES)
        return;
    build_word(b, "scope-run");
    build_word(b, "--signal");
    build_word(b, "--abstract");
    if (nests) /* a file right in any layer refuses every mount */
        build_word(b, "--mounts");
    if (names)
        build_word(b, "--unix");
    for (size_t i = 0; i < b->resolved->path_count && names; i++)
        if (b->resolved->paths[i].grant == GRANT_SOCKET)
            build_path(b, "--socket", i);
    if (names && b->plan->joined && b->resolved->policy->tmp != TMP_PRIVATE)
        add_named(b, "--socket", "/tmp"); /* servers of the session's other runs */
    build_word(b, "--");
}

void build_view_links(struct builder *b)
{
    const struct filter_group groups[] = {{"net.netlink", is_open(b, SURFACE_NET_OTHER)}};

    build_terminal(b);
    chain_scope(b); /* first: each layer of Landlock copies the rules of all that are in force */
    chain_landlock(b);
    build_word(b, "drop-run");
    build_word(b, "--");
    build_seccomp(b, "namespace", groups, ARRAY_SIZE(groups));
    build_attest(b);
}

int backend_plan_session(const struct resolved *resolved, struct plan *plan, struct error *error)
{
    struct builder b = {.resolved = resolved, .plan = plan, .supervised = true};

    *plan = (struct plan){.backend = "namespace", .supervised = true};
    build_detach(&b);
    build_word(&b, "namespace-run");
    build_word(&b, "--hold");
    chain_namespaces(&b);
    chain_room(&b);
    chain_liveness(&b);
    if (b.failed == 0)
        return 0;
    plan_free(plan);
    return error_no_memory(error);
}

void build_namespace_chain(struct builder *b)
{
    build_detach(b);
    chain_namespace(b);
    build_view_links(b);
}
