/*
 * death.c - the supervisor dies, or misbehaves, between any two messages.
 *
 * Should:  before GO nothing of the command ever runs; after it nothing of the
 *          run survives, however the command's processes have gone away.
 * Mustn't: believe in a list of processes: this process is the subreaper of all
 *          of them, so "none is left" is that there is no child left to wait for.
 */
#include "left.h"

#include "run/channel.h"
#include "run/launcher.h"
#include "run/spawn.h"

#include <sys/socket.h>

#define SENTINEL      300
#define RANDOM_FAKE   100 /* moments in the talk of a supervisor of our own */
#define RANDOM_REAL   200 /* moments in a whole run */
#define RANDOM_EXEC   150 /* moments of a chain without a supervisor */
#define SPAN_LEAST_US 60000
#define ANSWER_MS     60000

/* Daemons that left their parents and their session, one of them in a nested group, and a command that stays.
 */
static const char daemons[] =
    "echo ran >ran; (echo ran >../outside) 2>/dev/null\n"
    "for i in 1 2 3 4 5; do (setsid sh -c 'sleep 300 & sleep 300 & wait' &) & done\n"
    "setsid setsid sleep 300 &\n"
    "echo up >up; sleep 300";

/* --- a supervisor of our own --------------------------------------------------------------------------- */

enum step {
    STEP_NEVER = 0,
    STEP_BEFORE_HERE,
    STEP_AFTER_HERE,
    STEP_AFTER_CHECKS,
    STEP_AFTER_RESULTS,
    STEP_AFTER_GO,
    STEP_AFTER_EXEC,
};

enum manners {
    MANNERS_GOOD = 0,
    MANNERS_CLOSED,         /* the channel ends instead of CHECKS */
    MANNERS_NOISE,          /* bytes of no meaning instead of CHECKS */
    MANNERS_EMPTY,          /* a packet of no bytes */
    MANNERS_SHORT,          /* half of CHECKS */
    MANNERS_LONG,           /* CHECKS and a byte */
    MANNERS_COUNT,          /* more checks promised than sent */
    MANNERS_TOO_MANY,       /* more than there may be */
    MANNERS_GO_FIRST,       /* GO instead of CHECKS */
    MANNERS_CLOSED_LATE,    /* the channel ends instead of GO */
    MANNERS_SHORT_GO,       /* half of GO */
    MANNERS_LONG_GO,        /* GO and a byte */
    MANNERS_GO_DESCRIPTORS, /* GO with a descriptor */
    MANNERS_OTHER_WORD,     /* another word instead of GO */
    MANNERS_CHECKS_AGAIN,   /* CHECKS instead of GO */
    MANNERS_GO_TWICE,       /* twice GO: the command starts, once */
};

struct talk {
    struct world *world;
    int channel, liveness;
    pid_t pid;
    enum step die;
    enum manners manners;
};

static void reach(const struct talk *talk, enum step step)
{
    if (talk->die == step)
        kill(getpid(), SIGKILL);
}

static void say(const struct talk *talk, const void *data, size_t size, bool descriptor)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    /* It may be gone already, which is the end that is looked for. */
    if (channel_send(talk->channel, data, size, &null, descriptor ? 1 : 0) < 0)
        errno = 0;
    close(null);
}

static void start(struct talk *talk, char *const *command)
{
    struct error error = {0};
    struct launch launch;
    int standard[3] = {0, 1, 2}, theirs, liveness[2], null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    bool pids = talk->world->plan.pid_namespace; /* then a number of processes comes back on it */
    char tmp[3 * PATH_MAX];
    int launcher = launcher_open(&talk->world->resolved, "confine-launch", &error);
    struct chain_fds fds = CHAIN_FDS_NONE;

    snprintf(tmp, sizeof(tmp), "%s/home", talk->world->base);
    must(launcher >= 0 && channel_open(&talk->channel, &theirs) == 0);
    must((pids ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, liveness) : pipe2(liveness, O_CLOEXEC)) ==
         0);
    must(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    fds.channel = theirs;
    fds.liveness = liveness[0];
    fds.stderr_fd = null;
    fds.tmp = open(tmp, O_PATH | O_DIRECTORY | O_CLOEXEC);
    talk->liveness = liveness[1];
    must(fds.tmp >= 0 && launch_prepare(&launch, &talk->world->plan, &talk->world->resolved, &fds, SENTINEL,
                                        NULL, pids ? NULL : tmp, command) == 0);
    talk->pid = spawn_chain(launcher, &launch, standard, talk->world->resolved.cwd_fd, NULL, NULL);
    must(talk->pid > 0);
    close(theirs);
    close(liveness[0]);
}

