/*
 * tmp.c - the private temp directory of one run.
 *
 * Theory of operation. All of a caller's lie in one place, `confine-UID`, which is there only while one of
 * them is. Whoever makes one locks it as long as he lives; so one without a lock is what a killed supervisor
 * has left, and the next run removes it.
 *
 * Should:  be gone after the run, whatever the command made of it.
 * Mustn't: walk that tree with the supervisor's rights: it is hostile, and
 *          removing is done by confine-sweep, which can write nothing else.
 *          Mustn't remove what is not ours: only by a name that we give, in a place that nobody else can
 *          write, or put another directory of ours in the place of.
 */
#include "run/tmp.h"

#include "run/helper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SWEEP_SECONDS "60"
#define DIGITS        16 /* of a name */
#define TRIES         16 /* another run may sweep or leave the place at the same moment */

static const char *find_parent(const struct resolved *resolved)
{
    for (size_t i = 0; i < resolved->env.count; i++)
        if (strncmp(resolved->env.items[i], "TMPDIR=/", 8) == 0)
            return resolved->env.items[i] + 7;
    return "/tmp";
}

static int fail(struct error *error, const char *what, const char *where)
{
    bool missing = errno == ENOENT && strcmp(where, "/tmp") == 0;
    const char *way = error_spent(errno);

    error_set(error, ERROR_SANDBOX_UNAVAILABLE, errno, "no-temp-directory",
              "cannot %s a private temp directory in %s: %s", what, QUOTE(where), strerror(errno));
    if (way)
        return error_hint(error, "%s", way);
    return error_hint(error, "%sset TMPDIR to a directory where you may write, or give --tmp DIR",
                      missing ? "make it (mkdir -m 1777 /tmp), or " : "");
}

/* Could somebody else give the name of our place to another directory of ours? */
static bool others_rename(int base)
{
    struct stat found;

    return fstat(base, &found) != 0 || (found.st_uid != geteuid() && found.st_uid != 0) ||
           ((found.st_mode & 022) && !(found.st_mode & S_ISVTX));
}

