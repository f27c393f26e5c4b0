/*
 * battery.c - prepare outside, act inside, look outside: the control of each attempt first, then the attempt.
 *
 * One start of the confinement serves all attempts but those that need a terminal. Both sides are the same
 * program (runner.c) with the same user; only one of them was started by the words of the confinement.
 *
 * Should:  give every attempt an object of its own, and none of them to two.
 * Mustn't: call anything blocked that did not cross unconfined.
 */
#include "battery.h"
#include "place.h"
#include "terminal.h"

#include "links/kernel_abi.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 120000 }; /* more than an act has */

/* One side: a process that acts. */
struct runner {
    pid_t pid;
    int orders, answers; /* our ends; -1: it does not run */
    int report;          /* -1: the control has none */
    bool lost;
};

/* One attempt with its two halves, and what is known of it. */
struct entry {
    const struct attempt *attempt;
    struct trial control, inside;
    const char *verdict; /* NULL: not yet */
    const char *reason;
    bool crossed_control, looked;
};

static bool matches(const struct battery *battery, const struct attempt_group *group,
                    const struct attempt *attempt)
{
    const char *surface = surface_table[attempt->surface].name;

    return !battery->only || fnmatch(battery->only, attempt->id, 0) == 0 ||
           fnmatch(battery->only, group->name, 0) == 0 || fnmatch(battery->only, surface, 0) == 0;
}

static int begin_trial(struct trial *trial, const struct attempt *attempt, const struct battery *battery,
                       bool control)
{
    char name[40];
    int result;

    *trial = (struct trial){.battery = battery, .control = control, .fd = {-1, -1, -1, -1}, .id = -1};
    fill_mark(trial->order.mark);
    fill_mark(trial->secret);
    snprintf(trial->order.id, sizeof(trial->order.id), "%s", attempt->id);
    snprintf(name, sizeof(name), "outside/%s%s", attempt->id, control ? "-control" : "");
    result = place_join(trial->dir, battery->base, name);
    if (result < 0 || mkdir(trial->dir, 0755) != 0)
        return result < 0 ? result : -errno;
    memcpy(trial->order.path[1], trial->dir, PLACE_SIZE);
    if (!battery->workspace)
        return 0;
    snprintf(name, sizeof(name), ".confine-check-%.16s", trial->order.mark);
    result = place_join(trial->order.inner, battery->workspace, name);
    if (result < 0 || mkdir(trial->order.inner, 0755) != 0)
        return result < 0 ? result : -errno;
    janitor_note(LEFT_TREE, 0, trial->order.inner);
    return 0;
}

static void end_trial(struct trial *trial, const struct attempt *attempt)
{
    if (!trial->battery)
        return;
    if (attempt->finish)
        attempt->finish(trial);
    for (size_t i = 0; i < ITEMS(trial->helper); i++)
        if (trial->helper[i] > 0) {
            kill(trial->helper[i], SIGKILL);
            janitor_forget(LEFT_PROCESS, trial->helper[i], NULL);
            while (waitpid(trial->helper[i], NULL, 0) < 0 && errno == EINTR)
                ;
            trial->helper[i] = 0;
        }
    for (size_t i = 0; i < ITEMS(trial->fd); i++)
        if (trial->fd[i] >= 0) {
            close(trial->fd[i]);
            trial->fd[i] = -1;
        }
    if (trial->memory)
        munmap(trial->memory, 4096);
    trial->memory = NULL;
    remove_tree(trial->dir);
    if (*trial->order.inner) {
        remove_tree(trial->order.inner);
        janitor_forget(LEFT_TREE, 0, trial->order.inner);
    }
    trial->battery = NULL;
}

/* Why this attempt cannot be made with this battery; NULL: it can. */
static const char *find_obstacle(const struct battery *battery, const struct attempt *attempt)
{
    if (attempt->flags & NEEDS_ROOT && !battery->root)
        return "only root can make its object";
    if (attempt->flags & (IN_WORKSPACE | OWN_WORKSPACE) && !battery->workspace)
        return "no writable workspace";
    if (attempt->flags & OWN_WORKSPACE && !battery->own_workspace)
        return "it would change your workspace at its root";
    return NULL;
}

static void conclude(struct entry *entry, const char *verdict, const char *reason)
{
    entry->verdict = verdict;
    entry->reason = reason;
}

