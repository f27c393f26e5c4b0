/* test-resolve-caches.c - private caches: whose directory, which variables, when an overlay. */
#include "harness.h"

#include "policy/test-resolve.h"

#include <sys/file.h>

/* Nothing in /tmp is seen from within a view of its own, so no overlay is laid on it. */
__attribute__((constructor)) static void leave_tmp(void)
{
    setenv("TMPDIR", "/var/tmp", 1);
}

/* Only what the test makes: not the real credentials of whoever runs it. */
static struct trial start_with_caches(void)
{
    struct trial trial = trial_start();

    trial_add(&trial, LIST_HIDE, "!@credentials");
    return trial;
}

static struct trial start_in_workspace(void)
{
    struct trial trial = start_with_caches();

    trial_directory("ws");
    trial_file("ws/package.json", 0644); /* signs of npm, bun, cargo and ccache */
    trial_file("ws/bun.lock", 0644);
    trial_file("ws/Cargo.toml", 0644);
    trial_file("ws/Makefile", 0644);
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, trial_path("ws"));
    return trial;
}

/* The value of a variable of the caches. */
static const char *value(const struct trial *trial, const char *name, bool overlays)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < trial->resolved.cache_count; i++) {
        const struct strings *env = cache_env(&trial->resolved.caches[i], overlays);

        for (size_t j = 0; j < env->count; j++)
            if (strncmp(env->items[j], name, length) == 0 && env->items[j][length] == '=')
                return env->items[j] + length + 1;
    }
    return NULL;
}

static const char *variable(const struct trial *trial, const char *name)
{
    return value(trial, name, false);
}

/* The directories from the test's own down to NAME. */
static void make_directories(const char *name)
{
    char path[256];

    for (const char *at = strchr(name, '/'); at; at = strchr(at + 1, '/')) {
        snprintf(path, sizeof(path), "%.*s", (int)(at - name), name);
        if (access(trial_path(path), F_OK) != 0)
            trial_directory(path);
    }
    trial_directory(name);
}

/* The overlay on NAME. NULL: there is none. */
static const struct cache_choice *overlay_on(const struct trial *trial, const char *name)
{
    for (size_t i = 0; i < trial->resolved.cache_count; i++) {
        const struct cache_choice *choice = &trial->resolved.caches[i];

        if (choice->place != SIZE_MAX &&
            strcmp(trial->resolved.paths[choice->place].path, trial_path(name)) == 0)
            return choice;
    }
    return NULL;
}

TEST(caches_are_private_to_a_workspace)
{
    struct trial trial = start_with_caches();
    char first[PATH_MAX];
    struct stat st;

    trial_directory("a");
    trial_directory("a/b");
    trial_directory("a-b"); /* would be the same name without escaping */
    trial_variable(&trial, "PIP_CACHE_DIR=/mine");
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, trial_path("a/b"));
    need(trial_resolve(&trial) == 0);
    need(variable(&trial, "GOCACHE") != NULL);
    snprintf(first, sizeof(first), "%s", variable(&trial, "GOCACHE"));
    check(resolved_under_writable(&trial.resolved, first));
    check(variable(&trial, "PIP_CACHE_DIR") == NULL); /* the caller has set it */
    *strrchr(first, '/') = '\0';
    check_str(strrchr(first, '-'), "-b");
    check(stat(first, &st) == 0 && (st.st_mode & 07777) == 0700 && st.st_uid == geteuid());
    check_int(trial_count(&trial, GRANT_WRITE, true), 1);
    check_int(trial_count(&trial, GRANT_WRITE, false), 1);
    resolved_free(&trial.resolved);
    trial_set(&trial, KEY_WORKSPACE, trial_path("a-b"));
    need(trial_resolve(&trial) == 0);
    check(strncmp(variable(&trial, "GOCACHE"), first, strlen(first)) != 0);
    trial_end(&trial);
}

static const struct no_home {
    const char *name;
    const char *home;
    mode_t mode;
    const char *what;
} no_homes[] = {
    {"read-only mode", "home", 0755, "read-only"},
    {"no such home", "missing", 0755, "workspace-write"},
    {"a home that may not be written", "home", 0555, "workspace-write"},
    {"a cache directory that others may write", "open", 0755, "workspace-write"},
};

