/* test-resolve.c - workspace, grants, user, environment, start directory. */
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

/* --- lists --------------------------------------------------------------------------------------------- */

TEST(nested_writable_roots_become_the_outermost)
{
    struct trial trial = trial_start();

    trial_directory("ws");
    trial_directory("ws/in");
    trial_directory("ws-2"); /* begins like ws, and is no part of it */
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_add(&trial, LIST_WRITE, trial_path("ws/in"));
    trial_add(&trial, LIST_WRITE, trial_path("ws"));
    trial_add(&trial, LIST_WRITE, trial_path("ws/"));
    trial_add(&trial, LIST_WRITE, trial_path("ws-2"));
    need(trial_resolve(&trial) == 0);
    check_int(trial_count(&trial, GRANT_WRITE, true), 2);
    check(trial_find(&trial, "ws") && trial_find(&trial, "ws-2") && !trial_find(&trial, "ws/in"));
    check(resolved_under_writable(&trial.resolved, trial_path("ws/in/x")));
    check(!resolved_under_writable(&trial.resolved, trial_path("ws-3")));
    trial_end(&trial);
}

TEST(a_missing_path_is_an_error_unless_optional)
{
    struct trial trial = trial_start();

    trial_directory("ws");
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, trial_path("ws"));
    trial_add(&trial, LIST_WRITE, trial_path("nothing?"));
    need(trial_resolve(&trial) == 0);
    check_int(trial.resolved.skipped_count, 1);
    check_has(trial.resolved.skipped[0].what, "nothing");
    resolved_free(&trial.resolved);
    trial_add(&trial, LIST_WRITE, trial_path("nothing"));
    check(trial_resolve(&trial) < 0);
    check_str(trial.error.reason, "path-missing");
    check_has(trial.error.message, "--test");
    trial_end(&trial);
}

TEST(writing_in_read_only_is_an_error)
{
    struct trial trial = trial_start();

    trial_directory("d");
    trial_add(&trial, LIST_WRITE, trial_path("d"));
    check(trial_resolve(&trial) < 0);
    check_str(trial.error.reason, "read-only-write");
    trial_end(&trial);
}

TEST(names_that_are_no_text_work)
{
    static const char odd[] = "a\xff\n\x1b[31m\"b";
    struct trial trial = trial_start();

    trial_directory(odd);
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, trial_path(odd));
    need(trial_resolve(&trial) == 0);
    check_str(trial.resolved.workspace, trial_path(odd));
    trial_end(&trial);
}

TEST(a_name_in_an_error_is_escaped)
{
    struct trial trial = trial_start();

    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, trial_path("\x1b]0;x\a\nno"));
    check(trial_resolve(&trial) < 0);
    check(strpbrk(trial.error.message, "\x1b\n\a") == NULL);
    trial_end(&trial);
}

static const struct kind {
    const char *name;
    enum list list;
    const char *path, *reason;
} kinds[] = {
    {"a device by --write", LIST_WRITE, "/dev/null", "not-a-file"},
    {"memory", LIST_DEVICES, "/dev/mem", "device-refused"},
    {"ports", LIST_DEVICES, "/dev/port", "device-refused"},
    {"a directory as a device", LIST_DEVICES, "/usr", "not-a-device"},
    {"a directory as a socket", LIST_SOCKETS, "/usr", "not-a-socket"},
    {"the docker socket", LIST_SOCKETS, "SOCKET/docker.sock", "socket-root-equivalent"},
    {"the podman socket", LIST_SOCKETS, "SOCKET/podman.sock", "socket-root-equivalent"},
    {"the containerd socket", LIST_SOCKETS, "SOCKET/containerd.sock", "socket-root-equivalent"},
    {"the system bus", LIST_SOCKETS, "SOCKET/system_bus_socket", "socket-root-equivalent"},
    {"a socket by --write", LIST_WRITE, "SOCKET/s", "not-a-file"},
};

TEST_EACH(wrong_kinds_are_refused, struct kind, kinds)
{
    struct trial trial = trial_start();
    const char *path = row->path;
    struct stat st;

    if (strncmp(path, "SOCKET/", 7) == 0) {
        path = trial_path(path + 7);
        need(mknod(path, S_IFSOCK | 0600, 0) == 0);
    }
    if (stat(path, &st) != 0)
        test_skip("%s is not here", path);
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_directory("ws");
    trial_set(&trial, KEY_WORKSPACE, trial_path("ws"));
    trial_add(&trial, row->list, path);
    check(trial_resolve(&trial) < 0);
    check_str(trial.error.reason, row->reason);
    trial_end(&trial);
}

TEST(a_socket_is_granted)
{
    struct trial trial = trial_start();

    need(mknod(trial_path("agent"), S_IFSOCK | 0600, 0) == 0);
    trial_add(&trial, LIST_SOCKETS, trial_path("agent"));
    need(trial_resolve(&trial) == 0);
    check_int(trial_count(&trial, GRANT_SOCKET, true), 1);
    check(!trial.resolved.named[SURFACE_UNIX_PATH]); /* or nothing could grant one below ABI 9 */
    trial_end(&trial);
}

