/*
 * look_repository.c - what is new in a repository and runs later: hooks, settings, and files that lead to
 * another one.
 *
 * Should:  say nothing about what an honest init, clone, worktree or submodule makes.
 * Mustn't: take the word of a file for where a repository is: what belongs together names each other.
 */
#include "sweep/git_config.h"
#include "sweep/look_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define POINTER "git takes what it names for the repository"
#define HOOK    "git runs it"

/* --- hooks
 * -------------------------------------------------------------------------------------------------- */

/* A hook that is a link: is the file behind it new, as far as it is in the trees? */
static bool target_is_new(struct look *look, const struct look_place *directory, const char *name)
{
    char target[PATH_MAX];
    ssize_t length = readlinkat(directory->fd, name, target, sizeof(target) - 1);
    _cleanup_free_ char *path = NULL;
    _cleanup_fd_ int fd = -1;
    struct stat status;

    if (length <= 0)
        return false;
    target[length] = '\0';
    path = look_join(directory->path, target);
    fd = path ? look_follow(look, path, O_PATH, NULL) : -1;
    return fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && look_new(look, &status);
}

/* Is this another directory than the one that was here before? Where nobody knows: has it changed? */
static bool is_moved(const struct look *look, const struct look_place *directory)
{
    struct stat status;

    for (size_t i = 0; i < look->before_count; i++)
        if (strcmp(look->before[i].path, directory->path) == 0)
            return look_moved(look, directory);
    return fstat(directory->fd, &status) != 0 || look_new(look, &status);
}

/* @moved: the whole directory is another one than before. */
static bool is_new_hook(struct look *look, const struct look_place *directory, const char *name,
                        const struct stat *status, bool moved)
{
    bool fresh = moved || look_new(look, status);

    if (S_ISLNK(status->st_mode))
        return fresh || target_is_new(look, directory, name);
    return fresh && S_ISREG(status->st_mode) && (status->st_mode & 0111);
}

