/*
 * table.c - every check of every plan: boundary absent, canary missing, intact; for each kind of caller.
 *
 * The rows are the checks that the backend's plans hold, not a list made here:
 * a check without a row in `boundaries` fails. In a cell the plan holds one
 * check alone, so that no other one can answer for it.
 *
 *   absent   the boundary that this check is to show is taken out of the plan
 *            and the claim stays: ATTESTATION_FAILED with surface and mechanism,
 *            125, nothing ran;
 *   missing  the canary is not made: the command runs and the claim is neither
 *            attested nor enforced; where it is required, the run is refused;
 *   intact   attested, and the command is confined.
 *
 * What the caller may not do outside either (an edge in /etc for an ordinary
 * user) has no control: then it must be `not shown` in all three cells.
 */
#include "boundaries.h"

#include "backend/build.h"
#include "run/attest.h"

/* world_evidence() - of one mechanism in the claim that was seen. */
static enum evidence world_evidence(enum mechanism mechanism)
{
    for (size_t i = 0; i < seen->claim.by_count; i++)
        if (seen->claim.by[i].mechanism == mechanism)
            return seen->claim.by[i].evidence;
    return EVIDENCE_NONE;
}

/* --- names --------------------------------------------------------------------------------------------- */

static const char *const act_names[ACT_COUNT] = {
    [ACT_NONE] = "rename", /* at an edge: rename(x, x), or O_TMPFILE; the run chooses */
    [ACT_OPEN] = "open",
    [ACT_OPEN_AT] = "open-at",
    [ACT_RENAME_SELF] = "rename",
    [ACT_TMPFILE] = "tmpfile",
    [ACT_TRUNCATE] = "truncate",
    [ACT_SOCKET] = "socket",
    [ACT_SOCKETPAIR] = "socketpair",
    [ACT_BIND] = "bind",
    [ACT_SEND_UDP] = "send-udp",
    [ACT_CONNECT_ABSTRACT] = "connect",
    [ACT_CONNECT_PATH] = "connect",
    [ACT_SIGNAL] = "signal",
    [ACT_READ_MEMORY] = "read-memory",
    [ACT_PRLIMIT] = "prlimit",
    [ACT_SHM_INFO] = "shmctl",
    [ACT_KEYRING] = "keyctl",
    [ACT_SENTINEL] = "sentinel",
    [ACT_NO_NEW_PRIVS] = "read-back",
    [ACT_CAPABILITIES] = "read-back",
    [ACT_FILE_SIZE] = "read-back",
    [ACT_DESCRIPTOR] = "is-open",
    [ACT_ENVIRONMENT] = "read-back",
    [ACT_TERMINAL] = "read-back",
    [ACT_REMOVE_ATTRIBUTE] = "attribute",
    [ACT_NAMESPACE] = "read-back",
    [ACT_OBJECT] = "read-back",
    [ACT_MOUNTED] = "read-back",
    [ACT_ROOM] = "read-back",
    [ACT_REPLACED] = "read-back",
    [ACT_CPU_TIME] = "read-back",
    [ACT_PROCESSES] = "read-back",
    [ACT_ROUTE] = "route",
    [ACT_LISTENER] = "connect",
    [ACT_CORE_SIZE] = "read-back",
};

static const char *const canary_names[CANARY_COUNT] = {
    [CANARY_NONE] = "none",
    [CANARY_FILE] = "file",
    [CANARY_FIFO] = "fifo",
    [CANARY_EDGE] = "edge",
    [CANARY_HIDDEN] = "hidden",
    [CANARY_DEVICE] = "device",
    [CANARY_SOCKET_PATH] = "socket",
    [CANARY_SOCKET_ABSTRACT] = "listener",
    [CANARY_TCP] = "tcp",
    [CANARY_UDP] = "udp",
    [CANARY_PROCESS] = "process",
    [CANARY_DESCRIPTOR] = "descriptor",
    [CANARY_SECRET] = "secret",
    [CANARY_TERMINAL] = "terminal",
    [CANARY_NAMESPACE] = "namespace",
    [CANARY_OBJECT] = "object",
    [CANARY_INIT] = "init",
    [CANARY_PROTECTED] = "protected",
    [CANARY_ROOT] = "root",
    [CANARY_LISTENER] = "listener",
};

/* --- the cells ----------------------------------------------------------------------------------------- */

