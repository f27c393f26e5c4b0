/*
 * seccomp_rules.h - every rule of every seccomp set, as one table.
 *
 * seccomp-gen turns the table into constant filters at build time; tests and
 * manual read the same table. A set is a column: a rule belongs to the sets
 * whose bit it carries, because what another link of that chain holds already
 * need not, and often must not, be refused here as well (ptrace: LeakSanitizer
 * and gdb need it, and Landlock holds it).
 *
 * Should:  refuse by number or scalar argument only what no other link holds;
 *          answer what makes a C library fall back where it has a fallback.
 * Mustn't: decide on anything behind a pointer (the filter cannot read it), so
 *          calls whose mode or flags lie there are answered ENOSYS as a whole.
 *
 * The rules of one call stand in the order in which they are asked: the first
 * that matches answers. A rule whose group is opened (`--without`) steps aside
 * for the next one of the same call; it never allows the call by itself.
 */
#ifndef CONFINE_LINKS_SECCOMP_RULES_H
#define CONFINE_LINKS_SECCOMP_RULES_H

#include <stdint.h>

/* The newest call that the table has an opinion about (Linux 7.3). Everything above is answered ENOSYS, which
 * libraries take as "older kernel": a call that a later kernel adds does not open by itself. x32 numbers
 * (bit 30) are above it as well. */
#define SECCOMP_NEWEST_NR 470

/* A number that no kernel uses. The loaded filter answers it with an errno of this run's choice, between the
 * two bounds, which no kernel answers by itself: so it is this filter that is in force. */
#define SECCOMP_SENTINEL_NR        0x3ead
#define SECCOMP_SENTINEL_ERRNO_MIN 256
#define SECCOMP_SENTINEL_ERRNO_MAX 4000

#define SECCOMP_PATH_MAX 60 /* instructions on the longest way to a verdict */

/* What one `--without` opens. SECCOMP_GROUP_BASE cannot be opened: what it holds would undo other rules. */
enum seccomp_group {
    SECCOMP_GROUP_BASE = 0,
    SECCOMP_GROUP_NET_INET,
    SECCOMP_GROUP_NET_NETLINK,
    SECCOMP_GROUP_NET_OTHER,
    SECCOMP_GROUP_NET_FASTOPEN,
    SECCOMP_GROUP_UNIX_PATH,
    SECCOMP_GROUP_TRUNCATE,
    SECCOMP_GROUP_KERNEL_SYSCALLS,
    SECCOMP_GROUP_PRIV_USERNS,
    SECCOMP_GROUP_PRIV_SETUID,
    SECCOMP_GROUP_IPC_KEYRING,
    SECCOMP_GROUP_IPC_SYSV,
    SECCOMP_GROUP_IPC_MQUEUE,
    SECCOMP_GROUP_PROC_TRACE,
    SECCOMP_GROUP_PROC_ADJUST,
    SECCOMP_GROUP_TTY_INJECT,
    SECCOMP_GROUP_FS_METADATA,
    SECCOMP_GROUP_COUNT
};

/* The words of `--without`, by group. */
static const char *const seccomp_group_names[SECCOMP_GROUP_COUNT] = {
    [SECCOMP_GROUP_BASE] = "base",
    [SECCOMP_GROUP_NET_INET] = "net.inet",
    [SECCOMP_GROUP_NET_NETLINK] = "net.netlink",
    [SECCOMP_GROUP_NET_OTHER] = "net.other",
    [SECCOMP_GROUP_NET_FASTOPEN] = "net.fastopen",
    [SECCOMP_GROUP_UNIX_PATH] = "unix.path",
    [SECCOMP_GROUP_TRUNCATE] = "truncate",
    [SECCOMP_GROUP_KERNEL_SYSCALLS] = "kernel.syscalls",
    [SECCOMP_GROUP_PRIV_USERNS] = "priv.userns",
    [SECCOMP_GROUP_PRIV_SETUID] = "priv.setuid",
    [SECCOMP_GROUP_IPC_KEYRING] = "ipc.keyring",
    [SECCOMP_GROUP_IPC_SYSV] = "ipc.sysv",
    [SECCOMP_GROUP_IPC_MQUEUE] = "ipc.mqueue",
    [SECCOMP_GROUP_PROC_TRACE] = "proc.trace",
    [SECCOMP_GROUP_PROC_ADJUST] = "proc.adjust",
    [SECCOMP_GROUP_TTY_INJECT] = "tty.inject",
    [SECCOMP_GROUP_FS_METADATA] = "fs.metadata",
};

