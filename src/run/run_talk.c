/*
 * run_talk.c - the talk with a chain that restricts itself, up to the word that starts the command.
 *
 * While the chain restricts itself, the controls are acted out. GUARD and HERE arrive; the checks go out; the
 * answers come back; the canaries are looked at. What can fail of the supervision is set up. GO is sent if
 * everything holds.
 *
 * Should:  say why a chain ended, in its own last words.
 * Mustn't: send GO after any doubt; take a word from a process that it cannot be from.
 */
#include "run/run_state.h"

#include "links/pass.h"
#include "run/channel.h"
#include "run/foreign.h"
#include "run/forerunner.h"
#include "run/run_error.h"
#include "run/strangers.h"

#include <poll.h>
#include <sched.h>

#define CHAIN_MS 10000 /* how long a chain may take to be here */
#define WORDS_MS 1000  /* how long its last words may take */

/* Keeps as much of the chain's words as is said of them. Return: false at their end. */
static bool hear(struct run *run)
{
    char room[4096];
    const size_t left = sizeof(run->said) - 1 - run->said_size;
    ssize_t got = read(run->errors, room, sizeof(room));

    if (got <= 0)
        return got < 0 && errno == EINTR;
    memcpy(run->said + run->said_size, room, (size_t)got < left ? (size_t)got : left);
    run->said_size += (size_t)got < left ? (size_t)got : left;
    return true;
}

/* A runner may say more than a pipe holds before it has started anything: it would wait for its reader. */
static void hear_until_word(struct run *run)
{
    struct pollfd ready[] = {{.fd = run->channel, .events = POLLIN}, {.fd = run->errors, .events = POLLIN}};
    const uint64_t end = supervise_now_ns() + CHAIN_MS * UINT64_C(1000000);

    for (int64_t left = CHAIN_MS; left > 0 && !ready[0].revents;
         left = (int64_t)(end - supervise_now_ns()) / 1000000) {
        if (poll(ready, ARRAY_SIZE(ready), (int)left) < 0)
            ready[0].revents = ready[1].revents = 0;
        if (ready[1].revents && !hear(run))
            ready[1].fd = -1;
    }
}

/* The chain ended, or does not answer: say what its last words were. */
static int chain_failed(struct run *run, ssize_t why)
{
    if (why == -ETIMEDOUT) {
        error_set(&run->report->error, ERROR_SANDBOX_UNAVAILABLE, ETIMEDOUT, "chain-timeout",
                  "the chain of links%s%s was not ready within %d seconds",
                  run->plan->runner ? " behind the runner " : "",
                  run->plan->runner ? QUOTE(run->plan->runner) : "", CHAIN_MS / 1000);
        return error_hint(&run->report->error, "%s",
                          run->plan->runner
                              ? "the runner must start what stands behind its `--`; whether it has "
                                "started anything else, only it can tell"
                              : "the machine may be overloaded; try again");
    }
    if (why < 0 && why != -ECONNRESET)
        return run_fail(run, (int)-why, "talk to the chain");
    run->channel = fd_close(run->channel); /* one that still waits for our word ends now, with its own */
    while (run->said_size < sizeof(run->said) - 1) {
        struct pollfd ready = {.fd = run->errors, .events = POLLIN};

        if (poll(&ready, 1, WORDS_MS) != 1 || !hear(run))
            break;
    }
    if (run->plan->foreign && foreign_failed(run->pid))
        return foreign_error(&run->report->error, run->resolved, run->plan->runner, run->said);
    return run_error_link(&run->report->error, run->said);
}

/* May this process be the one that becomes the command? In a pid namespace it is a child of the one that we
 * started; only our chain holds the other end. */
static bool may_be_command(const struct run *run, pid_t writer)
{
    if (run->plan->runner && writer == run->pid) /* it has become the chain: the checks say what lacks */
        return true;
    return run->plan->pid_namespace ? writer > 1 && writer != run->pid && writer != run->guard
                                    : writer == run->pid;
}

/* namespace-run says what this machine lacks: another backend may be tried. */
static int chain_cannot(struct run *run, int32_t value)
{
    struct host_lack lack = {0};

    host_cannot(&lack, value >> 16, value & 0xffff);
    run->channel = fd_close(run->channel);
    return host_lack_error(&run->report->error, &lack, "the namespaces of this run");
}

