/*
 * detach-run.c - leave behind what is inherited; the first link of every chain.
 *
 *     detach-run [--keep N[,N]...]... [--session | --group] [--keyring] [--user UID:GID]
 *                [--file-size BYTES] [--cpu-time SECONDS] [--with-parent] -- COMMAND [ARG]...
 *
 * Should:  leave the next link with 0, 1, 2 and the kept descriptors and no
 *          other; with nothing ignored, blocked, pending on a timer or held in
 *          a keyring of the caller's; as the named user for good.
 * Mustn't: believe an answer of 0 where a wall is made of it: what was closed
 *          or given up is looked at again.
 *
 * A descriptor closed later than here would be kept by every process that the
 * chain has forked in between: a pipe that never ends, and a door for the command.
 */
#include "chain.h"
#include "kernel_abi.h"
#include "keyring.h"
#include "session.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>

#define KEEP_MAX      4096
#define SIGNALS       64
#define NULL_DEVICE   "/dev/null"
#define CORE_LIMIT    1 /* bytes; 0 would not stop a piped core handler, 1 does */
#define UMASK_ATLEAST 0002
#define UMASK_OWNER   0700

struct detach {
    size_t keep_count;
    bool session;
    bool group;
    bool keyring;
    bool user;
    bool with_parent;
    uint32_t uid;
    uint32_t gid;
    bool file_size;
    uint64_t file_bytes;
    uint64_t cpu_seconds; /* 0: no limit */
    int keep[KEEP_MAX];   /* ascending, without repetition; last, as most of it is never touched */
};

/* Reads a decimal number up to LIMIT that ends at END. Return: the character after it, or NULL. */
static const char *read_number(const char *text, uint64_t limit, char end, uint64_t *value)
{
    *value = 0;
    if (*text < '0' || *text > '9')
        return NULL;
    for (; *text >= '0' && *text <= '9'; text++) {
        unsigned digit = (unsigned)(*text - '0');

        if (*value > (limit - digit) / 10)
            return NULL;
        *value = *value * 10 + digit;
    }
    return *text == end ? text + 1 : NULL;
}

static void add_keep(const struct chain *chain, struct detach *detach, int fd)
{
    size_t at = detach->keep_count;

    if (fd <= STDERR_FILENO)
        chain_fatal(chain, "--keep", "usage: 0, 1 and 2 are always kept");
    while (at > 0 && detach->keep[at - 1] > fd)
        at--;
    if (at > 0 && detach->keep[at - 1] == fd)
        return;
    if (detach->keep_count == KEEP_MAX)
        chain_fatal(chain, "--keep", "usage: at most 4096 descriptors");
    memmove(detach->keep + at + 1, detach->keep + at, (detach->keep_count - at) * sizeof(*detach->keep));
    detach->keep[at] = fd;
    detach->keep_count++;
}

/* Numbers, separated by commas: each word that crosses an exec is copied twice. */
static void add_keeps(const struct chain *chain, struct detach *detach, const char *text)
{
    while (text) {
        const char *comma = strchr(text, ',');
        uint64_t fd;

        if (!read_number(text, INT_MAX, comma ? ',' : '\0', &fd))
            chain_fatal(chain, "--keep", "usage: not a number");
        add_keep(chain, detach, (int)fd);
        text = comma ? comma + 1 : NULL;
    }
}

static void set_user(const struct chain *chain, struct detach *detach, const char *text)
{
    uint64_t uid, gid = 0;
    const char *rest = read_number(text, UINT32_MAX - 1, ':', &uid); /* UINT32_MAX means "leave it" */

    if (!rest || !read_number(rest, UINT32_MAX - 1, '\0', &gid))
        chain_fatal(chain, "--user", "usage: UID:GID, both in decimal");
    detach->user = true;
    detach->uid = (uint32_t)uid;
    detach->gid = (uint32_t)gid;
}

