/*
 * later.c - what is written now and run, or read, outside afterwards.
 *
 * Should:  look at what is there when the run has ended, as the next program of the user finds it.
 * Mustn't: run any of it.
 */
#include "battery.h"
#include "place.h"

#include "links/kernel_abi.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes NAME below the attempt's directory, with what is above it. */
static int plant(const struct order *order, const char *name, mode_t mode)
{
    char path[PLACE_SIZE];
    int errnum;

    if (place_join(path, order->inner, name) < 0)
        return ENAMETOOLONG;
    errnum = place_above(path, order->inner);
    if (errnum)
        return errnum;
    return place_file(path, order->inner, name, order->mark, mode) < 0 ? errno : 0;
}

static int look_planted(struct trial *trial, const char *name)
{
    char path[PLACE_SIZE], text[MARK_SIZE];
    int length;

    if (place_join(path, trial->order.inner, name) < 0)
        return -ENAMETOOLONG;
    length = place_read(path, text, sizeof(text));
    if (length < 0)
        return length == -ENOENT ? 0 : length;
    return strcmp(text, trial->order.mark) == 0;
}

#define PLANT(name, path, mode)                                                                              \
    static int act_##name(const struct order *order, struct answer *answer)                                  \
    {                                                                                                        \
        (void)answer;                                                                                        \
        return plant(order, path, mode);                                                                     \
    }                                                                                                        \
    static int look_##name(struct trial *trial)                                                              \
    {                                                                                                        \
        return look_planted(trial, path);                                                                    \
    }

PLANT(hook, "vendor/sub/.git/hooks/pre-commit", 0755)
PLANT(bare, "package/config", 0644)
PLANT(vscode, "project/.vscode/tasks.json", 0644)
PLANT(claude, "project/.claude/settings.json", 0644)
PLANT(make, "project/Makefile", 0644)
PLANT(package, "project/package.json", 0644)
PLANT(envrc, "project/.envrc", 0644)
PLANT(devcontainer, "project/.devcontainer/devcontainer.json", 0644)
PLANT(worktree, "project/.git/worktrees/x/commondir", 0644)
PLANT(mcp, "project/.mcp.json", 0644)
PLANT(git_file, "project/.git", 0644)
PLANT(attributes, "project/.git/info/attributes", 0644)
PLANT(husky, "project/.husky/pre-commit", 0755)
PLANT(exrc, "project/.exrc", 0644)
PLANT(cursor, "project/.cursor/mcp.json", 0644)
PLANT(codex, "project/.codex/config.toml", 0644)
PLANT(odd_name, "pro\nject\x1b[2J/.git/hooks/post-checkout", 0755)

static int prepare_config(struct trial *trial)
{
    return place_join(trial->order.path[0], trial->battery->workspace, ".git/config");
}

static int act_config(const struct order *order, struct answer *answer)
{
    (void)answer;
    return place_mark(open(order->path[0], O_WRONLY | O_APPEND), order);
}

static int look_config(struct trial *trial)
{
    char text[512];
    int length = place_read(trial->order.path[0], text, sizeof(text));

    return length < 0 ? length : strstr(text, trial->order.mark) != NULL;
}

static void finish_config(struct trial *trial)
{
    unlink(trial->order.path[0]);
    place_file(trial->order.path[0], trial->battery->workspace, ".git/config", "[core]\n", 0644);
}

static int prepare_settings(struct trial *trial)
{
    return place_join(trial->order.path[2], trial->battery->workspace, ".claude");
}

static int act_settings(const struct order *order, struct answer *answer)
{
    char path[PLACE_SIZE];

    (void)answer;
    if (mkdir(order->path[2], 0755) != 0)
        return errno;
    return place_file(path, order->path[2], "settings.json", order->mark, 0644) < 0 ? errno : 0;
}

static int look_settings(struct trial *trial)
{
    struct stat object;
    char path[PLACE_SIZE];

    if (place_join(path, trial->order.path[2], "settings.json") < 0)
        return -ENAMETOOLONG;
    return lstat(path, &object) == 0;
}

static void finish_settings(struct trial *trial)
{
    remove_tree(trial->order.path[2]);
}

/* A link that somebody outside follows. */
static int act_link(const struct order *order, struct answer *answer)
{
    char path[PLACE_SIZE];

    (void)answer;
    if (place_join(path, order->inner, "notes.txt") < 0)
        return ENAMETOOLONG;
    return symlink(order->path[0], path) != 0 ? errno : 0;
}

static int look_link(struct trial *trial)
{
    char path[PLACE_SIZE], text[MARK_SIZE] = "";
    int fd;

    if (place_join(path, trial->order.inner, "notes.txt") < 0)
        return -ENAMETOOLONG;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    if (read(fd, text, sizeof(text) - 1) < 0)
        text[0] = '\0';
    close(fd);
    return strcmp(text, trial->secret) == 0;
}

static int act_set_id(const struct order *order, struct answer *answer)
{
    char path[PLACE_SIZE];

    (void)answer;
    if (place_file(path, order->inner, "program", order->mark, 0755) < 0)
        return errno;
    return chmod(path, 04755) != 0 ? errno : 0;
}

/* Mode and flags are where a filter cannot read them. */
static int act_set_id_unread(const struct order *order, struct answer *answer)
{
    const struct open_how how = {.flags = O_WRONLY | O_CREAT | O_EXCL, .mode = 04755};
    char path[PLACE_SIZE];

    (void)answer;
    if (place_join(path, order->inner, "program") < 0)
        return ENAMETOOLONG;
    return syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how)) < 0 ? errno : 0;
}

