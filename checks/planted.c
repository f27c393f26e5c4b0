/*
 * planted.c - what an earlier run left in the workspace, against those who start the next one there: links
 * and settings at every name that they look at, mount on or grant.
 *
 * Each act does inside what the plant is meant for. Whether it, or the start itself, had its effect is seen
 * outside: in a directory of the trial's, or in a repository there.
 *
 * Should:  put the workspace back as it was.
 * Mustn't: plant anything that leads to what the trial did not make.
 */
#include "battery.h"
#include "place.h"

#include "links/kernel_abi.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The root of a workspace of the battery's own; the name there that is to be planted in path[2]. */
static int clear_name(struct trial *trial, const char *name)
{
    int result = place_join(trial->order.path[2], trial->battery->workspace, name);

    return result < 0 ? result : place_aside(trial, name);
}

/* path[0]: TARGET in the trial's directory, the only thing in there. */
static int make_target(struct trial *trial, const char *target, bool directory)
{
    char path[PLACE_SIZE];
    int result;

    if (!directory)
        return place_file(trial->order.path[0], trial->dir, target, "original", 0644);
    result = place_join(path, trial->dir, target);
    if (result == 0 && mkdir(path, 0755) != 0)
        result = -errno;
    memcpy(trial->order.path[0], path, sizeof(path));
    return result;
}

/* The name in the workspace is a link to TARGET outside, below ROOT. */
static int plant_link(struct trial *trial, const char *name, const char *root, bool directory)
{
    char target[2 * PLACE_SIZE];
    int result = make_target(trial, "target", directory);

    if (result == 0)
        result = clear_name(trial, name);
    snprintf(target, sizeof(target), "%s%s", trial->control ? "" : root, trial->order.path[0]);
    return result == 0 && symlink(target, trial->order.path[2]) != 0 ? -errno : result;
}

static void finish_name(struct trial *trial, const char *name)
{
    /* It was not there before, so nothing was moved aside. */
    if (place_back(trial, name) < 0)
        remove_tree(trial->order.path[2]);
}

/* Something is in the directory now, whoever made it. */
static int look_filled(struct trial *trial)
{
    int count = place_count(trial->order.path[0]);

    return count < 0 ? count : count > 0;
}

static int create_below(const char *directory, const char *name, const struct order *order)
{
    char path[PLACE_SIZE];
    int result = place_file(path, directory, name, order->mark, 0644);

    return result < 0 ? -result : 0;
}

static int overwrite(const char *path, const struct order *order)
{
    return place_mark(open(path, O_WRONLY | O_TRUNC), order);
}

static int act_create_behind(const struct order *order, struct answer *answer)
{
    (void)answer;
    return create_below(order->path[2], "new", order);
}

static int act_create_there(const struct order *order, struct answer *answer)
{
    (void)answer;
    return create_below(order->path[0], "new", order);
}

static int act_write_behind(const struct order *order, struct answer *answer)
{
    (void)answer;
    return overwrite(order->path[2], order);
}

static int act_write_there(const struct order *order, struct answer *answer)
{
    (void)answer;
    return overwrite(order->path[0], order);
}

/* --- links where something is looked at, or mounted ------------------------------------------------------
 */

#define LINK(function, name, root, directory)                                                                \
    static int prepare_##function(struct trial *trial)                                                       \
    {                                                                                                        \
        return plant_link(trial, name, root, directory);                                                     \
    }                                                                                                        \
    static void finish_##function(struct trial *trial)                                                       \
    {                                                                                                        \
        finish_name(trial, name);                                                                            \
    }

LINK(git, ".git", "", true)
LINK(hooks, ".git/hooks", "", true)
LINK(hook, ".git/hooks/post-commit", "", false)
LINK(info, ".git/info", "", true)
LINK(config, ".git/config", "", false)
LINK(vscode, ".vscode", "", true)
LINK(tasks, ".vscode/tasks.json", "", false)
LINK(claude, ".claude", "", true)
LINK(old_root, ".claude", "/oldroot", true)
LINK(new_root, ".codex", "/newroot", true)
LINK(own_root, ".idea", "/proc/self/root", true)
LINK(parent_root, ".cursor", "/proc/1/root", true)
LINK(policy, ".confine.json", "", false)

/* --- names that lead elsewhere by what is in them --------------------------------------------------------
 */