#ifdef SECCOMP_RULES_TABLE

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

enum seccomp_test_kind {
    SECCOMP_TEST_NONE = 0,  /* the end of the list */
    SECCOMP_TEST_BITS,      /* low half: any bit of the mask is set */
    SECCOMP_TEST_MASKED,    /* low half: and mask, equals the value */
    SECCOMP_TEST_OTHER,     /* low half: and mask, differs from the value */
    SECCOMP_TEST_HIGH_BITS, /* high half: any bit of the mask is set */
    SECCOMP_TEST_POINTER,   /* any bit of the 64 is set */
};

/* The kernel takes int, mode, command and pid from the low half of a register, so that is compared. */
struct seccomp_test {
    enum seccomp_test_kind kind;
    unsigned arg;
    uint32_t mask;
    uint32_t value;
};

/* clang-format off */
#define ALWAYS                   {SECCOMP_TEST_NONE, 0, 0, 0}
#define BITS(arg, mask)          {SECCOMP_TEST_BITS, arg, mask, 0}
#define MASKED(arg, mask, value) {SECCOMP_TEST_MASKED, arg, mask, value}
#define OTHER(arg, mask, value)  {SECCOMP_TEST_OTHER, arg, mask, value}
#define IS(arg, value)           {SECCOMP_TEST_MASKED, arg, ~0u, value}
#define NOT(arg, value)          {SECCOMP_TEST_OTHER, arg, ~0u, value}
#define HIGH_BITS(arg, mask)     {SECCOMP_TEST_HIGH_BITS, arg, mask, 0}
#define POINTER(arg)             {SECCOMP_TEST_POINTER, arg, 0, 0}
/* clang-format on */

#define SECCOMP_TESTS_MAX 8

struct seccomp_rule {
    const char *name;
    enum seccomp_group group;
    unsigned sets;                               /* SET_ bits: the columns */
    int answer;                                  /* errno; 0: success without effect */
    const char *calls;                           /* names of seccomp_calls.h, separated by one space */
    struct seccomp_test test[SECCOMP_TESTS_MAX]; /* all must hold; none: always */
};

/* LANDLOCK: chains without namespaces. NAMESPACE: what own net, ipc, pid, mount and user namespaces, and
 * mounts that cannot be written, hold is left alone. */
enum {
    SET_LANDLOCK = 1 << 0,
    SET_NAMESPACE = 1 << 1,
    SET_BOTH = SET_LANDLOCK | SET_NAMESPACE,
    SET_EVERY = 0x7fffffff,
    SET_NONE = 0
};

#define GROUP(name) (1u << SECCOMP_GROUP_##name)

/* The filters that are built. An exact one has its groups left out, and nothing of the others can be: it is a
 * quarter shorter, and taken whenever it fits. The chains' ordinary choices have one. */
struct seccomp_filter_name {
    const char *set;
    unsigned bit;
    bool exact;
    uint32_t opened; /* groups, a bit each */
};

#define NETWORK (GROUP(NET_INET) | GROUP(NET_NETLINK)) /* --network host */

static const struct seccomp_filter_name seccomp_filter_names[] = {
    {"landlock", SET_LANDLOCK, false, 0},
    {"landlock", SET_LANDLOCK, true, 0},               /* ABI 1 */
    {"landlock", SET_LANDLOCK, true, GROUP(TRUNCATE)}, /* ABI 3 */
    {"landlock", SET_LANDLOCK, true, GROUP(TRUNCATE) | NETWORK},
    {"landlock", SET_LANDLOCK, true, GROUP(TRUNCATE) | GROUP(UNIX_PATH)}, /* ABI 9 */
    {"landlock", SET_LANDLOCK, true, GROUP(TRUNCATE) | GROUP(UNIX_PATH) | NETWORK},
    {"namespace", SET_NAMESPACE, false, 0},
    {"namespace", SET_NAMESPACE, true, 0},
};

