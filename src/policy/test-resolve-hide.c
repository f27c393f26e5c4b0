/* test-resolve-hide.c - hidden paths and their levels, edges, protected names. */
#include "harness.h"

#include "policy/test-resolve.h"

/* The names that one level leaves out, joined; NULL without a level there. */
static const char *level_of(const struct trial *trial, const char *path)
{
    static char joined[1024];

    for (size_t i = 0; i < trial->resolved.level_count; i++) {
        const struct hide_level *level = &trial->resolved.levels[i];

        if (strcmp(trial->resolved.paths[level->path].path, path) != 0)
            continue;
        joined[0] = '\0';
        for (size_t j = 0; j < level->except.count; j++)
            snprintf(joined + strlen(joined), sizeof(joined) - strlen(joined), "%s%s", j ? " " : "",
                     level->except.items[j]);
        return joined;
    }
    return NULL;
}

/* Only what the test hides: not the real credentials of whoever runs it. */
static struct trial start_hiding(void)
{
    struct trial trial = trial_start();

    trial_add(&trial, LIST_HIDE, "!@credentials");
    return trial;
}

/* How many levels there are for what the test hides: more than when it hides nothing. /dev is always left
 * out, and so are the same devices mounted elsewhere on this machine. */
static size_t level_count(const struct trial *trial)
{
    struct trial nothing = {.resolved = {.workspace_fd = -1, .cwd_fd = -1}};
    size_t levels;

    need(policy_init(&nothing.policy, &nothing.error) == 0);
    trial_add(&nothing, LIST_HIDE, "!@credentials");
    need(trial_resolve(&nothing) == 0);
    levels = nothing.resolved.level_count;
    trial_end(&nothing);
    return trial->resolved.level_count > levels ? trial->resolved.level_count - levels : 0;
}

TEST(every_directory_above_is_a_level)
{
    struct trial trial = start_hiding();

    trial_directory("home/.keys");
    trial_file("home/.keys/one", 0600);
    trial_file("home/.keys/two", 0600);
    trial_file("home/other", 0600);
    trial_add(&trial, LIST_HIDE, trial_path("home/.keys/one"));
    trial_add(&trial, LIST_HIDE, trial_path("home/.keys/two"));
    trial_add(&trial, LIST_HIDE, trial_path("home/other"));
    need(trial_resolve(&trial) == 0);
    check_int(trial.resolved.hidden_count, 3);
    check(trial_hidden(&trial, "home/.keys/one")->held == NULL);
    check(trial_hidden(&trial, "home/.keys/one")->readable);
    check(trial_hidden(&trial, "home/.keys/one")->named);
    check_str(level_of(&trial, trial_path("home/.keys")), "one two");
    check_str(level_of(&trial, trial_path("home")), ".keys other");
    check_str(level_of(&trial, test_dir), "home");
    check(level_of(&trial, "/") != NULL);
    trial_end(&trial);
}

TEST(nothing_hidden_makes_no_level)
{
    struct trial trial = start_hiding();

    need(trial_resolve(&trial) == 0);
    check_int(trial.resolved.hidden_count, 0);
    check_int(level_count(&trial), 0);
    trial_end(&trial);
}

TEST(no_level_lies_below_something_hidden)
{
    struct trial trial = start_hiding();

    trial_directory("home/.store");
    trial_file("home/.store/key", 0600);
    trial_add(&trial, LIST_HIDE, trial_path("home/.store/key"));
    trial_add(&trial, LIST_HIDE, trial_path("home/.store"));
    need(trial_resolve(&trial) == 0);
    check_int(trial.resolved.hidden_count, 2);
    check(trial_hidden(&trial, "home/.store/key")->held == NULL);
    check(level_of(&trial, trial_path("home/.store")) == NULL);
    check_str(level_of(&trial, trial_path("home")), ".store");
    trial_end(&trial);
}

TEST(inside_a_writable_grant_nothing_is_held)
{
    struct trial trial = start_hiding();

    trial_directory("ws");
    trial_file("ws/.env", 0600);
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, trial_path("ws"));
    trial_add(&trial, LIST_HIDE, trial_path("ws/.env"));
    need(trial_resolve(&trial) == 0);
    check_str(trial_hidden(&trial, "ws/.env")->held, "inside-writable");
    check_int(level_count(&trial), 0);
    trial_end(&trial);
}