static int place_text(struct trial *trial, const char *name, const char *format, const char *word)
{
    char path[PLACE_SIZE], text[2 * PLACE_SIZE];
    int result = clear_name(trial, name), length = 0;

    for (const char *c = format; *c && length < (int)sizeof(text) - PLACE_SIZE; c++)
        length += *c == '%' ? snprintf(text + length, sizeof(text) - (size_t)length, "%s", word)
                            : snprintf(text + length, sizeof(text) - (size_t)length, "%c", *c);
    return result == 0 ? place_file(path, trial->battery->workspace, name, text, 0644) : result;
}

/* A repository outside that looks like the one which a work tree belongs to, but does not name it back. */
static int make_repository(struct trial *trial)
{
    static const char *const directories[] = {"target/objects", "target/refs", "target/hooks",
                                              "target/worktrees", "target/worktrees/w"};
    char path[PLACE_SIZE];
    int result = make_target(trial, "target", true);

    for (size_t i = 0; result == 0 && i < ITEMS(directories); i++) {
        result = place_join(path, trial->dir, directories[i]);
        if (result == 0 && mkdir(path, 0755) != 0)
            result = -errno;
    }
    if (result == 0)
        result =
            place_file(path, trial->dir, "target/config", "[core]\n\trepositoryformatversion = 0\n", 0644);
    if (result == 0)
        result = place_file(path, trial->dir, "target/HEAD", "ref: refs/heads/main\n", 0644);
    if (result == 0)
        result = place_file(path, trial->dir, "target/worktrees/w/HEAD", "ref: refs/heads/main\n", 0644);
    if (result == 0)
        result = place_file(path, trial->dir, "target/worktrees/w/commondir", "../..\n", 0644);
    if (result == 0)
        result = place_file(path, trial->dir, "target/worktrees/w/gitdir", "/nowhere/.git\n", 0644);
    return result == 0 ? place_file(trial->order.path[0], trial->dir, "target/description", "original", 0644)
                       : result;
}

static int plant_repository(struct trial *trial, const char *name, const char *format)
{
    char path[PLACE_SIZE];
    int result = make_repository(trial);

    if (result == 0)
        result = place_join(path, trial->dir, "target");
    return result == 0 ? place_text(trial, name, format, path) : result;
}

#define TEXT(function, name, format)                                                                         \
    static int prepare_##function(struct trial *trial)                                                       \
    {                                                                                                        \
        return plant_repository(trial, name, format);                                                        \
    }                                                                                                        \
    static void finish_##function(struct trial *trial)                                                       \
    {                                                                                                        \
        finish_name(trial, name);                                                                            \
    }

TEXT(git_file, ".git", "gitdir: %\n")
TEXT(worktree_file, ".git", "gitdir: %/worktrees/w\n")
TEXT(common, ".git/commondir", "%\n")
TEXT(work_tree, ".git/config", "[core]\n\tworktree = %\n\trepositoryformatversion = 0\n")
TEXT(included, ".git/config", "[include]\n\tpath = %/config\n[core]\n\thooksPath = %/hooks\n")
TEXT(modules, ".gitmodules", "[submodule \"x\"]\n\tpath = ../%\n\turl = %\n")

static int prepare_alternates(struct trial *trial)
{
    char path[PLACE_SIZE], name[PLACE_SIZE];
    int result = make_target(trial, "target", true);

    if (result == 0)
        result = place_join(name, trial->battery->workspace, ".git/objects/info");
    if (result == 0 && mkdir(name, 0755) != 0 && errno != EEXIST)
        result = -errno;
    memcpy(path, trial->order.path[0], sizeof(path));
    return result == 0 ? place_text(trial, ".git/objects/info/alternates", "%\n", path) : result;
}

static void finish_alternates(struct trial *trial)
{
    finish_name(trial, ".git/objects/info/alternates");
}

/* The programs of later git commands are held by mounts: on what the settings name, wherever that is. */
static int prepare_hooks_path(struct trial *trial)
{
    char path[PLACE_SIZE];
    int result = make_target(trial, "target", true);

    memcpy(path, trial->order.path[0], sizeof(path));
    return result == 0 ? place_text(trial, ".git/config", "[core]\n\thooksPath = %\n", path) : result;
}

static void finish_hooks_path(struct trial *trial)
{
    finish_name(trial, ".git/config");
}

