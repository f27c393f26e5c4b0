/*
 * resolve_paths.c - from a name to a descriptor, once.
 *
 * A name without links is opened by one openat2 that refuses links: what it
 * opens is what the name means. Anything else is walked here, one component at
 * a time and by descriptor, which also works where openat2 is refused (inside
 * another confinement).
 *
 * Should:  know every link that led to an object, so that one which the command
 *          itself may replace is refused.
 * Mustn't: look a name up a second time and trust the answer: the second look
 *          only ever compares.
 */
#include "policy/resolve_internal.h"

#include "kernel/object.h"
#include "links/kernel_abi.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as the kernel has it */

int path_parent(const char *path, char **ret_parent, const char **ret_name)
{
    const char *slash = strrchr(path, '/');

    if (!slash || !slash[1])
        return -EINVAL;
    *ret_parent = strndup(path, slash == path ? 1 : (size_t)(slash - path));
    *ret_name = slash + 1;
    return *ret_parent ? 0 : -ENOMEM;
}

void opened_free(struct opened *opened)
{
    opened->fd = fd_close(opened->fd);
    free(opened->path);
    opened->path = NULL;
    strings_free(&opened->links);
}

static uint64_t raise_from = UINT64_MAX; /* this descriptor */

/* The first of this resolving. */
static struct {
    char name[PATH_MAX];
    int error;
} unanswered;

void paths_begin(uint64_t limit)
{
    raise_from = limit / 2;
    unanswered.error = 0;
}

/* Descriptors are one per path. Never lowered again. */
static bool raise_descriptor_limit(void)
{
    struct rlimit limit;

    raise_from = UINT64_MAX;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max)
        return false;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

/* The upper half of the limit is for whoever opens something after the paths. Where it cannot be raised, that
 * is said by the first who has none left. */
static int leave_room(int fd)
{
    if (fd >= 0 && (uint64_t)fd >= raise_from)
        (void)raise_descriptor_limit();
    return fd;
}

int path_open_at(int at, const char *name, int flags)
{
    for (bool raised = false;; raised = true) {
        int fd = openat(at, name, O_PATH | O_CLOEXEC | flags);

        if (fd >= 0)
            return leave_room(fd);
        if (errno != EMFILE || raised || !raise_descriptor_limit())
            return -errno;
    }
}

/* The whole name in one call, refusing every link. Return: the descriptor or -errno. */
static int open_plain(const char *path)
{
    for (bool raised = false;; raised = true) {
        int fd = object_open(AT_FDCWD, path, 0, RESOLVE_NO_SYMLINKS);

        if (fd != -EMFILE || raised || !raise_descriptor_limit())
            return leave_room(fd);
    }
}

/* Takes `//`, `/./` and a final `/` out of an absolute name. @ret_plain: no `..` is in it. */
static char *clean_path(const char *absolute, bool *ret_plain)
{
    char *clean = malloc(strlen(absolute) + 2), *to = clean;

    *ret_plain = true;
    if (!clean)
        return NULL;
    for (const char *at = absolute; *at;) {
        size_t length;

        at += strspn(at, "/");
        length = strcspn(at, "/");
        if (length == 0)
            break;
        if (!(length == 1 && at[0] == '.')) {
            if (length == 2 && at[0] == '.' && at[1] == '.')
                *ret_plain = false;
            *to++ = '/';
            memcpy(to, at, length);
            to += length;
        }
        at += length;
    }
    if (to == clean)
        *to++ = '/';
    *to = '\0';
    return clean;
}

/* A walk in progress. */
struct walk {
    int fd;       /* where it stands */
    char *path;   /* canonical name of that, "" for the root */
    char *rest;   /* what is still to go */
    size_t links; /* followed so far */
    bool follow;
};

static int walk_root(struct walk *walk)
{
    int fd = path_open_at(AT_FDCWD, "/", O_DIRECTORY);

    if (fd < 0)
        return fd;
    fd_close(walk->fd);
    walk->fd = fd;
    walk->path[0] = '\0';
    return 0;
}

static int walk_up(struct walk *walk)
{
    int fd = path_open_at(walk->fd, "..", O_DIRECTORY | O_NOFOLLOW);
    char *slash = strrchr(walk->path, '/');

    if (fd < 0)
        return fd;
    fd_close(walk->fd);
    walk->fd = fd;
    if (slash)
        *slash = '\0';
    return 0;
}

