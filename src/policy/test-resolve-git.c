/* test-resolve-git.c - a repository outside the workspace is granted only if it names the workspace back. */
#include "harness.h"

#include "policy/test-resolve.h"

/* TEXT into NAME; `%` stands for the test's directory. */
static void put(const char *name, const char *text)
{
    FILE *file;

    (void)unlink(trial_path(name));
    file = fopen(trial_path(name), "we");
    need(file != NULL);
    for (; *text; text++)
        need(*text == '%' ? fputs(test_dir, file) >= 0 : fputc(*text, file) != EOF);
    need(fclose(file) == 0);
}

static void make_repository(const char *directory)
{
    static const char *const parts[] = {"", "/objects", "/objects/info", "/refs", "/info", "/hooks"};
    char name[PATH_MAX];

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        snprintf(name, sizeof(name), "%s%s", directory, parts[i]);
        trial_directory(name);
    }
    snprintf(name, sizeof(name), "%s/HEAD", directory);
    put(name, "ref: refs/heads/main\n");
    snprintf(name, sizeof(name), "%s/config", directory);
    put(name, "[core]\n\tbare = false\n");
    snprintf(name, sizeof(name), "%s/info/attributes", directory);
    put(name, "");
}

/* What git makes: `ws` is a linked worktree of `main`. */
static void make_worktree(void)
{
    trial_directory("ws");
    trial_directory("main");
    make_repository("main/.git");
    trial_directory("main/.git/worktrees");
    trial_directory("main/.git/worktrees/n");
    put("main/.git/worktrees/n/commondir", "../..\n");
    put("main/.git/worktrees/n/gitdir", "%/ws/.git\n");
    put("ws/.git", "gitdir: %/main/.git/worktrees/n\n");
}

/* `ws` is a submodule of `main`. */
static void make_submodule(void)
{
    trial_directory("ws");
    trial_directory("main");
    make_repository("main/.git");
    trial_directory("main/.git/modules");
    make_repository("main/.git/modules/ws");
    put("main/.git/modules/ws/config", "[core]\n\tworktree = ../../../../ws\n");
    put("ws/.git", "gitdir: ../main/.git/modules/ws\n");
}

static struct trial start(const char *mode)
{
    struct trial trial = trial_start();

    trial_set(&trial, KEY_CACHES, "off");
    trial_set(&trial, KEY_MODE, mode);
    trial_set(&trial, KEY_WORKSPACE, trial_path("ws"));
    return trial;
}

/* The one grant to write besides the workspace; NULL if there is none. */
static const struct resolved_path *find_other(const struct trial *trial)
{
    const struct resolved_path *found = NULL;

    for (size_t i = 0; i < trial->resolved.path_count; i++) {
        const struct resolved_path *path = &trial->resolved.paths[i];

        if (path->grant == GRANT_WRITE && strcmp(path->path, trial_path("ws")) != 0) {
            need(found == NULL);
            found = path;
        }
    }
    return found;
}

static bool warns(const struct trial *trial, const char *part)
{
    for (size_t i = 0; i < trial->resolved.warnings.count; i++)
        if (strstr(trial->resolved.warnings.items[i], part))
            return true;
    return false;
}

/* --- both directions ----------------------------------------------------------------------------------- */

static void relative(void)
{
    put("ws/.git", "gitdir: ../main/.git/worktrees/n\n");
    put("main/.git/worktrees/n/gitdir", "../../../../ws/.git\n");
}

static void absolute_commondir(void)
{
    put("main/.git/worktrees/n/commondir", "%/main/.git\n");
}

static void no_line_end(void)
{
    put("ws/.git", "gitdir: %/main/.git/worktrees/n");
}

static void as_link(void)
{
    need(unlink(trial_path("ws/.git")) == 0);
    need(symlink("../main/.git/worktrees/n", trial_path("ws/.git")) == 0);
}

static void module_as_link(void)
{
    need(unlink(trial_path("ws/.git")) == 0);
    need(symlink("../main/.git/modules/ws", trial_path("ws/.git")) == 0);
}

static void absolute_worktree(void)
{
    put("main/.git/modules/ws/config",
        "; odd but git reads it\n[CORE] bare=false\n WorkTree = \"%/ws\" # here\n");
}

static void later_worktree(void)
{
    put("main/.git/modules/ws/config",
        "[core]\nworktree = /nowhere\n[remote \"core\"]\nworktree = /x\n[core]\n"
        "worktree = ../../../../ws\n");
}

