/* test-acts.c - an act changes nothing, whatever happens around it. */
#include "harness.h"

#include "links/acts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#define SWAPS    20000
#define EXCHANGE 2 /* RENAME_EXCHANGE, which a libc may not show */

static atomic_bool swap_end;
static atomic_ulong swap_count;

static void *swap(void *unused)
{
    (void)unused;
    while (!atomic_load(&swap_end))
        if (syscall(SYS_renameat2, AT_FDCWD, "sub", AT_FDCWD, "swap", EXCHANGE) == 0 &&
            atomic_fetch_add(&swap_count, 1) % 7 == 0)
            nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL); /* else lookups starve behind the renames */
    return NULL;
}

static const struct rename_row {
    const char *name;
    bool by_path;
} renames[] = {{"below a descriptor", false}, {"by its whole path", true}};

/* With two whole paths the directory `x` was moved onto the one outside within some thousand swaps. */
TEST_EACH_IN(renaming_onto_itself_moves_nothing, 240, struct rename_row, renames)
{
    struct channel_check check = {.act = ACT_RENAME_SELF, .fd = row->by_path ? -1 : 0};
    struct act_world world = {.count = 1};
    unsigned long succeeded = 0;
    struct stat before, after;
    pthread_t thread;
    int directory;

    need(chdir(test_dir) == 0 && mkdir("sub", 0755) == 0 && mkdir("outside", 0755) == 0);
    need(mkdir("sub/x", 0755) == 0 && mkdir("outside/x", 0755) == 0 && symlink("outside", "swap") == 0);
    need(stat("outside/x", &before) == 0);
    directory = open("sub", O_PATH | O_DIRECTORY | O_CLOEXEC);
    need(directory >= 0);
    world.descriptors = &directory;
    snprintf(check.name, sizeof(check.name), "%s", "x");
    if (row->by_path)
        need((size_t)snprintf(check.name, sizeof(check.name), "%s/sub/x", test_dir) < sizeof(check.name));
    need(pthread_create(&thread, NULL, swap, NULL) == 0);
    while (atomic_load(&swap_count) < SWAPS || succeeded < SWAPS)
        succeeded += act_rename_self(&world, &check) == 0;
    atomic_store(&swap_end, true);
    need(pthread_join(thread, NULL) == 0);
    check_int(stat("outside/x", &after), 0);
    check_int(after.st_ino, before.st_ino);
    check_int(fstatat(directory, "x", &after, 0), 0);
}

static const struct path_row {
    const char *name, *path;
    int answer;
} paths[] = {
    {"an entry of the root", "/etc", 0}, /* EROFS or EPERM where it is not ours: see below */
    {"no path", "x", EINVAL},
    {"no name", "/x/", EINVAL},
    {"nothing there", "/nowhere/x", ENOENT},
};

TEST_EACH(a_whole_path_is_split, struct path_row, paths)
{
    struct channel_check check = {.act = ACT_RENAME_SELF, .fd = -1};
    struct act_world world = {0};
    int answer;

    snprintf(check.name, sizeof(check.name), "%s", row->path);
    answer = act_rename_self(&world, &check);
    check(answer == row->answer || (row->answer == 0 && (answer == EACCES || answer == EROFS)));
}
