/* host_many.c - many threads with many runs each, in a process that has its own business. */
#include "host_calls.h"

#include <pthread.h>
#include <sys/socket.h>

#define RUNS 50

struct worker {
    pthread_t thread;
    int number;
    char wrong[300]; /* what went wrong, empty if nothing */
};

#define EXPECT(WORKER, CONDITION)                                                                            \
    do {                                                                                                     \
        if (!(CONDITION) && !*(WORKER)->wrong)                                                               \
            snprintf((WORKER)->wrong, sizeof((WORKER)->wrong), "line %d: %s", __LINE__, #CONDITION);         \
    } while (0)

/* A run that ends by itself; one that is told to kill; one that is signalled; one that is given back as it
 * is; one that is refused; one that is given back at once. */
static void work_once(struct worker *worker, int kind)
{
    struct confine_end end = {.size = sizeof(end)};
    struct confine_options with = options;
    struct confine_run *run = NULL;
    static const char *const refuse[] = {"--backend=refuse", NULL},
                             *const other[] = {"--backend=landlock", NULL},
                             *const sleeper[] = {"sleep", "1000", NULL};
    static const char term[] = "{\"type\":\"signal\",\"signal\":\"TERM\"}\n",
                      kill_it[] = "{\"type\":\"kill\"}\n";
    char script[32];
    const char *const exits[] = {"sh", "-c", script, NULL};

    snprintf(script, sizeof(script), "exit %d", worker->number);
    with.words = kind == 4 ? refuse : worker->number % 2 ? other : NULL;
    EXPECT(worker, confine_spawn(&with, kind == 0 || kind == 4 ? exits : sleeper, &run) == CONFINE_OK);
    if (!run)
        return;
    if (kind == 1 || kind == 2 || kind == 3)
        EXPECT(worker, hear(run, "started"));
    if (kind == 1)
        EXPECT(worker, send(confine_run_fd(run), kill_it, strlen(kill_it), MSG_NOSIGNAL) > 0);
    if (kind == 2)
        EXPECT(worker, send(confine_run_fd(run), term, strlen(term), MSG_NOSIGNAL) > 0);
    if (kind == 3 || kind == 5) {
        confine_run_unref(run);
        return;
    }
    EXPECT(worker, hear(run, "ended"));
    EXPECT(worker, confine_run_wait(run, LONG_MS, &end, NULL) == CONFINE_OK);
    if (kind == 0)
        EXPECT(worker, end.kind == CONFINE_ENDED_EXITED && end.status == worker->number);
    if (kind == 1)
        EXPECT(worker, end.kind == CONFINE_ENDED_LIMIT);
    if (kind == 2)
        EXPECT(worker, end.kind == CONFINE_ENDED_SIGNALED && end.signal == SIGTERM);
    if (kind == 4)
        EXPECT(worker,
               end.kind == CONFINE_ENDED_NOT_STARTED && end.error == CONFINE_ERROR_SANDBOX_UNAVAILABLE);
    confine_run_unref(run);
}

static void *work(void *data)
{
    struct worker *worker = data;

    work_once(worker, worker->number % 6);
    work_once(worker, (worker->number + 1) % 6);
    return NULL;
}

TEST_IN(many_threads_have_many_runs, 300)
{
    static struct worker workers[RUNS];
    struct sigaction action = {.sa_handler = on_child};
    size_t before = count_open();
    int started = 0;

    need(sigaction(SIGCHLD, &action, NULL) == 0);
    for (; started < RUNS; started++) {
        workers[started].number = started;
        if (pthread_create(&workers[started].thread, NULL, work, &workers[started]) != 0)
            break;
    }
    check_int(started, RUNS);
    for (int i = 0; i < started; i++) {
        check_int(pthread_join(workers[i].thread, NULL), 0);
        check_str(workers[i].wrong, "");
    }
    check_int(children_told, 0);
    check_int(waitpid(-1, NULL, WNOHANG | __WALL), -1);
    check_int(errno, ECHILD);
    check_int(count_open(), before);
}

/* Somebody else's threads open and close, fork and wait, all the time. */
static _Atomic bool enough;

static void *be_busy(void *unused)
{
    while (!enough) {
        pid_t child = fork();

        if (child == 0)
            _exit(0);
        if (child < 0 || waitpid(child, NULL, 0) != child)
            return (void *)1;
    }
    return unused;
}

TEST_IN(a_caller_that_forks_meanwhile_is_not_disturbed, 120)
{
    pthread_t threads[2];
    void *disturbed;

    for (size_t i = 0; i < 2; i++)
        need(pthread_create(&threads[i], NULL, be_busy, NULL) == 0);
    for (int i = 0; i < 20; i++)
        check_int(end_of(spawn(&options, WORDS("true"))).kind, CONFINE_ENDED_EXITED);
    enough = true;
    for (size_t i = 0; i < 2; i++) {
        need(pthread_join(threads[i], &disturbed) == 0);
        check(disturbed == NULL);
    }
}
