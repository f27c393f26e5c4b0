/*
 * host.c - the cheap facts a plan needs.
 */
#include "host/host.h"

#include "links/kernel_abi.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PROC_SUPER_MAGIC 0x9fa0

/* One small number from a /proc file, -1 if there is none. */
static int read_number(const char *path)
{
    _cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[16];
    ssize_t size;

    if (fd < 0)
        return -1;
    size = read(fd, text, sizeof(text) - 1);
    if (size <= 0 || text[0] < '0' || text[0] > '9')
        return -1;
    return text[0] - '0';
}

/* What stands on 0 to 2 decides what an unsupervised command can do with it. */
static void look_at_descriptors(struct host *host)
{
    _cleanup_fd_ int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);

    host->terminal = terminal >= 0;
    for (int fd = 0; fd < 3; fd++) {
        struct stat object;

        if (fstat(fd, &object) != 0)
            continue;
        handed_look(&host->standard, fd);
        host->regular |= S_ISREG(object.st_mode);
        host->terminal |= isatty(fd) != 0;
    }
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
    host->proc = statfs("/proc", &proc) == 0 && proc.f_type == PROC_SUPER_MAGIC;
    look_at_descriptors(host);
    host->yama = read_number("/proc/sys/kernel/yama/ptrace_scope");
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
