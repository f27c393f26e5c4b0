/*
 * borrower.c - a child on our memory, until it executes something or ends.
 *
 * vfork() promises that, but libcs keep it as they like: musl 1.2.3 has it on x86-64, and on arm64 it is a
 * fork, so that what the child stores is lost without a word. What a probe or a control found out would be.
 *
 * Should:  need nothing of its frame behind the call but the answer.
 * Mustn't: be inlined: a child may not return from a frame that the parent goes on in.
 */
#include "kernel/borrower.h"

#include "links/kernel_abi.h"

#include <sched.h>
#include <signal.h>

__attribute__((noinline)) pid_t borrower_start(void (*work)(void *data), void *data)
{
    long pid = kernel_call(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0, 0);

    if (pid == 0) {
        work(data);
        for (;;)
            kernel_call(SYS_exit_group, 1, 0, 0, 0, 0, 0);
    }
    return (pid_t)pid;
}
