/*
 * wall.c - see wall.h.
 *
 * Theory of operation. The program does one thing, so it says what it needs instead of what it must not have:
 * one Landlock layer that knows the trees alone, and a filter that knows two dozen calls. What the links of a
 * command hold one by one, a signal, a socket, a key, another process, none of these calls can reach; and
 * signals stay blocked as the supervisor has left them, so that a terminal's keys mean nothing here.
 *
 * Should:  be one act for each wall, which goes through before it and not behind it.
 * Mustn't: go on after any doubt, or without a part that the machine lacks.
 */
#include "sweep/wall.h"

#include "links/kernel_abi.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* What every look and removal does. */
static const int calls[] = {
    SYS_read,          SYS_write,
    SYS_writev,        SYS_close,
    SYS_fstat,         SYS_newfstatat,
    SYS_lseek,         SYS_pread64,
    SYS_fcntl,         SYS_getdents64,
    SYS_readlinkat,    SYS_mmap,
    SYS_munmap,        SYS_mremap,
    SYS_madvise,       SYS_brk,
    SYS_clock_gettime, SYS_exit,
    SYS_exit_group,    SYS_rt_sigreturn,
    SYS_futex,         SYS_restart_syscall,
};

/* What a look does as well: it waits, and asks what keeps the times of a tree, and which
 * directories are encrypted. */
static const int looking_calls[] = {
    SYS_ppoll,
    SYS_fstatfs,
    SYS_statx,
#ifdef SYS_poll
    SYS_poll,
#endif
};

/* What changes a tree. */
static const int changing_calls[] = {
    SYS_openat, SYS_unlinkat, SYS_mkdirat,   SYS_renameat, SYS_renameat2,
    SYS_fchmod, SYS_fchmodat, SYS_fchmodat2, SYS_fsync,
#ifdef SYS_chmod
    SYS_chmod,
#endif
};

/* Anything but reading; the last two are O_TMPFILE's own bit, and 0 where a libc's O_ACCMODE has O_PATH. */
#define OPEN_OTHER ((O_ACCMODE & 3) | O_CREAT | O_TRUNC | O_APPEND | 020000000)

#define SET_ID 06000

/* What a call may not have, bit by bit, in one of its arguments. */
struct refusal {
    int call;
    unsigned argument;
    uint32_t bits;
};

static const struct refusal looking_refusals[] = {{SYS_openat, 2, OPEN_OTHER}};

static const struct refusal changing_refusals[] = {
    {SYS_openat, 3, SET_ID},   {SYS_mkdirat, 2, SET_ID},   {SYS_fchmod, 1, SET_ID},
    {SYS_fchmodat, 2, SET_ID}, {SYS_fchmodat2, 2, SET_ID},
#ifdef SYS_chmod
    {SYS_chmod, 1, SET_ID},
#endif
};

#define CALL_WORDS 16 /* of 32 calls each: all that there are */
#define CODE_MOST  128

/* Offsets in what the kernel shows to a filter; both machines are little-endian. */
enum { AT_NR = 0, AT_ARCH = 4, AT_ARGS = 16 };

bool wall_keep(struct wall *wall, int fd, bool tree)
{
    size_t at = wall->kept_count;

    if (fd <= STDERR_FILENO || at == WALL_KEPT || (tree && wall->tree_count == WALL_KEPT))
        return false;
    if (tree)
        wall->trees[wall->tree_count++] = fd;
    while (at > 0 && wall->kept[at - 1] > fd)
        at--;
    if (at > 0 && wall->kept[at - 1] == fd)
        return true;
    for (size_t i = wall->kept_count++; i > at; i--)
        wall->kept[i] = wall->kept[i - 1];
    wall->kept[at] = fd;
    return true;
}

/* --- descriptors ------------------------------------------------------------------------------------------
 */

/* One of the range is made sure to be open before, where there can be one. */
static bool close_between(unsigned first, unsigned last)
{
    bool control = dup2(STDERR_FILENO, (int)first) == (int)first;

    return kernel_call(SYS_close_range, first, last, 0, 0, 0, 0) == 0 &&
           !(control && fcntl((int)first, F_GETFD) >= 0);
}

static bool close_others(const struct wall *wall)
{
    unsigned next = STDERR_FILENO + 1;

    for (size_t i = 0; i < wall->kept_count; i++) {
        unsigned fd = (unsigned)wall->kept[i];

        if (fcntl(wall->kept[i], F_GETFD) < 0 || (next < fd && !close_between(next, fd - 1)))
            return false;
        next = fd + 1;
    }
    return close_between(next, ~0U);
}

/* --- the user ---------------------------------------------------------------------------------------------
 */

