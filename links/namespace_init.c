/*
 * namespace_init.c - pid 1 of the new process namespace: nothing but its end matters.
 *
 * The kernel kills every process of the namespace when pid 1 ends. It stands
 * inside with the command's uid and is its best target, so there is nothing
 * to gain: no capability, no descriptor but those whose end it waits for, no
 * word of the policy in its memory's argv, a filter of a few calls.
 *
 * Should:  end when the supervisor or the process outside has ended.
 * Mustn't: exec, or keep anything alive but itself.
 */
#include "capability.h"
#include "namespace.h"
#include "small.h"

#include <poll.h>

#define DNS_HEADER       12
#define DNS_ANSWER       0x80 /* in its third byte */
#define DNS_RECURSES     0x80 /* in its fourth */
#define DNS_NO_SUCH_NAME 3

#define INIT_REFUSED 300 /* what the filter answers to one call, and nothing else does */

/* Return: whether the filter is there, as it shows by one call. */
static bool load_filter(void)
{
    struct sock_filter code[] = {
        FEW_CALLS_BEGIN,
        FEW_CALLS_ALLOW(SYS_ppoll),
        FEW_CALLS_ALLOW(SYS_write),
        FEW_CALLS_ALLOW(SYS_recvfrom),
        FEW_CALLS_ALLOW(SYS_sendto),
        FEW_CALLS_ALLOW(SYS_exit_group),
        FEW_CALLS_ALLOW(SYS_restart_syscall),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | INIT_REFUSED),
        FEW_CALLS_END,
    };

    return few_calls_load(code, sizeof(code) / sizeof(code[0])) == 0 &&
           kernel_call(SYS_getpid, 0, 0, 0, 0, 0, 0) == -INIT_REFUSED;
}

/*
 * namespace_keep() - close every descriptor but some.
 * @keep:  those; sorted here. A negative one is none
 * @count: how many they are
 *
 * Return: whether the others are closed, as far as one of them shows.
 */
bool namespace_keep(int keep[], size_t count)
{
    long next = 0, error = 0;

    for (size_t i = 1; i < count; i++)
        for (size_t j = i; j > 0 && keep[j - 1] > keep[j]; j--) {
            int other = keep[j];

            keep[j] = keep[j - 1];
            keep[j - 1] = other;
        }
    for (size_t i = 0; i < count; i++) {
        if (keep[i] < 0)
            continue;
        if (keep[i] > next)
            error |= kernel_call(SYS_close_range, next, keep[i] - 1, 0, 0, 0, 0);
        next = keep[i] + 1;
    }
    error |= kernel_call(SYS_close_range, next, 0xffffffffL, 0, 0, 0, 0);
    return error == 0 && (keep[0] == 0 || fcntl(0, F_GETFD) < 0);
}

/* Answers one question about a name: there is no such name. The header is all that is looked at; behind it
 * the question goes back as it came. */
static void answer_nameless(int fd)
{
    uint8_t packet[512] = {0}, peer[128];
    uint32_t length = sizeof(peer);
    long size = kernel_call(SYS_recvfrom, fd, KERNEL_PTR(packet), sizeof(packet), 0, KERNEL_PTR(peer),
                            KERNEL_PTR(&length));

    if (size < DNS_HEADER || (packet[2] & DNS_ANSWER))
        return;
    packet[2] |= DNS_ANSWER;
    packet[3] = DNS_RECURSES | DNS_NO_SUCH_NAME;
    kernel_call(SYS_sendto, fd, KERNEL_PTR(packet), size, 0, KERNEL_PTR(peer), length);
}

/*
 * namespace_init() - the life of pid 1; a fork of the process outside.
 * @outer: one end of a socket pair whose other end that process alone has; -1: it is the init of a session,
 * and nothing but the liveness keeps it
 *
 * All signals are blocked already. Any doubt ends it, and the namespace with it.
 */
_Noreturn void namespace_init(const struct namespace *ns, int outer)
{
    const struct capability_data nothing[2] = {{0}, {0}};
    struct pollfd ends[3] = {{.fd = outer}, /* POLLHUP needs not be asked for */
                             {.fd = ns->liveness},
                             {.fd = ns->nameless, .events = POLLIN}};
    struct capability_data seen[2];
    const char ready = NAMESPACE_READY;
    int keep[] = {outer, ns->liveness, ns->nameless};

    if (kernel_call(SYS_getpid, 0, 0, 0, 0, 0, 0) != 1)
        chain_fatal(ns->chain, "process namespace", "the kernel reported success but it is not there");
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
        prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_SET_NAME, "confine-init", 0, 0, 0) != 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || setsid() < 0 || getsid(0) != 1 || chdir("/") != 0 ||
        signal(SIGCHLD, SIG_IGN) == SIG_ERR || capability_set(nothing) != 0 || capability_get(seen) != 0 ||
        seen[0].permitted || seen[1].permitted)
        kernel_call(SYS_exit_group, LINK_FAILED, 0, 0, 0, 0, 0);
    wipe_strings(ns->chain->words);
    wipe_strings(ns->chain->envp);
    if (!namespace_keep(keep, 3) || !load_filter() ||
        kernel_call(SYS_write, outer >= 0 ? outer : ns->liveness, KERNEL_PTR(&ready), 1, 0, 0, 0) != 1)
        kernel_call(SYS_exit_group, LINK_FAILED, 0, 0, 0, 0, 0);
    for (;;) {
        long told = kernel_call(SYS_ppoll, KERNEL_PTR(ends), 3, 0, 0, 0, 0);

        if (told != -EINTR && (told < 0 || ends[0].revents || ends[1].revents))
            kernel_call(SYS_exit_group, 0, 0, 0, 0, 0, 0);
        if (told > 0 && ends[2].revents)
            answer_nameless(ns->nameless);
    }
}
