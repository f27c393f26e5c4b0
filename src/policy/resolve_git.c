/*
 * resolve_git.c - the repository of a workspace whose `.git` is no directory.
 *
 * In a linked worktree, a submodule or behind a link the git directory stands
 * outside, and with the workspace alone `git add` fails. But what `.git` says
 * is in the command's hands. So the repository is granted only if it names the
 * workspace back: `worktrees/NAME/gitdir` of the common directory, or
 * `core.worktree` of the git directory's own configuration. These were not
 * within the command's reach unless that repository already was.
 *
 * Should:  say in a warning why a repository is not granted, and what to do.
 * Mustn't: run git; follow a symbolic link on the way; refuse a run for what
 *          stands in `.git`: a plant would stop the work of everybody.
 */
#include "policy/resolve_internal.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#define NAME_BYTES   (PATH_MAX + 16)
#define CONFIG_BYTES 65536

/* --- small files of a repository ----------------------------------------------------------------------- */

/* The text of the regular file behind FD, an O_PATH descriptor: at most @size - 1 bytes, no NUL in it, line
 * ends at its end taken off. Return: 0 or -errno. */
static int read_object(int fd, char *text, size_t size)
{
    _cleanup_fd_ int file = -1;
    struct stat st;
    ssize_t got;
    size_t length = 0;

    text[0] = '\0';
    if (fstat(fd, &st) != 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size >= size)
        return -EINVAL;
    file = open(FD_NAME(fd), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return -errno;
    while (length < size && (got = read(file, text + length, size - length)) != 0) {
        if (got < 0)
            return -errno;
        length += (size_t)got;
    }
    if (length >= size || memchr(text, '\0', length))
        return -EINVAL;
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r'))
        length--;
    text[length] = '\0';
    return 0;
}

static int read_file(int at, const char *name, char *text, size_t size)
{
    _cleanup_fd_ int fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

    return fd < 0 ? -errno : read_object(fd, text, size);
}

/* One value of a configuration, unquoted, into OUT. Return: what follows it, or NULL for what is not
 * understood. */
static const char *read_value(const char *at, char *out, size_t size)
{
    size_t length = 0, kept = 0;
    bool quoted = false;

    for (; *at && *at != '\n' && (quoted || (*at != '#' && *at != ';')); at++) {
        char byte = *at;

        if (byte == '"') {
            quoted = !quoted;
            continue;
        }
        if (byte == '\\') {
            byte = *++at;
            if (byte != '"' && byte != '\\')
                return NULL; /* a value over several lines, a tab in a path: nobody's path */
        }
        if (length + 1 >= size)
            return NULL;
        out[length++] = byte;
        if (quoted || !isspace((unsigned char)byte))
            kept = length;
    }
    out[kept] = '\0';
    return quoted ? NULL : at + strcspn(at, "\n");
}

/* The last `KEY` in the section `[core]` of a configuration. Return: is there one, and understood? */
static bool find_core(const char *text, const char *key, char *out, size_t size)
{
    bool core = false, found = false;

    while (text && *text) {
        size_t length;

        text += strspn(text, " \t\r\n");
        if (*text == '[') {
            core = strncasecmp(text, "[core]", 6) == 0;
            text += strcspn(text, "]\n");
            text += *text == ']';
            continue;
        }
        length = strcspn(text, " \t=\n#;");
        if (core && length == strlen(key) && strncasecmp(text, key, length) == 0) {
            text += length;
            text += strspn(text, " \t");
            found = *text == '=';
            text = found ? read_value(text + 1 + strspn(text + 1, " \t"), out, size) : text;
            found = found && text;
        }
        if (text)
            text += strcspn(text, "\n");
    }
    return found;
}

static bool read_core(int directory, const char *file, const char *key, char *out, size_t size)
{
    _cleanup_free_ char *text = malloc(CONFIG_BYTES);

    if (!text)
        return false;
    text[0] = '\0';
    return read_file(directory, file, text, CONFIG_BYTES) == 0 && find_core(text, key, out, size);
}

/* --- both directions ----------------------------------------------------------------------------------- */

/* VALUE, relative to the directory BASE, opened without a link on the way. Return: 0, -ELOOP for a link, or
 * -errno. */
static int open_named(const char *base, const char *value, struct opened *opened)
{
    _cleanup_free_ char *absolute = NULL;
    int r;

    *opened = (struct opened){.fd = -1};
    if (asprintf(&absolute, "%s%s%s", value[0] == '/' ? "" : base, value[0] == '/' ? "" : "/", value) < 0) {
        absolute = NULL;
        return -ENOMEM;
    }
    r = path_open(absolute, opened);
    if (r == 0 && opened->links.count > 0)
        r = -ELOOP;
    if (r < 0)
        opened_free(opened);
    return r;
}

/* Does VALUE, said in the directory BASE, lead to the directory of ST? */
static bool leads_to(const char *base, const char *value, const struct stat *st)
{
    _cleanup_opened_ struct opened opened = {.fd = -1};

    return open_named(base, value, &opened) == 0 && S_ISDIR(opened.st.st_mode) && stat_same(&opened.st, st);
}

/* GIT is COMMON/worktrees/NAME, says so, and its `gitdir` names the workspace's `.git`. Then *ret_common is
 * opened. */
static bool names_worktree(const struct opened *git, const struct stat *workspace, struct opened *ret_common)
{
    _cleanup_free_ char *worktrees = NULL, *common = NULL;
    const char *name, *parent;
    char text[NAME_BYTES];
    struct stat above;
    size_t length;

    if (path_parent(git->path, &worktrees, &name) < 0 || path_parent(worktrees, &common, &parent) < 0 ||
        strcmp(parent, "worktrees") != 0 || open_named("", common, ret_common) < 0)
        return false;
    if (fstatat(git->fd, "../..", &above, 0) != 0 || !stat_same(&above, &ret_common->st) ||
        read_file(git->fd, "commondir", text, sizeof(text)) < 0 ||
        !leads_to(git->path, text, &ret_common->st) || read_file(git->fd, "gitdir", text, sizeof(text)) < 0)
        return false;
    length = strlen(text);
    if (length < 6 || strcmp(text + length - 5, "/.git") != 0)
        return false;
    text[length - 5] = '\0';
    return leads_to(git->path, text, workspace);
}

/* The configuration of GIT says that it works on the workspace. Sparse checkouts keep that apart. */
static bool names_work_tree(const struct opened *git, const struct stat *workspace)
{
    char text[NAME_BYTES];

    return (read_core(git->fd, "config.worktree", "worktree", text, sizeof(text)) ||
            read_core(git->fd, "config", "worktree", text, sizeof(text))) &&
           leads_to(git->path, text, workspace);
}

static bool is_git_directory(int fd)
{
    struct stat st;

    return fstatat(fd, "HEAD", &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode) &&
           fstatat(fd, "objects", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
           fstatat(fd, "refs", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* --- the grant ----------------------------------------------------------------------------------------- */

static int warn(struct resolving *resolving, const char *name, const char *why)
{
    struct resolved *resolved = resolving->resolved;

    return strings_addf(&resolved->warnings,
                        "git-directory: the workspace's .git names %s, which is not writable: %s",
                        QUOTE(name), why) < 0
               ? error_no_memory(resolving->error)
               : 0;
}

/* What `.git`, which is LINK or a file, says: the text behind `gitdir: `, or where the link leads. Return: 0
 * or a negative errno: it says nothing that can be understood. */
static int read_pointer(int workspace, bool link, char *text, size_t size)
{
    static const char mark[] = "gitdir: ";
    ssize_t length;
    int r;

    text[0] = '\0';
    if (link) {
        length = readlinkat(workspace, ".git", text, size - 1);
        if (length <= 0 || (size_t)length >= size - 1)
            return -EINVAL;
        text[length] = '\0';
        return 0;
    }
    r = read_file(workspace, ".git", text, size);
    if (r < 0 || strncmp(text, mark, sizeof(mark) - 1) != 0 || strlen(text) < sizeof(mark))
        return r < 0 ? r : -EINVAL;
    memmove(text, text + sizeof(mark) - 1, strlen(text) - sizeof(mark) + 2);
    return 0;
}

/* Too wide for a workspace is too wide for a repository. Return: 0, or 1 with *ret_why. */
static int look_wide(struct resolving *resolving, const char *path, char *why, size_t size)
{
    struct asked asked = {.by = "the git directory", .value = path};
    struct error before = *resolving->error;
    int r = refuse_wide(resolving, &asked, path);

    snprintf(why, size, "%s", resolving->error->message);
    *resolving->error = before;
    return r < 0;
}

static int grant(struct resolving *resolving, struct opened *common, bool worktree, bool named)
{
    struct resolved *resolved = resolving->resolved;
    int r;

    resolving->git_common = strdup(common->path);
    if (!resolving->git_common)
        return error_no_memory(resolving->error);
    r = resolving_add(resolving, common, resolved->mode == MODE_WORKSPACE_WRITE ? GRANT_WRITE : GRANT_READ,
                      named, false, NULL);
    if (r == 0)
        resolved->paths[resolved->path_count - 1].source.what =
            worktree ? "the common git directory of the workspace" : "the git directory of the workspace";
    return r;
}

/* Never inlined: most workspaces need none of its room, and each page of the stack takes its time. */
__attribute__((noinline)) static int follow_pointer(struct resolving *resolving, bool link, bool named)
{
    struct resolved *resolved = resolving->resolved;
    _cleanup_opened_ struct opened git = {.fd = -1}, common = {.fd = -1};
    char name[NAME_BYTES], why[sizeof(resolving->error->message)];
    struct stat workspace;
    bool worktree;
    int r = read_pointer(resolved->workspace_fd, link, name, sizeof(name));

    if (r < 0 || fstat(resolved->workspace_fd, &workspace) != 0)
        return 0; /* git itself will say that it is no repository */
    r = open_named(resolved->workspace, name, &git);
    if (r == -ENOMEM)
        return error_no_memory(resolving->error);
    if (r < 0)
        return warn(resolving, name, r == -ELOOP ? "a symbolic link leads there" : strerror(-r));
    if (path_contains(resolved->workspace, git.path))
        return 0;
    worktree = names_worktree(&git, &workspace, &common);
    if (!worktree) {
        opened_free(&common);
        /* The command of an earlier run may have written what it names: nobody is to be talked into it. */
        if (!names_work_tree(&git, &workspace))
            return warn(
                resolving, git.path,
                is_git_directory(git.fd)
                    ? "it does not name the workspace back, and may be another project's: --write for it "
                      "would hand over its hooks (git runs them)"
                    : "it does not name the workspace back");
    }
    if (!is_git_directory(worktree ? common.fd : git.fd))
        return warn(resolving, git.path, "it is no git directory");
    if (look_wide(resolving, worktree ? common.path : git.path, why, sizeof(why)))
        return warn(resolving, git.path, why);
    return grant(resolving, worktree ? &common : &git, worktree, named);
}

int resolve_git(struct resolving *resolving, bool named)
{
    struct stat st;

    if (fstatat(resolving->resolved->workspace_fd, ".git", &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        S_ISDIR(st.st_mode))
        return 0; /* git stands in the workspace, or there is none */
    resolving->git_file = !S_ISLNK(st.st_mode);
    return follow_pointer(resolving, !resolving->git_file, named);
}

/* --- what else a repository names ---------------------------------------------------------------------- */

/* The directory that holds what belongs to the repository as a whole. Return: 0 or -errno. */
static int open_common(const struct resolving *resolving, struct opened *opened)
{
    if (resolving->git_common)
        return open_named("", resolving->git_common, opened);
    return open_named(resolving->resolved->workspace, ".git", opened);
}

int git_hooks(struct resolving *resolving, char **ret)
{
    const struct resolved *resolved = resolving->resolved;
    _cleanup_opened_ struct opened common = {.fd = -1};
    char text[NAME_BYTES];
    int length;

    *ret = NULL;
    if (!resolved->workspace || open_common(resolving, &common) < 0 ||
        !read_core(common.fd, "config", "hooksPath", text, sizeof(text)) || !text[0])
        return 0;
    if (text[0] == '~' && text[1] == '/' && resolved->home)
        length = asprintf(ret, "%s%s", resolved->home, text + 1);
    else if (text[0] == '/')
        length = asprintf(ret, "%s", text);
    else
        length = asprintf(ret, "%s/%s", resolved->workspace, text);
    return length < 0 ? error_no_memory(resolving->error) : 0;
}

/* Borrowed objects have nothing that names the borrower, and an earlier command may have written the list: it
 * grants nothing. Where everything may be read nothing is missing either. */
int git_alternates(struct resolving *resolving)
{
    struct resolved *resolved = resolving->resolved;
    _cleanup_opened_ struct opened common = {.fd = -1}, list = {.fd = -1};
    _cleanup_free_ char *objects = NULL, *text = NULL;
    char *rest, *line;

    if (!resolved->workspace || !resolving->policy->readable_listed || open_common(resolving, &common) < 0 ||
        open_named(common.path, "objects/info/alternates", &list) < 0)
        return 0;
    text = malloc(CONFIG_BYTES);
    if (!text || asprintf(&objects, "%s/objects", common.path) < 0) {
        objects = NULL;
        return error_no_memory(resolving->error);
    }
    if (read_object(list.fd, text, CONFIG_BYTES) < 0)
        return 0;
    for (rest = text; (line = strsep(&rest, "\n"));) {
        _cleanup_opened_ struct opened one = {.fd = -1};

        if (!line[0] || line[0] == '#' || open_named(objects, line, &one) < 0 ||
            granted_readable(resolved, one.path, NULL))
            continue;
        if (strings_addf(&resolved->warnings,
                         "git-alternates: the repository borrows objects of %s, which is not readable: add "
                         "--read for it",
                         QUOTE(one.path)) < 0)
            return error_no_memory(resolving->error);
    }
    return 0;
}
