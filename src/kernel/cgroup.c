/*
 * cgroup.c - groups of our own: made, joined, emptied, removed.
 *
 * Theory of operation. A group is a directory with a name that nobody else takes, `confine.` and 16 digits,
 * and an exclusive lock on it that we hold as long as we live. A group of that name and of our user whose
 * lock is free has been left behind by one of us that was killed: whoever makes a group in the same place
 * ends what is in it, as it should have been ended, and removes it.
 *
 * A controller that nobody has turned on in the caller's own group can be turned on only when no process is
 * in that group itself: we move into a leaf beside the group of the run, and back when it has ended.
 * Everybody who uses a place holds a shared lock on it; only who gets it alone turns a controller off again.
 *
 * Mustn't: wait for a lock: any user may take one and keep it. Mustn't signal by a number that may be
 *          somebody else's by then, or move a process that is not this one.
 */
#include "kernel/cgroup.h"

#include "links/kernel_abi.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PREFIX      "confine."
#define DIGITS      16
#define NAME_TRIES  8
#define PLACE_TRIES 100 /* of 10 ms: somebody turns a controller off */
#define GONE_TRIES  200 /* of 5 ms: what was killed is on its way */
#define FIND_TRIES  8
#define BATCH       64

static void pause_ms(long ms)
{
    struct timespec pause = {.tv_nsec = ms * 1000000};

    nanosleep(&pause, NULL);
}

/* --- one directory -------------------------------------------------------------------------------------- */

static bool is_our_name(const char *name)
{
    return strncmp(name, PREFIX, strlen(PREFIX)) == 0 && strlen(name) == strlen(PREFIX) + DIGITS &&
           strspn(name + strlen(PREFIX), "0123456789abcdef") == DIGITS;
}

static bool is_still(int place, const char *name, int directory)
{
    struct stat by_name, by_fd;

    return fstatat(place, name, &by_name, AT_SYMLINK_NOFOLLOW) == 0 && fstat(directory, &by_fd) == 0 &&
           stat_same(&by_name, &by_fd);
}

