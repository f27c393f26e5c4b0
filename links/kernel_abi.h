/*
 * kernel_abi.h - the kernel's numbers and structures, and raw calls.
 *
 * The libc that links are built with shows no kernel headers, and those of a
 * stable distribution are years behind the running kernel. So every constant stands here, each Landlock right
 * with the ABI that brought it; calls, mounts, notifications in the headers that are included.
 *
 * Should:  be the only place of a kernel constant; compute masks from the table.
 * Mustn't: include a <linux/...> header, or touch errno (a raw call answers
 *          -errno, so that a child sharing our memory may use it as well).
 */
#ifndef CONFINE_LINKS_KERNEL_ABI_H
#define CONFINE_LINKS_KERNEL_ABI_H

#include "kernel_calls.h"
#include "kernel_mounts.h"
#include "kernel_net.h"
#include "kernel_notify.h"

#include <stddef.h>

#if defined(_LINUX_LANDLOCK_H) || defined(_UAPI_LINUX_LANDLOCK_H)
#error "<linux/landlock.h> is older than what is written here: leave it out"
#endif

/* --- Landlock, complete to ABI 11 (Linux 7.3) ----------------------------------------------------------- */

#define LANDLOCK_LAYERS_MAX 16 /* nested domains; the next one is E2BIG */

#define LANDLOCK_CREATE_VERSION 0x1
#define LANDLOCK_CREATE_ERRATA  0x2

#define LANDLOCK_RULE_TYPE_PATH 1

#define LANDLOCK_ADD_QUIET 0x1 /* ABI 10 */

#define LANDLOCK_RESTRICT_LOG_SAME_EXEC_OFF  0x01 /* ABI 7 */
#define LANDLOCK_RESTRICT_LOG_NEW_EXEC_ON    0x02 /* ABI 7 */
#define LANDLOCK_RESTRICT_LOG_SUBDOMAINS_OFF 0x04 /* ABI 7 */
#define LANDLOCK_RESTRICT_TSYNC              0x08 /* ABI 8 */
#define LANDLOCK_RESTRICT_NO_NEW_PRIVS       0x10 /* ABI 11 */

#define LANDLOCK_FS_EXECUTE      (UINT64_C(1) << 0)
#define LANDLOCK_FS_WRITE_FILE   (UINT64_C(1) << 1)
#define LANDLOCK_FS_READ_FILE    (UINT64_C(1) << 2)
#define LANDLOCK_FS_READ_DIR     (UINT64_C(1) << 3)
#define LANDLOCK_FS_REMOVE_DIR   (UINT64_C(1) << 4)
#define LANDLOCK_FS_REMOVE_FILE  (UINT64_C(1) << 5)
#define LANDLOCK_FS_MAKE_CHAR    (UINT64_C(1) << 6)
#define LANDLOCK_FS_MAKE_DIR     (UINT64_C(1) << 7)
#define LANDLOCK_FS_MAKE_REG     (UINT64_C(1) << 8)
#define LANDLOCK_FS_MAKE_SOCK    (UINT64_C(1) << 9)
#define LANDLOCK_FS_MAKE_FIFO    (UINT64_C(1) << 10)
#define LANDLOCK_FS_MAKE_BLOCK   (UINT64_C(1) << 11)
#define LANDLOCK_FS_MAKE_SYM     (UINT64_C(1) << 12)
#define LANDLOCK_FS_REFER        (UINT64_C(1) << 13)
#define LANDLOCK_FS_TRUNCATE     (UINT64_C(1) << 14)
#define LANDLOCK_FS_IOCTL_DEV    (UINT64_C(1) << 15)
#define LANDLOCK_FS_RESOLVE_UNIX (UINT64_C(1) << 16)

#define LANDLOCK_NET_BIND_TCP         (UINT64_C(1) << 0)
#define LANDLOCK_NET_CONNECT_TCP      (UINT64_C(1) << 1)
#define LANDLOCK_NET_BIND_UDP         (UINT64_C(1) << 2)
#define LANDLOCK_NET_CONNECT_SEND_UDP (UINT64_C(1) << 3)

#define LANDLOCK_SCOPED_ABSTRACT (UINT64_C(1) << 0)
#define LANDLOCK_SCOPED_SIGNAL   (UINT64_C(1) << 1)