enum cell { CELL_ABSENT = 0, CELL_MISSING, CELL_REQUIRED, CELL_INTACT, CELLS };

#define CELL_WORDS 24
#define ROWS_MAX   (6 * CHANNEL_CHECKS_MAX)

struct line {
    struct check check;
    enum variant variant;
    const struct boundary *boundary;
    char cell[CELLS][CELL_WORDS]; /* empty: not filled, which is a failure */
    bool attested;
};

static struct line lines[ROWS_MAX];
static size_t line_count;

/* Says what was seen when a cell is not what it must be. */
static void say_bad(const struct line *line, const char *cell)
{
    test_note("BAD %s by %s, act %s, canary %s %zu, %s: status %d, error %s %s on %s \"%s\", state %s, "
              "evidence %s, "
              "inside %d, outside %d",
              surface_table[line->check.surface].name, mechanism_name(line->check.mechanism),
              act_names[line->check.act], canary_names[line->check.canary], line->check.index, cell,
              seen->status, error_name(seen->error.code), seen->error.reason, seen->error.surface,
              seen->error.message, state_name(seen->claim.state),
              evidence_name(world_evidence(line->check.mechanism)), seen->inside, seen->outside);
}

static void fill(struct line *line, enum cell cell, bool held, const char *words)
{
    snprintf(line->cell[cell], CELL_WORDS, "%s", held ? words : "BAD");
    if (!check(held))
        say_bad(line, cell == CELL_ABSENT     ? "absent"
                      : cell == CELL_MISSING  ? "missing"
                      : cell == CELL_REQUIRED ? "required"
                                              : "intact");
}

static bool nothing_ran(void)
{
    return seen->status == LINK_FAILED && !seen->inside && !seen->outside;
}

static bool ran_confined(void)
{
    return seen->status == CONFINED && seen->inside && !seen->outside && seen->error.code == ERROR_NONE;
}

/* Neither attested by its mechanism nor called enforced (or absent) on its word. */
static bool only_probed(const struct line *line)
{
    return ran_confined() && world_evidence(line->check.mechanism) == EVIDENCE_PROBED &&
           seen->claim.state != STATE_ENFORCED && seen->claim.state != STATE_ABSENT;
}

static bool caught(const struct line *line)
{
    return nothing_ran() && seen->error.code == ERROR_ATTESTATION_FAILED &&
           strcmp(seen->error.reason, "boundary-absent") == 0 &&
           strcmp(seen->error.surface, surface_table[line->check.surface].name) == 0 &&
           strstr(seen->error.message, mechanism_name(line->check.mechanism));
}

static struct world cell_world(const struct line *line, enum caller caller)
{
    return (struct world){.caller = caller,
                          .variant = line->variant,
                          .only = &line->check,
                          .terminal = line->check.act == ACT_TERMINAL,
                          .inheritable = line->check.act == ACT_CAPABILITIES && geteuid() == 0};
}

static void fill_intact(struct line *line, enum caller caller)
{
    struct world world = cell_world(line, caller);

    need(world_run(&world, true));
    line->attested = world_evidence(line->check.mechanism) == EVIDENCE_ATTESTED;
    if (line->attested)
        fill(line, CELL_INTACT, ran_confined() && seen->claim.tried == 1, "attested");
    else /* only where the caller could not do it outside either */
        fill(line, CELL_INTACT, line->check.canary == CANARY_EDGE && only_probed(line), "no control: probed");
}

static void fill_missing(struct line *line, enum caller caller)
{
    struct world world = cell_world(line, caller);

    world.missing = 1U << line->check.canary;
    need(world_run(&world, true));
    fill(line, CELL_MISSING, only_probed(line),
         line->check.canary == CANARY_NONE ? "not asked: probed" : "probed");
    world.require = true;
    need(world_run(&world, true));
    fill(line, CELL_REQUIRED,
         nothing_ran() && seen->error.code == ERROR_SANDBOX_UNAVAILABLE &&
             strcmp(seen->error.reason, "not-shown") == 0 &&
             strcmp(seen->error.surface, surface_table[line->check.surface].name) == 0,
         "refused");
}

