/*
 * landlock_chain.c - the words of the chain.
 *
 *   detach-run … landlock-run … [hide-run …] scope-run … drop-run … seccomp-run … attest-run … COMMAND
 *
 * Should:  leave a link out when there is nothing for it to hold.
 * Mustn't: ask a link for a right that this kernel lacks: links refuse what they cannot do.
 */
#include "backend/landlock.h"

#include <stdio.h>
#include <string.h>

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

void build_chain(struct builder *b)
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
