/*
 * test-denials.c - what is offered where something was refused: it is narrow, it is accepted and works, and
 * it names all that it opens.
 */
#include "harness.h"

#include "policy/test-resolve.h"
#include "report/denials.h"

static const struct offer {
    const char *name, *protect[2]; /* besides what runs later */
    const char *path, *option;     /* below the test's directory; option NULL: none */
    enum denial_operation operation;
    enum list locked; /* LIST_READ: none */
    const char *also; /* the second one of the option; NULL: one is enough */
} offers[] = {
    {"a file that is not there yet", {NULL}, "ws/.git/hooks/new", "ws/.git/hooks", DENIAL_CREATE, LIST_READ},
    {"a file that is there", {NULL}, "ws/.git/hooks/old", "ws/.git/hooks", DENIAL_WRITE, LIST_READ},
    {"a file is removed", {NULL}, "ws/.git/hooks/old", "ws/.git/hooks", DENIAL_REMOVE, LIST_READ},
    {"the directory itself", {NULL}, "ws/.git/hooks", "ws/.git/hooks", DENIAL_REMOVE, LIST_READ},
    {"what it is in is moved", {NULL}, "ws/.git", "ws/.git/hooks", DENIAL_RENAME, LIST_READ},
    {"a file that is named",
     {NULL},
     "ws/.vscode/tasks.json",
     "ws/.vscode/tasks.json",
     DENIAL_WRITE,
     LIST_READ},
    {"written down", {"ws/dir"}, "ws/dir/sub/new", "ws/dir", DENIAL_CREATE, LIST_READ},
    {"written down, the file",
     {"ws/dir/sub/file"},
     "ws/dir/sub/file",
     "ws/dir/sub/file",
     DENIAL_WRITE,
     LIST_READ},
    {"by a set and written down",
     {"ws/.git/hooks"},
     "ws/.git/hooks/new",
     "ws/.git/hooks",
     DENIAL_CREATE,
     LIST_READ},
    {"written down twice",
     {"ws/dir", "ws/dir/sub"},
     "ws/dir/sub/new",
     "ws/dir",
     DENIAL_CREATE,
     LIST_READ,
     "ws/dir/sub"},
    {"written down twice, the outer alone",
     {"ws/dir", "ws/dir/sub"},
     "ws/dir/new",
     "ws/dir",
     DENIAL_CREATE,
     LIST_READ},
    {"written down in what a set holds",
     {"ws/.git/hooks/old"},
     "ws/.git/hooks/old",
     "ws/.git/hooks",
     DENIAL_WRITE,
     LIST_READ,
     "ws/.git/hooks/old"},
    {"two of a set are moved", {NULL}, "ws/.vscode", "ws/.vscode", DENIAL_RENAME, LIST_READ},
    {"two that are written down are moved",
     {"ws/dir/sub/file", "ws/dir/other"},
     "ws/dir",
     NULL,
     DENIAL_RENAME,
     LIST_READ},
    {"protect is locked", {NULL}, "ws/.git/hooks/new", NULL, DENIAL_CREATE, LIST_PROTECT},
    {"unprotect is locked", {NULL}, "ws/.git/hooks/new", NULL, DENIAL_CREATE, LIST_UNPROTECT},
};

static void make_tree(void)
{
    static const char *const directories[] = {"ws",         "ws/.git", "ws/.git/hooks",
                                              "ws/.vscode", "ws/dir",  "ws/dir/sub"};
    static const char *const files[] = {"ws/.git/hooks/old", "ws/.vscode/tasks.json",
                                        "ws/.vscode/settings.json", "ws/dir/sub/file", "ws/dir/other"};

    for (size_t i = 0; i < ARRAY_SIZE(directories); i++)
        trial_directory(directories[i]);
    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        trial_file(files[i], 0600);
}

