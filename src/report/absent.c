/*
 * absent.c - what the command was told of, and could not find.
 *
 * A view has a /tmp, a /run and a /dev/shm of its own. What is missing there is no refusal: the kernel says
 * ENOENT, nobody is asked, and reading is not even looked at. But the caller's own words often name it.
 *
 * Should:  name the least that shows it and does not hold the workspace: `/tmp/other`.
 * Mustn't: open anything, or say something where the command was content.
 */
#include "report/absent.h"

#include "policy/risk.h"
#include "report/report.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define ABSENT_MOST 3

/* What ends a name in a command line, as far as anybody can tell who is no shell. */
#define ENDS "\"' \t\n=:;,|&<>(){}[]$*?`\\"

static const char *const places[] = {"/tmp/", "/dev/shm/", "/run/", "/var/run/"};

/* The place that PATH is in, its length with the slash; 0: none. */
static size_t find_place(const char *path)
{
    for (size_t i = 0; i < ARRAY_SIZE(places); i++)
        if (strncmp(path, places[i], strlen(places[i])) == 0)
            return strlen(places[i]);
    return 0;
}

/* NAME, of LENGTH bytes, as an absolute one without `.` and `..`. Links are not looked at: the answer is
 * about names. Return: does it fit? */
static bool make_absolute(const char *cwd, const char *name, size_t length, char *path)
{
    char room[PATH_MAX];
    size_t end = 0;
    int size = *name == '/' ? snprintf(room, sizeof(room), "%.*s", (int)length, name)
                            : snprintf(room, sizeof(room), "%s/%.*s", cwd, (int)length, name);

    if (size < 0 || (size_t)size >= sizeof(room))
        return false;
    for (const char *at = room; *at;) {
        size_t part;

        at += strspn(at, "/");
        part = strcspn(at, "/");
        if (part == 2 && strncmp(at, "..", 2) == 0) {
            while (end > 0 && path[--end] != '/')
                ;
        } else if (part > 0 && !(part == 1 && *at == '.')) {
            path[end++] = '/';
            memcpy(path + end, at, part);
            end += part;
        }
        at += part;
    }
    path[end] = '\0';
    return end > 0;
}

/* Is something that the command has in or below DIRECTORY? Then to show all of it would be too much. */
static bool holds_granted(const struct resolved *resolved, const char *directory)
{
    if (resolved->cwd && path_contains(directory, resolved->cwd))
        return true;
    for (size_t i = 0; i < resolved->path_count; i++)
        if (resolved->paths[i].grant != GRANT_NONE && path_contains(directory, resolved->paths[i].path))
            return true;
    return false;
}

static bool can_show(const struct resolved *resolved, const char *path)
{
    struct risk risk;
    struct stat st;

    return lstat(path, &st) == 0 && !S_ISSOCK(st.st_mode) &&
           !risk_find(resolved->home, resolved->env.items, LIST_READ, path, &risk) &&
           !risk_find(resolved->home, resolved->env.items, LIST_SOCKETS, path, &risk);
}

/* Cuts PATH to the least that is beside what the command has: what lies right in /tmp belongs together, what
 * lies in /run does not. Return: is it there, and could it be shown? */
static bool cut_path(const struct resolved *resolved, char *path)
{
    char *slash = path + find_place(path) - 1;

    if (strncmp(path, "/tmp/", 5) != 0)
        return !holds_granted(resolved, path) && can_show(resolved, path);
    do {
        slash = strchr(slash + 1, '/');
        if (slash)
            *slash = '\0';
        if (!holds_granted(resolved, path))
            return can_show(resolved, path);
        if (slash)
            *slash = '/';
    } while (slash);
    return false;
}

static int take_name(struct report *report, const char *name, size_t length)
{
    const struct resolved *resolved = report->resolved;
    char path[PATH_MAX];

    if (!resolved->cwd || !make_absolute(resolved->cwd, name, length, path) || find_place(path) == 0 ||
        !resolved_apart(resolved, path) || !cut_path(resolved, path) || strings_have(&report->absent, path))
        return 0;
    return strings_add(&report->absent, path);
}

/* Every name in WORD that begins with a slash, `../` or, at its front, with anything. */
static int take_word(struct report *report, const char *word)
{
    int r = 0;

    for (const char *at = word; *at && r == 0 && report->absent.count < ABSENT_MOST;) {
        size_t length = strcspn(at, ENDS);

        if (length > 0 && (*at == '/' || strncmp(at, "../", 3) == 0))
            r = take_name(report, at, length);
        at += length;
        at += strspn(at, ENDS);
    }
    return r;
}

void absent_find(struct report *report)
{
    const struct outcome *outcome = &report->outcome;
    int r = 0;

    if (outcome->kind != OUTCOME_EXITED || outcome->status == 0 || !report->plan || !report->plan->own_tmp ||
        !report->resolved)
        return;
    for (size_t i = 0; r == 0 && report->command && report->command[i]; i++)
        r = take_word(report, report->command[i]);
    for (size_t i = 0; r == 0 && i < report->absent.count; i++) {
        const char *path = report->absent.items[i];

        r = strings_addf(&report->warnings,
                         ABSENT_REASON ": %.*s is the run's own, and %s is not there (--read %s shows it)",
                         (int)find_place(path) - 1, path, QUOTE(path), QUOTE(path));
    }
}
