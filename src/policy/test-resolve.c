/* test-resolve.c - workspace, environment, user, what is asked of surfaces. */
#include "harness.h"

#include "policy/test-resolve.h"

/* --- workspace ----------------------------------------------------------------------------------------- */

TEST(a_workspace_is_the_only_named_writable_grant)
{
    struct trial trial = trial_start();

    trial_directory("ws");
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, trial_path("ws"));
    need(trial_resolve(&trial) == 0);
    check_int(trial_count(&trial, GRANT_WRITE, true), 1);
    check(trial_find(&trial, "ws") != NULL);
    check_str(trial.resolved.workspace, trial_path("ws"));
    check_str(trial.resolved.cwd, trial_path("ws")); /* the caller's lies outside */
    check(trial.resolved.named[SURFACE_FS_WRITE] && trial.resolved.named[SURFACE_FS_TRUNCATE]);
    trial_end(&trial);
}

TEST(read_only_grants_nothing_writable)
{
    struct trial trial = trial_start();

    trial_directory("ws");
    trial_set(&trial, KEY_WORKSPACE, trial_path("ws"));
    need(trial_resolve(&trial) == 0);
    check_int(trial_count(&trial, GRANT_WRITE, false) + trial_count(&trial, GRANT_WRITE, true), 0);
    check_str(trial.resolved.mode_from, "default");
    check(trial.resolved.edge_count > 0 && trial.resolved.edges[0].named);
    check_str(trial.resolved.edges[0].parent, trial_path("ws")); /* the workspace itself is outside here */
    trial_end(&trial);
}

TEST(the_repository_is_found_upwards)
{
    struct trial trial = trial_start();

    trial_directory("repo");
    trial_directory("repo/.git");
    trial_directory("repo/a");
    trial_directory("repo/a/b");
    need(chdir(trial_path("repo/a/b")) == 0);
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, "@git");
    need(trial_resolve(&trial) == 0);
    check_str(trial.resolved.workspace, trial_path("repo"));
    check_str(trial.resolved.cwd, trial_path("repo/a/b"));
    trial_end(&trial);
}

TEST(no_repository_is_an_error)
{
    struct trial trial = trial_start();

    need(chdir(test_dir) == 0);
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, "@git");
    check(trial_resolve(&trial) < 0);
    check_str(trial.error.reason, "no-repository");
    check_has(trial.error.hint, "change into a repository");
    trial_end(&trial);
}

/* Changing into another directory would not help: a file's `@git` is where the file is. */
TEST(no_repository_around_a_file)
{
    struct trial trial = trial_start();

    trial_directory("repo");
    trial_directory("repo/.git");
    trial_directory("settings");
    need(chdir(trial_path("repo")) == 0);
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, "@git");
    need((trial.policy.workspace_base = strdup(trial_path("settings"))) != NULL);
    check(trial_resolve(&trial) < 0);
    check_str(trial.error.reason, "no-repository");
    check_has(trial.error.hint, "say --workspace @git");
    trial_end(&trial);
}

static const struct wide {
    const char *name;
    const char *reason;
    bool shared; /* for --write it may be asked for by name */
} wide_paths[] = {
    {"/", "workspace-too-wide"},          {"/usr", "workspace-too-wide"},
    {"/usr/bin", "workspace-too-wide"},   {"/usr/lib", "workspace-too-wide"},
    {"/bin", "workspace-too-wide"},       {"/etc", "workspace-too-wide"},
    {"/var", "workspace-too-wide"},       {"/dev", "workspace-too-wide"},
    {"/proc", "workspace-too-wide"},      {"/proc/self", "workspace-too-wide"},
    {"/sys", "workspace-too-wide"},       {"/run", "workspace-too-wide"},
    {"/tmp", "workspace-too-wide", true}, {"/var/tmp", "workspace-too-wide", true},
    {"/home", "workspace-too-wide"},      {"/boot", "workspace-too-wide"},
    {"/tmp/..", "workspace-too-wide"},    {"/dev/shm", "workspace-too-wide", true},
    {"HOME", "workspace-too-wide"},       {"ABOVE", "workspace-too-wide"},
    {"PROGRAM", "launcher-writable"},     {"LINKS", "launcher-writable"},
};