TEST_EACH(without_a_place_caches_are_temporary, struct no_home, no_homes)
{
    struct trial trial = start_with_caches();

    trial_directory("ws");
    trial_directory("open");
    trial_directory("open/.cache");
    need(chmod(trial_path("open/.cache"), 0777) == 0);
    if (geteuid() == 0) { /* root writes everywhere */
        need(chmod(test_dir, 0755) == 0 && chown(trial_path("home"), 65534, 65534) == 0);
        need(chown(trial_path("open"), 65534, 65534) == 0);
        need(chown(trial_path("open/.cache"), 65534, 65534) == 0);
        need(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
    }
    need(chmod(trial_path("home"), row->mode) == 0);
    strings_free(&trial.env);
    need(strings_addf(&trial.env, "HOME=%s", trial_path(row->home)) == 0);
    trial_set(&trial, KEY_MODE, row->what);
    trial_set(&trial, KEY_WORKSPACE, trial_path("ws"));
    need(trial_resolve(&trial) == 0);
    check_str(variable(&trial, "GOCACHE"), TMP_PLACEHOLDER "/go-build");
    check_int(trial_count(&trial, GRANT_WRITE, false), 0);
    trial_end(&trial);
}

TEST(a_cache_directory_is_made_as_the_user_whose_it_is)
{
    struct trial trial = start_with_caches();
    struct stat st;

    if (geteuid() != 0)
        test_skip("only for root");
    trial_directory("ws");
    need(chmod(test_dir, 0755) == 0);
    need(chown(trial_path("ws"), 65534, 65534) == 0 && chown(trial_path("home"), 65534, 65534) == 0);
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, trial_path("ws"));
    need(trial_resolve(&trial) == 0);
    check_int(trial_count(&trial, GRANT_WRITE, false), 1);
    check(stat(trial_path("home/.cache/confine"), &st) == 0 && st.st_uid == 65534);
    trial_file("by-root", 0600); /* the identity was given back */
    check(stat(trial_path("by-root"), &st) == 0 && st.st_uid == 0);
    trial_end(&trial);
}

TEST(a_cache_directory_behind_a_planted_link_is_not_used)
{
    struct trial trial = start_with_caches();

    trial_directory("ws");
    trial_directory("home/.cache");
    trial_directory("home/elsewhere");
    need(symlink("../elsewhere", trial_path("home/.cache/confine")) == 0);
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, trial_path("ws"));
    need(trial_resolve(&trial) == 0);
    check_str(variable(&trial, "GOCACHE"), TMP_PLACEHOLDER "/go-build");
    check(access(trial_path("home/elsewhere/caches"), F_OK) != 0);
    trial_end(&trial);
}

TEST(host_caches_are_granted_where_they_are)
{
    struct trial trial = start_with_caches();

    trial_directory("ws");
    trial_directory("home/.npm");
    trial_directory("home/.cache");
    trial_directory("home/.cache/pip");
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, trial_path("ws"));
    trial_set(&trial, KEY_CACHES, "host");
    need(trial_resolve(&trial) == 0);
    check(resolved_under_writable(&trial.resolved, trial_path("home/.npm")));
    check(resolved_under_writable(&trial.resolved, trial_path("home/.cache/pip")));
    check(!resolved_under_writable(&trial.resolved, trial_path("home/.cache/uv")));
    check(variable(&trial, "GOCACHE") == NULL);
    resolved_free(&trial.resolved);
    trial_set(&trial, KEY_CACHES, "off");
    need(trial_resolve(&trial) == 0);
    check(!resolved_under_writable(&trial.resolved, trial_path("home/.npm")));
    check(variable(&trial, "GOCACHE") == NULL);
    trial_end(&trial);
}

/* --- which variables ----------------------------------------------------------------------------------- */

static const char *private_directory(const struct trial *trial)
{
    static char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s", variable(trial, "XDG_CACHE_HOME"));
    *strrchr(path, '/') = '\0';
    return path;
}

