/*
 * rules.c - every rule and every call of it, in the kernel, three ways.
 *
 * A witness filter in front answers exactly the call of the case with an errno
 * that nobody else uses. So the call never happens, for any user, not even
 * reboot as root, and its answer says whether it got past our filter:
 *   without the filter   the witness answers: the case really makes that call;
 *   with the filter      the rule's answer: the filter loaded last is heard;
 *   with a filter that was generated without the rule    the witness again.
 * Cases without a rule are the neighbours that must get through. Each case is
 * tried in every filter of every set; where the set lacks the rule, the table
 * says what comes out.
 *
 * Should:  have a case for every call of every rule (a test of its own).
 */
#include "filter.h"

#define WITNESS 250 /* no kernel's, and small enough for an exit status (act arm32) */

struct row {
    const char *name;
    const char *rule; /* NULL: must get through */
    const char *call; /* of seccomp_calls; "@..." takes its number from nr */
    uint64_t args[6];
    const char *without; /* groups that are opened, separated by a space */
    const char *entry;   /* native when NULL; x32, i386, arm32 */
    uint32_t nr;
    unsigned sets; /* where the case stands; 0: in every set that has the rule */
};

#define EMPTY 7 /* an argument that no rule looks at */

/* A rule that asks for nothing but the number. */
#define CALL(RULE, NAME)                                                                                     \
    {                                                                                                        \
        RULE ": " NAME, RULE, NAME, {EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY}, NULL, NULL, 0, 0             \
    }
#define HIT(RULE, NAME, TEXT, ...)                                                                           \
    {                                                                                                        \
        RULE ": " NAME " " TEXT, RULE, NAME, {__VA_ARGS__}, NULL, NULL, 0, 0                                 \
    }
#define OPEN_HIT(RULE, NAME, TEXT, OPEN, ...)                                                                \
    {                                                                                                        \
        RULE ": " NAME " " TEXT, RULE, NAME, {__VA_ARGS__}, OPEN, NULL, 0, 0                                 \
    }
#define PASS(NAME, TEXT, ...)                                                                                \
    {                                                                                                        \
        "passes: " NAME " " TEXT, NULL, NAME, {__VA_ARGS__}, NULL, NULL, 0, 0                                \
    }
#define OPEN_PASS(NAME, TEXT, OPEN, ...)                                                                     \
    {                                                                                                        \
        "passes: " NAME " " TEXT, NULL, NAME, {__VA_ARGS__}, OPEN, NULL, 0, 0                                \
    }
/* In one set only. */
#define HIT_IN(SET, RULE, NAME, TEXT, ...)                                                                   \
    {                                                                                                        \
        RULE ": " NAME " " TEXT ", " #SET, RULE, NAME, {__VA_ARGS__}, NULL, NULL, 0, SET_##SET               \
    }
#define PASS_IN(SET, NAME, TEXT, OPEN, ...)                                                                  \
    {                                                                                                        \
        "passes: " NAME " " TEXT ", " #SET, NULL, NAME, {__VA_ARGS__}, OPEN, NULL, 0, SET_##SET              \
    }
#define NUMBER(RULE, TEXT, ENTRY, NR)                                                                        \
    {                                                                                                        \
        RULE ": " TEXT, RULE, "@", {EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY}, NULL, ENTRY, NR, 0            \
    }

