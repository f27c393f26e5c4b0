/*
 * death.c - the supervisor dies, or misbehaves, between any two messages.
 *
 * Should:  before GO nothing of the command ever runs; after it nothing of the
 *          run survives, however the command's processes have gone away.
 * Mustn't: believe in a list of processes: this process is the subreaper of all
 *          of them, so "none is left" is that there is no child left to wait for.
 */
#include "world.h"

#include "kernel/children.h"
#include "run/channel.h"
#include "run/launcher.h"
#include "run/spawn.h"

#define GONE_SECONDS  2
#define SENTINEL      300
#define RANDOM_FAKE   100 /* moments in the talk of a supervisor of our own */
#define RANDOM_REAL   200 /* moments in a whole run */
#define SPAN_LEAST_US 20000
#define ANSWER_MS     5000

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
    char tmp[3 * PATH_MAX];
    int launcher = launcher_open(&talk->world->resolved, "confine-launch", &error);
    struct chain_fds fds = CHAIN_FDS_NONE;

    snprintf(tmp, sizeof(tmp), "%s/home", talk->world->base);
    must(launcher >= 0 && channel_open(&talk->channel, &theirs) == 0 && pipe2(liveness, O_CLOEXEC) == 0);
    must(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    fds.channel = theirs;
    fds.liveness = liveness[0];
    fds.stderr_fd = null;
    fds.tmp = open(tmp, O_PATH | O_DIRECTORY | O_CLOEXEC);
    talk->liveness = liveness[1];
    must(fds.tmp >= 0 && launch_prepare(&launch, &talk->world->plan, &talk->world->resolved, &fds, SENTINEL,
                                        NULL, tmp, command) == 0);
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

/* --- what is left -------------------------------------------------------------------------------------- */

static uint64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000U + (uint64_t)now.tv_nsec / 1000U;
}

static void pause_us(uint64_t us)
{
    struct timespec pause = {.tv_sec = (time_t)(us / 1000000U), .tv_nsec = (long)(us % 1000000U) * 1000};

    nanosleep(&pause, NULL);
}

/* Return: whether every process of the run has ended in time. This process is their last parent. */
static bool all_gone(void)
{
    uint64_t end = now_us() + GONE_SECONDS * 1000000U;

    for (;;) {
        pid_t pid = waitpid(-1, NULL, WNOHANG | __WALL);

        if (pid < 0 && errno == ECHILD)
            return true;
        if (pid == 0) {
            if (now_us() > end)
                return false;
            pause_us(500);
        }
    }
}

/* Ends what an assertion has found alive, so that one bad moment is not all moments to come. */
static void end_rest(void)
{
    children_kill(0);
    while (waitpid(-1, NULL, __WALL) > 0)
        ;
}

static bool tree_has(const struct world *world, const char *name)
{
    char path[3 * PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", world->base, name);
    return access(path, F_OK) == 0;
}

static bool wait_for(const struct world *world, const char *name)
{
    for (int i = 0; i < 4000 && !tree_has(world, name); i++)
        pause_us(500);
    return tree_has(world, name);
}

static struct world new_world(const char *script)
{
    struct world world = {.caller = CALLER_USER, .script = script};

    need(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    world_name(&world);
    return world;
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

TEST_EACH(supervisor_killed, struct step_row, steps)
{
    for (int caller = 0; caller < CALLERS; caller++)
        for (int i = 0; i < 5; i++) {
            struct world world = new_world(daemons);

            if (!caller_possible((enum caller)caller))
                continue;
            world.caller = (enum caller)caller;
            world.supervise = supervise_by_hand;
            world.at = (int)row->step;
            need(world_start(&world, true) > 0);
            check(all_gone());
            check(!seen->done && seen->go == row->runs);
            if (!row->runs)
                check(!tree_has(&world, "ws/ran"));
            check(!tree_has(&world, "outside"));
            end_rest();
        }
}

/* The daemons are up, and the one who would end them is killed. */
TEST(supervisor_killed_with_daemons)
{
    for (int caller = 0; caller < CALLERS; caller++)
        for (int real = 0; real < 2; real++) {
            struct world world = new_world(daemons);
            pid_t pid;

            if (!caller_possible((enum caller)caller))
                continue;
            world.caller = (enum caller)caller;
            world.supervise = real ? NULL : supervise_by_hand;
            pid = world_start(&world, true);
            check(wait_for(&world, "ws/up"));
            kill(pid, SIGKILL);
            check(all_gone());
            end_rest();
        }
}

/* --- death at any moment ------------------------------------------------------------------------------- */

/* Twice the time until the command's first act, on this machine as busy as it is: so the moments lie before,
 * within and after the talk. */
static uint64_t measure_span(bool real)
{
    uint64_t longest = SPAN_LEAST_US / 2;

    for (int i = 0; i < 3; i++) {
        struct world world = new_world(daemons);
        uint64_t begin = now_us();
        pid_t pid;

        world.supervise = real ? NULL : supervise_by_hand;
        pid = world_start(&world, true);
        need(wait_for(&world, "ws/ran"));
        if (now_us() - begin > longest)
            longest = now_us() - begin;
        kill(pid, SIGKILL);
        check(all_gone());
        end_rest();
    }
    return 2 * longest;
}

static void kill_at_moments(int moments, bool real)
{
    uint64_t span = measure_span(real);
    unsigned ran = 0, unfinished = 0;

    for (int i = 0; i < moments; i++) {
        struct world world = new_world(daemons);
        uint64_t moment = (uint64_t)rand() % span;
        pid_t pid;

        world.supervise = real ? NULL : supervise_by_hand;
        pid = world_start(&world, true);
        need(pid > 0);
        pause_us(moment);
        kill(pid, SIGKILL);
        if (!check(all_gone()))
            test_note("something survived a death after %llu us", (unsigned long long)moment);
        check(!tree_has(&world, "outside"));
        if (!real && !seen->go)
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
    kill_at_moments(RANDOM_FAKE, false);
}

TEST_IN(killed_at_random_moments_of_a_run, 480)
{
    kill_at_moments(RANDOM_REAL, true);
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
    struct world world = new_world(NULL);

    world.supervise = supervise_by_hand;
    world.at = (int)row->manners << 8;
    need(world_run(&world, true));
    check_int(seen->status, row->status);
    check_int(seen->inside, row->status == CONFINED);
    check(!seen->outside);
    check(all_gone());
    end_rest();
}

/* --- an ordinary status -------------------------------------------------------------------------------- */

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

static void check_status(const char *script, int status, int signal)
{
    struct world world = new_world(script);

    outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    need(outcome != MAP_FAILED);
    world.supervise = supervise_and_tell;
    need(world_run(&world, true));
    check_int(seen->error.code, ERROR_NONE);
    if (signal ==
        SIGXFSZ) { /* these runs have a limit on the size of files, and this is how it ends a command */
        check_int(seen->status, 128 + SIGKILL);
        check_int(outcome->kind, OUTCOME_LIMIT);
        check_str(outcome->limit, "file_size");
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