/* A policy that may only narrow. */
static int prepare_wide_policy(struct trial *trial)
{
    int result = place_file(trial->order.path[0], trial->dir, "victim", "original", 0644);

    return result == 0
               ? place_text(trial, ".confine.json", "{\"policy\": 1, \"write\": [\"%\"]}\n", trial->dir)
               : result;
}

/* --- the private caches of an earlier run ----------------------------------------------------------------
 */

static void enter_home(const struct trial *trial)
{
    if (setenv("HOME", trial->order.path[1], 1) != 0)
        _exit(CANNOT_ENTER);
}

/* A home, in which the directory of all private caches is a link to path[0]. */
static int plant_cache(struct trial *trial, const char *name)
{
    int result = make_target(trial, "target", true);

    if (result == 0)
        result = place_join(trial->order.path[2], trial->dir, name);
    if (result == 0)
        result = -place_above(trial->order.path[2], trial->dir);
    if (result == 0 && symlink(trial->order.path[0], trial->order.path[2]) != 0)
        result = -errno;
    trial->enter = enter_home;
    return result ?: place_join(trial->order.path[1], trial->dir, "home");
}

static int prepare_own_caches(struct trial *trial)
{
    return plant_cache(trial, "home/.cache/confine");
}

static int prepare_all_caches(struct trial *trial)
{
    return plant_cache(trial, "home/.cache/confine/caches");
}

/* --- names that change while it starts -------------------------------------------------------------------
 */

/* Two names in the workspace change places, for as long as it may run. */
static void flip(struct trial *trial)
{
    for (;;)
        if (kernel_call(SYS_renameat2, AT_FDCWD, KERNEL_PTR(trial->order.path[2]), AT_FDCWD,
                        KERNEL_PTR(trial->order.path[1]), 2 /* exchange */, 0) != 0)
            _exit(0);
}

/* NAME is a directory, or a link outside, and the other is beside it. */
static int plant_flip(struct trial *trial, const char *name)
{
    char other[PLACE_SIZE + 8];
    int result = make_target(trial, "target", true);

    if (result == 0)
        result = clear_name(trial, name);
    snprintf(other, sizeof(other), "%s-other", trial->order.path[2]);
    if (result == 0 && (strlen(other) >= PLACE_SIZE || symlink(trial->order.path[0], other) != 0 ||
                        mkdir(trial->order.path[2], 0755) != 0))
        result = -errno;
    memcpy(trial->order.path[1], other, PLACE_SIZE);
    trial->order.path[1][PLACE_SIZE - 1] = '\0';
    return result == 0 ? place_helper(trial, 1, flip) : result;
}

/* Often enough that the link is met. */
static int act_create_often(const struct order *order, struct answer *answer)
{
    int result, refused = 0;

    (void)answer;
    for (int i = 0; i < 400; i++) {
        char name[24];

        snprintf(name, sizeof(name), "new%d", i);
        result = create_below(order->path[2], name, order);
        refused = result ? result : refused;
    }
    return refused;
}

static void finish_flip(struct trial *trial, const char *name)
{
    place_end_helper(trial, 1);
    remove_tree(trial->order.path[1]);
    finish_name(trial, name);
}

#define FLIP(function, name)                                                                                 \
    static int prepare_##function(struct trial *trial)                                                       \
    {                                                                                                        \
        return plant_flip(trial, name);                                                                      \
    }                                                                                                        \
    static void finish_##function(struct trial *trial)                                                       \
    {                                                                                                        \
        finish_flip(trial, name);                                                                            \
    }

FLIP(flipping_vscode, ".vscode")
FLIP(flipping_hooks, ".git/hooks")
FLIP(flipping_claude, ".claude")

#define NEXT "an earlier command chose what is there, and the next start is not confined yet"
#define PLANTED(id, call, what, function, act, look)                                                         \
    {                                                                                                        \
        id, SURFACE_FS_WRITE, OWN_WORKSPACE | OWN_RUN | BEFORE_START | MAY_REFUSE, call, what, NEXT,         \
            prepare_##function, act, look, finish_##function                                                 \
    }