static void fill_trial(struct trial *trial, const struct offer *offer)
{
    trial_set(trial, KEY_CACHES, "off");
    trial_set(trial, KEY_MODE, "workspace-write");
    trial_set(trial, KEY_WORKSPACE, trial_path("ws"));
    for (size_t i = 0; i < ARRAY_SIZE(offer->protect) && offer->protect[i]; i++)
        trial_add(trial, LIST_PROTECT, trial_path(offer->protect[i]));
    if (offer->locked != LIST_READ)
        trial->policy.locked_lists |= 1ULL << offer->locked;
}

/* 1 + the index of what refuses a change of PATH, or with @around of what is below it; 0: it is open. */
static size_t find_held(const struct trial *trial, const char *path, bool around)
{
    const struct strings *held = &trial->resolved.protected_paths;

    for (size_t i = 0; i < held->count; i++)
        if (path_contains(held->items[i], path) || (around && path_contains(path, held->items[i])))
            return i + 1;
    return 0;
}

TEST_EACH(what_is_offered_is_accepted_and_works, struct offer, offers)
{
    bool around = row->operation == DENIAL_REMOVE || row->operation == DENIAL_RENAME;
    struct trial trial = trial_start(), again = {.resolved = {.workspace_fd = -1, .cwd_fd = -1}};
    struct denial_list denials = {0};
    char path[PATH_MAX], expected[2 * PATH_MAX + 32];
    struct denial denial = {
        .surface = SURFACE_FS_PROTECTED, .operation = row->operation, .path = path, .count = 1};
    struct text option = {0};

    make_tree();
    fill_trial(&trial, row);
    need(trial_resolve(&trial) == 0);
    snprintf(path, sizeof(path), "%s", trial_path(row->path));
    need(find_held(&trial, path, around) > 0);
    need(denials_add(&denials, &trial.resolved, &denial, DENIAL_BY_PROTECT,
                     find_held(&trial, path, around) - 1) == 0);
    denial_option(&denials.items[0], &option);
    if (row->option) {
        snprintf(expected, sizeof(expected), "--unprotect %s", trial_path(row->option));
        if (row->also)
            snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), " --unprotect %s",
                     trial_path(row->also));
        check_str(option.data, expected);
    } else {
        check_int((long)option.length, 0);
    }
    /* What runs later is offered with that; what merely was written down is no more than asked for. */
    if (denials.items[0].key)
        check_int(denials.items[0].warning != NULL, strstr(row->option, "dir") == NULL);
    if (denials.items[0].key) {
        need(policy_init(&again.policy, &again.error) == 0);
        need(strings_add(&again.env, trial.env.items[0]) == 0);
        fill_trial(&again, row);
        trial_add(&again, LIST_UNPROTECT, denials.items[0].value);
        if (denials.items[0].also)
            trial_add(&again, LIST_UNPROTECT, denials.items[0].also);
        check_int(trial_resolve(&again), 0);
        check_int((long)again.resolved.skipped_count, (long)trial.resolved.skipped_count);
        check_int((long)again.resolved.warnings.count, (long)trial.resolved.warnings.count);
        check_int((long)find_held(&again, path, around), 0);
        trial_end(&again);
    }
    text_free(&option);
    denials_free(&denials);
    trial_end(&trial);
}

/* --- names that were looked up: the command's own text says for which port */

static const struct sought {
    const char *name;
    const char *command[4];
    const char *option;
} soughts[] = {
    {"git by ssh", {"git", "clone", "git@host.test:org/x"}, "--allow host.test:22"},
    {"without a user", {"git", "clone", "host.test:org/x"}, "--allow host.test:22"},
    {"by its scheme", {"git", "clone", "ssh://git@host.test/x"}, "--allow host.test:22"},
    {"the scheme alone", {"sh", "-c", "git clone 'ssh://host.test/x'"}, "--allow host.test:22"},
    {"ssh itself", {"ssh", "-T", "git@host.test"}, "--allow host.test:22"},
    {"in a script", {"sh", "-c", "cd x && git clone git@host.test:org/x"}, "--allow host.test:22"},
    {"https", {"git", "clone", "https://host.test/x"}, "--allow host.test"},
    {"https with a user", {"curl", "https://me@host.test"}, "--allow host.test"},
    {"with a port", {"curl", "host.test:8443"}, "--allow host.test"},
    {"both", {"sh", "-c", "git clone git@host.test:x; curl https://host.test"}, "--allow host.test"},
    {"another host", {"git", "clone", "git@host.test.example:x"}, "--allow host.test"},
    {"part of a name", {"git", "clone", "git@my-host.test:x"}, "--allow host.test"},
    {"not said", {"git", "push"}, "--allow host.test"},
};