static const char *wide_path(const char *name)
{
    static char path[PATH_MAX];
    ssize_t length;

    if (strcmp(name, "HOME") == 0)
        return trial_path("home");
    if (strcmp(name, "ABOVE") == 0)
        return test_dir;
    if (name[0] == '/')
        return name;
    length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    need(length > 0);
    path[length] = '\0';
    *strrchr(path, '/') = '\0';
    if (strcmp(name, "PROGRAM") == 0)
        return path;
    *strrchr(path, '/') = '\0';
    return path;
}

/* Does the place hold the home of this test, or the program? Then it is refused for that, whoever asks. */
static bool holds_us(const char *place)
{
    char program[PATH_MAX] = "";
    size_t length = strlen(place);

    need(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
    return strncmp(test_dir, place, length) == 0 || strncmp(program, place, length) == 0;
}

TEST_EACH(too_wide_is_refused_as_a_workspace, struct wide, wide_paths)
{
    struct trial trial = trial_start();
    const char *path = wide_path(row->name);
    struct stat st;

    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        test_skip("%s is not here", path);
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, path);
    check(trial_resolve(&trial) < 0);
    if (row->name[0] != '/' || !path[1] || !holds_us(path)) /* holding the program comes first */
        check_str(trial.error.reason, row->reason);
    check(trial.error.hint[0] != '\0');
    check_int(trial.resolved.path_count, 0);
    trial_end(&trial);
}

TEST_EACH(too_wide_is_refused_for_write, struct wide, wide_paths)
{
    struct trial trial = trial_start();
    const char *path = wide_path(row->name);
    struct stat st;

    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        test_skip("%s is not here", path);
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_add(&trial, LIST_WRITE, path);
    check((trial_resolve(&trial) == 0) == (row->shared && !holds_us(path)));
    if (row->name[0] != '/' || !path[1] || !holds_us(path))
        if (!row->shared)
            check_str(trial.error.reason, row->reason);
    trial_end(&trial);
}

TEST(workspace_write_needs_something_to_write)
{
    struct trial trial = trial_start();

    trial_set(&trial, KEY_MODE, "workspace-write");
    check(trial_resolve(&trial) < 0);
    check_str(trial.error.reason, "no-workspace");
    check_has(trial.error.hint, "-w");
    trial_end(&trial);
}

TEST(an_approved_mode_is_wider)
{
    struct trial trial = trial_start();

    trial_directory("ws");
    trial_set(&trial, KEY_WORKSPACE, trial_path("ws"));
    trial_set(&trial, KEY_APPROVED_MODE, "workspace-write");
    need(trial_resolve(&trial) == 0);
    check_int(trial.resolved.mode, MODE_WORKSPACE_WRITE);
    check_str(trial.resolved.mode_from, "approved");
    trial_end(&trial);
}

TEST(an_approved_mode_that_is_not_wider_is_an_error)
{
    struct trial trial = trial_start();

    trial_directory("ws");
    trial_set(&trial, KEY_WORKSPACE, trial_path("ws"));
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_APPROVED_MODE, "workspace-write");
    check(trial_resolve(&trial) < 0);
    check_str(trial.error.reason, "not-wider");
    trial_end(&trial);
}

/* --- environment --------------------------------------------------------------------------------------- */

TEST(secrets_go_and_are_named)
{
    struct trial trial = trial_start();

    trial_variable(&trial, "MY_TOKEN=1");
    trial_variable(&trial, "OTHER_TOKEN=2");
    trial_variable(&trial, "PLAIN=3");
    trial_variable(&trial, "WSL_INTEROP=/run/x");
    trial_add(&trial, LIST_ENV_PASS, "OTHER_TOKEN");
    trial_add(&trial, LIST_ENV_UNSET, "PLAIN");
    trial_add(&trial, LIST_ENV_SET, "ADDED=a");
    trial_add(&trial, LIST_ENV_SET, "ADDED=b");
    need(trial_resolve(&trial) == 0);
    check(!strings_have(&trial.resolved.env, "MY_TOKEN=1"));
    check(strings_have(&trial.resolved.env, "OTHER_TOKEN=2"));
    check(!strings_have(&trial.resolved.env, "PLAIN=3"));
    check(!strings_have(&trial.resolved.env, "WSL_INTEROP=/run/x"));
    check(strings_have(&trial.resolved.env, "ADDED=b") && !strings_have(&trial.resolved.env, "ADDED=a"));
    check(strings_have(&trial.resolved.env_unset, "MY_TOKEN"));
    check(strings_have(&trial.resolved.env_unset, "PLAIN"));
    check_int(trial.resolved.env_secrets.count, 1);
    check_str(trial.resolved.env_secrets.items[0], "MY_TOKEN");
    trial_end(&trial);
}