static bool become_user(const struct wall *wall)
{
    uint32_t user[3] = {0}, group[3] = {0};

    if (!wall->user)
        return true;
    if (kernel_call(SYS_setgroups, 0, 0, 0, 0, 0, 0) != 0 ||
        kernel_call(SYS_setresgid, wall->gid, wall->gid, wall->gid, 0, 0, 0) != 0 ||
        kernel_call(SYS_setresuid, wall->uid, wall->uid, wall->uid, 0, 0, 0) != 0 ||
        kernel_call(SYS_getresuid, KERNEL_PTR(&user[0]), KERNEL_PTR(&user[1]), KERNEL_PTR(&user[2]), 0, 0,
                    0) != 0 ||
        kernel_call(SYS_getresgid, KERNEL_PTR(&group[0]), KERNEL_PTR(&group[1]), KERNEL_PTR(&group[2]), 0, 0,
                    0) != 0)
        return false;
    for (size_t i = 0; i < 3; i++)
        if (user[i] != wall->uid || group[i] != wall->gid)
            return false;
    return kernel_call(SYS_getgroups, 0, 0, 0, 0, 0, 0) == 0;
}

static bool drop_capabilities(void)
{
    struct capability_header header = {.version = CAPABILITY_VERSION_3};
    struct capability_data none[2] = {{0}, {0}}, seen[2];

    for (size_t i = 0; i < 2; i++)
        seen[i].effective = seen[i].permitted = seen[i].inheritable = ~0U;
    if (kernel_call(SYS_capset, KERNEL_PTR(&header), KERNEL_PTR(none), 0, 0, 0, 0) != 0 ||
        kernel_call(SYS_capget, KERNEL_PTR(&header), KERNEL_PTR(seen), 0, 0, 0, 0) != 0)
        return false;
    for (size_t i = 0; i < 2; i++)
        if (seen[i].effective || seen[i].permitted || seen[i].inheritable)
            return false;
    return true;
}

/* --- files ------------------------------------------------------------------------------------------------
 */

static int open_directory(const char *path)
{
    return openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* A directory that anybody may list, and that no tree is above. NULL: there is none. */
static const char *find_control(void)
{
    static const char *const places[] = {"/", "/usr", "/proc", "/dev", "/etc"};

    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        int fd = open_directory(places[i]);

        if (fd >= 0) {
            close(fd);
            return places[i];
        }
    }
    return NULL;
}

static bool allow_trees(const struct wall *wall, int ruleset, uint64_t all)
{
    const uint64_t reading = LANDLOCK_FS_READ_FILE | LANDLOCK_FS_READ_DIR;
    const uint64_t never = LANDLOCK_FS_EXECUTE | LANDLOCK_FS_IOCTL_DEV | LANDLOCK_FS_RESOLVE_UNIX;
    struct stat object;

    for (size_t i = 0; i < wall->tree_count; i++) {
        uint64_t access = wall->changes ? all & ~never : reading;

        if (fstat(wall->trees[i], &object) != 0)
            return false;
        if (!S_ISDIR(object.st_mode))
            access &= landlock_file_mask();
        if (landlock_allow_path(ruleset, wall->trees[i], access) != 0)
            return false;
    }
    return true;
}

/* Signals and abstract sockets, where Landlock can hold them, are in the same layer. */
static bool leave_files(const struct wall *wall)
{
    const int abi = landlock_abi();
    const char *control = find_control();
    struct landlock_ruleset_attr attr = {0};
    int ruleset, fd;

    if (abi < 1 || !control)
        return false;
    attr.handled_access_fs = landlock_mask(LANDLOCK_FAMILY_FS, abi);
    attr.handled_access_net = landlock_mask(LANDLOCK_FAMILY_NET, abi);
    attr.scoped = landlock_mask(LANDLOCK_FAMILY_SCOPE, abi);
    ruleset = landlock_create(&attr);
    if (ruleset < 0 || !allow_trees(wall, ruleset, attr.handled_access_fs) ||
        landlock_restrict(ruleset, 0) != 0)
        return false; /* and so is the process: the descriptor ends with it */
    close(ruleset);
    fd = open_directory(control);
    return fd < 0 && errno == EACCES;
}

/* --- calls ------------------------------------------------------------------------------------------------
 */

struct code {
    struct sock_filter at[CODE_MOST];
    size_t count;
};

static void add(struct code *code, int operation, uint32_t value, unsigned yes, unsigned no)
{
    code->at[code->count++] = (struct sock_filter){(uint16_t)operation, (uint8_t)yes, (uint8_t)no, value};
}

static void note_calls(uint32_t words[CALL_WORDS], const int *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        words[list[i] / 32] |= UINT32_C(1) << list[i] % 32;
}