TEST(what_stands_beside_a_grant_is_hidden)
{
    struct trial trial = start_hiding();

    trial_directory("home/projects");
    trial_directory("home/projects/ws");
    trial_directory("home/projects/other");
    trial_file("home/projects/other/x", 0600);
    trial_file("home/projects/key", 0600);
    need(symlink("key", trial_path("home/projects/link")) == 0);
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, trial_path("home/projects/ws"));
    trial_add(&trial, LIST_HIDE, trial_path("home/projects"));
    need(trial_resolve(&trial) == 0);
    check_int(trial.resolved.hidden_count, 2);
    need(trial_hidden(&trial, "home/projects/other") && trial_hidden(&trial, "home/projects/key"));
    check(trial_hidden(&trial, "home/projects/other")->held == NULL);
    check(trial_hidden(&trial, "home/projects/key")->held == NULL);
    check(trial_hidden(&trial, "home/projects/key")->named);
    check_int(trial_hidden(&trial, "home/projects/key")->source.list, LIST_HIDE);
    check(level_of(&trial, trial_path("home/projects")) != NULL);
    check_int(trial.resolved.warnings.count, 1);
    trial_end(&trial);
}

static void fill(const char *directory, unsigned count)
{
    char name[64];

    for (unsigned i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "%s/%u", directory, i);
        trial_file(name, 0600);
    }
}

TEST(beside_a_grant_there_may_be_too_much)
{
    struct trial trial = start_hiding();

    trial_directory("home/projects");
    trial_directory("home/projects/ws");
    fill("home/projects", 600);
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, trial_path("home/projects/ws"));
    trial_add(&trial, LIST_HIDE, trial_path("home/projects"));
    need(trial_resolve(&trial) == 0);
    check_int(trial.resolved.hidden_count, 1);
    check_str(trial_hidden(&trial, "home/projects")->held, "contains-grant");
    check_int(level_count(&trial), 0);
    trial_end(&trial);
}

/* The deepest path wins, whatever the order; at the same path it is shown. */
static const struct depth {
    const char *name;
    const char *hide[3], *show[3];
    const char *hidden; /* names of what is hidden, in their order */
} depths[] = {
    {"nothing shown", {"a"}, {NULL}, "a"},
    {"the same path", {"a"}, {"a"}, ""},
    {"shown above", {"a/b"}, {"a"}, "a/b"},
    {"shown below", {"a"}, {"a/b"}, "a/c"},
    {"shown below, hidden below that", {"a", "a/b/d"}, {"a/b"}, "a/b/d a/c"},
    {"shown two below", {"a"}, {"a/b/d"}, "a/b/e a/c"},
    {"all of a directory shown", {"a"}, {"a/b", "a/c"}, ""},
    {"beside", {"a/b"}, {"a/c"}, "a/b"},
};

static void check_depth(const struct depth *row, bool show_first)
{
    struct trial trial = start_hiding();
    char seen[256] = "";

    trial_directory("a");
    trial_directory("a/b");
    trial_file("a/b/d", 0600);
    trial_file("a/b/e", 0600);
    trial_file("a/c", 0600);
    for (int round = 0; round < 2; round++) {
        bool show = (round == 0) == show_first;

        for (size_t i = 0; i < 3; i++)
            if ((show ? row->show : row->hide)[i])
                trial_add(&trial, show ? LIST_SHOW : LIST_HIDE,
                          trial_path((show ? row->show : row->hide)[i]));
    }
    need(trial_resolve(&trial) == 0);
    for (size_t i = 0; i < trial.resolved.hidden_count; i++) {
        check(trial.resolved.hidden[i].held == NULL);
        snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), "%s%s", i ? " " : "",
                 trial.resolved.hidden[i].path + strlen(test_dir) + 1);
    }
    check_str(seen, row->hidden);
    trial_end(&trial);
}

TEST_EACH(the_deepest_path_wins, struct depth, depths)
{
    check_depth(row, false);
}

TEST_EACH(in_any_order, struct depth, depths)
{
    check_depth(row, true);
}