static void fill_absent(struct line *line, enum caller caller)
{
    struct world world = cell_world(line, caller);

    if (line->check.act == ACT_CAPABILITIES && geteuid() != 0) {
        /* This caller has none, so there is nothing that could be left. */
        fill(line, CELL_ABSENT, line->attested, "none to leave");
        return;
    }
    if (line->check.act == ACT_CORE_SIZE && raise_core_limit() <= 1) {
        fill(line, CELL_ABSENT, line->attested, "none to leave");
        return;
    }
    world.change = line->boundary->take_away;
    world.argument = line->boundary->argument;
    need(world_run(&world, true));
    if (line->attested)
        fill(line, CELL_ABSENT, caught(line), "caught");
    else
        fill(line, CELL_ABSENT, seen->status == CONFINED || (seen->inside && seen->outside), "no control");
    if (!line->attested)
        check(world_evidence(line->check.mechanism) == EVIDENCE_PROBED &&
              seen->claim.state != STATE_ENFORCED);
}

/* --- the table ----------------------------------------------------------------------------------------- */

static bool is_known(const struct check *check)
{
    for (size_t i = 0; i < line_count; i++)
        if (lines[i].variant != VARIANT_PLAIN
                ? false
                : lines[i].check.surface == check->surface && lines[i].check.mechanism == check->mechanism &&
                      lines[i].check.act == check->act && lines[i].check.canary == check->canary)
            return true;
    return false;
}

static bool has_bubblewrap(void)
{
    struct host host = {0};

    host_ask_bubblewrap(&host);
    return host.bubblewrap.answer == HOST_YES;
}

/* What a variant is there for; the rest is known. */
static bool is_of_variant(enum surface surface, enum variant variant)
{
    if (variant == VARIANT_NETWORK)
        return surface == SURFACE_NET_LISTED;
    return surface == SURFACE_TTY_READ || surface == SURFACE_TTY_INJECT || surface == SURFACE_TTY_STATE;
}

/* The checks of the plain plan, all of them; of the others what the plain one does not have. */
static void collect_lines(enum caller caller)
{
    for (int variant = 0; variant < VARIANTS; variant++) {
        struct world world = {.caller = caller, .variant = (enum variant)variant};

        if ((variant == VARIANT_BUBBLEWRAP || variant == VARIANT_TERMINAL_BUBBLEWRAP) && !has_bubblewrap()) {
            test_note("bubblewrap cannot be used here: not in the table");
            continue;
        }
        need(world_run(&world, false));
        need(seen->check_count > 20);
        for (size_t i = 0; i < seen->check_count; i++) {
            struct line line = {.check = seen->checks[i], .variant = (enum variant)variant};

            /* The other backend has another chain: its table is a whole one. */
            if (variant < VARIANT_NAMESPACE && variant != VARIANT_PLAIN && is_known(&line.check))
                continue;
            if (variant >= VARIANT_NETWORK && !is_of_variant(line.check.surface, (enum variant)variant))
                continue;
            line.boundary = boundary_of(&line.check);
            if (!line.boundary)
                test_note("no row for %s by %s, act %s", surface_table[line.check.surface].name,
                          mechanism_name(line.check.mechanism), act_names[line.check.act]);
            need(line.boundary && line_count < ROWS_MAX);
            lines[line_count++] = line;
        }
    }
}

static void print_table(enum caller caller)
{
    test_note("| caller: %s", caller_names[caller]);
    test_note("| %-15s | %-14s | %-11s | %-11s | %-28s | %-13s | %-17s | %-8s | %-18s | %s", "surface",
              "mechanism", "act", "canary", "boundary taken away", "absent", "canary missing", "required",
              "intact", "plan");
    for (size_t i = 0; i < line_count; i++) {
        const struct line *line = &lines[i];
        char canary[32];

        snprintf(canary, sizeof(canary), "%s %zu", canary_names[line->check.canary], line->check.index);
        test_note("| %-15s | %-14s | %-11s | %-11s | %-28s | %-13s | %-17s | %-8s | %-18s | %s",
                  surface_table[line->check.surface].name, mechanism_name(line->check.mechanism),
                  act_names[line->check.act], line->check.canary ? canary : "none", line->boundary->how,
                  line->cell[CELL_ABSENT], line->cell[CELL_MISSING], line->cell[CELL_REQUIRED],
                  line->cell[CELL_INTACT], variant_names[line->variant]);
    }
}

/* Every mechanism of every surface has been attested, and missed, by one check at least. */
static void check_each_mechanism(void)
{
    for (size_t i = 0; i < line_count; i++) {
        bool attested = false;

        for (size_t k = 0; k < line_count; k++)
            attested |= lines[k].attested && lines[k].check.surface == lines[i].check.surface &&
                        lines[k].check.mechanism == lines[i].check.mechanism;
        check(attested);
        for (int cell = 0; cell < CELLS; cell++)
            check(lines[i].cell[cell][0] != '\0');
    }
}

