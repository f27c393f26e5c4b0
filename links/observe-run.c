/*
 * observe-run - let somebody outside see which calls are refused.
 *
 *     observe-run --channel FD [--metadata] [--reading] [--network] -- COMMAND [ARG]...
 *
 * Loads a filter that refuses nothing: calls that change something by its name
 * are announced to whoever holds the other end, and go on when that says so.
 * That end goes to the supervisor over the channel (OBSERVED) and nowhere else.
 *
 * A kernel, or a confinement around this one, may have no room for it (EBUSY:
 * there is one such filter in each line of processes). Then that is said
 * instead, and the command runs unobserved: nothing is held by this link.
 *
 * In a fused chain that is done at its end, when attest-run has tried what it
 * has to: each of its acts would be announced, and wait for somebody to answer.
 *
 * --metadata, --reading, --network: also calls of these kinds. Reading costs
 * much, and is asked for where reading can be refused.
 *
 * Should:  stand behind everything that refuses, so that an answer of another
 *          filter comes first and what it refuses waits for nobody.
 * Mustn't: refuse anything itself, or keep the other end: whoever has it can
 *          answer for the kernel.
 */
#include "chain.h"
#include "channel.h"
#include "observe_calls.h"
#include "pass.h"

#define CODE_MOST 160

/* Offsets in what the kernel shows to a filter; both architectures are little-endian. */
enum { AT_NR = 0, AT_ARCH = 4, AT_ARGS = 16 };

struct program {
    struct sock_filter code[CODE_MOST];
    unsigned short length;
};

struct observe {
    const struct chain *chain;
    int channel;
    unsigned asked; /* bits of enum observe_when */
};

static void add(struct program *program, uint16_t code, uint8_t yes, uint8_t no, uint32_t k)
{
    program->code[program->length++] = (struct sock_filter){code, yes, no, k};
}

/* Behind each test of a number stands what is to be done with the call; the next test otherwise. */
static void add_call(struct program *program, const struct observe_call *call, bool reading)
{
    uint32_t argument = AT_ARGS + 8 * (uint32_t)call->extra;

    if (call->act == OBSERVE_OPEN && call->extra >= 0 && !reading) {
        add(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, (uint32_t)call->nr);
        add(program, BPF_LD | BPF_W | BPF_ABS, 0, 0, argument);
        add(program, BPF_JMP | BPF_JSET | BPF_K, 0, 1, OBSERVE_WRITES);
        add(program, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF);
        add(program, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
        return;
    }
    /* send() is the same call without an address, and futimens() without a name. */
    if (call->act == OBSERVE_SEND || call->nr == SYS_utimensat) {
        argument = AT_ARGS + 8 * (uint32_t)call->path;
        add(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 6, (uint32_t)call->nr);
        add(program, BPF_LD | BPF_W | BPF_ABS, 0, 0, argument);
        add(program, BPF_JMP | BPF_JSET | BPF_K, 2, 0, ~0U);
        add(program, BPF_LD | BPF_W | BPF_ABS, 0, 0, argument + 4);
        add(program, BPF_JMP | BPF_JSET | BPF_K, 0, 1, ~0U);
        add(program, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF);
        add(program, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
        return;
    }
    add(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)call->nr);
    add(program, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF);
}

/* Numbers of another architecture are another filter's to refuse. */
static void make_program(struct program *program, unsigned asked)
{
    program->length = 0;
    add(program, BPF_LD | BPF_W | BPF_ABS, 0, 0, AT_ARCH);
    add(program, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, KERNEL_AUDIT_ARCH);
    add(program, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
    add(program, BPF_LD | BPF_W | BPF_ABS, 0, 0, AT_NR);
    for (size_t i = 0; i < OBSERVE_CALLS; i++)
        if (observe_wanted(&observe_calls[i], asked))
            add_call(program, &observe_calls[i], asked & 1U << OBSERVE_READING);
    add(program, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
}

/* Return: the end at which calls are announced, or -errno. */
static long load_program(const struct observe *observe)
{
    static const unsigned long flags[] = {
        SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_SPEC_ALLOW |
            SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, /* Linux 5.19 */
        SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_SPEC_ALLOW,
    };
    struct program program;
    struct sock_fprog shown = {.filter = program.code};
    long answer = -EINVAL;

    make_program(&program, observe->asked);
    shown.len = program.length;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        chain_fatal_errno(observe->chain, "no_new_privs", errno);
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]) && answer == -EINVAL; i++)
        answer =
            kernel_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, (long)flags[i], KERNEL_PTR(&shown), 0, 0, 0);
    if (answer >= 0 && answer <= STDERR_FILENO)
        chain_fatal(observe->chain, "seccomp", "the kernel reported success but gave no descriptor");
    return answer;
}

/* Hands the end over, or says why there is none. */
static void tell(const struct observe *observe, long answer)
{
    const struct channel_word word = {.type = CHANNEL_OBSERVED, .value = answer < 0 ? (int32_t)-answer : 0};
    const int listener = (int)answer;
    int r;

    r = pass_descriptors(observe->channel, &word, sizeof(word), &listener, answer >= 0, PASS_PATIENTLY);
    if (r < 0)
        chain_fatal(observe->chain, "channel",
                    r == -EPIPE ? "the supervisor does not listen any more" : pass_strerror(-r));
    if (answer < 0)
        return;
    close(listener);
    if (fcntl(listener, F_GETFD) >= 0)
        chain_fatal(observe->chain, "close", "the kernel reported success but did not close the other end");
}

static struct observe left;                 /* to be done later */
static void (*before)(struct chain *chain); /* and what an earlier link has left */

static void observe_later(struct chain *chain)
{
    tell(&left, load_program(&left));
    if (before) /* what is held of the listener outside must not hold on to what is made here */
        before(chain);
}

/*
 * observe_run() - the link; see the head of this file.
 *
 * Return: never, but through a fused next link.
 */
int observe_run(struct chain *chain)
{
    struct observe observe = {.chain = chain, .channel = -1};
    const char *value;
    size_t at = 1;
    char **command;

    chain_set_dumpable(chain, false);
    while (chain->argv[at]) {
        if (chain_option(chain, &at, "--channel", &value))
            observe.channel = chain_number(chain, "--channel", value);
        else if (chain_flag(chain, &at, "--metadata"))
            observe.asked |= 1U << OBSERVE_METADATA;
        else if (chain_flag(chain, &at, "--reading"))
            observe.asked |= 1U << OBSERVE_READING;
        else if (chain_flag(chain, &at, "--network"))
            observe.asked |= 1U << OBSERVE_NETWORK;
        else
            break;
    }
    command = chain_command(chain, at);
    if (observe.channel <= STDERR_FILENO || fcntl(observe.channel, F_GETFD) < 0)
        chain_fatal(chain, "--channel", "usage: needs a descriptor that is open, and none of 0, 1 and 2");
    left = observe;
    before = chain->later;
    chain->later = observe_later;
    if (!chain->fused)
        chain_do_later(chain);
    return chain_hand_over(chain, command);
}

LINK_MAIN("observe-run", observe_run)
