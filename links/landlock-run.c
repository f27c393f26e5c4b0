/*
 * landlock-run.c - confine access to file data and devices, by allow-list.
 *
 *     landlock-run [--ro PATH]... [--rw PATH]... -- COMMAND [ARG]...
 *     landlock-run --probe
 *
 * Every file right up to number 15 that the kernel has is handled; --ro grants
 * execute, read and list, --rw grants all of them. Network, sockets and
 * signals are left alone: a caller's own server on loopback works.
 *
 * Should:  grant exactly what was named, opened once, before restricting; show
 *          by a pair that the domain is real; leave the command's status and
 *          everything inherited as they are.
 * Mustn't: go on when a path is missing or a kernel lies; log (a log flag would
 *          let any command fill the machine's audit log); learn another option.
 */
#include "control.h"
#include "domain.h"

#define FIRST_ABI_HANDLED_WHOLE 5 /* rights 0 to 15 are all there */

#define HANDLED_RIGHTS (((LANDLOCK_FS_IOCTL_DEV) << 1) - 1) /* 0 to 15; 16 is about sockets: scope-run's */
#define READ_RIGHTS    (LANDLOCK_FS_EXECUTE | LANDLOCK_FS_READ_FILE | LANDLOCK_FS_READ_DIR)

#define PROBE_HELD 42 /* the probe child's status; 0 would be what a program that did nothing ends with */

/* Grants ACCESS on PATH; on what is no directory the rights of directories are EINVAL, and only the others
 * meant. */
static void grant_path(const struct chain *chain, int ruleset, const char *path, uint64_t access)
{
    int fd = domain_open(chain, path), error = landlock_allow_path(ruleset, fd, access);

    if (error)
        domain_allow(chain, ruleset, fd, error == -EINVAL ? access & landlock_file_mask() : access, path);
    domain_close(fd, path);
}

/* Goes through the options; with a RULESET their rules are added, with -1 they are only looked at, so that a
 * usage error is found before anything is opened. Return: the index of the first word that is no option. */
static size_t each_grant(const struct chain *chain, int ruleset, uint64_t handled)
{
    size_t at = 1;

    while (chain->argv[at]) {
        const char *path;
        uint64_t access;

        if (chain_option(chain, &at, "--ro", &path))
            access = READ_RIGHTS;
        else if (chain_option(chain, &at, "--rw", &path))
            access = handled;
        else
            break;
        if (ruleset >= 0)
            grant_path(chain, ruleset, path, access & handled);
    }
    return at;
}

/* What is handled under this ABI. A kernel that reports an old ABI and takes newer rights did not answer the
 * question itself: believing it would leave the newer rights (truncate, device ioctl) open. */
static uint64_t choose_handled(const struct chain *chain, int abi)
{
    struct landlock_ruleset_attr all = {.handled_access_fs = HANDLED_RIGHTS};
    int ruleset;

    if (abi < FIRST_ABI_HANDLED_WHOLE) {
        ruleset = landlock_create(&all);
        if (ruleset >= 0)
            chain_fatal(chain, "Landlock", "the kernel reports an older ABI than it has");
        if (ruleset != -EINVAL)
            chain_fatal_errno(chain, "landlock_create_ruleset", -ruleset);
    }
    return landlock_mask(LANDLOCK_FAMILY_FS, abi) & HANDLED_RIGHTS;
}

/* Restricts this process to the options' grants, and shows it. */
static void enter_domain(const struct chain *chain, int abi)
{
    struct landlock_ruleset_attr attr = {.handled_access_fs = choose_handled(chain, abi)};
    int ruleset = domain_ruleset(chain, &attr);
    struct control control;

    control_start(chain, &control);
    each_grant(chain, ruleset, attr.handled_access_fs);
    control_show(chain, &control);
    domain_enter(chain, ruleset, abi);
    control_restricted(chain, &control);
    control_end(chain, &control);
}

/* The probe: the same steps for real, in a child, granting nothing. Its own fatal line is the one line. */
static int probe_kernel(struct chain *chain, int abi)
{
    const char *verdict = "landlock: fully enforced\n";
    char *nothing[] = {chain->argv[0], NULL};
    pid_t self = getpid(), child;
    int status = 0;
    ssize_t wrote;

    signal(SIGCHLD, SIG_DFL); /* an inherited SIG_IGN would take the child's status away */
    child = fork();
    if (child < 0)
        chain_fatal_errno(chain, "--probe", errno);
    if (child == 0) {
        if (getpid() == self)
            chain_fatal(chain, "--probe", "the kernel reported success but made no child");
        chain->argv = nothing;
        enter_domain(chain, abi);
        chain_reap(chain);
        _exit(PROBE_HELD);
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            chain_fatal_errno(chain, "--probe", errno);
    if (WIFEXITED(status) && WEXITSTATUS(status) == LINK_FAILED)
        return LINK_FAILED;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != PROBE_HELD)
        chain_fatal(chain, "--probe", "the probing child ended unexpectedly");
    if (abi < FIRST_ABI_HANDLED_WHOLE)
        verdict = "landlock: partially enforced (older ABI)\n";
    wrote = write(STDOUT_FILENO, verdict, strlen(verdict));
    if (wrote < 0)
        chain_fatal_errno(chain, "standard output", errno);
    if ((size_t)wrote != strlen(verdict))
        chain_fatal(chain, "standard output", "written only in part");
    return 0;
}

/*
 * landlock_run() - the link; see the head of this file.
 *
 * Return: only of --probe, an exit status.
 */
int landlock_run(struct chain *chain)
{
    char **command;
    size_t at;

    chain_set_dumpable(chain, false);
    if (chain->argv[1] && strcmp(chain->argv[1], "--probe") == 0) {
        if (chain->argv[2])
            chain_fatal(chain, "--probe", "usage: takes no other argument");
        return probe_kernel(chain, domain_abi(chain));
    }
    at = each_grant(chain, -1, 0);
    if (chain->argv[at] && strcmp(chain->argv[at], "--probe") == 0)
        chain_fatal(chain, "--probe", "usage: must be the only argument");
    command = chain_command(chain, at);
    enter_domain(chain, domain_abi(chain));
    return chain_hand_over(chain, command);
}

LINK_MAIN("landlock-run", landlock_run)
