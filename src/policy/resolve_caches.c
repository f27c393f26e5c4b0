/*
 * resolve_caches.c - the caches of tools, which live in the home and would be read-only there.
 *
 * `private`: a directory of this workspace below the user's cache directory,
 * handed to each tool by its own variable; or, in a backend that mounts, an
 * overlay on the usual place (resolve_overlays.c). Where there is no such
 * directory (read-only mode, no home, a home of somebody else) the variables
 * point into the private temp directory, which only the run knows: their
 * values hold TMP_PLACEHOLDER.
 *
 * CARGO_HOME holds settings and programs, too, and Go's modules are of no use
 * without those that are there already: these two are moved only when there is
 * a network to fill the new place from, or was one, or nothing is at the old.
 *
 * Should:  leave alone every variable that the caller has set, unless it says
 *          what the tool would do without.
 * Mustn't: make a directory in somebody else's tree, or as root in a user's:
 *          the user's own file system identity is taken for that.
 */
#include "policy/resolve_internal.h"

#include <fcntl.h>
#include <sys/fsuid.h>
#include <unistd.h>

#define XDG  "XDG_CACHE_HOME", ".cache"
#define SELF NULL, NULL

/* clang-format off */
const struct cache cache_table[] = {
    {"GOCACHE", NULL, ".cache/go-build", "go-build", {".cache/go-build"}, XDG, {"go.mod", "go.work"}, CACHE_ALWAYS, true},
    {"GOMODCACHE", NULL, "go/pkg/mod", "go-mod", {"go/pkg/mod"}, "GOPATH", "go", {"go.mod", "go.work"}, CACHE_MISSING, false},
    {"npm_config_cache", "NPM_CONFIG_CACHE", ".npm", "npm", {".npm"}, SELF, {"package.json"}, CACHE_ALWAYS, true},
    {"PNPM_HOME", NULL, ".local/share/pnpm", "pnpm", {".local/share/pnpm/store"}, "XDG_DATA_HOME", ".local/share",
        {"pnpm-lock.yaml", "pnpm-workspace.yaml"}, CACHE_ALWAYS, true},
    {"YARN_CACHE_FOLDER", NULL, ".cache/yarn", "yarn", {".cache/yarn"}, XDG, {"yarn.lock"}, CACHE_ALWAYS, true},
    {"YARN_GLOBAL_FOLDER", NULL, ".yarn/berry", "yarn-berry", {".yarn/berry"}, SELF, {".yarnrc.yml"}, CACHE_ALWAYS, true},
    {"BUN_INSTALL_CACHE_DIR", NULL, ".bun/install/cache", "bun", {".bun/install/cache"}, "BUN_INSTALL", ".bun",
        {"bun.lock", "bun.lockb", "bunfig.toml"}, CACHE_ALWAYS, true},
    {"PIP_CACHE_DIR", NULL, ".cache/pip", "pip", {".cache/pip"}, XDG,
        {"requirements.txt", "pyproject.toml", "setup.py"}, CACHE_ALWAYS, true},
    {"VIRTUALENV_OVERRIDE_APP_DATA", NULL, ".local/share/virtualenv", "virtualenv", {".local/share/virtualenv"},
        "XDG_DATA_HOME", ".local/share", {"requirements.txt", "pyproject.toml", "setup.py", "tox.ini"}, CACHE_ALWAYS, true},
    {"UV_CACHE_DIR", NULL, ".cache/uv", "uv", {".cache/uv"}, XDG, {"uv.lock", "pyproject.toml"}, CACHE_ALWAYS, true},
    {"CARGO_HOME", NULL, ".cargo", "cargo", {".cargo/registry"}, SELF, {"Cargo.toml"}, CACHE_MISSING, false},
    {NULL, NULL, NULL, "cargo-git", {".cargo/git"}, "CARGO_HOME", ".cargo", {"Cargo.toml"}, CACHE_NEVER, false},
    {"CCACHE_DIR", NULL, NULL, "ccache", {".ccache", ".cache/ccache"}, XDG,
        {"Makefile", "CMakeLists.txt", "meson.build", "configure"}, CACHE_ALWAYS, true},
    {"GRADLE_USER_HOME", NULL, ".gradle", "gradle", {".gradle"}, SELF,
        {"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"}, CACHE_ALWAYS, true},
    {NULL, NULL, NULL, "maven", {".m2/repository"}, SELF, {"pom.xml"}, CACHE_NEVER, false}, /* add_maven() */
    {"XDG_CACHE_HOME", NULL, ".cache", "xdg", {NULL}, SELF, {NULL}, CACHE_ALWAYS, false},
};
/* clang-format on */
const size_t cache_table_count = ARRAY_SIZE(cache_table);

