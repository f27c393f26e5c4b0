/*
 * files.c - changing files outside every grant.
 */
#include "place.h"

#include "links/kernel_abi.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int answer_of(long result)
{
    return result < 0 ? errno : 0;
}

static int act_create(const struct order *order, struct answer *answer)
{
    (void)answer;
    return place_mark(open(order->path[2], O_WRONLY | O_CREAT | O_EXCL, 0644), order);
}

static int act_overwrite(const struct order *order, struct answer *answer)
{
    (void)answer;
    return place_mark(open(order->path[0], O_WRONLY | O_TRUNC), order);
}

static int act_append(const struct order *order, struct answer *answer)
{
    (void)answer;
    return place_mark(open(order->path[0], O_WRONLY | O_APPEND), order);
}

static int act_truncate_open(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(open(order->path[0], O_RDONLY | O_TRUNC));
}

static int act_truncate_neither(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(syscall(SYS_openat, AT_FDCWD, order->path[0], 3 | O_TRUNC, 0));
}

static int act_truncate(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(truncate(order->path[0], 0));
}

static int through_link(const struct order *order, int (*make)(const char *, const char *))
{
    char name[PLACE_SIZE];

    if (place_join(name, order->inner, "link") < 0 || make(order->path[0], name) != 0)
        return errno;
    return place_mark(open(name, O_WRONLY | O_TRUNC), order);
}

static int act_symlink(const struct order *order, struct answer *answer)
{
    (void)answer;
    return through_link(order, symlink);
}

/* By a directory of the workspace and back: whoever reads the name as text believes that it stays there. */
static int act_back(const struct order *order, struct answer *answer)
{
    const char *victim = strrchr(order->path[0], '/'), *directory = strrchr(order->path[1], '/');
    char link[PLACE_SIZE], name[3 * PLACE_SIZE];

    (void)answer;
    if (place_join(link, order->inner, "link") < 0 || symlink(order->path[1], link) != 0)
        return errno;
    snprintf(name, sizeof(name), "%s/..%s%s", link, directory, victim);
    return place_mark(open(name, O_WRONLY | O_TRUNC), order);
}

static int act_hard_link(const struct order *order, struct answer *answer)
{
    (void)answer;
    return through_link(order, link);
}

/* A hard link that was there before. */
static int prepare_alias(struct trial *trial)
{
    char name[PLACE_SIZE];
    int result = place_victim(trial);

    if (result == 0)
        result = place_join(name, trial->order.inner, "alias");
    if (result < 0)
        return result;
    if (link(trial->order.path[0], name) == 0)
        return 0;
    return errno == EXDEV ? place_skip(trial, "the workspace is on another file system") : -errno;
}

static int act_alias(const struct order *order, struct answer *answer)
{
    char name[PLACE_SIZE];

    (void)answer;
    if (place_join(name, order->inner, "alias") < 0)
        return ENAMETOOLONG;
    return place_mark(open(name, O_WRONLY | O_TRUNC), order);
}

/* FROM is made in the workspace and moved by @flags to TO. */
static int move_out(const struct order *order, const char *to, unsigned flags)
{
    char from[PLACE_SIZE];

    if (place_file(from, order->inner, "moved", order->mark, 0644) < 0)
        return errno;
    return answer_of(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags));
}

static int act_move_out(const struct order *order, struct answer *answer)
{
    (void)answer;
    return move_out(order, order->path[2], 0);
}

static int act_move_over(const struct order *order, struct answer *answer)
{
    (void)answer;
    return move_out(order, order->path[0], 0);
}

static int act_exchange(const struct order *order, struct answer *answer)
{
    (void)answer;
    return move_out(order, order->path[0], 2 /* exchange */);
}

static int act_move_in(const struct order *order, struct answer *answer)
{
    char to[PLACE_SIZE];

    (void)answer;
    if (place_join(to, order->inner, "taken") < 0)
        return ENAMETOOLONG;
    return answer_of(rename(order->path[0], to));
}

static int act_rename(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(rename(order->path[0], order->path[2]));
}

static int act_link_out(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(link(order->path[0], order->path[2]));
}

static int act_unlink(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(unlink(order->path[0]));
}

static int prepare_directory(struct trial *trial)
{
    int result = place_join(trial->order.path[0], trial->dir, "directory");

    return result < 0 ? result : mkdir(trial->order.path[0], 0755) == 0 ? 0 : -errno;
}

static int act_rmdir(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(rmdir(order->path[0]));
}

static int act_mkdir(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(mkdir(order->path[2], 0755));
}

static int act_mkfifo(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(mkfifo(order->path[2], 0644));
}

static int act_make_symlink(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(symlink("/nowhere", order->path[2]));
}

