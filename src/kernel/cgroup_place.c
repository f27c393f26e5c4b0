/*
 * cgroup_place.c - where a group of our own can be made: the trees, our own group in them, and what may be
 * written there.
 *
 * Should:  find by trying what the caller may do (open for writing), never by its user or by names.
 * Mustn't: take a directory for a group that is none: something else may be mounted there.
 */
#include "kernel/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#define FILE_MOST (1 << 20) /* a mountinfo of thousands of mounts */
#define TYPE_V1   0x27e0ebL
#define TYPE_V2   0x63677270L

/* A mounted tree, as far as it is of use. */
struct tree {
    char point[PATH_MAX]; /* where it is mounted */
    char root[PATH_MAX];  /* which of its groups is there */
};

const char *cgroup_controller(enum cgroup_use use)
{
    static const char *const names[CGROUP_USES] = {[CGROUP_PROCESSES] = "pids", [CGROUP_MEMORY] = "memory"};

    return names[use];
}

/* In version 1 the time is counted by a controller of its own. */
static const char *old_controller(unsigned wanted)
{
    for (int use = 0; use < CGROUP_USES; use++)
        if (wanted == CGROUP_BIT(use))
            return use == CGROUP_CPU ? "cpuacct" : cgroup_controller((enum cgroup_use)use);
    return NULL;
}

/* --- files --------------------------------------------------------------------------------------------- */

int cgroup_write(int directory, const char *file, const char *text)
{
    _cleanup_fd_ int fd = openat(directory, file, O_WRONLY | O_CLOEXEC);
    size_t length = strlen(text);
    ssize_t put;

    if (fd < 0)
        return -errno;
    do
        put = write(fd, text, length);
    while (put < 0 && errno == EINTR);
    if (put < 0)
        return -errno;
    return (size_t)put == length ? 0 : -EIO;
}

int cgroup_number(int directory, const char *file, const char *key, uint64_t *ret)
{
    char text[4096];
    const char *at = text;
    size_t length = key ? strlen(key) : 0;
    char *end;
    ssize_t r = file_read(directory, file, text, sizeof(text));

    if (r < 0)
        return (int)r;
    while (key && !(strncmp(at, key, length) == 0 && at[length] == ' ')) {
        at = strchr(at, '\n');
        if (!at)
            return -ENOENT;
        at++;
    }
    at += key ? length + 1 : 0;
    if (strncmp(at, "max", 3) == 0) {
        *ret = UINT64_MAX;
        return 0;
    }
    errno = 0;
    *ret = strtoull(at, &end, 10);
    return end == at || errno ? -EPROTO : 0;
}

bool cgroup_has_word(const char *text, const char *word, const char *separators)
{
    size_t length = strlen(word);

    while (*text) {
        size_t size = strcspn(text, separators);

        if (size == length && memcmp(text, word, length) == 0)
            return true;
        text += size;
        text += strspn(text, separators);
    }
    return false;
}

static int read_file(const char *path, char **ret)
{
    _cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t length;

    return fd < 0 ? -errno : fd_read_all(fd, FILE_MOST, ret, &length);
}

/* --- trees ---------------------------------------------------------------------------------------------- */

/* The words of a mountinfo line have blanks, tabs, newlines and backslashes as \ooo. */
static bool copy_word(const char *word, size_t length, char *to, size_t size)
{
    size_t at = 0;

    for (size_t i = 0; i < length; i++) {
        if (at + 1 >= size)
            return false;
        if (word[i] == '\\' && i + 3 < length) {
            to[at++] = (char)((word[i + 1] - '0') * 64 + (word[i + 2] - '0') * 8 + (word[i + 3] - '0'));
            i += 3;
        } else {
            to[at++] = word[i];
        }
    }
    to[at] = '\0';
    return true;
}

/* Word number @index of a line. */
static const char *find_word(const char *line, unsigned index, size_t *ret_length)
{
    while (index-- > 0) {
        line += strcspn(line, " \n");
        line += *line == ' ';
    }
    *ret_length = strcspn(line, " \n");
    return line;
}

