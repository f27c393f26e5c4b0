/*
 * host.c - the cheap facts a plan needs.
 */
#include "host/host.h"

#include "kernel/audit.h"
#include "kernel/object.h"
#include "links/kernel_abi.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* What stands on 0 to 2 decides what an unsupervised command can do with it. */
static void look_at_descriptors(struct host *host)
{
    _cleanup_fd_ int terminal = -1;

    for (int fd = 0; fd < 3; fd++)
        handed_look(&host->standard, fd);
    host->interactive = isatty(0) && isatty(1);
    host->regular = host->standard.regular;
    host->terminal = host->standard.terminal;
    if (host->terminal)
        return;
    terminal = openat(AT_FDCWD, "/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    host->terminal = terminal >= 0;
}

void host_look(struct host *host)
{
    struct statfs proc;
    int abi = landlock_abi();
    int errata = landlock_errata();

    *host = (struct host){.uid = getuid(), .gid = getgid()};
    if (abi > 0)
        host->landlock_abi = abi;
    else
        host->landlock_errno = abi < 0 ? -abi : ENOSYS;
    host->landlock_errata = abi > 0 && errata > 0 ? (unsigned)errata : 0;
    /* EFAULT is the answer of a kernel that knows filters to a filter that cannot be read. */
    host->seccomp = prctl(PR_SET_SECCOMP, 2 /* SECCOMP_MODE_FILTER */, NULL, 0, 0) < 0 && errno == EFAULT;
    host->proc = statfs("/proc", &proc) == 0 && proc.f_type == STATFS_PROC_TYPE;
    host->no_tmp = access("/tmp/.", F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
    look_at_descriptors(host);
}

int host_look_nodes(void)
{
    for (const char *const *node = object_nodes; *node; node++) {
        struct stat seen;

        if (stat(*node, &seen) != 0 || !S_ISCHR(seen.st_mode))
            return -ENOENT;
    }
    return 0;
}

int host_refuse_tmp(const struct host *host, struct error *error)
{
    if (!host->no_tmp)
        return 0;
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, ENOENT, "no-tmp",
              "there is no directory /tmp here, and a view cannot have a private one without it");
    return error_hint(error,
                      "make it (mkdir -m 1777 /tmp), or use the backend landlock with TMPDIR or --tmp DIR");
}

void host_ask_audit(struct host *host)
{
    host->audit_lack = host->landlock_abi < LANDLOCK_LOG_SINCE ? "no-records" : audit_unreadable();
    host->audit = host->audit_lack ? HOST_NO : HOST_YES;
}

const char *host_no_landlock_reason(const struct host *host, const char **ret_why, const char **ret_hint)
{
    static const struct {
        int errnum;
        const char *reason, *why, *hint;
    } answers[] = {
        {EOPNOTSUPP, "landlock-not-enabled", "the kernel has Landlock, but it was not enabled at boot",
         "add landlock to the kernel's lsm= list"},
        {EPERM, "landlock-filtered", "a system call filter around confine refuses Landlock",
         "allow the landlock_* calls in the container's seccomp profile"},
        {EACCES, "landlock-filtered", "a system call filter around confine refuses Landlock",
         "allow the landlock_* calls in the container's seccomp profile"},
        {ENOSYS, "no-landlock",
         "the kernel answers that it does not know Landlock (older than 5.13, built without it, or a filter "
         "says so)",
         "run Linux 5.13 or newer with CONFIG_SECURITY_LANDLOCK, or allow the landlock_* calls in the "
         "container"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
        if (answers[i].errnum == host->landlock_errno || i == ARRAY_SIZE(answers) - 1) {
            *ret_why = answers[i].why;
            *ret_hint = answers[i].hint;
            return answers[i].reason;
        }
    return NULL;
}