/* observe-run has handed its calls over, or says why it cannot. @here: it is known who becomes the command */
static int take_observed(struct run *run, struct handed_over *handed, int errnum, pid_t writer, bool here)
{
    int r = handed->count > 1 ? -EPROTO
                              : observer_take(&run->observer, handed->count == 1 ? handed->fd[0] : -1, errnum,
                                              writer, run->plan);

    handed_close(handed);
    if (r == 0 && here && observer_adopt(&run->observer, run->becoming) < 0)
        r = -EPROTO;
    if (r < 0)
        return run_fail(run, -r, r == -EPROTO ? "understand the chain" : "start the observer");
    return 0;
}

/* Are there listeners that only we can make, and only when the command's process is there? They are tried. */
static bool makes_listeners(const struct run *run)
{
    return run->plan->foreign && run->plan->gateway;
}

/* @early: before HERE has come. The chain finds its checks when it gets there, and nobody waits for the
 * other; where too much is under way for that, they are sent when it waits for them. */
static int send_checks(struct run *run, bool early)
{
    static struct channel_checks checks;
    size_t size;
    int r;

    attest_message(&run->attestation, &checks, &size);
    r = pass_descriptors(run->channel, &checks, size, run->attestation.descriptors,
                         run->attestation.descriptor_count, early ? PASS_EARLY : PASS_PATIENTLY);
    run->checks_due = early && r == -ETOOMANYREFS;
    return r < 0 && r != -EPIPE && !run->checks_due ? chain_failed(run, r) : 0;
}

/* Whoever becomes the command must be who the policy says. */
static int check_user(struct run *run)
{
    if (run->becoming_uid == run->resolved->uid && run->becoming_gid == run->resolved->gid)
        return 0;
    error_set(&run->report->error, ERROR_ATTESTATION_FAILED, EPERM, "other-user",
              "the command would run as user %u and group %u, not as %u and %u", (unsigned)run->becoming_uid,
              (unsigned)run->becoming_gid, (unsigned)run->resolved->uid, (unsigned)run->resolved->gid);
    return error_hint(&run->report->error, "the command was not started; please report this");
}

/* HERE: whoever wrote it waits for its checks, and becomes the command. */
static int take_here(struct run *run, const struct handed_over *handed, pid_t writer)
{
    run->becoming = writer;
    run->becoming_uid = handed->uid;
    run->becoming_gid = handed->gid;
    if (observer_adopt(&run->observer, writer) < 0) /* it is the last link's, or comes later */
        return run_fail(run, EPROTO, "understand the chain");
    if (run->plan->pid_namespace)
        run->becoming_fd = (int)kernel_call(SYS_pidfd_open, writer, 0, 0, 0, 0, 0);
    if (run->plan->pid_namespace && run->becoming_fd < 0)
        return run_fail(run, -run->becoming_fd, "hold on to the command");
    if (makes_listeners(run) && gateway_make(&run->gateway, writer) < 0)
        return -EPROTO;
    return run->checks_due ? send_checks(run, false) : 0;
}

/* GUARD, HERE and RESULTS: the guard is a process of its own, so its word may come at any point. Everything
 * else, and anything twice, is no chain of ours. */
static int collect(struct run *run, struct channel_results *results, size_t *ret_size)
{
    static union {
        struct channel_word word;
        struct channel_results results;
        struct channel_listeners listeners;
    } message;
    bool here = false;

    *ret_size = 0;
    while (!here || *ret_size == 0 || (run->plan->guard && !run->guard) || observer_waits(&run->observer)) {
        struct handed_over handed;
        pid_t writer;
        ssize_t size;
        bool word;

        if (run->plan->runner)
            hear_until_word(run);
        size = channel_receive_all(run->channel, &message, sizeof(message), run->plan->runner ? 0 : CHAIN_MS,
                                   &writer, &handed);
        word = size == (ssize_t)sizeof(message.word);
        if (size <= 0)
            return chain_failed(run, size);
        if (!here && size == (ssize_t)sizeof(message.listeners) && writer == run->pid &&
            message.listeners.type == CHANNEL_LISTENERS &&
            gateway_take(&run->gateway, &message.listeners, &handed))
            continue;
        if (!here && word && writer == run->pid && message.word.type == CHANNEL_ENTRANCE &&
            gateway_take_entrance(&run->gateway, &handed))
            continue;
        if (!here && word && message.word.type == CHANNEL_TERMINAL && handed.count == 1 &&
            terminal_take(&run->terminal, handed.fd[0], writer))
            continue;
        if (word && message.word.type == CHANNEL_OBSERVED) {
            int r = take_observed(run, &handed, message.word.value, writer, here);

            if (r < 0)
                return r;
            continue;
        }
        handed_close(&handed);
        if (!here && word && message.word.type == CHANNEL_CANNOT)
            return chain_cannot(run, message.word.value);
        if (may_be_command(run, writer) && !here && word && message.word.type == CHANNEL_HERE &&
            message.word.value == CHANNEL_VERSION) {
            int r = take_here(run, &handed, writer);

            if (r < 0)
                return r;
            here = true;
        } else if (here && writer == run->becoming && *ret_size == 0 &&
                   message.word.type == CHANNEL_RESULTS) {
            memcpy(results, &message.results, (size_t)size);
            *ret_size = (size_t)size;
        } else if (writer != run->pid && writer != run->becoming && writer > 0 && word &&
                   message.word.type == CHANNEL_GUARD && run->plan->guard && !run->guard) {
            run->guard = writer;
        } else {
            return run_fail(run, EPROTO, "understand the chain");
        }
    }
    return 0;
}

