/*
 * channel.h - the messages between the supervisor and the chain.
 *
 * One SOCK_SEQPACKET pair crosses the chain; one message is one packet. The
 * supervisor's end has SO_PASSCRED set, so that the kernel says which process
 * wrote. In order:
 *
 *   namespace -> supervisor LISTENERS   as descriptors, what listens in the network namespace; several
 *   namespace -> supervisor ENTRANCE    with --entrance: its user and network namespace, as descriptors
 *   terminal -> supervisor TERMINAL     the other side of the command's own terminal, as a descriptor
 *   guard -> supervisor   GUARD         the guard stands inside its domain
 *   attest -> supervisor  HERE          every link has run
 *   supervisor -> attest  CHECKS        what to try, with descriptors (SCM_RIGHTS); may be sent before HERE
 *   attest -> supervisor  RESULTS       one record per check
 *   observe -> supervisor OBSERVED      where its refused calls can be seen, as a descriptor; or why not
 *   supervisor -> attest  GO            the only word on which the command starts
 *   attest -> supervisor  EXEC_FAILED   errno of the exec, if it failed
 *
 * Instead of all this namespace-run may send CANNOT before it ends with 125:
 * the machine lacks something, and another backend may do.
 *
 * namespace-run --hold makes a session and no command: its one word is HELD, with the descriptors of the
 * namespaces in the order of enum channel_join (SCM_RIGHTS); the network's is missing where there is none.
 *
 * namespace-run --serve answers one SERVED to each packet, with an errno or a descriptor, and one before the
 * first.
 *
 * The end of the channel instead of GO means 125. The command has started if
 * and only if GO was sent and no EXEC_FAILED was read before the end.
 */
#ifndef CONFINE_LINKS_CHANNEL_H
#define CONFINE_LINKS_CHANNEL_H

#include <stdint.h>

#define CHANNEL_VERSION     1
#define CHANNEL_NONCE       16
#define CHANNEL_NAME        256 /* a file name or a short path, NUL included */
#define CHANNEL_CHECKS_MAX  96  /* checks in one CHECKS message */
#define CHANNEL_DESCRIPTORS 64  /* descriptors in one CHECKS message */

/* The kernel gives no numbers below 300 a second time, so this many more than the processes are needed. */
#define PROCESS_NUMBERS      300
#define PROCESS_NUMBERS_MOST 4194304 /* of the kernel, on any machine */

/* A program in the chain that is not ours must not see the command's variables: a loader obeys them. So each
 * of them has this in front of its name until attest-run takes it away (--restore-environment). */
#define ENVIRONMENT_PREFIX "c:"

enum channel_type {
    CHANNEL_NOTHING = 0,
    CHANNEL_GUARD,
    CHANNEL_HERE,
    CHANNEL_CHECKS,
    CHANNEL_RESULTS,
    CHANNEL_GO,
    CHANNEL_EXEC_FAILED,
    CHANNEL_CANNOT,
    CHANNEL_HELD,
    CHANNEL_TERMINAL,
    CHANNEL_LISTENERS,
    CHANNEL_OBSERVED,
    CHANNEL_ENTRANCE,
    CHANNEL_SERVED,
};

/* The step at which namespace-run found that this machine cannot do it; CANNOT's value is step << 16 | errno.
 */
enum channel_cannot {
    CANNOT_NOTHING = 0,
    CANNOT_USERNS,  /* no user namespace, or one without capabilities */
    CANNOT_MAPS,    /* the id maps were refused */
    CANNOT_MOUNT,   /* the other namespaces, or a mount, were refused */
    CANNOT_NET,     /* no network namespace, or its loopback does not come up */
    CANNOT_PROC,    /* /proc is masked, as containers do: a fresh one is refused */
    CANNOT_NUMBERS, /* the numbers of processes are not the namespace's own */
    CANNOT_OVERLAY, /* the kernel or the file system takes no overlay here */
    CANNOT_OTHER,
};

/* What of a session a run goes into: namespaces, and two detached mounts. */
enum channel_join {
    JOIN_USER = 0,
    JOIN_IPC,
    JOIN_UTS,
    JOIN_PID,
    JOIN_TMP, /* for /tmp. In HELD: the mount namespace in which both are, and nothing else */
    JOIN_SHM, /* for /dev/shm. In HELD: the same again */
    JOIN_NET,
    JOIN_COUNT
};

/*
 * The acts that attest-run knows: tries and read-backs. Each answers 0 when
 * the boundary let it through (or is absent), otherwise the errno with which
 * it was stopped. Operands: `fd` (an index into the descriptors of the
 * message; a descriptor's number on the command line), `a`, `b`, `name`.
 * What each act does stands in acts.h.
 */
