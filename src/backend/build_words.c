/*
 * build_words.c - the words of the links that more than one backend uses.
 */
#include "backend/build.h"

#include "links/observe_calls.h"

#include <stdio.h>

void build_word(struct builder *b, const char *text)
{
    if (!b->failed)
        b->failed = plan_word(b->plan, text);
}

void build_special(struct builder *b, enum word_kind kind)
{
    if (!b->failed)
        b->failed = plan_special(b->plan, kind);
}

void build_path(struct builder *b, const char *option, size_t path)
{
    build_word(b, option);
    if (!b->failed)
        b->failed = plan_path(b->plan, path);
}

void build_join(struct builder *b, const char *option, enum channel_join which)
{
    build_word(b, option);
    if (!b->failed)
        b->failed = plan_join(b->plan, which);
}

void build_detach(struct builder *b)
{
    const struct resolved *resolved = b->resolved;
    char text[64];

    build_word(b, "detach-run");
    build_special(b, WORD_KEEP);
    /* An exec has nobody in front who would take the terminal back, so it stays in the caller's group: no
     * signal leaves the scope, and where there is none proc.signal is open anyway. */
    if (b->supervised)
        build_word(b, "--session");
    if (is_open(b, SURFACE_IPC_KEYRING))
        build_word(b, "--keyring");
    if (resolved->policy->limit_file_size) {
        snprintf(text, sizeof(text), "%llu", (unsigned long long)resolved->policy->limit_file_size);
        build_word(b, "--file-size");
        build_word(b, text);
    }
    if (b->supervised && resolved->policy->limit_cpu_ms) {
        snprintf(text, sizeof(text), "%llu", (unsigned long long)build_cpu_seconds(b));
        build_word(b, "--cpu-time");
        build_word(b, text);
    }
    if (b->supervised && b->plan->runner)
        build_word(b, "--with-parent");
    if (resolved->switch_user) {
        snprintf(text, sizeof(text), "%u:%u", (unsigned)resolved->uid, (unsigned)resolved->gid);
        build_word(b, "--user");
        build_word(b, text);
    }
    build_word(b, "--");
}

/* Where it was asked for, or on a terminal where somebody sits at both ends. Not by itself where something is
 * to live on behind the command: with the leader of its session, a terminal hangs up on the rest. */
static bool wants_terminal(const struct builder *b)
{
    const struct policy *policy = b->resolved->policy;
    bool lives_on = policy->wait_all || b->resolved->session;

    if (!b->supervised)
        return false;
    return policy->tty == TTY_PRIVATE || (policy->tty == TTY_AUTO && b->host->interactive && !lives_on);
}

void build_terminal(struct builder *b)
{
    b->plan->terminal = wants_terminal(b);
    if (!b->plan->terminal)
        return;
    build_word(b, "terminal-run");
    build_word(b, "--channel");
    build_special(b, WORD_CHANNEL);
    build_word(b, "--on");
    build_special(b, WORD_ONTO);
    build_word(b, "--");
}

static void add_grants(struct builder *b, const char *link, void (*end)(struct builder *b))
{
    build_word(b, link);
    for (size_t i = 0; i < b->resolved->path_count; i++) {
        enum grant grant = b->resolved->paths[i].grant;

        if (grant == GRANT_READ)
            build_path(b, "--ro", i);
        else if (grant == GRANT_WRITE || grant == GRANT_DEVICE)
            build_path(b, "--rw", i);
    }
    end(b);
}

void build_landlock(struct builder *b, void (*end)(struct builder *b))
{
    add_grants(b, "landlock-run", end);
    b->plan->audited = b->supervised && b->resolved->observed && b->host->audit == HOST_YES;
    if (b->plan->audited)
        add_grants(b, "audit-run", end);
}

/* The groups that --open opens, whatever the set. */
static const struct {
    const char *name;
    enum surface surface;
} opened_groups[] = {
    {"net.other", SURFACE_NET_OTHER},     {"kernel.syscalls", SURFACE_KERNEL_SYSCALLS},
    {"priv.userns", SURFACE_PRIV_USERNS}, {"ipc.keyring", SURFACE_IPC_KEYRING},
    {"ipc.sysv", SURFACE_IPC_SYSV},       {"proc.adjust", SURFACE_PROC_ADJUST},
    {"fs.metadata", SURFACE_FS_METADATA},
};

static void without(struct builder *b, const char *group)
{
    build_word(b, "--without");
    build_word(b, group);
}

void build_seccomp(struct builder *b, const char *set, const struct filter_group *groups, size_t count)
{
    build_word(b, "seccomp-run");
    build_word(b, "--set");
    build_word(b, set);
    for (size_t i = 0; i < count; i++)
        if (groups[i].open)
            without(b, groups[i].name);
    for (size_t i = 0; i < ARRAY_SIZE(opened_groups); i++)
        if (is_open(b, opened_groups[i].surface))
            without(b, opened_groups[i].name);
    build_word(b, "--sentinel");
    build_special(b, WORD_SENTINEL);
    build_word(b, "--");
}

/* Behind everything that refuses: what another filter refuses is not announced. */
static void build_observe(struct builder *b)
{
    unsigned asked = plan_observed(b->resolved, b->plan);

    if (!b->supervised || !b->resolved->observed)
        return;
    b->plan->observed = true;
    b->plan->heard = b->host->listener == HOST_NO && b->host->audit != HOST_YES;
    build_word(b, "observe-run");
    build_word(b, "--channel");
    build_special(b, WORD_CHANNEL);
    if (asked & 1U << OBSERVE_METADATA)
        build_word(b, "--metadata");
    if (asked & 1U << OBSERVE_READING)
        build_word(b, "--reading");
    if (asked & 1U << OBSERVE_NETWORK)
        build_word(b, "--network");
    build_word(b, "--");
}

void build_attest(struct builder *b)
{
    build_observe(b);
    build_word(b, "attest-run");
    if (b->supervised) {
        build_word(b, "--channel");
        build_special(b, WORD_CHANNEL);
        build_word(b, "--stderr");
        build_special(b, WORD_STDERR);
    }
    if (b->plan->foreign)
        build_word(b, "--restore-environment");
    build_special(b, WORD_PASS);
    build_special(b, WORD_CHECKS);
    build_word(b, "--");
    build_special(b, WORD_COMMAND);
}