/* What `host` grants, below the home; only what is there. Not what holds settings beside the cache. */
static const char *const host_caches[] = {
    ".cache/go-build",
    "go/pkg/mod",
    ".npm",
    ".local/share/pnpm/store",
    ".cache/yarn",
    ".yarn/berry",
    ".cache/pip",
    ".cache/uv",
    ".cache/ccache",
    ".ccache",
    ".cargo/registry",
    ".cargo/git",
    ".gradle/caches",
    ".gradle/wrapper",
    ".m2/repository",
    ".bun/install/cache",
    ".local/share/virtualenv",
};

int open_cache_home(const struct resolving *resolving, struct opened *home)
{
    const char *names[] = {resolving->env_home, resolving->command_home};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        int r = names[i] ? path_open(names[i], home) : -ENOENT;

        if (r == -ENOMEM)
            return r;
        if (r < 0)
            continue;
        if (S_ISDIR(home->st.st_mode) && home->st.st_uid == resolving->resolved->uid)
            return 0;
        opened_free(home);
    }
    return -ENOENT;
}

/* One directory deeper, made if need be. Takes @fd over. @ret_made: was it? Return: the new descriptor or
 * -errno. */
static int step_into(int fd, const char *name, uid_t uid, bool follow, bool *ret_made)
{
    _cleanup_fd_ int at = fd, next = -1;
    int flags = O_PATH | O_DIRECTORY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW);
    struct stat st;

    next = openat(at, name, flags);
    *ret_made = next < 0 && errno == ENOENT && mkdirat(at, name, 0700) == 0;
    if (next < 0 && (*ret_made || errno == EEXIST))
        next = openat(at, name, flags);
    if (next < 0 || fstat(next, &st) != 0)
        return -errno;
    if (st.st_uid != uid || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return -EPERM; /* somebody else could plant things in it */
    return steal_fd(&next);
}

/* `/` is `-`; that, `%` and what has a meaning in lists, options and addresses are escaped, so that no two
 * workspaces share a cache and no tool takes its name apart. */
char *cache_name(const char *workspace)
{
    struct text text = {0};

    for (const char *at = workspace + 1; *at; at++)
        if (*at == '/')
            text_add(&text, "-");
        else if ((unsigned char)*at <= ' ' || strchr("-%\"'\\,;:$#?", *at))
            text_addf(&text, "%%%02x", (unsigned char)*at);
        else
            text_add_bytes(&text, at, 1);
    if (text.failed || text.length == 0 || text.length > 200)
        text_free(&text);
    return text.data;
}

/* The command's user, of this thread only, and only for files; or whoever calls again. */
static void be_user(const struct resolving *resolving, bool user)
{
    const struct resolved *resolved = resolving->resolved;

    if (resolved->switch_user && user) {
        setfsgid(resolved->gid);
        setfsuid(resolved->uid);
    } else if (resolved->switch_user) {
        setfsuid(resolving->caller);
        setfsgid(getegid());
    }
}

int cache_directory(const struct resolving *resolving, const struct opened *home, const char *const steps[],
                    size_t count, bool *ret_made)
{
    int fd = fd_copy(home->fd, 3);
    bool made = false;

    if (fd < 0)
        return -errno;
    be_user(resolving, true);
    for (size_t i = 0; i < count && fd >= 0; i++)
        fd = step_into(fd, steps[i], resolving->resolved->uid, i == 0, &made);
    be_user(resolving, false);
    if (ret_made)
        *ret_made = made;
    return fd;
}

/* Return: 0 with @directory open, -ENOENT when the temp directory has to do, -ENOMEM. */
static int open_private(struct resolving *resolving, const struct opened *home, struct opened *directory)
{
    const struct resolved *resolved = resolving->resolved;
    _cleanup_free_ char *name = NULL, *path = NULL;
    struct stat st;
    bool made;
    int r;

    if (resolved->mode != MODE_WORKSPACE_WRITE || !resolved->workspace || home->fd < 0)
        return -ENOENT;
    name = cache_name(resolved->workspace);
    if (!name)
        return -ENOENT;
    directory->fd =
        cache_directory(resolving, home, (const char *[]){".cache", "confine", "caches", name}, 4, &made);
    if (directory->fd < 0 || fstat(directory->fd, &st) != 0)
        return -ENOENT;
    if (made) {
        be_user(resolving, true);
        forget_stale_caches(directory->fd, resolved->workspace);
        be_user(resolving, false);
    }
    directory->fd = fd_close(directory->fd);
    path = text_join(home->path, "/.cache/confine/caches/", name, NULL);
    if (!path)
        return -ENOMEM;
    r = path_open(path, directory); /* for its canonical name; it must be the directory just made */
    if (r == -ENOMEM)
        return r;
    if (r < 0 || !stat_same(&directory->st, &st) || path_contains(resolved->workspace, directory->path))
        return -ENOENT;
    for (size_t i = 0; i < directory->links.count; i++)
        if (resolved_under_writable(resolved, directory->links.items[i]))
            return -ENOENT;
    return 0;
}