/* What works beside the command, from its first step on. */
static int begin_beside(struct run *run)
{
    int r = gateway_open(&run->gateway);

    if (r < 0)
        return r;
    r = run->plan->foreign ? foreign_hold(run->pid, run->becoming) : 0;
    if (r < 0)
        return run_fail(run, -r, "hold the process in front of the command");
    r = audit_adopt(&run->audit, run->becoming);
    if (r < 0)
        return run_fail(run, -r, "start the reader of the kernel's audit");
    r = observer_go(&run->observer);
    return r < 0 ? run_fail(run, -r, "tell the observer") : 0;
}

static int talk(struct run *run)
{
    static struct channel_results results;
    struct channel_word go = {.type = CHANNEL_GO};
    size_t size;
    int r;

    r = attest_controls(&run->attestation, run->resolved, run->missing);
    if (r == 0)
        r = strangers_watch_front();
    if (r < 0)
        return run_fail(run, -r, "act as the command's user");
    run->checks_due = makes_listeners(run);
    r = run->checks_due ? 0 : send_checks(run, true);
    if (r < 0)
        return r;
    r = run_prepare_watch(run); /* while the chain is on its way */
    if (r < 0)
        return run_fail(run, -r, "supervise the command");
    r = observer_start(&run->observer, run->plan, run->plan->private_tmp ? run->tmp.path : NULL);
    if (r < 0)
        return run_fail(run, -r, "start the observer");
    r = audit_start(&run->audit);
    if (r < 0)
        return run_fail(run, -r, "start the reader of the kernel's audit");
    planted_start(&run->planted, run->resolved, run->report->run_id);
    r = collect(run, &results, &size); /* a chain that is gone has said why before */
    if (r < 0)
        return r;
    r = limits_arm(&run->limits, run->becoming, &run->report->error); /* the links' own children are gone */
    if (r < 0)
        return r;
    r = run->plan->terminal ? terminal_adopt(&run->terminal, run->becoming) : 0;
    if (r < 0)
        return run_fail(run, -r, "take over the command's terminal");
    run->attestation.listeners = run->gateway.listeners;
    r = attest_judge(&run->attestation, &results, size, run->becoming, run->plan, run->resolved,
                     &run->report->error);
    if (r < 0)
        return r;
    r = check_user(run);
    if (r == 0 && run->plan->pid_namespace && run->becoming == run->pid)
        r = run_fail(run, EPROTO, "see the command behind its runner");
    if (r < 0)
        return r;
    r = run_refuse_abandoned(run);
    if (r == 0)
        r = begin_beside(run);
    if (r < 0)
        return r;
    r = channel_send(run->channel, &go, sizeof(go), NULL, 0);
    sched_yield(); /* where a kernel packs tasks the chain waits for this very processor */
    /* Closing the canaries takes longer than the command may need to start. None of them has a name by now
     * that the command could reach. */
    attest_end(&run->attestation);
    forerunner_end(); /* it ended before the chain could go on: nobody waits here */
    return r < 0 ? chain_failed(run, r == -EPIPE ? -ECONNRESET : r) : 0;
}

int run_talk(struct run *run)
{
    int r = talk(run);

    if (r < 0 && run->plan->runner && strcmp(run->report->error.reason, "set-up-failed") == 0)
        error_hint(
            &run->report->error,
            "the runner %s must start what stands behind its `--`, with all descriptors, and wait for it",
            QUOTE(run->plan->runner));
    return r;
}