static void worktree_apart(void)
{
    put("main/.git/modules/ws/config", "[extensions]\n\tworktreeConfig = true\n");
    put("main/.git/modules/ws/config.worktree",
        "[core]\n\tworktree = ../../../../ws\n\tsparseCheckout = true\n");
}

static const struct granted {
    const char *name;
    void (*make)(void), (*change)(void);
    const char *path, *what;
} granted_rows[] = {
    {"worktree", make_worktree, NULL, "main/.git", "the common git directory of the workspace"},
    {"worktree, relative", make_worktree, relative, "main/.git", "the common git directory of the workspace"},
    {"worktree, absolute commondir", make_worktree, absolute_commondir, "main/.git",
     "the common git directory of the workspace"},
    {"worktree, no line end", make_worktree, no_line_end, "main/.git",
     "the common git directory of the workspace"},
    {"worktree, .git is a link", make_worktree, as_link, "main/.git",
     "the common git directory of the workspace"},
    {"submodule", make_submodule, NULL, "main/.git/modules/ws", "the git directory of the workspace"},
    {"submodule, .git is a link", make_submodule, module_as_link, "main/.git/modules/ws",
     "the git directory of the workspace"},
    {"submodule, absolute and quoted", make_submodule, absolute_worktree, "main/.git/modules/ws",
     "the git directory of the workspace"},
    {"submodule, the last value counts", make_submodule, later_worktree, "main/.git/modules/ws",
     "the git directory of the workspace"},
    {"submodule, sparse", make_submodule, worktree_apart, "main/.git/modules/ws",
     "the git directory of the workspace"},
};

TEST_EACH(a_repository_that_names_the_workspace_is_granted, struct granted, granted_rows)
{
    struct trial trial = start("workspace-write");
    const struct resolved_path *other;

    row->make();
    if (row->change)
        row->change();
    need(trial_resolve(&trial) == 0);
    other = find_other(&trial);
    need(other != NULL);
    check_str(other->path, trial_path(row->path));
    check_str(other->source.what, row->what);
    check(other->named);
    check(!warns(&trial, "git-directory"));
    trial_end(&trial);
}

TEST_EACH(in_read_only_it_is_readable, struct granted, granted_rows)
{
    struct trial trial = start("read-only");
    const struct resolved_path *path;

    row->make();
    if (row->change)
        row->change();
    trial_set(&trial, KEY_READABLE, "listed");
    need(trial_resolve(&trial) == 0);
    path = trial_find(&trial, row->path);
    need(path != NULL);
    check_int(path->grant, GRANT_READ);
    check(find_other(&trial) == NULL);
    trial_end(&trial);
}

/* --- plants -------------------------------------------------------------------------------------------- */

static void names_secrets(void)
{
    trial_directory("secrets");
    trial_file("secrets/id_rsa", 0600);
    put("ws/.git", "gitdir: %/secrets\n");
}

static void link_to_secrets(void)
{
    names_secrets();
    need(unlink(trial_path("ws/.git")) == 0);
    need(symlink("../secrets", trial_path("ws/.git")) == 0);
}

static void other_workspace(void)
{
    trial_directory("else");
    put("main/.git/worktrees/n/gitdir", "%/else/.git\n");
}

static void another_file_of_ours(void)
{
    put("main/.git/worktrees/n/gitdir", "%/ws/.giX\n");
}

static void below_ours(void)
{
    trial_directory("ws/sub");
    put("main/.git/worktrees/n/gitdir", "%/ws/sub/.git\n");
}

static void through_a_link(void)
{
    need(symlink("../main", trial_path("ws/way")) == 0);
    put("ws/.git", "gitdir: way/.git/worktrees/n\n");
}

static void back_through_a_link(void)
{
    need(symlink("ws", trial_path("other")) == 0);
    put("main/.git/worktrees/n/gitdir", "%/other/.git\n");
}

static void common_elsewhere(void)
{
    trial_directory("secrets");
    put("main/.git/worktrees/n/commondir", "%/secrets\n");
}

static void gitdir_is_a_link(void)
{
    put("ws/plant", "%/ws/.git\n");
    need(unlink(trial_path("main/.git/worktrees/n/gitdir")) == 0);
    need(symlink("../../../../ws/plant", trial_path("main/.git/worktrees/n/gitdir")) == 0);
}

static void no_back_link(void)
{
    need(unlink(trial_path("main/.git/worktrees/n/gitdir")) == 0);
}