/* A new directory, locked. One that was taken for a leftover before it was locked is given up. */
static int make_directory(int place, char *name)
{
    for (int i = 0; i < NAME_TRIES; i++) {
        uint64_t number;
        int directory;

        if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
            return -EIO;
        snprintf(name, CGROUP_NAME, PREFIX "%016llx", (unsigned long long)number);
        if (mkdirat(place, name, 0755) != 0)
            return -errno;
        directory = openat(place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (directory >= 0 && flock(directory, LOCK_EX | LOCK_NB) == 0 && is_still(place, name, directory))
            return directory;
        unlinkat(place, name, AT_REMOVEDIR);
        fd_close(directory);
    }
    return -EBUSY;
}

/* Return: how many of the group's numbers could be had (at most BATCH), or -errno. */
static int read_members(int directory, pid_t *pids)
{
    _cleanup_fd_ int fd = openat(directory, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    size_t length;
    int count = 0, r;

    if (fd < 0)
        return -errno;
    r = fd_read_all(fd, 1 << 24, &text, &length);
    if (r < 0)
        return r;
    for (char *at = text; *at && count < BATCH; at += strcspn(at, "\n"), at += *at == '\n')
        pids[count++] = (pid_t)strtol(at, NULL, 10);
    return count;
}

static bool is_member(int directory, pid_t pid)
{
    _cleanup_fd_ int fd = openat(directory, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    size_t length;

    if (fd < 0 || fd_read_all(fd, 1 << 24, &text, &length) < 0)
        return false;
    for (char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
        if ((pid_t)strtol(at, NULL, 10) == pid)
            return true;
    return false;
}

/* A number may be another process's by the time that it is signalled; a pidfd that was opened while the
 * number stood in the group twice cannot. */
static int kill_members(int directory)
{
    pid_t pids[BATCH] = {0}, again[BATCH] = {0};
    int fds[BATCH], count = read_members(directory, pids), still;

    if (count <= 0)
        return count;
    for (int i = 0; i < count; i++)
        fds[i] = (int)kernel_call(SYS_pidfd_open, pids[i], 0, 0, 0, 0, 0);
    still = read_members(directory, again);
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < still && fds[i] >= 0; k++)
            if (again[k] == pids[i]) {
                kernel_call(SYS_pidfd_send_signal, fds[i], SIGKILL, 0, 0, 0, 0);
                break;
            }
        fd_close(fds[i]);
    }
    return count;
}

static int kill_directory(int version, int directory)
{
    int r = version == 2 ? cgroup_write(directory, "cgroup.kill", "1") : -ENOENT;

    if (r != -ENOENT)
        return r;
    r = kill_members(directory);
    return r < 0 ? r : 0;
}

/* Return: 1, 0 or -errno. */
static int is_empty(int version, int directory)
{
    uint64_t populated;
    pid_t pids[BATCH];
    int r;

    if (version == 2) {
        r = cgroup_number(directory, "cgroup.events", "populated", &populated);
        return r < 0 ? r : populated == 0;
    }
    r = read_members(directory, pids);
    return r < 0 ? r : r == 0;
}

static int remove_directory(int place, const char *name)
{
    for (int i = 0; i < GONE_TRIES; i++) {
        if (unlinkat(place, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
            return 0;
        if (errno != EBUSY)
            break;
        pause_ms(5);
    }
    return -errno;
}

/* One that nobody holds any more. A group that does not empty in time stays for the next one of us. */
static void sweep_one(int version, int place, const char *name)
{
    _cleanup_fd_ int directory = openat(place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat seen;

    if (directory < 0 || fstat(directory, &seen) != 0 || seen.st_uid != geteuid() ||
        flock(directory, LOCK_EX | LOCK_NB) != 0 || !is_still(place, name, directory))
        return;
    for (int i = 0; i < 20 && is_empty(version, directory) == 0; i++) {
        kill_directory(version, directory);
        pause_ms(1);
    }
    unlinkat(place, name, AT_REMOVEDIR);
}

static void sweep(int version, int place)
{
    int fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);

    if (!list) {
        fd_close(fd);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(list));)
        if (is_our_name(entry->d_name))
            sweep_one(version, place, entry->d_name);
    closedir(list);
}

/* --- making --------------------------------------------------------------------------------------------- */

static int share_place(int place)
{
    for (int i = 0; i < PLACE_TRIES; i++) {
        if (flock(place, LOCK_SH | LOCK_NB) == 0)
            return 0;
        if (errno != EWOULDBLOCK)
            break;
        pause_ms(10);
    }
    return -errno;
}

static int move_here(int directory)
{
    return cgroup_write(directory, "cgroup.procs", "0");
}

/* Turns the controllers of @uses on or off in the place. Return: 0 or -errno of the first that failed. */
static int turn(int place, unsigned uses, char sign, unsigned *ret_turned)
{
    for (int use = 0; use < CGROUP_USES; use++) {
        const char *name = cgroup_controller((enum cgroup_use)use);
        char word[32];
        int r;

        if (!(uses & CGROUP_BIT(use)) || !name)
            continue;
        snprintf(word, sizeof(word), "%c%s", sign, name);
        r = cgroup_write(place, "cgroup.subtree_control", word);
        if (r < 0)
            return r;
        if (ret_turned)
            *ret_turned |= CGROUP_BIT(use);
    }
    return 0;
}

static bool is_on(int place, enum cgroup_use use)
{
    char text[1024];

    return file_read(place, "cgroup.subtree_control", text, sizeof(text)) >= 0 &&
           cgroup_has_word(text, cgroup_controller(use), " \n");
}

/* The controllers of @uses that are off in the place. */
static unsigned missing_uses(int place, unsigned uses)
{
    unsigned missing = 0;

    for (int use = 0; use < CGROUP_USES; use++)
        if ((uses & CGROUP_BIT(use)) && cgroup_controller((enum cgroup_use)use) &&
            !is_on(place, (enum cgroup_use)use))
            missing |= CGROUP_BIT(use);
    return missing;
}

/* In our own group: away from where no process may be, then on with the controllers. The root may have
 * processes; elsewhere some controllers can be turned on all the same, and make threads of the groups below.
 */
static int turn_on(struct cgroup *group)
{
    bool root = faccessat(group->place, "cgroup.type", F_OK, 0) != 0 && errno == ENOENT;
    unsigned missing = missing_uses(group->place, group->uses);
    int r = 0;

    if (!root) {
        group->leaf = make_directory(group->place, group->leaf_name);
        r = group->leaf < 0 ? group->leaf : move_here(group->leaf);
    }
    return r == 0 ? turn(group->place, missing, '+', &group->turned) : r;
}

/* Return: 0 or -errno; -EAGAIN: who had turned a controller on has turned it off since the place was found.
 */
static int make_group(struct cgroups *cgroups, const struct cgroup_place *place)
{
    struct cgroup *group = &cgroups->group[cgroups->count++];
    int r = 0;

    *group = (struct cgroup){.version = place->version,
                             .uses = place->uses,
                             .place = place->directory,
                             .directory = -1,
                             .procs = -1,
                             .leaf = -1};
    sweep(group->version, group->place);
    if (group->version == 2)
        r = share_place(group->place);
    if (r == 0 && place->own)
        r = turn_on(group);
    else if (r == 0 && group->version == 2 && missing_uses(group->place, group->uses))
        r = -EAGAIN;
    if (r < 0)
        return r;
    group->directory = make_directory(group->place, group->name);
    if (group->directory < 0)
        return group->directory;
    group->procs = openat(group->directory, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    if (group->procs < 0)
        return -errno;
    for (int use = 0; use < CGROUP_USES; use++)
        if (group->uses & CGROUP_BIT(use))
            cgroups->of[use] = group;
    return 0;
}

bool cgroups_join(struct cgroups *cgroups)
{
    for (size_t i = 0; i < cgroups->count; i++) {
        long r = kernel_call(SYS_write, cgroups->group[i].procs, KERNEL_PTR("0"), 1, 0, 0, 0);

        if (r != 1) {
            cgroups->join_error = r < 0 ? (int)-r : EIO;
            return false;
        }
    }
    return true;
}

int cgroups_hold(const struct cgroups *cgroups, pid_t pid)
{
    for (size_t i = 0; i < cgroups->count; i++)
        if (!is_member(cgroups->group[i].directory, pid))
            return 0;
    return cgroups->count > 0;
}

int cgroups_empty(const struct cgroups *cgroups)
{
    const struct cgroup *tree = cgroups->of[CGROUP_TREE];

    return tree ? is_empty(tree->version, tree->directory) : -ENOENT;
}

int cgroups_kill(const struct cgroups *cgroups)
{
    const struct cgroup *tree = cgroups->of[CGROUP_TREE];

    return tree ? kill_directory(tree->version, tree->directory) : -ENOENT;
}

/* --- the end -------------------------------------------------------------------------------------------- */

static bool has_groups(int place)
{
    int fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    bool found = false;

    if (!list) {
        fd_close(fd);
        return true;
    }
    for (const struct dirent *entry; (entry = readdir(list)) && !found;)
        found = entry->d_type == DT_DIR && *entry->d_name != '.';
    closedir(list);
    return found;
}

/* Controllers off and ourselves back, unless somebody else is there by now: then it stays as it is, and is
 * swept with the leaf by the next one of us. */
static int put_back(struct cgroup *group)
{
    bool alone = flock(group->place, LOCK_EX | LOCK_NB) == 0;
    int r = 0;

    if (group->leaf >= 0) {
        bool others = false;
        char name[CGROUP_NAME];

        memcpy(name, group->leaf_name, sizeof(name));
        if (alone)
            r = turn(group->place, group->turned, '-', NULL);
        others = !alone || r < 0;
        if (!others)
            r = move_here(group->place);
        if (!others && r == 0)
            r = remove_directory(group->place, name);
        group->leaf = fd_close(group->leaf);
        return alone ? r : 0;
    }
    if (group->turned && alone && !has_groups(group->place))
        r = turn(group->place, group->turned, '-', NULL);
    return r;
}

static int remove_last(struct cgroups *cgroups)
{
    struct cgroup *group = &cgroups->group[--cgroups->count];
    int r = 0;

    if (group->directory >= 0)
        r = remove_directory(group->place, group->name);
    if (r == 0 && (group->turned || group->leaf >= 0))
        r = put_back(group);
    fd_close(group->procs);
    fd_close(group->leaf);
    fd_close(group->directory);
    fd_close(group->place);
    return r;
}

int cgroups_remove(struct cgroups *cgroups)
{
    int first = 0;

    while (cgroups->count > 0) {
        int r = remove_last(cgroups);

        first = first ? first : r;
    }
    memset(cgroups->of, 0, sizeof(cgroups->of));
    return first;
}

/* A module of the kernel may refuse what the modes allow: then this is no place. */
static int make_in(struct cgroups *cgroups, const struct cgroup_place *place)
{
    int r = make_group(cgroups, place);

    return r == -EACCES || r == -EPERM || r == -EROFS ? remove_last(cgroups) : r;
}

int cgroups_make(struct cgroups *cgroups, unsigned wanted)
{
    struct cgroup_place place;
    int r = -EAGAIN;

    *cgroups = (struct cgroups)CGROUPS_NONE;
    for (int i = 0; i < FIND_TRIES && r == -EAGAIN; i++) {
        cgroups_remove(cgroups);
        r = cgroup_find(2, wanted | CGROUP_BIT(CGROUP_TREE), &place);
        if (r == 0 && place.version)
            r = make_in(cgroups, &place);
    }
    for (int use = 0; use < CGROUP_USES && r == 0; use++) {
        if (!(wanted & CGROUP_BIT(use)) || cgroups->of[use])
            continue;
        r = cgroup_find(1, CGROUP_BIT(use), &place);
        if (r == 0 && place.version)
            r = make_in(cgroups, &place);
    }
    /* Any group holds all of the tree. */
    if (r == 0 && !cgroups->of[CGROUP_TREE] && cgroups->count > 0)
        cgroups->of[CGROUP_TREE] = &cgroups->group[0];
    return r;
}
