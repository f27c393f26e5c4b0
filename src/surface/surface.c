/*
 * surface.c - the table of the vocabulary: the single source for code, report, manual and tests.
 */
#include "surface/surface.h"

#include <string.h>

#define ROW(id, name, group, shown, claimed, what, instead)                                                  \
    [SURFACE_##id] = {name, group, what, instead, SHOWN_##shown, CLAIMED_##claimed}

#define NOTHING_HOLDS "nothing holds it as a whole, so there is nothing to open"
#define OWN_TERMINAL  "give the command a terminal of its own: --tty private"
#define NO_LIMIT      "leave the limit out"

/* clang-format off */
const struct surface_info surface_table[SURFACE_COUNT] = {
    ROW(FS_READ, "fs.read", "file", TRIED, BY_READABLE, "files outside the readable set can be read",
        "nothing holds it without --readable listed; with that, name what may be read: --read PATH"),
    ROW(FS_WRITE, "fs.write", "file", TRIED, BY_MODE, "files outside the grants can be written, created, renamed or removed",
        "name what may be written: --write PATH"),
    ROW(FS_TRUNCATE, "fs.truncate", "file", TRIED, BY_MODE, "files outside the grants can be cut short",
        "name what may be written: --write PATH"),
    ROW(FS_METADATA, "fs.metadata", "file", TRIED, BY_MODE, "mode, owner, times and attributes of the caller's files outside can be changed",
        NULL),
    ROW(FS_DEVICE, "fs.device", "file", TRIED, BY_MODE, "device nodes that were not granted can be opened and driven",
        "name the node: --device PATH"),
    ROW(FS_SPECIAL, "fs.special", "file", TRIED, BY_MODE, "FIFOs outside can be written",
        "name the FIFO: --write PATH"),
    ROW(FS_HIDDEN, "fs.hidden", "file", TRIED, BY_MODE, "credentials and other hidden paths can be read or listed",
        NULL),
    ROW(FS_PROTECTED, "fs.protected", "file", TRIED, BY_MODE, "protected names inside a writable tree can be changed",
        NULL),
    ROW(FS_ALIAS, "fs.alias", "file", TRIED, NEVER, "a writable file that has another name outside (a hard link) changes there too",
        NOTHING_HOLDS),
    ROW(FS_WATCH, "fs.watch", "file", TRIED, NEVER, "locks, leases and watches can be taken on files that may be read",
        NOTHING_HOLDS),
    ROW(NET_TCP, "net.tcp", "network", TRIED, BY_NETWORK_NONE, "TCP connections can be made or accepted",
        NULL),
    ROW(NET_UDP, "net.udp", "network", TRIED, BY_NETWORK_NONE, "UDP datagrams can be sent or received",
        NULL),
    ROW(NET_OTHER, "net.other", "network", TRIED, BY_NETWORK_NONE, "other socket families (raw, packet, netlink, vsock, alg and so on) can be used",
        NULL),
    ROW(NET_LISTED, "net.listed", "network", TRIED, BY_LISTED, "hosts that are not on the list can be reached",
        NULL),
    ROW(UNIX_PATH, "unix.path", "ipc", TRIED, BY_MODE, "services outside can be reached by pathname sockets",
        NULL),
    ROW(UNIX_ABSTRACT, "unix.abstract", "ipc", TRIED, BY_MODE, "services outside can be reached by abstract sockets",
        NULL),
    ROW(IPC_SYSV, "ipc.sysv", "ipc", TRIED, BY_MODE, "System V shared memory, semaphores and queues outside can be used",
        NULL),
    ROW(IPC_MQUEUE, "ipc.mqueue", "ipc", SENTINEL, BY_MODE, "POSIX message queues outside can be used",
        "none of them can be reached by any backend; a pipe or a socket pair works inside"),
    ROW(IPC_KEYRING, "ipc.keyring", "ipc", TRIED, BY_MODE, "the kernel keyrings of the user can be used",
        NULL),
    ROW(PROC_SIGNAL, "proc.signal", "process", TRIED, BY_MODE, "processes outside can be signalled",
        NULL),
    ROW(PROC_TRACE, "proc.trace", "process", TRIED, BY_MODE, "processes outside can be traced, read or written",
        "inside, tracing needs nothing opened; of processes outside it is never allowed"),
    ROW(PROC_ADJUST, "proc.adjust", "process", TRIED, BY_MODE, "limits, priority and affinity of processes outside can be changed",
        NULL),
    ROW(PROC_VISIBLE, "proc.visible", "process", TRIED, BY_MODE, "processes outside can be seen, with their command lines",
        NULL),
    ROW(PROC_SURVIVOR, "proc.survivor", "process", END, BY_MODE, "processes can outlive the run",
        "a process that is to live on belongs outside; --wait-all waits for it"),
    ROW(PRIV_SETUID, "priv.setuid", "privilege", READ_BACK, BY_MODE, "set-id programs and file capabilities give privileges",
        "nothing is confined without no_new_privs; what needs such a program belongs outside"),
    ROW(PRIV_CAPS, "priv.caps", "privilege", READ_BACK, BY_MODE, "the command holds capabilities",
        "with capabilities a command could undo its confinement; what needs them belongs outside"),
    ROW(PRIV_USERNS, "priv.userns", "privilege", SENTINEL, BY_MODE, "new user namespaces give capabilities inside",
        NULL),
    ROW(KERNEL_SYSCALLS, "kernel.syscalls", "kernel", SENTINEL, BY_MODE, "the whole system call interface of the kernel can be attacked",
        NULL),
    ROW(KERNEL_SEPARATE, "kernel.separate", "kernel", TRIED, NEVER, "the command shares the kernel with the host",
        NOTHING_HOLDS),
    ROW(FD_INHERITED, "fd.inherited", "inherited", TRIED, BY_MODE, "descriptors of the caller reach the command",
        "name the descriptor: --pass-fd N"),
    ROW(FD_PASSED, "fd.passed", "inherited", TRIED, NEVER, "a helper outside can hand a descriptor in",
        NOTHING_HOLDS),
    ROW(ENV_SECRETS, "env.secrets", "inherited", READ_BACK, BY_MODE, "environment variables that look like secrets reach the command",
        "name the variable: --env NAME"),
    ROW(TTY_READ, "tty.read", "inherited", READ_BACK, BY_MODE, "the command can read what is typed at the caller's terminal",
        OWN_TERMINAL),
    ROW(TTY_INJECT, "tty.inject", "inherited", READ_BACK, BY_MODE, "the command can type into the caller's terminal",
        OWN_TERMINAL),
    ROW(TTY_STATE, "tty.state", "inherited", READ_BACK, BY_MODE, "the command can change the modes of the caller's terminal",
        OWN_TERMINAL),
    ROW(LIMIT_TIME, "limit.time", "limits", END, BY_LIMIT, "the run may take any time",
        NO_LIMIT),
    ROW(LIMIT_MEMORY, "limit.memory", "limits", READ_BACK, BY_LIMIT, "the run may take any memory",
        NO_LIMIT),
    ROW(LIMIT_PROCESSES, "limit.processes", "limits", READ_BACK, BY_LIMIT, "the run may start any number of processes",
        NO_LIMIT),
    ROW(LIMIT_OUTPUT, "limit.output", "limits", END, BY_LIMIT, "the run may write any amount of output",
        NO_LIMIT),
    ROW(LIMIT_FILE_SIZE, "limit.file_size", "limits", READ_BACK, BY_LIMIT, "the run may write files of any size",
        NO_LIMIT),
    ROW(LIMIT_TMP_SIZE, "limit.tmp_size", "limits", END, BY_LIMIT, "the run may fill the temp directory",
        NO_LIMIT),
    ROW(LIMIT_CPU, "limit.cpu", "limits", READ_BACK, BY_LIMIT, "the run may take any processor time",
        NO_LIMIT),
    ROW(LATER_EXEC, "later.exec", "later", END, NEVER, "something written now may be run outside afterwards",
        NOTHING_HOLDS),
    ROW(LATER_CRASH, "later.crash", "later", READ_BACK, NEVER, "a crash may start a handler outside on the command's image",
        NOTHING_HOLDS),
};
/* clang-format on */

int surface_by_name(const char *name)
{
    for (int i = 0; i < SURFACE_COUNT; i++)
        if (strcmp(surface_table[i].name, name) == 0)
            return i;
    return -1;
}

bool surface_is_group(const char *name)
{
    for (int i = 0; i < SURFACE_COUNT; i++)
        if (strcmp(surface_table[i].group, name) == 0)
            return true;
    return false;
}

const char *state_name(enum surface_state state)
{
    static const char *const names[] = {
        [STATE_OPEN] = "open",
        [STATE_PARTIAL] = "partial",
        [STATE_ENFORCED] = "enforced",
        [STATE_ABSENT] = "absent",
    };

    return names[state];
}

const char *evidence_name(enum evidence evidence)
{
    static const char *const names[] = {
        [EVIDENCE_NONE] = "none",
        [EVIDENCE_DECLARED] = "declared",
        [EVIDENCE_PROBED] = "probed",
        [EVIDENCE_ATTESTED] = "attested",
    };

    return names[evidence];
}

const char *shown_name(enum shown shown)
{
    static const char *const names[] = {
        [SHOWN_TRIED] = "tried",
        [SHOWN_READ_BACK] = "read-back",
        [SHOWN_SENTINEL] = "sentinel",
        [SHOWN_END] = "end",
    };

    return names[shown];
}

const char *mechanism_name(enum mechanism mechanism)
{
    static const char *const names[MECHANISM_COUNT] = {
        [MECHANISM_NONE] = "none",
        [MECHANISM_LANDLOCK] = "landlock",
        [MECHANISM_LANDLOCK_HIDE] = "landlock-hide",
        [MECHANISM_LANDLOCK_SCOPE] = "landlock-scope",
        [MECHANISM_SECCOMP] = "seccomp",
        [MECHANISM_CAPABILITIES] = "capabilities",
        [MECHANISM_NO_NEW_PRIVS] = "no-new-privs",
        [MECHANISM_DETACH] = "detach",
        [MECHANISM_GUARD] = "guard",
        [MECHANISM_ENVIRONMENT] = "environment",
        [MECHANISM_SUPERVISOR] = "supervisor",
        [MECHANISM_RLIMIT] = "rlimit",
        [MECHANISM_MOUNT] = "mount",
        [MECHANISM_NET_NAMESPACE] = "net-namespace",
        [MECHANISM_IPC_NAMESPACE] = "ipc-namespace",
        [MECHANISM_PID_NAMESPACE] = "pid-namespace",
        [MECHANISM_CGROUP] = "cgroup",
        [MECHANISM_GATEWAY] = "gateway",
    };

    return names[mechanism];
}