/* clang-format off */
static const struct row rows[] = {
#if defined(__x86_64__)
    NUMBER("foreign-arch", "mkdir by int 0x80", "i386", 39),
    NUMBER("foreign-arch", "socketcall by int 0x80", "i386", 102),
    NUMBER("newer-numbers", "x32 read", "x32", 0),
    NUMBER("newer-numbers", "x32 socket", "x32", 41),
    NUMBER("newer-numbers", "x32 execve", "x32", 520),
    NUMBER("unassigned-numbers", "first", NULL, 337),
#else
    NUMBER("foreign-arch", "connect of 32 bits", "arm32", 283),
    NUMBER("foreign-arch", "socket of 32 bits", "arm32", 281),
    NUMBER("unassigned-numbers", "first", NULL, 295),
#endif
    NUMBER("unassigned-numbers", "last", NULL, 423),
    NUMBER("newer-numbers", "the next call", NULL, SECCOMP_NEWEST_NR + 1),
    NUMBER("newer-numbers", "below the sentinel", NULL, SECCOMP_SENTINEL_NR - 1),
    NUMBER("newer-numbers", "above the sentinel", NULL, SECCOMP_SENTINEL_NR + 1),
    NUMBER("newer-numbers", "the last number", NULL, 0xfffffffe),
    NUMBER("sentinel", "the unused call", NULL, SECCOMP_SENTINEL_NR),
    CALL("openat2", "openat2"),
    CALL("io-uring", "io_uring_setup"), CALL("io-uring", "io_uring_enter"), CALL("io-uring", "io_uring_register"),

    HIT("unix-socket", "socket", "stream", 1, 1),
    HIT("unix-socket", "socket", "dirt above 32 bits", 1 | 1ull << 32, 2),
    PASS("socketpair", "AF_UNIX", 1, 1),
    OPEN_PASS("socket", "AF_UNIX when opened", "unix.path", 1, 1),
    OPEN_HIT("other-family", "socket", "AF_ALG with unix.path open", "unix.path", 38, 5),
    HIT("netlink-socket", "socket", "route", 16, 3, 0),
    HIT("unix-pair", "socketpair", "DGRAM", 1, 2), HIT("unix-pair", "socketpair", "RAW", 1, 3),
    PASS("socketpair", "AF_UNIX SEQPACKET", 1, 5),
    HIT("netlink-socket", "socketpair", "route", 16, 3, 0),
    OPEN_PASS("socket", "AF_NETLINK when opened", "net.netlink", 16, 3, 0),
    HIT("other-family", "socket", "AF_PACKET", 17, 3), HIT("other-family", "socket", "AF_VSOCK", 40, 1),
    HIT("other-family", "socket", "AF_ALG", 38, 5), HIT("other-family", "socket", "AF_TIPC", 30, 5),
    OPEN_HIT("inet-by-smc", "socket", "with net.other open", "net.other", 43, 1),
    OPEN_HIT("inet-by-rds", "socket", "with net.other open", "net.other", 21, 5),
    OPEN_HIT("inet-by-rxrpc", "socket", "with net.other open", "net.other", 33, 2),
    OPEN_HIT("inet-by-smc", "socketpair", "with net.other open", "net.other", 43, 1),
    OPEN_HIT("inet-by-rds", "socketpair", "with net.other open", "net.other", 21, 5),
    OPEN_HIT("inet-by-rxrpc", "socketpair", "with net.other open", "net.other", 33, 2),
    OPEN_PASS("socket", "AF_SMC when both are opened", "net.inet net.other", 43, 1),
    HIT("other-family", "socket", "AF_UNSPEC", 0, 1), HIT("other-family", "socketpair", "AF_TIPC", 30, 5),
    HIT("inet-socket", "socket", "AF_INET", 2, 1), HIT("inet-socket", "socket", "AF_INET6", 10, 2),
    HIT("inet-socket", "socketpair", "AF_INET", 2, 1),
    OPEN_PASS("socket", "TCP when opened", "net.inet", 2, 1, 6),
    OPEN_PASS("socket", "UDP on v6, flags", "net.inet", 10, 02004002, 17),
    OPEN_PASS("socket", "MPTCP when opened", "net.inet", 2, 1, 262),
    OPEN_PASS("socket", "ICMP echo", "net.inet", 2, 2, 1),
    OPEN_PASS("socket", "ICMPv6 echo", "net.inet", 10, 2, 58),
    OPEN_HIT("inet-type", "socket", "RAW", "net.inet", 2, 3, 1),
    OPEN_HIT("inet-type", "socket", "RAW on v6, flags", "net.inet", 10, 02000003, 58),
    OPEN_HIT("inet-type", "socket", "PACKET", "net.inet", 2, 10, 0),
    OPEN_HIT("inet-type", "socket", "DCCP", "net.inet", 2, 6, 0),
    OPEN_HIT("inet-type", "socket", "SEQPACKET", "net.inet", 2, 5, 0),
    OPEN_HIT("inet-type", "socket", "none", "net.inet", 2, 0, 0),
    OPEN_HIT("inet-type", "socketpair", "RAW", "net.inet", 2, 3, 0),
    OPEN_HIT("inet-protocol", "socket", "SCTP", "net.inet", 2, 1, 132),
    OPEN_HIT("inet-protocol", "socket", "SMC", "net.inet", 2, 1, 256),
    OPEN_HIT("inet-protocol", "socket", "UDPLITE", "net.inet", 10, 2, 136),
    OPEN_HIT("inet-protocol", "socketpair", "SCTP", "net.inet", 2, 1, 132),
    OPEN_PASS("socket", "SCTP when both are opened", "net.inet net.other", 2, 1, 132),
    HIT("fastopen", "sendto", "", 7, 7, 7, 0x20004000), HIT("fastopen", "sendmmsg", "", 7, 7, 7, 0x20000000),
    HIT("fastopen-message", "sendmsg", "", 7, 7, 0x20000000),
    PASS("sendto", "without it", 7, 7, 7, 0x4000),

    CALL("truncate", "truncate"),
    HIT("truncate-openat", "openat", "read-only", 7, 7, 01000),
    HIT("truncate-openat", "openat", "read-only, O_CREAT", 7, 7, 01100, 0644),
    HIT("openat-neither", "openat", "", 7, 7, 3), HIT("openat-neither", "openat", "truncating", 7, 7, 01003),
    HIT("openat-neither", "openat", "flags and dirt", 7, 7, 02004003 | 1ull << 32),
    OPEN_HIT("openat-neither", "openat", "with truncate open", "truncate", 7, 7, 01003),
    PASS("openat", "O_TRUNC for writing", 7, 7, 01101, 0644), PASS("openat", "O_TRUNC for both", 7, 7, 01002),
    OPEN_PASS("openat", "O_TRUNC read-only when opened", "truncate", 7, 7, 01000),
    OPEN_HIT("set-id-openat", "openat", "with truncate open", "truncate", 7, 7, 01100, 04755),
#if defined(__x86_64__)
    HIT("truncate-open", "open", "read-only", 7, 01000), HIT("open-neither", "open", "", 7, 3),
    HIT("open-neither", "open", "truncating", 7, 01003), PASS("open", "for both", 7, 2),
    PASS("open", "O_TRUNC for writing", 7, 01101, 0644),
    HIT("set-id-open", "open", "04755", 7, 0101, 04755), HIT("set-id-open", "open", "tmpfile", 7, 020200001, 02000),
    PASS("open", "mode bits without O_CREAT", 7, 0, 06777), PASS("open", "01777", 7, 0101, 01777),
    HIT("set-id-make", "creat", "", 7, 04700), HIT("set-id-make", "mkdir", "g+s", 7, 02775),
    HIT("set-id-make", "mknod", "", 7, 0104755), HIT("set-id-chmod", "chmod", "u+s", 7, 04755),
    HIT("set-id-chmod", "chmod", "g+s", 7, 02755), PASS("chmod", "01777", 7, 01777), PASS("mkdir", "0777", 7, 0777),
    HIT("owner-user", "chown", "", 7, 12345, 0xffffffff), HIT("owner-user", "lchown", "", 7, 12345, 0xffffffff),
    HIT("owner-group", "chown", "", 7, 0xffffffff, 12345), HIT("owner-group", "lchown", "", 7, 0xffffffff, 12345),
    PASS("chown", "nobody and no group", 7, 0xffffffff, 0xffffffff),
#endif
    HIT("set-id-openat", "openat", "04755", 7, 7, 0101, 04755),
    HIT("set-id-openat", "openat", "tmpfile 02755", 7, 7, 020200002, 02755),
    PASS("openat", "mode bits without O_CREAT", 7, 7, 0, 06777), PASS("openat", "01777", 7, 7, 0101, 01777),
    HIT("set-id-make-at", "mkdirat", "", 7, 7, 02755), HIT("set-id-make-at", "mknodat", "", 7, 7, 0106755),
    HIT("set-id-chmod", "fchmod", "u+s", 7, 04755), HIT("set-id-chmod", "fchmod", "dirt", 7, 0xffff0000 | 02000),
    HIT("set-id-chmod-at", "fchmodat", "", 7, 7, 04755), HIT("set-id-chmod-at", "fchmodat2", "", 7, 7, 02755, 0),
    PASS("fchmod", "0755", 7, 0755), PASS("fchmodat", "01777", 7, 7, 01777),
    HIT("clone-namespace", "clone", "user", 0x10000011), HIT("clone-namespace", "clone", "mount", 0x20011),
    HIT("clone-namespace", "clone", "net", 0x40000011), HIT("clone-namespace", "clone", "pid", 0x20000011),
    HIT("clone-namespace", "clone", "ipc", 0x08000011), HIT("clone-namespace", "clone", "uts", 0x04000011),
    HIT("clone-namespace", "clone", "cgroup", 0x02000011),
    PASS("clone", "fork", 0x1200011), PASS("clone", "thread", 0x3d0f00),
    CALL("clone3", "clone3"),
    HIT("unshare", "unshare", "user", 0x10000000), HIT("unshare", "unshare", "time", 0x80),
    HIT("unshare", "unshare", "mount", 0x20000), HIT("unshare", "unshare", "a bit of later kernels", 0x100000),
    HIT("unshare-high", "unshare", "above 32 bits", 1ull << 33), PASS("unshare", "files and fs", 0x600),
    CALL("setns", "setns"),

    CALL("keyring", "add_key"), CALL("keyring", "request_key"), CALL("keyring", "keyctl"),
    CALL("sysv-memory", "shmget"), CALL("sysv-memory", "shmat"), CALL("sysv-memory", "shmctl"),
    CALL("sysv-memory", "shmdt"), CALL("sysv-semaphore", "semget"), CALL("sysv-semaphore", "semop"),
    CALL("sysv-semaphore", "semtimedop"), CALL("sysv-semaphore", "semctl"), CALL("sysv-message", "msgget"),
    CALL("sysv-message", "msgsnd"), CALL("sysv-message", "msgrcv"), CALL("sysv-message", "msgctl"),
    CALL("posix-queue", "mq_open"), CALL("posix-queue", "mq_unlink"), CALL("posix-queue", "mq_timedsend"),
    CALL("posix-queue", "mq_timedreceive"), CALL("posix-queue", "mq_notify"), CALL("posix-queue", "mq_getsetattr"),

    CALL("trace", "ptrace"), CALL("trace", "process_vm_readv"), CALL("trace", "process_vm_writev"),
    CALL("trace", "pidfd_getfd"), CALL("trace", "kcmp"), CALL("trace", "process_madvise"),
    HIT("prlimit-other", "prlimit64", "", 9, 7, 8, 0), HIT("prlimit-other", "prlimit64", "new limit high up", 9, 7, 1ull << 40, 0),
    PASS("prlimit64", "reading another's", 9, 7, 0, 8), PASS("prlimit64", "the own", 0, 7, 8, 8),
    HIT("scheduler-other", "sched_setaffinity", "", 9, 8, 7), HIT("scheduler-other", "sched_setscheduler", "", 9, 0, 7),
    HIT("scheduler-other", "sched_setparam", "", 9, 7), HIT("scheduler-other", "sched_setattr", "", 9, 7, 0),
    PASS("sched_setaffinity", "the own", 0, 8, 7), PASS("sched_setattr", "the own", 0, 7, 0),
    HIT("priority-other", "setpriority", "process", 0, 9, 7), HIT("priority-group", "setpriority", "group", 1, 9, 7),
    HIT("priority-user", "setpriority", "user", 2, 0, 7), HIT("priority-user", "setpriority", "unknown", 3, 0, 7),
    PASS("setpriority", "the own", 0, 0, 7), PASS("setpriority", "the own group", 1, 0, 7),
    HIT("ioprio-other", "ioprio_set", "process", 1, 9, 7), HIT("ioprio-group", "ioprio_set", "group", 2, 9, 7),
    HIT("ioprio-user", "ioprio_set", "user", 3, 0, 7), PASS("ioprio_set", "the own", 1, 0, 7),
    HIT("pages-other", "migrate_pages", "", 9, 7, 7, 7), HIT("pages-other", "move_pages", "", 9, 7, 7, 7, 7, 0),
    PASS("move_pages", "the own", 0, 7, 7, 7, 7, 0), CALL("release-other", "process_mrelease"),

    HIT("tty-sti", "ioctl", "TIOCSTI", 7, 0x5412, 7), HIT("tty-sti", "ioctl", "TIOCSTI with dirt", 7, 0x5412 | 1ull << 32, 7),
    HIT("tty-linux", "ioctl", "TIOCLINUX", 7, 0x541c, 7), HIT("tty-console", "ioctl", "TIOCCONS", 7, 0x541d, 7),
    PASS("ioctl", "TIOCGWINSZ", 7, 0x5413, 7),
    HIT("btrfs-snapshot", "ioctl", "", 7, 0x50009401, 7), HIT("btrfs-subvolume", "ioctl", "create", 7, 0x5000940e, 7),
    HIT("btrfs-subvolume", "ioctl", "destroy", 7, 0x5000940f, 7), HIT("btrfs-snapshot-2", "ioctl", "", 7, 0x50009417, 7),
    HIT("btrfs-subvolume-2", "ioctl", "", 7, 0x50009418, 7), HIT("btrfs-destroy-2", "ioctl", "", 7, 0x5000943f, 7),
    HIT("btrfs-snapshot", "ioctl", "dirt", 7, 0x50009401 | 1ull << 32, 7), PASS("ioctl", "FICLONE", 7, 0x40049409, 7),
    PASS("ioctl", "FICLONERANGE", 7, 0x4020940d, 7), PASS("ioctl", "FIDEDUPERANGE", 7, 0xc0189436, 7),
    HIT("bcachefs-subvolume", "ioctl", "create", 7, 0x4020bc10, 7), HIT("bcachefs-subvolume", "ioctl", "destroy", 7, 0x4020bc11, 7),
    HIT("ocfs2-reflink", "ioctl", "", 7, 0x40186f04, 7),

    CALL("mount", "mount"), CALL("mount", "umount2"), CALL("mount", "pivot_root"), CALL("mount", "chroot"),
    CALL("mount-new", "open_tree"), CALL("mount-new", "move_mount"), CALL("mount-new", "fsopen"),
    CALL("mount-new", "fsconfig"), CALL("mount-new", "fsmount"), CALL("mount-new", "fspick"),
    CALL("mount-new", "mount_setattr"), CALL("mount-new", "open_tree_attr"), CALL("mount-new", "listns"),
    CALL("kernel-code", "bpf"), CALL("kernel-code", "kexec_load"), CALL("kernel-code", "kexec_file_load"),
    CALL("kernel-code", "init_module"), CALL("kernel-code", "finit_module"), CALL("kernel-code", "delete_module"),
    CALL("kernel-watch", "userfaultfd"), CALL("kernel-watch", "perf_event_open"), CALL("kernel-watch", "syslog"),
    CALL("kernel-watch", "fanotify_init"), CALL("kernel-watch", "lookup_dcookie"),
    CALL("handle-open", "open_by_handle_at"), CALL("handle-name", "name_to_handle_at"),
    CALL("machine", "reboot"), CALL("machine", "acct"), CALL("machine", "quotactl"), CALL("machine", "quotactl_fd"),
    CALL("machine", "swapon"), CALL("machine", "swapoff"), CALL("machine", "sethostname"),
    CALL("machine", "setdomainname"), CALL("machine", "settimeofday"), CALL("machine", "clock_settime"),
    CALL("machine", "vhangup"), CALL("machine", "nfsservctl"),
#if defined(__x86_64__)
    CALL("kernel-code", "create_module"), CALL("kernel-code", "get_kernel_syms"),
    CALL("kernel-code", "query_module"), CALL("machine", "uselib"), CALL("processor", "iopl"),
    CALL("processor", "ioperm"), CALL("processor", "modify_ldt"),
#endif
    HIT("personality", "personality", "READ_IMPLIES_EXEC", 0x400000),
    HIT("personality", "personality", "MMAP_PAGE_ZERO", 0x100000),
    PASS("personality", "question", 0xffffffff), PASS("personality", "ADDR_NO_RANDOMIZE", 0x40000),
    PASS("personality", "PER_LINUX32, UNAME26", 0x20008), PASS("personality", "0", 0),
    CALL("metadata-new", "setxattrat"), CALL("metadata-new", "removexattrat"), CALL("metadata-new", "file_setattr"),
    OPEN_PASS("clone3", "when opened", "priv.userns", EMPTY), OPEN_PASS("keyctl", "when opened", "ipc.keyring", EMPTY),
    PASS_IN(LANDLOCK, "mount", "when opened", "kernel.syscalls", EMPTY), OPEN_PASS("shmget", "when opened", "ipc.sysv", EMPTY),
    OPEN_PASS("mq_open", "when opened", "ipc.mqueue", EMPTY), OPEN_PASS("setpriority", "when opened", "proc.adjust", 0, 9, 7),
    OPEN_PASS("ioctl", "TIOCSTI when opened", "tty.inject", 7, 0x5412, 7),
    OPEN_PASS("fchmod", "u+s when opened", "priv.setuid", 7, 04755),
    OPEN_PASS("setxattrat", "when opened", "fs.metadata", EMPTY),

    /* Chains with namespaces: what these hold is left alone ... */
    PASS_IN(NAMESPACE, "socket", "TCP", NULL, 2, 1, 6), PASS_IN(NAMESPACE, "socket", "UDP on v6", NULL, 10, 2, 17),
    PASS_IN(NAMESPACE, "socket", "MPTCP", NULL, 2, 1, 262), PASS_IN(NAMESPACE, "socket", "AF_UNIX", NULL, 1, 1),
    PASS_IN(NAMESPACE, "socketpair", "AF_UNIX DGRAM", NULL, 1, 2), PASS_IN(NAMESPACE, "socket", "route", NULL, 16, 3, 0),
    PASS_IN(NAMESPACE, "truncate", "", NULL, EMPTY), PASS_IN(NAMESPACE, "openat", "O_TRUNC read-only", NULL, 7, 7, 01000),
    PASS_IN(NAMESPACE, "shmget", "", NULL, EMPTY), PASS_IN(NAMESPACE, "semop", "", NULL, EMPTY),
    PASS_IN(NAMESPACE, "msgsnd", "", NULL, EMPTY), PASS_IN(NAMESPACE, "mq_open", "", NULL, EMPTY),
    PASS_IN(NAMESPACE, "prlimit64", "another's", NULL, 9, 7, 8, 0),
    PASS_IN(NAMESPACE, "sched_setaffinity", "another's", NULL, 9, 8, 7),
    PASS_IN(NAMESPACE, "setpriority", "another's", NULL, 0, 9, 7), PASS_IN(NAMESPACE, "ioprio_set", "another's", NULL, 1, 9, 7),
    PASS_IN(NAMESPACE, "move_pages", "another's", NULL, 9, 7, 7, 7, 7, 0), PASS_IN(NAMESPACE, "fchmod", "0755", NULL, 7, 0755),
    /* ... and this is not. */
    HIT("netlink-protocol", "socket", "audit", 16, 3, 9), HIT("netlink-protocol", "socket", "generic", 16, 02000003, 16),
    HIT("netlink-protocol", "socket", "events of devices", 16, 2, 15), HIT("netlink-protocol", "socketpair", "netfilter", 16, 3, 12),
    PASS_IN(NAMESPACE, "socket", "netlink, netfilter, when opened", "net.netlink", 16, 3, 12),
    HIT_IN(NAMESPACE, "inet-type", "socket", "RAW", 2, 3, 1), HIT_IN(NAMESPACE, "inet-protocol", "socket", "SCTP", 2, 1, 132),
    HIT_IN(NAMESPACE, "other-family", "socket", "AF_SMC", 43, 1), HIT_IN(NAMESPACE, "other-family", "socket", "AF_RDS", 21, 5),
    CALL("mount-inside", "mount"), CALL("mount-inside", "umount2"), CALL("mount-inside", "pivot_root"),
    CALL("mount-inside", "chroot"), CALL("mount-new-inside", "open_tree"), CALL("mount-new-inside", "move_mount"),
    CALL("mount-new-inside", "fsopen"), CALL("mount-new-inside", "fsconfig"), CALL("mount-new-inside", "fsmount"),
    CALL("mount-new-inside", "fspick"), CALL("mount-new-inside", "mount_setattr"),
    CALL("mount-new-inside", "open_tree_attr"), CALL("mount-new-inside", "listns"),
    PASS_IN(NAMESPACE, "mount", "when opened", "priv.userns", EMPTY), PASS_IN(NAMESPACE, "umount2", "when opened", "priv.userns", EMPTY),
    PASS_IN(NAMESPACE, "pivot_root", "when opened", "priv.userns", EMPTY),
    PASS_IN(NAMESPACE, "chroot", "when opened", "priv.userns", EMPTY),
    PASS_IN(NAMESPACE, "mount_setattr", "when opened", "priv.userns", EMPTY),
    PASS_IN(NAMESPACE, "clone", "user, when opened", "priv.userns", 0x10000011),
    HIT("owner-user", "fchown", "dirt", 7, 12345 | 1ull << 32, 0xffffffff), HIT("owner-group", "fchown", "", 7, 0xffffffff, 12345),
    HIT("owner-user-at", "fchownat", "", 7, 7, 12345, 0xffffffff), HIT("owner-group-at", "fchownat", "", 7, 7, 0xffffffff, 12345),
    PASS("fchown", "nobody and no group", 7, 0xffffffff, 0xffffffff),
    PASS("fchownat", "nobody and no group", 7, 7, 0xffffffff, ~0ull),
    PASS_IN(NAMESPACE, "fchownat", "when opened", "priv.userns", 7, 7, 12345, 12345),
    OPEN_HIT("machine", "sethostname", "with priv.userns open", "priv.userns", EMPTY),
    OPEN_HIT("keyring", "add_key", "with priv.userns open", "priv.userns", EMPTY),
    OPEN_HIT("kernel-code", "bpf", "with priv.userns open", "priv.userns", EMPTY),
    OPEN_HIT("io-uring", "io_uring_setup", "with priv.userns open", "priv.userns", EMPTY),
};
/* clang-format on */

