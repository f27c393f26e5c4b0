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
#include "side.h"
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

/* One attempt with its two halves, and what is known of it. */
struct entry {
    const struct attempt *attempt;
    struct trial control, inside;
    const char *verdict; /* NULL: not yet */
    const char *reason;
    bool crossed_control, looked;
    const char *claim; /* what the report of its own run says of its surface; NULL: it has none that counts */
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
    for (int i = 0; i < (int)ITEMS(trial->helper); i++)
        place_end_helper(trial, i);
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
                 trial->skip      ? trial->skip
                 : trial->control ? "the control could not be looked at"
                                  : "it could not be looked at");
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
static void try_half(struct entry *entry, struct trial *trial, struct side *side)
{
    if (side->lost) {
        conclude(entry, "error",
                 trial->control ? "the control's process is gone" : "the confined process is gone");
        return;
    }
    side_order(side, trial);
    if (side->lost)
        conclude(entry, "error", "the process that tried it is gone");
    else if (!(entry->attempt->flags & AFTER_END))
        note_look(entry, trial, look(entry->attempt, trial));
    side_release(side);
}

static void publish(struct entry *entry)
{
    output_attempt(entry->attempt, entry->verdict, entry->reason, entry->claim,
                   strcmp(entry->verdict, "skipped") == 0 ? NULL : &entry->inside);
    entry->looked = true;
}

