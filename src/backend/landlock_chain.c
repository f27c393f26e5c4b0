/*
 * landlock_chain.c - the words of the chain.
 *
 *   detach-run … scope-run … landlock-run … [hide-run …] drop-run … seccomp-run … attest-run … COMMAND
 *
 * Should:  leave a link out when there is nothing for it to hold.
 * Mustn't: ask a link for a right that this kernel lacks: links refuse what they cannot do.
 */
#include "backend/landlock.h"

#include <string.h>

static void end_grants(struct builder *b)
{
    if (b->plan->private_tmp) {
        build_word(b, "--rw");
        build_special(b, WORD_TMP);
    }
    if (b->plan->terminal) {
        build_word(b, "--rw");
        build_special(b, WORD_TERMINAL);
    }
    build_word(b, "--");
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
    build_word(b, "hide-run");
    for (size_t i = 0; i < b->resolved->level_count; i++) {
        const struct hide_level *level = &b->resolved->levels[i];

        build_path(b, "--level", level->path);
        for (size_t k = 0; k < level->except.count; k++) {
            build_word(b, "--except");
            build_word(b, level->except.items[k]);
        }
    }
    for (size_t i = 0; i < b->resolved->path_count; i++)
        if (stays_readable(&b->resolved->paths[i]))
            build_path(b, "--show", i);
    if (b->plan->terminal) {
        build_word(b, "--show");
        build_special(b, WORD_TERMINAL);
    }
    build_word(b, "--");
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
            build_word(b, "scope-run");
        started = true;
        build_word(b, classes[i].option);
    }
    for (size_t i = 0; i < b->resolved->path_count && classes[4].asked; i++)
        if (b->resolved->paths[i].grant == GRANT_SOCKET)
            build_path(b, "--socket", i);
    if (has_guard(b)) {
        b->plan->guard = true;
        build_word(b, "--guard");
        build_special(b, WORD_LIVENESS);
        build_word(b, "--channel");
        build_special(b, WORD_CHANNEL);
    }
    if (started)
        build_word(b, "--");
}

/* What of the filter the layers of Landlock hold on this kernel, or the network needs. */
static void chain_seccomp(struct builder *b)
{
    bool host_network = !cuts_network(b);
    const struct filter_group groups[] = {
        {"net.inet", host_network || is_open(b, SURFACE_NET_TCP) || is_open(b, SURFACE_NET_UDP)},
        {"net.netlink", host_network || is_open(b, SURFACE_NET_OTHER)},
        {"unix.path", !refuses_unix(b)},
        {"truncate", b->host->landlock_abi >= ABI_TRUNCATE},
    };

    build_seccomp(b, "landlock", groups, ARRAY_SIZE(groups));
}

void build_chain(struct builder *b)
{
    build_detach(b);
    build_terminal(b);
    chain_scope(b); /* first, because each layer copies the rules of all that are in force: these have one */
    if (b->resolved->policy->readable_listed) {
        chain_hide(b); /* it lists what is above the hidden, which landlock-run's layer forbids here */
        build_landlock(b, end_grants);
    } else {
        build_landlock(b, end_grants);
        chain_hide(b);
    }
    build_word(b, "drop-run");
    build_word(b, "--");
    chain_seccomp(b);
    build_attest(b);
}
