/*
 * resolve_caches.c - the caches of tools, which live in the home and would be read-only there.
 *
 * `private`: a directory of this workspace below the user's cache directory,
 * handed to each tool by its own variable. Where there is no such directory
 * (read-only mode, no home, a home of somebody else) the variables point into
 * the private temp directory, which only the run knows: their values start
 * with TMP_PLACEHOLDER.
 *
 * Cargo has no variable: CARGO_HOME also holds its settings and credentials,
 * and offline builds work with it read-only. Go's modules are moved only when
 * there is a network to fill the new place from; the old place serves as proxy.
 *
 * Should:  leave alone every variable that the caller has set.
 * Mustn't: make a directory in somebody else's tree, or as root in a user's:
 *          the user's own file system identity is taken for that.
 */
#include "policy/resolve_internal.h"

#include <fcntl.h>
#include <sys/fsuid.h>
#include <unistd.h>

struct cache {
    const char *variable, *again; /* `again`: another spelling that the caller may have set */
    const char *directory;
    bool network; /* only when the command has a network */
};

static const struct cache caches[] = {
    {"GOCACHE", NULL, "go-build", false},
    {"GOMODCACHE", NULL, "go-mod", true},
    {"npm_config_cache", "NPM_CONFIG_CACHE", "npm", false},
    {"YARN_CACHE_FOLDER", NULL, "yarn", false},
    {"PIP_CACHE_DIR", NULL, "pip", false},
    {"UV_CACHE_DIR", NULL, "uv", false},
    {"CCACHE_DIR", NULL, "ccache", false},
    {"GRADLE_USER_HOME", NULL, "gradle", false},
    {"XDG_CACHE_HOME", NULL, "xdg", false},
};

/* What `host` grants, below the home; only what is there. */
static const char *const host_caches[] = {
    ".cache/go-build", "go/pkg/mod",      ".npm",           ".cache/yarn",     ".cache/pip",
    ".cache/uv",       ".cache/ccache",   ".ccache",        ".cargo/registry", ".cargo/git",
    ".gradle/caches",  ".gradle/wrapper", ".m2/repository",
};

/* The home whose caches are meant: $HOME if it belongs to the command's user, else that of its account. */
static int open_cache_home(const struct resolving *resolving, struct opened *home)
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

/* One directory deeper, made if need be. Takes @fd over. Return: the new descriptor or -errno. */
static int step_into(int fd, const char *name, uid_t uid, bool follow)
{
    _cleanup_fd_ int at = fd, next = -1;
    int flags = O_PATH | O_DIRECTORY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW);
    struct stat st;

    next = openat(at, name, flags);
    if (next < 0 && errno == ENOENT) {
        if (mkdirat(at, name, 0700) != 0 && errno != EEXIST)
            return -errno;
        next = openat(at, name, flags);
    }
    if (next < 0 || fstat(next, &st) != 0)
        return -errno;
    if (st.st_uid != uid || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return -EPERM; /* somebody else could plant things in it */
    return steal_fd(&next);
}

/* The workspace's canonical name as one file name: `/` is `-`, and `-` and `%` are escaped, so that no two
 * workspaces share a cache. NULL: too long, or out of memory. */
static char *cache_name(const char *workspace)
{
    struct text text = {0};

    for (const char *at = workspace + 1; *at; at++)
        if (*at == '/')
            text_add(&text, "-");
        else if (*at == '-' || *at == '%')
            text_addf(&text, "%%%02x", (unsigned char)*at);
        else
            text_add_bytes(&text, at, 1);
    if (text.failed || text.length == 0 || text.length > 200)
        text_free(&text);
    return text.data;
}

/* Makes and opens `.cache/confine/caches/NAME` below @home. Return: the descriptor or -errno. */
static int make_directory(const struct resolving *resolving, const struct opened *home, const char *name)
{
    const char *steps[] = {".cache", "confine", "caches", name};
    const struct resolved *resolved = resolving->resolved;
    int fd = fcntl(home->fd, F_DUPFD_CLOEXEC, 3);

    if (fd < 0)
        return -errno;
    if (resolved->switch_user) { /* of this thread only, and only for files */
        setfsgid(resolved->gid);
        setfsuid(resolved->uid);
    }
    for (size_t i = 0; i < ARRAY_SIZE(steps) && fd >= 0; i++)
        fd = step_into(fd, steps[i], resolved->uid, i == 0);
    if (resolved->switch_user) {
        setfsuid(resolving->caller);
        setfsgid(getegid());
    }
    return fd;
}