/* Makes the objects of one half. Sets the verdict when that fails. */
static void prepare(struct entry *entry, struct trial *trial, const struct battery *battery, bool control,
                    pid_t group)
{
    int result = begin_trial(trial, entry->attempt, battery, control);

    trial->group = group;
    if (result == 0 && entry->attempt->prepare)
        result = entry->attempt->prepare(trial);
    if (result == SKIP)
        conclude(entry, "skipped", trial->skip);
    else if (result < 0) {
        trial->answer.errnum = -result;
        conclude(entry, "error", "its object could not be made");
        entry->inside.answer = trial->answer;
    }
}

/* --- the two sides ---------------------------------------------------------------------------------------
 */

static void become_caller(const struct battery *battery, bool control)
{
    if (battery->root && control &&
        (setresgid(battery->gid, battery->gid, battery->gid) != 0 ||
         setresuid(battery->uid, battery->uid, battery->uid) != 0))
        _exit(125);
    if (battery->root && !control && (setresuid(0, 0, 0) != 0 || setresgid(0, 0, 0) != 0))
        _exit(125);
}

void battery_exec(const struct battery *battery, bool control, int report, char *const *words)
{
    const char *argv[256];
    static char *words_of_exec[256];
    char number[24];
    size_t count = 0;

    become_caller(battery, control);
    for (size_t i = 0; !control && battery->start[i] && count < 200; i++)
        argv[count++] = battery->start[i];
    if (!control) {
        fcntl(report, F_SETFD, 0);
        snprintf(number, sizeof(number), "fd:%d", report);
        argv[count++] = "--report";
        argv[count++] = number;
        argv[count++] = "--read";
        argv[count++] = battery->self;
        argv[count++] = "--";
    }
    argv[count++] = battery->self;
    for (size_t i = 0; words[i]; i++)
        argv[count++] = words[i];
    argv[count] = NULL;
    /* execv() takes them as what it would be allowed to change, and does not. */
    memcpy(words_of_exec, argv, sizeof(argv));
    execv(argv[0], words_of_exec);
    _exit(126);
}

static void start_child(const struct battery *battery, bool control, int in, int out, int report)
{
    static char inside[] = "inside";
    static char *const words[] = {inside, NULL};
    int nothing = open("/dev/null", O_RDWR);

    setpgid(0, 0);
    if (dup2(in, 0) != 0 || dup2(out, 1) != 1 || dup2(nothing, 2) != 2)
        _exit(125);
    if (nothing > 2)
        close(nothing);
    battery_exec(battery, control, report, words);
}

/* Reads one answer. Return: false when there is none: the other side is gone. */
static bool take_answer(struct runner *runner, struct answer *answer)
{
    struct pollfd ready = {.fd = runner->answers, .events = POLLIN};
    size_t done = 0;

    while (done < sizeof(*answer)) {
        ssize_t length;

        if (poll(&ready, 1, PATIENCE_MS) <= 0)
            break;
        length = read(runner->answers, (char *)answer + done, sizeof(*answer) - done);
        if (length <= 0)
            break;
        done += (size_t)length;
    }
    runner->lost = done != sizeof(*answer);
    return !runner->lost;
}

static int start_runner(struct runner *runner, const struct battery *battery, bool control)
{
    int orders[2], answers[2];
    struct answer hello;

    *runner = (struct runner){.orders = -1, .answers = -1, .report = -1};
    if (!control)
        runner->report = (int)syscall(SYS_memfd_create, "report", 1 /* close-on-exec */);
    if (pipe2(orders, O_CLOEXEC) != 0 || pipe2(answers, O_CLOEXEC) != 0)
        return -errno;
    runner->pid = fork();
    if (runner->pid == 0)
        start_child(battery, control, orders[0], answers[1], runner->report);
    close(orders[0]);
    close(answers[1]);
    runner->orders = orders[1];
    runner->answers = answers[0];
    if (runner->pid < 0)
        return -errno;
    setpgid(runner->pid, runner->pid);
    return take_answer(runner, &hello) ? 0 : -ECHILD;
}