/* Of landlock_restrict_self(), ABI 7: what of a layer's refusals the kernel's audit gets. */
#define LANDLOCK_LOG_SINCE         7
#define LANDLOCK_LOG_SAME_EXEC_OFF (1U << 0) /* nothing until the next exec */
#define LANDLOCK_LOG_NEW_EXEC_ON   (1U << 1) /* everything after it */

/* Always passed whole: an older kernel accepts what it does not know as long as it is zero. */
struct landlock_ruleset_attr {
    uint64_t handled_access_fs;
    uint64_t handled_access_net; /* ABI 4 */
    uint64_t scoped;             /* ABI 6 */
    uint64_t quiet_access_fs;    /* ABI 10 */
    uint64_t quiet_access_net;
    uint64_t quiet_scoped;
};

struct landlock_path_attr {
    uint64_t allowed_access;
    int32_t parent_fd;
} __attribute__((packed));

_Static_assert(sizeof(struct landlock_ruleset_attr) == 48, "the kernel's layout");
_Static_assert(sizeof(struct landlock_path_attr) == 12, "the kernel's layout");

enum landlock_family {
    LANDLOCK_FAMILY_NONE = 0,
    LANDLOCK_FAMILY_FS,
    LANDLOCK_FAMILY_NET,
    LANDLOCK_FAMILY_SCOPE
};

struct landlock_right {
    const char *name;
    const char *surface; /* what it serves, in the words of the report */
    uint64_t bit;
    uint8_t family;    /* enum landlock_family */
    uint8_t since_abi; /* below it the kernel answers EINVAL (or E2BIG) */
    uint8_t on_file;   /* legal in a rule on something that is no directory */
};

static const struct landlock_right landlock_rights[] __attribute__((unused)) = {
    {"fs.execute", "fs.read", LANDLOCK_FS_EXECUTE, LANDLOCK_FAMILY_FS, 1, 1},
    {"fs.write_file", "fs.write", LANDLOCK_FS_WRITE_FILE, LANDLOCK_FAMILY_FS, 1, 1},
    {"fs.read_file", "fs.read", LANDLOCK_FS_READ_FILE, LANDLOCK_FAMILY_FS, 1, 1},
    {"fs.read_dir", "fs.read", LANDLOCK_FS_READ_DIR, LANDLOCK_FAMILY_FS, 1, 0},
    {"fs.remove_dir", "fs.write", LANDLOCK_FS_REMOVE_DIR, LANDLOCK_FAMILY_FS, 1, 0},
    {"fs.remove_file", "fs.write", LANDLOCK_FS_REMOVE_FILE, LANDLOCK_FAMILY_FS, 1, 0},
    {"fs.make_char", "fs.device", LANDLOCK_FS_MAKE_CHAR, LANDLOCK_FAMILY_FS, 1, 0},
    {"fs.make_dir", "fs.write", LANDLOCK_FS_MAKE_DIR, LANDLOCK_FAMILY_FS, 1, 0},
    {"fs.make_reg", "fs.write", LANDLOCK_FS_MAKE_REG, LANDLOCK_FAMILY_FS, 1, 0},
    {"fs.make_sock", "fs.write", LANDLOCK_FS_MAKE_SOCK, LANDLOCK_FAMILY_FS, 1, 0},
    {"fs.make_fifo", "fs.write", LANDLOCK_FS_MAKE_FIFO, LANDLOCK_FAMILY_FS, 1, 0},
    {"fs.make_block", "fs.device", LANDLOCK_FS_MAKE_BLOCK, LANDLOCK_FAMILY_FS, 1, 0},
    {"fs.make_sym", "fs.write", LANDLOCK_FS_MAKE_SYM, LANDLOCK_FAMILY_FS, 1, 0},
    {"fs.refer", "fs.write", LANDLOCK_FS_REFER, LANDLOCK_FAMILY_FS, 2, 0},
    {"fs.truncate", "fs.truncate", LANDLOCK_FS_TRUNCATE, LANDLOCK_FAMILY_FS, 3, 1},
    {"fs.ioctl_dev", "fs.device", LANDLOCK_FS_IOCTL_DEV, LANDLOCK_FAMILY_FS, 5, 1},
    {"fs.resolve_unix", "unix.path", LANDLOCK_FS_RESOLVE_UNIX, LANDLOCK_FAMILY_FS, 9, 1},
    {"net.bind_tcp", "net.tcp", LANDLOCK_NET_BIND_TCP, LANDLOCK_FAMILY_NET, 4, 0},
    {"net.connect_tcp", "net.tcp", LANDLOCK_NET_CONNECT_TCP, LANDLOCK_FAMILY_NET, 4, 0},
    {"net.bind_udp", "net.udp", LANDLOCK_NET_BIND_UDP, LANDLOCK_FAMILY_NET, 10, 0},
    {"net.connect_send_udp", "net.udp", LANDLOCK_NET_CONNECT_SEND_UDP, LANDLOCK_FAMILY_NET, 10, 0},
    {"scope.abstract_unix_socket", "unix.abstract", LANDLOCK_SCOPED_ABSTRACT, LANDLOCK_FAMILY_SCOPE, 6, 0},
    {"scope.signal", "proc.signal", LANDLOCK_SCOPED_SIGNAL, LANDLOCK_FAMILY_SCOPE, 6, 0},
};

