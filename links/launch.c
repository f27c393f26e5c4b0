/*
 * launch.c - confine-launch: every link in one program.
 *
 *     confine-launch LINK [OPTION]... -- LINK ... -- COMMAND [ARG]...
 *
 * A word that stands where a link may stand and names one is called, anything
 * else is executed. So a chain passes from link to link without an exec.
 *
 * `confine exec` has the same inside (CONFINE_EMBEDDED), and becomes a chain of
 * which no process stays behind without an exec as well.
 *
 * Should:  do what the same words do with the links as programs.
 * Mustn't: have an option, an environment variable or a name of its own that
 *          changes anything.
 */
#include "chain.h"

static const struct link links[] = {
    {"detach-run", detach_run},     {"namespace-run", namespace_run}, {"terminal-run", terminal_run},
    {"landlock-run", landlock_run}, {"audit-run", audit_run},         {"hide-run", hide_run},
    {"scope-run", scope_run},       {"drop-run", drop_run},           {"seccomp-run", seccomp_run},
    {"observe-run", observe_run},   {"attest-run", attest_run},       {NULL, NULL},
};

int chain_launch(char **argv, char **envp)
{
    struct chain_children children;
    struct chain chain = {.name = "confine-launch",
                          .argv = argv,
                          .envp = envp,
                          .words = argv,
                          .fused = links,
                          .children = &children};

    children.count = 0; /* the rest is written before it is read */
    chain_start(&chain);
    if (!argv[1])
        chain_fatal(&chain, "usage", "no link named");
    for (const struct link *link = links; link->name; link++)
        if (strcmp(link->name, argv[1]) == 0)
            return chain_hand_over(&chain, argv + 1);
    chain_fatal(&chain, argv[1], "usage: no such link");
}

#ifndef CONFINE_EMBEDDED
int main(int argc, char **argv, char **envp)
{
    (void)argc;
    return chain_launch(argv, envp);
}
#endif
