/* test-resolve-paths.c - one look at every name: swaps underneath, other ways to open, many and long names.
 */
#define CONFINE_MAY_READ_ENVIRONMENT
#include "harness.h"

#include "policy/test-resolve.h"

#include "links/kernel_abi.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

#define FLIPS         500
#define FLIPS_LONG    10000
#define FLIP_BURST    7
#define FLIP_EXCHANGE 2 /* RENAME_EXCHANGE, which a libc may not show */
#define COST_MOST_US  25.0
#define PATHS         1000

/* Nothing but what the test asks: ten thousand runs should not look for credentials. */
static struct trial start_bare(void)
{
    struct trial trial = trial_start();

    trial_add(&trial, LIST_HIDE, "!@credentials");
    trial_add(&trial, LIST_PROTECT, "!@runs-later");
    trial_set(&trial, KEY_CACHES, "off");
    return trial;
}

/* Inside another confinement openat2 is refused: every component is walked then. */
static void refuse_openat2(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

    need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    need(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0UL, &program) == 0);
    need(syscall(SYS_openat2, AT_FDCWD, "/", NULL, (size_t)0) == -1 && errno == ENOSYS);
}

/* --- a thread that swaps a directory and a link ----------------------------------------------------------
 */

static atomic_bool flip_end;
static atomic_ulong flip_count;

static void *flip(void *unused)
{
    char directory[PATH_MAX + 64], link[PATH_MAX + 64];

    (void)unused;
    snprintf(directory, sizeof(directory), "%s/ws/sub", test_dir);
    snprintf(link, sizeof(link), "%s/ws/swap", test_dir);
    while (!atomic_load(&flip_end)) {
        if (syscall(SYS_renameat2, AT_FDCWD, directory, AT_FDCWD, link, FLIP_EXCHANGE) == 0 &&
            atomic_fetch_add(&flip_count, 1) % FLIP_BURST == 0)
            nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL); /* else lookups starve behind the renames */
    }
    return NULL;
}

static bool is_object(int fd, const struct stat *object)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_dev == object->st_dev && st.st_ino == object->st_ino;
}

/* How many descriptors of the result are the directory outside or what lies in it. */
static unsigned count_outside(const struct resolved *resolved, const struct stat *outside,
                              const struct stat *inner)
{
    unsigned count = is_object(resolved->cwd_fd, outside) || is_object(resolved->cwd_fd, inner);

    for (size_t i = 0; i < resolved->path_count; i++)
        count += is_object(resolved->paths[i].fd, outside) || is_object(resolved->paths[i].fd, inner);
    return count;
}

static const struct swap {
    const char *name;
    bool walk; /* without openat2 */
    enum list list;
    const char *path;
} swaps[] = {
    {"write", false, LIST_WRITE, "ws/sub/x"},
    {"read", false, LIST_READ, "ws/sub/x"},
    {"read, with dots", false, LIST_READ, "ws/d/../sub/x"},
    {"write, walked", true, LIST_WRITE, "ws/sub/x"},
    {"start directory", false, LIST_COUNT, "ws/sub/x"},
};

/* Ten thousand on a machine that is busy with something else. */
TEST_EACH_IN(a_swapped_component_never_leads_outside, 240, struct swap, swaps)
{
    struct trial trial = start_bare();
    unsigned wrong = 0, granted = 0, refused = 0, other = 0;
    const unsigned flips = test_is_long() ? FLIPS_LONG : FLIPS;
    struct stat outside, inner;
    pthread_t thread;

    trial_directory("ws");
    trial_directory("ws/d");
    trial_directory("ws/sub");
    trial_directory("ws/sub/x");
    trial_directory("outside");
    trial_directory("outside/x");
    need(symlink("../outside", trial_path("ws/swap")) == 0);
    need(stat(trial_path("outside"), &outside) == 0 && stat(trial_path("outside/x"), &inner) == 0);
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, trial_path("ws"));
    if (row->list == LIST_COUNT) {
        trial_set(&trial, KEY_CHDIR, trial_path(row->path));
    } else {
        trial_set(&trial, KEY_READABLE, "listed"); /* else a grant to read would vanish in that of the root */
        trial_add(&trial, row->list, trial_path(row->path));
    }
    if (row->walk)
        refuse_openat2();
    need(pthread_create(&thread, NULL, flip, NULL) == 0);
    while (granted + refused < flips || (granted + refused < FLIPS_LONG &&
                                         (granted == 0 || refused == 0 || atomic_load(&flip_count) <= 100))) {
        if (trial_resolve(&trial) < 0) {
            refused++;
            other += strcmp(trial.error.reason, "link-in-writable") != 0 &&
                     strcmp(trial.error.reason, "path-changed") != 0;
            continue;
        }
        granted++;
        wrong += count_outside(&trial.resolved, &outside, &inner);
        resolved_free(&trial.resolved);
    }
    atomic_store(&flip_end, true);
    pthread_join(thread, NULL);
    test_note("%u granted, %u refused, %lu swaps", granted, refused, atomic_load(&flip_count));
    check_int(wrong, 0);
    check_int(other, 0);
    check(granted > 0 && refused > 0 && atomic_load(&flip_count) > 100); /* else nothing was tried */
    trial_end(&trial);
}

