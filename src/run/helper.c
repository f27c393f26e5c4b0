/*
 * helper.c - start a program of ours, confined by our own links.
 *
 *     detach-run ... scope-run ... landlock-run ... drop-run ... seccomp-run ... PROGRAM, or one with a wall
 *
 * A helper reads what a hostile command or somebody far away has written. So it gets the same links as a
 * command, with less: what it may read is named one by one, and it has no variables.
 *
 * Should:  be cheap: one vfork and one exec, where the program has its own wall; else one exec more.
 * Mustn't: leave a link out where it cannot be had: then there is no helper.
 */
#include "run/helper.h"

#include "run/launcher.h"
#include "run/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SENTINEL 256 /* nobody asks for it: seccomp-run itself shows that its filter is in force */

struct words {
    struct launch launch;
    int failed; /* -errno */
};

/* One word more, made of FORMAT. */
__attribute__((format(printf, 2, 3))) static void add(struct words *words, const char *format, ...)
{
    char word[PATH_MAX];
    va_list list;
    int length;

    va_start(list, format);
    length = vsnprintf(word, sizeof(word), format, list);
    va_end(list);
    if (words->failed == 0 && (length < 0 || (size_t)length >= sizeof(word)))
        words->failed = -ENAMETOOLONG;
    if (words->failed == 0)
        words->failed = strings_add(&words->launch.argv, word);
}

static int compare_numbers(const void *left, const void *right)
{
    int a = *(const int *)left, b = *(const int *)right;

    return (a > b) - (a < b);
}

/* Everything that crosses the chain, each once, in order. @program: -1: it is not executed behind the links.
 */
static int collect(struct words *words, const struct helper *helper, int program)
{
    const struct {
        const int *fds;
        size_t count;
    } lists[] = {{helper->readable, helper->readable_count},
                 {helper->keep, helper->keep_count},
                 {&program, program >= 0}};
    size_t count = helper->readable_count + helper->keep_count + 1, kept = 0;
    int *keep = calloc(count, sizeof(*keep));

    if (!keep)
        return -ENOMEM;
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        for (size_t j = 0; j < lists[i].count; j++)
            keep[kept++] = lists[i].fds[j];
    qsort(keep, kept, sizeof(*keep), compare_numbers);
    for (size_t i = 0; i < kept; i++)
        if (i == 0 || keep[i] != keep[words->launch.keep_count - 1])
            keep[words->launch.keep_count++] = keep[i];
    words->launch.keep = keep;
    return 0;
}

static void add_all(struct words *words, const char *const *list)
{
    for (; *list; list++)
        add(words, "%s", *list);
}

static void add_readable(struct words *words, const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        add(words, "--ro");
        add(words, "/proc/self/fd/%d", fds[i]);
    }
}

/* root gives itself up inside; who is that user already has nobody to become, and root in a container may
 * lack the capability for it. */
static void add_user(struct words *words, const struct helper *helper)
{
    if (geteuid() != 0 || (helper->uid == 0 && helper->gid == getegid()))
        return;
    add(words, "--user");
    add(words, "%u:%u", (unsigned)helper->uid, (unsigned)helper->gid);
}

static void add_links(struct words *words, const struct helper *helper, int program)
{
    static const char *const detach[] = {"detach-run", "--session", NULL},
                             *const scope[] = {"--", "scope-run", "--signal", "--abstract", NULL},
                             *const landlock[] = {"--", "landlock-run", NULL}, *const drop[] = {"--",
                                                                                                "drop-run",
                                                                                                "--",
                                                                                                "seccomp-run",
                                                                                                "--set",
                                                                                                "landlock",
                                                                                                NULL};

    add(words, "confine-launch");
    add_all(words, detach);
    for (size_t i = 0; i < words->launch.keep_count; i++) {
        add(words, "--keep");
        add(words, "%d", words->launch.keep[i]);
    }
    add_user(words, helper);
    if (helper->scoped)
        add_all(words, scope);
    add_all(words, landlock);
    add_readable(words, helper->readable, helper->readable_count);
    add_readable(words, &program, 1);
    add_all(words, drop);
    for (const char *const *group = helper->opened; group && *group; group++) {
        add(words, "--without");
        add(words, "%s", *group);
    }
    add(words, "--sentinel");
    add(words, "%d", SENTINEL);
    add(words, "--");
    add(words, "/proc/self/fd/%d", program);
}

static void free_words(struct words *words)
{
    strings_free(&words->launch.argv);
    free(words->launch.keep);
}

pid_t helper_start(const struct helper *helper, const struct resolved *resolved, struct error *error)
{
    _cleanup_fd_ int first =
        launcher_open(resolved, helper->walled ? helper->program : "confine-launch", error);
    _cleanup_fd_ int program =
        first < 0 || helper->walled ? -1 : launcher_open(resolved, helper->program, error);
    _cleanup_fd_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct words words = {0};
    pid_t pid;

    if (first < 0 || (program < 0 && !helper->walled))
        return -ENOENT;
    words.failed = root < 0 ? -errno : collect(&words, helper, program);
    if (words.failed == 0 && helper->walled) {
        add(&words, "%s", helper->program);
        add_user(&words, helper);
    } else if (words.failed == 0) {
        add_links(&words, helper, program);
    }
    if (helper->words)
        add_all(&words, helper->words);
    pid = words.failed ? words.failed : spawn_chain(first, &words.launch, helper->standard, root, NULL, NULL);
    free_words(&words);
    if (pid < 0) {
        error_set(error, ERROR_INTERNAL, -pid, "no-helper", "cannot start %s: %s", helper->program,
                  strerror(-pid));
        return pid;
    }
    return pid;
}