static const struct siblings {
    const char *name;
    unsigned count;
    const char *held;
} siblings[] = {{"at the bound", 511, NULL}, {"above the bound", 512, "too-many-siblings"}};

TEST_EACH(a_level_has_a_bound, struct siblings, siblings)
{
    struct trial trial = start_hiding();

    trial_directory("home/many");
    trial_file("home/many/secret", 0600);
    fill("home/many", row->count);
    trial_add(&trial, LIST_HIDE, trial_path("home/many/secret"));
    need(trial_resolve(&trial) == 0);
    check_str(trial_hidden(&trial, "home/many/secret")->held, row->held);
    check_int(level_count(&trial) > 0, row->held == NULL);
    trial_end(&trial);
}

TEST(a_key_that_stays_readable_says_why)
{
    struct trial trial = trial_start();

    trial_directory("home/.ssh");
    trial_file("home/.ssh/id_rsa", 0600);
    fill("home/.ssh", 512);
    need(trial_resolve(&trial) == 0);
    check_str(trial_hidden(&trial, "home/.ssh/id_rsa")->held, "too-many-siblings");
    trial_end(&trial);
}

TEST(a_directory_that_cannot_be_listed_is_no_level)
{
    struct trial trial = start_hiding();

    trial_directory("home/shut");
    trial_file("home/shut/secret", 0600);
    trial_add(&trial, LIST_HIDE, trial_path("home/shut/secret"));
    need(chmod(trial_path("home/shut"), 0100) == 0);
    if (geteuid() == 0) { /* root lists everything: be the owner without privilege */
        need(chown(trial_path("home/shut"), 65534, 65534) == 0 && chmod(test_dir, 0755) == 0);
        need(chown(trial_path("home/shut/secret"), 65534, 65534) == 0);
        need(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
    }
    need(trial_resolve(&trial) == 0);
    check_str(trial_hidden(&trial, "home/shut/secret")->held, "not-listable");
    trial_end(&trial);
}

TEST(a_shown_path_is_not_hidden)
{
    struct trial trial = start_hiding();

    trial_directory("home/.keys");
    trial_file("home/.keys/one", 0600);
    trial_file("home/.keys/two", 0600);
    trial_add(&trial, LIST_HIDE, trial_path("home/.keys/one"));
    trial_add(&trial, LIST_HIDE, trial_path("home/.keys/two"));
    trial_add(&trial, LIST_SHOW, trial_path("home/.keys/two"));
    need(trial_resolve(&trial) == 0);
    check(trial_hidden(&trial, "home/.keys/one") != NULL);
    check(trial_hidden(&trial, "home/.keys/two") == NULL);
    resolved_free(&trial.resolved);
    trial_add(&trial, LIST_READ, trial_path("home/.keys/one"));
    need(trial_resolve(&trial) == 0);
    check(trial_hidden(&trial, "home/.keys/one") == NULL);
    trial_end(&trial);
}

TEST(credentials_of_both_homes_are_hidden)
{
    struct trial trial = trial_start();

    trial_directory("home/.ssh");
    trial_file("home/.ssh/id_ed25519", 0600);
    trial_directory("gnupg");
    trial_directory("gnupg/private-keys-v1.d");
    need(strings_addf(&trial.env, "GNUPGHOME=%s", trial_path("gnupg")) == 0);
    need(trial_resolve(&trial) == 0);
    check(trial_hidden(&trial, "home/.ssh/id_ed25519") != NULL);
    check(trial_hidden(&trial, "gnupg/private-keys-v1.d") != NULL);
    check(!trial_hidden(&trial, "home/.ssh/id_ed25519")->named);
    trial_end(&trial);
}

/* Whoever reads the variable may take the colon for a part of the name, or for what stands between two. */
TEST(a_variable_names_one_path_or_several)
{
    struct trial trial = trial_start();

    trial_file("one:two", 0600);
    trial_file("three", 0600);
    need(strings_addf(&trial.env, "AWS_SHARED_CREDENTIALS_FILE=%s", trial_path("one:two")) == 0);
    need(strings_addf(&trial.env, "KUBECONFIG=%s:%s/four", trial_path("three"), test_dir) == 0);
    trial_file("four", 0600);
    need(trial_resolve(&trial) == 0);
    check(trial_hidden(&trial, "one:two") != NULL);
    check(trial_hidden(&trial, "three") != NULL);
    check(trial_hidden(&trial, "four") != NULL);
    trial_end(&trial);
}

TEST(what_cannot_be_read_anyway_is_left_out_unless_named)
{
    struct trial trial = trial_start();

    if (geteuid() != 0)
        test_skip("only root can make somebody else's file");
    trial_directory("home/.ssh");
    trial_file("home/.ssh/id_rsa", 0600);
    need(chmod(test_dir, 0755) == 0);
    trial_set(&trial, KEY_USER, "4242");
    need(trial_resolve(&trial) == 0);
    check(trial_hidden(&trial, "home/.ssh/id_rsa") == NULL);
    resolved_free(&trial.resolved);
    need(chmod(trial_path("home/.ssh/id_rsa"), 0604) == 0);
    need(trial_resolve(&trial) == 0);
    check(trial_hidden(&trial, "home/.ssh/id_rsa") != NULL);
    resolved_free(&trial.resolved);
    need(chmod(trial_path("home"), 0700) == 0); /* readable, and out of reach */
    need(trial_resolve(&trial) == 0);
    check(trial_hidden(&trial, "home/.ssh/id_rsa") == NULL);
    resolved_free(&trial.resolved);
    trial_add(&trial, LIST_HIDE, trial_path("home/.ssh/id_rsa"));
    need(trial_resolve(&trial) == 0);
    check(trial_hidden(&trial, "home/.ssh/id_rsa") != NULL);
    trial_end(&trial);
}

TEST(the_shadow_file_is_hidden_from_root_only)
{
    struct trial trial = trial_start();

    need(trial_resolve(&trial) == 0);
    check_int(trial_hidden(&trial, "/etc/shadow") != NULL,
              geteuid() == 0 && access("/etc/shadow", F_OK) == 0);
    trial_end(&trial);
}

TEST(a_missing_named_path_is_an_error_unless_optional)
{
    struct trial trial = start_hiding();

    trial_add(&trial, LIST_HIDE, trial_path("nothing?"));
    need(trial_resolve(&trial) == 0);
    check_int(trial.resolved.skipped_count, 1);
    resolved_free(&trial.resolved);
    trial_add(&trial, LIST_HIDE, trial_path("nothing"));
    check(trial_resolve(&trial) < 0);
    check_str(trial.error.reason, "path-missing");
    trial_end(&trial);
}

TEST(what_is_not_readable_at_all_needs_no_level)
{
    struct trial trial = start_hiding();

    trial_directory("ws");
    trial_file("home/secret", 0600);
    trial_set(&trial, KEY_READABLE, "listed");
    trial_set(&trial, KEY_WORKSPACE, trial_path("ws"));
    trial_add(&trial, LIST_HIDE, trial_path("home/secret"));
    need(trial_resolve(&trial) == 0);
    check(trial_hidden(&trial, "home/secret") && !trial_hidden(&trial, "home/secret")->held);
    check_int(level_count(&trial), 0);
    trial_end(&trial);
}

/* --- edges --------------------------------------------------------------------------------------------- */

TEST(edges_lie_right_outside)
{
    struct trial trial = start_hiding();
    bool etc = false;

    trial_directory("home/ws");
    trial_directory("home/other");
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, trial_path("home/ws"));
    trial_set(&trial, KEY_CACHES, "off");
    need(trial_resolve(&trial) == 0);
    need(trial.resolved.edge_count >= 3 && trial.resolved.edge_count <= 6);
    check_str(trial.resolved.edges[0].parent, trial_path("home"));
    check_str(trial.resolved.edges[0].name, "ws");
    check(trial.resolved.edges[0].named);
    for (size_t i = 0; i < trial.resolved.edge_count; i++) {
        const struct edge *edge = &trial.resolved.edges[i];

        check(!resolved_under_writable(&trial.resolved, edge->parent));
        check(edge->parent_fd >= 0);
        if (edge->name) /* the try itself: it must succeed out here */
            check_int(renameat(edge->parent_fd, edge->name, edge->parent_fd, edge->name), 0);
        etc |= strcmp(edge->parent, "/etc") == 0;
    }
    check(etc);
    trial_end(&trial);
}

