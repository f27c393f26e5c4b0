/*
 * domain.h - the steps that every Landlock link takes, with their errors said once.
 *
 * Should:  tell apart the ways in which a kernel can be without Landlock,
 *          because each has another remedy.
 * Mustn't: take a returned 0 for a domain: that is shown by control.h.
 */
#ifndef CONFINE_LINKS_DOMAIN_H
#define CONFINE_LINKS_DOMAIN_H

#include "chain.h"
#include "kernel_abi.h"

/* domain_no_landlock() - end the link, with what the errno of the version query means. */
_Noreturn static inline void domain_no_landlock(const struct chain *chain, int errnum)
{
    static const struct {
        int errnum;
        const char *why;
    } reasons[] = {
        {ENOSYS, "this kernel has none (Linux 5.13 with CONFIG_SECURITY_LANDLOCK has it), or a system call "
                 "filter hides it"},
        {EOPNOTSUPP,
         "built into this kernel but switched off: `landlock` is missing in the boot option lsm="},
        {EPERM, "a system call filter refuses it (an older container engine's, for instance)"},
    };

    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (reasons[i].errnum == errnum)
            chain_fatal(chain, "Landlock", reasons[i].why);
    chain_fatal_errno(chain, "Landlock", errnum);
}

/* domain_abi() - Return: the kernel's Landlock ABI, 1 or more. Ends the link where there is none. */
static inline int domain_abi(const struct chain *chain)
{
    int abi = landlock_abi();

    if (abi < 0)
        domain_no_landlock(chain, -abi);
    if (abi == 0)
        chain_fatal(chain, "Landlock", "the kernel reports ABI 0, which does not exist");
    return abi;
}

/* domain_need() - end the link when the kernel's ABI is below SINCE; WHAT names the right. */
static inline void domain_need(const struct chain *chain, int abi, int since, const char *what)
{
    if (abi < since)
        chain_fatal(chain, what, "this kernel's Landlock ABI has no such right");
}

/* domain_ruleset() - Return: a ruleset that handles what ATTR says. Ends the link on failure. */
static inline int domain_ruleset(const struct chain *chain, const struct landlock_ruleset_attr *attr)
{
    int ruleset = landlock_create(attr);

    if (ruleset < 0)
        chain_fatal_errno(chain, "landlock_create_ruleset", -ruleset);
    return ruleset;
}

static inline bool is_path_descriptor(int fd)
{
    long flags = kernel_call(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0);

    return flags >= 0 && (flags & O_PATH);
}

/* domain_number() - Return: N where PATH is /proc/self/fd/N, else -1. */
static inline int domain_number(const char *path)
{
    static const char prefix[] = "/proc/self/fd/";
    const char *c;
    int fd = 0;

    if (strncmp(path, prefix, sizeof(prefix) - 1) != 0)
        return -1;
    c = path + sizeof(prefix) - 1;
    if (*c == '\0')
        return -1;
    for (; *c; c++) {
        if (*c < '0' || *c > '9' || fd > (INT_MAX - 9) / 10)
            return -1;
        fd = fd * 10 + (*c - '0');
    }
    return fd;
}

/*
 * domain_open() - open PATH for a rule, whatever it is.
 *
 * /proc/self/fd/N means descriptor N itself: to open it once more finds the
 * same object, at five times the price, and a rule asks for no more than its
 * path. One that is not open, the rule refuses.
 *
 * A faked open answers the number of a descriptor that is something else, and
 * the grant would be that thing's: what we opened is known by its O_PATH.
 *
 * Return: a descriptor, for domain_close(). Ends the link on failure.
 */
static inline int domain_open(const struct chain *chain, const char *path)
{
    int fd = domain_number(path);

    if (fd >= 0)
        return fd;
    fd = (int)kernel_call(SYS_openat, AT_FDCWD, KERNEL_PTR(path), O_PATH | O_CLOEXEC, 0, 0, 0);
    if (fd < 0)
        chain_fatal_errno(chain, path, -fd);
    if (!is_path_descriptor(fd))
        chain_fatal(chain, path, "the kernel reported success but did not open it");
    return fd;
}

/* domain_close() - the end of domain_open(): closes FD unless PATH meant a descriptor that was there before.
 */
static inline void domain_close(int fd, const char *path)
{
    if (domain_number(path) != fd)
        close(fd);
}

/* domain_allow() - grant ACCESS on what FD is open on. Ends the link on failure, naming PATH. */
static inline void domain_allow(const struct chain *chain, int ruleset, int fd, uint64_t access,
                                const char *path)
{
    int error = landlock_allow_path(ruleset, fd, access);

    if (error == -EBADFD)
        chain_fatal(chain, path,
                    "Landlock takes no rule on this kind of object (a pipe, a namespace, a memory file)");
    if (error)
        chain_fatal_errno(chain, path, -error);
}

/*
 * domain_no_new_privs() - no set-id program and no file capability lifts what comes after.
 *
 * Read back, because root may restrict itself without it: a filter's answer of 0 would go unnoticed.
 */
static inline void domain_no_new_privs(const struct chain *chain)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        chain_fatal_errno(chain, "no_new_privs", errno);
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
        chain_fatal(chain, "no_new_privs", "the kernel reported success but it is not set");
}

/* domain_enter_logging() - restrict this process by RULESET, and close it; FLAGS say what the kernel's audit
 * gets of it. Ends the link on failure. */
static inline void domain_enter_logging(const struct chain *chain, int ruleset, uint32_t flags)
{
    int error;

    domain_no_new_privs(chain);
    error = landlock_restrict(ruleset, flags);
    if (error == -E2BIG)
        chain_fatal(chain, "landlock_restrict_self",
                    "16 Landlock layers are in force already, the most that there can be: too deeply nested");
    if (error)
        chain_fatal_errno(chain, "landlock_restrict_self", -error);
    close(ruleset);
}

/* domain_enter() - the same under the kernel's ABI, and the audit gets nothing: what the links try, to show
 * that they hold, is no refusal that anybody should read of. */
static inline void domain_enter(const struct chain *chain, int ruleset, int abi)
{
    domain_enter_logging(chain, ruleset, abi >= LANDLOCK_LOG_SINCE ? LANDLOCK_LOG_SAME_EXEC_OFF : 0);
}

#endif
