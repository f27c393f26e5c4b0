/*
 * wall.c - see wall.h.
 */
#include "network/wall.h"

#include "links/kernel_abi.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define FILTER_MODE 2 /* PR_GET_SECCOMP: a filter is on */
#define CALLS_MOST  80
#define CODE_MOST   (CALLS_MOST + 64)
/* Anything but reading; the two numbers are O_TMPFILE's own bit and O_PATH, which not all C libraries count.
 */
#define OPEN_OTHER   (O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | 020000000 | 010000000)
#define PROTECT_EXEC 4
#define LOW(argument)                                                                                        \
    (16u + 8 * (argument)) /* offsets in struct seccomp_data; both machines are little-endian */
#define ANSWER_ALLOW   0x7fff0000u
#define ANSWER_REFUSE  (0x00050000u | EPERM)
#define ANSWER_NO_CALL (0x00050000u | ENOSYS)

/* What either process does from then on. Calls with conditions of their own are not in the lists. */
static const int gateway_calls[] = {
    SYS_read,          SYS_write,        SYS_writev,          SYS_recvfrom,
    SYS_sendto,        SYS_recvmsg,      SYS_sendmsg,         SYS_accept4,
    SYS_connect,       SYS_bind,         SYS_getsockname,     SYS_getsockopt,
    SYS_setsockopt,    SYS_shutdown,     SYS_close,           SYS_epoll_ctl,
    SYS_epoll_pwait,
#ifdef SYS_epoll_wait
    SYS_epoll_wait,
#endif
    SYS_clock_gettime, SYS_munmap,       SYS_mremap,          SYS_madvise,
    SYS_brk,           SYS_futex,        SYS_getrandom,       SYS_exit,
    SYS_exit_group,    SYS_rt_sigreturn, SYS_restart_syscall, SYS_fcntl,
};

static const int resolver_calls[] = {
    SYS_read,
    SYS_readv,
    SYS_write,
    SYS_writev,
    SYS_recvfrom,
    SYS_sendto,
    SYS_recvmsg,
    SYS_sendmsg,
    SYS_sendmmsg,
    SYS_connect,
    SYS_bind,
    SYS_getsockname,
    SYS_getpeername,
    SYS_getsockopt,
    SYS_setsockopt,
    SYS_shutdown,
    SYS_close,
    SYS_ppoll,
    SYS_fstat,
    SYS_newfstatat,
    SYS_lseek,
    SYS_fcntl,
    SYS_ioctl,
#ifdef SYS_poll
    SYS_poll,
    SYS_stat,
    SYS_access,
#endif
    SYS_clock_gettime,
    SYS_gettimeofday,
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    SYS_futex,
    SYS_getrandom,
    SYS_exit,
    SYS_exit_group,
    SYS_rt_sigreturn,
    SYS_rt_sigprocmask,
    SYS_rt_sigaction,
    SYS_restart_syscall,
    SYS_getpid,
    SYS_gettid,
    SYS_uname,
    SYS_set_robust_list,
    SYS_set_tid_address,
#ifdef SYS_fork
    SYS_fork,
#endif
};

struct code {
    struct sock_filter at[CODE_MOST];
    size_t count;
};

static void add(struct code *code, uint16_t operation, uint32_t value, uint8_t yes, uint8_t no)
{
    code->at[code->count++] = (struct sock_filter){operation, yes, no, value};
}

static void load(struct code *code, uint32_t offset)
{
    add(code, BPF_LD | BPF_W | BPF_ABS, offset, 0, 0);
}

static void answer(struct code *code, uint32_t verdict)
{
    add(code, BPF_RET | BPF_K, verdict, 0, 0);
}

/* CALL passes if none of the bits of MASK is set in an argument. */
static void allow_without(struct code *code, int call, unsigned argument, uint32_t mask)
{
    add(code, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 4);
    load(code, LOW(argument));
    add(code, BPF_JMP | BPF_JSET | BPF_K, mask, 0, 1);
    answer(code, ANSWER_REFUSE);
    answer(code, ANSWER_ALLOW);
}

