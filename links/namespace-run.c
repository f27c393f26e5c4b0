/*
 * namespace-run.c - namespaces of one's own, and the view that only they can give.
 *
 *     namespace-run [--map own|all] [--net] [--tmp-size BYTES] [--liveness FD] [--channel FD] [--terminal]
 *                   [--address ADDRESS/BITS]... [--local NETWORK/BITS]... [--listen SOCKET]...
 *                   [--nameless SOCKET] [--entrance]
 *                   [--wait-all] [--nest] [--process-numbers COUNT] [--join-PART FD]...
 *                   [--ahead PIDFD --ahead-ready EVENTFD]
 *                   [--rw PATH]... [--ro PATH]... [--socket PATH]... [--device PATH]...
 *                   [--hide PATH]... [--cover DIRECTORY --name NAME [--name NAME]...]...
 *                   [--protect PATH]... [--copy PATH]... [--overlay PLACE --upper DIRECTORY]...
 *                   -- COMMAND [ARG]...
 *     namespace-run --hold --liveness FD --channel FD [--map own|all] [--net [...]] [--tmp-size BYTES]
 *     namespace-run --serve --join-user FD --join-net FD --channel FD
 *
 * The host's tree is there, read-only; /tmp, /dev/shm, /run, /dev and /proc are
 * private; what --rw names is writable. The command is pid 2 of a process
 * namespace that ends with it; or, with --join-PART, a process of a session that
 * --hold has made (namespace_join.c, namespace_hold.c).
 *
 * Should:  say which step a machine refuses (--channel), so that another way of
 *          confining may be tried for that and for nothing else.
 * Mustn't: leave anything behind: neither a process, nor a mount, nor a file.
 */
#include "namespace.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define DESCRIPTORS_SPARE 64
#define NUMBERS_LEAST     301 /* of the kernel */

static const struct {
    const char *option;
    enum namespace_kind kind;
} path_options[] = {
    {"--rw", KIND_RW},           {"--ro", KIND_RO},     {"--socket", KIND_SOCKET},
    {"--device", KIND_DEVICE},   {"--hide", KIND_HIDE}, {"--cover", KIND_COVER},
    {"--protect", KIND_PROTECT}, {"--copy", KIND_COPY}, {"--overlay", KIND_OVERLAY},
};

#define PATH_OPTIONS (sizeof(path_options) / sizeof(path_options[0]))

/*
 * namespace_cannot() - end the link because of something that this machine lacks.
 * @step:   what was being done; it goes to the supervisor with the errno
 * @what:   the same for a person
 * @errnum: the kernel's answer
 */
_Noreturn void namespace_cannot(const struct namespace *ns, enum channel_cannot step, const char *what,
                                int errnum)
{
    const struct channel_word word = {.type = CHANNEL_CANNOT, .value = (int32_t)step << 16 | errnum};

    /* When nobody listens any more, the line and the status say it. */
    if (ns->channel < 0 || send(ns->channel, &word, sizeof(word), MSG_NOSIGNAL) < 0)
        chain_fatal_errno(ns->chain, what, errnum);
    chain_fatal_errno(ns->chain, what, errnum);
}

static uint64_t take_bytes(const struct chain *chain, const char *text)
{
    uint64_t value = 0;

    for (const char *c = text; *c; c++) {
        if (*c < '0' || *c > '9' || value > (INT64_MAX - 9) / 10)
            chain_fatal(chain, "--tmp-size", "usage: not a number of bytes");
        value = value * 10 + (uint64_t)(*c - '0');
    }
    if (value < 4096)
        chain_fatal(chain, "--tmp-size", "usage: at least 4096 bytes");
    return value;
}

static unsigned take_numbers(const struct chain *chain, const char *text)
{
    int count = chain_number(chain, "--process-numbers", text);

    if (count < NUMBERS_LEAST)
        chain_fatal(chain, "--process-numbers", "usage: at least 301");
    if (geteuid() == 0)
        chain_fatal(chain, "--process-numbers", "usage: not for root, who could change the machine's");
    return (unsigned)count;
}

