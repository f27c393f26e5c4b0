/*
 * aside.c - quarantine.
 *
 * Should:  leave every byte somewhere, and the tree usable.
 *          What lies there is no plant by itself: look_names.c passes it by.
 * Mustn't: follow a link, or put anything in the place of something.
 */
#include "sweep/aside.h"

#include "sweep/git_config.h"
#include "sweep/look_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OPEN_DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define NO_REPLACE     1 /* RENAME_NOREPLACE */
#define EXCHANGE       2 /* RENAME_EXCHANGE */
#define TRIES          100

/* Where a path is, and where it goes: two open directories and two names. */
struct move {
    int from, to; /* directories */
    char *name;   /* in `from` */
    char *target; /* in `to` */
    char *shown;  /* the whole new path */
};

static void end_move(struct move *move)
{
    fd_close(move->from);
    fd_close(move->to);
    free(move->name);
    free(move->target);
    free(move->shown);
}

/* The directory @name in @at, made if it is not there. Takes @at. */
static int enter_or_make(int at, const char *name)
{
    int fd;

    if (mkdirat(at, name, 0700) != 0 && errno != EEXIST) {
        fd_close(at);
        return -errno;
    }
    fd = openat(at, name, OPEN_DIRECTORY);
    if (fd < 0) {
        fd = -errno;
        fd_close(at);
        return fd;
    }
    fd_close(at);
    return fd;
}

static int enter_below(const struct look_root *root, const char *name)
{
    int fd = fcntl(root->fd, F_DUPFD_CLOEXEC, 0);

    return fd < 0 ? -errno : enter_or_make(fd, name);
}

static int enter_run(const struct look_root *root, const char *run)
{
    int fd = enter_below(root, PLANTED_ASIDE);

    return fd < 0 ? fd : enter_or_make(fd, run);
}

/* The directory of this run: PLANTED_ASIDE/RUN, which a later command in the workspace cannot change. What
 * has that name and is no directory for it, mostly because a command wanted us to go elsewhere, is called
 * @beside from then on; where it stays, we go there. @ret_place: below the root, owned by the caller */
static int make_place(const struct look_root *root, const char *run, char **ret_place)
{
    _cleanup_free_ char *beside = text_join(PLANTED_ASIDE, "-", run, NULL);
    int fd = beside ? enter_run(root, run) : -ENOMEM;

    if ((fd == -ENOTDIR || fd == -ELOOP || fd == -EACCES) &&
        syscall(SYS_renameat2, root->fd, PLANTED_ASIDE, root->fd, beside, NO_REPLACE) == 0)
        fd = enter_run(root, run);
    *ret_place = fd >= 0 ? text_join(PLANTED_ASIDE, "/", run, NULL) : steal_pointer(&beside);
    if (fd < 0 && *ret_place)
        fd = enter_below(root, *ret_place);
    if (*ret_place)
        return fd;
    fd_close(fd);
    return -ENOMEM;
}

/* ROOT/PLACE/a/b for ROOT/a/b/name. */
static int make_way(const struct look_root *root, const char *run, const char *below, char **ret_place)
{
    _cleanup_free_ char *way = strdup(below);
    int fd;

    if (!way)
        return -ENOMEM;
    fd = make_place(root, run, ret_place);
    for (char *name = way, *slash; fd >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
        *slash = '\0';
        fd = enter_or_make(fd, name);
    }
    return fd;
}

static int begin_move(const struct look *look, const char *path, const char *run, struct move *move)
{
    const struct look_root *root = look_root_of(look, path);
    _cleanup_free_ char *parent = strdup(path), *place = NULL;
    char *slash = parent ? strrchr(parent, '/') : NULL;

    *move = (struct move){.from = -1, .to = -1};
    if (!slash || !root || slash == parent)
        return -EINVAL;
    *slash = '\0';
    move->name = strdup(slash + 1);
    move->target = strdup(slash + 1);
    if (!move->name || !move->target)
        return -ENOMEM;
    move->from = look_open(look, parent, O_RDONLY | O_DIRECTORY, NULL);
    if (move->from < 0)
        return move->from;
    move->to = make_way(root, run, path + strlen(root->path) + 1, &place);
    if (move->to < 0)
        return move->to;
    move->shown = text_join(root->path, "/", place, path + strlen(root->path), NULL);
    return move->shown ? 0 : -ENOMEM;
}

/* What is called @name, without putting it in the place of something: then it gets a number. Return: 1, 0
 * (there is none) or -errno. */
static int rename_away(struct move *move, const char *name)
{
    for (int i = 1; i < TRIES; i++) {
        if (syscall(SYS_renameat2, move->from, name, move->to, move->target, NO_REPLACE) == 0)
            return 1;
        if (errno == ENOENT)
            return 0;
        if (errno != EEXIST)
            return -errno;
        free(move->target);
        if (asprintf(&move->target, "%s.%d", move->name, i) < 0) {
            move->target = NULL;
            return -ENOMEM;
        }
    }
    return -EEXIST;
}

