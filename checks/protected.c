/*
 * protected.c - names in the workspace that must stay as they are.
 *
 * Should:  put back what was changed, and only that: the next attempt is made on the same names.
 * Mustn't: replace a file that is as it was, which would take away a mount that holds it inside.
 */
#include "battery.h"
#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int name_in_workspace(struct trial *trial, int index, const char *name)
{
    return place_join(trial->order.path[index], trial->battery->workspace, name);
}

static int prepare_hook(struct trial *trial)
{
    int result = name_in_workspace(trial, 2, ".git/hooks/pre-commit");

    memcpy(trial->order.path[1], trial->battery->workspace, strlen(trial->battery->workspace) + 1);
    return result;
}

static int act_move_hook(const struct order *order, struct answer *answer)
{
    char from[PLACE_SIZE];

    (void)answer;
    if (place_file(from, order->inner, "hook", order->mark, 0755) < 0)
        return errno;
    return rename(from, order->path[2]) != 0 ? errno : 0;
}

static int act_make_hook(const struct order *order, struct answer *answer)
{
    int fd = open(order->path[2], O_WRONLY | O_CREAT | O_EXCL, 0755);
    int result = place_mark(fd, order);

    (void)answer;
    if (fd >= 0)
        close(fd);
    return result;
}

static void finish_hook(struct trial *trial)
{
    unlink(trial->order.path[2]);
}

/* The directory above is moved away, and another one is made in its place. */
static int rebuild(const struct order *order, const char *above, const char *below, const char *file)
{
    char old[PLACE_SIZE], moved[PLACE_SIZE];

    if (place_join(old, order->path[1], above) < 0 || place_join(moved, order->path[1], order->mark) < 0)
        return ENAMETOOLONG;
    if (rename(old, moved) != 0 || mkdir(old, 0755) != 0)
        return errno;
    if (*below && (place_join(old, order->path[1], below) < 0 || mkdir(old, 0755) != 0))
        return errno;
    return place_file(moved, old, file, order->mark, 0755) < 0 ? errno : 0;
}

static int act_rebuild_git(const struct order *order, struct answer *answer)
{
    (void)answer;
    return rebuild(order, ".git", ".git/hooks", "pre-commit");
}

static void finish_git(struct trial *trial)
{
    place_back(trial, ".git");
}

static int prepare_tasks(struct trial *trial)
{
    int result = name_in_workspace(trial, 0, ".vscode/tasks.json");

    memcpy(trial->order.path[1], trial->battery->workspace, strlen(trial->battery->workspace) + 1);
    return result < 0 ? result : name_in_workspace(trial, 2, ".vscode/tasks.json");
}

static int prepare_post_commit(struct trial *trial)
{
    return name_in_workspace(trial, 0, ".git/hooks/post-commit");
}

static int act_overwrite(const struct order *order, struct answer *answer)
{
    (void)answer;
    return place_mark(open(order->path[0], O_WRONLY | O_TRUNC), order);
}

static int act_unlink(const struct order *order, struct answer *answer)
{
    (void)answer;
    return unlink(order->path[0]) != 0 ? errno : 0;
}

static int act_move_over(const struct order *order, struct answer *answer)
{
    char from[PLACE_SIZE];

    (void)answer;
    if (place_file(from, order->inner, "tasks", order->mark, 0644) < 0)
        return errno;
    return rename(from, order->path[0]) != 0 ? errno : 0;
}

static int act_rebuild_vscode(const struct order *order, struct answer *answer)
{
    (void)answer;
    return rebuild(order, ".vscode", "", "tasks.json");
}

/* Only what was changed: to replace the file here would take the mount away that holds it inside. */
static void restore(struct trial *trial, const char *name)
{
    char path[PLACE_SIZE];

    if (look_changed(trial) == 0)
        return;
    unlink(trial->order.path[0]);
    place_file(path, trial->battery->workspace, name, "original", 0644);
}

static void finish_tasks(struct trial *trial)
{
    place_back(trial, ".vscode");
    restore(trial, ".vscode/tasks.json");
}

static void finish_post_commit(struct trial *trial)
{
    restore(trial, ".git/hooks/post-commit");
}

#define LATER "what runs later runs outside, as the user"
#define PROTECTS(id, call, what, prepare, act, look, finish)                                                 \
    {                                                                                                        \
        id, SURFACE_FS_PROTECTED, IN_WORKSPACE | OWN_WORKSPACE, call, what, LATER, prepare, act, look,       \
            finish                                                                                           \
    }

const struct attempt protected_attempts[] = {
    PROTECTS("FS-47", "rename(.git, x); mkdir(.git); open(.git/hooks/pre-commit, O_CREAT)",
             "move what is above a protected name away, and build it anew", prepare_hook, act_rebuild_git,
             look_made, finish_git),
    PROTECTS("LATER-01", "open(.git/hooks/pre-commit, O_CREAT)", "plant a hook in the repository",
             prepare_hook, act_make_hook, look_made, finish_hook),
    PROTECTS("FS-49", "rename(x, .git/hooks/pre-commit)", "move a file to a protected name", prepare_hook,
             act_move_hook, look_made, finish_hook),
    PROTECTS("FS-98", "open(.vscode/tasks.json, O_WRONLY|O_TRUNC)", "overwrite a protected file",
             prepare_tasks, act_overwrite, look_changed, finish_tasks),
    PROTECTS("FS-99", "unlink(.vscode/tasks.json)", "remove a protected file", prepare_tasks, act_unlink,
             look_gone, finish_tasks),
    PROTECTS("FS-100", "rename(x, .vscode/tasks.json)", "replace a protected file", prepare_tasks,
             act_move_over, look_changed, finish_tasks),
    PROTECTS("FS-101", "rename(.vscode, x); mkdir(.vscode); open(.vscode/tasks.json, O_CREAT)",
             "move the directory of a protected file away, and build it anew", prepare_tasks,
             act_rebuild_vscode, look_changed, finish_tasks),
    PROTECTS("FS-102", "open(.git/hooks/post-commit, O_WRONLY|O_TRUNC)", "overwrite a git hook",
             prepare_post_commit, act_overwrite, look_changed, finish_post_commit),
    {0},
};