int look_hooks(struct look *look, const struct look_place *directory)
{
    int copy = openat(directory->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
    DIR *listing = copy < 0 ? NULL : fdopendir(copy);
    const struct dirent *entry;
    struct stat status;
    bool moved;

    if (!listing) {
        fd_close(copy);
        look->closed++;
        return 0;
    }
    moved = directory->moved || is_moved(look, directory);
    while (r == 0 && (entry = readdir(listing)) && !look_stopped(look)) {
        if (!git_hook_name(entry->d_name) ||
            fstatat(directory->fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (is_new_hook(look, directory, entry->d_name, &status, moved))
            r = look_say(look, "git-hook", directory, entry->d_name, HOOK, "");
    }
    closedir(listing);
    return r;
}

/* `hooks` as a link, which git follows. */
static int look_linked_hooks(struct look *look, const struct look_place *directory)
{
    char target[PATH_MAX];
    ssize_t length = readlinkat(directory->fd, "hooks", target, sizeof(target) - 1);
    _cleanup_free_ char *path = NULL, *tidy = NULL;
    _cleanup_fd_ int fd = -1;
    struct stat status;

    if (length <= 0 || fstatat(directory->fd, "hooks", &status, AT_SYMLINK_NOFOLLOW) != 0)
        return 0;
    target[length] = '\0';
    if (look_fresh(look, directory, &status))
        return look_say(look, "git-hook", directory, "hooks", "git runs the hooks in it", target);
    path = look_join(directory->path, target);
    fd = path ? look_follow(look, path, O_RDONLY | O_DIRECTORY, &tidy) : -1;
    return fd < 0 ? 0 : look_hooks(look, &(struct look_place){.fd = fd, .path = tidy});
}

static int look_own_hooks(struct look *look, const struct look_place *directory)
{
    _cleanup_fd_ int fd = openat(directory->fd, "hooks", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    _cleanup_free_ char *path = NULL;

    if (fd < 0 && errno != ENOTDIR && errno != ELOOP && errno != ENOENT) {
        look->closed++;
        return 0;
    }
    if (fd < 0)
        return errno == ENOENT ? 0 : look_linked_hooks(look, directory);
    path = look_join(directory->path, "hooks");
    return path ? look_hooks(look, &(struct look_place){.fd = fd, .path = path, .moved = directory->moved})
                : -ENOMEM;
}

/* --- files that lead to a repository
 * ------------------------------------------------------------------------- */

/* The one line of a small file, without its newline. Return: whether there is one. */
static bool read_line(int directory, const char *name, char *line, size_t size)
{
    _cleanup_fd_ int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat status;
    ssize_t length;

    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    length = read(fd, line, size - 1);
    while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
        length--;
    if (length <= 0 || memchr(line, '\0', (size_t)length))
        return false;
    line[length] = '\0';
    return true;
}

/* Is PATH, relative to @from, the same place as the canonical @place? Both are in the trees. */
static bool leads_to(const struct look *look, const char *from, const char *path, const char *place)
{
    _cleanup_free_ char *full = look_join(from, path);
    _cleanup_free_ char *tidy = NULL;
    _cleanup_fd_ int fd = full ? look_follow(look, full, O_PATH, &tidy) : -1;

    return fd >= 0 && strcmp(tidy, place) == 0;
}

/* Does the repository in @directory name the work tree of @place back? A linked one by its file `gitdir`, a
 * submodule's by core.worktree. */
static bool names_back(const struct look *look, const struct look_place *directory,
                       const struct look_place *place)
{
    char line[PATH_MAX];
    _cleanup_free_ char *file = look_join(place->path, ".git"), *text = NULL;
    struct git_config config = {0};
    const char *tree;
    bool back;
    size_t length;
    _cleanup_fd_ int fd = -1;

    if (!file)
        return false;
    if (read_line(directory->fd, "gitdir", line, sizeof(line)))
        return leads_to(look, directory->path, line, file);
    fd = openat(directory->fd, "config", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fd_read_all(fd, GIT_CONFIG_BYTES, &text, &length) < 0 ||
        git_config_parse(&config, text, length) < 0)
        return false;
    tree = git_config_value(&config, "core.worktree");
    back = tree && leads_to(look, directory->path, tree, place->path);
    git_config_free(&config);
    return back;
}

int look_git_file(struct look *look, const struct look_place *place, const struct stat *status)
{
    static const char word[] = "gitdir:";
    char line[PATH_MAX];
    const char *target;
    _cleanup_free_ char *path = NULL, *tidy = NULL;
    _cleanup_fd_ int fd = -1;

    if (!look_new(look, status))
        return 0;
    if (S_ISLNK(status->st_mode)) {
        ssize_t length = readlinkat(place->fd, ".git", line, sizeof(line) - 1);

        line[length > 0 ? length : 0] = '\0';
        return look_say(look, "git-file", place, ".git", POINTER, line);
    }
    if (!S_ISREG(status->st_mode) || !read_line(place->fd, ".git", line, sizeof(line)) ||
        strncmp(line, word, sizeof(word) - 1) != 0)
        return 0; /* git ends at it */
    for (target = line + sizeof(word) - 1; *target == ' '; target++)
        ;
    path = look_join(place->path, target);
    if (!path)
        return -ENOMEM;
    fd = look_follow(look, path, O_RDONLY | O_DIRECTORY, &tidy);
    /* The repository behind it is looked at where the walk finds it. */
    if (fd >= 0 && names_back(look, &(struct look_place){.fd = fd, .path = tidy}, place))
        return 0;
    return look_say(look, "git-file", place, ".git", POINTER, target);
}

/* --- a repository
 * -------------------------------------------------------------------------------------------- */

static int look_attributes(struct look *look, const struct look_place *directory)
{
    _cleanup_free_ char *path = look_join(directory->path, "info");
    struct look_place info = {.path = path, .up = directory};
    _cleanup_fd_ int fd = openat(directory->fd, "info", LOOK_DIRECTORY);
    struct stat status;

    if (!path)
        return -ENOMEM;
    info.fd = fd;
    info.moved = directory->moved || (fd >= 0 && look_moved(look, &info));
    if (fstatat(directory->fd, "info/attributes", &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        S_ISDIR(status.st_mode) || !look_fresh(look, &info, &status))
        return 0;
    return look_say(look, "git-attributes", directory, "info/attributes", "names filters that git runs", "");
}

/* A linked work tree takes settings and hooks from where this leads: up to the repository it lies in. */
static int look_common(struct look *look, const struct look_place *directory)
{
    struct stat status;
    char line[PATH_MAX];

    if (fstatat(directory->fd, "commondir", &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !look_fresh(look, directory, &status) || !(S_ISREG(status.st_mode) || S_ISLNK(status.st_mode)))
        return 0;
    if (S_ISREG(status.st_mode) && read_line(directory->fd, "commondir", line, sizeof(line)) &&
        strcmp(line, "../..") == 0)
        return 0;
    return look_say(look, "git-file", directory, "commondir", POINTER, S_ISREG(status.st_mode) ? line : "");
}

int look_repository(struct look *look, const struct look_place *directory, const char *tree)
{
    int r = look_settings(look, directory, "config", tree);

    if (r == 0)
        r = look_settings(look, directory, "config.worktree", tree);
    if (r == 0)
        r = look_own_hooks(look, directory);
    if (r == 0)
        r = look_attributes(look, directory);
    return r ? r : look_common(look, directory);
}