/* Is this line of mountinfo the tree of version 2, or that of @controller? */
static bool is_tree(const char *line, const char *controller)
{
    size_t size = strcspn(line, "\n"), length;
    const char *tail = strstr(line, " - "), *options;
    char text[512];

    if (!tail || tail >= line + size)
        return false;
    tail += 3;
    if (!controller)
        return strncmp(tail, "cgroup2 ", 8) == 0;
    if (strncmp(tail, "cgroup ", 7) != 0)
        return false;
    options = find_word(tail, 2, &length);
    return copy_word(options, length, text, sizeof(text)) && cgroup_has_word(text, controller, ",");
}

/* The last one in the list lies on top of those before it. */
static bool find_tree(const char *mounts, const char *controller, struct tree *ret)
{
    bool found = false;

    for (const char *line = mounts; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t root_length, point_length;
        const char *root = find_word(line, 3, &root_length), *point = find_word(line, 4, &point_length);

        if (is_tree(line, controller))
            found = copy_word(root, root_length, ret->root, sizeof(ret->root)) &&
                    copy_word(point, point_length, ret->point, sizeof(ret->point));
    }
    return found;
}

/* Our own group in that tree, as /proc/self/cgroup has it: `4:memory:/a/b`, `0::/a/b`. */
static bool find_own(const char *groups, const char *controller, char *to, size_t size)
{
    for (const char *line = groups; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
        char text[256];

        if (!path || (size_t)(path - names) > sizeof(text) || path > line + strcspn(line, "\n"))
            continue;
        memcpy(text, names + 1, (size_t)(path - names) - 1);
        text[path - names - 1] = '\0';
        if (controller ? !cgroup_has_word(text, controller, ",") : (*line != '0' || *text))
            continue;
        path++;
        if (strcspn(path, "\n") >= size)
            return false;
        memcpy(to, path, strcspn(path, "\n"));
        to[strcspn(path, "\n")] = '\0';
        return true;
    }
    return false;
}

/* Makes of our group's name in the tree the one below its mount point. False: it is not mounted there. */
static bool strip_root(const struct tree *tree, char *own)
{
    size_t length = strcmp(tree->root, "/") == 0 ? 0 : strlen(tree->root);

    if (strncmp(own, tree->root, length) != 0 || (own[length] != '/' && own[length] != '\0') ||
        strncmp(own, "/..", 3) == 0)
        return false;
    memmove(own, own + length, strlen(own + length) + 1);
    if (strcmp(own, "/") == 0)
        *own = '\0';
    return true;
}

/* The group @name below the tree's mount point. Return: a descriptor, or -errno. */
static int open_group(const struct tree *tree, const char *name, int version)
{
    char path[2 * PATH_MAX];
    struct statfs seen;
    int fd;

    snprintf(path, sizeof(path), "%s%s", tree->point, name);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (fstatfs(fd, &seen) == 0 && (long)seen.f_type == (version == 2 ? TYPE_V2 : TYPE_V1))
        return fd;
    fd_close(fd);
    return -ENOENT;
}

/* --- places --------------------------------------------------------------------------------------------- */

static bool can_write(int directory, const char *file)
{
    _cleanup_fd_ int fd = openat(directory, file, O_WRONLY | O_CLOEXEC);

    return fd >= 0;
}

/* Which of the uses have their controller in @file of this group of version 2. */
static unsigned listed_uses(int directory, const char *file)
{
    unsigned uses = CGROUP_BIT(CGROUP_TREE) | CGROUP_BIT(CGROUP_CPU);
    char text[1024];

    if (file_read(directory, file, text, sizeof(text)) < 0)
        return uses;
    for (int use = 0; use < CGROUP_USES; use++)
        if (cgroup_controller((enum cgroup_use)use) &&
            cgroup_has_word(text, cgroup_controller((enum cgroup_use)use), " \n"))
            uses |= CGROUP_BIT(use);
    return uses;
}