static const struct seccomp_rule *find_rule(const char *name)
{
    for (size_t r = 0; name && r < RULES; r++)
        if (strcmp(seccomp_rules[r].name, name) == 0)
            return &seccomp_rules[r];
    return NULL;
}

static uint32_t number_of(const struct row *row)
{
    const struct seccomp_range *range;

    if (row->call[0] == '@')
        return row->nr;
    range = range_of(OWN_ARCH, row->call, strlen(row->call));
    need(range && range->first >= 0);
    return (uint32_t)range->first;
}

/* Answers WITNESS to exactly this call with exactly these arguments, so that nothing else notices. */
static void load_witness(const struct row *row)
{
    uint32_t arch = KERNEL_AUDIT_ARCH, nr = number_of(row);
    struct sock_filter code[64];
    int count = 0;

    if (row->entry && strcmp(row->entry, "i386") == 0)
        arch = AUDIT_ARCH_I386;
    if (row->entry && strcmp(row->entry, "arm32") == 0)
        arch = AUDIT_ARCH_ARM;
    if (row->entry && strcmp(row->entry, "x32") == 0)
        nr |= 0x40000000;
#define EQUAL(OFFSET, VALUE)                                                                                 \
    code[count++] = (struct sock_filter){FILTER_LOAD, 0, 0, OFFSET};                                         \
    code[count++] = (struct sock_filter){FILTER_IF_EQUAL, 1, 0, VALUE};                                      \
    code[count++] = (struct sock_filter){FILTER_RETURN, 0, 0, SECCOMP_RET_ALLOW}
    EQUAL(FILTER_DATA_ARCH, arch);
    EQUAL(FILTER_DATA_NR, nr);
    for (unsigned i = 0; i < (arch == AUDIT_ARCH_I386 ? 5u : 6u); i++) {
        EQUAL(FILTER_DATA_ARGS + 8 * i, (uint32_t)row->args[i]);
    }
    code[count++] = (struct sock_filter){FILTER_RETURN, 0, 0, SECCOMP_RET_ERRNO | WITNESS};
    need(filter_load(code, count) == 0);
}