TEST_EACH(the_option_for_a_name_has_the_port_that_the_command_says, struct sought, soughts)
{
    struct connection connection = {.id = 1, .count = 1, .sent = -1, .received = -1, .ms = -1};
    struct trial trial = trial_start();
    struct denial_list denials = {0};
    struct connections connections = {0};
    struct text option = {0};

    trial_set(&trial, KEY_NETWORK, "listed");
    need(trial_resolve(&trial) == 0);
    connection.name = strdup("host.test");
    connection.protocol = strdup("dns");
    connection.refused = strdup("not-listed");
    connection.option = strdup("--allow host.test");
    need(connections_add(&connections, &connection) == 0);
    need(denials_add_refused(&denials, &trial.resolved, &connections,
                             (char *const *)(uintptr_t)row->command) == 0);
    denial_option(&denials.items[0], &option);
    check_str(option.data, row->option);
    text_free(&option);
    denial_advise(&denials.items[0], &option);
    check_int(strstr(option.data, "(ports 443 and 80") == NULL, strstr(row->option, ":22") != NULL);
    text_free(&option);
    denials_free(&denials);
    connections_free(&connections);
    trial_end(&trial);
}

/* --- what nothing grants */

static const struct grant_row {
    const char *name, *path;
    enum denial_operation operation;
    const char *option;   /* NULL: none */
    const char *warning;  /* NULL: none */
    enum surface surface; /* SURFACE_FS_READ, the first: SURFACE_FS_WRITE */
} grant_rows[] = {
    {"a file: its directory", "/srv/a/x", DENIAL_CREATE, "--write /srv/a"},
    {"a file that is there: itself", "/srv/a/x", DENIAL_WRITE, "--write /srv/a/x"},
    {"never a home", "/home/me/.x", DENIAL_CREATE, NULL, "would hand over all of /home/me"},
    {"nor what is above one", "/home/x", DENIAL_CREATE, NULL, "would hand over all of /home"},
    {"nor the top", "/x", DENIAL_CREATE, NULL, "would hand over all of /"},
    {"nor what stands right below it", "/etc/x", DENIAL_CREATE, NULL, "would hand over all of /etc"},
    {"nor what is everybody's", "/tmp/x", DENIAL_CREATE, NULL, "would hand over all of /tmp"},
    {"nor the other one", "/var/tmp/x", DENIAL_CREATE, NULL, "would hand over all of /var/tmp"},
    {"but a directory there", "/var/tmp/a/x", DENIAL_CREATE, "--write /var/tmp/a"},
    {"nor the sockets of a login", "/run/user/7/x", DENIAL_CREATE, NULL,
     "would hand over all of /run/user/7"},
    {"a file in a home is narrow", "/home/me/.x", DENIAL_WRITE, "--write /home/me/.x"},
    {"the kernel's own", "/proc/1/oom_score_adj", DENIAL_WRITE, NULL},
    {"a device", "/dev/null", DENIAL_WRITE, NULL},
    {"nor the memory that all share", "/dev/shm/x", DENIAL_CREATE, NULL, "would hand over all of /dev/shm"},
    {"a file in it", "/dev/shm/x", DENIAL_WRITE, "--write /dev/shm/x"},
    {"a directory in it", "/dev/shm/a/x", DENIAL_CREATE, "--write /dev/shm/a"},
    {"who may log in", "/home/me/.ssh/authorized_keys", DENIAL_CREATE, NULL,
     "would hand over ~/.ssh (keys, and who may log in)"},
    {"the same, the file", "/home/me/.ssh/authorized_keys", DENIAL_WRITE, NULL,
     "would hand over ~/.ssh (keys, and who may log in)"},
    {"a start file", "/home/me/.bashrc", DENIAL_WRITE, NULL,
     "would hand over ~/.bashrc (a shell reads it when it starts)"},
    {"one that would be in the home", "/home/me/.profile", DENIAL_CREATE, NULL,
     "would hand over ~/.profile (a shell reads it when it starts)"},
    {"a unit", "/home/me/.config/systemd/user/x.service", DENIAL_CREATE, NULL,
     "would hand over ~/.config/systemd/user (started at login)"},
    {"what has start files in it", "/home/me/.config/x", DENIAL_CREATE, NULL,
     "would hand over ~/.config/dbus-1 (the user's bus starts what it names)"},
    {"settings of a tool", "/home/me/.config/go/env", DENIAL_WRITE, NULL,
     "would hand over ~/.config/go/env (names commands that go runs)"},
    {"macros", "/home/me/.config/libreoffice/4/user/x", DENIAL_CREATE, NULL,
     "would hand over ~/.config/libreoffice (programs load what is in it)"},
    {"a kernel of jupyter", "/home/me/.local/share/jupyter/x", DENIAL_CREATE, NULL,
     "would hand over ~/.local/share/jupyter/kernels (names commands that jupyter runs)"},
    {"what it keeps while it runs", "/home/me/.local/share/jupyter/runtime/x", DENIAL_CREATE,
     "--write /home/me/.local/share/jupyter/runtime"},
    {"beside them", "/home/me/.config/app/x", DENIAL_CREATE, "--write /home/me/.config/app"},
    {"a ticket", "/tmp/krb5cc_7", DENIAL_READ, NULL,
     "would hand over the secret there (tickets of Kerberos)"},
    {"another file there", "/tmp/data", DENIAL_READ, "--read /tmp/data"},
    {"the key of a screen", "/run/user/7/xauth_x", DENIAL_READ, NULL,
     "would hand over the secret there (who has it sees and presses every key)"},
    {"what Python loads", "/home/me/.local/lib/python3/site-packages/x.pth", DENIAL_CREATE, NULL,
     "would hand over ~/.local/lib (programs load what is in it)"},
    {"what a shell reads by another file", "/home/me/.nvm/nvm.sh", DENIAL_WRITE, NULL,
     "would hand over ~/.nvm (a shell reads it when it starts)"},
    {"a command of docker", "/home/me/.docker/cli-plugins/docker-x", DENIAL_CREATE, NULL,
     "would hand over ~/.docker/cli-plugins (programs are started from there)"},
    {"a script of npm's", "/home/me/.npmrc", DENIAL_WRITE, NULL,
     "would hand over ~/.npmrc (names commands that npm runs)"},
    {"what an interpreter runs first", "/home/me/.ipython/x", DENIAL_CREATE, NULL,
     "would hand over ~/.ipython/profile_default/startup (a program runs it when it starts)"},
    {"what an editor loads", "/home/me/.vscode-server/extensions/x", DENIAL_CREATE, NULL,
     "would hand over ~/.vscode-server (an editor loads what is in it)"},
    {"the rest of a home's own programs", "/home/me/.local/share/x/y", DENIAL_CREATE,
     "--write /home/me/.local/share/x"},
    {"what programs of the system load", "/usr/local/lib/python3/site-packages/x.pth", DENIAL_CREATE, NULL,
     "would hand over /usr/local/lib (programs load what is in it)"},
    {"what the system runs", "/etc/logrotate.d/x", DENIAL_CREATE, NULL,
     "would hand over /etc/logrotate.d (the system runs what is in it)"},
    {"a setting of the kernel's", "/etc/sysctl.d/x", DENIAL_CREATE, NULL,
     "would hand over /etc/sysctl.d (names programs that the kernel starts)"},
    {"an editor that is running", "/run/user/7/nvim.1.0", DENIAL_CONNECT, NULL,
     "would hand over the service there (it runs what it is told)", SURFACE_UNIX_PATH},
    {"keys", "/home/me/.gnupg/trustdb.gpg", DENIAL_WRITE, NULL,
     "would hand over ~/.gnupg (keys, and whom they trust)"},
    {"hooks of another repository", "/srv/a/.git/hooks/x", DENIAL_CREATE, NULL,
     "would hand over ./.git/hooks (git runs it)"},
    {"what has them in it", "/srv/a/.git/index.lock", DENIAL_CREATE, NULL,
     "would hand over ./.git/hooks (git runs it)"},
    {"its objects", "/srv/a/.git/objects/ab/x", DENIAL_CREATE, "--write /srv/a/.git/objects/ab"},
    {"its settings of an editor", "/srv/a/.vscode/tasks.json", DENIAL_WRITE, NULL,
     "would hand over ./.vscode/tasks.json (an editor runs what it names)"},
    {"a name that only begins so", "/srv/a/.idea-notes", DENIAL_WRITE, "--write /srv/a/.idea-notes"},
    {"cron", "/etc/cron.d/x", DENIAL_CREATE, NULL, "would hand over /etc/cron.d (cron runs it)"},
    {"users", "/etc/passwd", DENIAL_WRITE, NULL, "would hand over /etc/passwd (decides who may log in)"},
    {"programs", "/srv/bin/x", DENIAL_CREATE, NULL, "would hand over $PATH (programs are looked for there)"},
    {"what has them in it", "/srv/x", DENIAL_CREATE, NULL, "would hand over all of /srv"},
    {"a place of the system", "/usr/local/x/y", DENIAL_CREATE, "--write /usr/local/x"},
    {"one that nobody grants", "/usr/lib/x", DENIAL_CREATE, NULL,
     "would be refused for /usr/lib, whoever asks"},
    {"another setting", "/etc/app/x", DENIAL_CREATE, "--write /etc/app"},
    {"a secret of the environment's", "/srv/keys/mine", DENIAL_WRITE, NULL,
     "would hand over $NETRC (passwords of ftp, curl and git)"},
    {"the user's bus", "/run/user/7/bus", DENIAL_CONNECT, NULL,
     "would hand over the service there (the user's bus starts programs outside)", SURFACE_UNIX_PATH},
    {"the agent of ssh", "/srv/agent", DENIAL_CONNECT, NULL,
     "would hand over $SSH_AUTH_SOCK (signs with the keys of ssh)", SURFACE_UNIX_PATH},
    {"the agent of a container", "/ssh-agent", DENIAL_CONNECT, NULL,
     "would hand over the service there (it signs with the keys of ssh)", SURFACE_UNIX_PATH},
    {"another service", "/srv/db.sock", DENIAL_CONNECT, "--socket /srv/db.sock", NULL, SURFACE_UNIX_PATH},
};

