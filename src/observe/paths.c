/*
 * paths.c - names, resolved from outside as the kernel does it inside.
 *
 * Theory of operation. /proc/PID/root, cwd and fd/N lead into the command's own view. Where no link is on the
 * way, one open answers: the object's canonical name is the name that was asked for. Everything else is
 * walked a component at a time, because a link with an absolute text would lead out of the view, into ours;
 * and because /proc/self is whoever reads it. The walk has a bound, the kernel's is hardly one: what goes
 * beyond counts as not looked at.
 *
 * Should:  be right about what it opened; a name that changes meanwhile is another name.
 * Mustn't: open anything but by O_PATH: a FIFO would wait, a device would act. Mustn't walk without a bound.
 */
#include "observe/paths.h"

#include "kernel/object.h"
#include "links/kernel_abi.h"
#include "observe/base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define LINKS_MOST 40   /* as in the kernel */
#define STEPS_MOST 4096 /* a name alone has no more than half of that; links bring more */

int open_only(int directory, const char *name, int flags)
{
    return (int)kernel_call(SYS_openat, directory, KERNEL_PTR(name), O_PATH | O_CLOEXEC | flags, 0, 0, 0);
}

ssize_t link_read(int directory, const char *name, char *room, size_t size)
{
    long got =
        kernel_call(SYS_readlinkat, directory, KERNEL_PTR(name), KERNEL_PTR(room), (long)size - 1, 0, 0);

    if (got < 0)
        return got;
    room[got] = '\0';
    return (size_t)got == size - 1 ? -ENAMETOOLONG : got;
}

ssize_t path_of(int fd, char *room, size_t size)
{
    return link_read(AT_FDCWD, FD_NAME(fd), room, size);
}

/* --- a walk ----------------------------------------------------------------------------------------------
 */

struct walk {
    pid_t pid;
    int root;                    /* of the thread */
    int at;                      /* where it stands: a directory, or the end */
    char rest[2 * OBSERVE_PATH]; /* what is still to be walked */
    bool follow;
    unsigned links;
    int errnum;
    bool above; /* what is missing is a directory on the way */
    bool lost;  /* the kernel goes on, and this walk does not */
};

static void stand(struct walk *walk, int fd)
{
    if (walk->at >= 0 && walk->at != walk->root)
        close(walk->at);
    walk->at = fd;
}

/* TEXT in front of what is left of the walk. */
static void put_before(struct walk *walk, const char *text, const char *rest)
{
    static char joined[2 * OBSERVE_PATH];
    size_t length = strlen(text), left = strlen(rest);

    if (++walk->links > LINKS_MOST)
        walk->errnum = ELOOP;
    else if (length + 1 + left >= sizeof(joined))
        walk->lost = true;
    if (walk->errnum || walk->lost)
        return;
    memcpy(joined, text, length + 1);
    if (left > 0) /* a slash at the end would ask for a directory */
        joined[length++] = '/';
    memcpy(joined + length, rest, left + 1);
    memcpy(walk->rest, joined, length + left + 1);
}

/* A link of /proc. What is in a process's directory leads to objects and has no text to be followed; `self`
 * is the thread's and not ours. Return: was it one? */
static bool follow_proc(struct walk *walk, const char *name, const char *rest)
{
    char top[OBSERVE_PATH], own[40];
    int fd;

    if (!object_is_proc(walk->at) || path_of(walk->at, top, sizeof(top)) < 0)
        return false;
    if (strcmp(top, "/proc") == 0 && strcmp(name, "self") != 0 && strcmp(name, "thread-self") != 0)
        return false;
    number_join(own, "/proc/", (unsigned)walk->pid, "");
    fd = strcmp(top, "/proc") == 0 ? open_only(AT_FDCWD, own, O_DIRECTORY) : open_only(walk->at, name, 0);
    if (fd < 0)
        walk->errnum = -fd;
    else if (++walk->links > LINKS_MOST)
        walk->errnum = ELOOP;
    if (fd >= 0)
        stand(walk, fd);
    memmove(walk->rest, rest, strlen(rest) + 1);
    return true;
}