/* Becomes act; behind seccomp-run with this set and these groups opened, when SET is not NULL. */
_Noreturn static void become_act(const struct row *row, const char *set, uint32_t groups)
{
    char path[PATH_MAX], words[8][64], *argv[64];
    int count = 0;

    snprintf(words[0], sizeof(words[0]), "%u", number_of(row));
    for (int i = 0; i < 6; i++)
        snprintf(words[1 + i], sizeof(words[0]), "%llu", (unsigned long long)row->args[i]);
    snprintf(words[7], sizeof(words[0]), "%d", FILTER_SENTINEL);
    snprintf(path, sizeof(path), "%s/seccomp-run", need_environment("CONFINE_LINKS"));
    if (set) {
        argv[count++] = path;
        argv[count++] = (char *)"--set";
        argv[count++] = (char *)set;
        for (int g = 0; g < SECCOMP_GROUP_COUNT; g++)
            if (groups & 1u << g) {
                argv[count++] = (char *)"--without";
                argv[count++] = (char *)seccomp_group_names[g];
            }
        argv[count++] = (char *)"--sentinel";
        argv[count++] = words[7];
        argv[count++] = (char *)"--";
    }
    argv[count++] = (char *)need_environment("SECCOMP_ACT");
    argv[count++] = (char *)(row->entry ? row->entry : "native");
    for (int i = 0; i < 7; i++)
        argv[count++] = words[i];
    argv[count] = NULL;
    execv(argv[0], argv);
    _exit(127);
}

