/* test-resolve-grants.c - what is granted: lists of paths, and links on the way to them. */
#include "harness.h"

#include "policy/test-resolve.h"

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

/* sudo and cron take the variable away: the line names it. */
TEST(an_agent_that_is_not_there)
{
    struct trial trial = trial_start();

    trial_add(&trial, LIST_SOCKETS, "@ssh-agent");
    check(trial_resolve(&trial) < 0);
    check_str(trial.error.reason, "path-missing");
    check_has(trial.error.hint, "it is looked for at $SSH_AUTH_SOCK");
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