static int act_make_node(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(mknod(order->path[2], S_IFREG | 0644, 0));
}

static int act_make_socket(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(mknod(order->path[2], S_IFSOCK | 0644, 0));
}

/* The only device that anybody may make: it stands for nothing. */
static int act_make_whiteout(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(mknod(order->path[2], S_IFCHR | 0644, 0));
}

static int act_unnamed(const struct order *order, struct answer *answer)
{
    char name[40];
    int fd = open(order->path[1], O_WRONLY | O_TMPFILE, 0644);

    (void)answer;
    if (fd < 0)
        return errno;
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    return answer_of(linkat(AT_FDCWD, name, AT_FDCWD, order->path[2], AT_SYMLINK_FOLLOW));
}

/* An unnamed file of the workspace gets its name outside. */
static int act_unnamed_out(const struct order *order, struct answer *answer)
{
    char name[40];
    int fd = open(order->inner, O_WRONLY | O_TMPFILE, 0644);

    (void)answer;
    if (fd < 0)
        return errno;
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    return answer_of(linkat(AT_FDCWD, name, AT_FDCWD, order->path[2], AT_SYMLINK_FOLLOW));
}

static int write_behind(const struct order *order, const char *prefix)
{
    char name[2 * PLACE_SIZE];

    snprintf(name, sizeof(name), "%s%s", prefix, order->path[0]);
    return place_mark(open(name, O_WRONLY | O_TRUNC), order);
}

static int act_own_root(const struct order *order, struct answer *answer)
{
    (void)answer;
    return write_behind(order, "/proc/self/root");
}

static int act_thread_root(const struct order *order, struct answer *answer)
{
    (void)answer;
    return write_behind(order, "/proc/thread-self/root");
}

static int act_init_root(const struct order *order, struct answer *answer)
{
    (void)answer;
    return write_behind(order, "/proc/1/root");
}

static int act_parent_root(const struct order *order, struct answer *answer)
{
    char prefix[40];

    (void)answer;
    snprintf(prefix, sizeof(prefix), "/proc/%d/root", getppid());
    return write_behind(order, prefix);
}

static int prepare_victim_and_process(struct trial *trial)
{
    int result = place_victim(trial);

    return result < 0 ? result : place_process(trial);
}

static int act_foreign_root(const struct order *order, struct answer *answer)
{
    char prefix[40];

    (void)answer;
    snprintf(prefix, sizeof(prefix), "/proc/%ld/root", order->number[0]);
    return write_behind(order, prefix);
}

static int act_foreign_cwd(const struct order *order, struct answer *answer)
{
    char prefix[800] = "";
    size_t used;

    (void)answer;
    used = (size_t)snprintf(prefix, sizeof(prefix), "/proc/%ld/cwd", order->number[0]);
    for (int i = 0; i < 40; i++, used += 3) /* up to the root, from wherever that is */
        memcpy(prefix + used, "/..", 4);
    return write_behind(order, prefix);
}

static int act_dots(const struct order *order, struct answer *answer)
{
    char prefix[200] = ".";

    (void)answer;
    if (chdir(order->inner) != 0)
        return errno;
    for (size_t i = 0; i < 40; i++)
        memcpy(prefix + 1 + 3 * i, "/..", 4);
    return write_behind(order, prefix);
}

static int act_reopen(const struct order *order, struct answer *answer)
{
    char name[40];
    int fd = open(order->path[0], O_PATH);

    (void)answer;
    if (fd < 0)
        return errno;
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    return place_mark(open(name, O_WRONLY | O_TRUNC), order);
}

static int act_openat2(const struct order *order, struct answer *answer)
{
    struct {
        uint64_t flags, mode, resolve;
    } how = {O_WRONLY | O_TRUNC, 0, 0};

    (void)answer;
    return place_mark((int)syscall(SYS_openat2, AT_FDCWD, order->path[0], &how, sizeof(how)), order);
}

static int act_by_handle(const struct order *order, struct answer *answer)
{
    struct {
        unsigned bytes;
        int type;
        char handle[128];
    } handle = {.bytes = 128};
    int mount = 0, around = open(order->path[1], O_RDONLY | O_DIRECTORY);

    (void)answer;
    if (syscall(SYS_name_to_handle_at, AT_FDCWD, order->path[0], &handle, &mount, 0) != 0)
        return errno;
    return place_mark((int)syscall(SYS_open_by_handle_at, around, &handle, O_WRONLY | O_TRUNC), order);
}

