/*
 * cannot.c - which switch of the machine it is that refuses namespaces, and what its administrator can do.
 *
 * The kernel answers with an errno that a dozen switches share. So the switches are looked at: those that
 * exist and are set explain the answer; where none is, the hint names all that answer like this.
 *
 * Should:  call structural only what a switch, a filter or a missing part of the kernel refuses: it refuses
 *          tomorrow as well.
 * Mustn't: call structural what a limit refuses that somebody else can use up (EAGAIN, ENOMEM, ENOSPC,
 * EMFILE), or what comes of a name that was replaced meanwhile (ENOENT): a neighbour, or another run in the
 * same workspace, could then choose the backend of this one.
 */
#include "host/host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A number in a file of /proc, -1 if there is none. */
static long read_switch(const char *path)
{
    char text[32], *end;
    long value;

    if (file_read(AT_FDCWD, path, text, sizeof(text)) <= 0)
        return -1;
    value = strtol(text, &end, 10);
    return end == text ? -1 : value;
}

/* The number behind NAME in what the kernel says of this process, @otherwise if it says none. */
static uint64_t read_status(const char *name, int base, uint64_t otherwise)
{
    _cleanup_fd_ int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    const char *line;
    size_t length;

    if (fd < 0 || fd_read_all(fd, 65536, &text, &length) < 0)
        return otherwise;
    line = strstr(text, name);
    return line ? strtoull(line + strlen(name), NULL, base) : otherwise;
}

bool host_is_filtered(void)
{
    return read_status("\nSeccomp:", 10, 0) == 2;
}

/* Does root lack CAP_SETGID, CAP_SETUID or CAP_SETFCAP, by which its number is given to a user namespace? */
static bool is_bare_root(void)
{
    const uint64_t needed = UINT64_C(1) << 6 | UINT64_C(1) << 7 | UINT64_C(1) << 31; /* in that order */

    return geteuid() == 0 && (read_status("\nCapEff:", 16, needed) & needed) != needed;
}

/* The lines of packaging/apparmor, for programs below PREFIX. */
static const char *const profile[] = {
#include "apparmor_profile.h"
};

/* Adds what snprintf() has room for. Return: the length now. */
static size_t add(char *hint, size_t size, size_t length, const char *text, size_t count)
{
    if (length < size)
        snprintf(hint + length, size - length, "%.*s", (int)count, text);
    return length + count;
}

/* Ubuntu's: the profile names both programs, ours and the links'. */
static void hint_apparmor(char *hint, size_t size)
{
    static const char word[] = "PREFIX", begin[] = "as root: printf '%s\\n'",
                      end[] = " >/etc/apparmor.d/confine && apparmor_parser -r /etc/apparmor.d/confine";
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    const char *prefix = word;
    char *slash = NULL;
    size_t used = add(hint, size, 0, begin, sizeof(begin) - 1);

    self[length > 0 ? length : 0] = '\0';
    for (int i = 0; i < 2; i++) {
        slash = strrchr(self, '/');
        if (slash)
            *slash = '\0';
    }
    /* A blank or a quote in it would need AppArmor's own quoting; one that is long would not leave room for
     * the rest. */
    if (slash && !strpbrk(self, " \t\n\"'\\{}*?[]") && strlen(self) < 160)
        prefix = self;
    for (size_t i = 0; i < ARRAY_SIZE(profile); i++) {
        const char *place = strstr(profile[i], word), *rest = place ? place + strlen(word) : profile[i];

        used = add(hint, size, used, " '", 2);
        if (place) {
            used = add(hint, size, used, profile[i], (size_t)(place - profile[i]));
            used = add(hint, size, used, prefix, strlen(prefix));
        }
        used = add(hint, size, used, rest, strlen(rest));
        used = add(hint, size, used, "'", 1);
    }
    add(hint, size, used, end, sizeof(end) - 1);
}

static bool is_max_zero(void)
{
    return read_switch("/proc/sys/user/max_user_namespaces") == 0;
}

static bool is_max_net_zero(void)
{
    return read_switch("/proc/sys/user/max_net_namespaces") == 0;
}