static char **parse_options(const struct chain *chain, struct detach *detach)
{
    size_t at = 1;

    while (chain->argv[at]) {
        const char *value;

        if (chain_option(chain, &at, "--keep", &value)) {
            add_keeps(chain, detach, value);
        } else if (chain_option(chain, &at, "--user", &value)) {
            set_user(chain, detach, value);
        } else if (chain_option(chain, &at, "--file-size", &value)) {
            if (!read_number(value, INT64_MAX, '\0', &detach->file_bytes))
                chain_fatal(chain, "--file-size", "usage: not a number of bytes");
            detach->file_size = true;
        } else if (chain_option(chain, &at, "--cpu-time", &value)) {
            if (!read_number(value, INT64_MAX - 1, '\0', &detach->cpu_seconds) || detach->cpu_seconds == 0)
                chain_fatal(chain, "--cpu-time", "usage: not a number of seconds from 1");
        } else if (chain_flag(chain, &at, "--session")) {
            detach->session = true;
        } else if (chain_flag(chain, &at, "--group")) {
            detach->group = true;
        } else if (chain_flag(chain, &at, "--keyring")) {
            detach->keyring = true;
        } else if (chain_flag(chain, &at, "--with-parent")) {
            detach->with_parent = true;
        } else {
            break;
        }
    }
    if (detach->session && detach->group)
        chain_fatal(chain, "--group", "usage: --session makes a process group already");
    return chain_command(chain, at);
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

/* Gives 0, 1 and 2 something to be: a file opened later would become the command's output. */
static void fill_standard(const struct chain *chain)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        struct stat st = {0};
        int got;

        if (is_open(fd))
            continue;
        got = open(NULL_DEVICE, fd == STDIN_FILENO ? O_RDONLY : O_WRONLY);
        if (got < 0)
            chain_fatal_errno(chain, NULL_DEVICE, errno);
        if (got != fd || fstat(fd, &st) != 0 || !S_ISCHR(st.st_mode) || st.st_rdev != makedev(1, 3))
            chain_fatal(chain, NULL_DEVICE, "is not the null device");
    }
}

/* Closes FIRST to LAST and sees it done: one descriptor of the range is made sure to be open before. None can
 * be where FIRST is above the descriptor limit; the other ranges have theirs. */
static void close_between(const struct chain *chain, unsigned first, unsigned last)
{
    bool control = is_open((int)first) || dup2(STDIN_FILENO, (int)first) == (int)first;
    long error = kernel_call(SYS_close_range, first, last, 0, 0, 0, 0);

    if (error)
        chain_fatal_errno(chain, "close_range", (int)-error);
    if (control && is_open((int)first))
        chain_fatal(chain, "close_range", "the kernel reported success but closed nothing");
}

static void close_others(const struct chain *chain, const struct detach *detach)
{
    unsigned next = STDERR_FILENO + 1;

    for (size_t i = 0; i < detach->keep_count; i++) {
        int fd = detach->keep[i];

        if (fcntl(fd, F_SETFD, 0) != 0) /* it has no other flag than FD_CLOEXEC */
            chain_fatal(chain, "--keep", "this descriptor is not open");
        if (next < (unsigned)fd)
            close_between(chain, next, (unsigned)fd - 1);
        next = (unsigned)fd + 1;
    }
    close_between(chain, next, ~0U);
}

/* Nothing ignored or blocked (an ignored SIGPIPE surprises every pipeline), no timer running. By raw calls: a
 * libc keeps a few signals for itself and would leave those as they are. */
static void reset_signals(const struct chain *chain)
{
    static const int timers[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};
    const uint64_t action[4] = {0}; /* struct sigaction of the kernel: SIG_DFL, no flag, no mask */
    const uint64_t nothing = 0;
    uint64_t before[4];
    const struct itimerval off = {0};
    long error;

    for (int signal = 1; signal <= SIGNALS; signal++) {
        if (signal == SIGKILL || signal == SIGSTOP)
            continue;
        before[0] = UINT64_MAX; /* no handler: what was there is written over it */
        error = kernel_call(SYS_rt_sigaction, signal, KERNEL_PTR(action), KERNEL_PTR(before),
                            sizeof(uint64_t), 0, 0);
        if (error)
            chain_fatal_errno(chain, "rt_sigaction", (int)-error);
        if (before[0] == UINT64_MAX)
            chain_fatal(chain, "rt_sigaction", "the kernel reported success but did nothing");
    }
    for (size_t i = 0; i < sizeof(timers) / sizeof(timers[0]); i++)
        if (setitimer(timers[i], &off, NULL) != 0)
            chain_fatal_errno(chain, "setitimer", errno);
    error = kernel_call(SYS_rt_sigprocmask, SIG_SETMASK, KERNEL_PTR(&nothing), 0, sizeof(nothing), 0, 0);
    if (error)
        chain_fatal_errno(chain, "rt_sigprocmask", (int)-error);
}

/* Lowers one limit, soft and hard, and reads it back; a hard limit that is lower already stays. */
static void lower_limit(const struct chain *chain, const char *name, int resource, rlim_t soft, rlim_t hard)
{
    /* Where nothing is read, the value is set: 0 for the core limit would call a crash handler, 1 does not.
     */
    struct rlimit limit = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY}, seen = limit;

    if (getrlimit(resource, &limit) != 0)
        chain_fatal_errno(chain, name, errno);
    if (limit.rlim_max > hard)
        limit.rlim_max = hard;
    limit.rlim_cur = limit.rlim_max > soft ? soft : limit.rlim_max;
    if (setrlimit(resource, &limit) != 0 || getrlimit(resource, &seen) != 0)
        chain_fatal_errno(chain, name, errno);
    if (seen.rlim_cur != limit.rlim_cur || seen.rlim_max != limit.rlim_max)
        chain_fatal(chain, name, "the kernel reported success but the limit is another");
}

