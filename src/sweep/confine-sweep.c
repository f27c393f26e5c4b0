/*
 * confine-sweep.c - the program: our links, and then the work.
 *
 *     confine-sweep LINK [OPTION]... -- LINK ... -- remove|look [OPTION]...
 *     confine-sweep remove|look [OPTION]...
 *
 * The links that stand around it are in it, as they are in confine-launch, so that a run has one program less
 * to load at its end. The tests call sweep_main() as well, and are confined by nobody.
 *
 * Should:  do what the same words do with confine-launch in front.
 * Mustn't: read a byte of a tree before the last link has done its work.
 */
#include "links/chain.h"
#include "sweep/sweep.h"

#include <sys/prctl.h>

/* What comes after the links: no exec, so what they have left is done here. */
static int sweep_run(struct chain *chain)
{
    int count = 0;

    chain_do_later(chain);
    chain_reap(chain);
    while (chain->argv[count])
        count++;
    return sweep_main(count + 1,
                      chain->argv - 1); /* there stands `--`: a name of the program is not needed */
}

static const struct link links[] = {
    {"detach-run", detach_run},
    {"scope-run", scope_run},
    {"landlock-run", landlock_run},
    {"drop-run", drop_run},
    {"seccomp-run", seccomp_run},
    {"remove", sweep_run},
    {"look", sweep_run},
    {NULL, NULL},
};

int main(int argc, char **argv, char **envp)
{
    struct chain_children children;
    struct chain chain = {.name = "confine-sweep",
                          .argv = argv,
                          .envp = envp,
                          .words = argv,
                          .fused = links,
                          .children = &children};

    /* Started by a descriptor, it has a number for a name before Linux 6.14. */
    if (prctl(PR_SET_NAME, "confine-sweep", 0, 0, 0) != 0)
        return SWEEP_EXIT_FAILED;
    if (argc < 2 || strcmp(argv[1], links[0].name) != 0)
        return sweep_main(argc, argv);
    children.count = 0; /* the rest is written before it is read */
    chain_start(&chain);
    return chain_hand_over(&chain, argv + 1);
}