static unsigned count_bits(unsigned bits)
{
    unsigned count = 0;

    for (; bits; bits &= bits - 1)
        count++;
    return count;
}

/* Are we the only process in this group, or is it the root, where controllers can be turned on all the same?
 */
static bool is_ours_alone(int directory)
{
    char text[4096], expected[16];

    if (faccessat(directory, "cgroup.type", F_OK, 0) != 0 && errno == ENOENT)
        return true;
    snprintf(expected, sizeof(expected), "%d\n", (int)getpid());
    return file_read(directory, "cgroup.procs", text, sizeof(text)) >= 0 && strcmp(text, expected) == 0;
}

/* Takes the place if more of @wanted can be had in it. */
static void take_better(int directory, unsigned uses, bool own, unsigned wanted, struct cgroup_place *best)
{
    uses &= wanted;
    if (best->version != 0 && count_bits(uses) <= count_bits(best->uses)) {
        fd_close(directory);
        return;
    }
    if (best->version != 0)
        fd_close(best->directory);
    *best = (struct cgroup_place){.version = 2, .directory = directory, .uses = uses, .own = own};
}

/* From our own group upwards: to make a group beside us, and to move a process into it, needs both to be
 * writable in the place itself. Our own, where a controller has to be turned on first, is the last choice. */
static int find_new(const struct tree *tree, char *own, unsigned wanted, struct cgroup_place *ret)
{
    _cleanup_fd_ int ours = -1;
    unsigned there = 0;
    bool first = true;

    for (char *slash = own; slash; first = false) {
        int directory = open_group(tree, own, 2);

        if (directory < 0)
            return directory == -ENOENT || directory == -EACCES ? 0 : directory;
        if (faccessat(directory, ".", W_OK, 0) == 0 && can_write(directory, "cgroup.procs")) {
            if (first && can_write(directory, "cgroup.subtree_control") && is_ours_alone(directory)) {
                there = listed_uses(directory, "cgroup.controllers");
                ours = fcntl(directory, F_DUPFD_CLOEXEC, 3);
            }
            take_better(directory, listed_uses(directory, "cgroup.subtree_control"), false, wanted, ret);
        } else {
            fd_close(directory);
        }
        slash = strrchr(own, '/');
        if (slash)
            *slash = '\0';
    }
    if (ours >= 0 && count_bits(there & wanted) > count_bits(ret->uses))
        take_better(steal_fd(&ours), there, true, wanted, ret);
    return 0;
}

static int find_old(const struct tree *tree, const char *own, unsigned wanted, struct cgroup_place *ret)
{
    int directory = open_group(tree, own, 1);

    if (directory < 0)
        return directory == -ENOENT || directory == -EACCES ? 0 : directory;
    if (faccessat(directory, ".", W_OK, 0) != 0) {
        fd_close(directory);
        return 0;
    }
    *ret = (struct cgroup_place){.version = 1, .directory = directory, .uses = wanted};
    return 0;
}

int cgroup_find(int version, unsigned wanted, struct cgroup_place *ret)
{
    static struct tree tree;
    static char own[PATH_MAX];
    _cleanup_free_ char *mounts = NULL, *groups = NULL;
    const char *controller = version == 1 ? old_controller(wanted) : NULL;
    int r;

    *ret = (struct cgroup_place){.directory = -1};
    if (version == 1 && !controller)
        return 0;
    r = read_file("/proc/self/mountinfo", &mounts);
    if (r == 0)
        r = read_file("/proc/self/cgroup", &groups);
    if (r == -ENOENT)
        return 0;
    if (r < 0)
        return r;
    if (!find_tree(mounts, controller, &tree) || !find_own(groups, controller, own, sizeof(own)) ||
        !strip_root(&tree, own))
        return 0;
    return version == 2 ? find_new(&tree, own, wanted, ret) : find_old(&tree, own, wanted, ret);
}