TEST_EACH(a_grant_is_narrow, struct grant_row, grant_rows)
{
    struct policy policy = {.mode = MODE_WORKSPACE_WRITE};
    struct resolved resolved = {.policy = &policy, .mode = MODE_WORKSPACE_WRITE};
    struct denial_list denials = {0};
    struct denial denial = {.surface = row->surface ? row->surface : SURFACE_FS_WRITE,
                            .operation = row->operation,
                            .path = (char *)(uintptr_t)row->path,
                            .count = 1};
    struct text option = {0};

    need(strings_add(&resolved.env, "NETRC=/srv/keys/mine") == 0);
    need(strings_add(&resolved.env, "SSH_AUTH_SOCK=/srv/agent") == 0);
    need(strings_add(&resolved.env, "PATH=/usr/bin:/srv/bin") == 0);
    need(strings_add(&resolved.env, "XDG_RUNTIME_DIR=/run/user/7") == 0);
    resolved.cwd = resolved.workspace = (char *)(uintptr_t) "/home/me/app";
    resolved.home = (char *)(uintptr_t) "/home/me";
    need(denials_add(&denials, &resolved, &denial, DENIAL_BY_DEFAULT, 0) == 0);
    denial_option(&denials.items[0], &option);
    if (row->option)
        check_str(option.data, row->option);
    else
        check(option.length == 0);
    check_str(denials.items[0].warning ? denials.items[0].warning : "", row->warning ? row->warning : "");
    text_free(&option);
    denials_free(&denials);
    strings_free(&resolved.env);
}