static bool hear(const struct talk *talk, void *room, size_t size)
{
    pid_t writer;

    return channel_receive(talk->channel, room, size, ANSWER_MS, &writer) > 0;
}

/* Instead of CHECKS. Return: whether the talk goes on. */
static bool say_checks(struct talk *talk)
{
    static struct channel_checks checks = {
        .type = CHANNEL_CHECKS, .count = 1, .check = {{.act = ACT_NO_NEW_PRIVS}}};
    const size_t size = offsetof(struct channel_checks, check) + sizeof(checks.check[0]);
    const struct channel_word go = {.type = CHANNEL_GO};

    switch (talk->manners) {
    case MANNERS_CLOSED:
        talk->channel = fd_close(talk->channel);
        return false;
    case MANNERS_NOISE:
        say(talk, "\377\376 not a message of this channel", 32, false);
        return false;
    case MANNERS_EMPTY:
        say(talk, "", 0, false);
        return false;
    case MANNERS_SHORT:
        say(talk, &checks, size / 2, false);
        return false;
    case MANNERS_LONG:
        say(talk, &checks, size + 1, false);
        return false;
    case MANNERS_COUNT:
        checks.count = 2;
        say(talk, &checks, size, false);
        return false;
    case MANNERS_TOO_MANY:
        checks.count = CHANNEL_CHECKS_MAX + 1;
        say(talk, &checks, sizeof(checks), false);
        return false;
    case MANNERS_GO_FIRST:
        say(talk, &go, sizeof(go), false);
        say(talk, &go, sizeof(go), false);
        return false;
    default:
        say(talk, &checks, size, false);
        return true;
    }
}

static bool say_go(struct talk *talk)
{
    struct {
        struct channel_word word;
        char more;
    } go = {.word.type = CHANNEL_GO};
    static struct channel_checks checks = {.type = CHANNEL_CHECKS};

    switch (talk->manners) {
    case MANNERS_CLOSED_LATE:
        talk->channel = fd_close(talk->channel);
        return false;
    case MANNERS_SHORT_GO:
        say(talk, &go, sizeof(go.word) / 2, false);
        return false;
    case MANNERS_LONG_GO:
        say(talk, &go, sizeof(go.word) + 1, false);
        return false;
    case MANNERS_GO_DESCRIPTORS:
        say(talk, &go, sizeof(go.word), true);
        return false;
    case MANNERS_OTHER_WORD:
        go.word.type = CHANNEL_HERE;
        say(talk, &go, sizeof(go.word), false);
        return false;
    case MANNERS_CHECKS_AGAIN:
        say(talk, &checks, offsetof(struct channel_checks, check), false);
        return false;
    case MANNERS_GO_TWICE:
        say(talk, &go, sizeof(go.word), false);
        break;
    default:
        break;
    }
    seen->go = true;
    say(talk, &go, sizeof(go.word), false);
    return true;
}