/* NAME is a link that FD is open on. */
static void follow_link(struct walk *walk, int fd, const char *name, const char *rest)
{
    static char text[OBSERVE_PATH];
    ssize_t length;

    if (follow_proc(walk, name, rest))
        return;
    length = link_read(fd, "", text, sizeof(text));
    if (length <= 0) {
        walk->errnum = length < 0 ? (int)-length : ENOENT;
        return;
    }
    if (text[0] == '/')
        stand(walk, walk->root);
    put_before(walk, text, rest);
}

/* The next component of the way; what is missing at the end stays in `rest`. Return: is there more to do? */
static bool step(struct walk *walk)
{
    static char name[NAME_MAX + 1];
    const char *start = walk->rest + strspn(walk->rest, "/");
    size_t length = strcspn(start, "/");
    const char *rest = start + length;
    bool last = rest[strspn(rest, "/")] == '\0';
    struct stat st;
    int fd;

    if (length == 0) {
        walk->rest[0] = '\0';
        return false;
    }
    if (length > NAME_MAX) {
        walk->errnum = ENAMETOOLONG;
        return false;
    }
    memcpy(name, start, length);
    name[length] = '\0';
    if (strcmp(name, "..") == 0 && fd_same(walk->at, walk->root)) {
        memmove(walk->rest, rest, strlen(rest) + 1);
        return true;
    }
    fd = open_only(walk->at, name, O_NOFOLLOW);
    if (fd < 0) {
        walk->errnum = -fd;
        walk->above = !last;
        memmove(walk->rest, name, length + 1);
        return false;
    }
    if (fstat(fd, &st) != 0)
        st.st_mode = 0;
    if (S_ISLNK(st.st_mode) && (!last || walk->follow || *rest)) {
        follow_link(walk, fd, name, rest);
        close(fd);
        return walk->errnum == 0 && !walk->lost;
    }
    stand(walk, fd);
    if (*rest && !S_ISDIR(st.st_mode)) {
        walk->errnum = ENOTDIR;
        return false;
    }
    memmove(walk->rest, rest, strlen(rest) + 1);
    return true;
}

/* Fills @target with the end of the walk. */
static void arrive(struct target *target, struct walk *walk)
{
    size_t length;
    ssize_t got = path_of(walk->at, target->path, sizeof(target->path) - NAME_MAX - 2);

    if (got < 0 || walk->lost) {
        target->unreadable = true;
        return;
    }
    target->outside = target->path[0] != '/';
    if (walk->errnum == ENOENT && walk->rest[0]) { /* its directory is there */
        length = (size_t)got;
        if (walk->above) {
            target->errnum = ENOENT;
        } else {
            target->parent = walk->at == walk->root ? open_only(walk->at, ".", 0) : walk->at;
            walk->at = -1;
        }
        if (length > 1)
            target->path[length++] = '/';
        memcpy(target->path + length, walk->rest, strlen(walk->rest) + 1);
        return;
    }
    target->errnum = walk->errnum;
    if (walk->errnum)
        return;
    target->object = walk->at == walk->root ? open_only(walk->at, ".", 0) : walk->at;
    walk->at = -1;
    if (target->object < 0 || fstat(target->object, &target->st) != 0)
        target->unreadable = true;
    target->is_link = S_ISLNK(target->st.st_mode);
}

static void walk_to(struct target *target, pid_t pid, const char *base, const char *name, bool follow)
{
    static struct walk walk;
    char root[40];
    unsigned steps = 0;

    number_join(root, "/proc/", (unsigned)pid, "/root");
    walk.pid = pid;
    walk.follow = follow;
    walk.links = 0;
    walk.errnum = 0;
    walk.above = walk.lost = false;
    walk.at = -1;
    memcpy(walk.rest, name, strlen(name) + 1);
    walk.root = open_only(AT_FDCWD, root, O_DIRECTORY);
    if (walk.root >= 0)
        walk.at = name[0] == '/' ? walk.root : open_only(AT_FDCWD, base, 0);
    if (walk.root < 0 || walk.at < 0) {
        target->unreadable = true;
    } else {
        while (step(&walk))
            if (++steps > STEPS_MOST) {
                walk.lost = true;
                break;
            }
        arrive(target, &walk);
    }
    if (walk.at >= 0 && walk.at != walk.root)
        close(walk.at);
    if (walk.root >= 0)
        close(walk.root);
}

/* --- the short way ---------------------------------------------------------------------------------------
 */