bool cache_is_set(const struct resolving *resolving, const char *home, const char *name, const char *usual)
{
    const char *value = name ? env_value(resolving->resolved->env.items, name) : NULL;
    size_t length = home ? strlen(home) : 0;

    if (!value && name)
        value = env_value(resolving->env, name);
    if (!value)
        return false;
    return !(usual && home && strncmp(value, home, length) == 0 && value[length] == '/' &&
             strcmp(value + length + 1, usual) == 0);
}

bool cache_is_own(const struct resolving *resolving, const char *home, const struct cache *cache)
{
    const char *usual = cache->usual;

    for (size_t i = 0; !usual && i < ARRAY_SIZE(cache->places) && cache->places[i]; i++)
        if (!cache_is_set(resolving, home, cache->variable, cache->places[i]))
            usual = cache->places[i];
    return cache_is_set(resolving, home, cache->variable, usual) ||
           cache_is_set(resolving, home, cache->again, usual);
}

/* The user's own, for the tools that can read from one cache and write to another. */
static bool has_own(const struct resolving *resolving, const char *home, const char *place)
{
    _cleanup_free_ char *path = NULL;

    if (!home || !resolving_home_may_have(resolving, home, place))
        return false;
    path = text_join(home, "/", place, NULL);
    return path && access(path, X_OK) == 0 && granted_readable(resolving->resolved, path, NULL);
}

static bool has_network(const struct resolving *resolving)
{
    return resolving->policy->network != NETWORK_NONE;
}

/* Where one cache goes. */
struct target {
    const char *home; /* NULL: there is none */
    const char *base; /* the private directory */
    struct cache_choice *choice;
};

/* Maven takes a second repository to read from since 3.9, which also is the first to look at MAVEN_ARGS. An
 * older one is left with the user's own repository as long as it has to get by with what is in there. */
static int add_maven(struct resolving *resolving, const struct target *target)
{
    bool own = has_own(resolving, target->home, ".m2/repository");
    _cleanup_free_ char *value = NULL;
    int r = 0;

    if (strpbrk(target->base, " \t\n") || (own && strpbrk(target->home, " \t\n,")))
        return 0; /* both variables are taken apart at blanks */
    value = own ? text_join("-Dmaven.repo.local=", target->base,
                            "/maven -Dmaven.repo.local.tail=", target->home, "/.m2/repository", NULL)
                : text_join("-Dmaven.repo.local=", target->base, "/maven", NULL);
    if (!value)
        return -ENOMEM;
    if (!cache_is_set(resolving, NULL, "MAVEN_ARGS", NULL))
        r = strings_join(&target->choice->env, "MAVEN_ARGS=", value, NULL);
    if (r == 0 && (!own || has_network(resolving)) && !cache_is_set(resolving, NULL, "MAVEN_OPTS", NULL))
        r = strings_join(&target->choice->env, "MAVEN_OPTS=", value, NULL);
    return r;
}

/* A file of settings may name a proxy, which a variable of ours would replace. */
static bool has_go_settings(const struct resolving *resolving, const char *home)
{
    _cleanup_free_ char *path = NULL;

    return cache_is_set(resolving, NULL, "GOENV", NULL) || asprintf(&path, "%s/.config/go/env", home) < 0 ||
           access(path, F_OK) == 0;
}

/* The user's own cache as something to read from, for a tool whose cache was moved. */
static int add_lower(struct resolving *resolving, const struct cache *cache, const struct target *target)
{
    const char *home = target->home;

    if (!home)
        return 0;
    if (strcmp(cache->directory, "gradle") == 0 && has_own(resolving, home, ".gradle/caches/modules-2") &&
        !cache_is_set(resolving, NULL, "GRADLE_RO_DEP_CACHE", NULL))
        return strings_addf(&target->choice->env, "GRADLE_RO_DEP_CACHE=%s/.gradle/caches", home);
    if (strcmp(cache->directory, "go-mod") == 0 && has_own(resolving, home, "go/pkg/mod/cache/download") &&
        !cache_is_set(resolving, NULL, "GOPROXY", NULL) && !strpbrk(home, " \t\n,|%") &&
        !has_go_settings(resolving, home))
        return strings_addf(&target->choice->env,
                            "GOPROXY=file://%s/go/pkg/mod/cache/download,https://proxy.golang.org,direct",
                            home);
    return 0;
}

