/*
 * test-survey.c - a look behind a survey finds what a look without one finds, whatever is done meanwhile.
 *
 * Each act is done at steps of the survey, one tree for each: they are made first, since only a directory
 * that has been left alone for some seconds is spared a second listing.
 */
#include "survey-world.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define EXCHANGE   2 /* renameat2() */
#define TWIN_TRIES 1000

static void move(const char *from, const char *to)
{
    need(renameat(tree, from, tree, to) == 0);
}

static struct timespec changed(const char *name)
{
    struct stat status;

    need(fstatat(tree, name, &status, AT_SYMLINK_NOFOLLOW) == 0);
    return status.st_ctim;
}

/* Two directories with the same time of their last change. What has been asked for its time gets a finer one
 * next, so that they are made anew when they differ. */
static void make_twins(void)
{
    for (int i = 0; i < TWIN_TRIES; i++) {
        struct timespec one, other;

        make_directory("a/sub/leaf");
        make_directory("b/sub/leaf");
        put("a/sub/leaf/file", "");
        put("b/sub/leaf/.envrc", "");
        one = changed("a/sub/leaf");
        other = changed("b/sub/leaf");
        if (one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec)
            return;
        need(unlinkat(tree, "a/sub/leaf/file", 0) == 0 && unlinkat(tree, "b/sub/leaf/.envrc", 0) == 0 &&
             unlinkat(tree, "a/sub/leaf", AT_REMOVEDIR) == 0 &&
             unlinkat(tree, "b/sub/leaf", AT_REMOVEDIR) == 0);
    }
    need(!"twins");
}