TEST(listed_leaves_the_root_out)
{
    struct trial trial = trial_start();

    trial_directory("ws");
    trial_directory("extra");
    trial_set(&trial, KEY_READABLE, "listed");
    trial_set(&trial, KEY_WORKSPACE, trial_path("ws"));
    trial_add(&trial, LIST_READ, trial_path("extra"));
    need(trial_resolve(&trial) == 0);
    check(!trial_find(&trial, "/"));
    check(trial_find(&trial, "/usr") != NULL);
    check(trial_find(&trial, "extra") != NULL);
    check(trial.resolved.named[SURFACE_FS_READ]);
    trial_end(&trial);
}

TEST(a_start_directory_outside_the_readable_is_refused)
{
    struct trial trial = trial_start();

    trial_directory("ws");
    trial_directory("elsewhere");
    trial_set(&trial, KEY_READABLE, "listed");
    trial_set(&trial, KEY_WORKSPACE, trial_path("ws"));
    trial_set(&trial, KEY_CHDIR, trial_path("elsewhere"));
    check(trial_resolve(&trial) < 0);
    check_str(trial.error.reason, "cwd-unreadable");
    trial_end(&trial);
}

TEST(a_start_directory_must_be_one)
{
    struct trial trial = trial_start();

    trial_file("file", 0644);
    trial_set(&trial, KEY_CHDIR, trial_path("file"));
    check(trial_resolve(&trial) < 0);
    check_str(trial.error.reason, "not-a-directory");
    trial_end(&trial);
}

/* --- links --------------------------------------------------------------------------------------------- */

/* A home cannot be a writable root, so no command has made a link in it. */
TEST(a_link_in_the_home_is_followed)
{
    struct trial trial = trial_start();

    trial_directory("ws");
    need(symlink("../ws", trial_path("home/link")) == 0);
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, trial_path("home/link"));
    need(trial_resolve(&trial) == 0);
    check_str(trial.resolved.workspace, trial_path("ws"));
    trial_end(&trial);
}

static const struct earlier_link {
    const char *name;
    enum list list; /* LIST_COUNT: the workspace */
} earlier_links[] = {
    {"workspace", LIST_COUNT},
    {"write", LIST_WRITE},
    {"show", LIST_SHOW},
};

TEST_EACH(a_link_that_an_earlier_command_may_have_made_is_refused, struct earlier_link, earlier_links)
{
    struct trial trial = trial_start();

    trial_directory("ws");
    trial_directory("other");
    trial_directory("outside");
    need(symlink("../outside", trial_path("other/link")) == 0);
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, trial_path(row->list == LIST_COUNT ? "other/link" : "ws"));
    if (row->list != LIST_COUNT)
        trial_add(&trial, row->list, trial_path("other/link"));
    check(trial_resolve(&trial) < 0);
    check_str(trial.error.reason, "link-in-grant");
    trial_end(&trial);
}

static const struct planted_link {
    const char *name;
    enum list list;
    const char *path;
} planted_links[] = {
    {"write", LIST_WRITE, "ws/out"},
    {"write below", LIST_WRITE, "ws/out/sub"},
    {"read", LIST_READ, "ws/out"},
    {"through a link outside", LIST_WRITE, "way/sub"},
    {"with dots", LIST_WRITE, "ws/d/../out/sub"},
    {"hide", LIST_HIDE, "ws/out/sub"},
};

TEST_EACH(a_link_that_the_command_could_replace_is_refused, struct planted_link, planted_links)
{
    struct trial trial = trial_start();

    trial_directory("ws");
    trial_directory("ws/d");
    trial_directory("outside");
    trial_directory("outside/sub");
    need(symlink("../outside", trial_path("ws/out")) == 0);
    need(symlink("ws/out", trial_path("way")) == 0);
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, trial_path("ws"));
    trial_add(&trial, row->list, trial_path(row->path));
    check(trial_resolve(&trial) < 0);
    check_str(trial.error.reason, "link-in-writable");
    trial_end(&trial);
}

TEST(a_start_directory_behind_a_planted_link_is_refused)
{
    struct trial trial = trial_start();

    trial_directory("ws");
    trial_directory("outside");
    need(symlink("../outside", trial_path("ws/out")) == 0);
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, trial_path("ws"));
    trial_set(&trial, KEY_CHDIR, trial_path("ws/out"));
    check(trial_resolve(&trial) < 0);
    check_str(trial.error.reason, "link-in-writable");
    trial_end(&trial);
}

TEST(links_in_a_circle_end)
{
    struct trial trial = trial_start();

    need(symlink("b", trial_path("a")) == 0 && symlink("a", trial_path("b")) == 0);
    trial_add(&trial, LIST_READ, trial_path("a"));
    check(trial_resolve(&trial) < 0);
    check_str(trial.error.reason, "link-loop");
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