TEST(what_the_user_has_decides)
{
    struct trial trial = start_in_workspace();
    char filled[PATH_MAX + 16];

    need(trial_resolve(&trial) == 0); /* nothing at home: nothing to lose */
    check(variable(&trial, "GOMODCACHE") != NULL);
    check(variable(&trial, "GOPROXY") == NULL);
    check(variable(&trial, "CARGO_HOME") != NULL);
    check(strstr(variable(&trial, "MAVEN_ARGS"), ".tail") == NULL);
    check(variable(&trial, "MAVEN_OPTS") != NULL);
    resolved_free(&trial.resolved);
    make_directories("home/go/pkg/mod/cache/download");
    make_directories("home/.cargo/registry");
    make_directories("home/.m2/repository");
    make_directories("home/.gradle/caches/modules-2");
    need(trial_resolve(&trial) == 0);
    check(variable(&trial, "GOMODCACHE") == NULL);
    check(variable(&trial, "GOPROXY") == NULL);
    check(variable(&trial, "CARGO_HOME") == NULL);
    check(strstr(variable(&trial, "MAVEN_ARGS"), ".tail") != NULL);
    check(variable(&trial, "MAVEN_OPTS") == NULL); /* an old Maven reads the user's */
    check_str(variable(&trial, "GRADLE_RO_DEP_CACHE"), trial_path("home/.gradle/caches"));
    resolved_free(&trial.resolved);
    trial_set(&trial, KEY_NETWORK, "host");
    need(trial_resolve(&trial) == 0);
    check(variable(&trial, "GOMODCACHE") != NULL);
    check(strncmp(variable(&trial, "GOPROXY"), "file:///", 8) == 0);
    check(variable(&trial, "CARGO_HOME") != NULL);
    check(variable(&trial, "MAVEN_OPTS") != NULL);
    resolved_free(&trial.resolved);
    trial_set(&trial, KEY_NETWORK, "none");
    need(trial_resolve(&trial) == 0);
    snprintf(filled, sizeof(filled), "%s/go-mod", private_directory(&trial));
    check(variable(&trial, "GOMODCACHE") == NULL && variable(&trial, "CARGO_HOME") == NULL);
    need(mkdir(filled, 0755) == 0);
    resolved_free(&trial.resolved);
    need(trial_resolve(&trial) == 0); /* what came by the network stays */
    check_str(variable(&trial, "GOMODCACHE"), filled);
    check(strncmp(variable(&trial, "GOPROXY"), "file:///", 8) == 0);
    check(variable(&trial, "CARGO_HOME") == NULL);
    resolved_free(&trial.resolved);
    make_directories("home/.config/go");
    trial_file("home/.config/go/env", 0600); /* may name another proxy */
    need(trial_resolve(&trial) == 0);
    check(variable(&trial, "GOPROXY") == NULL);
    trial_end(&trial);
}

TEST(what_cannot_be_read_is_not_pointed_at)
{
    struct trial trial = start_in_workspace();

    make_directories("home/.m2/repository");
    make_directories("home/.npm");
    trial_set(&trial, KEY_READABLE, "listed");
    need(trial_resolve(&trial) == 0);
    check(strstr(variable(&trial, "MAVEN_ARGS"), ".tail") == NULL);
    check(overlay_on(&trial, "home/.npm") == NULL);
    resolved_free(&trial.resolved);
    trial_add(&trial, LIST_READ, trial_path("home"));
    need(trial_resolve(&trial) == 0);
    check(strstr(variable(&trial, "MAVEN_ARGS"), ".tail") != NULL);
    trial_end(&trial);
}

static const struct usual {
    const char *name, *set; /* below the home */
    bool counts;
} usuals[] = {
    {"PNPM_HOME", ".local/share/pnpm", false},
    {"PNPM_HOME", "mine", true},
    {"PNPM_HOME", ".local/share/pnpm-mine", true},
    {"GOCACHE", ".cache/go-build", false},
    {"NPM_CONFIG_CACHE", "mine", true},
    {"CCACHE_DIR", ".ccache", false},
    {"CCACHE_DIR", ".cache/ccache", false},
    {"CCACHE_DIR", "ccache", true},
};

TEST(a_variable_that_says_the_usual_is_none)
{
    struct trial trial = start_in_workspace();

    for (size_t i = 0; i < sizeof(usuals) / sizeof(usuals[0]); i++) {
        const struct usual *row = &usuals[i];
        const char *asked = strcmp(row->name, "NPM_CONFIG_CACHE") == 0 ? "npm_config_cache" : row->name;
        char text[PATH_MAX];

        strings_free(&trial.env);
        need(strings_addf(&trial.env, "HOME=%s", trial_path("home")) == 0);
        snprintf(text, sizeof(text), "%s=%s/%s", row->name, trial_path("home"), row->set);
        trial_variable(&trial, text);
        need(trial_resolve(&trial) == 0);
        test_note("%s", text);
        check(!variable(&trial, asked) == row->counts);
        resolved_free(&trial.resolved);
    }
    trial_end(&trial);
}