/* The name without links, `.` and doubled slashes. Return: false where only a walk can tell. */
static bool expect(const char *front, const char *name, char *room, size_t size)
{
    size_t length = strcmp(front, "/") == 0 ? 0 : strlen(front);

    if (length >= size)
        return false;
    memcpy(room, front, length);
    while (*name) {
        size_t part;

        name += strspn(name, "/");
        part = strcspn(name, "/");
        if (part == 2 && name[0] == '.' && name[1] == '.')
            return false;
        if (part > 0 && !(part == 1 && name[0] == '.')) {
            if (part > NAME_MAX || length + 1 + part >= size)
                return false;
            room[length++] = '/';
            memcpy(room + length, name, part);
            length += part;
        }
        name += part;
    }
    if (length == 0)
        room[length++] = '/';
    room[length] = '\0';
    return true;
}

/* Opens LOCATION, and sees that it is what EXPECTED says. Return: a descriptor; -ESTALE where it is not; or
 * -errno. */
static int open_expected(const char *location, const char *expected, int flags)
{
    static char seen[OBSERVE_PATH];
    int fd = open_only(AT_FDCWD, location, flags);

    if (fd < 0)
        return fd;
    if (path_of(fd, seen, sizeof(seen)) < 0 || strcmp(seen, expected) != 0) {
        close(fd);
        return -ESTALE;
    }
    return fd;
}

/* Directories that were seen to have their names a moment ago. Whoever unpacks ten thousand files opens few.
 */
#define CACHED    8
#define CACHED_MS 20

static struct {
    char path[512];
    size_t length;
    int64_t until; /* ms */
} cached[CACHED];

static bool is_cached(const char *path, size_t length)
{
    static size_t last; /* the next name is mostly in the same one */

    for (size_t i = 0; i < CACHED; i++) {
        size_t at = (last + i) % CACHED;

        if (cached[at].length == length && memcmp(cached[at].path, path, length) == 0) {
            last = at;
            return clock_ms(CLOCK_MONOTONIC_COARSE) <= cached[at].until;
        }
    }
    return false;
}

static void cache(const char *path, size_t length)
{
    static size_t next;
    size_t at = next++ % CACHED;

    if (length == 0 || length > sizeof(cached[at].path))
        return;
    memcpy(cached[at].path, path, length);
    cached[at].length = length;
    cached[at].until = clock_ms(CLOCK_MONOTONIC_COARSE) + CACHED_MS;
}

/* Is the last component of NAME the one of the canonical PATH, and neither `.` nor a slash behind it? */
static bool ends_alike(const char *name, const char *path)
{
    const char *last = strrchr(path, '/'), *slash = strrchr(name, '/');

    return last && last != path && strcmp(slash ? slash + 1 : name, last + 1) == 0;
}

/* The same where the directory is one of those: its last component alone can be a link. Return: has it been
 * answered? */
static bool look_up_cached(struct target *target, const char *location, bool follow)
{
    const char *slash = strrchr(target->path, '/');
    int fd;

    if (!ends_alike(location, target->path) || !is_cached(target->path, (size_t)(slash - target->path)))
        return false;
    fd = open_only(AT_FDCWD, location, O_NOFOLLOW);
    if (fd < 0)
        return fd == -ENOENT;
    if (fstat(fd, &target->st) != 0 || (S_ISLNK(target->st.st_mode) && follow)) {
        close(fd);
        return false;
    }
    target->object = fd;
    target->is_link = S_ISLNK(target->st.st_mode);
    return true;
}