/* There is no place that can be trusted: the base is taken for it, and nothing is swept. */
static int open_base(struct tmp_directory *tmp)
{
    int base;

    tmp->place[0] = '\0';
    base = openat(tmp->base_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return base < 0 ? -errno : base;
}

/* Opens what the directories of this caller lie in; made if it is not there. Somebody else's, who was first
 * to take the name, is not used. Return: a descriptor, or -errno. */
static int open_place(struct tmp_directory *tmp)
{
    struct stat found;
    bool made;
    int place, r;

    if (others_rename(tmp->base_fd))
        return open_base(tmp);
    made = mkdirat(tmp->base_fd, tmp->place, 0711) == 0;
    if (!made && errno != EEXIST)
        return -errno;
    place = openat(tmp->base_fd, tmp->place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (place < 0 && errno == ENOENT) /* removed by a run that has ended */
        return -EAGAIN;
    /* Seen before it is changed: a kernel that only says it has opened it would have us change what is there.
     */
    if (place >= 0 && fstat(place, &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == geteuid() &&
        !(found.st_mode & 022)) {
        if (!made || fchmod(place, 0711) == 0) /* the command's user goes through it, whatever our mask */
            return place;
        r = -errno;
        fd_close(place);
        return r;
    }
    fd_close(place);
    return open_base(tmp);
}

/* Return: whether @fd is locked by us now. Where there are no locks, nobody removes anything either. */
static bool lock_directory(int fd)
{
    return fd >= 0 && (flock(fd, LOCK_EX | LOCK_NB) == 0 || (errno != EWOULDBLOCK && errno != EINTR));
}

/* Makes `name` in the place and locks it. Return: 0; -EAGAIN: it was swept before it was locked; -errno. */
static int make_locked(struct tmp_directory *tmp)
{
    struct stat made, there;

    if (mkdirat(tmp->place_fd, tmp->name, 0700) != 0)
        return errno == ENOENT ? -EAGAIN : -errno;
    tmp->lock_fd = openat(tmp->place_fd, tmp->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (!lock_directory(tmp->lock_fd))
        return tmp->lock_fd >= 0 || errno == ENOENT ? -EAGAIN : -errno;
    if (fstat(tmp->lock_fd, &made) != 0)
        return -errno;
    if (fstatat(tmp->place_fd, tmp->name, &there, AT_SYMLINK_NOFOLLOW) != 0 || there.st_ino != made.st_ino ||
        there.st_dev != made.st_dev)
        return -EAGAIN;
    return made.st_uid == geteuid() ? 0 : -EPERM;
}

static void close_all(struct tmp_directory *tmp)
{
    tmp->fd = fd_close(tmp->fd);
    tmp->lock_fd = fd_close(tmp->lock_fd);
    tmp->place_fd = fd_close(tmp->place_fd);
    tmp->base_fd = fd_close(tmp->base_fd);
}

/* The place is nobody's when the last directory in it is gone; while another one is there this is refused. */
static void leave_place(const struct tmp_directory *tmp)
{
    if (tmp->place[0])
        unlinkat(tmp->base_fd, tmp->place, AT_REMOVEDIR);
}

static int make_in_place(struct tmp_directory *tmp)
{
    uint64_t random;
    int r = -EAGAIN;

    for (int tries = 0; r == -EAGAIN && tries < TRIES; tries++) {
        tmp->lock_fd = fd_close(tmp->lock_fd);
        tmp->place_fd = fd_close(tmp->place_fd);
        if (getrandom(&random, sizeof(random), 0) != sizeof(random))
            return -errno;
        snprintf(tmp->place, sizeof(tmp->place), "confine-%u", (unsigned)geteuid());
        r = open_place(tmp);
        if (r < 0)
            continue;
        tmp->place_fd = r;
        snprintf(tmp->name, sizeof(tmp->name), "%s%016llx", tmp->place[0] ? "" : "confine-",
                 (unsigned long long)random);
        r = make_locked(tmp);
    }
    return r;
}

int tmp_make(struct tmp_directory *tmp, const struct resolved *resolved, struct error *error)
{
    const char *base = find_parent(resolved);
    int r;

    tmp->base_fd = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (tmp->base_fd < 0)
        return fail(error, "make", base);
    r = make_in_place(tmp);
    if (r < 0) {
        errno = -r;
        r = fail(error, "make", base);
        close_all(tmp);
        return r;
    }
    snprintf(tmp->path, sizeof(tmp->path), "%s/%s%s%s", strcmp(base, "/") == 0 ? "" : base, tmp->place,
             tmp->place[0] ? "/" : "", tmp->name);
    tmp->fd = openat(tmp->place_fd, tmp->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (tmp->fd < 0 ||
        (resolved->switch_user && fchownat(tmp->fd, "", resolved->uid, resolved->gid, AT_EMPTY_PATH) != 0)) {
        r = fail(error, "take", base);
        unlinkat(tmp->place_fd, tmp->name, AT_REMOVEDIR);
        leave_place(tmp);
        close_all(tmp);
        return r;
    }
    return 0;
}

/* It may write below the directory and nowhere else. */
static int run_sweep(struct tmp_directory *tmp, struct error *error)
{
    char number[16];
    const char *words[] = {"remove", "--fd", number, "--seconds", SWEEP_SECONDS, NULL};
    struct helper sweep = {.program = "confine-sweep",
                           .words = words,
                           .walled = true,
                           .keep = &tmp->fd,
                           .keep_count = 1,
                           .standard = {0, 1, 2}};
    struct stat owner;
    int status = 0;
    pid_t pid;

    snprintf(number, sizeof(number), "%d", tmp->fd);
    if (fstat(tmp->fd, &owner) != 0)
        return error_set(error, ERROR_INTERNAL, errno, "temp-left", "cannot look at %s", QUOTE(tmp->path));
    sweep.uid = owner.st_uid;
    sweep.gid = owner.st_gid;
    pid = helper_start(&sweep, NULL, error);
    if (pid < 0)
        return pid;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return error_set(error, ERROR_INTERNAL, EIO, "temp-left", "confine-sweep could not empty %s",
                         QUOTE(tmp->path));
    return 0;
}

/* An empty one needs no sweep. */
static int remove_tree(struct tmp_directory *tmp, struct error *error)
{
    int r;

    if (unlinkat(tmp->place_fd, tmp->name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    if (errno == ENOTEMPTY || errno == EEXIST) {
        r = run_sweep(tmp, error);
        if (r < 0 || unlinkat(tmp->place_fd, tmp->name, AT_REMOVEDIR) == 0)
            return r;
    }
    return error_set(error, ERROR_INTERNAL, errno, "temp-left", "cannot remove %s: %s", QUOTE(tmp->path),
                     strerror(errno));
}

static bool is_our_name(const char *name)
{
    return strlen(name) == DIGITS && strspn(name, "0123456789abcdef") == DIGITS;
}

/* Removes @name beside @tmp, if nobody locks it. */
static int remove_stale(const struct tmp_directory *tmp, const char *name, struct error *error)
{
    struct tmp_directory stale = TMP_DIRECTORY_NONE;
    _cleanup_fd_ int lock = openat(tmp->place_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    size_t parent = strlen(tmp->path) - strlen(tmp->name);

    if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) != 0)
        return 0;
    if (parent + strlen(name) >= sizeof(stale.path))
        return 0;
    stale.fd = lock;
    stale.place_fd = tmp->place_fd;
    memcpy(stale.path, tmp->path, parent);
    memcpy(stale.path + parent, name, strlen(name) + 1);
    memcpy(stale.name, name, strlen(name) + 1);
    return remove_tree(&stale, error);
}

int tmp_sweep(const struct tmp_directory *tmp, struct error *error)
{
    struct dirent *entry;
    int copy, r = 0;
    DIR *place;

    if (tmp->fd < 0 || !tmp->place[0])
        return 0;
    copy = openat(tmp->place_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    place = copy < 0 ? NULL : fdopendir(copy);
    if (!place) {
        fd_close(copy);
        return error_set(error, ERROR_INTERNAL, errno, "temp-left",
                         "cannot look for what killed runs have left: %s", strerror(errno));
    }
    while ((entry = readdir(place)))
        if (is_our_name(entry->d_name) && strcmp(entry->d_name, tmp->name) != 0 &&
            remove_stale(tmp, entry->d_name, error) < 0)
            r = -EIO;
    closedir(place);
    return r;
}

/* What is refused is left to tmp_remove(), which says so. */
static void remove_early(void *self)
{
    struct tmp_directory *tmp = self;

    if (tmp->fd < 0 || unlinkat(tmp->place_fd, tmp->name, AT_REMOVEDIR) != 0)
        return;
    leave_place(tmp);
    close_all(tmp);
}

const struct part_calls tmp_part = {.emptied = remove_early};

int tmp_remove(struct tmp_directory *tmp, struct error *error)
{
    int r = 0;

    if (tmp->fd < 0)
        return 0;
    r = remove_tree(tmp, error);
    leave_place(tmp);
    close_all(tmp);
    return r;
}