/* The link behind LINK_FD is NAME where the walk stands: its text goes in front of the rest. */
static int walk_link(struct walk *walk, int link_fd, const struct stat *st, const char *name,
                     struct strings *links, uint64_t *root_links)
{
    char target[PATH_MAX], *rest;
    ssize_t length;

    if (!walk->follow || ++walk->links > LINKS_MAX)
        return -ELOOP;
    length = readlinkat(link_fd, "", target, sizeof(target) - 1);
    if (length < 0)
        return -errno;
    if (length == 0 || (size_t)length >= sizeof(target) - 1)
        return -ENOENT;
    target[length] = '\0';
    if (links && strings_addf(links, "%s/%s", walk->path, name) < 0)
        return -ENOMEM;
    if (links && st->st_uid == 0)
        *root_links |= UINT64_C(1) << (links->count - 1); /* at most LINKS_MAX */
    if (asprintf(&rest, "%s/%s", target, walk->rest) < 0)
        return -ENOMEM;
    free(walk->rest);
    walk->rest = rest;
    return target[0] == '/' ? walk_root(walk) : 0;
}

/* One component. Takes it off the rest. */
static int walk_step(struct walk *walk, struct strings *links, uint64_t *root_links)
{
    _cleanup_free_ char *name = NULL;
    _cleanup_fd_ int fd = -1;
    size_t skip = strspn(walk->rest, "/"), length = strcspn(walk->rest + skip, "/");
    struct stat st;
    char *longer;

    name = strndup(walk->rest + skip, length);
    if (!name)
        return -ENOMEM;
    memmove(walk->rest, walk->rest + skip + length, strlen(walk->rest + skip + length) + 1);
    if (length == 0 || strcmp(name, ".") == 0)
        return 0;
    if (strcmp(name, "..") == 0)
        return walk_up(walk);
    fd = path_open_at(walk->fd, name, O_NOFOLLOW);
    if (fd < 0)
        return fd;
    if (fstat(fd, &st) != 0)
        return -errno;
    if (S_ISLNK(st.st_mode))
        return walk_link(walk, fd, &st, name, links, root_links);
    if (asprintf(&longer, "%s/%s", walk->path, name) < 0)
        return -ENOMEM;
    free(walk->path);
    walk->path = longer;
    fd_close(walk->fd);
    walk->fd = steal_fd(&fd);
    return 0;
}

/* Return: the descriptor or -errno. @links and @ret_path may be NULL; @root_links goes with @links. */
static int walk_path(const char *absolute, bool follow, struct strings *links, uint64_t *root_links,
                     char **ret_path)
{
    struct walk walk = {.fd = -1, .path = strdup(""), .rest = strdup(absolute), .follow = follow};
    int r = walk.path && walk.rest ? walk_root(&walk) : -ENOMEM;

    while (r == 0 && walk.rest[strspn(walk.rest, "/")])
        r = walk_step(&walk, links, root_links);
    if (r == 0 && ret_path) {
        *ret_path = *walk.path ? steal_pointer(&walk.path) : strdup("/");
        r = *ret_path ? 0 : -ENOMEM;
    }
    free(walk.path);
    free(walk.rest);
    if (r < 0)
        fd_close(walk.fd);
    return r < 0 ? r : walk.fd;
}

/* Does PATH, opened without following anything, lead to the object of ST? */
static int compare_again(const char *path, const struct stat *st)
{
    _cleanup_fd_ int fd = open_plain(path);
    struct stat again;

    if (fd == -ENOSYS || fd == -EPERM || fd == -ENAMETOOLONG)
        fd = walk_path(path, false, NULL, NULL, NULL);
    if (fd < 0)
        return fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM ? fd : -ESTALE;
    if (fstat(fd, &again) != 0)
        return -errno;
    return stat_same(&again, st) ? 0 : -ESTALE;
}

/* Neither there nor not there: what could not be looked at now can be read a moment later. */
static bool tells_nothing(int error)
{
    static const int errors[] = {EMFILE, ENFILE, EIO, EINTR, EAGAIN, ETIMEDOUT};
    size_t i = 0;

    while (i < ARRAY_SIZE(errors) && errors[i] != error)
        i++;
    return i < ARRAY_SIZE(errors);
}

int path_unanswered(const char **ret_name)
{
    *ret_name = unanswered.name;
    return unanswered.error;
}

