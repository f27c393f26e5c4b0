/*
 * host.c - a program that uses the library as a harness would: what is told of a run, what reaches the
 * command, and what the caller sees of it.
 */
#include "host_calls.h"

#include <sys/socket.h>

/* --- ends ----------------------------------------------------------------------------------------------- */

TEST(the_contract_is_the_header_s)
{
    check_int(confine_contract(), CONFINE_CONTRACT);
}

static const struct ended {
    const char *name;
    const char *command[4];
    const char *words[4];
    int kind, status, signal, error;
} ended[] = {
    {"exit 0", {"true"}, {NULL}, CONFINE_ENDED_EXITED, 0, 0, 0},
    {"exit 125 of the command", {"sh", "-c", "exit 125"}, {NULL}, CONFINE_ENDED_EXITED, 125, 0, 0},
    {"a signal", {"sh", "-c", "kill -USR1 $$"}, {NULL}, CONFINE_ENDED_SIGNALED, -1, SIGUSR1, 0},
    {"the time limit", {"sleep", "1000"}, {"--timeout", "10ms"}, CONFINE_ENDED_TIMED_OUT, -1, 0, 0},
    {"no such command",
     {"/nowhere/at/all"},
     {NULL},
     CONFINE_ENDED_NOT_STARTED,
     -1,
     0,
     CONFINE_ERROR_COMMAND_NOT_FOUND},
    {"not to be executed",
     {"/etc/passwd"},
     {NULL},
     CONFINE_ENDED_NOT_STARTED,
     -1,
     0,
     CONFINE_ERROR_COMMAND_NOT_EXECUTABLE},
    {"no such option", {"true"}, {"--bogus"}, CONFINE_ENDED_NOT_STARTED, -1, 0, CONFINE_ERROR_USAGE},
    {"refused",
     {"true"},
     {"--backend=refuse"},
     CONFINE_ENDED_NOT_STARTED,
     -1,
     0,
     CONFINE_ERROR_SANDBOX_UNAVAILABLE},
};

TEST_EACH(an_end_is_told, struct ended, ended)
{
    struct confine_options with = options;
    struct confine_end end = {.size = sizeof(end)};
    struct confine_run *run;
    char *report = NULL, *again = NULL;

    with.words = row->words;
    run = spawn(&with, row->command);
    check_int(confine_run_wait(run, LONG_MS, &end, &report), CONFINE_OK);
    check_int(end.kind, row->kind);
    check_int(end.status, row->status);
    check_int(end.signal, row->signal);
    check_int(end.error, row->error);
    check_has(report, "\"schema\": \"confine/report/1\"");
    check_int(confine_run_wait(run, 0, NULL, &again), CONFINE_OK); /* and once more the same */
    check_str(again, report);
    check(hear(run, "ended"));
    confine_free(report);
    confine_free(again);
    confine_run_unref(run);
}

TEST(a_run_that_is_there_has_not_ended)
{
    struct confine_end end = {.size = sizeof(end), .kind = 99};
    struct confine_run *run = spawn(&options, WORDS("sleep", "1000"));

    check_int(confine_run_wait(run, 0, &end, NULL), CONFINE_E_TIMEOUT);
    check_int(confine_run_wait(run, 20, &end, NULL), CONFINE_E_TIMEOUT);
    check_int(end.kind, 99);
    confine_run_unref(run);
}

/* The number in front of LINE's member KEY. */
static long find_number(const char *text, const char *key)
{
    const char *found = strstr(text, key);

    return found ? strtol(found + strlen(key), NULL, 10) : 0;
}

/* What /proc says of PID. */
static const char *status_of(pid_t pid, char *text, size_t size)
{
    char path[64];
    int fd;
    ssize_t got;

    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    got = fd < 0 ? -1 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    return text;
}

/* The process that supervises a run that has just been started: the next one above the command that is called
 * confine. */
static pid_t supervisor_of(const struct confine_run *run)
{
    char *line = malloc(1 << 20), text[4096];
    pid_t pid = line && hear_line(run, line, 1 << 20) ? (pid_t)find_number(line, "\"pid\": ") : 0;

    free(line);
    for (int steps = 0; steps < 4 && pid > 1; steps++) {
        status_of(pid, text, sizeof(text));
        if (strncmp(text, "Name:\tconfine\n", 14) == 0 && steps > 0)
            return pid;
        pid = (pid_t)find_number(text, "\nPPid:\t");
    }
    return 0;
}

