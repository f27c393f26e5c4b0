/*
 * confine_start.c - start the program confine from somebody else's process.
 *
 * Theory of operation. The caller has threads, handlers and children of its own, and must not notice ours: no
 * SIGCHLD, nothing for its waitpid(-1). A child with the exit signal 0 is such a one, but only until it
 * executes something: the exec makes the signal SIGCHLD again (measured; execve(2) says so). So the child
 * with exit signal 0 never executes anything. It starts the program as a child of its own and ends at once:
 * the program then belongs to process 1, or to a subreaper above us. What we hold of it is a pidfd, which can
 * be polled and signalled without being its parent. What it has to say it says by descriptors.
 *
 * Both run on our memory and our stack in the time that this thread waits (as after vfork), so the size of
 * the caller does not matter.
 *
 * Should:  leave the caller as it was: mask, descriptors, children.
 * Mustn't: call the libc between clone and exec: locks may be held, errno is the caller's, and sanitizers
 * stand in front of its functions. Mustn't let a handler of the caller's run there: all signals are blocked,
 * also those that the libc keeps for itself.
 */
#include "confine_start.h"

#include "confine.h"
#include "links/kernel_abi.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x00001000
#endif
#define END_MS   30000 /* how long it may take to be gone, told or killed */
#define ID_PIDFD 3     /* P_PIDFD, which older headers lack */

/* What the two processes get, and how far they came. */
struct spawning {
    const struct start *start;
    int program;
    int pidfd; /* of the program; -1: not there */
    int code;  /* CONFINE_E_...; CONFINE_OK: everything went well */
    int errnum;
};

/* The children's code is not looked at: it runs with the identity of a thread that waits. */
#define CHILD __attribute__((no_sanitize("address"), no_sanitize("thread"), no_sanitize("undefined")))

CHILD static void fail(struct spawning *spawning, int code, long answer)
{
    spawning->code = code;
    spawning->errnum = (int)-answer;
}

