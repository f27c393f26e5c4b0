/*
 * look_main.c - confine-sweep look: words in, findings out.
 *
 *     confine-sweep look [--wait] --since SECONDS.NANOSECONDS [--home PATH] [--entries N] [--seconds N]
 *                        [--before FD PATH]... --root FD PATH [--root FD PATH]...
 *
 * With --wait the look begins when a byte comes on the standard input, a pipe, and its end instead is the end
 * of it. If that takes long enough, the trees are walked ahead (survey.h).
 *
 * A finding is four texts, each with a NUL behind it: kind, path, what runs it, detail. The last one is
 * `end`, with the bound that was reached, or nothing, and the number of directories that could not be read.
 */
#include "sweep/aside.h"
#include "sweep/look.h"
#include "sweep/survey.h"
#include "sweep/sweep.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FINDINGS_MOST 1000
#define PLACES        128 /* trees, and things from before */
#define SURVEY_MS     8   /* a command that is gone by then has its tree looked at once */

struct output {
    struct look look;
    uint64_t findings;
    const char *aside; /* NULL: nothing is moved */
    struct found *found;
    size_t found_count;
};

static int write_texts(const char *kind, const char *path, const char *runs, const char *detail)
{
    const char *const texts[] = {kind, path, runs, detail};

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        if (fwrite(texts[i], 1, strlen(texts[i]) + 1, stdout) != strlen(texts[i]) + 1)
            return -EIO;
    return 0;
}

static int say(void *data, const char *kind, const char *path, const char *runs, const char *detail)
{
    struct output *output = data;

    if (output->findings++ >= FINDINGS_MOST) {
        output->look.bound = "findings";
        return 1;
    }
    if (output->aside) {
        struct found *found;

        if (!array_more(&output->found, output->found_count, sizeof(*output->found)))
            return -ENOMEM;
        found = &output->found[output->found_count++];
        *found = (struct found){strdup(kind), strdup(path), strdup(runs), strdup(detail)};
        if (!found->kind || !found->path || !found->runs || !found->detail)
            return -ENOMEM;
    }
    return write_texts(kind, path, runs, detail);
}

static const char *why_stays(const struct found *found, int errnum)
{
    if (errnum == EEXIST && strcmp(found->kind, "git-setting") == 0)
        return "a .lock beside it, of git's or of the command's, is in the way";
    return strerror(errnum);
}

/* What was found goes aside. One that cannot is said, and the others go. */
static int move_all(const struct output *output)
{
    int r = 0;

    for (size_t i = 0; i < output->found_count && r == 0 && output->aside; i++) {
        _cleanup_free_ char *to = NULL;
        char number[24];
        int moved = aside_move(&output->look, output->found, output->found_count, i, output->aside, &to);

        snprintf(number, sizeof(number), "%zu", i);
        if (moved != 0)
            r = write_texts("moved", number, to ? to : "",
                            moved < 0 ? why_stays(&output->found[i], -moved) : "");
    }
    return r;
}

/* SECONDS.NANOSECONDS: two whole numbers. */
static bool take_since(char *text, struct timespec *since)
{
    char *dot = text ? strchr(text, '.') : NULL;
    uint64_t seconds, rest;

    if (!dot)
        return false;
    *dot = '\0';
    if (!sweep_number(text, INT64_MAX, &seconds) || !sweep_number(dot + 1, 999999999, &rest))
        return false;
    *since = (struct timespec){.tv_sec = (time_t)seconds, .tv_nsec = (long)rest};
    return true;
}

/* FD PATH behind an option. */
static bool take_place(char **words, int *fd, const char **path)
{
    uint64_t number;

    if (!sweep_number(words[1], 1 << 20, &number) || !words[2] || words[2][0] != '/')
        return false;
    *fd = (int)number;
    *path = words[2];
    return true;
}

static bool take_words(char **words, struct output *output, struct look_root *roots,
                       struct look_before *before, bool *ret_waits)
{
    struct look *look = &output->look;
    bool since = false;
    uint64_t seconds = 0;

    for (; *words; words += 2) {
        if (strcmp(*words, "--root") == 0 && look->root_count < PLACES &&
            take_place(words, &roots[look->root_count].fd, &roots[look->root_count].path)) {
            look->root_count++;
            words++;
        } else if (strcmp(*words, "--before") == 0 && look->before_count < PLACES &&
                   take_place(words, &before[look->before_count].fd, &before[look->before_count].path)) {
            look->before_count++;
            words++;
        } else if (strcmp(*words, "--wait") == 0) {
            *ret_waits = true;
            words--;
        } else if (strcmp(*words, "--since") == 0) {
            since = take_since(words[1], &look->since);
            if (!since)
                return false;
        } else if (strcmp(*words, "--home") == 0 && words[1] && words[1][0] == '/') {
            look->home = words[1];
        } else if (strcmp(*words, "--aside") == 0 && words[1] && words[1][0] && !strchr(words[1], '/') &&
                   strcmp(words[1], ".") != 0 && strcmp(words[1], "..") != 0) {
            output->aside = words[1];
        } else if (strcmp(*words, "--entries") == 0) {
            if (!sweep_number(words[1], INT64_MAX, &look->most_entries))
                return false;
        } else if (strcmp(*words, "--seconds") == 0) {
            if (!sweep_number(words[1], 1 << 30, &seconds))
                return false;
        } else {
            return false;
        }
    }
    look->most_ms = seconds * 1000;
    return since && look->root_count > 0;
}

/* Return: whether somebody wants to know. */
static bool wait_for_go(struct look *look, struct survey *survey)
{
    enum survey_answer answer = survey_ask(STDIN_FILENO, SURVEY_MS);

    if (answer == SURVEY_NOT_YET) {
        survey_trees(survey, look, STDIN_FILENO);
        look->survey = survey;
        answer = survey_ask(STDIN_FILENO, -1);
    }
    return answer == SURVEY_GO;
}

int look_main(char **argv)
{
    static struct look_root roots[PLACES];
    static struct look_before before[PLACES];
    struct output output = {.look = {.roots = roots, .before = before, .found = say}};
    struct survey survey = {0};
    char closed[24];
    bool waits = false;
    int r;

    output.look.data = &output;
    if (!take_words(argv + 2, &output, roots, before, &waits)) {
        fputs("confine-sweep: fatal: usage: confine-sweep look [--wait] --since SECONDS.NANOSECONDS [--home "
              "PATH] "
              "[--entries N] "
              "[--seconds N] [--aside NAME] [--before FD PATH]... --root FD PATH...\n",
              stderr);
        return SWEEP_EXIT_FAILED;
    }
    r = look_prepare(&output.look);
    if (r == 0 && waits && !wait_for_go(&output.look, &survey))
        return SWEEP_EXIT_FAILED;
    if (r == 0)
        r = look_trees(&output.look);
    if (r == 0)
        r = move_all(&output);
    snprintf(closed, sizeof(closed), "%llu", (unsigned long long)output.look.closed);
    if (r == 0)
        r = write_texts("end", output.look.bound ? output.look.bound : "", closed, "");
    if (r == 0 && (fflush(stdout) != 0 || close(STDOUT_FILENO) != 0)) /* nobody has to wait for our end */
        r = -EIO;
    if (r < 0) {
        fprintf(stderr, "confine-sweep: fatal: %s\n", strerror(-r));
        return SWEEP_EXIT_FAILED;
    }
    return 0;
}