int path_open(const char *absolute, struct opened *opened)
{
    bool plain;
    int r = 0;

    *opened = (struct opened){.fd = -1, .path = clean_path(absolute, &plain)};
    if (!opened->path)
        return -ENOMEM;
    opened->fd = plain ? open_plain(opened->path) : -ELOOP;
    if (opened->fd < 0) {
        r = opened->fd;
        /* Behind a link (/var/run) mostly nothing is: one call says so, the walk takes a dozen. */
        if (r == -ELOOP && fstatat(AT_FDCWD, absolute, &opened->st, 0) != 0 && errno == ENOENT)
            r = -ENOENT;
        if (r == -ELOOP || r == -ENOSYS || r == -EPERM || r == -ENAMETOOLONG) {
            free(opened->path);
            opened->path = NULL;
            r = opened->fd = walk_path(absolute, true, &opened->links, &opened->root_links, &opened->path);
            plain = false;
        }
    }
    if (r >= 0 && fstat(opened->fd, &opened->st) != 0)
        r = -errno;
    if (r >= 0 && !plain)
        r = compare_again(opened->path, &opened->st);
    if (r < 0) {
        if (tells_nothing(-r) && unanswered.error == 0) {
            unanswered.error = -r;
            snprintf(unanswered.name, sizeof(unanswered.name), "%s", absolute);
        }
        if (opened->fd < 0)
            opened->fd = -1;
        opened_free(opened);
        return r;
    }
    return 0;
}

int resolving_absolute(struct resolving *resolving, const struct asked *asked, const char *base, char **ret)
{
    const char *value = asked->value;
    int length;

    *ret = NULL;
    if (value[0] == '/') {
        *ret = strdup(value);
        return *ret ? 0 : error_no_memory(resolving->error);
    }
    if (value[0] == '~' && (value[1] == '/' || value[1] == '\0')) {
        if (!resolving->resolved->home) {
            error_set(resolving->error, ERROR_POLICY_INVALID, 0, "no-home",
                      "%s %s: user %u has no home: the password database has no entry", asked->by,
                      QUOTE(value), (unsigned)resolving->caller);
            return error_hint(resolving->error, "write the absolute path");
        }
        length = asprintf(ret, "%s%s", resolving->resolved->home, value + 1);
        return length < 0 ? error_no_memory(resolving->error) : 0;
    }
    if (value[0] == '\0') {
        error_set(resolving->error, ERROR_POLICY_INVALID, 0, "path-empty", "%s: the path is empty",
                  asked->by);
        return error_hint(resolving->error, "write `.` for the current directory");
    }
    if (!base)
        base = resolving->cwd;
    if (!base) {
        error_set(resolving->error, ERROR_POLICY_INVALID, ENOENT, "cwd-missing",
                  "%s %s: the current directory does not exist any more", asked->by, QUOTE(value));
        return error_hint(resolving->error, "change to another directory first");
    }
    length = asprintf(ret, "%s/%s", base, value);
    return length < 0 ? error_no_memory(resolving->error) : 0;
}

int strings_add_joined(struct strings *strings, const char *front, size_t length, const char *back)
{
    size_t more = strlen(back);
    char stack[256], *name = length + more < sizeof(stack) ? stack : malloc(length + more + 1);
    int r;

    if (!name)
        return -ENOMEM;
    memcpy(name, front, length);
    memcpy(name + length, back, more + 1);
    r = strings_add(strings, name);
    if (name != stack)
        free(name);
    return r;
}

/* The homes that `~` of a set stands for: the environment may only add. */
static int expand_home(struct resolving *resolving, const char *rest, struct strings *names)
{
    const char *homes[] = {resolving->resolved->home, env_value(resolving->env, "HOME"), resolving->env_home,
                           resolving->command_home};

    for (size_t i = 0; i < ARRAY_SIZE(homes); i++) {
        bool seen = !homes[i] || homes[i][0] != '/';

        for (size_t j = 0; j < i && !seen; j++)
            seen = homes[j] && strcmp(homes[i], homes[j]) == 0;
        if (!seen && strings_add_joined(names, homes[i], strlen(homes[i]), rest) < 0)
            return error_no_memory(resolving->error);
    }
    return 0;
}

/*
 * `$NAME/rest`: a variable may hold several paths, separated by colons. Or a single one with a colon in it:
 * which of the two it is depends on who reads it, and what is not there is in nobody's way.
 */
