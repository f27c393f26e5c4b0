/*
 * surface.h - the vocabulary: every way out of a confinement has a name.
 *
 * The table in surface.c is the single source for code, report, manual and
 * tests. Zero is the modest value of every enum here: what is forgotten
 * under-claims.
 */
#ifndef CONFINE_SURFACE_SURFACE_H
#define CONFINE_SURFACE_SURFACE_H

#include <stdbool.h>

enum surface {
    SURFACE_FS_READ,
    SURFACE_FS_WRITE,
    SURFACE_FS_TRUNCATE,
    SURFACE_FS_METADATA,
    SURFACE_FS_DEVICE,
    SURFACE_FS_SPECIAL,
    SURFACE_FS_HIDDEN,
    SURFACE_FS_PROTECTED,
    SURFACE_FS_ALIAS,
    SURFACE_FS_WATCH,
    SURFACE_NET_TCP,
    SURFACE_NET_UDP,
    SURFACE_NET_OTHER,
    SURFACE_NET_LISTED,
    SURFACE_UNIX_PATH,
    SURFACE_UNIX_ABSTRACT,
    SURFACE_IPC_SYSV,
    SURFACE_IPC_MQUEUE,
    SURFACE_IPC_KEYRING,
    SURFACE_PROC_SIGNAL,
    SURFACE_PROC_TRACE,
    SURFACE_PROC_ADJUST,
    SURFACE_PROC_VISIBLE,
    SURFACE_PROC_SURVIVOR,
    SURFACE_PRIV_SETUID,
    SURFACE_PRIV_CAPS,
    SURFACE_PRIV_USERNS,
    SURFACE_KERNEL_SYSCALLS,
    SURFACE_KERNEL_SEPARATE,
    SURFACE_FD_INHERITED,
    SURFACE_FD_PASSED,
    SURFACE_ENV_SECRETS,
    SURFACE_TTY_READ,
    SURFACE_TTY_INJECT,
    SURFACE_TTY_STATE,
    SURFACE_LIMIT_TIME,
    SURFACE_LIMIT_MEMORY,
    SURFACE_LIMIT_PROCESSES,
    SURFACE_LIMIT_OUTPUT,
    SURFACE_LIMIT_FILE_SIZE,
    SURFACE_LIMIT_TMP_SIZE,
    SURFACE_LIMIT_CPU,
    SURFACE_LATER_EXEC,
    SURFACE_LATER_CRASH,
    SURFACE_COUNT
};

enum surface_state { STATE_OPEN = 0, STATE_PARTIAL, STATE_ENFORCED, STATE_ABSENT };

enum evidence { EVIDENCE_NONE = 0, EVIDENCE_DECLARED, EVIDENCE_PROBED, EVIDENCE_ATTESTED };

/* How a surface is shown: an act against a canary, a value read back, the filter's sentinel, or seen by the
 * supervisor when the run ends. */
enum shown { SHOWN_TRIED = 0, SHOWN_READ_BACK, SHOWN_SENTINEL, SHOWN_END };

/* When a policy claims a surface without naming it. */
enum claimed {
    CLAIMED_NEVER = 0,
    CLAIMED_BY_MODE,
    CLAIMED_BY_NETWORK_NONE,
    CLAIMED_BY_LISTED,
    CLAIMED_BY_LIMIT,
    CLAIMED_BY_READABLE
};

enum mechanism {
    MECHANISM_NONE = 0,
    MECHANISM_LANDLOCK,       /* landlock-run */
    MECHANISM_LANDLOCK_HIDE,  /* hide-run */
    MECHANISM_LANDLOCK_SCOPE, /* scope-run */
    MECHANISM_SECCOMP,        /* seccomp-run */
    MECHANISM_CAPABILITIES,   /* drop-run */
    MECHANISM_NO_NEW_PRIVS,   /* drop-run */
    MECHANISM_DETACH,         /* detach-run */
    MECHANISM_GUARD,          /* scope-run's guard */
    MECHANISM_ENVIRONMENT,    /* the environment that confine builds */
    MECHANISM_SUPERVISOR,     /* confine run itself: time, relays */
    MECHANISM_RLIMIT,         /* detach-run */
    MECHANISM_MOUNT,          /* namespace-run's view: read-only, private, masked */
    MECHANISM_NET_NAMESPACE,  /* namespace-run */
    MECHANISM_IPC_NAMESPACE,  /* namespace-run */
    MECHANISM_PID_NAMESPACE,  /* namespace-run */
    MECHANISM_CGROUP,         /* a group of processes of the run's own */
    MECHANISM_GATEWAY,        /* who accepts on all that listens in the command's own network */
    MECHANISM_COUNT
};

struct surface_info {
    const char *name;    /* `fs.write` */
    const char *group;   /* `file` … `later`, as --require takes it */
    const char *what;    /* what crosses when it is open: one sentence without a full stop */
    const char *instead; /* --open cannot open it with any backend: what works; NULL: it can */
    enum shown shown;
    enum claimed claimed;
};

extern const struct surface_info surface_table[SURFACE_COUNT];

/* surface_by_name() - Return: the surface, or -1 for an unknown name. */
int surface_by_name(const char *name);

/* surface_is_group() - is @name a group of the table? */
bool surface_is_group(const char *name);

const char *state_name(enum surface_state state);
const char *evidence_name(enum evidence evidence);
const char *shown_name(enum shown shown);
const char *mechanism_name(enum mechanism mechanism);

#endif