/* The caller's mask and at least ours. Each call answers the mask before it, so each shows the last one done.
 */
static void set_umask(const struct chain *chain)
{
    mode_t before = umask(UMASK_ATLEAST), mask;

    mask = (before | UMASK_ATLEAST) & ~(mode_t)UMASK_OWNER & 0777;
    if (umask(mask) != UMASK_ATLEAST || umask(mask) != mask)
        chain_fatal(chain, "umask", "the kernel reported success but the mask is another");
}

/* Becomes the named user for good. Each set-call is believed only by what is read back, and by its undoing
 * being refused. */
static void become_user(const struct chain *chain, const struct detach *detach)
{
    const uint32_t uid = detach->uid, gid = detach->gid, leave = UINT32_MAX;
    uint32_t user[3] = {leave, leave, leave}, group[3] = {leave, leave, leave};
    long error;

    if (geteuid() != 0)
        chain_fatal(chain, "--user", "only root can become another user");
    error = kernel_call(SYS_setgroups, 0, 0, 0, 0, 0, 0);
    if (!error)
        error = kernel_call(SYS_setresgid, gid, gid, gid, 0, 0, 0);
    if (!error)
        error = kernel_call(SYS_setresuid, uid, uid, uid, 0, 0, 0);
    if (error)
        chain_fatal_errno(chain, "--user", (int)-error);
    error =
        kernel_call(SYS_getresuid, KERNEL_PTR(&user[0]), KERNEL_PTR(&user[1]), KERNEL_PTR(&user[2]), 0, 0, 0);
    if (!error)
        error = kernel_call(SYS_getresgid, KERNEL_PTR(&group[0]), KERNEL_PTR(&group[1]),
                            KERNEL_PTR(&group[2]), 0, 0, 0);
    if (error)
        chain_fatal_errno(chain, "--user", (int)-error);
    for (size_t i = 0; i < 3; i++)
        if (user[i] != uid || group[i] != gid)
            chain_fatal(chain, "--user", "the kernel reported success but the user is another");
    if (kernel_call(SYS_getgroups, 0, 0, 0, 0, 0, 0) != 0)
        chain_fatal(chain, "--user", "the kernel reported success but groups are left");
    if (uid != 0 && kernel_call(SYS_setresuid, leave, 0, leave, 0, 0, 0) != -EPERM)
        chain_fatal(chain, "--user", "root could be regained (are capabilities kept over a change of user?)");
    if (uid != 0 && gid != 0 && kernel_call(SYS_setresgid, leave, 0, leave, 0, 0, 0) != -EPERM)
        chain_fatal(chain, "--user", "root's group could be regained");
    chain_set_dumpable(chain, false);
}

/* For a program that is not ours and does not ask for it by itself. Last: a change of user takes it back. */
static void end_with_parent(const struct chain *chain)
{
    int signum = 0;

    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || prctl(PR_GET_PDEATHSIG, &signum, 0, 0, 0) != 0)
        chain_fatal_errno(chain, "--with-parent", errno);
    if (signum != SIGKILL)
        chain_fatal(chain, "--with-parent", "the kernel reported success but the signal is another");
}

/*
 * detach_run() - the link; see the head of this file.
 *
 * Return: never, but through a fused next link.
 */
int detach_run(struct chain *chain)
{
    static struct detach detach;
    char **command;

    chain_set_dumpable(chain, false);
    detach.keep_count =
        0; /* a page that is first read is given twice: as one of zeros, and when it is written */
    command = parse_options(chain, &detach);
    fill_standard(chain);
    close_others(chain, &detach);
    reset_signals(chain);
    if (detach.session)
        session_enter(chain);
    if (detach.group)
        session_enter_group(chain);
    set_umask(chain);
    lower_limit(chain, "core limit", RLIMIT_CORE, CORE_LIMIT, CORE_LIMIT);
    if (detach.file_size)
        lower_limit(chain, "--file-size", RLIMIT_FSIZE, detach.file_bytes, detach.file_bytes);
    if (detach.cpu_seconds) /* SIGXCPU, which says why; SIGKILL a second later to who does not listen */
        lower_limit(chain, "--cpu-time", RLIMIT_CPU, detach.cpu_seconds, detach.cpu_seconds + 1);
    keyring_leave(chain, detach.keyring);
    if (detach.user)
        become_user(chain, &detach);
    if (detach.with_parent)
        end_with_parent(chain);
    return chain_hand_over(chain, command);
}

LINK_MAIN("detach-run", detach_run)
