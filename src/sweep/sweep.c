/*
 * sweep.c - the program confine-sweep: arguments, bounds, one line about the end.
 *
 *     confine-sweep remove [--fd N] [--entries N] [--seconds N]
 *     confine-sweep look ...                                       look_main.c
 *
 * Its wall (wall.c) has left it the tree and nothing else, so that what goes wrong here goes wrong inside.
 * Nothing here confines.
 */
#include "sweep/sweep.h"

#include "util/util.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECONDS_MOST 60

static const char usage[] =
    "confine-sweep: fatal: usage: confine-sweep remove [--fd N] [--entries N] [--seconds N], or look\n";

bool sweep_number(const char *text, uint64_t most, uint64_t *ret)
{
    uint64_t value = 0;

    if (!text || !*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        value = value * 10 + (uint64_t)(*text - '0');
        if (value > most)
            return false;
    }
    *ret = value;
    return true;
}

/* Exact words, each with its value in the next one. */
static bool parse_arguments(char **argv, struct sweep *sweep, uint64_t *fd, uint64_t *seconds)
{
    const struct {
        const char *name;
        uint64_t most, *value;
    } options[] = {
        {"--fd", 1 << 20, fd},
        {"--entries", UINT64_C(1) << 40, &sweep->most_entries},
        {"--seconds", UINT64_C(1) << 30, seconds},
    };

    if (!argv[1] || strcmp(argv[1], "remove") != 0)
        return false;
    for (char **word = argv + 2; *word; word += 2) {
        bool known = false;

        for (size_t i = 0; i < ARRAY_SIZE(options) && !known; i++)
            known = strcmp(*word, options[i].name) == 0 &&
                    sweep_number(word[1], options[i].most, options[i].value);
        if (!known)
            return false;
    }
    return true;
}

int sweep_main(char **argv)
{
    uint64_t fd = SWEEP_DIRECTORY, seconds = SECONDS_MOST;
    struct sweep sweep = {0};
    struct stat st;

    if (argv[1] && strcmp(argv[1], "look") == 0)
        return look_main(argv);
    if (!parse_arguments(argv, &sweep, &fd, &seconds)) {
        fputs(usage, stderr);
        return SWEEP_EXIT_FAILED;
    }
    if (fstat((int)fd, &st) != 0 || !S_ISDIR(st.st_mode)) {
        fprintf(stderr, "confine-sweep: fatal: descriptor %d: not an open directory\n", (int)fd);
        return SWEEP_EXIT_FAILED;
    }
    sweep.most_ms = seconds * 1000;
    switch (sweep_remove((int)fd, &sweep)) {
    case SWEEP_EMPTY:
        return 0;
    case SWEEP_BOUND:
        fprintf(stderr, "confine-sweep: stopped by the bound on %s: %llu entries removed, the rest is left\n",
                sweep.bound, (unsigned long long)sweep.removed);
        return SWEEP_EXIT_BOUND;
    case SWEEP_FAILED:
    default:
        fprintf(stderr, "confine-sweep: fatal: %s: %s\n", QUOTE(sweep.left),
                sweep.left_why ? sweep.left_why : strerror(sweep.left_errno));
        return SWEEP_EXIT_FAILED;
    }
}
