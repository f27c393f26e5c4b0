/*
 * tmp.c - the private temp directory of one run.
 *
 * Should:  be gone after the run, whatever the command made of it.
 * Mustn't: walk that tree with the supervisor's rights: it is hostile, and
 *          removing is done by confine-sweep, which can write nothing else.
 */
#include "run/tmp.h"

#include "run/launcher.h"
#include "run/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SWEEP_SECONDS "60"

static const char *find_parent(const struct resolved *resolved)
{
    for (size_t i = 0; i < resolved->env.count; i++)
        if (strncmp(resolved->env.items[i], "TMPDIR=/", 8) == 0)
            return resolved->env.items[i] + 7;
    return "/tmp";
}

static int fail(struct error *error, const char *what, const char *where)
{
    error_set(error, ERROR_SANDBOX_UNAVAILABLE, errno, "no-temp-directory",
              "cannot %s a private temp directory in %s: %s", what, QUOTE(where), strerror(errno));
    return error_hint(error, "set TMPDIR to a directory where you may write, or give --tmp DIR");
}

int tmp_make(struct tmp_directory *tmp, const struct resolved *resolved, struct error *error)
{
    const char *parent = find_parent(resolved);
    uint64_t random;
    struct stat made;

    tmp->parent_fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (tmp->parent_fd < 0)
        return fail(error, "make", parent);
    if (getrandom(&random, sizeof(random), 0) != sizeof(random))
        return fail(error, "name", parent);
    snprintf(tmp->name, sizeof(tmp->name), "confine-%016llx", (unsigned long long)random);
    snprintf(tmp->path, sizeof(tmp->path), "%s/%s", strcmp(parent, "/") == 0 ? "" : parent, tmp->name);
    if (mkdirat(tmp->parent_fd, tmp->name, 0700) != 0) {
        int r = fail(error, "make", parent);

        tmp->parent_fd = fd_close(tmp->parent_fd);
        return r;
    }
    tmp->fd = openat(tmp->parent_fd, tmp->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (tmp->fd < 0 || fstat(tmp->fd, &made) != 0 || made.st_uid != geteuid() ||
        (resolved->switch_user && fchownat(tmp->fd, "", resolved->uid, resolved->gid, AT_EMPTY_PATH) != 0)) {
        int r = fail(error, "take", parent);

        unlinkat(tmp->parent_fd, tmp->name, AT_REMOVEDIR);
        tmp->fd = fd_close(tmp->fd);
        tmp->parent_fd = fd_close(tmp->parent_fd);
        return r;
    }
    return 0;
}

/* The sweep's chain: it may write below the directory and nowhere else. */
static int start_sweep(int launcher, int sweep, int directory, uid_t uid, gid_t gid)
{
    const int standard[3] = {0, 1, 2};
    struct launch launch = {0};
    int keep[] = {sweep, directory};
    int r = 0;
    _cleanup_fd_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

    launch.keep = keep;
    launch.keep_count = ARRAY_SIZE(keep);
    r = strings_add(&launch.argv, "confine-launch") ?: strings_add(&launch.argv, "detach-run") ?: strings_add(&launch.argv, "--session");
    for (size_t i = 0; i < ARRAY_SIZE(keep) && r == 0; i++)
        r = strings_add(&launch.argv, "--keep") ?: strings_addf(&launch.argv, "%d", keep[i]);
    if (r == 0 && geteuid() == 0)
        r = strings_add(&launch.argv, "--user")
                ?: strings_addf(&launch.argv, "%u:%u", (unsigned)uid, (unsigned)gid);
    static const char *const words[] = {"--", "landlock-run", "--ro", "/", "--rw"};
    for (size_t i = 0; i < ARRAY_SIZE(words) && r == 0; i++)
        r = strings_add(&launch.argv, words[i]);
    if (r == 0)
        r = strings_addf(&launch.argv, "/proc/self/fd/%d", directory);
    static const char *const rest[] = {"--",       "drop-run",   "--",  "seccomp-run", "--set",
                                       "landlock", "--sentinel", "256", "--"};
    for (size_t i = 0; i < ARRAY_SIZE(rest) && r == 0; i++)
        r = strings_add(&launch.argv, rest[i]);
    if (r == 0)
        r = strings_addf(&launch.argv, "/proc/self/fd/%d", sweep) ?: strings_add(&launch.argv, "remove");
    if (r == 0)
        r = strings_add(&launch.argv, "--fd") ?: strings_addf(&launch.argv, "%d", directory);
    if (r == 0)
        r = strings_add(&launch.argv, "--seconds") ?: strings_add(&launch.argv, SWEEP_SECONDS);
    if (r == 0)
        r = spawn_chain(launcher, &launch, standard, root, NULL, NULL);
    strings_free(&launch.argv);
    return r;
}

static int run_sweep(struct tmp_directory *tmp, struct error *error)
{
    _cleanup_fd_ int launcher = launcher_open(NULL, "confine-launch", error);
    _cleanup_fd_ int sweep = launcher < 0 ? -1 : launcher_open(NULL, "confine-sweep", error);
    struct stat owner;
    int status = 0;
    pid_t pid;

    if (sweep < 0)
        return -ENOENT;
    if (fstat(tmp->fd, &owner) != 0)
        return error_set(error, ERROR_INTERNAL, errno, "temp-left", "cannot look at %s", QUOTE(tmp->path));
    pid = start_sweep(launcher, sweep, tmp->fd, owner.st_uid, owner.st_gid);
    if (pid < 0)
        return error_set(error, ERROR_INTERNAL, -pid, "temp-left", "cannot start confine-sweep: %s",
                         strerror(-pid));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return error_set(error, ERROR_INTERNAL, EIO, "temp-left", "confine-sweep could not empty %s",
                         QUOTE(tmp->path));
    return 0;
}

int tmp_remove(struct tmp_directory *tmp, struct error *error)
{
    int r = 0;

    if (tmp->fd < 0)
        return 0;
    if (unlinkat(tmp->parent_fd, tmp->name, AT_REMOVEDIR) != 0 && errno != ENOENT) {
        r = errno == ENOTEMPTY || errno == EEXIST
                ? run_sweep(tmp, error)
                : error_set(error, ERROR_INTERNAL, errno, "temp-left", "cannot remove %s: %s",
                            QUOTE(tmp->path), strerror(errno));
        if (r == 0 && unlinkat(tmp->parent_fd, tmp->name, AT_REMOVEDIR) != 0)
            r = error_set(error, ERROR_INTERNAL, errno, "temp-left", "cannot remove %s: %s", QUOTE(tmp->path),
                          strerror(errno));
    }
    tmp->fd = fd_close(tmp->fd);
    tmp->parent_fd = fd_close(tmp->parent_fd);
    return r;
}