/* Without a link on the way. Return: has it been answered? */
static bool look_up(struct target *target, const char *location, bool follow)
{
    static char directory[2 * OBSERVE_PATH];
    char *slash = strrchr(target->path, '/');
    size_t length = strlen(location), cut;
    int fd = open_expected(location, target->path, follow ? 0 : O_NOFOLLOW);

    if (fd >= 0) {
        target->object = fd;
        if (fstat(fd, &target->st) != 0)
            target->unreadable = true;
        target->is_link = S_ISLNK(target->st.st_mode);
        if (slash)
            cache(target->path, (size_t)(slash - target->path));
        return !target->is_link || !follow;
    }
    if (fd != -ENOENT || slash == target->path)
        return false;
    while (length > 0 && location[length - 1] == '/')
        length--;
    for (cut = length; cut > 0 && location[cut - 1] != '/';)
        cut--;
    if (cut == 0 || strcmp(location + cut, slash + 1) != 0)
        return false;
    memcpy(directory, location, cut);
    directory[cut] = '\0';
    *slash = '\0';
    fd = open_expected(directory, target->path, O_DIRECTORY);
    *slash = '/';
    if (fd < 0)
        return false;
    target->parent = fd;
    cache(target->path, (size_t)(slash - target->path));
    fd = open_only(fd, slash + 1, O_NOFOLLOW); /* a link that leads nowhere is no free name */
    if (fd >= 0)
        close(fd);
    return fd == -ENOENT;
}

void target_close(struct target *target)
{
    if (target->object >= 0)
        close(target->object);
    if (target->parent >= 0)
        close(target->parent);
    target->object = target->parent = -1;
}

static void target_clear(struct target *target)
{
    target->parent = target->object = -1;
    target->errnum = 0;
    target->unreadable = target->is_link = target->outside = false;
    target->st.st_mode = 0;
    target->path[0] = '\0';
}

/* Where a name begins: what that is called in the command's view. Return: NULL, with the reason in @target.
 */
static const char *find_front(struct target *target, pid_t pid, int directory, const char *name)
{
    const char *front = "/";

    target_clear(target);
    if (!*name)
        target->errnum = ENOENT;
    else if (name[0] != '/' && directory != AT_FDCWD && directory < 0)
        target->errnum = EBADF;
    else if (name[0] != '/')
        front = base_read(pid, directory);
    target->unreadable = !front;
    return target->errnum ? NULL : front;
}

/* Fills @target with the name that is canonical if no link is on the way. */
static bool expect_name(struct target *target, const char *front, const char *name)
{
    return front[0] == '/' && expect(front, name, target->path, sizeof(target->path) - NAME_MAX - 2);
}

/* NAME, seen from here. @base: where it begins, BASE_NAME */
static const char *locate(pid_t pid, int directory, const char *name, char *base)
{
    static char location[2 * OBSERVE_PATH];
    size_t length;

    base_name(pid, directory, name, base);
    length = strlen(base);
    memcpy(location, base, length);
    location[length++] = '/';
    memcpy(location + length, name, strlen(name) + 1);
    return location;
}

/* Is nothing of this name there, or something that is no link? */
static bool is_no_link(const char *location)
{
    char text;
    long r =
        kernel_call(SYS_readlinkat, AT_FDCWD, KERNEL_PTR(location), KERNEL_PTR(&text), sizeof(text), 0, 0);

    return r == -EINVAL || r == -ENOENT;
}

bool target_guess(struct target *target, pid_t pid, int directory, const char *name, bool follow)
{
    const char *front = find_front(target, pid, directory, name), *slash;
    char base[BASE_NAME];

    if (!front || !expect_name(target, front, name))
        return false;
    slash = strrchr(target->path, '/');
    return ends_alike(name, target->path) && is_cached(target->path, (size_t)(slash - target->path)) &&
           (!follow || is_no_link(locate(pid, directory, name, base)));
}

void target_resolve(struct target *target, pid_t pid, int directory, const char *name, bool follow)
{
    const char *front = find_front(target, pid, directory, name), *location;
    char base[BASE_NAME];

    if (!front)
        return;
    location = locate(pid, directory, name, base);
    if (expect_name(target, front, name) &&
        (look_up_cached(target, location, follow) || look_up(target, location, follow)))
        return;
    target_close(target);
    target_clear(target);
    walk_to(target, pid, base, name, follow);
}

void target_descriptor(struct target *target, pid_t pid, int fd)
{
    char process[40], name[60];

    target_clear(target);
    if (fd < 0) {
        target->errnum = EBADF;
        return;
    }
    number_join(process, "/proc/", (unsigned)pid, "/fd/");
    number_join(name, process, (unsigned)fd, "");
    target->object = open_only(AT_FDCWD, name, 0);
    if (target->object < 0 || fstat(target->object, &target->st) != 0 ||
        path_of(target->object, target->path, sizeof(target->path)) < 0)
        target->unreadable = true;
    target->outside = target->path[0] != '/';
}