TEST(a_clean_environment_keeps_the_base)
{
    struct trial trial = trial_start();

    trial_variable(&trial, "LC_ALL=C");
    trial_variable(&trial, "PATH=/bin");
    trial_variable(&trial, "EDITOR=vi");
    trial_variable(&trial, "KEPT=1");
    trial_set(&trial, KEY_ENV_CLEAN, "true");
    trial_set(&trial, KEY_CACHES, "off");
    trial_add(&trial, LIST_ENV_PASS, "KEPT");
    need(trial_resolve(&trial) == 0);
    check(strings_have(&trial.resolved.env, "LC_ALL=C") && strings_have(&trial.resolved.env, "PATH=/bin"));
    check(strings_have(&trial.resolved.env, "KEPT=1") && !strings_have(&trial.resolved.env, "EDITOR=vi"));
    trial_end(&trial);
}

/* --- user ---------------------------------------------------------------------------------------------- */

TEST(a_root_caller_becomes_the_owner)
{
    struct trial trial = trial_start();

    if (geteuid() != 0)
        test_skip("only for root");
    trial_directory("ws");
    need(chown(trial_path("ws"), 65534, 65534) == 0 && chmod(test_dir, 0755) == 0);
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, trial_path("ws"));
    need(trial_resolve(&trial) == 0);
    check_int(trial.resolved.uid, 65534);
    check_int(trial.resolved.gid, 65534);
    check(trial.resolved.switch_user);
    check(strings_have(&trial.resolved.env, "USER=nobody"));
    resolved_free(&trial.resolved);
    trial_set(&trial, KEY_USER, "keep");
    need(trial_resolve(&trial) == 0);
    check_int(trial.resolved.uid, 0);
    check(!trial.resolved.switch_user);
    resolved_free(&trial.resolved);
    trial_set(&trial, KEY_USER, "4242");
    need(trial_resolve(&trial) == 0);
    check_int(trial.resolved.uid, 4242);
    check_int(trial.resolved.gid, 4242); /* no entry */
    trial_end(&trial);
}

/* As whom is known only when the workspace is open, and has been looked at once. */
TEST(policies_of_the_user_that_root_becomes_are_no_workspace)
{
    struct trial trial = trial_start();

    if (geteuid() != 0)
        test_skip("only for root");
    trial_directory("other");
    trial_directory("other/.config");
    trial_directory("other/.config/confine");
    trial_directory("other/project");
    need(chown(trial_path("other/.config/confine"), 4242, 4242) == 0 && chmod(test_dir, 0755) == 0);
    need(chown(trial_path("other/project"), 4242, 4242) == 0);
    need(asprintf(&trial.policy.passwd, "root:x:0:0::%s:/bin/sh\nother:x:4242:4242::%s:/bin/sh\n",
                  trial_path("home"), trial_path("other")) > 0);
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, trial_path("other/project"));
    need(trial_resolve(&trial) == 0);
    check_int(trial.resolved.uid, 4242);
    resolved_free(&trial.resolved);
    trial_set(&trial, KEY_WORKSPACE, trial_path("other/.config/confine"));
    check(trial_resolve(&trial) < 0);
    check_str(trial.error.reason, "workspace-too-wide");
    check(strstr(trial.error.message, "policies"));
    trial_end(&trial);
}