/* A directory of a repository is the workspace, and what git keeps stands above it. */
static const struct above_row {
    const char *name, *path;
    bool locked;
    const char *said; /* NULL: nothing of a workspace */
} above_rows[] = {
    {"a commit", "/srv/a b/.git/index.lock", false,
     "--workspace \"/srv/a b\" instead has the repository as the workspace"},
    {"its objects", "/srv/a b/.git/objects/ab/x", false,
     "--workspace \"/srv/a b\" instead has the repository as the workspace"},
    {"a repository further up", "/srv/.git/index.lock", false, NULL},
    {"its hooks, which no workspace grants", "/srv/a b/.git/hooks/x", false, NULL},
    {"another repository", "/srv/a/.git/index.lock", false, NULL},
    {"a name that begins so", "/srv/a b/.gitother/x", false, NULL},
    {"below the workspace", "/srv/a b/pkg/.git/x", false, NULL},
    {"a policy's lock", "/srv/a b/.git/index.lock", true, NULL},
};

TEST_EACH(a_workspace_in_a_repository, struct above_row, above_rows)
{
    struct policy policy = {.mode = MODE_WORKSPACE_WRITE};
    struct resolved resolved = {.policy = &policy, .mode = MODE_WORKSPACE_WRITE};
    struct denial_list denials = {0};
    struct denial denial = {.surface = SURFACE_FS_WRITE,
                            .operation = DENIAL_CREATE,
                            .path = (char *)(uintptr_t)row->path,
                            .count = 1};
    struct text text = {0};

    if (row->locked)
        policy.locked |= 1ULL << KEY_WORKSPACE;
    need(strings_add(&resolved.env, "PATH=/usr/bin") == 0);
    resolved.cwd = resolved.workspace = (char *)(uintptr_t) "/srv/a b/pkg";
    resolved.home = (char *)(uintptr_t) "/home/me";
    need(denials_add(&denials, &resolved, &denial, DENIAL_BY_DEFAULT, 0) == 0);
    denial_say(&denials.items[0], 300, &text);
    if (row->said)
        check_has(text.data, row->said);
    else
        check(!strstr(text.data, "--workspace"));
    text_free(&text);
    denials_free(&denials);
    strings_free(&resolved.env);
}