/* What is hidden may have no name inside, and so shows nothing there. */
TEST(an_edge_is_no_hidden_name)
{
    struct trial trial = start_hiding();
    bool seen = false;

    trial_file("home/a", 0600);
    trial_file("home/b", 0600);
    trial_file("home/c", 0600);
    trial_add(&trial, LIST_HIDE, trial_path("home/a"));
    trial_add(&trial, LIST_HIDE, trial_path("home/c"));
    need(trial_resolve(&trial) == 0);
    for (size_t i = 0; i < trial.resolved.edge_count; i++)
        if (strcmp(trial.resolved.edges[i].parent, trial_path("home")) == 0) {
            seen = true;
            check_str(trial.resolved.edges[i].name, "b");
        }
    check(seen);
    trial_end(&trial);
}

TEST(many_roots_make_few_edges)
{
    struct trial trial = start_hiding();
    char name[32], inner[64];

    trial_set(&trial, KEY_MODE, "workspace-write");
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "d%d", i);
        trial_directory(name);
        snprintf(inner, sizeof(inner), "%s/w", name);
        trial_directory(inner);
        trial_add(&trial, LIST_WRITE, trial_path(inner));
    }
    need(trial_resolve(&trial) == 0);
    check(trial.resolved.edge_count <= 6);
    check_str(trial.resolved.edges[trial.resolved.edge_count - 1].parent, "/etc");
    trial_end(&trial);
}