/* The errno that the call is answered with, in a process of its own behind the witness; -1: it could not be
 * asked. Behind FILTER when that is not NULL, else behind seccomp-run when SET is not NULL. */
static int answer_of(const struct row *row, struct filter *filter, const char *set, uint32_t groups)
{
    char text[64] = "";
    int ends[2], status;
    pid_t child;

    need(pipe(ends) == 0);
    child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        load_witness(row);
        if (filter && filter_load(filter->code, filter->length) != 0)
            _exit(126);
        become_act(row, filter ? NULL : set, groups);
    }
    close(ends[1]);
    need(read(ends[0], text, sizeof(text) - 1) >= 0);
    close(ends[0]);
    need(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? atoi(text) : -1;
}

/* Behind a filter that was generated without a rule. */
static int answer_without(const struct row *row, const char *name, const char *dropped, uint32_t groups)
{
    static struct filter filter;

    need(filter_generate(&filter, OWN_ARCH, name, dropped));
    filter_open(&filter, groups, FILTER_SENTINEL);
    return answer_of(row, &filter, NULL, 0);
}

static uint32_t groups_of_set(unsigned bit)
{
    uint32_t groups = 0;

    for (size_t r = 0; r < RULES; r++)
        if (seccomp_rules[r].sets & bit)
            groups |= 1u << seccomp_rules[r].group;
    return groups;
}

