/*
 * look_settings.c - the settings of a repository that are new and run something.
 *
 * A file that changed is compared with what it was before, where that is known: git rewrites the whole file
 * for every branch. What a file includes, and where it says that hooks are, is looked at whether it changed
 * or not.
 *
 * Should:  say each new setting once, with its value.
 * Mustn't: read what is outside of the trees: nothing of it is new.
 */
#include "sweep/git_config.h"
#include "sweep/look_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* One file of settings. */
struct file {
    const char *path; /* canonical */
    const char *tree; /* the work tree; NULL: none */
    int depth;        /* how many files led here */
    bool moved;       /* the repository may have come here with it */
};

static int read_file(struct look *look, int fd, const struct file *file);

static bool had_setting(const struct git_config *before, const struct git_setting *setting)
{
    for (size_t i = 0; i < before->count; i++)
        if (strcmp(before->settings[i].key, setting->key) == 0 &&
            strcmp(before->settings[i].value, setting->value) == 0)
            return true;
    return false;
}

/* What the file was before the run; empty where nobody knows. */
static int recall(const struct look *look, const char *path, struct git_config *before)
{
    for (size_t i = 0; i < look->before_count; i++)
        if (strcmp(look->before[i].path, path) == 0) {
            _cleanup_free_ char *text = NULL;
            size_t length = 0;
            int r = lseek(look->before[i].fd, 0, SEEK_SET) < 0
                        ? -errno
                        : fd_read_all(look->before[i].fd, GIT_CONFIG_BYTES, &text, &length);

            return r < 0 ? r : git_config_parse(before, text, length);
        }
    return 0;
}

static int say_new(struct look *look, const struct file *file, const struct git_config *config)
{
    struct git_config before = {0};
    int r = recall(look, file->path, &before);

    for (size_t i = 0; i < config->count && r == 0; i++) {
        const struct git_setting *setting = &config->settings[i];
        const char *runs = git_setting_runs(setting);
        _cleanup_free_ char *detail = NULL;

        if (!runs || had_setting(&before, setting))
            continue;
        detail = text_join(setting->key, " = ", setting->value, NULL);
        r = detail ? look_say(look, "git-setting", &(struct look_place){-1, file->path}, NULL, runs, detail)
                   : -ENOMEM;
    }
    git_config_free(&before);
    return r;
}

/* A path in a setting: `~/…`, relative to @from, or absolute. NULL: of somebody else, or no memory. */
static char *place_of(const struct look *look, const char *value, const char *from)
{
    if (value[0] == '~')
        return value[1] == '/' && look->home ? text_join(look->home, value + 1, NULL) : NULL;
    if (!from && value[0] != '/')
        return NULL;
    return value[0] ? look_join(from, value) : NULL;
}

static int follow_include(struct look *look, const char *value, const struct file *file)
{
    _cleanup_free_ char *directory = strdup(file->path), *path = NULL, *tidy = NULL;
    _cleanup_fd_ int fd = -1;

    if (!directory)
        return -ENOMEM;
    *strrchr(directory, '/') = '\0';
    path = place_of(look, value, directory);
    fd = path ? look_follow(look, path, O_RDONLY, &tidy) : -1;
    if (fd < 0 || file->depth >= LOOK_INCLUDE)
        return 0;
    return read_file(look, fd, &(struct file){tidy, file->tree, file->depth + 1, false});
}

static int follow_hooks(struct look *look, const char *value, const struct file *file)
{
    _cleanup_free_ char *path = place_of(look, value, file->tree), *tidy = NULL;
    _cleanup_fd_ int fd = path ? look_follow(look, path, O_RDONLY | O_DIRECTORY, &tidy) : -1;

    return fd < 0 ? 0 : look_hooks(look, &(struct look_place){.fd = fd, .path = tidy});
}

static bool has_name(const struct git_setting *setting, const char *section, const char *name)
{
    return strlen(section) == setting->section && strncmp(setting->key, section, setting->section) == 0 &&
           strcmp(setting->key + setting->name, name) == 0;
}

static int follow(struct look *look, const struct file *file, const struct git_config *config)
{
    int r = 0;

    for (size_t i = 0; i < config->count && r == 0; i++) {
        const struct git_setting *setting = &config->settings[i];

        if (has_name(setting, "include", "path") || has_name(setting, "includeif", "path"))
            r = follow_include(look, setting->value, file);
        else if (has_name(setting, "core", "hookspath"))
            r = follow_hooks(look, setting->value, file);
    }
    return r;
}

static int read_file(struct look *look, int fd, const struct file *file)
{
    struct git_config config = {0};
    _cleanup_free_ char *text = NULL;
    struct stat status;
    size_t length;
    int r;

    if (look_stopped(look) || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return 0;
    r = fd_read_all(fd, GIT_CONFIG_BYTES, &text, &length);
    if (r == -EFBIG)
        return file->moved || look_new(look, &status)
                   ? look_say(look, "git-setting", &(struct look_place){-1, file->path}, NULL,
                              "too long to be looked at", "")
                   : 0;
    if (r == 0)
        r = git_config_parse(&config, text, length);
    if (r == 0 && (file->moved || look_new(look, &status)))
        r = say_new(look, file, &config);
    if (r == 0)
        r = follow(look, file, &config);
    git_config_free(&config);
    return r;
}

int look_settings(struct look *look, const struct look_place *directory, const char *name, const char *tree)
{
    _cleanup_fd_ int fd =
        openat(directory->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    _cleanup_free_ char *path = NULL;
    struct stat status;

    if (fd < 0) {
        /* git follows a link. */
        if (errno == ELOOP && fstatat(directory->fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            look_fresh(look, directory, &status))
            return look_say(look, "git-setting", directory, name, "git reads the settings that it leads to",
                            "");
        look->closed += errno == EACCES || errno == EPERM;
        return 0;
    }
    path = look_join(directory->path, name);
    return path ? read_file(look, fd, &(struct file){path, tree, 0, directory->moved}) : -ENOMEM;
}