static void no_repository(void)
{
    need(unlink(trial_path("main/.git/HEAD")) == 0);
}

static void home_is_one(void)
{
    make_repository("home/r");
    trial_directory("home/worktrees");
    trial_directory("home/worktrees/n");
    put("home/HEAD", "x");
    trial_directory("home/objects");
    trial_directory("home/refs");
    put("home/worktrees/n/commondir", "../..\n");
    put("home/worktrees/n/gitdir", "%/ws/.git\n");
    put("ws/.git", "gitdir: %/home/worktrees/n\n");
}

static void separate(void)
{
    put("main/.git/modules/ws/config", "[core]\n\tbare = false\n");
}

static void worktree_elsewhere(void)
{
    trial_directory("else");
    put("main/.git/modules/ws/config", "[core]\n\tworktree = %/else\n");
}

static void worktree_in_another_section(void)
{
    put("main/.git/modules/ws/config", "[remote \"x\"]\n\tworktree = %/ws\n[corex]\nworktree = %/ws\n");
}

static void worktree_not_understood(void)
{
    put("main/.git/modules/ws/config", "[core]\n\tworktree = %/w\\\ns\n");
}

static void missing(void)
{
    put("ws/.git", "gitdir: %/nowhere\n");
}

static void nothing(void)
{
    put("ws/.git", "");
}

static void a_word(void)
{
    put("ws/.git", "gitdir: \n");
}

static void a_pipe(void)
{
    need(unlink(trial_path("ws/.git")) == 0 && mkfifo(trial_path("ws/.git"), 0600) == 0);
}

static void a_long_file(void)
{
    put("ws/.git", "gitdir: %/main/.git/worktrees/n\n");
    need(truncate(trial_path("ws/.git"), 1 << 30) == 0);
}

static void loop(void)
{
    need(unlink(trial_path("ws/.git")) == 0 && symlink(".git", trial_path("ws/.git")) == 0);
}

static const struct git_plant {
    const char *name;
    void (*make)(void), (*change)(void);
    const char *warning; /* NULL: none */
} git_plants[] = {
    {"a file names a directory of secrets", make_worktree, names_secrets, "does not name the workspace back"},
    {"a link to a directory of secrets", make_worktree, link_to_secrets, "does not name the workspace back"},
    {"a worktree of another workspace", make_worktree, other_workspace, "does not name the workspace back"},
    {"gitdir names another file", make_worktree, another_file_of_ours, "does not name the workspace back"},
    {"gitdir names a directory below", make_worktree, below_ours, "does not name the workspace back"},
    {"through a link of the workspace", make_worktree, through_a_link, "a symbolic link leads there"},
    {"back through a link", make_worktree, back_through_a_link, "does not name the workspace back"},
    {"commondir names something else", make_worktree, common_elsewhere, "does not name the workspace back"},
    {"gitdir is a link into the workspace", make_worktree, gitdir_is_a_link,
     "does not name the workspace back"},
    {"no way back", make_worktree, no_back_link, "does not name the workspace back"},
    {"no git directory", make_worktree, no_repository, "no git directory"},
    {"a home", make_worktree, home_is_one, "a home directory"},
    {"a separate git directory", make_submodule, separate, "--write for it would hand over its hooks"},
    {"core.worktree elsewhere", make_submodule, worktree_elsewhere, "does not name the workspace back"},
    {"worktree of another section", make_submodule, worktree_in_another_section,
     "does not name the workspace back"},
    {"a value over two lines", make_submodule, worktree_not_understood, "does not name the workspace back"},
    {"nothing there", make_worktree, missing, "No such file"},
    {"an empty file", make_worktree, nothing, NULL},
    {"a name is missing", make_worktree, a_word, NULL},
    {"a pipe", make_worktree, a_pipe, NULL},
    {"a file without end", make_worktree, a_long_file, NULL},
    {"a link to itself", make_worktree, loop, "a symbolic link leads there"},
};

TEST_EACH(a_plant_grants_nothing_and_stops_nothing, struct git_plant, git_plants)
{
    struct trial trial = start("workspace-write");

    row->make();
    row->change();
    check_int(trial_resolve(&trial), 0);
    check(find_other(&trial) == NULL);
    check(warns(&trial, "git-directory") == (row->warning != NULL));
    check(!row->warning || warns(&trial, row->warning));
    /* No option is offered that would hand over more than a repository. */
    check(warns(&trial, "--write") <= warns(&trial, "would hand over its hooks"));
    trial_end(&trial);
}