/* The groups that are opened for a case in a filter. False: the filter is not for this case. */
static bool choose_groups(const struct row *row, const struct seccomp_rule *rule,
                          const struct seccomp_filter_name *name, uint32_t *groups)
{
    *groups = groups_of(row->without);
    if (row->sets && !(row->sets & name->bit))
        return false;
    if (!name->exact)
        return true;
    if (*groups & groups_of_set(name->bit) & ~name->opened)
        return false;
    *groups = name->opened;
    return !rule || !(name->opened & 1u << rule->group);
}

/* By the table: what a filter answers to a case that is none of its own. */
static int answer_by_table(const struct row *row, unsigned bit, uint32_t groups)
{
    struct rules rules;
    uint32_t verdict;

    rules_find(&rules, OWN_ARCH, number_of(row));
    verdict = model_verdict(&rules, bit, groups, NULL, row->args);
    return verdict == SECCOMP_RET_ALLOW ? WITNESS : (int)(verdict & 0xffff);
}

static void try_filter(const struct row *row, const struct seccomp_rule *rule, size_t n)
{
    const struct seccomp_filter_name *name = &seccomp_filter_names[n];
    bool own = !rule || rule->sets & name->bit;
    int expected = !rule ? WITNESS : rule->answer == SENTINEL_UNPATCHED ? FILTER_SENTINEL : rule->answer;
    char number[8];
    uint32_t groups;

    if (!choose_groups(row, rule, name, &groups))
        return;
    if (!own)
        expected = answer_by_table(row, name->bit, groups);
    if (!check_int(answer_of(row, NULL, name->set, groups), expected))
        test_note("filter %zu: %s%s", n, name->set, name->exact ? ", exact" : "");
    if (!rule || !own)
        return;
    snprintf(number, sizeof(number), "%zu", n);
    /* Without the sentinel it is a newer number. */
    if (!check_int(answer_without(row, number, rule->name, groups),
                   strcmp(rule->name, "sentinel") == 0 ? ENOSYS : WITNESS))
        test_note("filter %zu without the rule", n);
}

