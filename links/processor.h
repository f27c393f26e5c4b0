/* processor.h - where a process begins. */
#ifndef CONFINE_LINKS_PROCESSOR_H
#define CONFINE_LINKS_PROCESSOR_H

#include "kernel_abi.h"

#include <string.h>
#include <sys/types.h>

#define PROCESSOR_WORDS 16 /* 1,024 processors; with more of them the kernel has the word alone */

/*
 * processor_move_away() - let a child that has just been started begin on another processor than this one.
 * @pid: the child; it may run where it could before, and it is no fault where there is no other processor
 *
 * Kernels that pack tasks, of virtual machines above all, leave a new process on its parent's processor while
 * another one is idle: what was to be done beside waits there until the parent does.
 */
static inline void processor_move_away(pid_t pid)
{
    const long bits = 8 * sizeof(unsigned long);
    unsigned long all[PROCESSOR_WORDS] = {0}, others[PROCESSOR_WORDS];
    unsigned here = 0;
    long size = kernel_call(SYS_sched_getaffinity, 0, sizeof(all), KERNEL_PTR(all), 0, 0, 0);

    if (size <= 0 || size > (long)sizeof(all) ||
        kernel_call(SYS_getcpu, KERNEL_PTR(&here), 0, 0, 0, 0, 0) != 0 || here >= 8 * size)
        return;
    memcpy(others, all, sizeof(all));
    others[here / bits] &= ~(1UL << here % bits);
    if (kernel_call(SYS_sched_setaffinity, pid, size, KERNEL_PTR(others), 0, 0, 0) == 0)
        kernel_call(SYS_sched_setaffinity, pid, size, KERNEL_PTR(all), 0, 0, 0);
}

#endif