/* --- what else a repository names ---------------------------------------------------------------------- */

static bool is_protected(const struct trial *trial, const char *name)
{
    return strings_have(&trial->resolved.protected_paths, trial_path(name));
}

TEST(what_runs_later_is_found_in_the_common_directory)
{
    struct trial trial = start("workspace-write");

    make_worktree();
    trial_directory("ws/hooks");
    put("main/.git/config", "[core]\n\thooksPath = hooks\n");
    need(trial_resolve(&trial) == 0);
    check(is_protected(&trial, "ws/.git"));
    check(is_protected(&trial, "main/.git/hooks"));
    check(is_protected(&trial, "main/.git/info/attributes"));
    check(is_protected(&trial, "ws/hooks"));
    check(!is_protected(&trial, "main/.git/config"));
    trial_end(&trial);
}

TEST(a_git_directory_in_the_workspace_is_not_protected_itself)
{
    struct trial trial = start("workspace-write");

    trial_directory("ws");
    make_repository("ws/.git");
    need(trial_resolve(&trial) == 0);
    check(!is_protected(&trial, "ws/.git"));
    check(is_protected(&trial, "ws/.git/hooks"));
    check(find_other(&trial) == NULL);
    trial_end(&trial);
}

TEST(borrowed_objects_are_said_and_never_granted)
{
    struct trial trial = start("workspace-write");

    trial_directory("ws");
    make_repository("ws/.git");
    trial_directory("secrets");
    trial_directory("ws/near");
    put("ws/.git/objects/info/alternates", "# objects\n%/secrets\n../../near\n/nowhere\n");
    trial_set(&trial, KEY_READABLE, "listed");
    need(trial_resolve(&trial) == 0);
    check(warns(&trial, "git-alternates"));
    check(warns(&trial, trial_path("secrets")));
    check_int(trial.resolved.warnings.count, 1);
    check(trial_find(&trial, "secrets") == NULL);
    trial_end(&trial);
}

TEST(where_everything_is_readable_nothing_is_said)
{
    struct trial trial = start("workspace-write");

    trial_directory("ws");
    make_repository("ws/.git");
    trial_directory("secrets");
    put("ws/.git/objects/info/alternates", "%/secrets\n");
    need(trial_resolve(&trial) == 0);
    check(!warns(&trial, "git-alternates"));
    trial_end(&trial);
}

/* --- protected and unprotected, at any depth ------------------------------------------------------------ */

static const struct protection {
    const char *name, *protect, *unprotect;
    bool held, fails; /* is `protect` protected in the end, or the run refused? */
} protections[] = {
    {"nothing taken out", "dir", NULL, true, false},
    {"the same path", "dir", "dir", false, false},
    {"a path above", "dir/file", "dir", true, false},
    {"a hole", "dir", "dir/file", false, true},
    {"beside", "dir/file", "dir/other", true, false},
    {"a set, the same path", "@runs-later", ".vscode/tasks.json", false, false},
    {"a set, a path above", "@runs-later", ".vscode", false, false},
    {"a set, a hole", "@runs-later", ".idea/file", false, false},
};

TEST_EACH(between_paths_the_deepest_is_protected, struct protection, protections)
{
    struct trial trial = start("workspace-write");
    bool set = row->protect[0] == '@';
    char path[PATH_MAX];

    trial_directory("ws");
    trial_directory("ws/dir");
    trial_file("ws/dir/file", 0600);
    trial_file("ws/dir/other", 0600);
    trial_directory("ws/.vscode");
    trial_file("ws/.vscode/tasks.json", 0600);
    trial_directory("ws/.idea");
    trial_file("ws/.idea/file", 0600);
    snprintf(path, sizeof(path), "ws/%s", row->unprotect ? row->unprotect : "");
    if (row->unprotect)
        trial_add(&trial, LIST_UNPROTECT, trial_path(path));
    if (set) {
        snprintf(path, sizeof(path), "%s",
                 strstr(row->unprotect, ".idea") ? "ws/.idea" : "ws/.vscode/tasks.json");
    } else {
        snprintf(path, sizeof(path), "ws/%s", row->protect);
        trial_add(&trial, LIST_PROTECT, trial_path(path));
    }
    check(trial_resolve(&trial) == (row->fails ? -EINVAL : 0));
    if (row->fails)
        check_str(trial.error.reason, "unprotect-inside");
    check(is_protected(&trial, path) == row->held);
    trial_end(&trial);
}