/* A clone whose child goes on right here, on our stack, with what CHILD does, and never comes back. */
CHILD __attribute__((noinline)) static long
clone_here(long flags, int *pidfd, void (*child)(struct spawning *), struct spawning *spawning)
{
    /* No function around the call: the child must not return from one that the parent has yet to return from.
     */
#if defined(__x86_64__)
    register long r10 __asm__("r10") = 0;
    register long r8 __asm__("r8") = 0;
    long answer;

    __asm__ volatile("syscall"
                     : "=a"(answer)
                     : "a"(SYS_clone), "D"(flags), "S"(0L), "d"(pidfd), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
#else
    register long x8 __asm__("x8") = SYS_clone;
    register long answer __asm__("x0") = flags;
    register long x1 __asm__("x1") = 0;
    register int *x2 __asm__("x2") = pidfd;
    register long x3 __asm__("x3") = 0;
    register long x4 __asm__("x4") = 0;

    __asm__ volatile("svc #0" : "+r"(answer) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory", "cc");
#endif
    if (answer == 0) {
        child(spawning);
        for (;;)
            kernel_call(SYS_exit_group, 1, 0, 0, 0, 0, 0);
    }
    return answer;
}

static long copy_fd(long fd, unsigned from)
{
    return kernel_call(SYS_fcntl, fd, F_DUPFD, from, 0, 0, 0);
}

/* Everything where it belongs, and nothing else. Return: 0 or -errno. */
CHILD static long place_descriptors(struct spawning *spawning)
{
    const struct start *start = spawning->start;
    unsigned count = (unsigned)start->descriptor_count;
    long r = copy_fd(spawning->program, count + 1), program = r;

    for (unsigned i = 0; i < count && r >= 0; i++)
        if (start->descriptors[i] >= 0) {
            r = copy_fd(start->descriptors[i], count + 1);
            start->descriptors[i] = (int)r;
        }
    for (unsigned i = 0; i < count && r >= 0; i++) {
        if (start->descriptors[i] >= 0)
            r = kernel_call(SYS_dup3, start->descriptors[i], i, 0, 0, 0, 0);
        else
            kernel_call(SYS_close, i, 0, 0, 0, 0, 0);
    }
    if (r >= 0)
        r = kernel_call(SYS_dup3, program, count, O_CLOEXEC, 0, 0, 0);
    return r < 0 ? r : kernel_call(SYS_close_range, count + 1, ~0U, 0, 0, 0, 0);
}

/* Signals as they are by default, none blocked: what the caller did about them is the caller's. */
CHILD static void reset_signals(void)
{
    static const uint64_t zeros[8]; /* a kernel's sigaction with SIG_DFL; an empty mask */

    for (int signum = 1; signum <= 64; signum++) /* refused for SIGKILL and SIGSTOP */
        kernel_call(SYS_rt_sigaction, signum, KERNEL_PTR(zeros), 0, 8, 0, 0);
    kernel_call(SYS_rt_sigprocmask, SIG_SETMASK, KERNEL_PTR(zeros), 0, 8, 0, 0);
}

CHILD static void be_program(struct spawning *spawning)
{
    const struct start *start = spawning->start;
    long r = start->directory > 0 ? kernel_call(SYS_fchdir, start->directory, 0, 0, 0, 0, 0) : 0;

    if (r == 0)
        r = place_descriptors(spawning);
    if (r < 0) {
        fail(spawning, CONFINE_E_SYSTEM, r);
        return;
    }
    reset_signals();
    r = kernel_call(SYS_execveat, (long)start->descriptor_count, KERNEL_PTR(""), KERNEL_PTR(start->argv),
                    KERNEL_PTR(start->envp), AT_EMPTY_PATH, 0);
    fail(spawning, CONFINE_E_PROGRAM, r);
}

CHILD static void be_between(struct spawning *spawning)
{
    /* The table of descriptors is the caller's here, so the pidfd is the caller's as well. */
    long r =
        clone_here(CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &spawning->pidfd, be_program, spawning);

    if (r < 0)
        fail(spawning, CONFINE_E_SYSTEM, r);
}

/* Runs both, with every signal blocked in this thread. */
static void run_both(struct spawning *spawning)
{
    static const uint64_t all = ~0ULL;
    uint64_t before = 0;
    long between;

    kernel_call(SYS_rt_sigprocmask, SIG_SETMASK, KERNEL_PTR(&all), KERNEL_PTR(&before), 8, 0, 0);
    between = clone_here(CLONE_VM | CLONE_VFORK | CLONE_FILES, NULL, be_between, spawning);
    if (between < 0)
        fail(spawning, CONFINE_E_SYSTEM, between);
    /* It has ended by now, and nobody else waits for a child without an exit signal. */
    while (between > 0 && kernel_call(SYS_wait4, between, 0, (long)__WCLONE, 0, 0, 0) == -EINTR)
        ;
    kernel_call(SYS_rt_sigprocmask, SIG_SETMASK, KERNEL_PTR(&before), 0, 8, 0, 0);
}

int start_program(const struct start *start, int *ret_pidfd)
{
    struct spawning spawning = {.start = start, .pidfd = -1};

    spawning.program = start->program > 0 ? start->program : open(CONFINE_PROGRAM, O_PATH | O_CLOEXEC);
    if (spawning.program < 0)
        return CONFINE_E_PROGRAM;
    run_both(&spawning);
    if (start->program <= 0)
        close(spawning.program);
    if (spawning.code == CONFINE_OK) {
        *ret_pidfd = spawning.pidfd;
        return CONFINE_OK;
    }
    if (spawning.pidfd >= 0) {
        start_wait(spawning.pidfd, -1); /* it ends without having become anything */
        close(spawning.pidfd);
    }
    errno = spawning.errnum;
    return spawning.code;
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int start_poll(int fd, int timeout_ms)
{
    struct pollfd waited = {.fd = fd, .events = POLLIN};
    int64_t until = now_ms() + timeout_ms;
    int ready;

    do {
        int64_t left = until - now_ms();

        ready = poll(&waited, 1, timeout_ms < 0 ? -1 : left > 0 ? (int)left : 0);
    } while (ready < 0 && errno == EINTR);
    return ready > 0 ? CONFINE_OK : ready == 0 ? CONFINE_E_TIMEOUT : CONFINE_E_SYSTEM;
}

int start_wait(int pidfd, int timeout_ms)
{
    int r = start_poll(pidfd, timeout_ms);
    siginfo_t info;

    if (r != CONFINE_OK)
        return r;
    /* Only a caller who is process 1, or a subreaper, has become its parent. For everybody else this is
     * ECHILD. */
    waitid((idtype_t)ID_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG);
    return CONFINE_OK;
}

void start_kill(int pidfd)
{
    kernel_call(SYS_pidfd_send_signal, pidfd, SIGKILL, 0, 0, 0, 0);
}

void start_end(int pidfd)
{
    if (start_wait(pidfd, END_MS) == CONFINE_OK)
        return;
    start_kill(pidfd);
    start_wait(pidfd, END_MS);
}