/* --- settings ---------------------------------------------------------------------------------------------
 */

static bool is_meant(const struct found *found, size_t count, const char *path,
                     const struct git_setting *setting)
{
    _cleanup_free_ char *detail = text_join(setting->key, " = ", setting->value, NULL);

    for (size_t i = 0; detail && i < count; i++)
        if (strcmp(found[i].kind, "git-setting") == 0 && strcmp(found[i].path, path) == 0 &&
            strcmp(found[i].detail, detail) == 0)
            return true;
    return false;
}

/* TEXT without the settings that were found in it. Return: whether there were any. */
static bool cut_settings(const struct found *found, size_t count, const char *path, const char *text,
                         size_t length, const struct git_config *config, struct text *rest)
{
    size_t at = 0;
    bool any = false;

    for (size_t i = 0; i < config->count; i++) {
        const struct git_setting *setting = &config->settings[i];

        if (!is_meant(found, count, path, setting))
            continue;
        text_add_bytes(rest, text + at, setting->begin - at);
        at = setting->end;
        any = true;
    }
    text_add_bytes(rest, text + at, length - at);
    return any;
}

static int write_all(int fd, mode_t mode, const struct text *text)
{
    for (size_t done = 0; done < text->length;) {
        ssize_t length = write(fd, text->data + done, text->length - done);

        if (length <= 0)
            return length < 0 ? -errno : -EIO;
        done += (size_t)length;
    }
    return fchmod(fd, mode & 0777) == 0 && fsync(fd) == 0 ? 0 : -errno;
}

/* A new file beside the old one, with its mode; one that cannot be whole is taken away, or git would wait for
 * it. Return: 0 or -errno. */
static int write_beside(const struct move *move, const char *name, mode_t mode, const struct text *text)
{
    _cleanup_fd_ int fd =
        openat(move->from, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int r = fd < 0 ? -errno : write_all(fd, mode, text);

    if (fd >= 0 && r < 0)
        unlinkat(move->from, name, 0);
    return r;
}

static bool exchange(const struct move *move, const char *beside)
{
    return syscall(SYS_renameat2, move->from, beside, move->from, move->name, EXCHANGE) == 0;
}

/* The file and the one beside it, and what is beside then goes. At no moment is there none: whoever ends this
 * program leaves a repository behind. Some file systems cannot exchange. Return: as rename_away(). */
static int change_places(struct move *move, const char *beside)
{
    bool exchanged = exchange(move, beside);
    int r = rename_away(move, exchanged ? beside : move->name);

    if (r == 1)
        return exchanged || renameat(move->from, beside, move->from, move->name) == 0 ? 1 : -errno;
    if (!exchanged || exchange(move, beside))
        unlinkat(move->from, beside, 0); /* never the one that was there before */
    return r;
}

static int replace_settings(struct move *move, const struct found *found, size_t count, const char *path)
{
    _cleanup_free_ char *beside = text_join(move->name, ".lock", NULL); /* git does not write meanwhile */
    _cleanup_fd_ int fd = openat(move->from, move->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    struct git_config config = {0};
    struct text rest = {0};
    struct stat status;
    size_t length;
    int r;

    if (fd < 0)
        return errno == ENOENT ? 0 : errno == ELOOP ? rename_away(move, move->name) : -errno;
    if (!beside)
        return -ENOMEM;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return rename_away(move, move->name);
    r = fd_read_all(fd, GIT_CONFIG_BYTES, &text, &length);
    if (r == -EFBIG)
        return rename_away(move, move->name);
    if (r == 0)
        r = git_config_parse(&config, text, length);
    if (r == 0 && !cut_settings(found, count, path, text, length, &config, &rest)) {
        git_config_free(&config);
        text_free(&rest);
        return 0; /* it went with the first of them */
    }
    if (r == 0)
        r = rest.failed ? -ENOMEM : write_beside(move, beside, status.st_mode, &rest);
    if (r == 0)
        r = change_places(move, beside);
    git_config_free(&config);
    text_free(&rest);
    return r;
}

int aside_move(const struct look *look, const struct found *found, size_t count, size_t index,
               const char *run, char **ret_to)
{
    const struct found *one = &found[index];
    struct move move;
    int r = begin_move(look, one->path, run, &move);

    *ret_to = NULL;
    if (r == 0)
        r = strcmp(one->kind, "git-setting") == 0 ? replace_settings(&move, found, count, one->path)
                                                  : rename_away(&move, move.name);
    if (r == 1 && strcmp(move.name, move.target) != 0) {
        /* the number that it got */
        char *numbered = text_join(move.shown, move.target + strlen(move.name), NULL);

        free(move.shown);
        move.shown = numbered;
        r = numbered ? 1 : -ENOMEM;
    }
    if (r == 1)
        *ret_to = steal_pointer(&move.shown);
    end_move(&move);
    return r == -ENOENT ? 0 : r;
}