static void run_side(struct battery *battery, struct entry *entries, size_t count, bool control,
                     struct side *side)
{
    for (size_t i = 0; i < count; i++) {
        struct entry *entry = &entries[i];
        struct trial *trial = control ? &entry->control : &entry->inside;

        if (entry->verdict || entry->attempt->flags & (ON_TERMINAL | OWN_RUN))
            continue;
        if (!(entry->attempt->flags & BEFORE_START))
            prepare(entry, trial, battery, control, side->pid);
        if (!entry->verdict)
            try_half(entry, trial, side);
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

/* What is to end by itself may take its time; what has no reason to end is not waited for. */
static int look_patiently(const struct attempt *attempt, struct trial *trial)
{
    struct timespec pause = {.tv_nsec = 50000000};
    int crossed = look(attempt, trial);

    for (int i = 0; i < 400 && crossed == 1 && !trial->control && attempt->flags & KILLED; i++) {
        nanosleep(&pause, NULL);
        crossed = look(attempt, trial);
    }
    return crossed;
}

/* What the report of a run of its own says; empty: there is none. */
static const char *read_report(const struct side *side)
{
    static char report[1 << 18];
    ssize_t length = side->report < 0 ? 0 : pread(side->report, report, sizeof(report) - 1, 0);

    report[length > 0 ? length : 0] = '\0';
    return report;
}

/* Why it was not started, in the words of its report. */
static const char *find_refusal(const char *report)
{
    static char refusal[96];
    static const char key[] = "\"reason\"";
    const char *error = strstr(report, "\"error\""), *reason = error ? strstr(error, key) : NULL;
    const char *value = reason ? strchr(reason + sizeof(key) - 1, '"') : NULL;

    if (!value)
        return "it was not started";
    snprintf(refusal, sizeof(refusal), "it was refused: %.*s", (int)strcspn(value + 1, "\""), value + 1);
    return refusal;
}

/* What the report says of a surface. Return: NULL: nothing. */
static const char *find_claim(const char *report, enum surface surface)
{
    static const char key[] = "\"state\"";
    static const char *const states[] = {"open", "partial", "enforced", "absent"};
    char name[48];
    const char *at, *state;

    snprintf(name, sizeof(name), "\"%s\"", surface_table[surface].name);
    at = strstr(report, "\"surfaces\"");
    at = at ? strstr(at, name) : NULL;
    state = at ? strstr(at, key) : NULL;
    state = state ? strchr(state + sizeof(key) - 1, '"') : NULL;
    for (size_t i = 0; state && i < ITEMS(states); i++)
        if (strncmp(state + 1, states[i], strlen(states[i])) == 0)
            return states[i];
    return NULL;
}

/* A start that came to nothing: it may have had its effect all the same. */
static void note_refusal(struct battery *battery, struct entry *entry, struct trial *trial, struct side *side)
{
    bool may_refuse = entry->attempt->flags & MAY_REFUSE && !trial->control;

    if ((trial->enter || trial->world) && side->status == CANNOT_ENTER) {
        conclude(entry, "skipped", "such a caller is not to be had here");
        return;
    }
    if (entry->attempt->flags & OF_LIST && !trial->control && side->status == 125) {
        /* There is none, or not in namespaces of ours, and that stays so: the others need not ask. */
        snprintf(battery->refusal, sizeof(battery->refusal), "%s", find_refusal(read_report(side)));
        battery->unlistable = battery->refusal;
        conclude(entry, "skipped", battery->refusal);
        return;
    }
    trial->answer = (struct answer){.errnum = ECANCELED};
    trial->status = side->status;
    trial->report = read_report(side);
    if (may_refuse)
        note_look(entry, trial, look(entry->attempt, trial));
    if (entry->verdict && strcmp(entry->verdict, "crossed") == 0)
        return;
    if (side->hung)
        conclude(entry, "error", "the run neither started nor ended");
    else if (!may_refuse ||
             !(battery->foreign ? side->status != 0 : side->status >= 125 && side->status <= 127))
        conclude(entry, "error", "the run could not be started");
    else if (strcmp(entry->verdict, "blocked") == 0)
        entry->reason = find_refusal(trial->report);
}

/* Its act, and what is seen of it. */
static void try_alone(struct battery *battery, struct entry *entry, struct trial *trial, struct side *side)
{
    side_order(side, trial);
    if (side->lost)
        trial->answer = (struct answer){.errnum = EINTR, .signal = SIGKILL};
    if (entry->attempt->flags & KILLED)
        side_kill(battery, side);
    if (entry->attempt->flags & AFTER_END) {
        side_release(side);
        trial->status = side_end(side, battery);
        trial->report = read_report(side);
    }
    if (entry->attempt->flags & OF_LIST && !trial->control) {
        entry->claim = find_claim(trial->report, entry->attempt->surface);
        if (!entry->claim) {
            conclude(entry, "error", "the report of its run says nothing of it");
            return;
        }
    }
    note_look(entry, trial, look_patiently(entry->attempt, trial));
    side_release(side);
}

/* One half on a side of its own. That the run is ended is an answer. */
static void run_alone(struct battery *battery, struct entry *entry, bool control)
{
    struct trial *trial = control ? &entry->control : &entry->inside;
    struct side side = SIDE_NONE;
    int result = 0;

    if (entry->attempt->flags & BEFORE_START)
        prepare(entry, trial, battery, control, 0);
    if (!entry->verdict)
        result = side_start(&side, battery, entry->attempt->flags & BEFORE_START ? trial : NULL, control);
    if (!entry->verdict && result < 0)
        note_refusal(battery, entry, trial, &side);
    else if (!entry->verdict && !(entry->attempt->flags & BEFORE_START))
        prepare(entry, trial, battery, control, side.pid);
    if (!entry->verdict && result == 0)
        try_alone(battery, entry, trial, &side);
    side_end(&side, battery);
    if (side.hung && !battery->foreign && entry->verdict && strcmp(entry->verdict, "blocked") == 0)
        conclude(entry, "error", "the run did not end");
    if (side.report >= 0)
        close(side.report);
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

static void publish_report(struct side *side, int status)
{
    const char *report = read_report(side);

    output_run(status, report, strlen(report));
    if (side->report >= 0)
        close(side->report);
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

/* Return: 0 when the confinement could be started, else 1. */
static int try_all(struct battery *battery, struct entry *entries, size_t count)
{
    struct side side;
    int result;

    prepare_early(battery, entries, count, true);
    result = side_start(&side, battery, NULL, true);
    if (result == 0)
        run_side(battery, entries, count, true, &side);
    side_end(&side, battery);
    if (result < 0)
        return 1;
    look_after(entries, count, true);

    prepare_early(battery, entries, count, false);
    result = side_start(&side, battery, NULL, false);
    if (result == 0)
        run_side(battery, entries, count, false, &side);
    publish_report(&side, side_end(&side, battery));
    if (result < 0)
        return 1;
    look_after(entries, count, false);
    run_terminals(battery, entries, count);
    run_each_alone(battery, entries, count);
    return 0;
}

int battery_run(struct battery *battery)
{
    enum { MOST = 512 };
    /* Not static: the inside is the same program, and may have little room. */
    struct entry *entries = calloc(MOST, sizeof(*entries));
    int result;

    if (!entries) {
        fprintf(stderr, "confine-check: fatal: battery: out of memory\n");
        return 1;
    }
    result = try_all(battery, entries, collect(battery, entries, MOST));
    free(entries);
    return result;
}