/* Values of lists of options, and of addresses, are taken apart at some characters. */
TEST(a_workspace_of_a_strange_name_has_a_plain_cache)
{
    struct trial trial = start_with_caches();

    trial_directory("my work, \"a:b\"\n");
    trial_set(&trial, KEY_MODE, "workspace-write");
    trial_set(&trial, KEY_WORKSPACE, trial_path("my work, \"a:b\"\n"));
    need(trial_resolve(&trial) == 0);
    need(variable(&trial, "GOCACHE") != NULL);
    check(!strpbrk(variable(&trial, "GOCACHE"), " ,\":\n"));
    check(strstr(variable(&trial, "GOCACHE"), "my%20work%2c%20%22a%3ab%22%0a/go-build") != NULL);
    trial_end(&trial);
}

/* --- overlays ------------------------------------------------------------------------------------------ */

TEST(an_overlay_lies_on_what_is_there)
{
    struct trial trial = start_in_workspace();
    const struct cache_choice *npm, *cargo;
    const struct resolved_path *upper;
    struct stat st, seen;

    make_directories("home/.npm");
    make_directories("home/.bun/install/cache");
    make_directories("home/.cargo/registry");
    make_directories("home/.ccache");
    make_directories("home/.cache/ccache");
    need(chmod(trial_path("home/.cache"), 0700) == 0);
    need(trial_resolve(&trial) == 0);
    npm = overlay_on(&trial, "home/.npm");
    cargo = overlay_on(&trial, "home/.cargo/registry");
    if (!npm)
        test_skip("the file system here carries no overlay");
    need(cargo != NULL);
    check_str(value(&trial, "npm_config_cache", true), trial_path("home/.npm"));
    check(strcmp(value(&trial, "npm_config_cache", false), trial_path("home/.npm")) != 0);
    check(overlay_on(&trial, "home/.bun/install/cache") != NULL);
    check(strcmp(value(&trial, "VIRTUALENV_OVERRIDE_APP_DATA", true),
                 trial_path("home/.local/share/virtualenv")) != 0);
    check_str(value(&trial, "BUN_INSTALL_CACHE_DIR", true), trial_path("home/.bun/install/cache"));
    check(value(&trial, "CARGO_HOME", true) == NULL);
    check_str(value(&trial, "CCACHE_DIR", true), trial_path("home/.ccache"));
    check(overlay_on(&trial, "home/.cache/ccache") == NULL);
    check(value(&trial, "UV_CACHE_DIR", true) != NULL); /* nothing there: as without overlays */
    upper = &trial.resolved.paths[npm->upper];
    check(fstat(upper->fd, &st) == 0 && stat(upper->path, &seen) == 0 && st.st_ino == seen.st_ino);
    check((st.st_mode & 07777) == 0700);
    check(!resolved_under_writable(&trial.resolved, upper->path));
    check(!resolved_under_writable(&trial.resolved, trial_path("home/.npm")));
    check(npm->upper != cargo->upper);
    trial_end(&trial);
}

TEST(two_at_a_time_have_two_uppers)
{
    struct trial trial = start_in_workspace();
    struct resolved first, second, third;
    char path[PATH_MAX];

    make_directories("home/.npm");
    need(trial_resolve(&trial) == 0);
    if (!overlay_on(&trial, "home/.npm"))
        test_skip("the file system here carries no overlay");
    snprintf(path, sizeof(path), "%s", trial.resolved.paths[overlay_on(&trial, "home/.npm")->upper].path);
    first = trial.resolved;
    need(trial_resolve(&trial) == 0);
    check(strcmp(trial.resolved.paths[overlay_on(&trial, "home/.npm")->upper].path, path) != 0);
    second = trial.resolved;
    resolved_free(&first); /* the first place is free again */
    need(trial_resolve(&trial) == 0);
    check_str(trial.resolved.paths[overlay_on(&trial, "home/.npm")->upper].path, path);
    third = trial.resolved;
    resolved_free(&second);
    resolved_free(&third);
    trial.resolved = (struct resolved){.workspace_fd = -1, .cwd_fd = -1};
    trial_end(&trial);
}