TEST(another_user_needs_root)
{
    struct trial trial = trial_start();

    if (geteuid() == 0)
        need(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
    trial_set(&trial, KEY_USER, "4242");
    check(trial_resolve(&trial) < 0);
    check_str(trial.error.reason, "user-needs-root");
    trial_end(&trial);
}

/* --- what is asked of surfaces ------------------------------------------------------------------------- */

TEST(what_is_named_is_marked)
{
    struct trial trial = trial_start();

    trial_add(&trial, LIST_OPEN, "priv.userns");
    trial_add(&trial, LIST_REQUIRE, "network");
    trial_set(&trial, KEY_NETWORK, "none");
    trial_set(&trial, KEY_LIMIT_TIME, "10s");
    need(trial_resolve(&trial) == 0);
    check(trial.resolved.open[SURFACE_PRIV_USERNS]);
    check(trial.resolved.required_group[SURFACE_NET_TCP] &&
          trial.resolved.required_group[SURFACE_NET_LISTED]);
    check(!trial.resolved.required[SURFACE_FS_READ] && !trial.resolved.require_full);
    check(trial.resolved.named[SURFACE_NET_UDP] && trial.resolved.named[SURFACE_LIMIT_TIME]);
    check(!trial.resolved.named[SURFACE_FS_HIDDEN] && !trial.resolved.named[SURFACE_ENV_SECRETS]);
    trial_end(&trial);
}

TEST(a_surface_is_not_opened_and_required)
{
    struct trial trial = trial_start();

    trial_add(&trial, LIST_OPEN, "net.tcp");
    trial_add(&trial, LIST_REQUIRE, "network");
    need(trial_resolve(&trial) == 0);
    resolved_free(&trial.resolved);
    trial_add(&trial, LIST_REQUIRE, "net.tcp");
    check(trial_resolve(&trial) < 0);
    check_str(trial.error.reason, "require-opened");
    trial_end(&trial);
}

TEST(an_optional_entry_names_nothing)
{
    struct trial trial = trial_start();

    trial_file("secret", 0600);
    trial_add(&trial, LIST_HIDE, trial_path("secret?"));
    need(trial_resolve(&trial) == 0);
    check(!trial.resolved.named[SURFACE_FS_HIDDEN]);
    resolved_free(&trial.resolved);
    trial_add(&trial, LIST_HIDE, trial_path("secret"));
    need(trial_resolve(&trial) == 0);
    check(trial.resolved.named[SURFACE_FS_HIDDEN]);
    trial_end(&trial);
}

TEST(a_passed_descriptor_is_open)
{
    struct trial trial = trial_start();
    char number[16];
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    need(fd > 2);
    snprintf(number, sizeof(number), "%d", fd);
    trial_add(&trial, LIST_PASS_FD, number);
    need(trial_resolve(&trial) == 0);
    check_int(trial.resolved.pass_fd_count, 1);
    check_int(trial.resolved.pass_fds[0], fd);
    resolved_free(&trial.resolved);
    close(fd);
    check(trial_resolve(&trial) < 0);
    check_str(trial.error.reason, "descriptor-invalid");
    trial_end(&trial);
}

TEST(danger_resolves_no_grant_and_keeps_the_environment)
{
    struct trial trial = trial_start();

    trial_variable(&trial, "MY_TOKEN=1");
    trial_set(&trial, KEY_MODE, "danger-full-access");
    need(trial_resolve(&trial) == 0);
    check_int(trial.resolved.path_count, 0);
    check(strings_have(&trial.resolved.env, "MY_TOKEN=1"));
    trial_end(&trial);
}

TEST(every_descriptor_is_given_back)
{
    struct trial trial = trial_start();
    int before, after;

    trial_directory("ws");
    trial_file("home/secret", 0600);
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, trial_path("ws"));
    trial_add(&trial, LIST_HIDE, trial_path("home/secret"));
    before = dup(0);
    close(before);
    for (int i = 0; i < 20; i++) {
        need(trial_resolve(&trial) == 0);
        resolved_free(&trial.resolved);
    }
    trial_add(&trial, LIST_READ, trial_path("missing"));
    for (int i = 0; i < 20; i++)
        need(trial_resolve(&trial) < 0);
    after = dup(0);
    close(after);
    check_int(after, before);
    trial_end(&trial);
}
