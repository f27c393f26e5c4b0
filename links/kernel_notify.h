/*
 * kernel_notify.h - notifications of a system call filter, and what tells how a file is opened.
 *
 * Should:  be included through kernel_abi.h.
 */
#ifndef CONFINE_LINKS_KERNEL_NOTIFY_H
#define CONFINE_LINKS_KERNEL_NOTIFY_H

#include <stdint.h>

/* The kernel's structures, by names of our own: headers of other versions may be there as well. */
struct notify_call {
    int32_t nr;
    uint32_t arch;
    uint64_t instruction_pointer;
    uint64_t args[6];
};

struct notify_request {
    uint64_t id;
    uint32_t pid; /* the thread, as the receiver sees it; 0: it cannot be seen */
    uint32_t flags;
    struct notify_call call;
};

struct notify_answer {
    uint64_t id;
    int64_t value;
    int32_t error;
    uint32_t flags;
};

/* A descriptor for whoever waits, as the answer to its call. */
struct notify_descriptor {
    uint64_t id;
    uint32_t flags;
    uint32_t source; /* of the answering process */
    uint32_t target; /* 0: the lowest that is free */
    uint32_t target_flags;
};

#define NOTIFY_CONTINUE     1U /* flag of an answer: the call goes on as if nobody had looked */
#define NOTIFY_SYNC_WAKE_UP 1UL
#define NOTIFY_AND_ANSWER   2U /* flag of a descriptor: its number is the answer, in one step (Linux 5.14) */

/* Both architectures have the same. */
#define NOTIFY_IOCTL_RECEIVE   0xc0502100U
#define NOTIFY_IOCTL_SEND      0xc0182101U
#define NOTIFY_IOCTL_VALID     0x40082102U
#define NOTIFY_IOCTL_GIVE      0x40182103U /* a descriptor, Linux 5.9 */
#define NOTIFY_IOCTL_SET_FLAGS 0x40082104U

/* What a process descriptor says of a thread: Linux 6.13. */
#define PIDFD_OF_THREAD   0200        /* PIDFD_THREAD of pidfd_open(), Linux 6.9 */
#define PIDFD_IOCTL_WORDS 0xc040ff0bU /* PIDFD_GET_INFO */
#define PIDFD_WORDS_PID   1           /* PIDFD_INFO_PID */

struct pidfd_words {
    uint64_t mask, cgroup;
    uint32_t thread, process, parent;
    uint32_t users[8], status;
};
_Static_assert(sizeof(struct pidfd_words) == 64, "the kernel's layout");

/* Flags of open that the libc may hide. What makes O_TMPFILE, without the O_DIRECTORY that is in it as well.
 */
#define OPEN_TMPFILE_BIT 020000000

#define AT_EACCESS_FLAG 0x200

/* statfs: the mount is read-only; and file systems that are known by their number. */
#define STATFS_RDONLY    1
#define STATFS_PROC_TYPE 0x9fa0

#endif
