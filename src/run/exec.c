/*
 * exec.c - `confine exec`: become the chain.
 *
 * There is no supervisor, so there are no canaries that would have to be looked at: only checks that decide
 * by their answer alone are made, by attest-run, whose controls are acted out here just before.
 */
#include "run/run.h"

#include "links/chain.h"
#include "run/attest.h"
#include "run/forerunner.h"
#include "run/launcher.h"
#include "run/run_error.h"
#include "run/spawn.h"

#include <unistd.h>

/*
 * An exec costs an eighth of the whole start. The links are the same functions in this program as in
 * confine-launch, from the same installation, which was looked at just the same; the first of them closes
 * what it was not told to keep, and makes the process undumpable.
 *
 * Only where the exec of the command leaves nothing of the chain behind: a process that stays (the init of a
 * pid namespace) would stand inside with our memory, and with the secrets that were taken out of the
 * environment.
 */
static int become_chain(const struct plan *plan, const struct launch *launch, int launcher, int cwd)
{
    static char *no_environment[] = {NULL};
    char **env = launch->env.items ? launch->env.items : no_environment;
    long r;

    if (fchdir(cwd) != 0)
        return -errno;
    if (!plan->pid_namespace && !plan->guard)
        _exit(chain_launch(launch->argv.items, env));
    r = launch_keep(launch);
    if (r < 0)
        return (int)r;
    return (int)kernel_call(SYS_execveat, launcher, (long)(uintptr_t) "", (long)(uintptr_t)launch->argv.items,
                            (long)(uintptr_t)env, AT_EMPTY_PATH, 0);
}

int run_exec(struct plan *plan, const struct resolved *resolved, const struct host *host,
             char *const *command, struct error *error)
{
    static struct attestation attestation;
    struct launch launch = {0};
    struct strings checks = {0};
    struct chain_fds fds = CHAIN_FDS_NONE;
    _cleanup_fd_ int launcher = -1;
    int r;

    (void)host;
    if (resolved->mode == MODE_DANGER_FULL_ACCESS) {
        r = launch_prepare(&launch, plan, resolved, &fds, 0, NULL, NULL, command);
        if (r == 0 && fchdir(resolved->cwd_fd) != 0)
            r = -errno;
        if (r == 0)
            r = -chain_exec(launch.argv.items, launch.env.items);
        return run_error_exec(error, -r, command[0], resolved, false);
    }
    launcher = launcher_open(resolved, "confine-launch", error);
    if (launcher < 0)
        return LINK_FAILED;
    r = attest_begin(&attestation, plan, resolved, 0);
    if (r == 0)
        r = attest_controls(&attestation, resolved, 0);
    if (r == 0)
        r = attest_refused(&attestation, &checks);
    fds.launcher = launcher;
    forerunner_for(plan, &fds.ahead, &fds.ahead_ready);
    fds.others = attestation.descriptors;
    fds.other_count = attestation.descriptor_count;
    if (r == 0)
        r = launch_prepare(&launch, plan, resolved, &fds, attestation.sentinel, &checks, NULL, command);
    if (r == 0)
        r = become_chain(plan, &launch, launcher, resolved->cwd_fd);
    run_error_spawn(error, -r, resolved->cwd);
    return r == -E2BIG ? 126 : LINK_FAILED;
}