TEST(a_hidden_directory_is_tried_on_a_file_in_it)
{
    struct trial trial = start_hiding();

    trial_directory("ws");
    trial_directory("secret");
    trial_directory("secret/below");
    trial_directory("empty");
    trial_file("secret/key", 0600);
    trial_set(&trial, KEY_WORKSPACE, trial_path("ws"));
    trial_add(&trial, LIST_HIDE, trial_path("secret"));
    trial_add(&trial, LIST_HIDE, trial_path("empty"));
    need(trial_resolve(&trial) == 0);
    for (size_t i = 0; i < trial.resolved.hidden_count; i++) {
        const struct hidden *hidden = &trial.resolved.hidden[i];

        if (strcmp(hidden->path, trial_path("secret")) == 0)
            check_str(hidden->sample, "secret/key");
        if (strcmp(hidden->path, trial_path("empty")) == 0)
            check_str(hidden->sample, NULL);
    }
    check(trial.resolved.hidden_count >= 2);
    trial_end(&trial);
}

/* --- protected names ----------------------------------------------------------------------------------- */

TEST(protected_names_are_those_in_a_writable_grant)
{
    struct trial trial = start_hiding();

    trial_directory("ws");
    trial_directory("ws/.vscode");
    trial_file("ws/.vscode/tasks.json", 0644);
    trial_file("ws/.envrc", 0644);
    trial_file("home/.bashrc", 0644);
    trial_file("ws/own", 0644);
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, trial_path("ws"));
    trial_add(&trial, LIST_PROTECT, trial_path("ws/own"));
    trial_add(&trial, LIST_UNPROTECT, trial_path("ws/.envrc"));
    trial_set(&trial, KEY_BACKEND, "landlock");
    need(trial_resolve(&trial) == 0);
    check(!strings_have(&trial.resolved.protected_paths, trial_path("ws/.vscode/tasks.json")));
    check(strings_have(&trial.resolved.protected_paths, trial_path("ws/own")));
    resolved_free(&trial.resolved);
    trial_set(&trial, KEY_BACKEND, "auto"); /* the default is looked for where mounts may hold it */
    need(trial_resolve(&trial) == 0);
    check(strings_have(&trial.resolved.protected_paths, trial_path("ws/.vscode/tasks.json")));
    check(strings_have(&trial.resolved.protected_paths, trial_path("ws/own")));
    check(!strings_have(&trial.resolved.protected_paths, trial_path("ws/.envrc")));
    check(!strings_have(&trial.resolved.protected_paths, trial_path("home/.bashrc")));
    check(trial.resolved.named[SURFACE_FS_PROTECTED]);
    trial_end(&trial);
}
