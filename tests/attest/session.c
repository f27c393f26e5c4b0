/*
 * session.c - a command is in the namespaces of the session that it asked for, or it does not start.
 *
 * Should:  take one join away at a time, and give the namespaces of another session for those that were
 * asked. Mustn't: leave a keeper behind: its owner is the process that runs.
 */
#include "world.h"

#include "run/session.h"

#include <sys/wait.h>

static char *runtime_env[2];

/* A session of that name; its keeper is nobody's child here, as that of a command line is. */
static void begin(struct world *world, struct session_place *place, const char *name, int owner)
{
    struct error error = {0};
    int confirm, status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        if (session_start(place, name, &world->resolved, owner, getppid(), &confirm, &error) < 0) {
            test_note("session: %s", error.message);
            _exit(EXIT_FAILURE);
        }
        _exit(session_confirm(confirm) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    must(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

static void enter(const struct session_place *place, const char *name, struct session *session)
{
    struct error error = {0};
    int connection = session_ask(place, name, &error);

    must(connection >= 0);
    must(session_join(connection, name, session, &error) == 0);
}

/* The word of the chain that joins this one, and its option, become words that mean nothing. */
static void take_away(struct plan *plan, enum channel_join which)
{
    for (size_t i = 1; i < plan->word_count; i++)
        if (plan->words[i].kind == WORD_JOIN && plan->words[i].path == which) {
            memmove(plan->words + i - 1, plan->words + i + 1,
                    (plan->word_count - i - 1) * sizeof(*plan->words));
            plan->word_count -= 2;
            return;
        }
    must(false);
}

static int run_in_session(struct world *world, char *const *command, struct report *report)
{
    static struct session session, other;
    struct session_place place = SESSION_PLACE_NONE;
    struct error error = {0};
    char *directory;
    int owner = (int)kernel_call(SYS_pidfd_open, getpid(), 0, 0, 0, 0, 0), status;

    must(owner >= 0 && asprintf(&directory, "%s/runtime", world->base) > 0 &&
         asprintf(&runtime_env[0], "XDG_RUNTIME_DIR=%s", directory) > 0);
    must(mkdir(directory, 0700) == 0);
    must(session_open_place(&place, runtime_env, SESSION_PLACE_START, &error) == 0);
    begin(world, &place, "one", owner);
    begin(world, &place, "two", owner);
    enter(&place, "one", &session);
    enter(&place, "two", &other);
    if (strcmp(world->argument, "another") == 0)
        memcpy(session.fd, other.fd, sizeof(session.fd));
    world->resolved.session = &session;
    world->policy.tmp = TMP_SESSION;
    plan_free(&world->plan);
    world->plan = (struct plan){0};
    must(backend_by_name("namespace")->plan(&world->resolved, &world->host, true, &world->plan, &error) == 0);
    if (strcmp(world->argument, "net") == 0)
        take_away(&world->plan, JOIN_NET);
    status = run_supervised_without(&world->plan, &world->resolved, command, 0, report);
    must(session_end(&place, "one", &error) == 0 && session_end(&place, "two", &error) == 0);
    return status;
}

static const struct session_row {
    const char *name, *argument;
    enum error_code code;
} rows[] = {
    {"as it should be", "", ERROR_NONE},
    {"the network is not joined", "net", ERROR_ATTESTATION_FAILED},
    {"it is another session", "another", ERROR_ATTESTATION_FAILED},
};

static void check_in_session(const struct session_row *row, enum caller caller)
{
    struct world world = {.caller = caller,
                          .variant = VARIANT_NAMESPACE,
                          .supervise = run_in_session,
                          .argument = row->argument};

    need(world_run(&world, true));
    check_int(seen->error.code, row->code);
    check_str(seen->error.reason, row->code == ERROR_NONE ? "" : "boundary-absent");
    check_int(seen->status, row->code == ERROR_NONE ? CONFINED : LINK_FAILED);
    check(seen->inside == (row->code == ERROR_NONE));
    check(!seen->outside);
}

TEST_EACH(session_is_the_one_that_was_asked, struct session_row, rows)
{
    static struct host host;

    host_look(&host);
    host_ask_namespaces(&host, getuid(), getgid());
    if (host.namespaces.answer == HOST_NO)
        test_skip("no namespaces here");
    for (int caller = 0; caller < CALLERS; caller++)
        if (caller_possible((enum caller)caller))
            check_in_session(row, (enum caller)caller);
}