/* A ring whose kernel side opens the file: no filter of system calls sees that. */
static int act_ring(const struct order *order, struct answer *answer)
{
    uint32_t parameters[30] = {0}; /* sq_off at 10, cq_off at 20 */
    int ring = (int)syscall(425, 4, parameters);
    unsigned char *queue, *entries;
    int32_t result;

    (void)answer;
    if (ring < 0)
        return errno;
    queue = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, 0);
    entries = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, 0x10000000);
    if (queue == MAP_FAILED || entries == MAP_FAILED)
        return errno;
    memset(entries, 0, 64);
    entries[0] = 18 /* openat */;
    *(int32_t *)(void *)(entries + 4) = AT_FDCWD;
    *(uint64_t *)(void *)(entries + 16) = (uintptr_t)order->path[0];
    *(uint32_t *)(void *)(entries + 28) = O_WRONLY | O_TRUNC;
    *(uint32_t *)(void *)(queue + parameters[16]) = 0; /* the array: entry 0 */
    __atomic_store_n((uint32_t *)(void *)(queue + parameters[11]), 1, __ATOMIC_RELEASE);
    if (syscall(426, ring, 1, 1, 1 /* wait */, NULL, 0) < 0)
        return errno;
    result = *(int32_t *)(void *)(queue + parameters[25] + 8); /* cqes: user data, then the result */
    return result < 0 ? -result : place_mark(result, order);
}

static int act_rename_workspace(const struct order *order, struct answer *answer)
{
    (void)answer;
    return answer_of(rename(order->path[0], order->path[2]));
}

static int prepare_workspace(struct trial *trial)
{
    const struct battery *battery = trial->battery;
    int result = place_join(trial->order.path[0], trial->order.inner, "..");

    (void)battery;
    if (result == 0)
        result = place_join(trial->order.path[2], trial->dir, "workspace");
    /* Its real name, without the way back. */
    if (result == 0)
        *strrchr(trial->order.path[0], '/') = '\0';
    if (result == 0)
        *strrchr(trial->order.path[0], '/') = '\0';
    return result;
}

/* It is moved back whatever happened, before anything else uses it. */
static int look_workspace(struct trial *trial)
{
    int made = look_made(trial);

    if (made == 1 && rename(trial->order.path[2], trial->order.path[0]) != 0)
        return -errno;
    return made;
}

#define WRITES "it is what a sandbox is for: nothing outside the grants may change"
#define PLAIN(id, call, what, act, look)                                                                     \
    {                                                                                                        \
        id, SURFACE_FS_WRITE, 0, call, what, WRITES, place_victim, act, look, NULL                           \
    }
#define INSIDE(id, call, what, act, look)                                                                    \
    {                                                                                                        \
        id, SURFACE_FS_WRITE, IN_WORKSPACE, call, what, WRITES, place_victim, act, look, NULL                \
    }

