/*
 * spawn.h - from words to a process: the argv of a chain, and its start.
 */
#ifndef CONFINE_RUN_SPAWN_H
#define CONFINE_RUN_SPAWN_H

#include "plan/plan.h"

#include <sys/types.h>

/* The descriptors that stand behind the placeholders of a plan; -1: not there. */
#define CHAIN_FDS_NONE                                                                                       \
    {                                                                                                        \
        .channel = -1, .liveness = -1, .stderr_fd = -1, .tmp = -1, .terminal = -1, .launcher = -1,           \
        .ahead = -1, .ahead_ready = -1                                                                       \
    }
struct chain_fds {
    int channel;
    int liveness;
    int stderr_fd;
    int tmp;
    int terminal;           /* where the command's own terminal will be */
    const char *onto;       /* all such descriptors: `N,N` */
    int ahead, ahead_ready; /* of a process that has made namespaces, and that says so */
    unsigned proxy_port;    /* of the command's proxy; 0: none */
    int launcher;           /* kept only where the plan has a word for it */
    const int *others; /* more that cross the chain: what an exec's own checks are tried in; NULL: none */
    size_t other_count;
};

/* What a plan turns into for one run. */
struct launch {
    struct strings argv, env; /* their strings belong to the plan, to what was resolved, or to `made` */
    struct strings made;
    int *keep; /* sorted, each once */
    size_t keep_count;
    int nameless; /* WORD_NAMELESS, owned; 0: the plan has none */
};

/*
 * launch_prepare() - put the run's numbers into the plan's words.
 * @sentinel: the filter's errno; @checks: attest-run's own, `--refused` values; NULL: none
 * @plan, @resolved, @checks, @command: their strings are used as they are, and must outlive the launch
 * @tmp_path: TMPDIR, and what replaces `@TMP@` in the environment; NULL: no temp directory
 *
 * Return: 0 or -ENOMEM.
 */
int launch_prepare(struct launch *launch, const struct plan *plan, const struct resolved *resolved,
                   const struct chain_fds *fds, int sentinel, const struct strings *checks,
                   const char *tmp_path, char *const *command);
void launch_free(struct launch *launch);

/* launch_keep() - let the kept descriptors survive the coming exec, in this process. Return: 0 or -errno. */
int launch_keep(const struct launch *launch);

/*
 * spawn_chain() - start a program by descriptor, in a vfork child.
 * @program: O_PATH descriptor; -1: argv[0] by name (the backend none)
 * @standard: what become 0, 1 and 2
 * @cwd: O_PATH descriptor of the start directory
 * @before: called in the child just before the exec, on our memory: raw calls only; NULL: nothing
 *
 * Return: the pid, or -errno of what failed.
 */
pid_t spawn_chain(int program, const struct launch *launch, const int standard[3], int cwd,
                  void (*before)(void *data), void *data);

#endif