#define LANDLOCK_RIGHTS (sizeof(landlock_rights) / sizeof(landlock_rights[0]))

/* landlock_mask() - every right of one family that a kernel of this ABI has. */
static inline uint64_t landlock_mask(enum landlock_family family, int abi)
{
    uint64_t mask = 0;

    for (size_t i = 0; i < LANDLOCK_RIGHTS; i++)
        if (landlock_rights[i].family == family && landlock_rights[i].since_abi <= abi)
            mask |= landlock_rights[i].bit;
    return mask;
}

/* landlock_file_mask() - the file rights that a rule on something that is no directory may hold. */
static inline uint64_t landlock_file_mask(void)
{
    uint64_t mask = 0;

    for (size_t i = 0; i < LANDLOCK_RIGHTS; i++)
        if (landlock_rights[i].family == LANDLOCK_FAMILY_FS && landlock_rights[i].on_file)
            mask |= landlock_rights[i].bit;
    return mask;
}

/* landlock_abi() - Return: the kernel's ABI (at least 1 on a kernel that has Landlock), or -errno. */
static inline int landlock_abi(void)
{
    return (int)kernel_call(SYS_landlock_create_ruleset, 0, 0, LANDLOCK_CREATE_VERSION, 0, 0, 0);
}

/* landlock_errata() - Return: bit N-1 set when erratum N is fixed; -errno where it cannot be asked. */
static inline int landlock_errata(void)
{
    return (int)kernel_call(SYS_landlock_create_ruleset, 0, 0, LANDLOCK_CREATE_ERRATA, 0, 0, 0);
}

/* landlock_create() - Return: a ruleset's descriptor (close-on-exec, the caller's), or -errno. */
static inline int landlock_create(const struct landlock_ruleset_attr *attr)
{
    return (int)kernel_call(SYS_landlock_create_ruleset, KERNEL_PTR(attr), sizeof(*attr), 0, 0, 0, 0);
}

/* landlock_allow_path() - grant ACCESS on the object that FD is open on. Return: 0 or -errno. */
static inline int landlock_allow_path(int ruleset, int fd, uint64_t access)
{
    struct landlock_path_attr attr = {.allowed_access = access, .parent_fd = fd};

    return (int)kernel_call(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_TYPE_PATH, KERNEL_PTR(&attr), 0, 0,
                            0);
}

/* landlock_restrict() - enter the ruleset's domain, for this thread and all that it starts. Return: 0 or
 * -errno. */
static inline int landlock_restrict(int ruleset, uint32_t flags)
{
    return (int)kernel_call(SYS_landlock_restrict_self, ruleset, flags, 0, 0, 0, 0);
}

/* --- seccomp and its filter language -------------------------------------------------------------------- */

#ifndef SECCOMP_RET_ALLOW
#define SECCOMP_RET_KILL_PROCESS 0x80000000U
#define SECCOMP_RET_KILL_THREAD  0x00000000U
#define SECCOMP_RET_TRAP         0x00030000U
#define SECCOMP_RET_ERRNO        0x00050000U
#define SECCOMP_RET_USER_NOTIF   0x7fc00000U
#define SECCOMP_RET_TRACE        0x7ff00000U
#define SECCOMP_RET_LOG          0x7ffc0000U
#define SECCOMP_RET_ALLOW        0x7fff0000U
#define SECCOMP_RET_DATA         0x0000ffffU

#define SECCOMP_SET_MODE_STRICT  0
#define SECCOMP_SET_MODE_FILTER  1
#define SECCOMP_GET_ACTION_AVAIL 2