/* --- without openat2 -------------------------------------------------------------------------------------
 */

TEST(walking_finds_the_same)
{
    struct trial one = start_bare(), *trial = &one;
    struct resolved first;

    trial_directory("ws");
    trial_directory("real");
    need(symlink("../real", trial_path("home/link")) == 0);
    trial_set(trial, KEY_MODE, "workspace-write");
    trial_set(trial, KEY_WORKSPACE, trial_path("ws"));
    trial_add(trial, LIST_WRITE, trial_path("./ws/..//home/link/"));
    need(trial_resolve(trial) == 0);
    first = trial->resolved;
    refuse_openat2();
    need(trial_resolve(trial) == 0);
    need(trial->resolved.path_count == first.path_count);
    check(trial_find(trial, "real") != NULL);
    for (size_t i = 0; i < first.path_count; i++) {
        check_str(trial->resolved.paths[i].path, first.paths[i].path);
        check_int(trial->resolved.paths[i].inode, first.paths[i].inode);
    }
    check_str(trial->resolved.cwd, first.cwd);
    resolved_free(&first);
    trial_end(trial);
}

/* --- many and long ---------------------------------------------------------------------------------------
 */

static double cpu_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* The cheapest of a few resolves, in microseconds of CPU time. */
static double cost(struct trial *trial)
{
    double best = 1e9;

    for (int i = 0; i < 15; i++) {
        double start = cpu_us(), took;

        need(trial_resolve(trial) == 0);
        took = cpu_us() - start;
        resolved_free(&trial->resolved);
        if (took < best)
            best = took;
    }
    return best;
}

TEST(a_thousand_paths_fit_a_low_limit_and_cost_little)
{
    struct trial trial = start_bare();
    struct rlimit limit;
    double none, many;
    char name[32];

    trial_directory("ws");
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, trial_path("ws"));
    none = cost(&trial);
    for (int i = 0; i < PATHS; i++) {
        snprintf(name, sizeof(name), "d%d", i);
        trial_directory(name);
        trial_add(&trial, LIST_WRITE, trial_path(name));
    }
    need(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    if (limit.rlim_max < 2 * PATHS)
        test_skip("the hard limit is %lu", (unsigned long)limit.rlim_max);
    limit.rlim_cur = 256;
    need(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    need(trial_resolve(&trial) == 0);
    check_int(trial_count(&trial, GRANT_WRITE, true), PATHS + 1);
    resolved_free(&trial.resolved);
    many = cost(&trial);
    test_note("%.0f us without, %.2f us for each of %d paths", none, (many - none) / PATHS, PATHS);
    check((many - none) / PATHS < COST_MOST_US);
    trial_end(&trial);
}

TEST(a_limit_that_is_too_low_is_said)
{
    struct trial trial = start_bare();
    struct rlimit limit = {40, 40};
    char name[32];

    trial_set(&trial, KEY_MODE, "workspace-write");
    for (int i = 0; i < 60; i++) {
        snprintf(name, sizeof(name), "d%d", i);
        trial_directory(name);
        trial_add(&trial, LIST_WRITE, trial_path(name));
    }
    need(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    check(trial_resolve(&trial) < 0);
    check_str(trial.error.reason, "too-many-files");
    check_int(trial.error.code, ERROR_SANDBOX_UNAVAILABLE);
    trial_end(&trial);
}

TEST(a_name_longer_than_the_kernel_takes_works)
{
    struct trial trial = start_bare();
    char part[201] = "", *whole;
    size_t length = strlen(test_dir);
    int at = open(test_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

    memset(part, 'n', sizeof(part) - 1);
    whole = malloc(length + 30 * sizeof(part) + 1);
    need(whole && at >= 0);
    memcpy(whole, test_dir, length + 1);
    for (int i = 0; i < 30; i++) {
        int next;

        need(mkdirat(at, part, 0755) == 0);
        next = openat(at, part, O_PATH | O_DIRECTORY | O_CLOEXEC);
        need(next >= 0);
        close(at);
        at = next;
        whole[length++] = '/';
        memcpy(whole + length, part, sizeof(part));
        length += sizeof(part) - 1;
    }
    need(length > PATH_MAX);
    trial_set(&trial, KEY_READABLE, "listed");
    trial_set(&trial, KEY_CHDIR, "/usr");
    trial_add(&trial, LIST_READ, whole);
    need(trial_resolve(&trial) == 0);
    check(trial_find(&trial, whole) != NULL);
    free(whole);
    close(at);
    trial_end(&trial);
}