/* Return: its exit status. */
static int end_runner(struct runner *runner)
{
    int status = 0;

    close(runner->orders);
    while (runner->pid > 0 && waitpid(runner->pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(runner->answers);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void order_act(struct runner *runner, struct trial *trial)
{
    if (runner->lost ||
        write(runner->orders, &trial->order, sizeof(trial->order)) != (ssize_t)sizeof(trial->order) ||
        !take_answer(runner, &trial->answer)) {
        runner->lost = true;
        trial->answer = (struct answer){.errnum = ECHILD};
    }
}

static void release_act(struct runner *runner)
{
    static const struct order release;

    if (!runner->lost && write(runner->orders, &release, sizeof(release)) != (ssize_t)sizeof(release))
        runner->lost = true;
}

/* --- verdicts --------------------------------------------------------------------------------------------
 */

static int look(const struct attempt *attempt, struct trial *trial)
{
    if (attempt->look)
        return attempt->look(trial);
    return trial->answer.errnum == 0 && trial->answer.signal == 0;
}

static void note_look(struct entry *entry, struct trial *trial, int crossed)
{
    if (crossed < 0) {
        trial->answer.errnum = -crossed;
        conclude(entry, "error",
                 trial->control ? "the control could not be looked at" : "it could not be looked at");
    } else if (trial->answer.signal == SIGALRM && !crossed) {
        conclude(entry, "error", trial->control ? "the control took too long" : "it took too long");
    } else if (trial->control) {
        entry->crossed_control = crossed;
    } else if (crossed) {
        conclude(entry, "crossed", entry->crossed_control ? NULL : "although it does not cross unconfined");
    } else if (entry->crossed_control) {
        conclude(entry, "blocked",
                 trial->answer.errnum || trial->answer.signal ? NULL : "it went through and had no effect");
    } else {
        entry->inside.answer = entry->control.answer; /* what the control said is the reason */
        conclude(entry, "no-control", "it does not cross unconfined here");
    }
}

/* One half of an attempt on the side that runs. */
static void try_half(struct entry *entry, struct trial *trial, struct runner *runner)
{
    if (runner->lost) {
        conclude(entry, "error",
                 trial->control ? "the control's process is gone" : "the confined process is gone");
        return;
    }
    order_act(runner, trial);
    if (runner->lost)
        conclude(entry, "error", "the process that tried it is gone");
    else if (!(entry->attempt->flags & AFTER_END))
        note_look(entry, trial, look(entry->attempt, trial));
    release_act(runner);
}

static void publish(struct entry *entry)
{
    output_attempt(entry->attempt, entry->verdict, entry->reason,
                   strcmp(entry->verdict, "skipped") == 0 ? NULL : &entry->inside);
    entry->looked = true;
}

static void run_side(struct battery *battery, struct entry *entries, size_t count, bool control,
                     struct runner *runner)
{
    for (size_t i = 0; i < count; i++) {
        struct entry *entry = &entries[i];
        struct trial *trial = control ? &entry->control : &entry->inside;

        if (entry->verdict || entry->attempt->flags & (ON_TERMINAL | OWN_RUN))
            continue;
        if (!(entry->attempt->flags & BEFORE_START))
            prepare(entry, trial, battery, control, runner->pid);
        if (!entry->verdict)
            try_half(entry, trial, runner);
        if (!(entry->attempt->flags & AFTER_END))
            end_trial(trial, entry->attempt);
        if (!control && entry->verdict)
            publish(entry);
    }
}

static void prepare_early(struct battery *battery, struct entry *entries, size_t count, bool control)
{
    for (size_t i = 0; i < count; i++)
        if (!entries[i].verdict && (entries[i].attempt->flags & (BEFORE_START | OWN_RUN)) == BEFORE_START)
            prepare(&entries[i], control ? &entries[i].control : &entries[i].inside, battery, control, 0);
}

static void look_after(struct entry *entries, size_t count, bool control)
{
    for (size_t i = 0; i < count; i++) {
        struct entry *entry = &entries[i];
        struct trial *trial = control ? &entry->control : &entry->inside;

        if (!(entry->attempt->flags & (ON_TERMINAL | OWN_RUN)) && trial->battery) {
            if (!entry->verdict)
                note_look(entry, trial, look(entry->attempt, trial));
            end_trial(trial, entry->attempt);
        }
        if (!control && entry->verdict && !entry->looked &&
            !(entry->attempt->flags & (ON_TERMINAL | OWN_RUN)))
            publish(entry);
    }
}

static void run_terminals(struct battery *battery, struct entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct entry *entry = &entries[i];

        if (!(entry->attempt->flags & ON_TERMINAL))
            continue;
        for (int control = 1; control >= 0 && !entry->verdict; control--) {
            struct trial *trial = control ? &entry->control : &entry->inside;

            prepare(entry, trial, battery, control, 0);
            if (!entry->verdict) {
                int result = terminal_run(battery, trial);

                note_look(entry, trial, result < 0 ? result : look(entry->attempt, trial));
            }
            end_trial(trial, entry->attempt);
        }
        if (!entry->looked)
            publish(entry);
    }
}

/* As whoever started it. */
static void kill_runner(const struct battery *battery, struct runner *runner)
{
    if (battery->root && seteuid(0) != 0)
        _exit(125);
    kill(runner->pid, SIGKILL);
    if (battery->root && seteuid(battery->uid) != 0)
        _exit(125);
    while (waitpid(runner->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    runner->pid = 0;
    runner->lost = true;
}

/* What is to end by itself may take its time; what has no reason to end is not waited for. */
static int look_patiently(const struct attempt *attempt, struct trial *trial)
{
    struct timespec pause = {.tv_nsec = 50000000};
    int crossed = look(attempt, trial);

    for (int i = 0; i < 1200 && crossed == 1 && !trial->control && attempt->flags & KILLED; i++) {
        nanosleep(&pause, NULL);
        crossed = look(attempt, trial);
    }
    return crossed;
}

/* One half on a side of its own. That the run is ended is an answer. */
static void run_alone(struct battery *battery, struct entry *entry, bool control)
{
    struct trial *trial = control ? &entry->control : &entry->inside;
    struct runner runner = {.orders = -1, .answers = -1, .report = -1};

    if (entry->attempt->flags & BEFORE_START)
        prepare(entry, trial, battery, control, 0);
    if (!entry->verdict && start_runner(&runner, battery, control) < 0)
        conclude(entry, "error", "the run could not be started");
    else if (!entry->verdict && !(entry->attempt->flags & BEFORE_START))
        prepare(entry, trial, battery, control, runner.pid);
    if (!entry->verdict) {
        order_act(&runner, trial);
        if (runner.lost)
            trial->answer = (struct answer){.errnum = EINTR, .signal = SIGKILL};
        if (entry->attempt->flags & KILLED)
            kill_runner(battery, &runner);
        note_look(entry, trial, look_patiently(entry->attempt, trial));
        release_act(&runner);
    }
    if (runner.pid || runner.orders >= 0)
        end_runner(&runner);
    if (runner.report >= 0)
        close(runner.report);
    end_trial(trial, entry->attempt);
}

static void run_each_alone(struct battery *battery, struct entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct entry *entry = &entries[i];

        if (!(entry->attempt->flags & OWN_RUN))
            continue;
        for (int control = 1; control >= 0 && !entry->verdict; control--)
            run_alone(battery, entry, control);
        if (!entry->looked)
            publish(entry);
    }
}

static void publish_report(struct runner *runner, int status)
{
    static char report[1 << 18];
    ssize_t length = runner->report < 0 ? 0 : pread(runner->report, report, sizeof(report), 0);

    output_run(status, report, length > 0 ? (size_t)length : 0);
    if (runner->report >= 0)
        close(runner->report);
}

static size_t collect(const struct battery *battery, struct entry *entries, size_t most)
{
    size_t count = 0;

    for (const struct attempt_group *group = attempt_groups; group->name; group++)
        for (const struct attempt *attempt = group->attempts; attempt->id && count < most; attempt++)
            if (matches(battery, group, attempt)) {
                const char *obstacle = find_obstacle(battery, attempt);

                entries[count].attempt = attempt;
                if (obstacle)
                    conclude(&entries[count], "skipped", obstacle);
                count++;
            }
    return count;
}

int battery_run(struct battery *battery)
{
    enum { MOST = 256 };
    static struct entry entries[MOST];
    size_t count = collect(battery, entries, MOST);
    struct runner runner;
    int result;

    prepare_early(battery, entries, count, true);
    result = start_runner(&runner, battery, true);
    if (result == 0)
        run_side(battery, entries, count, true, &runner);
    end_runner(&runner);
    if (result < 0)
        return 1;
    look_after(entries, count, true);

    prepare_early(battery, entries, count, false);
    result = start_runner(&runner, battery, false);
    if (result == 0)
        run_side(battery, entries, count, false, &runner);
    publish_report(&runner, end_runner(&runner));
    if (result < 0)
        return 1;
    look_after(entries, count, false);
    run_terminals(battery, entries, count);
    run_each_alone(battery, entries, count);
    return 0;
}