#define SECCOMP_FILTER_FLAG_TSYNC              (1UL << 0)
#define SECCOMP_FILTER_FLAG_LOG                (1UL << 1)
#define SECCOMP_FILTER_FLAG_SPEC_ALLOW         (1UL << 2)
#define SECCOMP_FILTER_FLAG_NEW_LISTENER       (1UL << 3)
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)

struct seccomp_data {
    int nr;
    uint32_t arch;
    uint64_t instruction_pointer;
    uint64_t args[6];
};
#endif

#ifndef BPF_MEMWORDS
#define BPF_MEMWORDS 16
#define BPF_MAXINSNS 4096

struct sock_filter {
    uint16_t code;
    uint8_t jt;
    uint8_t jf;
    uint32_t k;
};

struct sock_fprog {
    unsigned short len;
    struct sock_filter *filter;
};

#define BPF_STMT(CODE, K)                                                                                    \
    {                                                                                                        \
        (uint16_t)(CODE), 0, 0, (uint32_t)(K)                                                                \
    }
#define BPF_JUMP(CODE, K, JT, JF)                                                                            \
    {                                                                                                        \
        (uint16_t)(CODE), (JT), (JF), (uint32_t)(K)                                                          \
    }
#endif

#ifndef BPF_LD
#define BPF_LD   0x00
#define BPF_ALU  0x04
#define BPF_MISC 0x07
#define BPF_IMM  0x00
#define BPF_TAX  0x00
#define BPF_X    0x08
#define BPF_JMP  0x05
#define BPF_RET  0x06
#define BPF_W    0x00
#define BPF_H    0x08
#define BPF_ABS  0x20
#define BPF_AND  0x50
#define BPF_RSH  0x70
#define BPF_JA   0x00
#define BPF_JEQ  0x10
#define BPF_JGT  0x20
#define BPF_JGE  0x30
#define BPF_JSET 0x40
#define BPF_K    0x00
#endif

#ifndef AUDIT_ARCH_X86_64
#define AUDIT_ARCH_I386    0x40000003U
#define AUDIT_ARCH_ARM     0x40000028U
#define AUDIT_ARCH_X86_64  0xc000003eU
#define AUDIT_ARCH_AARCH64 0xc00000b7U
#endif

/* --- capabilities --------------------------------------------------------------------------------------- */

#define CAPABILITY_VERSION_3 0x20080522U

struct capability_header {
    uint32_t version;
    int32_t pid;
};

/* Version 3 takes two of these: capabilities 0-31 and 32-63. */
struct capability_data {
    uint32_t effective;
    uint32_t permitted;
    uint32_t inheritable;
};

#ifndef SECBIT_NOROOT
#define SECBIT_NOROOT                      0x01
#define SECBIT_NOROOT_LOCKED               0x02
#define SECBIT_NO_SETUID_FIXUP             0x04
#define SECBIT_NO_SETUID_FIXUP_LOCKED      0x08
#define SECBIT_KEEP_CAPS                   0x10
#define SECBIT_KEEP_CAPS_LOCKED            0x20
#define SECBIT_NO_CAP_AMBIENT_RAISE        0x40
#define SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED 0x80
#endif

/* --- descriptors, directories, processes, keys ---------------------------------------------------------- */

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1)
#endif
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

#ifndef RESOLVE_BENEATH /* whoever has this has the structure as well */
#define RESOLVE_NO_XDEV       0x01
#define RESOLVE_NO_MAGICLINKS 0x02
#define RESOLVE_NO_SYMLINKS   0x04
#define RESOLVE_BENEATH       0x08
#define RESOLVE_IN_ROOT       0x10
#define RESOLVE_CACHED        0x20

struct open_how {
    uint64_t flags;
    uint64_t mode;
    uint64_t resolve;
};
#endif

struct kernel_dirent {
    uint64_t inode;
    int64_t offset;
    uint16_t size; /* of this record */
    uint8_t type;  /* DT_*, 0: unknown */
    char name[];
};

#ifndef KEYCTL_GET_KEYRING_ID
#define KEYCTL_GET_KEYRING_ID       0
#define KEYCTL_JOIN_SESSION_KEYRING 1
#define KEYCTL_SETPERM              5
#define KEYCTL_DESCRIBE             6
#define KEYCTL_READ                 11
#endif
#ifndef KEY_SPEC_SESSION_KEYRING
#define KEY_SPEC_SESSION_KEYRING (-3)
#endif

#endif