const struct attempt planted_attempts[] = {
    PLANTED("SET-40", "symlink(outside, .git)", "have what is outside granted as the repository", git,
            act_create_behind, look_filled),
    PLANTED("SET-41", "symlink(outside, .git/hooks)", "have hooks held, or mounted on, behind a link", hooks,
            act_create_behind, look_filled),
    PLANTED("SET-42", "symlink(outside, .git/hooks/post-commit)", "the same with one hook", hook,
            act_write_behind, look_changed),
    PLANTED("SET-43", "symlink(outside, .git/info)", "the same with the attributes of git", info,
            act_create_behind, look_filled),
    PLANTED("SET-44", "symlink(outside, .git/config)", "have the settings of git granted behind a link",
            config, act_write_behind, look_changed),
    PLANTED("SET-45", "symlink(outside, .vscode)", "have what is mounted on a name made behind a link",
            vscode, act_create_behind, look_filled),
    PLANTED("SET-46", "symlink(outside, .vscode/tasks.json)", "have a file held behind a link", tasks,
            act_write_behind, look_changed),
    PLANTED("SET-47", "symlink(outside, .claude)", "have a name that is not there made behind a link", claude,
            act_create_behind, look_filled),
    PLANTED("SET-05", "symlink(/oldroot/outside, .claude)",
            "the same by the name that the host's root has while bubblewrap starts", old_root,
            act_create_behind, look_filled),
    PLANTED("SET-48", "symlink(/newroot/outside, .codex)", "the same by the name of the root to come",
            new_root, act_create_behind, look_filled),
    PLANTED("SET-49", "symlink(/proc/self/root/outside, .idea)", "the same by the root of whoever looks",
            own_root, act_create_behind, look_filled),
    PLANTED("SET-50", "symlink(/proc/1/root/outside, .cursor)", "the same by the root of process 1",
            parent_root, act_create_behind, look_filled),
    PLANTED("SET-51", "symlink(outside, .confine.json)", "have a policy protected behind a link", policy,
            act_write_behind, look_changed),
    PLANTED("SET-52", "open(.git): gitdir: outside", "have a repository granted that a file names", git_file,
            act_write_there, look_changed),
    PLANTED("SET-53", "open(.git): gitdir: outside/worktrees/w",
            "have a repository granted whose work tree this is not", worktree_file, act_write_there,
            look_changed),
    PLANTED("SET-54", "open(.git/commondir): outside", "have a common repository granted", common,
            act_write_there, look_changed),
    PLANTED("SET-55", "open(.git/config): core.worktree = outside", "have another work tree granted",
            work_tree, act_write_there, look_changed),
    PLANTED("SET-56", "open(.git/config): include.path = outside/config", "have included settings granted",
            included, act_write_there, look_changed),
    PLANTED("SET-57", "open(.git/objects/info/alternates): outside", "have borrowed objects granted",
            alternates, act_create_there, look_filled),
    PLANTED("SET-58", "open(.git/config): core.hooksPath = outside",
            "have hooks held, or mounted on, outside", hooks_path, act_create_there, look_filled),
    PLANTED("SET-59", "open(.gitmodules): path = ../outside", "have a submodule granted that lies outside",
            modules, act_write_there, look_changed),
    {"SET-60", SURFACE_FS_WRITE, OWN_WORKSPACE | OWN_RUN | BEFORE_START | MAY_REFUSE,
     "open(.confine.json): write = outside", "have the workspace's own policy widen the grants", NEXT,
     prepare_wide_policy, act_write_there, look_changed, finish_policy},
    {"SET-116", SURFACE_FS_WRITE, IN_WORKSPACE | OWN_RUN | BEFORE_START | MAY_REFUSE,
     "symlink(outside, HOME/.cache/confine)", "have private caches made, and granted, behind a link", NEXT,
     prepare_own_caches, act_create_there, look_filled, NULL},
    {"SET-117", SURFACE_FS_WRITE, IN_WORKSPACE | OWN_RUN | BEFORE_START | MAY_REFUSE,
     "symlink(outside, HOME/.cache/confine/caches)", "the same one directory below", NEXT, prepare_all_caches,
     act_create_there, look_filled, NULL},
    PLANTED("SET-61", "renameat2(.vscode, link, RENAME_EXCHANGE), while it starts",
            "exchange what is to be held by a link outside", flipping_vscode, act_create_often, look_filled),
    PLANTED("SET-62", "renameat2(.git/hooks, link, RENAME_EXCHANGE), while it starts",
            "exchange the hooks by a link outside", flipping_hooks, act_create_often, look_filled),
    PLANTED("SET-63", "renameat2(.claude, link, RENAME_EXCHANGE), while it starts",
            "exchange a name of an agent by a link outside", flipping_claude, act_create_often, look_filled),
    {0},
};
