/*
 * status.c - the command's status is its own, whoever stands between it and the caller.
 *
 * Should:  know every signal, and every status that a failure of ours has, too.
 * Mustn't: believe the report alone: the status that is returned is compared as well.
 */
#include "left.h"

static const struct status_row {
    const char *name, *script;
    int status, signal;
} statuses[] = {
    {"125 with a link's last words", "echo 'landlock-run: fatal: x' >&2; exit 125", 125, 0},
    {"125 with ours", "echo 'confine: x: y' >&2; exit 125", 125, 0},
    {"125 without a word", "exit 125", 125, 0},
    {"0", "exit 0", 0, 0},
    {"1", "exit 1", 1, 0},
    {"2 with a link's last words", "echo 'attest-run: fatal: channel: x' >&2; exit 2", 2, 0},
    {"124", "exit 124", 124, 0},
    {"126", "exit 126", 126, 0},
    {"127", "exit 127", 127, 0},
    {"128", "exit 128", 128, 0},
    {"137", "exit 137", 137, 0},
    {"255", "exit 255", 255, 0},
};

static struct outcome *outcome; /* shared */

static int supervise_and_tell(struct world *world, char *const *command, struct report *report)
{
    int status = run_supervised_without(&world->plan, &world->resolved, command, 0, report);

    *outcome = report->outcome;
    return status;
}

static void check_status_in(enum variant variant, const char *script, int status, int signal)
{
    struct world world = new_world(variant, script);

    outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    need(outcome != MAP_FAILED);
    world.supervise = supervise_and_tell;
    need(world_run(&world, true));
    check_int(seen->error.code, ERROR_NONE);
    if (signal == SIGXFSZ || signal == SIGXCPU) {
        /* These runs have limits on the size of files and on time, and this is how they end a command. */
        check_int(seen->status, 128 + SIGKILL);
        check_int(outcome->kind, OUTCOME_LIMIT);
        check_str(outcome->limit, signal == SIGXFSZ ? "file_size" : "cpu");
        signal = 0;
        status = -1;
    } else {
        check_int(seen->status, signal ? 128 + signal : status);
        check_int(outcome->kind, signal ? OUTCOME_SIGNALED : OUTCOME_EXITED);
    }
    check_int(outcome->signal, signal);
    check_int(outcome->status, signal ? -1 : status);
    check(outcome->survivors_seen_gone);
    munmap(outcome, sizeof(*outcome));
}

static void check_status(const char *script, int status, int signal)
{
    for (size_t variant = 0; variant < ARRAY_SIZE(variants); variant++)
        if (variant_possible(variants[variant]))
            check_status_in(variants[variant], script, status, signal);
}

TEST_EACH(status_is_the_commands, struct status_row, statuses)
{
    check_status(row->script, row->status, row->signal);
}

/* A signal that a process sends to itself ends it, if that is the signal's nature. */
TEST_IN(every_signal_is_told, 120)
{
    for (int signal = 1; signal <= SIGRTMAX; signal++) {
        char script[64];
        bool harmless = signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH ||
                        signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU ||
                        (signal > SIGSYS && signal < SIGRTMIN);

        if (harmless)
            continue;
        snprintf(script, sizeof(script), "kill -%d $$; sleep 5; exit 99", signal);
        check_status(script, 0, signal);
    }
}