static int make_tree(int top, const char *name)
{
    static const char *const directories[] = {
        "a",     "a/sub", "b",         "b/sub",           "near", "near/objects", "tasks",
        "named", "repo",  "repo/.git", "repo/.git/hooks", "cfg",  "cfg/systemd",  "cfg/systemd/user"};
    static const char *const files[] = {"a/1",
                                        "a/2",
                                        "a/3",
                                        "a/sub/1",
                                        "a/sub/2",
                                        "a/sub/3",
                                        "near/HEAD",
                                        "named/.envrc",
                                        "tasks/tasks.json",
                                        "repo/.git/HEAD",
                                        "repo/.git/config",
                                        "file",
                                        "cfg/systemd/user/x.service"};

    need(mkdirat(top, name, 0755) == 0);
    tree = openat(top, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    need(tree >= 0);
    for (size_t i = 0; i < ARRAY_SIZE(directories); i++)
        make_directory(directories[i]);
    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        put(files[i], "");
    make_twins();
    return tree;
}

/* --- the steps of a survey --------------------------------------------------------------------------------
 */

static void (*act_at_step)(void);
static int step,
    step_of_act; /* each directory has two, before and behind its names, and more if it is long */

/* The linker's --wrap: the survey asks before each piece of a listing. */
int __real_poll(struct pollfd *list, nfds_t count, int ms);
int __wrap_poll(struct pollfd *list, nfds_t count, int ms);

int __wrap_poll(struct pollfd *list, nfds_t count, int ms)
{
    if (act_at_step && step++ == step_of_act)
        act_at_step();
    return __real_poll(list, count, ms);
}

/* --- acts -------------------------------------------------------------------------------------------------
 */

static void nothing(void) {}

static void say_go(void)
{
    need(write(go[1], "l", 1) == 1);
}

static void add(void)
{
    put("a/sub/.envrc", "x");
}

static void rename_in(void)
{
    put("new", "x");
    move("new", "a/sub/leaf/.envrc");
}

static void link_in(void)
{
    need(linkat(tree, "file", tree, "a/sub/.mcp.json", 0) == 0);
}

static void point_in(void)
{
    need(symlinkat("file", tree, "b/sub/.envrc") == 0);
}

static void replace(void)
{
    move("a", "gone");
    make_directory("a");
    make_directory("a/sub");
    make_directory("a/sub/leaf");
    put("a/1", "");
    put("a/sub/1", "");
    put("a/sub/leaf/file", "");
    put("a/sub/leaf/.envrc", "x");
}

static void rename_and_back(void)
{
    move("a", "away");
    put("away/sub/.envrc", "x");
    move("away", "a");
}

static void move_below(void)
{
    move("a/sub", "b/sub/below");
    put("b/sub/below/leaf/.envrc", "x");
    move("b/sub/below", "a/sub");
}

static void name_directory(void)
{
    put("tasks/tasks.json", "x");
    move("tasks", "a/sub/.vscode");
}

static void name_above(void)
{
    put("cfg/systemd/user/x.service", "x");
    move("cfg", ".config");
}

static void exchange(void)
{
    put("b/sub/.mcp.json", "x");
    need(syscall(SYS_renameat2, tree, "a/sub", tree, "b/sub", EXCHANGE) == 0);
}

/* What is in it was there before, under a name at which it did not matter to the survey. */
static void exchange_twins(void)
{
    put("b/sub/leaf/.envrc", "x");
    need(syscall(SYS_renameat2, tree, "a/sub", tree, "b/sub", EXCHANGE) == 0);
}

static void remove_and_make(void)
{
    need(unlinkat(tree, "a/sub/leaf/file", 0) == 0 && unlinkat(tree, "a/sub/leaf", AT_REMOVEDIR) == 0);
    make_directory("a/sub/leaf");
    put("a/sub/leaf/.envrc", "x");
}

static void change_in_place(void)
{
    put("named/.envrc", "x");
}

static void complete_repository(void)
{
    make_directory("near/refs");
    put("near/config", "[core]\n\tpager = ./x\n");
}

static void make_repository(void)
{
    make_directory("a/sub/leaf/.git");
    put("a/sub/leaf/.git/config", "[core]\n\tpager = ./x\n");
}

static void make_bare(void)
{
    make_directory("b/objects");
    make_directory("b/refs");
    put("b/HEAD", "");
    put("b/config", "[core]\n\tpager = ./x\n");
}

static void name_repository(void)
{
    put("a/sub/leaf/.git", "gitdir: /usr/share\n");
}

static void change_settings(void)
{
    put("repo/.git/config", "[core]\n\tpager = ./x\n");
}

static void add_hook(void)
{
    put("repo/.git/hooks/pre-commit", "x");
}

static void shut(void)
{
    put("a/sub/leaf/.envrc", "x");
    need(fchmodat(tree, "a/sub", 0, 0) == 0);
}

static void open_again(int fd)
{
    need(fchmodat(fd, "a/sub", 0755, 0) == 0);
}

static const struct row {
    const char *name;
    void (*act)(void);
    int findings; /* -1: not asked */
} rows[] = {
    {"nothing", nothing, 0},
    {"the command ends", say_go, 0},
    {"a file is added", add, 1},
    {"a file is moved in", rename_in, 1},
    {"a hard link", link_in, 1},
    {"a symbolic link", point_in, 1},
    {"a directory is replaced by one with the same names", replace, 1},
    {"a directory is moved away and back", rename_and_back, 1},
    {"a directory is moved below another and back", move_below, 1},
    {"a directory gets a name that counts", name_directory, 1},
    {"one above a directory gets a name that counts", name_above, 1},
    {"two directories are exchanged", exchange, 1},
    {"two directories with the same times are exchanged", exchange_twins, 1},
    {"a directory is removed and made again", remove_and_make, 1},
    {"a file that was there is changed", change_in_place, 1},
    {"a repository is made of what there is", complete_repository, 1},
    {"a repository is made", make_repository, 1},
    {"a bare repository is made", make_bare, 1},
    {"a file .git", name_repository, 1},
    {"settings of a repository", change_settings, 1},
    {"a hook", add_hook, 1},
    {"a directory is shut", shut, -1},
};

/* Walks with @row's act at @at. Return: the number of steps that there were. */
static int survey_with(const struct row *row, int fd, int at)
{
    struct timespec since = clock_of_files();
    struct answer ahead = {.look = {0}}, with = {.look = {0}}, without = {.look = {0}};
    struct survey survey = {0};
    bool same;

    tree = fd;
    step = 0;
    step_of_act = at;
    prepare(&ahead, fd, &since);
    act_at_step = row->act;
    survey_trees(&survey, &ahead.look, go[0]);
    act_at_step = NULL;
    if (step <= at)
        row->act();
    look_at(&with, fd, &since, &survey);
    look_at(&without, fd, &since, NULL);
    same = check_same(&with, &without) && (row->findings < 0 || check_int(lines(&without), row->findings));
    if (row->act == say_go && step > at)
        same = check_int(step, at + 1) && same; /* it stopped where it stood */
    if (row->act == nothing)
        same = check(with.look.entries < without.look.entries) && same;
    if (!same)
        test_note("%s, at step %d of %d", row->name, at, step);
    if (row->act == shut)
        open_again(fd);
    if (row->act == say_go)
        need(read(go[0], &(char){0}, 1) == 1);
    survey_free(&survey);
    forget(&with);
    forget(&without);
    return step;
}

/* How many steps has the survey of @fd? */
static int count_steps(int fd)
{
    struct timespec since = clock_of_files();
    struct answer answer = {.look = {0}};
    struct survey survey = {0};

    prepare(&answer, fd, &since);
    step = 0;
    act_at_step = nothing;
    survey_trees(&survey, &answer.look, go[0]);
    act_at_step = NULL;
    survey_free(&survey);
    return step;
}

/* A quarter of the steps for each act, at most of them another one, unless there is time. */
static bool is_left_out(size_t row, int at)
{
    return !test_is_long() && (row + (size_t)at) % 4 != 0;
}

TEST_IN(what_is_done_at_any_step_is_found, 300)
{
    int top = open_top(), steps = count_steps(make_tree(top, "first"));
    char name[32];

    check(steps > 10);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        for (int at = 0; at <= steps; at++) {
            if (is_left_out(i, at))
                continue;
            snprintf(name, sizeof(name), "%zu-%d", i, at);
            need(close(make_tree(top, name)) == 0);
        }
    let_settle();
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        for (int at = 0; at <= steps; at++) {
            int fd;

            if (is_left_out(i, at))
                continue;
            snprintf(name, sizeof(name), "%zu-%d", i, at);
            fd = openat(top, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            need(fd >= 0);
            survey_with(&rows[i], fd, at);
            need(close(fd) == 0);
        }
    test_note("%zu acts, %d steps", ARRAY_SIZE(rows), steps + 1);
}

/* --- what the survey does not know ------------------------------------------------------------------------
 */

/* Looks at @fd behind a survey and without one. Return: how many names and directories the survey has spared.
 */
static int64_t spared(int fd)
{
    struct timespec since = clock_of_files();
    struct answer ahead = {.look = {0}}, with = {.look = {0}}, without = {.look = {0}};
    struct survey survey = {0};

    prepare(&ahead, fd, &since);
    survey_trees(&survey, &ahead.look, go[0]);
    look_at(&with, fd, &since, &survey);
    look_at(&without, fd, &since, NULL);
    check_same(&with, &without);
    survey_free(&survey);
    forget(&with);
    forget(&without);
    return (int64_t)without.look.entries - (int64_t)with.look.entries;
}

TEST(a_directory_that_has_changed_just_now_is_listed_again)
{
    int top = open_top();
    char name[32];

    for (int i = 0;; i++) { /* again if the machine was too slow to try it */
        struct timespec begun = clock_of_files();
        int64_t seen;

        snprintf(name, sizeof(name), "%d", i);
        seen = spared(make_tree(top, name));
        if (passed_ms(&begun) >= 2000)
            continue;
        check_int(seen, 0);
        break;
    }
}

TEST(another_file_system_in_the_tree_is_listed_again)
{
    int top, mounted;

    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0)
        test_skip("needs a mount namespace");
    need(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
    top = open_top();
    need(mkdirat(top, "tree", 0755) == 0 && mkdirat(top, "tree/in", 0755) == 0 && fchdir(top) == 0);
    need(mount("none", "tree/in", "tmpfs", 0, NULL) == 0);
    mounted = openat(top, "tree/in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    need(mounted >= 0);
    tree = mounted;
    put("1", "");
    put("2", "");
    tree = openat(top, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    let_settle();
    check_int(spared(mounted), 2);
    check_int(spared(tree), 0);
    need(close(mounted) == 0 && umount2("tree/in", MNT_DETACH) == 0);
}

/* The machine's ext4 makes all that is made in it an encrypted one; the kernel forgets it with this process.
 */
static bool mount_encrypted(void)
{
    static const char made[] =
        "exec >/dev/null 2>&1; truncate -s 16M image && mkfs.ext4 -q -O encrypt image && "
        "mount -o loop,test_dummy_encryption image in";
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        execlp("sh", "sh", "-c", made, NULL);
        _exit(127);
    }
    need(waitpid(pid, &status, 0) == pid);
    return status == 0;
}

TEST(an_encrypted_directory_is_listed_again)
{
    int top;

    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0)
        test_skip("needs a mount namespace");
    need(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
    top = open_top();
    need(mkdirat(top, "in", 0755) == 0 && fchdir(top) == 0);
    if (!mount_encrypted())
        test_skip("no ext4 with encryption here");
    tree = openat(top, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    need(tree >= 0);
    make_directory("secret");
    put("secret/1", "");
    put("secret/2", "");
    need(close(tree) == 0);
    tree = openat(top, "in/secret", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    let_settle();
    check_int(spared(tree), 0);
    need(close(tree) == 0 && umount2("in", MNT_DETACH) == 0);
}

TEST(where_others_write_the_times_nothing_is_known)
{
    struct timespec since = clock_of_files();
    struct answer answer = {.look = {0}};
    struct survey survey = {0};
    int fd = open("/sys/kernel", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        test_skip("no sysfs here");
    open_top();
    prepare(&answer, fd, &since);
    survey_trees(&survey, &answer.look, go[0]);
    check_int(survey.count, 1);
    check(!survey.places[0].plain && survey.places[0].count == 0);
    survey_free(&survey);
}

TEST(a_survey_is_bounded)
{
    struct timespec since = clock_of_files();
    struct answer answer = {.look = {0}};
    struct survey survey = {0};

    prepare(&answer, make_tree(open_top(), "tree"), &since);
    answer.look.most_entries = 9; /* of some thirty */
    survey_trees(&survey, &answer.look, go[0]);
    check(survey.count >= 1 && survey.count <= 10);
    survey_free(&survey);
}

TEST(an_end_of_the_pipe_is_nobody)
{
    open_top();
    check_int(survey_ask(go[0], 0), SURVEY_NOT_YET);
    say_go();
    check_int(survey_ask(go[0], -1), SURVEY_GO);
    need(read(go[0], &(char){0}, 1) == 1 && close(go[1]) == 0);
    check_int(survey_ask(go[0], -1), SURVEY_NOBODY);
}