static int take_descriptor(const struct chain *chain, const char *option, const char *text)
{
    int fd = chain_number(chain, option, text);

    if (fd <= STDERR_FILENO || fcntl(fd, F_GETFD) < 0)
        chain_fatal(chain, option, "this descriptor is not open, or one of 0, 1 and 2");
    return fd;
}

/* One of the options that say how, not what. Return: whether it was one. */
static bool take_setting(struct namespace *ns, size_t *at)
{
    const struct chain *chain = ns->chain;
    const char *value;

    if (chain_option(chain, at, "--map", &value)) {
        if (strcmp(value, "own") != 0 && strcmp(value, "all") != 0)
            chain_fatal(chain, "--map", "usage: own or all");
        ns->map_all = value[0] == 'a';
    } else if (chain_flag(chain, at, "--net")) {
        ns->net = true;
    } else if (chain_option(chain, at, "--tmp-size", &value)) {
        ns->tmp_size = take_bytes(chain, value);
    } else if (chain_option(chain, at, "--process-numbers", &value)) {
        ns->process_numbers = take_numbers(chain, value);
    } else if (chain_option(chain, at, "--liveness", &value)) {
        ns->liveness = take_descriptor(chain, "--liveness", value);
    } else if (chain_option(chain, at, "--channel", &value)) {
        ns->channel = take_descriptor(chain, "--channel", value);
    } else if (chain_option(chain, at, "--ahead", &value)) {
        ns->ahead = take_descriptor(chain, "--ahead", value);
    } else if (chain_option(chain, at, "--ahead-ready", &value)) {
        ns->ahead_ready = take_descriptor(chain, "--ahead-ready", value);
    } else if (chain_flag(chain, at, "--terminal")) {
        ns->terminal = true;
    } else if (chain_flag(chain, at, "--nest")) {
        ns->nest = true;
    } else if (chain_flag(chain, at, "--wait-all")) {
        ns->wait_all = true;
    } else if (chain_flag(chain, at, "--hold")) {
        ns->hold = true;
    } else if (chain_flag(chain, at, "--serve")) {
        ns->serve = true;
    } else if (chain_flag(chain, at, "--entrance")) {
        ns->entrance = true;
    } else {
        return namespace_take_join(ns, at) || namespace_take_net(ns, at);
    }
    return true;
}

/* What must stand behind the path of --cover and --overlay. */
static void take_rest(struct namespace *ns, struct namespace_item *item, size_t *at)
{
    const struct chain *chain = ns->chain;
    const char *value;

    if (item->kind == KIND_COVER) {
        item->names = chain->argv + *at;
        for (; chain->argv[*at] && chain_option(chain, at, "--name", &value); item->name_count++)
            if (!*value || strchr(value, '/') || strcmp(value, ".") == 0 || strcmp(value, "..") == 0)
                chain_fatal(chain, "--name", "usage: one name in the directory");
        if (item->name_count == 0)
            chain_fatal(chain, "--cover", "usage: needs --name");
    } else if (item->kind == KIND_OVERLAY) {
        if (!chain->argv[*at] || !chain_option(chain, at, "--upper", &value))
            chain_fatal(chain, "--overlay", "usage: needs --upper");
        item->upper = namespace_add(ns, KIND_UPPER, value);
    }
    if ((item->kind == KIND_COVER || item->kind == KIND_OVERLAY) && !S_ISDIR(item->mode))
        chain_fatal_errno(chain, item->word, ENOTDIR);
}