TEST(a_supervisor_that_was_killed_leaves_the_end_unknown_and_nothing_behind)
{
    struct confine_options with = options;
    struct confine_end end;
    struct confine_run *run;
    char *report = (char *)&end;
    int ends[2], places[4] = {-1, -1, -1, 0};
    pid_t supervisor;

    need(pipe2(ends, O_CLOEXEC) == 0);
    places[3] = ends[1];
    with.descriptors = places;
    with.descriptor_count = 4;
    run = spawn(&with, WORDS("sh", "-c", "(setsid sleep 1000 &); exec sleep 1000"));
    close(ends[1]);
    supervisor = supervisor_of(run);
    need(supervisor > 1);
    check_int(kill(supervisor, SIGKILL), 0);
    end = (struct confine_end){.size = sizeof(end)};
    check_int(confine_run_wait(run, LONG_MS, &end, &report), CONFINE_OK);
    check_int(end.kind, CONFINE_ENDED_UNKNOWN);
    check(report == NULL);
    check(all_gone(ends[0]));
    confine_run_unref(run);
}

/* --- what reaches the command --------------------------------------------------------------------------- */

static const char *hear_all(int fd, char *buffer, size_t size)
{
    size_t length = 0;
    ssize_t got;

    while (length + 1 < size && (got = read(fd, buffer + length, size - 1 - length)) > 0)
        length += (size_t)got;
    buffer[length] = '\0';
    return buffer;
}

/* Runs COMMAND and gives its output. */
static const char *output_of(struct confine_options with, const char *const *command, char *buffer,
                             size_t size)
{
    int ends[2], places[3] = {-1, 0, -1};
    struct confine_run *run;

    need(pipe2(ends, O_CLOEXEC) == 0);
    places[1] = ends[1];
    if (!with.descriptors) {
        with.descriptors = places;
        with.descriptor_count = 3;
    }
    run = spawn(&with, command);
    close(ends[1]);
    hear_all(ends[0], buffer, size);
    close(ends[0]);
    check_int(end_of(run).kind, CONFINE_ENDED_EXITED);
    return buffer;
}

/* What the shell of a command has open, told without opening anything. */
#define LIST_OPEN                                                                                            \
    "i=0; while [ $i -lt 120 ]; do [ ! -e /proc/$$/fd/$i ] || printf \"$i \"; i=$((i + 1)); done"

#define OUTPUT(WITH, ...) output_of((WITH), WORDS(__VA_ARGS__), (char[4096]){0}, 4096)

TEST(nothing_that_is_open_here_reaches_the_command)
{
    /* Opened without a word about exec, by whoever. */
    int leaked = open("/dev/null", O_RDONLY);

    need(leaked > 2 && dup2(leaked, 100) == 100);
    check_str(OUTPUT(options, "sh", "-c", LIST_OPEN), "0 1 2 ");
    close(leaked);
    close(100);
}

TEST(nor_confine_itself)
{
    struct pollfd end;
    struct confine_run *run;
    int leaked[2];

    need(pipe(leaked) == 0 && dup2(leaked[1], 200) == 200);
    close(leaked[1]);
    run = spawn(&options, WORDS("sleep", "1000"));
    check(hear(run, "started"));
    close(200);
    end = (struct pollfd){.fd = leaked[0], .events = POLLIN};
    check_int(poll(&end, 1, 0), 1); /* nobody else has it */
    confine_run_unref(run);
}

TEST(descriptors_are_placed_and_passed)
{
    struct confine_options with = options;
    int in[2], out[2], more[2], places[6];
    struct confine_run *run;
    char text[100];

    need(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 && pipe2(more, O_CLOEXEC) == 0);
    memcpy(places, (int[]){in[0], out[1], out[1], -1, -1, more[1]}, sizeof(places));
    with.descriptors = places;
    with.descriptor_count = 6;
    run = spawn(&with, WORDS("sh", "-c", "cat; echo err >&2; echo five >&5; " LIST_OPEN));
    close(in[0]);
    close(out[1]);
    close(more[1]);
    need(write(in[1], "in\n", 3) == 3);
    close(in[1]);
    check_str(hear_all(out[0], text, sizeof(text)), "in\nerr\n0 1 2 5 ");
    check_str(hear_all(more[0], text, sizeof(text)), "five\n");
    check_int(places[5], more[1]); /* what was given is as it was */
    check_int(end_of(run).status, 0);
}

