/*
 * audit-run.c - have the kernel's audit told of what is refused to the command.
 *
 *     audit-run [--ro PATH]... [--rw PATH]... -- COMMAND [ARG]...
 *
 * One more layer of Landlock, with the grants of the landlock-run before it: what that one refuses, this one
 * refuses as well, and the kernel reports a refusal for the youngest layer that makes it. It reports what
 * comes after the next exec. The layer is laid when nothing is tried any more, because the kernel also counts
 * what it does not report, and its sum is to be that of the command's refusals.
 *
 * Should:  refuse nothing that landlock-run does not refuse.
 * Mustn't: be relied on for anything: it is no boundary, and shows none.
 */
#include "domain.h"

#define HANDLED     (((LANDLOCK_FS_IOCTL_DEV) << 1) - 1)
#define READ_ACCESS (LANDLOCK_FS_EXECUTE | LANDLOCK_FS_READ_FILE | LANDLOCK_FS_READ_DIR)

/* On what is no directory the rights of directories are EINVAL. */
static void grant(const struct chain *chain, int ruleset, const char *path, uint64_t access)
{
    int fd = domain_open(chain, path);

    if (landlock_allow_path(ruleset, fd, access) != 0)
        domain_allow(chain, ruleset, fd, access & landlock_file_mask(), path);
    domain_close(fd, path);
}

/* Goes through the options; with a RULESET of -1 they are only looked at. Return: the index of the first word
 * that is no option. */
static size_t each_path(const struct chain *chain, int ruleset)
{
    const char *path;
    size_t at = 1;

    while (chain->argv[at]) {
        uint64_t access = HANDLED;

        if (chain_option(chain, &at, "--ro", &path))
            access = READ_ACCESS;
        else if (!chain_option(chain, &at, "--rw", &path))
            break;
        if (ruleset >= 0)
            grant(chain, ruleset, path, access);
    }
    return at;
}

static int left = -1; /* the ruleset, to be entered later */

static void audit_later(struct chain *chain)
{
    domain_enter_logging(chain, left, LANDLOCK_LOG_SAME_EXEC_OFF | LANDLOCK_LOG_NEW_EXEC_ON);
}

/*
 * audit_run() - the link; see the head of this file.
 *
 * Return: never, but through a fused next link.
 */
int audit_run(struct chain *chain)
{
    struct landlock_ruleset_attr attr = {.handled_access_fs = HANDLED};
    char **command;

    chain_set_dumpable(chain, false);
    command = chain_command(chain, each_path(chain, -1));
    domain_need(chain, domain_abi(chain), LANDLOCK_LOG_SINCE, "audit");
    left = domain_ruleset(chain, &attr);
    each_path(chain, left);
    chain->later = audit_later;
    if (!chain->fused)
        chain_do_later(chain);
    return chain_hand_over(chain, command);
}

LINK_MAIN("audit-run", audit_run)