static int finish(struct talk *talk)
{
    int status;

    while (waitpid(talk->pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(talk->liveness);
    while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int supervise_by_hand(struct world *world, char *const *command, struct report *report)
{
    struct talk talk = {
        .world = world, .die = (enum step)(world->at & 0xff), .manners = (enum manners)(world->at >> 8)};
    struct channel_word word;
    struct channel_results results;
    bool here = false, guard = !world->plan.guard;

    (void)report;
    start(&talk, command);
    reach(&talk, STEP_BEFORE_HERE);
    while (!here || !guard) {
        must(hear(&talk, &word, sizeof(word)) && (word.type == CHANNEL_HERE || word.type == CHANNEL_GUARD));
        here |= word.type == CHANNEL_HERE;
        guard |= word.type == CHANNEL_GUARD;
    }
    reach(&talk, STEP_AFTER_HERE);
    if (!say_checks(&talk))
        return finish(&talk);
    reach(&talk, STEP_AFTER_CHECKS);
    must(hear(&talk, &results, sizeof(results)) && results.count == 1 && results.result[0].errnum == EPERM);
    reach(&talk, STEP_AFTER_RESULTS);
    if (!say_go(&talk))
        return finish(&talk);
    reach(&talk, STEP_AFTER_GO);
    hear(&talk, &word, sizeof(word)); /* the exec ends the channel */
    reach(&talk, STEP_AFTER_EXEC);
    return finish(&talk);
}

/* --- death between two messages ------------------------------------------------------------------------ */

static const struct step_row {
    const char *name;
    enum step step;
    bool runs;
} steps[] = {
    {"before HERE", STEP_BEFORE_HERE, false},   {"after HERE", STEP_AFTER_HERE, false},
    {"after CHECKS", STEP_AFTER_CHECKS, false}, {"after RESULTS", STEP_AFTER_RESULTS, false},
    {"after GO", STEP_AFTER_GO, true},          {"after the exec", STEP_AFTER_EXEC, true},
};

static void kill_at_step(const struct step_row *row, enum variant variant, enum caller caller)
{
    struct world world = new_world(variant, daemons);

    world.caller = caller;
    world.supervise = supervise_by_hand;
    world.at = (int)row->step;
    need(world_start(&world, true) > 0);
    check(nothing_left(&world));
    check(!seen->done && seen->go == row->runs);
    if (!row->runs)
        check(!tree_has(&world, "ws/ran"));
    check(!tree_has(&world, "outside"));
    end_rest();
}

TEST_EACH(supervisor_killed, struct step_row, steps)
{
    for (size_t variant = 0; variant < ARRAY_SIZE(variants); variant++)
        for (int caller = 0; caller < CALLERS; caller++)
            for (int i = 0; i < 5; i++)
                if (caller_possible((enum caller)caller) && variant_possible(variants[variant]))
                    kill_at_step(row, variants[variant], (enum caller)caller);
}

/* Without a supervisor this process becomes the one in front. */
static int exec_instead(struct world *world, char *const *command, struct report *report)
{
    return run_exec(&world->plan, &world->resolved, &world->host, command, &report->error);
}

enum way { WAY_BY_HAND = 0, WAY_REAL, WAY_EXEC };

static struct world world_of_way(enum variant variant, enum way way)
{
    struct world world = new_world(variant, daemons);

    world.supervise = way == WAY_REAL ? NULL : way == WAY_EXEC ? exec_instead : supervise_by_hand;
    world.exec = way == WAY_EXEC;
    return world;
}

static void kill_with_daemons(enum variant variant, enum caller caller, enum way way)
{
    struct world world = world_of_way(variant, way);
    pid_t pid;

    world.caller = caller;
    pid = world_start(&world, true);
    check(wait_for(&world, "ws/up"));
    if (variant == VARIANT_NAMESPACE)
        check(count_views(&world) > 0); /* the control: this is how a mount that is left would look */
    kill(pid, SIGKILL);
    check(nothing_left(&world));
    end_rest();
}

/* The daemons are up, and the one who would end them is killed. */
TEST_IN(supervisor_killed_with_daemons, 120)
{
    for (size_t variant = 0; variant < ARRAY_SIZE(variants); variant++)
        for (int caller = 0; caller < CALLERS; caller++) {
            if (!caller_possible((enum caller)caller) || !variant_possible(variants[variant]))
                continue;
            kill_with_daemons(variants[variant], (enum caller)caller, WAY_BY_HAND);
            kill_with_daemons(variants[variant], (enum caller)caller, WAY_REAL);
        }
}

/* The process in front of an exec; with processes of a namespace behind it, nothing else ends these. */
TEST_IN(process_in_front_killed, 120)
{
    for (int caller = 0; caller < CALLERS; caller++)
        if (caller_possible((enum caller)caller) && variant_possible(VARIANT_NAMESPACE))
            kill_with_daemons(VARIANT_NAMESPACE, (enum caller)caller, WAY_EXEC);
}

/* --- death at any moment ------------------------------------------------------------------------------- */

/* Twice the time until the command's first act, on this machine as busy as it is: so the moments lie before,
 * within and after the talk. */
static uint64_t measure_span(enum variant variant, enum way way)
{
    uint64_t longest = SPAN_LEAST_US / 2;

    for (int i = 0; i < 3; i++) {
        struct world world = world_of_way(variant, way);
        uint64_t begin = now_us();
        pid_t pid = world_start(&world, true);

        need(wait_for(&world, "ws/ran"));
        if (now_us() - begin > longest)
            longest = now_us() - begin;
        kill(pid, SIGKILL);
        check(all_gone());
        end_rest();
    }
    return 2 * longest;
}

static void kill_at_moments(int moments, enum variant variant, enum way way)
{
    uint64_t span = measure_span(variant, way);
    unsigned ran = 0, unfinished = 0;

    for (int i = 0; i < moments; i++) {
        struct world world = world_of_way(variant, way);
        uint64_t moment = (uint64_t)rand() % span;
        enum caller caller = (enum caller)(i % CALLERS);
        pid_t pid;

        world.caller = caller_possible(caller) ? caller : CALLER_USER;
        pid = world_start(&world, true);
        need(pid > 0);
        pause_us(moment);
        kill(pid, SIGKILL);
        if (!nothing_left(&world))
            test_note("something survived a death after %llu us", (unsigned long long)moment);
        check(!tree_has(&world, "outside"));
        if (way == WAY_BY_HAND && !seen->go)
            check(!tree_has(&world, "ws/ran"));
        ran += tree_has(&world, "ws/ran");
        unfinished += !tree_has(&world, "ws/up");
        end_rest();
    }
    test_note("of %d deaths within %llu us %u came after the command's first act and %u before its last",
              moments, (unsigned long long)span, ran, unfinished);
    check(ran > 0 && unfinished > 0);
}

TEST_IN(killed_at_random_moments_of_the_talk, 240)
{
    kill_at_moments(RANDOM_FAKE, VARIANT_PLAIN, WAY_BY_HAND);
}

TEST_IN(killed_at_random_moments_of_a_run, 480)
{
    kill_at_moments(RANDOM_REAL, VARIANT_PLAIN, WAY_REAL);
}

TEST_IN(killed_at_random_moments_of_the_talk_with_namespaces, 240)
{
    if (variant_possible(VARIANT_NAMESPACE))
        kill_at_moments(RANDOM_FAKE, VARIANT_NAMESPACE, WAY_BY_HAND);
}

TEST_IN(killed_at_random_moments_of_a_run_with_namespaces, 480)
{
    if (variant_possible(VARIANT_NAMESPACE))
        kill_at_moments(RANDOM_REAL, VARIANT_NAMESPACE, WAY_REAL);
}

TEST_IN(killed_at_random_moments_of_an_exec_with_namespaces, 480)
{
    if (variant_possible(VARIANT_NAMESPACE))
        kill_at_moments(RANDOM_EXEC, VARIANT_NAMESPACE, WAY_EXEC);
}

/* --- a supervisor without manners ---------------------------------------------------------------------- */

static const struct manners_row {
    const char *name;
    enum manners manners;
    int status;
} manners[] = {
    {"none of it: the control", MANNERS_GOOD, CONFINED},
    {"end of the channel instead of CHECKS", MANNERS_CLOSED, LINK_FAILED},
    {"noise instead of CHECKS", MANNERS_NOISE, LINK_FAILED},
    {"an empty packet", MANNERS_EMPTY, LINK_FAILED},
    {"half of CHECKS", MANNERS_SHORT, LINK_FAILED},
    {"CHECKS and a byte", MANNERS_LONG, LINK_FAILED},
    {"fewer checks than promised", MANNERS_COUNT, LINK_FAILED},
    {"more checks than there may be", MANNERS_TOO_MANY, LINK_FAILED},
    {"GO without CHECKS", MANNERS_GO_FIRST, LINK_FAILED},
    {"end of the channel instead of GO", MANNERS_CLOSED_LATE, LINK_FAILED},
    {"half of GO", MANNERS_SHORT_GO, LINK_FAILED},
    {"GO and a byte", MANNERS_LONG_GO, LINK_FAILED},
    {"GO with a descriptor", MANNERS_GO_DESCRIPTORS, LINK_FAILED},
    {"another word than GO", MANNERS_OTHER_WORD, LINK_FAILED},
    {"CHECKS instead of GO", MANNERS_CHECKS_AGAIN, LINK_FAILED},
    {"GO twice", MANNERS_GO_TWICE, CONFINED},
};

TEST_EACH(bad_manners, struct manners_row, manners)
{
    for (size_t variant = 0; variant < ARRAY_SIZE(variants); variant++) {
        struct world world = new_world(variants[variant], NULL);

        if (!variant_possible(variants[variant]))
            continue;
        world.supervise = supervise_by_hand;
        world.at = (int)row->manners << 8;
        need(world_run(&world, true));
        check_int(seen->status, row->status);
        check_int(seen->inside, row->status == CONFINED);
        check(!seen->outside);
        check(nothing_left(&world));
        end_rest();
    }
}