TEST(without_descriptors_there_is_nothing)
{
    struct confine_run *run = spawn(&options, WORDS("sh", "-c", "read x && exit 1; echo lost; exit 7"));

    check_int(end_of(run).status, 7);
}

TEST(a_policy_and_words_and_a_directory_and_an_environment)
{
    struct confine_options with = options;
    char text[2 * PATH_MAX + 20], expected[2 * PATH_MAX + 20], policy[PATH_MAX + 100], home[PATH_MAX + 5];

    snprintf(home, sizeof(home), "HOME=%s", getenv("HOME"));
    snprintf(expected, sizeof(expected), "hello %s\n%s\n", getenv("HOME"), test_dir);
    with.directory = open(test_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    need(with.directory > 0);
    need(chmod(test_dir, 0777) == 0);
    snprintf(policy, sizeof(policy), "{\"policy\": 1, \"write\": [\"%s\"]}", test_dir);
    with.policy = policy;
    with.words = WORDS("--mode", "workspace-write", "--workspace", ".");
    with.environment = WORDS("PATH=/usr/bin:/bin", "GREETING=hello", home);
    check_str(
        output_of(with, WORDS("sh", "-c", "echo $GREETING $HOME >here; cat here; pwd"), text, sizeof(text)),
        expected);
    close(with.directory);
}

#define BIT(SIGNAL) (1ULL << ((SIGNAL)-1))

TEST(signals_that_are_ignored_and_blocked_here_are_not_there)
{
    sigset_t all, before, after;
    unsigned long long blocked;
    struct confine_run *run;
    char text[4096];

    signal(SIGTERM, SIG_IGN);
    signal(SIGALRM, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    sigfillset(&all);
    need(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
    run = spawn(&options, WORDS("sh", "-c", "kill -TERM $$; exit 1"));
    check_int(end_of(run).signal, SIGTERM);
    run = spawn(&options, WORDS("sleep", "1000"));
    status_of(supervisor_of(run), text, sizeof(text));
    blocked = strtoull(strstr(text, "\nSigBlk:\t") + 9, NULL, 16);
    /* The supervisor itself blocks what it takes from a descriptor; these it leaves as it has got them. */
    check((blocked & (BIT(SIGTTIN) | BIT(SIGTTOU) | BIT(SIGWINCH) | BIT(SIGURG))) == 0);
    check((strtoull(strstr(text, "\nSigIgn:\t") + 9, NULL, 16) & BIT(SIGALRM)) == 0);
    confine_run_unref(run);
    need(pthread_sigmask(SIG_SETMASK, &before, &after) == 0);
    for (int signum = 1; signum < 32; signum++)
        check(sigismember(&after, signum) == sigismember(&all, signum) || signum == SIGKILL ||
              signum == SIGSTOP);
}

/* --- the caller's own world ----------------------------------------------------------------------------- */

TEST(the_caller_sees_no_child_of_ours)
{
    size_t before = count_open();
    struct sigaction action = {.sa_handler = on_child}, seen;
    struct confine_run *run;
    pid_t own;
    int status;

    need(sigaction(SIGCHLD, &action, NULL) == 0);
    for (int i = 0; i < 10; i++) {
        run = spawn(&options, WORDS("true"));
        check_int(waitpid(-1, NULL, WNOHANG), -1);
        check_int(errno, ECHILD);
        check_int(end_of(run).kind, CONFINE_ENDED_EXITED);
    }
    check_int(children_told, 0);
    check_int(waitpid(-1, NULL, WNOHANG | __WALL), -1);
    check_int(errno, ECHILD);
    need(sigaction(SIGCHLD, NULL, &seen) == 0);
    check(seen.sa_handler == on_child);
    own = fork();
    if (own == 0)
        _exit(42);
    run = spawn(&options, WORDS("true"));
    check_int(waitpid(-1, &status, 0), own);
    check_int(WEXITSTATUS(status), 42);
    check_int(end_of(run).kind, CONFINE_ENDED_EXITED);
    check_int(count_open(), before);
}

TEST(a_caller_that_adopts_orphans_has_no_zombie_of_ours)
{
    need(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    for (int i = 0; i < 3; i++)
        check_int(end_of(spawn(&options, WORDS("true"))).kind, CONFINE_ENDED_EXITED);
    check_int(waitpid(-1, NULL, WNOHANG | __WALL), -1);
    check_int(errno, ECHILD);
}

TEST(the_end_of_the_caller_is_the_end_of_the_run)
{
    struct confine_options with = options;
    int ends[2], ready[2], places[5] = {-1, -1, -1, 0, 0};
    pid_t caller;
    char byte;

    need(pipe2(ends, O_CLOEXEC) == 0 && pipe2(ready, O_CLOEXEC) == 0);
    places[3] = ends[1];
    places[4] = ready[1];
    with.descriptors = places;
    with.descriptor_count = 5;
    caller = fork();
    if (caller == 0) {
        spawn(&with,
              WORDS("sh", "-c", "trap '' TERM HUP INT; (setsid sleep 1000 &); echo x >&4; sleep 1000"));
        pause();
    }
    close(ends[1]);
    close(ready[1]);
    need(read(ready[0], &byte, 1) == 1);
    need(kill(caller, SIGKILL) == 0 && waitpid(caller, NULL, 0) == caller);
    check(all_gone(ends[0]));
}

/* --- cancelling ----------------------------------------------------------------------------------------- */

static const char stubborn[] =
    "trap '' TERM HUP INT; (setsid sh -c 'sleep 1000 & sleep 1000' &); echo x >&4; sleep 1000";

static struct confine_run *spawn_stubborn(int *ret_end)
{
    struct confine_options with = options;
    int ends[2], ready[2], places[5] = {-1, -1, -1, 0, 0};
    struct confine_run *run;
    char byte;

    need(pipe2(ends, O_CLOEXEC) == 0 && pipe2(ready, O_CLOEXEC) == 0);
    places[3] = ends[1];
    places[4] = ready[1];
    with.descriptors = places;
    with.descriptor_count = 5;
    with.words = WORDS("--grace", "1000s");
    run = spawn(&with, WORDS("sh", "-c", stubborn));
    close(ends[1]);
    close(ready[1]);
    check_int(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    *ret_end = ends[0];
    return run;
}

TEST(to_give_back_a_run_kills_it_with_everything)
{
    int end;
    struct confine_run *run = spawn_stubborn(&end);

    confine_run_unref(run);
    /* Not some time later: nothing is left when the call returns. */
    check_int(fcntl(end, F_SETFL, O_NONBLOCK), 0);
    check_int(read(end, &(char){0}, 1), 0);
    close(end);
}

/* In less time than after which the supervisor would be killed, to end the run. */
TEST_IN(it_does_so_although_a_fork_of_the_caller_holds_the_channel, 28)
{
    int end;
    struct confine_run *run = spawn_stubborn(&end);
    pid_t fork_of_caller = fork();

    if (fork_of_caller == 0)
        for (;;)
            pause();
    confine_run_unref(run);
    check_int(read(end, &(char){0}, 1), 0);
    kill(fork_of_caller, SIGKILL);
    close(end);
}

/* What would be refused waits for a line over the channel. */
TEST(a_question_is_answered)
{
    static const char *const words[] = {"--ask=10m", NULL};
    char place[] = "/var/tmp/confine-host.XXXXXX", path[64], script[160];
    struct confine_options asking = options;
    struct confine_run *run;
    struct confine_end end;

    need(mkdtemp(place) != NULL);
    snprintf(path, sizeof(path), "%s/made", place);
    snprintf(script, sizeof(script), "echo x > %s && ! echo y > %s", path, path);
    asking.words = words;
    run = spawn(&asking, WORDS("sh", "-c", script));
    check(hear(run, "ask"));
    check(access(path, F_OK) != 0);
    say(run, "{\"type\":\"answer\",\"id\":1,\"answer\":\"once\"}\n");
    check(hear(run, "answered"));
    check(hear(run, "ask"));
    say(run, "{\"type\":\"answer\",\"id\":2,\"answer\":\"deny\"}\n");
    end = end_of(run);
    check_int(end.kind, CONFINE_ENDED_EXITED);
    check_int(end.status, 0);
    check_int(unlink(path), 0);
    check_int(rmdir(place), 0);
}

TEST(to_say_kill_kills_everything)
{
    struct confine_end end;
    int gone;
    struct confine_run *run = spawn_stubborn(&gone);

    say(run, "{\"type\": \"kill\"}\n");
    check(all_gone(gone));
    end = end_of(run);
    check_int(end.kind, CONFINE_ENDED_LIMIT);
    check_int(end.error, CONFINE_ERROR_NONE);
    close(gone);
}