static int expand_variable(struct resolving *resolving, const char *item, struct strings *names)
{
    size_t length = strcspn(item + 1, "/");
    _cleanup_free_ char *name = strndup(item + 1, length);
    const char *value, *rest = item + 1 + length;

    if (!name)
        return error_no_memory(resolving->error);
    value = env_value(resolving->env, name);
    if (value && value[0] == '/' && strchr(value, ':') &&
        strings_add_joined(names, value, strlen(value), rest) < 0)
        return error_no_memory(resolving->error);
    while (value && *value) {
        size_t part = strcspn(value, ":");

        if (value[0] == '/' && strings_add_joined(names, value, part, rest) < 0)
            return error_no_memory(resolving->error);
        value += part;
        value += *value == ':';
    }
    return 0;
}

int resolving_expand(struct resolving *resolving, const char *item, struct strings *names)
{
    if (item[0] == '~')
        return expand_home(resolving, item + 1, names);
    if (item[0] == '$')
        return expand_variable(resolving, item, names);
    if (strncmp(item, "./", 2) == 0) { /* below the workspace, or what its `.git` stands for */
        bool git = resolving->git_common && strncmp(item, "./.git/", 7) == 0;
        const char *top = git ? resolving->git_common : resolving->resolved->workspace;

        if (strcmp(item, "./.git") == 0 && !resolving->git_file)
            return 0; /* a directory is what git works in */
        return top && strings_add_joined(names, top, strlen(top), item + (git ? 6 : 1)) < 0
                   ? error_no_memory(resolving->error)
                   : 0;
    }
    return strings_add(names, item) < 0 ? error_no_memory(resolving->error) : 0;
}

struct path_failure {
    int errnum;
    enum error_code code;
    const char *reason, *why, *hint, *hint_single;
};

static const struct path_failure path_failures[] = {
    {ENOENT, ERROR_POLICY_INVALID, "path-missing", "it does not exist",
     "create it first, or mark it as optional with a `?` at the end", "create it first"},
    {ENOTDIR, ERROR_POLICY_INVALID, "path-missing", "a component of it is not a directory",
     "correct the path, or mark it as optional with a `?` at the end", "correct the path"},
    {EACCES, ERROR_POLICY_INVALID, "path-unreachable", "a directory above it may not be entered",
     "run as a user who may, or leave it out", NULL},
    {ELOOP, ERROR_POLICY_INVALID, "link-loop", "too many symbolic links", "name the object itself", NULL},
    {ESTALE, ERROR_POLICY_INVALID, "path-changed", "it changed while it was looked at",
     "somebody is changing this path: end that first", NULL},
    {EMFILE, ERROR_SANDBOX_UNAVAILABLE, "too-many-files", "the limit on open files is reached",
     "raise it (ulimit -n), or name fewer paths", NULL},
    {ENFILE, ERROR_SANDBOX_UNAVAILABLE, "too-many-files", "the machine has no free file entry",
     "end what has many files open, or raise fs.file-max", NULL},
    {ENOMEM, ERROR_SANDBOX_UNAVAILABLE, "no-memory", "out of memory", "end what takes it", NULL},
    {0, ERROR_POLICY_INVALID, "path-unreachable", NULL, "correct the path", NULL},
};

static const struct path_failure *find_failure(int errnum)
{
    const struct path_failure *row = path_failures;

    while (row->errnum && row->errnum != errnum)
        row++;
    return row;
}

int path_failed(struct error *error, const char *what, const char *path, int errnum)
{
    const struct path_failure *row = find_failure(errnum);

    error_set(error, row->code, errnum, row->reason, "%s: %s: %s", what, QUOTE(path),
              row->why ? row->why : strerror(errnum));
    return row->hint ? error_hint(error, "%s", row->hint) : -errnum;
}

static int fail_open(struct resolving *resolving, const struct asked *asked, int errnum)
{
    const struct path_failure *row = find_failure(errnum);
    const char *home = resolving->resolved->home, *env_home = env_value(resolving->env, "HOME"), *hint;
    /* Somebody who sees another home in the shell would look in the wrong place. */
    bool other_home = asked->value[0] == '~' && home && (!env_home || strcmp(home, env_home) != 0);

    error_set(resolving->error, row->code, errnum, row->reason, "%s %s%s%s: %s", asked->by,
              QUOTE(asked->value), other_home ? ", where ~ is " : "", other_home ? QUOTE(home) : "",
              row->why ? row->why : strerror(errnum));
    hint = asked->single && row->hint_single ? row->hint_single : row->hint;
    return hint ? error_hint(resolving->error, "%s", hint) : -errnum;
}