/* A start file is often a link into a tree of such files; and a repository may have no work tree. */
TEST(what_a_name_leads_to_is_no_grant_either)
{
    static const char *const names[][2] = {
        {"files/rc", "would hand over ~/.bashrc (a shell reads it when it starts)"},
        {"bare.git/HEAD.lock", "would hand over a repository's hooks (git runs them)"}};
    struct trial trial = trial_start();
    char home[PATH_MAX];

    trial_directory("me");
    trial_directory("files");
    trial_file("files/rc", 0600);
    snprintf(home, sizeof(home), "%s", trial_path("me/.bashrc"));
    need(symlink(trial_path("files/rc"), home) == 0);
    trial_directory("bare.git");
    trial_directory("bare.git/hooks");
    trial_directory("bare.git/objects");
    trial_file("bare.git/HEAD", 0600);
    need(trial_resolve(&trial) == 0);
    free(trial.resolved.home);
    need((trial.resolved.home = strdup(trial_path("me"))) != NULL);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct denial_list denials = {0};
        char path[PATH_MAX];
        struct denial denial = {.surface = SURFACE_FS_WRITE,
                                .operation = i == 0 ? DENIAL_WRITE : DENIAL_CREATE,
                                .path = path,
                                .count = 1};

        snprintf(path, sizeof(path), "%s", trial_path(names[i][0]));
        need(denials_add(&denials, &trial.resolved, &denial, DENIAL_BY_DEFAULT, 0) == 0);
        check(!denials.items[0].key);
        check_str(denials.items[0].warning ? denials.items[0].warning : "", names[i][1]);
        denials_free(&denials);
    }
    trial_end(&trial);
}