static void parse_options(struct namespace *ns)
{
    const struct chain *chain = ns->chain;
    size_t at = 1, words = 0;

    while (chain->argv[words])
        words++;
    ns->items =
        namespace_take(ns, (words + 8) * sizeof(*ns->items)); /* an item takes two words; places are few */
    while (chain->argv[at]) {
        struct namespace_item *item;
        const char *value;
        size_t i = 0;

        if (take_setting(ns, &at))
            continue;
        while (i < PATH_OPTIONS && !chain_option(chain, &at, path_options[i].option, &value))
            i++;
        if (i == PATH_OPTIONS)
            break;
        item = namespace_add(ns, path_options[i].kind, value);
        if (item)
            take_rest(ns, item, &at);
    }
    if ((ns->hold || ns->serve) && chain->argv[at])
        chain_fatal(chain, chain->argv[at], "usage: with --hold or --serve there is no command");
    if (!ns->hold && !ns->serve)
        ns->command = chain_command(chain, at);
    namespace_check_join(ns);
    namespace_check_net(ns);
    if (ns->nest && (ns->map_all || geteuid() == 0))
        chain_fatal(chain, "--nest",
                    "usage: not for root, who could write the kernel's settings below /proc/sys");
    if (ns->terminal && ns->liveness >= 0)
        chain_fatal(chain, "--terminal", "usage: not with --liveness, which means a session of its own");
    if ((ns->ahead < 0) != (ns->ahead_ready < 0))
        chain_fatal(chain, "--ahead", "usage: needs --ahead-ready, which needs it");
    if (ns->ahead >= 0 && geteuid() == 0)
        chain_fatal(chain, "--ahead", "usage: not for root");
    if (ns->ahead >= 0 && (ns->map_all || ns->joined || ns->hold))
        chain_fatal(chain, "--ahead", "usage: not with --map all, --join-user or --hold");
    if (ns->channel >= 0 && ns->channel == ns->liveness)
        chain_fatal(chain, "--channel", "usage: another descriptor than --liveness");
}

static void note_directory(struct namespace *ns)
{
    struct stat seen = {0};

    if (!getcwd(ns->cwd, sizeof(ns->cwd)) || stat(".", &seen) != 0)
        chain_fatal_errno(ns->chain, "current directory", errno);
    if (ns->cwd[0] != '/')
        chain_fatal(ns->chain, "current directory", "has no name in this tree");
    ns->cwd_device = seen.st_dev;
    ns->cwd_inode = seen.st_ino;
}

/* Every root needs two descriptors while the view is built, beside the one that it was given by. Return:
 * whether the limit was raised, from BEFORE. */
static bool raise_descriptors(const struct namespace *ns, struct rlimit *before)
{
    struct rlimit raised;

    *before = (struct rlimit){0};
    if (getrlimit(RLIMIT_NOFILE, before) != 0)
        chain_fatal_errno(ns->chain, "descriptors", errno);
    if (3 * ns->count + DESCRIPTORS_SPARE <= before->rlim_cur)
        return false;
    raised = *before;
    raised.rlim_cur = before->rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &raised) != 0)
        chain_fatal_errno(ns->chain, "descriptors", errno);
    return true;
}

/*
 * namespace_run() - the link; see the head of this file.
 *
 * Return: never; the process outside ends as the command does.
 */
int namespace_run(struct chain *chain)
{
    static struct namespace ns;
    struct rlimit before;
    bool raised;

    ns.chain = chain;
    ns.liveness = ns.channel = ns.descriptors = ns.tty = ns.pool = ns.draft = ns.still = -1;
    ns.shared[0] = ns.shared[1] = ns.events = ns.init = ns.nameless = -1;
    ns.ahead = ns.ahead_ready = -1;
    for (size_t i = 0; i < JOIN_COUNT; i++)
        ns.join[i] = -1;
    chain_set_dumpable(chain, false);
    parse_options(&ns);
    if (ns.hold)
        namespace_hold(&ns);
    if (ns.serve)
        namespace_serve(&ns);
    note_directory(&ns);
    namespace_take_terminal(&ns);
    namespace_add_places(&ns);
    if (ns.descriptors >= 0)
        close(ns.descriptors);
    namespace_sort(&ns);
    raised = raise_descriptors(&ns, &before);
    signal(SIGCHLD, SIG_DFL); /* ignored, it would take a status away */
    if (ns.joined) {
        namespace_join(&ns);
    } else {
        namespace_unshare(&ns);
        namespace_start_init(&ns);
    }
    namespace_build_view(&ns);
    if (raised && setrlimit(RLIMIT_NOFILE, &before) != 0)
        chain_fatal_errno(chain, "descriptors", errno);
    namespace_live(&ns);
}

LINK_MAIN("namespace-run", namespace_run)