/* Return: 0 with @directory open, -ENOENT when the temp directory has to do, -ENOMEM. */
static int open_private(struct resolving *resolving, struct opened *directory)
{
    const struct resolved *resolved = resolving->resolved;
    _cleanup_opened_ struct opened home = {.fd = -1};
    _cleanup_free_ char *name = NULL, *path = NULL;
    struct stat st;
    int r;

    if (resolved->mode != MODE_WORKSPACE_WRITE || !resolved->workspace)
        return -ENOENT;
    r = open_cache_home(resolving, &home);
    if (r < 0)
        return r;
    name = cache_name(resolved->workspace);
    if (!name)
        return -ENOENT;
    directory->fd = make_directory(resolving, &home, name);
    if (directory->fd < 0 || fstat(directory->fd, &st) != 0)
        return -ENOENT;
    directory->fd = fd_close(directory->fd);
    if (asprintf(&path, "%s/.cache/confine/caches/%s", home.path, name) < 0)
        return -ENOMEM;
    r = path_open(path, directory); /* for its canonical name; it must be the directory just made */
    if (r == -ENOMEM)
        return r;
    if (r < 0 || directory->st.st_dev != st.st_dev || directory->st.st_ino != st.st_ino ||
        path_contains(resolved->workspace, directory->path))
        return -ENOENT;
    for (size_t i = 0; i < directory->links.count; i++)
        if (resolved_under_writable(resolved, directory->links.items[i]))
            return -ENOENT;
    return 0;
}

static bool is_set(const struct resolving *resolving, const char *name)
{
    return name && (env_value(resolving->env, name) || env_value(resolving->resolved->env.items, name));
}

static bool has_network(const struct resolving *resolving)
{
    return resolving->policy->network != NETWORK_NONE;
}

/* The host's own cache as something to read from, where a tool can. */
static int add_lower(struct resolving *resolving, const char *home, const char *base)
{
    static const struct {
        const char *variable, *probe, *format; /* format: host's home, private base */
        bool network;
    } lowers[] = {
        {"GRADLE_RO_DEP_CACHE", ".gradle/caches/modules-2", "GRADLE_RO_DEP_CACHE=%1$s/.gradle/caches", false},
        {"MAVEN_ARGS", ".m2/repository",
         "MAVEN_ARGS=-Dmaven.repo.local=%2$s/maven -Dmaven.repo.local.tail=%1$s/.m2/repository", false},
        {"GOPROXY", "go/pkg/mod/cache/download",
         "GOPROXY=file://%1$s/go/pkg/mod/cache/download,https://proxy.golang.org,direct", true},
    };
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(lowers) && r == 0; i++) {
        _cleanup_free_ char *probe = NULL;
        struct text text = {0};

        if (asprintf(&probe, "%s/%s", home, lowers[i].probe) < 0)
            return -ENOMEM;
        if (is_set(resolving, lowers[i].variable) || access(probe, X_OK) != 0 || strpbrk(home, " \t\n,") ||
            (lowers[i].network && !has_network(resolving)))
            continue;
        for (const char *at = lowers[i].format; *at; at++)
            if (strncmp(at, "%1$s", 4) == 0 || strncmp(at, "%2$s", 4) == 0) {
                text_add(&text, at[1] == '1' ? home : base);
                at += 3;
            } else {
                text_add_bytes(&text, at, 1);
            }
        r = text.failed ? -ENOMEM : strings_add(&resolving->resolved->env, text.data);
        text_free(&text);
    }
    return r;
}

static int add_private(struct resolving *resolving)
{
    struct resolved *resolved = resolving->resolved;
    _cleanup_opened_ struct opened directory = {.fd = -1}, home = {.fd = -1};
    _cleanup_free_ char *base = NULL;
    int r = open_private(resolving, &directory);

    if (r == -ENOMEM)
        return error_no_memory(resolving->error);
    base = strdup(r == 0 ? directory.path : TMP_PLACEHOLDER);
    if (!base)
        return error_no_memory(resolving->error);
    if (r == 0)
        r = resolving_add(resolving, &directory, GRANT_WRITE, false, true, NULL);
    else
        r = 0;
    for (size_t i = 0; i < ARRAY_SIZE(caches) && r == 0; i++) {
        const struct cache *cache = &caches[i];

        if (is_set(resolving, cache->variable) || is_set(resolving, cache->again) ||
            (cache->network && !has_network(resolving)))
            continue;
        r = strings_addf(&resolved->env, "%s=%s/%s", cache->variable, base, cache->directory);
    }
    if (r == 0 && open_cache_home(resolving, &home) == 0)
        r = add_lower(resolving, home.path, base);
    return r == -ENOMEM ? error_no_memory(resolving->error) : r;
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