/* The sentinel's answer before it is patched. It lies above the allowed values, so a filter that was loaded
 * without the patch cannot pass for a patched one. */
#define SENTINEL_UNPATCHED 4095

/* The user and the group of whoever loads the filter, before they are patched. */
#define OWN_USER  0x7fedf00du
#define OWN_GROUP 0x7fedf00eu

#define FAMILY_UNIX    1
#define FAMILY_NETLINK 16
/* AF_INET 2 and AF_INET6 10 differ in bit 3 only. */
#define INET(arg)   MASKED(arg, ~8u, 2)
#define SOCKET_TYPE 0xf /* SOCK_CLOEXEC and SOCK_NONBLOCK stand above it */
#define SET_ID      06000
#define CREATES     0x400040   /* O_CREAT or the bit that makes O_TMPFILE: only then the mode counts */
#define NAMESPACES  0x7e020000 /* CLONE_NEW*; NEWTIME (0x80) is part of the exit signal in clone */
/* What unshare may undo without making a namespace: FS, FILES, SYSVSEM, SIGHAND, VM, THREAD. By exclusion,
 * because kernels add bits. */
#define UNSHARE_OTHER ~0x00050f00u
/* ADDR_NO_RANDOMIZE (gdb, sanitizers, setarch -R), UNAME26 and PER_LINUX32 stay; READ_IMPLIES_EXEC and
 * MMAP_PAGE_ZERO weaken the process. */
#define PERSONALITIES ~0x00060008u

