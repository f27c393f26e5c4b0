/* test-wall.c - what confine-sweep cannot do any more once its wall stands, and what it still can. */
#include "harness.h"

#include "sweep/wall.h"

#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

enum mode { LOOKS = 1, CHANGES = 2 };

static int tree = -1, outside = -1;
static pid_t parent;
static char outside_file[PATH_MAX + 16];

static void make_file(int at, const char *name, mode_t mode)
{
    int fd = openat(at, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    need(fd >= 0 && write(fd, "x", 1) == 1 && fchmod(fd, mode) == 0 && close(fd) == 0);
}

static void make_trees(void)
{
    int top = open(test_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    need(top >= 0 && mkdirat(top, "tree", 0755) == 0 && mkdirat(top, "outside", 0755) == 0);
    tree = openat(top, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    outside = openat(top, "outside", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    need(tree > 2 && outside > 2 && close(top) == 0);
    make_file(tree, "file", 0644);
    make_file(tree, "closed", 0);
    make_file(outside, "file", 0644);
    snprintf(outside_file, sizeof(outside_file), "%s/outside/file", test_dir);
}

/* Acts: 0, or the errno. */

static int result(long answer)
{
    return answer < 0 ? errno : 0;
}

static int read_in_tree(void)
{
    return result(openat(tree, "file", O_RDONLY | O_CLOEXEC));
}

static int write_in_tree(void)
{
    return result(openat(tree, "file", O_WRONLY | O_CLOEXEC));
}

static int make_in_tree(void)
{
    return result(openat(tree, "new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
}

static int remove_in_tree(void)
{
    return result(unlinkat(tree, "file", 0));
}

static int read_outside(void)
{
    return result(openat(AT_FDCWD, outside_file, O_RDONLY | O_CLOEXEC));
}

static int write_outside(void)
{
    return result(openat(AT_FDCWD, outside_file, O_WRONLY | O_CLOEXEC));
}

static int remove_outside(void)
{
    return result(unlinkat(AT_FDCWD, outside_file, 0));
}

static int use_descriptor(void)
{
    return result(fcntl(outside, F_GETFD));
}

static int make_socket(void)
{
    return result(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int signal_parent(void)
{
    return result(syscall(SYS_kill, parent, 0));
}

static int signal_by_descriptor(void)
{
    return result(fcntl(tree, F_SETOWN, getpid()));
}

static int choose_signal(void)
{
    return result(fcntl(tree, F_SETSIG, SIGKILL));
}

static int be_notified(void)
{
    return result(fcntl(tree, F_NOTIFY, DN_CREATE));
}

static int copy_descriptor(void)
{
    int fd = fcntl(tree, F_DUPFD_CLOEXEC, 3);

    return result(fd < 0 ? fd : fcntl(fd, F_GETFL));
}

static int wait_a_little(void)
{
    return result(poll(NULL, 0, 0));
}

static int ask_file_system(void)
{
    struct statfs status;

    return result(fstatfs(tree, &status));
}

static int set_group(void)
{
    return result(fchmod(tree, 02755));
}

static int make_with_group(void)
{
    return result(mkdirat(tree, "new", 02755));
}

static int make_with_user(void)
{
    return result(openat(tree, "set", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 04700));
}

static int change_mode(void)
{
    return result(fchmod(tree, 0700));
}

static int make_process(void)
{
    return result(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
}

static int execute(void)
{
    char *nothing[] = {NULL};

    return result(execve("/proc/self/exe", nothing, nothing));
}

static int trace(void)
{
    return result(syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0));
}

static int change_user(void)
{
    return result(syscall(SYS_setuid, getuid()));
}

static int ask_keys(void)
{
    return result(syscall(SYS_keyctl, 0, -3, 0));
}

static int read_closed(void)
{
    return result(openat(tree, "closed", O_RDONLY | O_CLOEXEC));
}

static const struct row {
    const char *name;
    int modes;
    int (*act)(void);
    int refused;  /* errno behind the wall; 0: it goes through */
    bool outside; /* goes through without a wall */
} rows[] = {
    {"a file of the tree is read", LOOKS | CHANGES, read_in_tree, 0, true},
    {"a look changes nothing", LOOKS, write_in_tree, EPERM, true},
    {"a look makes nothing", LOOKS, make_in_tree, EPERM, true},
    {"a look removes nothing", LOOKS, remove_in_tree, EPERM, true},
    {"a removal changes the tree", CHANGES, write_in_tree, 0, true},
    {"a removal removes", CHANGES, remove_in_tree, 0, false},
    {"nothing outside is read", LOOKS | CHANGES, read_outside, EACCES, true},
    {"nothing outside is written", CHANGES, write_outside, EACCES, true},
    {"nothing outside is removed", CHANGES, remove_outside, EACCES, true},
    {"no descriptor is left", LOOKS | CHANGES, use_descriptor, EBADF, true},
    {"no socket", LOOKS | CHANGES, make_socket, EPERM, true},
    {"no signal", LOOKS | CHANGES, signal_parent, EPERM, true},
    {"no signal by a descriptor", LOOKS | CHANGES, signal_by_descriptor, EPERM, true},
    {"no choice of a signal", LOOKS | CHANGES, choose_signal, EPERM, true},
    {"no signal when a tree changes", LOOKS | CHANGES, be_notified, EPERM, true},
    {"a descriptor is copied", LOOKS | CHANGES, copy_descriptor, 0, true},
    {"a look waits", LOOKS, wait_a_little, 0, true},
    {"a removal does not", CHANGES, wait_a_little, EPERM, true},
    {"a look asks what a tree is on", LOOKS, ask_file_system, 0, true},
    {"a removal does not ask", CHANGES, ask_file_system, EPERM, true},
    {"no set-group-ID bit", CHANGES, set_group, EPERM, true},
    {"no set-group-ID directory", CHANGES, make_with_group, EPERM, true},
    {"no set-user-ID file", CHANGES, make_with_user, EPERM, true},
    {"a mode of the tree", CHANGES, change_mode, 0, true},
    {"no process", LOOKS | CHANGES, make_process, EPERM, false},
    {"no program", LOOKS | CHANGES, execute, EPERM, false},
    {"no tracing", LOOKS | CHANGES, trace, EPERM, true},
    {"no change of user", LOOKS | CHANGES, change_user, EPERM, true},
    {"no keys", LOOKS | CHANGES, ask_keys, EPERM, false},
    {"no right over modes", LOOKS | CHANGES, read_closed, EACCES, false},
};

/* Return: the status of a child that builds the wall, unless there is to be none, and acts. 200: there is no
 * wall. */
static int act_behind(const struct wall *wall, int (*act)(void))
{
    int status;
    pid_t pid;

    parent = getpid();
    pid = fork();
    if (pid == 0) /* by number: a sanitizer's _exit() makes calls that it does not get here */
        syscall(SYS_exit_group, wall && wall_build(wall) ? 200 : act());
    need(pid > 0 && waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 300 + WTERMSIG(status);
}

TEST_EACH(a_wall_stands, struct row, rows)
{
    for (int mode = LOOKS; mode <= CHANGES; mode++) {
        struct wall wall = {.looks = mode == LOOKS, .changes = mode == CHANGES};

        if (!(row->modes & mode))
            continue;
        if (tree < 0)
            make_trees();
        need(wall_keep(&wall, tree, true));
        check_int(act_behind(&wall, row->act), row->refused);
    }
    if (row->outside)
        check_int(act_behind(NULL, row->act), 0);
}

TEST(another_user_has_the_rights_of_that_one)
{
    struct wall wall = {.user = true, .uid = 65534, .gid = 65534};

    make_trees();
    need(wall_keep(&wall, tree, true));
    check_int(act_behind(&wall, read_in_tree), getuid() == 0 ? 0 : 200);
    if (getuid() != 0)
        return;
    need(fchmodat(tree, "file", 0600, 0) == 0);
    check_int(act_behind(&wall, read_in_tree), EACCES);
}

TEST(a_tree_that_is_not_open_is_no_tree)
{
    struct wall wall = {.changes = false};

    need(wall_keep(&wall, 777, true));
    check_int(act_behind(&wall, read_in_tree), 200);
}

TEST(what_is_kept_is_kept_in_order_and_once)
{
    struct wall wall = {.changes = false};

    check(wall_keep(&wall, 9, true) && wall_keep(&wall, 5, false) && wall_keep(&wall, 9, false));
    check_int((int)wall.kept_count, 2);
    check_int(wall.kept[0], 5);
    check_int(wall.kept[1], 9);
    check_int((int)wall.tree_count, 1);
    check(!wall_keep(&wall, 2, true));
    for (int fd = 10; fd < 10 + WALL_KEPT - 2; fd++)
        check(wall_keep(&wall, fd, false));
    check(!wall_keep(&wall, 2000, false));
}