enum act {
    ACT_NONE = 0,
    ACT_OPEN,        /* open object fd through /proc/self/fd, or `name` when fd is -1, with flags a */
    ACT_OPEN_AT,     /* openat `name` below directory fd with flags a */
    ACT_RENAME_SELF, /* renameat `name` onto itself below directory fd, or by its whole path when fd is -1 */
    ACT_TMPFILE,     /* an unnamed file below directory fd, or `name` when fd is -1, for writing */
    ACT_TRUNCATE,    /* truncate object fd to a bytes */
    ACT_SOCKET,      /* socket(a, b, 0), closed at once */
    ACT_SOCKETPAIR,  /* socketpair(a, b, 0), closed at once */
    ACT_BIND,        /* bind the INET socket fd to 127.0.0.1, any port */
    ACT_SEND_UDP,    /* send the nonce on the UDP socket fd to 127.0.0.1 port a */
    ACT_CONNECT_ABSTRACT, /* connect the UNIX socket fd to the abstract name `name` */
    ACT_CONNECT_PATH,     /* connect the UNIX socket fd to the socket that descriptor b (as fd) is open on */
    ACT_SIGNAL,           /* kill(a, 0) */
    ACT_READ_MEMORY,      /* read the nonce at address b of process a */
    ACT_PRLIMIT,          /* set RLIMIT_NOFILE of process a to what it is (`name` holds two u64) */
    ACT_SHM_INFO,         /* shmctl(0, IPC_INFO) */
    ACT_KEYRING,          /* ask for the id of the session keyring */
    ACT_SENTINEL,         /* the number that no kernel uses; answers its errno */
    ACT_NO_NEW_PRIVS,     /* read back: EPERM when it is set */
    ACT_CAPABILITIES,     /* read back: EPERM when no set holds any */
    ACT_FILE_SIZE,        /* read back: EFBIG when RLIMIT_FSIZE is a, soft and hard */
    ACT_DESCRIPTOR,       /* is descriptor a open? EBADF when not */
    ACT_ENVIRONMENT,      /* read back: ENOENT when variable `name` is not set */
    ACT_TERMINAL,         /* read back: ENXIO when neither 0, 1, 2 nor /dev/tty is a terminal, or with a = 1
                             none but the one of the session that this process leads */
    ACT_REMOVE_ATTRIBUTE, /* remove an attribute that `name` does not have */
    ACT_NAMESPACE, /* read back: EXDEV when this process's namespace `name` is not number a, and is number b
                      where that is not 0 */
    ACT_OBJECT,    /* read back: EXDEV when `name` is not the object with device a and inode b */
    ACT_MOUNTED,   /* read back: EROFS when the mount of `name` has all the statfs flags a */
    ACT_ROOM,      /* read back: EFBIG when the file system of `name` has at most a bytes */
    ACT_REPLACED, /* read back: ESTALE when `name` is the object of device a and inode b; 0 when it is another
                   */
    ACT_CPU_TIME, /* read back: ETIME when RLIMIT_CPU is at most a seconds, and the hard one a second more */
    ACT_PROCESSES, /* read back: EAGAIN when the numbers of processes end at a in this namespace */
    ACT_CORE_SIZE, /* read back: EFBIG when no core of more than a bytes is written (RLIMIT_CORE) */
    ACT_ROUTE,     /* read back: ENETUNREACH when no way leads to the address `name`; nothing is sent */
    ACT_LISTENER, /* connect to the address `name`, port a, and send the nonce: EISCONN when that went, else 0
                   */
    ACT_COUNT
};

struct channel_check {
    uint32_t id; /* the sender's index, answered as it is */
    uint32_t act;
    int32_t fd; /* index into the descriptors, -1: none */
    int32_t spare;
    int64_t a;
    int64_t b;
    char name[CHANNEL_NAME];
};

struct channel_checks {
    uint32_t type; /* CHANNEL_CHECKS */
    uint32_t count;
    uint8_t nonce[CHANNEL_NONCE];
    struct channel_check check[CHANNEL_CHECKS_MAX]; /* only `count` of them are sent */
};

struct channel_result {
    uint32_t id;
    int32_t errnum; /* 0: the act went through */
};

struct channel_results {
    uint32_t type; /* CHANNEL_RESULTS */
    uint32_t count;
    struct channel_result result[CHANNEL_CHECKS_MAX]; /* only `count` of them are sent */
};

/* The sockets that namespace-run has made for its `--listen` words. */
struct channel_listeners {
    uint32_t type; /* CHANNEL_LISTENERS */
    uint32_t count;
    uint32_t index[CHANNEL_DESCRIPTORS]; /* of each descriptor: which of the words it stands for, from 0 */
};

/* GUARD, HERE, GO, EXEC_FAILED, CANNOT, HELD, TERMINAL and OBSERVED. */
struct channel_word {
    uint32_t type;
    int32_t value; /* HERE: CHANNEL_VERSION; EXEC_FAILED: errno; CANNOT: step << 16 | errno; HELD: pid 1, as
                      seen outside; OBSERVED: errno where no descriptor comes along; else 0 */
};

#endif
