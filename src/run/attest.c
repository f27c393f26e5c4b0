/*
 * attest.c - the supervisor's side of the attestation.
 *
 * A check holds only if the same act went through outside immediately before, with the command's credentials,
 * and was refused inside with an errno of that mechanism's own list. What has neither crossed nor held is not
 * shown, and its claim drops. What has crossed ends the run before the command exists.
 *
 *   attest_begin()     nonce, sentinel, the canaries that the chain inherits or is asked about in the child
 *   attest_in_child()  in the vfork child: acts of one process upon another
 *   attest_controls()  while the chain restricts itself: everything else
 *   attest_judge()     answers against controls, canaries looked at from outside, claims raised and lowered
 */
#include "run/attest.h"

#include "kernel/identity.h"
#include "run/canary.h"
#include "run/wire.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>

/* What shows itself by a value read back needs no control: the value is the proof. */
static bool is_read_back(uint32_t act)
{
    static const enum act read_back[] = {ACT_SENTINEL,    ACT_NO_NEW_PRIVS, ACT_CAPABILITIES, ACT_FILE_SIZE,
                                         ACT_ENVIRONMENT, ACT_TERMINAL,     ACT_NAMESPACE,    ACT_OBJECT,
                                         ACT_MOUNTED,     ACT_ROOM,         ACT_REPLACED,     ACT_CPU_TIME,
                                         ACT_PROCESSES,   ACT_ROUTE,        ACT_CORE_SIZE};

    for (size_t i = 0; i < ARRAY_SIZE(read_back); i++)
        if (act == read_back[i])
            return true;
    return false;
}

/* Acts upon another process: their control needs another process as well. */
static bool is_upon_process(uint32_t act)
{
    return act == ACT_SIGNAL || act == ACT_READ_MEMORY || act == ACT_PRLIMIT;
}

/* --- controls ------------------------------------------------------------------------------------------ */

/* An act that was tried already is its own control a second time: one that two surfaces are shown by, and a
 * device or terminal, which is opened once for all: where that has to be /dev/ptmx, each time makes a pair of
 * terminals and takes longer than all other controls together. */
static const struct attempt *same_act(const struct attestation *attestation, const struct attempt *attempt)
{
    const struct channel_check *wire = &attempt->wire;
    enum canary canary = attempt->check->canary;

    for (const struct attempt *earlier = attestation->attempts; earlier < attempt; earlier++) {
        const struct channel_check *other = &earlier->wire;

        if (earlier->check->canary != canary || other->act != wire->act)
            continue;
        if ((canary == CANARY_DEVICE || canary == CANARY_TERMINAL) && wire->act == ACT_OPEN &&
            strcmp(other->name, wire->name) == 0)
            return earlier;
        if (canary == CANARY_NONE && other->a == wire->a && other->b == wire->b)
            return earlier;
    }
    return NULL;
}