/* CALL passes with one value of its first argument, or another one. */
static void allow_first(struct code *code, int call, uint32_t mask, uint32_t one, uint32_t other)
{
    add(code, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 6);
    load(code, LOW(0));
    add(code, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
    add(code, BPF_JMP | BPF_JEQ | BPF_K, one, 2, 0);
    add(code, BPF_JMP | BPF_JEQ | BPF_K, other, 1, 0);
    answer(code, ANSWER_REFUSE);
    answer(code, ANSWER_ALLOW);
}

static void begin(struct code *code, const int *calls, size_t count)
{
    load(code, 4); /* the machine */
    add(code, BPF_JMP | BPF_JEQ | BPF_K, KERNEL_AUDIT_ARCH, 1, 0);
    answer(code, ANSWER_NO_CALL);
    load(code, 0); /* the call; the other set of numbers of x86-64 is in no list */
    for (size_t i = 0; i < count; i++) {
        add(code, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i], 0, 1);
        answer(code, ANSWER_ALLOW);
    }
    allow_first(code, SYS_socket, ~0u, AF_INET, AF_INET6);
    allow_without(code, SYS_mmap, 2, PROTECT_EXEC);
    allow_without(code, SYS_mprotect, 2, PROTECT_EXEC);
}

static const char *load_filter(struct code *code)
{
    struct sock_fprog program = {.filter = code->at};

    answer(code, ANSWER_REFUSE);
    program.len = (unsigned short)code->count;
    if (prctl(PR_SET_SECCOMP, FILTER_MODE, &program) != 0)
        return "the filter was refused";
    /* It is this one that answers: the project's own lets both pass. */
    errno = 0;
    if (fcntl(-1, F_GETFD) != -1 || errno != EBADF || umask(077) != (mode_t)-1)
        return "the filter is not in force";
    return NULL;
}

const char *wall_attest(void)
{
    struct {
        uint32_t version;
        int pid;
    } head = {0x20080522, 0};
    uint32_t sets[6];
    int fd;

    if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
        return "it can be traced";
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
        return "no_new_privs is off";
    if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != FILTER_MODE)
        return "there is no filter";
    if (syscall(SYS_capget, &head, sets) != 0)
        return "its capabilities cannot be read";
    for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
        if (sets[i] != 0)
            return "it has capabilities";
    fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 || errno != EACCES) {
        fd_close(fd);
        return "it can read the host's files";
    }
    return NULL;
}

const char *wall_files(void)
{
    struct landlock_ruleset_attr attr = {0};
    int abi = landlock_abi();
    _cleanup_fd_ int ruleset = -1, fd = -1;

    if (abi < 1)
        return "there is no Landlock";
    attr.handled_access_fs = landlock_mask(LANDLOCK_FAMILY_FS, abi);
    ruleset = landlock_create(&attr);
    if (ruleset < 0 || landlock_restrict(ruleset, 0) != 0)
        return "the files could not be taken away";
    fd = open("/etc/hosts", O_RDONLY | O_CLOEXEC);
    return fd >= 0 ? "a file can still be read" : NULL;
}

const char *wall_gateway(void)
{
    struct code code = {.count = 0};

    begin(&code, gateway_calls, ARRAY_SIZE(gateway_calls));
    return load_filter(&code);
}

const char *wall_resolver(void)
{
    struct code code = {.count = 0};

    begin(&code, resolver_calls, ARRAY_SIZE(resolver_calls));
#ifdef SYS_open
    allow_without(&code, SYS_open, 1, OPEN_OTHER);
#endif
    allow_without(&code, SYS_openat, 2, OPEN_OTHER);
    allow_first(&code, SYS_prctl, ~0u, PR_SET_PDEATHSIG, PR_SET_PDEATHSIG);
    /* A process of its own: no thread, no namespace. */
    allow_first(&code, SYS_clone, ~0x01200000u, SIGCHLD, SIGCHLD);
    return load_filter(&code);
}