const struct attempt files_attempts[] = {
    PLAIN("FS-01", "open(outside/made, O_WRONLY|O_CREAT|O_EXCL)", "create a file outside", act_create,
          look_made),
    PLAIN("FS-02", "open(outside/victim, O_WRONLY|O_TRUNC)", "overwrite a file outside", act_overwrite,
          look_changed),
    {"FS-03", SURFACE_FS_TRUNCATE, 0, "open(outside/victim, O_RDONLY|O_TRUNC)",
     "cut a file short by opening it for reading", "Landlock below ABI 3 does not see it", place_victim,
     act_truncate_open, look_changed, NULL},
    INSIDE("FS-05", "symlink(outside/victim, link); open(link, O_WRONLY)",
           "write through a symbolic link in the workspace", act_symlink, look_changed),
    INSIDE("FS-51", "symlink(outside, link); open(link/../outside/victim, O_WRONLY)",
           "write by a name that leaves the workspace and seems to come back", act_back, look_changed),
    INSIDE("FS-06", "link(outside/victim, link); open(link, O_WRONLY)",
           "give a file outside a name in the workspace, and write it", act_hard_link, look_changed),
    {"FS-07", SURFACE_FS_ALIAS, IN_WORKSPACE | BEFORE_START, "open(alias, O_WRONLY|O_TRUNC)",
     "write a file of the workspace that has another name outside",
     "package managers link a store of the whole user into each project", prepare_alias, act_alias,
     look_changed, NULL},
    INSIDE("FS-08", "rename(inner, outside/made)", "move a file of the workspace out", act_move_out,
           look_made),
    INSIDE("FS-09", "rename(outside/victim, inner)", "move a file from outside into the workspace",
           act_move_in, look_gone),
    PLAIN("FS-12", "unlink(outside/victim)", "remove a file outside", act_unlink, look_gone),
    PLAIN("FS-13", "open(/proc/self/root/outside/victim, O_WRONLY)", "write by way of /proc/self/root",
          act_own_root, look_changed),
    {"FS-14", SURFACE_FS_WRITE, 0, "open(/proc/VICTIM/root/outside/victim, O_WRONLY)",
     "write by way of the root of a process outside", WRITES, prepare_victim_and_process, act_foreign_root,
     look_changed, NULL},
    {"FS-15", SURFACE_FS_WRITE, 0, "open(/proc/VICTIM/cwd/../outside/victim, O_WRONLY)",
     "write by way of the directory of a process outside", WRITES, prepare_victim_and_process,
     act_foreign_cwd, look_changed, NULL},
    PLAIN("FS-24", "name_to_handle_at(); open_by_handle_at(O_WRONLY)", "open a file outside by its handle",
          act_by_handle, look_changed),
    INSIDE("FS-45", "chdir(inner); open(../../outside/victim, O_WRONLY)",
           "climb out of the workspace by dots", act_dots, look_changed),
    {"FS-46", SURFACE_FS_WRITE, IN_WORKSPACE | OWN_WORKSPACE, "rename(workspace, outside/workspace)",
     "move the workspace itself", "a rule for a path does not follow when the path is moved",
     prepare_workspace, act_rename_workspace, look_workspace, NULL},
    PLAIN("FS-59", "io_uring: IORING_OP_OPENAT(outside/victim, O_WRONLY)",
          "let a ring of the kernel open a file outside", act_ring, look_changed),
    {"FS-62", SURFACE_FS_TRUNCATE, 0, "truncate(outside/victim, 0)", "cut a file short by name",
     "Landlock below ABI 3 does not see it", place_victim, act_truncate, look_changed, NULL},
    {"FS-63", SURFACE_FS_TRUNCATE, 0, "openat(outside/victim, O_ACCMODE|O_TRUNC)",
     "cut a file short by opening it for neither", "such an open needs no right of Landlock's", place_victim,
     act_truncate_neither, look_changed, NULL},
    PLAIN("FS-64", "mkdir(outside/made)", "create a directory outside", act_mkdir, look_made),
    PLAIN("FS-65", "mkfifo(outside/made)", "create a FIFO outside", act_mkfifo, look_made),
    PLAIN("FS-66", "symlink(/nowhere, outside/made)", "create a symbolic link outside", act_make_symlink,
          look_made),
    PLAIN("FS-67", "mknod(outside/made, S_IFREG)", "create a file outside by mknod", act_make_node,
          look_made),
    {"FS-68", SURFACE_FS_WRITE, 0, "rmdir(outside/directory)", "remove a directory outside", WRITES,
     prepare_directory, act_rmdir, look_gone, NULL},
    PLAIN("FS-69", "rename(outside/victim, outside/made)", "rename a file outside", act_rename, look_made),
    PLAIN("FS-70", "link(outside/victim, outside/made)", "give a file outside another name there",
          act_link_out, look_made),
    PLAIN("FS-71", "open(outside, O_TMPFILE); linkat(outside/made)",
          "create an unnamed file outside, and name it", act_unnamed, look_made),
    INSIDE("FS-72", "open(inner, O_TMPFILE); linkat(outside/made)",
           "name an unnamed file of the workspace outside", act_unnamed_out, look_made),
    INSIDE("FS-73", "renameat2(inner, outside/victim, RENAME_EXCHANGE)", "exchange a file with one outside",
           act_exchange, look_changed),
    INSIDE("FS-74", "rename(inner, outside/victim)", "replace a file outside", act_move_over, look_changed),
    PLAIN("FS-75", "open(outside/victim, O_WRONLY|O_APPEND)", "append to a file outside", act_append,
          look_changed),
    PLAIN("FS-76", "open(O_PATH); open(/proc/self/fd/N, O_WRONLY)",
          "open a file as a mere path, and that for writing", act_reopen, look_changed),
    PLAIN("FS-77", "openat2(outside/victim, O_WRONLY|O_TRUNC)",
          "open by the newer call, which a filter cannot look into", act_openat2, look_changed),
    PLAIN("FS-78", "open(/proc/thread-self/root/outside/victim, O_WRONLY)",
          "write by way of the thread's own root", act_thread_root, look_changed),
    PLAIN("FS-79", "open(/proc/1/root/outside/victim, O_WRONLY)", "write by way of process 1", act_init_root,
          look_changed),
    PLAIN("FS-80", "open(/proc/PPID/root/outside/victim, O_WRONLY)",
          "write by way of the process that started it", act_parent_root, look_changed),
    PLAIN("FS-120", "mknod(outside/made, S_IFSOCK)", "create a socket outside", act_make_socket, look_made),
    PLAIN("FS-121", "mknod(outside/made, S_IFCHR, 0)", "create the mark of a removed file outside",
          act_make_whiteout, look_made),
    {0},
};