/* The control of one attempt, outside. A socket that a control used up is replaced for the command's side. */
static bool control_outside(struct attestation *attestation, struct attempt *attempt)
{
    struct channel_check wire = attempt->wire;
    struct act_world world = {.descriptors = attestation->descriptors,
                              .count = attestation->descriptor_count,
                              .nonce = attestation->nonce,
                              .envp = attestation->env,
                              .stderr_fd = -1};
    int own[3] = {-1, -1, -1};
    bool through;

    if (attempt->check->canary == CANARY_DEVICE)
        wire.a = O_RDWR;
    if (wire.act == ACT_TRUNCATE)
        wire.a = CHANNEL_NONCE; /* to the length it has: the canary is looked at afterwards */
    if (wire.act == ACT_BIND || wire.act == ACT_SEND_UDP || wire.act == ACT_CONNECT_ABSTRACT ||
        wire.act == ACT_CONNECT_PATH) {
        own[0] =
            socket(wire.act == ACT_BIND || wire.act == ACT_SEND_UDP ? AF_INET : AF_UNIX,
                   (wire.act == ACT_SEND_UDP ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (wire.act == ACT_CONNECT_PATH)
            own[1] = act_descriptor(&world, wire.b);
        world.descriptors = own;
        world.count = 2;
        wire.fd = 0;
        wire.b = 1;
    }
    through = act_perform(&world, &wire) == 0;
    fd_close(own[0]);
    return through;
}

/* The control's own datagram has arrived by now: take it out, so that another one is the command's. */
static void drain_controls(const struct attestation *attestation)
{
    uint8_t seen[CHANNEL_NONCE];

    while (attestation->udp_receiver >= 0 &&
           recv(attestation->udp_receiver, seen, sizeof(seen), MSG_DONTWAIT) > 0)
        ;
}

static bool needs(const struct plan *plan, enum canary canary)
{
    for (size_t i = 0; i < plan->check_count; i++)
        if (plan->checks[i].canary == canary)
            return true;
    return false;
}

/* The sentinel's errno: one that no kernel answers, another one in every run. */
static int choose_sentinel(uint32_t random)
{
    return (int)(SECCOMP_SENTINEL_ERRNO_MIN +
                 random % (SECCOMP_SENTINEL_ERRNO_MAX - SECCOMP_SENTINEL_ERRNO_MIN + 1));
}

int attest_begin(struct attestation *attestation, const struct plan *plan, const struct resolved *resolved,
                 unsigned missing)
{
    uint32_t random;

    /* Under a limit of no bytes a canary cannot be written, and nothing must end by that. A chain resets it.
     */
    signal(SIGXFSZ, SIG_IGN);
    memset(attestation, 0, offsetof(struct attestation, attempts));
    attestation->file = attestation->file_path = attestation->fifo = attestation->fifo_path = -1;
    attestation->listener = attestation->path_listener = attestation->socket_path = -1;
    attestation->udp_receiver = attestation->inherited = attestation->process_release = -1;
    attestation->terminal = attestation->device_path = -1;
    attestation->unsupervised = !plan->supervised;
    attestation->pid_namespace = plan->pid_namespace;
    attestation->switch_user = resolved->switch_user;
    attestation->uid = resolved->uid;
    attestation->gid = resolved->gid;
    if (getrandom(attestation->nonce, CHANNEL_NONCE, 0) != CHANNEL_NONCE ||
        getrandom(&random, sizeof(random), 0) != sizeof(random))
        return errno ? -errno : -EIO;
    attestation->sentinel = choose_sentinel(random);

    if (needs(plan, CANARY_PROCESS) && !(missing & (1U << CANARY_PROCESS)))
        canary_process(attestation);
    if (needs(plan, CANARY_DESCRIPTOR) && !(missing & (1U << CANARY_DESCRIPTOR)))
        canary_inherited(attestation, resolved);
    for (size_t i = 0; i < plan->check_count; i++) {
        struct attempt *attempt = &attestation->attempts[attestation->count++];
        const struct check *check = &plan->checks[i];

        *attempt = (struct attempt){
            .check = check,
            .wire = {.id = (uint32_t)i, .act = check->act, .fd = -1, .a = check->a, .b = check->b}};
        wire_name(&attempt->wire, check->name);
        if (check->canary != CANARY_PROCESS && check->canary != CANARY_DESCRIPTOR)
            continue;
        if ((missing & (1U << check->canary)) || !wire_canary(attestation, attempt, resolved))
            attempt->wire.act = ACT_NONE;
    }
    return 0;
}

/* Runs in the vfork child, on our memory: raw calls through the acts, and plain stores. */
void attest_in_child(void *data)
{
    struct attestation *attestation = data;
    struct act_world world = {.nonce = attestation->nonce, .stderr_fd = -1};
    bool entered = attestation->switch_user && identity_enter_raw(attestation->uid, attestation->gid) == 0;

    for (size_t i = 0; i < attestation->count; i++) {
        struct attempt *attempt = &attestation->attempts[i];

        if (attempt->check->canary == CANARY_INIT)
            continue;
        if (is_upon_process(attempt->wire.act))
            attempt->control =
                (!attestation->switch_user || entered) && act_perform(&world, &attempt->wire) == 0;
    }
    if (entered && identity_leave_raw() != 0)
        _exit(LINK_FAILED);
    if (attestation->inherited < 0)
        return;
    /* The canary stays open through the exec; that it does is seen here, in the process that will exec. */
    kernel_call(SYS_fcntl, attestation->inherited, F_SETFD, 0, 0, 0, 0);
    for (size_t i = 0; i < attestation->count; i++)
        if (attestation->attempts[i].wire.act == ACT_DESCRIPTOR)
            attestation->attempts[i].control =
                kernel_call(SYS_fcntl, attestation->inherited, F_GETFD, 0, 0, 0, 0) == 0;
}

static void make_canaries(struct attestation *attestation, const struct resolved *resolved, unsigned missing)
{
    static void (*const makers[CANARY_COUNT])(struct attestation *, const struct resolved *) = {
        [CANARY_FILE] = canary_file,
        [CANARY_FIFO] = canary_fifo,
        [CANARY_SOCKET_PATH] = canary_socket_path,
    };
    static void (*const plain_makers[CANARY_COUNT])(struct attestation *) = {
        [CANARY_SOCKET_ABSTRACT] = canary_abstract,
        [CANARY_UDP] = canary_udp,
        [CANARY_TERMINAL] = canary_terminal,
    };
    unsigned made = missing;

    for (size_t i = 0; i < attestation->count; i++) {
        enum canary canary = attestation->attempts[i].check->canary;

        if (made & (1U << canary))
            continue;
        made |= 1U << canary;
        if (makers[canary])
            makers[canary](attestation, resolved);
        if (plain_makers[canary])
            plain_makers[canary](attestation);
    }
}

int attest_controls(struct attestation *attestation, const struct resolved *resolved, unsigned missing)
{
    struct identity identity = {0};
    int r;

    make_canaries(attestation, resolved, missing);
    if (attestation->switch_user) {
        r = identity_enter(&identity, attestation->uid, attestation->gid);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < attestation->count; i++) {
        struct attempt *attempt = &attestation->attempts[i];
        const struct attempt *earlier;
        enum canary canary = attempt->check->canary;

        if (attempt->wire.act == ACT_NONE && canary != CANARY_EDGE && canary != CANARY_PROTECTED)
            continue;
        if (canary == CANARY_DESCRIPTOR && attestation->unsupervised)
            attempt->control = fcntl(attestation->inherited, F_SETFD, 0) == 0;
        if (canary == CANARY_PROCESS || canary == CANARY_DESCRIPTOR)
            continue;
        if ((missing & (1U << canary)) || !wire_canary(attestation, attempt, resolved)) {
            attempt->wire.act = ACT_NONE;
            continue;
        }
        if (canary == CANARY_LISTENER) /* whether it was reached is seen when there are answers */
            continue;
        if (canary == CANARY_INIT) { /* there is none out here: the link that made it has signalled it */
            attempt->control = true;
            continue;
        }
        earlier = same_act(attestation, attempt);
        attempt->control = earlier ? earlier->control
                                   : is_read_back(attempt->wire.act) || control_outside(attestation, attempt);
    }
    drain_controls(attestation);
    return identity_leave(&identity);
}

void attest_message(const struct attestation *attestation, struct channel_checks *message, size_t *ret_size)
{
    message->type = CHANNEL_CHECKS;
    message->count = 0;
    memcpy(message->nonce, attestation->nonce, CHANNEL_NONCE);
    for (size_t i = 0; i < attestation->count; i++)
        if (attestation->attempts[i].wire.act != ACT_NONE)
            message->check[message->count++] = attestation->attempts[i].wire;
    *ret_size = offsetof(struct channel_checks, check) + message->count * sizeof(message->check[0]);
}

/* --- judgement ------------------------------------------------------------------------------------------ */

/* A name that is not there inside says something while it is there outside: before, and still. */
static int look_again(struct attestation *attestation)
{
    struct identity identity = {0};
    bool entered = false;
    int r;

    for (size_t i = 0; i < attestation->count; i++) {
        struct attempt *attempt = &attestation->attempts[i];

        if (!attempt->check->vanishes || !attempt->control)
            continue;
        if (attestation->switch_user && !entered) {
            r = identity_enter(&identity, attestation->uid, attestation->gid);
            if (r < 0)
                return r;
            entered = true;
        }
        attempt->control = control_outside(attestation, attempt);
    }
    return entered ? identity_leave(&identity) : 0;
}

/* Somebody inside has reached a listener: ours, if the nonce comes out of it here. */
static void hear_listeners(struct attestation *attestation)
{
    for (size_t i = 0; i < attestation->count; i++) {
        struct attempt *attempt = &attestation->attempts[i];

        if (attempt->check->canary == CANARY_LISTENER && attestation->listeners)
            attempt->control = canary_heard(attestation, attestation->listeners[attempt->check->index]);
    }
}

static enum verdict judge(const struct attestation *attestation, const struct attempt *attempt)
{
    if (attempt->wire.act == ACT_NONE)
        return VERDICT_NOT_SHOWN;
    if (attempt->errnum == 0)
        return VERDICT_CROSSED;
    if (attempt->wire.act == ACT_SENTINEL)
        return attempt->errnum == attestation->sentinel ? VERDICT_HELD : VERDICT_CROSSED;
    if (!attempt->control)
        return VERDICT_NOT_SHOWN;
    for (size_t i = 0; i < ARRAY_SIZE(attempt->check->refused) && attempt->check->refused[i]; i++)
        if (attempt->check->refused[i] == attempt->errnum)
            return VERDICT_HELD;
    return VERDICT_NOT_SHOWN;
}

/* Every attempt that was sent must be answered, once, and nothing else. */
static int take_results(struct attestation *attestation, const struct channel_results *results, size_t size,
                        struct error *error)
{
    size_t sent = 0;

    for (size_t i = 0; i < attestation->count; i++)
        sent += attestation->attempts[i].wire.act != ACT_NONE;
    if (size < offsetof(struct channel_results, result) || results->type != CHANNEL_RESULTS ||
        results->count != sent ||
        size != offsetof(struct channel_results, result) + sent * sizeof(results->result[0]))
        goto bad;
    for (size_t i = 0, at = 0; i < attestation->count; i++) {
        struct attempt *attempt = &attestation->attempts[i];

        if (attempt->wire.act == ACT_NONE)
            continue;
        if (results->result[at].id != attempt->wire.id || results->result[at].errnum < 0)
            goto bad;
        attempt->errnum = results->result[at++].errnum;
    }
    return 0;
bad:
    return error_set(error, ERROR_ATTESTATION_FAILED, EPROTO, "bad-answer",
                     "attest-run answered something else than the results of the checks");
}

/* A runner that does not do what it is told mostly fails at many things: all are named. */
static void add_others(const struct attestation *attestation, const struct attempt *first,
                       struct error *error)
{
    bool named[SURFACE_COUNT] = {[0] = false};
    const char *lead = "; so did ";

    named[first->check->surface] = true;
    for (size_t i = 0; i < attestation->count; i++) {
        const struct attempt *attempt = &attestation->attempts[i];
        size_t length = strlen(error->message);

        if (named[attempt->check->surface] || judge(attestation, attempt) != VERDICT_CROSSED)
            continue;
        named[attempt->check->surface] = true;
        snprintf(error->message + length, sizeof(error->message) - length, "%s%s", lead,
                 surface_table[attempt->check->surface].name);
        lead = ", ";
    }
    error_hint(error, "the runner did not do what bubblewrap does with these words: see `runner` in "
                      "confine-policy(5)");
}

static int crossed(const struct attempt *attempt, const char *how, struct error *error)
{
    const struct check *check = attempt->check;

    error_set(error, ERROR_ATTESTATION_FAILED, EPERM, "boundary-absent",
              "the boundary does not hold: %s, which %s is to hold, %s", surface_table[check->surface].name,
              mechanism_name(check->mechanism), how);
    error_surface(error, surface_table[check->surface].name);
    return error_hint(error, "the command was not started; please report this");
}

static void raise_evidence(struct plan *plan, const struct check *check, enum evidence evidence)
{
    struct claim *claim = &plan->claims[check->surface];

    claim->tried++;
    for (size_t i = 0; i < claim->by_count; i++)
        if (claim->by[i].mechanism == check->mechanism && claim->by[i].evidence < evidence)
            claim->by[i].evidence = evidence;
}

/* A surface of which no mechanism was shown is not called enforced, however well it was set up. */
static void lower_unshown(struct plan *plan)
{
    enum evidence least = plan->runner ? EVIDENCE_DECLARED : EVIDENCE_PROBED;

    for (int s = 0; s < SURFACE_COUNT; s++) {
        struct claim *claim = &plan->claims[s];
        enum evidence best = EVIDENCE_NONE;

        if (claim->by_count == 0 || surface_table[s].shown == SHOWN_END)
            continue;
        for (size_t i = 0; i < claim->by_count; i++) {
            if (claim->by[i].evidence == EVIDENCE_NONE)
                claim->by[i].evidence = least;
            if (claim->by[i].evidence > best)
                best = claim->by[i].evidence;
        }
        if (best != EVIDENCE_ATTESTED && claim->state > STATE_PARTIAL) {
            claim->state = STATE_PARTIAL;
            claim->reason = "not-shown";
        }
    }
}

/* Was it tried, and no mechanism of it attested? A claim that is partial for another reason as well is no
 * better: what was named must be shown. */
static bool tried_in_vain(const struct attestation *attestation, const struct plan *plan,
                          enum surface surface)
{
    const struct claim *claim = &plan->claims[surface];

    if (claim->tried == 0 || surface_table[surface].shown == SHOWN_END)
        return false;
    /* Behind a runner nothing is attested: that it held has to do. */
    for (size_t i = 0; plan->runner && i < attestation->count; i++)
        if (attestation->attempts[i].check->surface == surface &&
            attestation->attempts[i].verdict == VERDICT_HELD)
            return false;
    for (size_t i = 0; i < claim->by_count; i++)
        if (claim->by[i].evidence == EVIDENCE_ATTESTED)
            return false;
    return true;
}

static int refuse_unshown(const struct attestation *attestation, const struct plan *plan,
                          const struct resolved *resolved, struct error *error)
{
    for (int s = 0; s < SURFACE_COUNT; s++) {
        const struct claim *claim = &plan->claims[s];

        if (!plan_needs(resolved, (enum surface)s))
            continue;
        if (!tried_in_vain(attestation, plan, (enum surface)s) &&
            !(claim->reason && strcmp(claim->reason, "not-shown") == 0))
            continue;
        error_set(error, ERROR_SANDBOX_UNAVAILABLE, EPERM, "not-shown",
                  "%s was asked for, and nothing on this machine could show that it holds",
                  surface_table[s].name);
        error_surface(error, surface_table[s].name);
        return error_hint(error,
                          "nothing outside the grants could be used as a control; see confine-report(5)");
    }
    return 0;
}

int attest_judge(struct attestation *attestation, const struct channel_results *results, size_t size,
                 pid_t command, struct plan *plan, const struct resolved *resolved, struct error *error)
{
    bool seen[CANARY_COUNT];
    int r = take_results(attestation, results, size, error);

    if (r < 0)
        return r;
    hear_listeners(attestation);
    r = look_again(attestation);
    if (r < 0)
        return error_set(error, ERROR_ATTESTATION_FAILED, -r, "identity",
                         "the controls cannot be taken again as the command's user");
    for (int canary = 0; canary < CANARY_COUNT; canary++)
        seen[canary] = canary_seen_crossed(attestation, (enum canary)canary, command);
    for (size_t i = 0; i < attestation->count; i++) {
        struct attempt *attempt = &attestation->attempts[i];

        attempt->verdict = judge(attestation, attempt);
        if (attempt->verdict !=
            VERDICT_CROSSED) /* before what was seen outside, which many acts may have done */
            continue;
        r = crossed(attempt, "went through from inside", error);
        if (plan->runner)
            add_others(attestation, attempt, error);
        return r;
    }
    for (size_t i = 0; i < attestation->count; i++) {
        struct attempt *attempt = &attestation->attempts[i];

        if (attempt->wire.act != ACT_NONE && seen[attempt->check->canary]) {
            attempt->verdict = VERDICT_CROSSED;
            return crossed(attempt, "was seen to have an effect outside", error);
        }
        raise_evidence(plan, attempt->check,
                       plan->runner                       ? EVIDENCE_DECLARED
                       : attempt->verdict == VERDICT_HELD ? EVIDENCE_ATTESTED
                                                          : EVIDENCE_PROBED);
    }
    lower_unshown(plan);
    return refuse_unshown(attestation, plan, resolved, error);
}

int attest_refused(const struct attestation *attestation, struct strings *checks)
{
    struct text text = {0};
    int r = 0;

    for (size_t i = 0; i < attestation->count && r == 0; i++) {
        const struct attempt *attempt = &attestation->attempts[i];
        const struct channel_check *wire = &attempt->wire;
        int errnum = wire->act == ACT_SENTINEL ? attestation->sentinel : attempt->check->refused[0];
        int64_t numbers[] = {wire->act, wire->fd < 0 ? -1 : attestation->descriptors[wire->fd], wire->a,
                             wire->b, errnum};

        if (!attempt->check->self_contained || !attempt->control || wire->act == ACT_NONE)
            continue;
        text.length = 0;
        text_add(&text, surface_table[attempt->check->surface].name);
        for (size_t k = 0; k < ARRAY_SIZE(numbers); k++) {
            text_add(&text, ":");
            text_add_number(&text, numbers[k]);
        }
        text_add(&text, ":");
        text_add(&text, wire->name);
        r = text.failed ? -ENOMEM : strings_add(checks, text.data);
    }
    text_free(&text);
    return r;
}

void attest_end(struct attestation *attestation)
{
    canary_process_end(attestation);
    for (size_t i = 0; i < attestation->owned_count; i++)
        fd_close(attestation->owned[i]);
    attestation->owned_count = 0;
    attestation->descriptor_count = 0;
}