#define RULE(name, group, sets, answer, calls, ...)                                                          \
    {name, SECCOMP_GROUP_##group, SET_##sets, answer, calls, {__VA_ARGS__}},

/* clang-format off */
static const struct seccomp_rule seccomp_rules[] = {
    /* -- base: what would undo the other rules; in every set, never opened */
    RULE("foreign-arch", BASE, EVERY, ENOSYS, "@foreign", ALWAYS)
    RULE("sentinel", BASE, EVERY, SENTINEL_UNPATCHED, "@sentinel", ALWAYS)
    RULE("newer-numbers", BASE, EVERY, ENOSYS, "@newer", ALWAYS)
    RULE("unassigned-numbers", BASE, EVERY, ENOSYS, "@unassigned", ALWAYS)
    /* Its flags and mode are behind a pointer: O_TRUNC and set-id bits would pass. */
    RULE("openat2", BASE, EVERY, ENOSYS, "openat2", ALWAYS)
    /* A ring makes sockets and opens files without a system call that a filter sees. */
    RULE("io-uring", BASE, EVERY, ENOSYS, "io_uring_setup io_uring_enter io_uring_register", ALWAYS)
    /* File systems that make, copy and remove whole trees behind a directory that was opened for reading, past
     * every Landlock right. ENOTTY is what all others answer. btrfs: */
    RULE("btrfs-snapshot", BASE, EVERY, ENOTTY, "ioctl", MASKED(1, 0xffff, 0x9401))
    RULE("btrfs-snapshot-2", BASE, EVERY, ENOTTY, "ioctl", MASKED(1, 0xffff, 0x9417))
    RULE("btrfs-subvolume-2", BASE, EVERY, ENOTTY, "ioctl", MASKED(1, 0xffff, 0x9418))
    RULE("btrfs-destroy-2", BASE, EVERY, ENOTTY, "ioctl", MASKED(1, 0xffff, 0x943f))
    RULE("btrfs-subvolume", BASE, EVERY, ENOTTY, "ioctl", MASKED(1, 0xfffe, 0x940e)) /* create, destroy */
    RULE("bcachefs-subvolume", BASE, EVERY, ENOTTY, "ioctl", MASKED(1, 0xfffe, 0xbc10)) /* create, destroy */
    RULE("ocfs2-reflink", BASE, EVERY, ENOTTY, "ioctl", IS(1, 0x40186f04))

    /* -- network */
    RULE("unix-socket", UNIX_PATH, LANDLOCK, EPERM, "socket", IS(0, FAMILY_UNIX))
    /* A datagram socket of a pair is not bound to its other end: it can be connected, or sent on, to any name. */
    RULE("unix-pair", UNIX_PATH, LANDLOCK, EPERM,
         "socketpair", IS(0, FAMILY_UNIX), OTHER(1, SOCKET_TYPE, 1), OTHER(1, SOCKET_TYPE, 5))
    RULE("netlink-socket", NET_NETLINK, LANDLOCK, EPERM, "socket socketpair", IS(0, FAMILY_NETLINK))
    /* Interfaces and addresses are asked by the protocol 0; none of the others is needed for that. */
    RULE("netlink-protocol", NET_NETLINK, NAMESPACE, EPERM, "socket socketpair", IS(0, FAMILY_NETLINK), NOT(2, 0))
    RULE("other-family", NET_OTHER, BOTH, EPERM,
         "socket socketpair", NOT(0, FAMILY_UNIX), NOT(0, 2), NOT(0, 10), NOT(0, FAMILY_NETLINK))
    RULE("inet-socket", NET_INET, LANDLOCK, EPERM, "socket socketpair", INET(0))
    /* Families that carry their data by TCP or UDP of the kernel's own: opening `net.other` must not open these. */
    RULE("inet-by-rds", NET_INET, LANDLOCK, EPERM, "socket socketpair", IS(0, 21))
    RULE("inet-by-rxrpc", NET_INET, LANDLOCK, EPERM, "socket socketpair", IS(0, 33))
    RULE("inet-by-smc", NET_INET, LANDLOCK, EPERM, "socket socketpair", IS(0, 43))
    /* Where INET is open: streams and datagrams only (no RAW, PACKET, SEQPACKET, DCCP) ... */
    RULE("inet-type", NET_OTHER, BOTH, EPERM,
         "socket socketpair", INET(0), OTHER(1, SOCKET_TYPE, 1), OTHER(1, SOCKET_TYPE, 2))
    /* ... and default, TCP, UDP, ICMP, ICMPv6, MPTCP only (no SCTP, UDPLITE, SMC). */
    RULE("inet-protocol", NET_OTHER, BOTH, EPERM,
         "socket socketpair", INET(0), NOT(2, 0), NOT(2, 6), NOT(2, 17), NOT(2, 1), NOT(2, 58), NOT(2, 262))
    /* Only where Landlock's TCP rights hold the network: TCP Fast Open connects in the middle of a send. */
    RULE("fastopen", NET_FASTOPEN, NONE, EPERM, "sendto sendmmsg", BITS(3, 0x20000000))
    RULE("fastopen-message", NET_FASTOPEN, NONE, EPERM, "sendmsg", BITS(2, 0x20000000))

    /* -- truncate: the holes of Landlock below ABI 3 */
    RULE("truncate", TRUNCATE, LANDLOCK, EPERM, "truncate", ALWAYS)
    /* Access mode 0 needs only the right to read, and truncates. */
    RULE("truncate-open", TRUNCATE, LANDLOCK, EPERM, "open", MASKED(1, 01003, 01000))
    RULE("truncate-openat", TRUNCATE, LANDLOCK, EPERM, "openat", MASKED(2, 01003, 01000))
    /* Access mode 3, neither reading nor writing: Landlock asks for no right at all, and the kernel opens any
     * device node for its ioctls (held from ABI 5 on, but not the opening itself). It truncates as well. Base, but
     * asked here: the bits are among those that stand in the accumulator. */
    RULE("open-neither", BASE, EVERY, EACCES, "open", MASKED(1, 3, 3))
    RULE("openat-neither", BASE, EVERY, EACCES, "openat", MASKED(2, 3, 3))

    /* -- privilege */
    RULE("set-id-open", PRIV_SETUID, BOTH, EPERM, "open", BITS(1, CREATES), BITS(2, SET_ID))
    RULE("set-id-openat", PRIV_SETUID, BOTH, EPERM, "openat", BITS(2, CREATES), BITS(3, SET_ID))
    RULE("set-id-make", PRIV_SETUID, BOTH, EPERM, "creat mkdir mknod", BITS(1, SET_ID))
    RULE("set-id-make-at", PRIV_SETUID, BOTH, EPERM, "mkdirat mknodat", BITS(2, SET_ID))
    RULE("set-id-chmod", PRIV_SETUID, BOTH, EPERM, "chmod fchmod", BITS(1, SET_ID))
    RULE("set-id-chmod-at", PRIV_SETUID, BOTH, EPERM, "fchmodat fchmodat2", BITS(2, SET_ID))
    RULE("clone-namespace", PRIV_USERNS, BOTH, EPERM, "clone", BITS(0, NAMESPACES))
    /* Flags behind a pointer. ENOSYS, never EPERM: C libraries fall back to clone on ENOSYS only. */
    RULE("clone3", PRIV_USERNS, BOTH, ENOSYS, "clone3", ALWAYS)
    RULE("unshare", PRIV_USERNS, BOTH, EPERM, "unshare", BITS(0, UNSHARE_OTHER))
    RULE("unshare-high", PRIV_USERNS, BOTH, EPERM, "unshare", HIGH_BITS(0, ~0u))
    RULE("setns", PRIV_USERNS, BOTH, EPERM, "setns", ALWAYS)
    /* Ids that the user namespace does not have: the kernel says EINVAL, and outside it says EPERM, on which
     * fakeroot and whatever unpacks as an ordinary user go on. A namespace inside has other ids. */
    RULE("owner-user", PRIV_USERNS, NAMESPACE, EPERM, "chown lchown fchown", NOT(1, ~0u), NOT(1, OWN_USER))
    RULE("owner-group", PRIV_USERNS, NAMESPACE, EPERM, "chown lchown fchown", NOT(2, ~0u), NOT(2, OWN_GROUP))
    RULE("owner-user-at", PRIV_USERNS, NAMESPACE, EPERM, "fchownat", NOT(2, ~0u), NOT(2, OWN_USER))
    RULE("owner-group-at", PRIV_USERNS, NAMESPACE, EPERM, "fchownat", NOT(3, ~0u), NOT(3, OWN_GROUP))

    /* -- inter-process communication: Landlock has no rights for these */
    RULE("keyring", IPC_KEYRING, BOTH, EPERM, "add_key request_key keyctl", ALWAYS)
    RULE("sysv-memory", IPC_SYSV, LANDLOCK, EPERM, "shmget shmat shmctl shmdt", ALWAYS)
    RULE("sysv-semaphore", IPC_SYSV, LANDLOCK, EPERM, "semget semop semtimedop semctl", ALWAYS)
    RULE("sysv-message", IPC_SYSV, LANDLOCK, EPERM, "msgget msgsnd msgrcv msgctl", ALWAYS)
    RULE("posix-queue", IPC_MQUEUE, LANDLOCK, EPERM,
         "mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr", ALWAYS)

    /* -- other processes */
    /* Held by Landlock or a pid namespace wherever there is one; LeakSanitizer and gdb need them inside. */
    RULE("trace", PROC_TRACE, NONE, EPERM,
         "ptrace process_vm_readv process_vm_writev pidfd_getfd kcmp process_madvise", ALWAYS)
    /* RLIMIT_CPU kills. Reading (no new limit) stays. */
    RULE("prlimit-other", PROC_ADJUST, LANDLOCK, EPERM, "prlimit64", NOT(0, 0), POINTER(2))
    /* C libraries name the own thread by its number, which a filter cannot tell from another's: success
     * without effect keeps OpenMP, numpy and the JVM alive and touches nobody. */
    RULE("scheduler-other", PROC_ADJUST, LANDLOCK, 0,
         "sched_setaffinity sched_setscheduler sched_setparam sched_setattr", NOT(0, 0))
    RULE("priority-other", PROC_ADJUST, LANDLOCK, 0, "setpriority", IS(0, 0), NOT(1, 0))
    RULE("priority-group", PROC_ADJUST, LANDLOCK, EPERM, "setpriority", IS(0, 1), NOT(1, 0))
    RULE("priority-user", PROC_ADJUST, LANDLOCK, EPERM, "setpriority", NOT(0, 0), NOT(0, 1))
    RULE("ioprio-other", PROC_ADJUST, LANDLOCK, 0, "ioprio_set", IS(0, 1), NOT(1, 0))
    RULE("ioprio-group", PROC_ADJUST, LANDLOCK, EPERM, "ioprio_set", IS(0, 2), NOT(1, 0))
    RULE("ioprio-user", PROC_ADJUST, LANDLOCK, EPERM, "ioprio_set", NOT(0, 1), NOT(0, 2))
    RULE("pages-other", PROC_ADJUST, LANDLOCK, EPERM, "migrate_pages move_pages", NOT(0, 0))
    RULE("release-other", PROC_ADJUST, LANDLOCK, EPERM, "process_mrelease", ALWAYS)

    /* -- terminal: the kernel looks at 32 bits of the command, and so does the rule */
    RULE("tty-sti", TTY_INJECT, BOTH, EPERM, "ioctl", IS(1, 0x5412))
    RULE("tty-linux", TTY_INJECT, BOTH, EPERM, "ioctl", IS(1, 0x541c))
    RULE("tty-console", TTY_INJECT, BOTH, EPERM, "ioctl", IS(1, 0x541d))

    /* -- kernel surface */
    RULE("mount", KERNEL_SYSCALLS, LANDLOCK, EPERM, "mount umount2 pivot_root chroot", ALWAYS)
    RULE("mount-new", KERNEL_SYSCALLS, LANDLOCK, ENOSYS,
         "open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr open_tree_attr listns", ALWAYS)
    /* The same where mounts hold the files: a sandbox inside needs both, namespaces and mounts. */
    RULE("mount-inside", PRIV_USERNS, NAMESPACE, EPERM, "mount umount2 pivot_root chroot", ALWAYS)
    RULE("mount-new-inside", PRIV_USERNS, NAMESPACE, ENOSYS,
         "open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr open_tree_attr listns", ALWAYS)
    RULE("kernel-code", KERNEL_SYSCALLS, BOTH, EPERM,
         "bpf kexec_load kexec_file_load init_module finit_module delete_module create_module "
         "get_kernel_syms query_module", ALWAYS)
    RULE("kernel-watch", KERNEL_SYSCALLS, BOTH, EPERM,
         "userfaultfd perf_event_open syslog fanotify_init lookup_dcookie", ALWAYS)
    RULE("handle-open", KERNEL_SYSCALLS, BOTH, EPERM, "open_by_handle_at", ALWAYS)
    /* What many file systems answer, so every caller is ready for it. */
    RULE("handle-name", KERNEL_SYSCALLS, BOTH, EOPNOTSUPP, "name_to_handle_at", ALWAYS)
    RULE("machine", KERNEL_SYSCALLS, BOTH, EPERM,
         "reboot acct quotactl quotactl_fd swapon swapoff sethostname setdomainname "
         "settimeofday clock_settime vhangup nfsservctl uselib", ALWAYS)
    RULE("processor", KERNEL_SYSCALLS, BOTH, EPERM, "iopl ioperm modify_ldt", ALWAYS)
    RULE("personality", KERNEL_SYSCALLS, BOTH, EPERM, "personality", BITS(0, PERSONALITIES), NOT(0, ~0u))

    /* -- metadata: the calls that nothing needs yet; a libc falls back to the older ones
     */
    RULE("metadata-new", FS_METADATA, BOTH, ENOSYS, "setxattrat removexattrat file_setattr", ALWAYS)
};
/* clang-format on */

#undef RULE

#endif /* SECCOMP_RULES_TABLE */

#endif
