/*
 * small.h - what a process of ours that stays inside a run makes of itself.
 *
 * It has the command's uid and is its best target: nothing of the policy is in its memory, and a handful of
 * calls is all that it can do.
 */
#ifndef CONFINE_LINKS_SMALL_H
#define CONFINE_LINKS_SMALL_H

#include "kernel_abi.h"

#include <stddef.h>

/* Leaves no word of the policy in the memory that /proc/PID/cmdline shows. */
static inline void wipe_strings(char **strings)
{
    for (; strings && *strings; strings++) {
        volatile char *c = *strings;

        while (*c)
            *c++ = '\0';
    }
}

/* A filter: FEW_CALLS_BEGIN, a FEW_CALLS_ALLOW(NUMBER) for each call, and FEW_CALLS_END, by which any other
 * one, and one of another machine's, ends the process. */
#define FEW_CALLS_BEGIN                                                                                      \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),                                 \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, KERNEL_AUDIT_ARCH, 1, 0),                                        \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),                                                 \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define FEW_CALLS_ALLOW(NUMBER)                                                                              \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (NUMBER), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define FEW_CALLS_END BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

/* few_calls_load() - put the filter into force. Return: 0 or -errno, as the kernel says. */
static inline int few_calls_load(struct sock_filter *code, size_t count)
{
    struct sock_fprog program = {.len = (unsigned short)count, .filter = code};

    return (int)kernel_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, KERNEL_PTR(&program), 0, 0, 0);
}

#endif