/* In a run that may write nothing `--write` alone would be refused. */
static const struct mode_row {
    const char *name, *workspace, *path, *option, *grant;
    uint64_t locked; /* keys */
} mode_rows[] = {
    {"in the workspace", "/home/me/app", "/home/me/app/sub/x", "--mode workspace-write",
     "{\"mode\": \"workspace-write\"}"},
    {"in the start directory, which is then protected", NULL, "/home/me/app/sub/x",
     "--workspace /home/me/app", "{\"mode\": \"workspace-write\",\"workspace\": \"/home/me/app\"}"},
    {"elsewhere", NULL, "/srv/a/x", "--mode workspace-write --write /srv/a",
     "{\"mode\": \"workspace-write\",\"write\": [\"/srv/a\"]}"},
    {"elsewhere, with a workspace", "/home/me/app", "/srv/a/x", "--mode workspace-write --write /srv/a",
     "{\"mode\": \"workspace-write\",\"write\": [\"/srv/a\"]}"},
    {"in a home", NULL, "/home/me/x", NULL, NULL},
    {"where the mode is locked", NULL, "/srv/a/x", NULL, NULL, 1ULL << KEY_MODE},
};

TEST_EACH(what_may_write_is_offered_whole, struct mode_row, mode_rows)
{
    struct policy policy = {.mode = MODE_READ_ONLY, .locked = row->locked};
    struct resolved resolved = {.policy = &policy, .mode = MODE_READ_ONLY};
    struct denial_list denials = {.known = true};
    struct denial denial = {.surface = SURFACE_FS_WRITE,
                            .operation = DENIAL_CREATE,
                            .path = (char *)(uintptr_t)row->path,
                            .count = 1};
    struct writer writer = {.compact = true};
    struct text option = {0};

    resolved.cwd = (char *)(uintptr_t) "/home/me/app";
    resolved.workspace = (char *)(uintptr_t)row->workspace;
    resolved.home = (char *)(uintptr_t) "/home/me";
    need(denials_add(&denials, &resolved, &denial, DENIAL_BY_DEFAULT, 0) == 0);
    denial_option(&denials.items[0], &option);
    check_str(option.data ? option.data : "", row->option ? row->option : "");
    writer_object(&writer, NULL);
    check_int(denials_escalate(&writer, "escalation", &denials), row->grant != NULL);
    writer_end(&writer);
    if (row->grant)
        check(strstr(writer.text.data, row->grant) != NULL);
    text_free(&writer.text);
    text_free(&option);
    denials_free(&denials);
}

/* Which name it was is not known, but where one can be allowed is. */
TEST(a_lookup_says_where_names_are_allowed)
{
    const struct session session = {0};
    struct policy policy = {.mode = MODE_READ_ONLY};
    struct resolved resolved = {.policy = &policy, .mode = MODE_READ_ONLY};
    struct denial_list denials = {0};
    struct denial denial = {.surface = SURFACE_NET_UDP,
                            .operation = DENIAL_CONNECT,
                            .address = (char *)(uintptr_t) "192.0.2.53:53",
                            .count = 1};
    struct text text = {0};

    need(denials_add(&denials, &resolved, &denial, DENIAL_BY_NETWORK, 0) == 0);
    resolved.session = &session;
    need(denials_add(&denials, &resolved, &denial, DENIAL_BY_NETWORK, 0) == 0);
    denial_say(&denials.items[0], 100, &text);
    check_str(text.data, "looking up a name at 192.0.2.53:53 (names need --allow NAME)");
    text_free(&text);
    denial_say(&denials.items[1], 100, &text);
    check_str(text.data, "looking up a name at 192.0.2.53:53 (--allow NAME at confine session start)");
    text_free(&text);
    denials_free(&denials);
}