/* Those of @list that are one of the calls pass without the bits; the number of the call is loaded. */
static void refuse_bits(struct code *code, const struct refusal *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        add(code, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)list[i].call, 0, 4);
        add(code, BPF_LD | BPF_W | BPF_ABS, AT_ARGS + 8 * list[i].argument, 0, 0);
        add(code, BPF_JMP | BPF_JSET | BPF_K, list[i].bits, 0, 1);
        add(code, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
        add(code, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    }
}

/* Of fcntl(), a copy and what a descriptor is: F_SETOWN and F_SETSIG would have the kernel send a signal to
 * whoever they name, and a lease or a lock would hold others up. */
static void refuse_commands(struct code *code)
{
    add(code, BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 5);
    add(code, BPF_LD | BPF_W | BPF_ABS, AT_ARGS + 8, 0, 0);
    add(code, BPF_JMP | BPF_JEQ | BPF_K, F_DUPFD_CLOEXEC, 1, 0);
    add(code, BPF_JMP | BPF_JGT | BPF_K, F_GETFL, 1, 0); /* the four before it are the first numbers */
    add(code, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    add(code, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
}

/* A bit for each call, in a table: as long as a list of comparisons, it would be as slow as one. The first
 * instruction does nothing but that the kernel, which tries every number beforehand to see what always
 * passes, cannot follow it: that takes longer than the filter does at all calls that are made here. */
static void build_filter(struct code *code, const struct wall *wall)
{
    uint32_t words[CALL_WORDS] = {0};
    unsigned left = 0; /* words that are still to come */

    note_calls(words, calls, ARRAY_SIZE(calls));
    if (wall->looks)
        note_calls(words, looking_calls, ARRAY_SIZE(looking_calls));
    if (wall->changes)
        note_calls(words, changing_calls, ARRAY_SIZE(changing_calls));
    for (size_t i = 0; i < CALL_WORDS; i++)
        left += words[i] != 0;
    add(code, BPF_MISC | BPF_TAX, 0, 0, 0);
    add(code, BPF_LD | BPF_W | BPF_ABS, AT_ARCH, 0, 0);
    add(code, BPF_JMP | BPF_JEQ | BPF_K, KERNEL_AUDIT_ARCH, 1, 0);
    add(code, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
    add(code, BPF_LD | BPF_W | BPF_ABS, AT_NR, 0, 0);
    refuse_commands(code);
    if (wall->changes)
        refuse_bits(code, changing_refusals, ARRAY_SIZE(changing_refusals));
    else
        refuse_bits(code, looking_refusals, ARRAY_SIZE(looking_refusals));
    add(code, BPF_ALU | BPF_AND | BPF_K, 31, 0, 0);
    add(code, BPF_MISC | BPF_TAX, 0, 0, 0); /* which bit, */
    add(code, BPF_LD | BPF_W | BPF_ABS, AT_NR, 0, 0);
    add(code, BPF_ALU | BPF_RSH | BPF_K, 5, 0,
        0); /* of which word; one that is not there has no call in it */
    for (uint32_t word = 0; word < CALL_WORDS; word++) {
        if (words[word] == 0)
            continue;
        left--;
        add(code, BPF_JMP | BPF_JEQ | BPF_K, word, 0, 2);
        add(code, BPF_LD | BPF_IMM, words[word], 0, 0);
        add(code, BPF_JMP | BPF_JA, 3 * left + 1, 0, 0);
    }
    add(code, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
    add(code, BPF_ALU | BPF_RSH | BPF_X, 0, 0, 0);
    add(code, BPF_JMP | BPF_JSET | BPF_K, 1, 0, 1);
    add(code, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    add(code, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
}

/* Asking for the parent goes through on every kernel, and is none of the calls. */
static bool leave_calls(const struct wall *wall)
{
    struct code code = {.count = 0};
    struct sock_fprog program = {.filter = code.at};

    build_filter(&code, wall);
    program.len = (unsigned short)code.count;
    return kernel_call(SYS_getppid, 0, 0, 0, 0, 0, 0) >= 0 &&
           kernel_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, KERNEL_PTR(&program), 0, 0, 0) == 0 &&
           kernel_call(SYS_getppid, 0, 0, 0, 0, 0, 0) == -EPERM;
}

const char *wall_build(const struct wall *wall)
{
    if (!close_others(wall))
        return "descriptors could not be closed, or one of the trees is not open";
    if (!become_user(wall))
        return "the user could not be changed";
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
        return "it can be traced";
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
        return "no_new_privs could not be set";
    if (!drop_capabilities())
        return "capabilities could not be dropped";
    if (!leave_files(wall))
        return "Landlock could not hold everything but the trees";
    if (!leave_calls(wall))
        return "the filter of system calls could not be loaded";
    return NULL;
}