/* Did an earlier run, with a network, bring something in? It would be missed. */
static bool was_filled(const struct cache *cache, const struct target *target)
{
    _cleanup_free_ char *path = text_join(target->base, "/", cache->directory, NULL);

    return path && access(path, X_OK) == 0;
}

static int add_variables(struct resolving *resolving, const struct cache *cache, const struct target *target)
{
    int r;

    if (strcmp(cache->directory, "maven") == 0)
        return add_maven(resolving, target);
    if (cache->when == CACHE_NEVER || cache_is_own(resolving, target->home, cache))
        return 0;
    if (cache->when == CACHE_MISSING && !has_network(resolving) && !was_filled(cache, target) &&
        (cache_is_set(resolving, target->home, cache->moved, cache->moved_usual) ||
         has_own(resolving, target->home, cache->places[0])))
        return 0;
    r = strings_join(&target->choice->env, cache->variable, "=", target->base, "/", cache->directory, NULL);
    return r == 0 ? add_lower(resolving, cache, target) : r;
}

static int add_private(struct resolving *resolving)
{
    struct resolved *resolved = resolving->resolved;
    _cleanup_opened_ struct opened directory = {.fd = -1}, home = {.fd = -1};
    _cleanup_free_ char *base = NULL;
    int r = open_cache_home(resolving, &home);

    if (r != -ENOMEM)
        r = open_private(resolving, &home, &directory);
    if (r == -ENOMEM)
        return error_no_memory(resolving->error);
    if (resolving_list_homes(resolving) < 0)
        return -ENOMEM;
    base = strdup(r == 0 ? directory.path : TMP_PLACEHOLDER);
    resolved->caches = calloc(cache_table_count, sizeof(*resolved->caches));
    if (!base || !resolved->caches)
        return error_no_memory(resolving->error);
    r = r == 0 ? resolving_add(resolving, &directory, GRANT_WRITE, false, true, NULL) : 0;
    for (size_t i = 0; i < cache_table_count && r == 0; i++) {
        struct cache_choice *choice = &resolved->caches[resolved->cache_count++];

        *choice = (struct cache_choice){.place = SIZE_MAX, .upper = SIZE_MAX};
        r = add_variables(resolving, &cache_table[i],
                          &(struct target){.home = home.path, .base = base, .choice = choice});
    }
    return r == -ENOMEM ? error_no_memory(resolving->error) : r;
}

const struct strings *cache_env(const struct cache_choice *choice, bool overlays)
{
    return overlays && choice->place != SIZE_MAX ? &choice->env_overlaid : &choice->env;
}

void caches_free(struct resolved *resolved)
{
    for (size_t i = 0; i < resolved->cache_count; i++) {
        strings_free(&resolved->caches[i].env);
        strings_free(&resolved->caches[i].env_overlaid);
    }
    free(resolved->caches);
    if (resolved->cache_count > 0) /* else nothing was ever put there */
        fd_close(resolved->cache_lock);
}

static int grant_host(struct resolving *resolving)
{
    struct asked asked = asked_key(resolving->policy, KEY_CACHES, NULL);
    _cleanup_opened_ struct opened home = {.fd = -1};
    int r = open_cache_home(resolving, &home);

    if (r == -ENOMEM)
        return error_no_memory(resolving->error);
    if (r < 0 || resolving->resolved->mode != MODE_WORKSPACE_WRITE)
        return 0; /* no home, no caches in it; nothing is writable in read-only */
    r = 0;
    for (size_t i = 0; i < ARRAY_SIZE(host_caches) && r >= 0; i++) {
        _cleanup_free_ char *path = NULL;
        _cleanup_opened_ struct opened opened = {.fd = -1}, probe = {.fd = -1};

        if (asprintf(&path, "%s/%s", home.path, host_caches[i]) < 0)
            return error_no_memory(resolving->error);
        if (path_open(path, &probe) < 0)
            continue;
        asked.value = path;
        r = resolving_open(resolving, &asked, NULL, &opened);
        if (r == 0)
            r = refuse_wide(resolving, &asked, opened.path);
        if (r == 0)
            r = resolving_add(resolving, &opened, GRANT_WRITE, false, true, NULL);
    }
    return r;
}

int resolve_caches(struct resolving *resolving)
{
    switch (resolving->policy->caches) {
    case CACHES_HOST:
        return grant_host(resolving);
    case CACHES_OFF:
        return 0;
    case CACHES_PRIVATE:
    default:
        return add_private(resolving);
    }
}
