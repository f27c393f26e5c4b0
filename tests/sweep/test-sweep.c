/* test-sweep.c - hostile trees: what confine-sweep takes away, and what it leaves alone. */
#include "harness.h"

#include "sweep/sweep.h"

#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#define DEEP          20000
#define MANY          100000
#define FLIP_SECONDS  1  /* how long is swapped, */
#define FLIP_LONG     30 /* or that with CONFINE_LONG, and */
#define FLIP_AT_MOST  40 /* how long it may take until enough has been: a loaded machine is slow */
#define FLIP_EXCHANGE 2  /* RENAME_EXCHANGE */

static int tree_fd = -1, outside_fd = -1;

/* A tree to be swept, and beside it a canary that must stay as it is. */
static void make_trees(void)
{
    need(mkdirat(AT_FDCWD, test_dir, 0755) != 0 && errno == EEXIST);
    int top = open(test_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;

    need(top >= 0 && mkdirat(top, "tree", 0755) == 0 && mkdirat(top, "outside", 0755) == 0);
    tree_fd = openat(top, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    outside_fd = openat(top, "outside", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    need(tree_fd >= 0 && outside_fd >= 0 && mkdirat(outside_fd, "keep", 0755) == 0);
    fd = openat(outside_fd, "keep/canary", O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
    need(fd >= 0 && close(fd) == 0 && close(top) == 0);
    need(fchmod(outside_fd, 0751) == 0);
}

static void check_outside(void)
{
    struct stat st;

    check(fstatat(outside_fd, "keep/canary", &st, AT_SYMLINK_NOFOLLOW) == 0 && (st.st_mode & 07777) == 0640);
    check(fstat(outside_fd, &st) == 0 && (st.st_mode & 07777) == 0751);
}

/* The numbers that count are for a file system in memory; on a disk a tenth has to do. */
static int scale(int count)
{
    struct statfs st;

    need(fstatfs(tree_fd, &st) == 0);
    return st.f_type == 0x01021994 ? count : count / 10;
}

static void put(int at, const char *name)
{
    int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    need(fd >= 0 && close(fd) == 0);
}

static bool is_empty(int directory)
{
    DIR *dir = fdopendir(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    int count = 0;

    need(dir != NULL);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count == 2;
}

static void check_swept(void)
{
    struct sweep sweep = {.most_ms = 60000};

    if (!check_int(sweep_remove(tree_fd, &sweep), SWEEP_EMPTY))
        test_note("%s: %s", sweep.left, sweep.left_why ? sweep.left_why : strerror(sweep.left_errno));
    check(is_empty(tree_fd));
    check_outside();
}

/* Root without privilege is an ordinary user: modes count then. It gets the tree and @another directory. */
static void become_ordinary_with(int another)
{
    if (geteuid() != 0)
        return;
    need(chmod(test_dir, 0755) == 0 && fchown(tree_fd, 65534, 65534) == 0);
    need(another < 0 ||
         (fchown(another, 65534, 65534) == 0 && fchownat(another, "keep", 65534, 65534, 0) == 0 &&
          fchownat(another, "keep/canary", 65534, 65534, 0) == 0));
    need(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
}

static void become_ordinary(void)
{
    become_ordinary_with(-1);
}

TEST(an_empty_directory_is_empty)
{
    make_trees();
    check_swept();
}

TEST(everything_below_goes_and_the_directory_stays)
{
    struct stat before, after;

    make_trees();
    need(mkdirat(tree_fd, "a", 0755) == 0 && mkdirat(tree_fd, "a/b", 0755) == 0);
    put(tree_fd, "a/b/x");
    put(tree_fd, "line\nbreak \xff\x1b[31m");
    put(tree_fd, "-rf");
    need(mkfifoat(tree_fd, "fifo", 0600) == 0 && mknodat(tree_fd, "socket", S_IFSOCK | 0600, 0) == 0);
    need(fstat(tree_fd, &before) == 0);
    check_swept();
    check(fstat(tree_fd, &after) == 0 && after.st_ino == before.st_ino && after.st_nlink > 0);
}

TEST(links_are_removed_and_not_followed)
{
    make_trees();
    need(symlinkat("../outside", tree_fd, "link") == 0 && symlinkat("/", tree_fd, "root") == 0);
    need(symlinkat("../outside/keep/canary", tree_fd, "file") == 0 &&
         symlinkat("loop", tree_fd, "loop") == 0);
    need(linkat(outside_fd, "keep/canary", tree_fd, "hard", 0) == 0);
    check_swept();
}

TEST(a_path_descriptor_is_enough)
{
    struct sweep sweep = {0};
    int path;

    make_trees();
    put(tree_fd, "x");
    path = openat(tree_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    check_int(sweep_remove(path, &sweep), SWEEP_EMPTY);
    check_int(sweep.removed, 1);
    check(is_empty(tree_fd));
}

static const struct shut {
    const char *name;
    mode_t mode;
} shuts[] = {
    {"no rights", 0}, {"search only", 0100}, {"write only", 0200}, {"read only", 0400}, {"no write", 0500}};

TEST_EACH(directories_without_rights_are_opened_up, struct shut, shuts)
{
    make_trees();
    become_ordinary();
    need(mkdirat(tree_fd, "shut", 0755) == 0 && mkdirat(tree_fd, "shut/in", 0755) == 0);
    put(tree_fd, "shut/in/x");
    need(fchmodat(tree_fd, "shut/in", row->mode, 0) == 0 && fchmodat(tree_fd, "shut", row->mode, 0) == 0);
    check_swept();
}

TEST_IN(a_very_deep_tree_goes, 120)
{
    struct rlimit limit = {16, 16};
    int at;

    make_trees();
    at = openat(tree_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0, count = scale(DEEP); i < count; i++) {
        int next;

        need(mkdirat(at, "a-name-of-some-length", 0755) == 0);
        next = openat(at, "a-name-of-some-length", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        need(next >= 0 && close(at) == 0);
        at = next;
        if (i % 1000 == 0)
            put(at, "file");
    }
    close(at);
    need(setrlimit(RLIMIT_NOFILE, &limit) == 0); /* no descriptor per level */
    check_swept();
}

TEST_IN(very_many_files_go, 120)
{
    char name[32];

    make_trees();
    for (int i = 0, count = scale(MANY); i < count; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        put(tree_fd, name);
    }
    check_swept();
}

TEST(a_wide_tree_of_directories_goes)
{
    char name[64];

    make_trees();
    for (int i = 0, count = scale(3000); i < count; i++) {
        snprintf(name, sizeof(name), "d%d", i);
        need(mkdirat(tree_fd, name, 0755) == 0);
        snprintf(name, sizeof(name), "d%d/x", i);
        put(tree_fd, name);
    }
    check_swept();
}

TEST(a_mount_is_not_entered)
{
    struct sweep sweep = {0};

    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0)
        test_skip("needs a mount namespace");
    make_trees();
    need(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
    need(mkdirat(tree_fd, "bind", 0755) == 0 && mkdirat(tree_fd, "other", 0755) == 0 && fchdir(tree_fd) == 0);
    need(mount("../outside", "bind", NULL, MS_BIND, NULL) == 0);
    need(mount("none", "other", "tmpfs", 0, NULL) == 0);
    put(tree_fd, "other/kept");
    put(tree_fd, "x");
    check_int(sweep_remove(tree_fd, &sweep), SWEEP_FAILED);
    check_int(sweep.left_errno, EBUSY);
    check(faccessat(tree_fd, "x", F_OK, 0) != 0);
    check(faccessat(tree_fd, "other/kept", F_OK, 0) == 0);
    check_outside();
    need(umount2("bind", MNT_DETACH) == 0 && umount2("other", MNT_DETACH) == 0);
    check_swept();
}

TEST(what_cannot_be_removed_is_named_and_the_rest_goes)
{
    struct sweep sweep = {0};

    if (geteuid() != 0)
        test_skip("only root can make somebody else's directory");
    make_trees();
    need(mkdirat(tree_fd, "deep", 0755) == 0 && mkdirat(tree_fd, "deep/theirs", 0755) == 0);
    put(tree_fd, "deep/theirs/x");
    put(tree_fd, "deep/ours");
    put(tree_fd, "ours");
    need(fchownat(tree_fd, "deep", 65534, 65534, 0) == 0);
    become_ordinary();
    check_int(sweep_remove(tree_fd, &sweep), SWEEP_FAILED);
    check_str(sweep.left, "x");
    check_int(sweep.left_errno, EACCES);
    check(faccessat(tree_fd, "ours", F_OK, 0) != 0 && faccessat(tree_fd, "deep/ours", F_OK, 0) != 0);
    check(faccessat(tree_fd, "deep/theirs", F_OK, 0) == 0);
}

TEST(the_bound_on_entries_holds)
{
    struct sweep sweep = {.most_entries = 10};
    char name[32];

    make_trees();
    for (int i = 0; i < 25; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        put(tree_fd, name);
    }
    check_int(sweep_remove(tree_fd, &sweep), SWEEP_BOUND);
    check_int(sweep.removed, 10);
    check_str(sweep.bound, "entries");
    check(!is_empty(tree_fd));
}

/* --- somebody who swaps names meanwhile ------------------------------------------------------------------
 */

static atomic_bool flip_end;
static atomic_ulong flip_count;

static void plant(const char *to, const char *name)
{
    if (symlinkat(to, tree_fd, name) != 0)
        return; /* the last round's is still there, or its directory has gone: both are the point of it */
}

/* Makes directories with something in them and exchanges them with a link to the outside, and back. Its own
 * names may lead outside by then, so none of them is that of the canary. */
static void *flip(void *unused)
{
    (void)unused;
    plant("../outside", "swap");
    plant("../../outside", "sub/swap");
    while (!atomic_load(&flip_end)) {
        mkdirat(tree_fd, "sub", 0755);
        mkdirat(tree_fd, "sub/sub", 0);
        mkdirat(tree_fd, "sub/x", 0755);
        mkdirat(tree_fd, "sub/x/y", 0755);
        plant("../outside", "swap");
        plant("../../outside", "sub/swap");
        for (int i = 0; i < 20; i++) {
            if (syscall(SYS_renameat2, tree_fd, "sub", tree_fd, "swap", FLIP_EXCHANGE) == 0)
                atomic_fetch_add(&flip_count, 1);
            if (syscall(SYS_renameat2, tree_fd, "sub/sub", tree_fd, "sub/swap", FLIP_EXCHANGE) == 0)
                atomic_fetch_add(&flip_count, 1);
            /* and a directory that moves away from under the walk */
            syscall(SYS_renameat2, tree_fd, "sub/x/y", tree_fd, "moved", 0);
        }
    }
    return NULL;
}

/* For some time at least, and until enough was tried to mean something. */
static bool go_on(time_t seconds, bool enough)
{
    return seconds < (test_is_long() ? FLIP_LONG : FLIP_SECONDS) || (!enough && seconds < FLIP_AT_MOST);
}

TEST_IN(a_swapped_name_never_leads_outside, 60)
{
    unsigned long removed = 0, rounds = 0;
    struct timespec start, now;
    pthread_t thread;

    make_trees();
    become_ordinary();
    need(pthread_create(&thread, NULL, flip, NULL) == 0);
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        struct sweep sweep = {.most_ms = 1000};

        sweep_remove(tree_fd, &sweep);
        removed += sweep.removed;
        rounds++;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (go_on(now.tv_sec - start.tv_sec, removed > 50 && atomic_load(&flip_count) > 100));
    atomic_store(&flip_end, true);
    pthread_join(thread, NULL);
    test_note("%lu rounds, %lu removed, %lu swaps", rounds, removed, atomic_load(&flip_count));
    check(removed > 50 && atomic_load(&flip_count) > 100); /* else nothing was tried */
    check_swept();
}

static bool swap_when_opened;

/* The linker's --wrap; glibc calls it by another name. */
#ifdef __GLIBC__
#define REAL_OPENAT __real_openat64
#define OUR_OPENAT  __wrap_openat64
#else
#define REAL_OPENAT __real_openat
#define OUR_OPENAT  __wrap_openat
#endif
int REAL_OPENAT(int at, const char *name, int flags, ...);
int OUR_OPENAT(int at, const char *name, int flags, ...);

/* Every open of this program and of what it tests; the directory that is about to be entered becomes a link.
 */
int OUR_OPENAT(int at, const char *name, int flags, ...)
{
    va_list mode;
    int fd;

    if (swap_when_opened && strcmp(name, "sub") == 0) {
        swap_when_opened = false;
        (void)symlinkat("../outside", tree_fd, "swap"); /* in another order of names it has gone by now */
        need(syscall(SYS_renameat2, tree_fd, "sub", tree_fd, "swap", FLIP_EXCHANGE) == 0);
    }
    va_start(mode, flags);
    fd = REAL_OPENAT(at, name, flags, flags & O_CREAT ? va_arg(mode, mode_t) : 0);
    va_end(mode);
    return fd;
}

TEST(a_name_that_is_swapped_as_it_is_entered)
{
    struct sweep sweep = {.most_ms = 1000};

    make_trees();
    plant("../outside", "swap");
    need(mkdirat(tree_fd, "sub", 0755) == 0);
    put(tree_fd, "sub/x");
    swap_when_opened = true;
    sweep_remove(tree_fd, &sweep);
    check(!swap_when_opened); /* it was entered */
    check_swept();
}

/* A directory that is moved out of the tree while the walk stands in it. */
static void *move_out(void *unused)
{
    char name[32];

    (void)unused;
    while (!atomic_load(&flip_end)) {
        mkdirat(tree_fd, "m", 0755);
        mkdirat(tree_fd, "m/x", 0755);
        for (int i = 0; i < 12; i++) {
            snprintf(name, sizeof(name), "m/x/%d", i);
            mkdirat(tree_fd, name, 0755);
        }
        if (renameat(tree_fd, "m/x", outside_fd, "moved") == 0)
            atomic_fetch_add(&flip_count, 1);
        renameat(outside_fd, "moved", tree_fd, "back");
    }
    return NULL;
}

TEST_IN(a_directory_moved_away_is_not_climbed_from, 60)
{
    struct timespec start, now;
    pthread_t thread;

    make_trees();
    become_ordinary_with(outside_fd);
    need(pthread_create(&thread, NULL, move_out, NULL) == 0);
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        struct sweep sweep = {.most_ms = 1000};

        sweep_remove(tree_fd, &sweep);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (go_on(now.tv_sec - start.tv_sec, atomic_load(&flip_count) > 5));
    atomic_store(&flip_end, true);
    pthread_join(thread, NULL);
    test_note("%lu times moved out", atomic_load(&flip_count));
    check(atomic_load(&flip_count) > 5); /* else nothing was tried */
    unlinkat(outside_fd, "moved", AT_REMOVEDIR);
    check_swept();
}

TEST(the_bound_on_time_holds)
{
    struct sweep sweep = {.most_ms = 1};
    char name[32];

    make_trees();
    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        put(tree_fd, name);
    }
    check_int(sweep_remove(tree_fd, &sweep), SWEEP_BOUND);
    check_str(sweep.bound, "seconds");
    check(!is_empty(tree_fd));
    check_swept();
}

/* --- the program -----------------------------------------------------------------------------------------
 */

static const struct words {
    const char *name;
    const char *words[6];
    int status;
} programs[] = {
    {"plain", {"confine-sweep", "remove"}, 0},
    {"bounds that are enough", {"confine-sweep", "remove", "--entries", "5", "--seconds", "9"}, 0},
    {"a bound that is too low", {"confine-sweep", "remove", "--entries", "1"}, 2},
    {"no command", {"confine-sweep"}, 125},
    {"another command", {"confine-sweep", "removes"}, 125},
    {"an unknown option", {"confine-sweep", "remove", "--entry", "1"}, 125},
    {"no value", {"confine-sweep", "remove", "--entries"}, 125},
    {"no number", {"confine-sweep", "remove", "--entries", "1x"}, 125},
    {"a huge number", {"confine-sweep", "remove", "--entries", "99999999999999999999"}, 125},
    {"a closed descriptor", {"confine-sweep", "remove", "--fd", "777"}, 125},
};

TEST_EACH(the_program_answers_with_its_status, struct words, programs)
{
    char words[6][32] = {{0}}, *argv[8] = {0};

    make_trees();
    put(tree_fd, "a");
    put(tree_fd, "b");
    for (size_t i = 0; i < 6 && row->words[i]; i++)
        snprintf(argv[i] = words[i], sizeof(words[i]), "%s", row->words[i]);
    if (tree_fd != 3)
        need(dup2(tree_fd, 3) == 3);
    check_int(sweep_main(argv), row->status);
    check_int(is_empty(3), row->status == 0);
    check_outside();
}

TEST(a_file_is_no_directory)
{
    char name[] = "confine-sweep", word[] = "remove", *argv[] = {name, word, NULL};
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    need(fd >= 0 && (fd == 3 || dup2(fd, 3) == 3));
    check_int(sweep_main(argv), 125);
}