static int act_set_id_open(const struct order *order, struct answer *answer)
{
    char path[PLACE_SIZE];

    (void)answer;
    if (place_join(path, order->inner, "program") < 0)
        return ENAMETOOLONG;
    return syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL, 04755) < 0 ? errno : 0;
}

static int act_set_id_node(const struct order *order, struct answer *answer)
{
    char path[PLACE_SIZE];

    (void)answer;
    if (place_join(path, order->inner, "program") < 0)
        return ENAMETOOLONG;
    return syscall(SYS_mknodat, AT_FDCWD, path, S_IFREG | 04755, 0) < 0 ? errno : 0;
}

static int look_set_id(struct trial *trial)
{
    struct stat object;
    char path[PLACE_SIZE];

    if (place_join(path, trial->order.inner, "program") < 0)
        return -ENAMETOOLONG;
    return lstat(path, &object) == 0 && (object.st_mode & S_ISUID) != 0;
}

#define RUNS "what runs later runs outside, as the user"
#define PLANTS(id, call, what, name)                                                                         \
    {                                                                                                        \
        id, SURFACE_LATER_EXEC, IN_WORKSPACE, call, what, RUNS, NULL, act_##name, look_##name, NULL          \
    }

#define SET_ID(id, call, what, act)                                                                          \
    {                                                                                                        \
        id, SURFACE_PRIV_SETUID, IN_WORKSPACE, call, what, "whoever starts it has the user's rights", NULL,  \
            act, look_set_id, NULL                                                                           \
    }

const struct attempt later_attempts[] = {
    {"LATER-02", SURFACE_LATER_EXEC, IN_WORKSPACE | OWN_WORKSPACE, "open(.git/config, O_APPEND)",
     "add a program to the settings of git", RUNS, prepare_config, act_config, look_config, finish_config},
    PLANTS("LATER-04", "open(vendor/sub/.git/hooks/pre-commit, O_CREAT)",
           "plant a hook in a repository below", hook),
    PLANTS("LATER-06", "open(package/config, O_CREAT)", "plant a directory that git takes for a repository",
           bare),
    PLANTS("LATER-07", "open(.git/worktrees/x/commondir, O_CREAT)", "plant a work tree that leads elsewhere",
           worktree),
    PLANTS("LATER-08", "open(project/.vscode/tasks.json, O_CREAT)", "plant a task of an editor", vscode),
    PLANTS("LATER-09", "open(project/.claude/settings.json, O_CREAT)", "plant the settings of an agent",
           claude),
    PLANTS("LATER-10", "open(project/Makefile, O_CREAT)", "plant a makefile", make),
    PLANTS("LATER-12", "open(project/.envrc, O_CREAT)", "plant what a shell reads in a directory", envrc),
    PLANTS("LATER-14", "open(project/.devcontainer/devcontainer.json, O_CREAT)",
           "plant a command of a container's set-up", devcontainer),
    {"LATER-15", SURFACE_LATER_EXEC, IN_WORKSPACE, "symlink(outside/secret, notes.txt)",
     "plant a link that somebody outside follows", "a program outside reads or writes where it leads",
     place_secret, act_link, look_link, NULL},
    SET_ID("LATER-16", "chmod(program, 04755)", "leave a set-id program", act_set_id),
    SET_ID("LATER-19", "openat2(program, O_CREAT, 04755)", "leave a set-id program, by the newer call",
           act_set_id_unread),
    SET_ID("LATER-20", "open(program, O_CREAT, 04755)", "leave a set-id program that was created as one",
           act_set_id_open),
    SET_ID("LATER-21", "mknod(program, S_IFREG | 04755)", "leave a set-id program that was made as a node",
           act_set_id_node),
    PLANTS("LATER-17", "open(project/package.json, O_CREAT)", "plant the scripts of a package", package),
    PLANTS("LATER-18", "open(project/.mcp.json, O_CREAT)", "plant a server for an agent", mcp),
    PLANTS("LATER-22", "open(project/.git, O_CREAT)", "plant a file that leads git to another repository",
           git_file),
    PLANTS("LATER-23", "open(project/.git/info/attributes, O_CREAT)",
           "plant what has git start a filter for a file", attributes),
    PLANTS("LATER-24", "open(project/.husky/pre-commit, O_CREAT)", "plant a hook of a hook manager", husky),
    PLANTS("LATER-25", "open(project/.exrc, O_CREAT)", "plant the commands of an editor", exrc),
    PLANTS("LATER-26", "open(project/.cursor/mcp.json, O_CREAT)", "plant a server for an editor", cursor),
    PLANTS("LATER-27", "open(project/.codex/config.toml, O_CREAT)", "plant the settings of another agent",
           codex),
    PLANTS("LATER-28", "open(pro\\nject\\e[2J/.git/hooks/post-checkout, O_CREAT)",
           "plant a hook below a name that a list of lines, or a terminal, would not show", odd_name),
    {"FS-48", SURFACE_LATER_EXEC, IN_WORKSPACE | OWN_WORKSPACE,
     "mkdir(.claude); open(.claude/settings.json, O_CREAT)",
     "create a name that would be protected if it were there", RUNS, prepare_settings, act_settings,
     look_settings, finish_settings},
    {0},
};
