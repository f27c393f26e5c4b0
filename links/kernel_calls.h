/*
 * kernel_calls.h - raw system calls, and the numbers that a libc may lack.
 *
 * Should:  be included through kernel_abi.h.
 * Mustn't: touch errno: a child that shares our memory calls this too.
 */
#ifndef CONFINE_LINKS_KERNEL_CALLS_H
#define CONFINE_LINKS_KERNEL_CALLS_H

#include <stdint.h>
#include <sys/syscall.h>

/* --- raw calls ---------------------------------------------------------------------------------------- */

/* kernel_call() - one system call. Return: the kernel's answer, -errno on failure. errno is not touched.
 *
 * Inlined also where nothing is optimized: a child on our stack may not return from a frame that we go on
 * in. */
#define KERNEL_CALL static inline __attribute__((always_inline))
#if defined(__x86_64__) && !defined(__ILP32__)
#define KERNEL_AUDIT_ARCH AUDIT_ARCH_X86_64
KERNEL_CALL long kernel_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long answer;

    __asm__ volatile("syscall"
                     : "=a"(answer)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return answer;
}
#elif defined(__aarch64__) && !defined(__ILP32__)
#define KERNEL_AUDIT_ARCH AUDIT_ARCH_AARCH64
KERNEL_CALL long kernel_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;

    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory", "cc");
    return x0;
}
#else
#error "only x86-64 and aarch64 Linux are known here"
#endif

#define KERNEL_PTR(POINTER) ((long)(uintptr_t)(POINTER))

/* --- system call numbers that a libc may lack; the same on both architectures --------------------------- */

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_open_tree
#define SYS_open_tree 428
#endif
#ifndef SYS_move_mount
#define SYS_move_mount 429
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd 443
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule       445
#define SYS_landlock_restrict_self  446
#endif
#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif
#ifndef SYS_process_mrelease
#define SYS_process_mrelease 448
#endif
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#ifndef SYS_set_mempolicy_home_node
#define SYS_set_mempolicy_home_node 450
#endif
#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_map_shadow_stack
#define SYS_map_shadow_stack 453
#endif
#ifndef SYS_futex_wake
#define SYS_futex_wake    454
#define SYS_futex_wait    455
#define SYS_futex_requeue 456
#endif
#ifndef SYS_statmount
#define SYS_statmount 457
#define SYS_listmount 458
#endif
#ifndef SYS_lsm_get_self_attr
#define SYS_lsm_get_self_attr 459
#define SYS_lsm_set_self_attr 460
#define SYS_lsm_list_modules  461
#endif
#ifndef SYS_mseal
#define SYS_mseal 462
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat    463
#define SYS_getxattrat    464
#define SYS_listxattrat   465
#define SYS_removexattrat 466
#endif
#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif
#ifndef SYS_file_getattr
#define SYS_file_getattr 468
#define SYS_file_setattr 469
#endif
#ifndef SYS_listns
#define SYS_listns 470
#endif
#ifndef SYS_rseq_slice_yield
#define SYS_rseq_slice_yield 471
#endif
#ifndef SYS_fchroot
#define SYS_fchroot 472
#endif

#endif