TEST(a_tool_keeps_what_it_had_first)
{
    struct trial trial = start_in_workspace();
    char kept[PATH_MAX];

    make_directories("home/.npm");
    make_directories("home/.cargo/registry");
    trial_directory("ws/sub");
    trial_file("ws/sub/.yarnrc.yml", 0644);
    make_directories("home/.yarn/berry");
    need(unlink(trial_path("ws/Cargo.toml")) == 0);
    need(trial_resolve(&trial) == 0);
    if (!overlay_on(&trial, "home/.npm"))
        test_skip("the file system here carries no overlay");
    check(overlay_on(&trial, "home/.cargo/registry") == NULL);
    check(overlay_on(&trial, "home/.yarn/berry") == NULL);
    snprintf(kept, sizeof(kept), "%s/cargo", private_directory(&trial));
    resolved_free(&trial.resolved);
    need(unlink(trial_path("ws/package.json")) == 0); /* npm has an upper, cargo a directory */
    trial_file("ws/Cargo.toml", 0644);
    need(mkdir(kept, 0755) == 0);
    trial_set(&trial, KEY_CHDIR, trial_path("ws/sub"));
    need(trial_resolve(&trial) == 0);
    check(overlay_on(&trial, "home/.npm") != NULL);
    check(overlay_on(&trial, "home/.cargo/registry") == NULL);
    check(overlay_on(&trial, "home/.yarn/berry") != NULL); /* the start directory shows it */
    trial_end(&trial);
}

TEST(with_every_upper_taken_there_is_no_overlay)
{
    struct trial trial = start_in_workspace();
    struct resolved all[8];

    make_directories("home/.npm");
    for (size_t i = 0; i < 8; i++) {
        need(trial_resolve(&trial) == 0);
        if (!overlay_on(&trial, "home/.npm"))
            test_skip("the file system here carries no overlay");
        all[i] = trial.resolved;
    }
    need(trial_resolve(&trial) == 0);
    check(overlay_on(&trial, "home/.npm") == NULL);
    check(value(&trial, "npm_config_cache", true) != NULL);
    check(strcmp(value(&trial, "npm_config_cache", true), trial_path("home/.npm")) != 0);
    for (size_t i = 0; i < 8; i++)
        resolved_free(&all[i]);
    trial_end(&trial);
}

static void hide_below(struct trial *trial)
{
    trial_file("home/.npm/token", 0600);
    trial_add(trial, LIST_HIDE, trial_path("home/.npm/token"));
}

static void grant_below(struct trial *trial)
{
    trial_directory("home/.npm/sub");
    trial_add(trial, LIST_WRITE, trial_path("home/.npm/sub"));
}

static void grant_it(struct trial *trial)
{
    trial_add(trial, LIST_WRITE, trial_path("home/.npm"));
}

static void set_variable(struct trial *trial)
{
    trial_variable(trial, "npm_config_cache=/mine");
}

static void change_group(struct trial *trial)
{
    (void)trial;
    if (geteuid() != 0)
        test_skip("only root can");
    need(chown(trial_path("home/.npm"), (uid_t)-1, 12345) == 0);
}

static void make_link(struct trial *trial)
{
    (void)trial;
    need(rename(trial_path("home/.npm"), trial_path("home/npm")) == 0);
    need(symlink("npm", trial_path("home/.npm")) == 0);
}

static void plant_link(struct trial *trial)
{
    (void)trial;
    make_directories("home/.cache/confine");
    trial_directory("elsewhere");
    need(symlink(trial_path("elsewhere"), trial_path("home/.cache/confine/overlays")) == 0);
}

static void remove_sign(struct trial *trial)
{
    (void)trial;
    need(unlink(trial_path("ws/package.json")) == 0);
}

static void choose_landlock(struct trial *trial)
{
    trial_set(trial, KEY_BACKEND, "landlock");
}

static void choose_read_only(struct trial *trial)
{
    trial_set(trial, KEY_MODE, "read-only");
}

static void switch_off(struct trial *trial)
{
    trial_set(trial, KEY_CACHES, "off");
}

static const struct no_overlay {
    const char *name;
    void (*arrange)(struct trial *trial);
} no_overlays[] = {
    {"something hidden below", hide_below},
    {"a grant below", grant_below},
    {"a grant of it", grant_it},
    {"the caller's own variable", set_variable},
    {"a place of another group", change_group},
    {"a place behind a link", make_link},
    {"a planted link above the uppers", plant_link},
    {"no sign of the tool", remove_sign},
    {"a backend without mounts", choose_landlock},
    {"read-only mode", choose_read_only},
    {"no caches", switch_off},
};

TEST_EACH(there_is_no_overlay_with, struct no_overlay, no_overlays)
{
    struct trial trial = start_in_workspace();

    make_directories("home/.npm");
    row->arrange(&trial);
    if (trial_resolve(&trial) != 0)
        test_note("%s", trial.error.message);
    need(trial.error.code == ERROR_NONE);
    for (size_t i = 0; i < trial.resolved.cache_count; i++)
        check(trial.resolved.caches[i].place == SIZE_MAX);
    check(access(trial_path("elsewhere/0"), F_OK) != 0);
    trial_end(&trial);
}