static bool is_clone_off(void)
{
    return geteuid() != 0 && read_switch("/proc/sys/kernel/unprivileged_userns_clone") == 0;
}

static bool is_apparmor(void)
{
    return read_switch("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1;
}

/* Only root takes one away, and it is still not there. */
static bool is_node_missing(void)
{
    return host_look_nodes() < 0;
}

static bool is_missing(void)
{
    return access("/proc/self/ns/user", F_OK) != 0 && errno == ENOENT;
}

#define STEP(step) (1U << (step))
#define USER       (STEP(CANNOT_USERNS) | STEP(CANNOT_MAPS))
#define ANY        (USER | STEP(CANNOT_MOUNT) | STEP(CANNOT_NET))

/* The first row that fits is taken. `errnums` 0-terminated, empty: any that is no limit. */
static const struct cause {
    unsigned steps;
    int errnums[8];
    bool (*is)(void);
    const char *reason, *why, *hint; /* hint NULL: AppArmor's */
} causes[] = {
    {STEP(CANNOT_USERNS),
     {ENOSPC},
     is_max_zero,
     "userns-denied",
     "user namespaces are switched off on this machine (user.max_user_namespaces is 0)",
     "as root: sysctl -w user.max_user_namespaces=15000, and a file with that line in /etc/sysctl.d"},
    {STEP(CANNOT_NET),
     {ENOSPC},
     is_max_net_zero,
     "netns-denied",
     "network namespaces are switched off on this machine (user.max_net_namespaces is 0)",
     "as root: sysctl -w user.max_net_namespaces=15000, and a file with that line in /etc/sysctl.d"},
    {USER,
     {EPERM},
     is_clone_off,
     "userns-denied",
     "user namespaces are for root alone on this machine (kernel.unprivileged_userns_clone is 0)",
     "as root: sysctl -w kernel.unprivileged_userns_clone=1, and a file with that line in /etc/sysctl.d"},
    {ANY,
     {EPERM, EACCES},
     is_apparmor,
     "userns-denied",
     "AppArmor takes the capabilities in a user namespace from programs without a profile "
     "(kernel.apparmor_restrict_unprivileged_userns is 1)",
     NULL},
    {USER,
     {EINVAL, ENOSYS},
     is_missing,
     "no-userns",
     "the kernel was built without user namespaces",
     "run a kernel with CONFIG_USER_NS"},
    {STEP(CANNOT_PROC),
     {0},
     NULL,
     "proc-masked",
     "a fresh /proc may not be mounted, as in a container that masks parts of its own",
     "give the container an unmasked /proc: docker run --security-opt systempaths=unconfined, podman run "
     "--security-opt unmask=ALL, in Kubernetes securityContext.procMount: Unmasked with hostUsers: false"},
    {USER,
     {EPERM, ENOSYS, EACCES},
     host_is_filtered,
     "userns-denied",
     "user namespaces are refused, and confine runs under a system call filter, as containers have one",
     "let the container's filter allow unshare, clone, setns and mount: docker run --security-opt "
     "seccomp=unconfined --security-opt systempaths=unconfined (with docker's AppArmor profile also "
     "--security-opt apparmor=unconfined)"},
    {USER,
     {EPERM},
     is_bare_root,
     "userns-denied",
     "root's number is given to a user namespace by CAP_SETUID, CAP_SETGID and CAP_SETFCAP, and root has not "
     "all "
     "of them here",
     "run confine as an ordinary user (docker run --user UID, runAsUser in Kubernetes), or let the container "
     "keep these capabilities"},
    {USER,
     {0},
     NULL,
     "userns-denied",
     "user namespaces are refused to this user",
     "look at user.max_user_namespaces, kernel.unprivileged_userns_clone, AppArmor's or SELinux's log, the "
     "system call filter of a container, and whether this is a chroot, where there are none"},
    {STEP(CANNOT_MOUNT),
     {ENOENT},
     is_node_missing,
     "no-device",
     "one of /dev/null, zero, full, random, urandom and tty is not there, or no device, and every view has "
     "them",
     "have it made by whoever made this /dev, or use --backend landlock, which shows /dev as it is"},
    {STEP(CANNOT_MOUNT),
     {ENOSYS, EINVAL},
     NULL,
     "mount-denied",
     "the kernel lacks a call that a private view is made with",
     "run Linux 5.12 or newer, or let the filter that confine runs under allow openat2, open_tree, "
     "move_mount and "
     "mount_setattr"},
    {STEP(CANNOT_MOUNT),
     {EPERM, EACCES, ENODEV, EOPNOTSUPP},
     NULL,
     "mount-denied",
     "mounts are refused in a namespace of one's own, as inside another sandbox, or by a container's "
     "AppArmor "
     "profile or system call filter",
     "let the container mount: docker run --security-opt apparmor=unconfined --security-opt "
     "seccomp=unconfined; inside another confine only the backend landlock works"},
    {STEP(CANNOT_NET),
     {0},
     NULL,
     "netns-denied",
     "a network namespace is refused",
     "run a kernel with CONFIG_NET_NS, and let the container's filter allow unshare and AF_INET sockets"},
    {STEP(CANNOT_NUMBERS),
     {0},
     NULL,
     "no-cgroup",
     "the number of processes can be limited neither by a group (cgroup) of this user nor by a process "
     "namespace, which needs Linux 6.14",
     HOST_GROUP_HINT},
    {STEP(CANNOT_OVERLAY),
     {EPERM, EACCES, ENODEV, EOPNOTSUPP, EINVAL, ENOSYS},
     NULL,
     "no-overlay",
     "an overlay is refused in a user namespace",
     "run Linux 5.11 or newer with CONFIG_OVERLAY_FS, on a file system that an overlay can lie on"},
};

static bool is_limit(int errnum)
{
    static const int limits[] = {EAGAIN, ENOMEM, ENOSPC, EMFILE, ENFILE, EDQUOT,
                                 EUSERS, EINTR,  EBUSY,  EIO,    EPIPE,  ETIMEDOUT};

    for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
        if (limits[i] == errnum)
            return true;
    return false;
}

static bool fits(const struct cause *cause, int step, int errnum)
{
    bool listed = cause->errnums[0] == 0 && !is_limit(errnum);

    if (step <= CANNOT_NOTHING || step >= CANNOT_OTHER || !(cause->steps & STEP(step)))
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(cause->errnums) && cause->errnums[i]; i++)
        listed |= cause->errnums[i] == errnum;
    return listed && (!cause->is || cause->is());
}

