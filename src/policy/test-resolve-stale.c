/* test-resolve-stale.c - the empty caches of workspaces that are gone: which are taken away, and which never.
 */
#include "harness.h"

#include "policy/resolve_internal.h"
#include "policy/test-resolve.h"

#include <sys/stat.h>

#define CACHES "home/.cache/confine/caches"

/* What a run in NAME, below the test's directory, resolves. */
static void resolve_in(struct trial *trial, const char *name)
{
    trial_set(trial, KEY_WORKSPACE, trial_path(name));
    need(trial_resolve(trial) == 0);
    resolved_free(&trial->resolved);
}

/* The cache of the workspace at @path. Two at a time are valid. */
static const char *cache_of(const char *path)
{
    static char places[2][3 * PATH_MAX];
    static unsigned next;
    char *place = places[next++ % 2], *name = path[0] == '/' ? cache_name(path) : strdup(path);

    need(name != NULL);
    snprintf(place, sizeof(places[0]), "%s/" CACHES "/%s", test_dir, name);
    free(name);
    return place;
}

/* Nothing has happened in it for so many seconds. */
static void grow_old(const char *place, time_t seconds)
{
    struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};

    need(utimensat(AT_FDCWD, place, times, AT_SYMLINK_NOFOLLOW) == 0);
}

static bool is_there(const char *place)
{
    struct stat st;

    return lstat(place, &st) == 0;
}

static struct trial start(void)
{
    struct trial trial = trial_start();

    trial_add(&trial, LIST_HIDE, "!@credentials"); /* not the real ones of whoever runs it */
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_directory("there");
    trial_directory("new");
    return trial;
}

static const struct left {
    const char *name;
    const char *workspace; /* of what is left; below the test's directory unless absolute; with `=`, the name
                              itself */
    time_t age;
    bool holds, link, goes;
} lefts[] = {
    {"a workspace that is gone", "gone", 90000, .goes = true},
    {"one in a directory that is gone", "gone/deep/work", 90000, .goes = true},
    {"one far away", "/confine-test-of-nobody/work", 90000, .goes = true},
    {"a name that is escaped", "go-ne %25", 90000, .goes = true},
    {"below what is a file now", "file/work", 90000, .goes = true},
    {"not for a day yet", "gone", 80000},
    {"one that holds something", "gone", 90000, .holds = true},
    {"one that is there", "there", 90000},
    {"one below which others are", "", 90000},
    {"one that is a link now", "link", 90000},
    {"one behind a link", "link/gone", 90000},
    {"one on another mount", "/proc/confine-test-of-nobody", 90000},
    {"a link in place of a cache", "gone", 90000, .link = true},
    {"no name of ours: an end", "=gone-", 90000},
    {"no name of ours: a beginning", "=-gone", 90000},
    {"no name of ours: half a number", "=gone%2", 90000},
    {"no name of ours: no number", "=gone%zz", 90000},
    {"no name of ours: a zero", "=gone%00", 90000},
    {"no name of ours: hidden", "=.gone", 90000},
};

TEST_EACH(what_is_left_of_a_workspace, struct left, lefts)
{
    struct trial trial = start();
    const char *workspace = row->workspace, *place;
    char path[3 * PATH_MAX];

    resolve_in(&trial, "there"); /* makes the caches */
    trial_file("file", 0644);
    need(symlink("there", trial_path("link")) == 0);
    place = cache_of(*workspace == '='   ? workspace + 1
                     : *workspace == '/' ? workspace
                     : *workspace        ? trial_path(workspace)
                                         : test_dir);
    if (row->link)
        need(symlink("/proc", place) == 0);
    else
        need(is_there(place) || mkdir(place, 0700) == 0);
    snprintf(path, sizeof(path), "%s/pip", place);
    need(!row->holds || mkdir(path, 0700) == 0);
    grow_old(place, row->age);

    resolve_in(&trial, "there"); /* a known one looks at nothing */
    check(is_there(place));
    resolve_in(&trial, "new");
    check_int(is_there(place), !row->goes);
    check(is_there(cache_of(trial_path("new"))));
    trial_end(&trial);
}

TEST(it_is_done_as_the_user_whose_they_are)
{
    struct trial trial = start();
    const char *gone, *unseen;

    if (geteuid() != 0)
        test_skip("only for root");
    need(chmod(test_dir, 0755) == 0);
    trial_directory("locked");
    need(chmod(trial_path("locked"), 0700) == 0);
    need(chown(trial_path("home"), 65534, 65534) == 0);
    need(chown(trial_path("there"), 65534, 65534) == 0 && chown(trial_path("new"), 65534, 65534) == 0);
    resolve_in(&trial, "there");
    gone = cache_of(trial_path("gone"));
    unseen = cache_of(trial_path("locked/gone"));
    need(mkdir(gone, 0700) == 0 && mkdir(unseen, 0700) == 0);
    grow_old(gone, 90000);
    grow_old(unseen, 90000);
    resolve_in(&trial, "new");
    check(!is_there(gone));
    check(is_there(unseen)); /* root would have seen that nothing is there */
    trial_end(&trial);
}