static void make_table(enum caller caller)
{
    if (!caller_possible(caller))
        test_skip("only root can be this caller");
    collect_lines(caller);
    for (size_t i = 0; i < line_count; i++) {
        fill_intact(&lines[i], caller);
        fill_missing(&lines[i], caller);
        fill_absent(&lines[i], caller);
    }
    print_table(caller);
    check_each_mechanism();
}

TEST_IN(table_of_root_as_the_owner, 400)
{
    make_table(CALLER_SWITCHED);
}

TEST_IN(table_of_root_itself, 400)
{
    make_table(CALLER_ROOT);
}

TEST_IN(table_of_an_ordinary_user, 400)
{
    make_table(CALLER_USER);
}

static const struct gone {
    const char *name;
    bool there; /* outside, when the answer is judged */
    enum evidence evidence;
} gones[] = {
    {"it is still there outside", true, EVIDENCE_ATTESTED},
    {"it is gone outside as well", false, EVIDENCE_PROBED},
};

/* That a name is not there says nothing once it is not there for anybody. */
TEST_EACH(a_name_that_vanished, struct gone, gones)
{
    static struct attestation attestation;
    struct check vanishing = CHECK(FS_HIDDEN, MOUNT, OPEN, HIDDEN, .by_name = true, .a = O_RDONLY,
                                   .vanishes = true, .refused = {ENOENT});
    struct channel_results results = {.type = CHANNEL_RESULTS, .count = 1, .result = {{.errnum = ENOENT}}};
    struct resolved resolved = {.uid = geteuid(), .gid = getegid()};
    struct plan plan = {.supervised = true};
    struct error error = {0};
    char path[CHANNEL_NAME];

    need((size_t)snprintf(path, sizeof(path), "%.*s/key", CHANNEL_NAME - 5, test_dir) < sizeof(path));
    if (row->there)
        world_make_file(test_dir, "key");
    plan_raise(&plan, SURFACE_FS_HIDDEN, STATE_ENFORCED, MECHANISM_MOUNT, NULL);
    attestation.count = 1;
    attestation.attempts[0] = (struct attempt){
        .check = &vanishing, .control = true, .wire = {.act = ACT_OPEN, .fd = -1, .a = O_RDONLY}};
    memcpy(attestation.attempts[0].wire.name, path, sizeof(path));
    check_int(attest_judge(&attestation, &results,
                           offsetof(struct channel_results, result) + sizeof(results.result[0]), getpid(),
                           &plan, &resolved, &error),
              0);
    check_int(plan.claims[SURFACE_FS_HIDDEN].by[0].evidence, row->evidence);
    check_int(plan.claims[SURFACE_FS_HIDDEN].state, row->there ? STATE_ENFORCED : STATE_PARTIAL);
    plan_free(&plan);
}

/* --- what a table of single checks cannot show --------------------------------------------------------- */

static void other_sentinel(struct world *world, const char *argument)
{
    size_t at = world_option(world, world_link(world, "seccomp-run"), "--sentinel");

    world_remove(world, at + 1, 1);
    world_insert(world, at + 1, argument);
}

/* A filter that somebody else loaded answers another errno. Two of them: the run's own may be either by
 * chance. */
TEST(another_filter_is_not_ours)
{
    static const char *const others[] = {"300", "301"};
    int failed = 0;

    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        struct world world = {.caller = CALLER_USER, .change = other_sentinel, .argument = others[i]};

        need(world_run(&world, true));
        if (nothing_ran() && seen->error.code == ERROR_ATTESTATION_FAILED &&
            strstr(seen->error.message, mechanism_name(MECHANISM_SECCOMP)))
            failed++;
        else
            check(ran_confined());
    }
    check(failed >= 1);
}

static void say_guard_is_there(struct world *world, const char *argument)
{
    (void)argument;
    world_without_guard(world);
    world->plan.guard = true;
}

/* A guard that is promised and does not say that it stands: no start, though every check would hold. */
TEST(guard_that_is_not_there)
{
    struct world world = {.caller = CALLER_USER, .change = say_guard_is_there};

    need(world_run(&world, true));
    check(nothing_ran());
    check_int(seen->error.code, ERROR_SANDBOX_UNAVAILABLE);
}
