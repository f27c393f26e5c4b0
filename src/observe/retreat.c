/*
 * retreat.c - what the observer keeps: its few descriptors, and the calls of which its work consists.
 *
 * It reads what the command wrote, so it is what the command would attack. It becomes the command's user,
 * without capabilities, and a filter leaves it looking: it opens by O_PATH alone, makes no socket and no
 * process, executes nothing, and answers on the listener.
 *
 * Mustn't: go on after any doubt: the supervisor sees its end, and ends the run.
 */
#include "observe/retreat.h"

#include "links/kernel_abi.h"
#include "observe/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The time is asked without a call where the libc finds the kernel's page for that: musl 1.2.3 does not in
 * those of Linux 7. */
static const long calls[] = {
    SYS_ppoll, SYS_process_vm_readv, SYS_readlinkat,   SYS_fstat,         SYS_newfstatat, SYS_fstatfs,
    SYS_close, SYS_faccessat2,       SYS_pidfd_open,   SYS_pidfd_getfd,   SYS_getsockopt, SYS_write,
    SYS_read,  SYS_exit_group,       SYS_rt_sigreturn, SYS_clock_gettime,
};

static const uint32_t commands[] = {NOTIFY_IOCTL_RECEIVE, NOTIFY_IOCTL_SEND, NOTIFY_IOCTL_VALID,
                                    NOTIFY_IOCTL_SET_FLAGS, PIDFD_IOCTL_WORDS};

/* Offsets in what the kernel shows to a filter. */
enum { AT_NR = 0, AT_ARCH = 4, AT_ARGS = 16 };

size_t retreat_list(struct sock_filter *code, const long *listed, size_t count)
{
    const struct sock_filter begin[RETREAT_BEGIN] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, AT_ARCH),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, KERNEL_AUDIT_ARCH, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, AT_NR),
    };
    size_t at = ARRAY_SIZE(begin);

    memcpy(code, begin, sizeof(begin));
    for (size_t i = 0; i < count; i++) {
        code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, listed[i], 0, 1);
        code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    return at;
}

static int load_filter(bool asks)
{
    struct sock_filter code[72];
    size_t at = retreat_list(code, calls, ARRAY_SIZE(calls));

#define ADD(CODE, YES, NO, K) code[at++] = (struct sock_filter){(uint16_t)(CODE), YES, NO, K}
    ADD(BPF_JMP | BPF_JEQ | BPF_K, 0, 4, SYS_openat);
    ADD(BPF_LD | BPF_W | BPF_ABS, 0, 0, AT_ARGS + 16);
    ADD(BPF_JMP | BPF_JSET | BPF_K, 0, 1, O_PATH);
    ADD(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
    ADD(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
    ADD(BPF_JMP | BPF_JEQ | BPF_K, 0, 4, SYS_recvmsg); /* the packet that brings the listener */
    ADD(BPF_LD | BPF_W | BPF_ABS, 0, 0, AT_ARGS);
    ADD(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, OBSERVE_WIRE);
    ADD(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
    ADD(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
    if (asks) { /* a packet with what is asked about */
        ADD(BPF_JMP | BPF_JEQ | BPF_K, 0, 4, SYS_sendmsg);
        ADD(BPF_LD | BPF_W | BPF_ABS, 0, 0, AT_ARGS);
        ADD(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, OBSERVE_WIRE);
        ADD(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
        ADD(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
    }
    ADD(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYS_ioctl);
    ADD(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
    ADD(BPF_LD | BPF_W | BPF_ABS, 0, 0, AT_ARGS + 8);
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
        ADD(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, commands[i]);
        ADD(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
    }
    ADD(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
#undef ADD
    return retreat_calls(code, at);
}

/* Everything but the wire, which becomes 1, and the reader: nobody may wait for an end that is held here. */
static int keep_wire(const struct observe_setup *setup)
{
    const bool reads = setup->reader >= 0;

    if (dup2(setup->wire, OBSERVE_WIRE) != OBSERVE_WIRE || close(OBSERVE_LISTENER) != 0 ||
        (reads && dup2(setup->reader, OBSERVE_READER) != OBSERVE_READER))
        return -errno;
    if (kernel_call(SYS_close_range, reads ? OBSERVE_READER + 1 : OBSERVE_WIRE + 1, ~0U, 0, 0, 0, 0) < 0)
        return -EIO;
    memory_ask_at(reads ? OBSERVE_READER : -1);
    return fcntl(setup->wire, F_GETFD) < 0 ? 0 : -EIO; /* it was above */
}

int retreat_calls(struct sock_filter *code, size_t count)
{
    struct sock_fprog program = {.len = (unsigned short)count, .filter = code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -errno;
    return (int)kernel_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW,
                            KERNEL_PTR(&program), 0, 0, 0);
}

int retreat_user(const struct resolved *resolved)
{
    struct capability_header header = {.version = CAPABILITY_VERSION_3};
    struct capability_data none[2] = {{0}};

    if (resolved->switch_user &&
        (kernel_call(SYS_setresgid, resolved->gid, resolved->gid, resolved->gid, 0, 0, 0) < 0 ||
         kernel_call(SYS_setgroups, 0, 0, 0, 0, 0, 0) < 0 ||
         kernel_call(SYS_setresuid, resolved->uid, resolved->uid, resolved->uid, 0, 0, 0) < 0))
        return -EPERM;
    return (int)kernel_call(SYS_capset, KERNEL_PTR(&header), KERNEL_PTR(none), 0, 0, 0, 0);
}

int retreat_below(const struct resolved *resolved, pid_t supervisor, bool outlives)
{
    int r = retreat_user(resolved);

    if (r == 0 && (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
                   (!outlives && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)))
        r = -errno;
    if (r == 0 && getppid() != supervisor)
        r = -ESRCH;
    return r;
}

static void be_woken(int signum)
{
    (void)signum; /* what was waited for has been cut off, and that is all */
}

int retreat(const struct observe_setup *setup)
{
    struct sigaction woken = {.sa_handler = be_woken};
    sigset_t all;
    int r;

    /* One signal comes from the supervisor, to be looked at; a terminal's are not meant for us. */
    sigfillset(&all);
    sigdelset(&all, OBSERVE_SIGNAL);
    if (sigaction(OBSERVE_SIGNAL, &woken, NULL) != 0)
        return -errno;
    sigprocmask(SIG_SETMASK, &all, NULL);
    if (setsid() < 0 || chdir("/") != 0)
        return -errno;
    r = keep_wire(setup);
    if (r == 0)
        r = retreat_below(setup->resolved, setup->supervisor, setup->outlives);
    return r < 0 ? r : load_filter(setup->asks);
}