void host_cannot(struct host_lack *lack, int step, int errnum)
{
    *lack = (struct host_lack){.surface = "", .errnum = errnum};
    for (size_t i = 0; i < ARRAY_SIZE(causes) && !lack->reason; i++) {
        if (!fits(&causes[i], step, errnum))
            continue;
        lack->reason = causes[i].reason;
        lack->why = causes[i].why;
        lack->structural = true;
        if (causes[i].hint)
            snprintf(lack->hint, sizeof(lack->hint), "%s", causes[i].hint);
        else
            hint_apparmor(lack->hint, sizeof(lack->hint));
    }
    if (lack->reason)
        return;
    lack->reason = is_limit(errnum) ? "limit-reached" : "set-up-failed";
    lack->why = is_limit(errnum) ? "the machine had no room for it at that moment"
                                 : "a step failed that works where namespaces work at all";
    snprintf(lack->hint, sizeof(lack->hint), "%s",
             is_limit(errnum)
                 ? "try again; if it stays so, look at the limits of processes, open files, memory "
                   "and namespaces (sysctl user)"
                 : "`confine probe` says what this machine can do");
}

int host_lack_error(struct error *error, const struct host_lack *lack, const char *what)
{
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, lack->errnum, lack->reason,
              "%s cannot be used here: %s%s%s%s", what, lack->why, lack->errnum ? " (" : "",
              lack->errnum ? strerror(lack->errnum) : "", lack->errnum ? ")" : "");
    error->structural = lack->structural;
    if (*lack->surface)
        error_surface(error, lack->surface);
    return error_hint(error, "%s", lack->hint);
}
