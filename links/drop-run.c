/*
 * drop-run.c - give up every capability, and every way to get one back.
 *
 *     drop-run -- COMMAND [ARG]...
 *
 * no_new_privs; then the ambient and the bounding set; for uid 0 the securebits
 * by which an exec no longer makes root of a root-owned process; at last the
 * effective, permitted and inheritable sets.
 *
 * Should:  read back each of them, and see an attempt to regain one refused.
 * Mustn't: leave uid 0 with an exec that could give capabilities again; fail an
 *          ordinary uid for lack of CAP_SETPCAP (no_new_privs holds it: an exec
 *          gains nothing).
 */
#include "capability.h"
#include "chain.h"
#include "domain.h"

/*
 * drop_run() - the link; see the head of this file.
 *
 * Return: never, but through a fused next link.
 */
int drop_run(struct chain *chain)
{
    char **command;

    chain_set_dumpable(chain, false);
    command = chain_command(chain, 1);
    domain_no_new_privs(chain);
    capability_drop_all(chain);
    return chain_hand_over(chain, command);
}

LINK_MAIN("drop-run", drop_run)