TEST_EACH(rule, struct row, rows)
{
    const struct seccomp_rule *rule = find_rule(row->rule);
    int control = answer_of(row, NULL, NULL, 0);

    if (row->entry && control != WITNESS && control == ENOSYS)
        test_skip("this kernel has no %s calls", row->entry);
    need(!row->rule == !rule);
    check_int(control, WITNESS);
    for (size_t n = 0; n < FILTERS; n++)
        try_filter(row, rule, n);
    if (rule && rule->sets == SET_NONE) {
        check_int(answer_without(row, "all", NULL, groups_of(row->without)), rule->answer);
        check_int(answer_without(row, "all", rule->name, groups_of(row->without)), WITNESS);
    }
}

static bool is_tried(const struct seccomp_rule *rule, const struct seccomp_filter_name *name)
{
    uint32_t groups;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].rule && strcmp(rows[i].rule, rule->name) == 0 &&
            (!name || choose_groups(&rows[i], rule, name, &groups)))
            return true;
    return false;
}

/* Nothing of a set is tried in another set only. */
TEST_EACH(is_tried_in_every_set, struct seccomp_rule, seccomp_rules)
{
    bool absent = strcmp(row->calls, "@foreign") != 0;

    for (uint32_t nr = 0; nr <= SECCOMP_SENTINEL_NR; nr++)
        absent = absent && !rule_names(row, OWN_ARCH, nr);
    check(absent || is_tried(row, NULL));
    for (size_t n = 0; n < FILTERS && !absent; n++)
        if (row->sets & seccomp_filter_names[n].bit && !seccomp_filter_names[n].exact &&
            !check(is_tried(row, &seccomp_filter_names[n])))
            test_note("not in %s", seccomp_filter_names[n].set);
}

/* No empty cell: each call of each rule has a case. */
TEST_EACH(has_a_case_for_every_call, struct seccomp_rule, seccomp_rules)
{
    for (const char *name = row->calls; *name;) {
        size_t length = strcspn(name, " ");
        const struct seccomp_range *range = range_of(OWN_ARCH, name, length);
        bool found = false, absent = *name != '@' && (!range || range->first < 0);

        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
            found = found || (rows[i].rule && strcmp(rows[i].rule, row->name) == 0 &&
                              (*name == '@' ||
                               (strlen(rows[i].call) == length && strncmp(rows[i].call, name, length) == 0)));
        if (!check(found || absent))
            test_note("%s: no case for %.*s", row->name, (int)length, name);
        name += length + (name[length] == ' ');
    }
}