int resolving_note_links(struct resolving *resolving, const struct asked *asked, const struct opened *opened)
{
    for (size_t i = 0; i < opened->links.count; i++) {
        struct led led = {.link = strdup(opened->links.items[i]),
                          .grants = asked->grants,
                          .root = opened->root_links >> i & 1};

        if (asprintf(&led.what, "%s %s", asked->by, QUOTE(asked->value)) < 0)
            led.what = NULL;
        if (!led.link || !led.what || !array_more(&resolving->led, resolving->led_count, sizeof(led))) {
            free(led.link);
            free(led.what);
            return error_no_memory(resolving->error);
        }
        resolving->led[resolving->led_count++] = led;
    }
    return 0;
}

int resolving_open(struct resolving *resolving, const struct asked *asked, const char *base,
                   struct opened *opened)
{
    _cleanup_free_ char *absolute = NULL;
    int r = resolving_absolute(resolving, asked, base, &absolute);

    *opened = (struct opened){.fd = -1};
    if (r < 0)
        return r;
    r = path_open(absolute, opened);
    if ((r == -ENOENT || r == -ENOTDIR) && asked->optional) {
        r = resolving_skip(resolving, asked, "it does not exist");
        return r < 0 ? r : 1;
    }
    if (r < 0)
        return fail_open(resolving, asked, -r);
    r = resolving_note_links(resolving, asked, opened);
    if (r < 0)
        opened_free(opened);
    return r;
}

int resolving_add(struct resolving *resolving, struct opened *opened, enum grant grant, bool named,
                  bool implied, size_t *ret_index)
{
    struct resolved *resolved = resolving->resolved;

    if (!array_more(&resolved->paths, resolved->path_count, sizeof(*resolved->paths)))
        return error_no_memory(resolving->error);
    if (ret_index)
        *ret_index = resolved->path_count;
    resolved->paths[resolved->path_count++] = (struct resolved_path){
        .fd = steal_fd(&opened->fd),
        .path = steal_pointer(&opened->path),
        .device = opened->st.st_dev,
        .inode = opened->st.st_ino,
        .type = opened->st.st_mode & S_IFMT,
        .grant = grant,
        .named = named,
        .implied = implied,
    };
    return 0;
}

/*
 * May an earlier command have made this link? It was confined to a writable root, and what is too wide for
 * one holds no such link: `~/project` is the user's own, `~/src/project` may not be. A link of root's is
 * nobody's who was not root.
 */
static bool may_be_planted(struct resolving *resolving, const struct led *led)
{
    struct asked asked = {.value = led->link, .named = true};
    struct error before = *resolving->error;
    _cleanup_free_ char *directory = NULL;
    const char *name;
    bool wide;

    if (!led->grants || (led->root && resolving->resolved->uid != 0))
        return false;
    if (path_parent(led->link, &directory, &name) < 0)
        return true;
    wide = refuse_wide_write(resolving, &asked, directory) < 0;
    *resolving->error = before;
    return !wide;
}

static int fail_planted(struct resolving *resolving, const struct led *led)
{
    error_set(resolving->error, ERROR_POLICY_INVALID, ELOOP, "link-in-grant",
              "%s leads through the symbolic link %s, which an earlier command may have made", led->what,
              QUOTE(led->link));
    return error_hint(resolving->error, "name the object that you mean, without the link");
}

int resolving_check_links(struct resolving *resolving)
{
    const struct resolved *resolved = resolving->resolved;

    for (size_t i = 0; i < resolving->led_count; i++) {
        for (size_t j = 0; j < resolved->path_count; j++) {
            const struct resolved_path *path = &resolved->paths[j];
            const struct led *led = &resolving->led[i];

            if (path->grant != GRANT_WRITE || !path_contains(path->path, led->link))
                continue;
            error_set(resolving->error, ERROR_POLICY_INVALID, ELOOP, "link-in-writable",
                      "%s leads through the symbolic link %s, which stands below the writable %s", led->what,
                      QUOTE(led->link), QUOTE(path->path));
            return error_hint(resolving->error, "name the object that you mean, without the link");
        }
        if (may_be_planted(resolving, &resolving->led[i]))
            return fail_planted(resolving, &resolving->led[i]);
    }
    return 0;
}
