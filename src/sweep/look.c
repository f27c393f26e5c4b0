/*
 * look.c - walk the trees that a command could write.
 *
 * Theory of operation. Nothing is known of the trees from before the run, which must cost nothing at its
 * start. What is new is told by the time of the last change (ctime), which the kernel sets and nobody else
 * can. A name moved into place has a new one too, and what is in a directory comes with that: one that has
 * got such a name is looked at as if all in it were new. So one walk at the end does, over names; only those
 * that count are looked at. Most of it is done ahead (survey.c): what that has found plain and is unchanged
 * is not listed again.
 *
 * Should:  say every new name of @runs-later, and every new hook, setting or pointer of a repository; pass by
 * what it cannot go into, and say so: one directory must not hide what is in the others.
 *
 * Mustn't: follow a link but of such a name, leave the roots, run anything, change anything, or go on without
 * end.
 */
#include "sweep/listing.h"
#include "sweep/look_internal.h"
#include "sweep/survey.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLOCK_EVERY 256 /* names between two looks at the clock */

/* Rooms for listings: for each depth that is reached, one that is used again. */
struct room {
    _Alignas(struct kernel_dirent) char entries[8192];
};

struct walk {
    struct look *look;
    int64_t start; /* ms */
    struct room *rooms[LOOK_DEPTH + 1];
};

/* What has been seen of one directory. */
struct seen {
    unsigned parts;
    struct survey_cursor cursor;
};

/* What a directory has that makes it a repository. */
enum parts { HAS_HEAD = 1, HAS_OBJECTS = 2, HAS_REFS = 4, HAS_COMMON = 8 };

static const struct {
    const char *name;
    enum parts part;
} repository_parts[] = {
    {"HEAD", HAS_HEAD}, {"objects", HAS_OBJECTS}, {"refs", HAS_REFS}, {"commondir", HAS_COMMON}};

/* What a repository keeps in bulk, and nothing of which is a repository. */
static bool is_bulk(const struct look_place *place, const char *name)
{
    return strstr(place->path, "/.git/") && (strcmp(name, "objects") == 0 || strcmp(name, "refs") == 0 ||
                                             strcmp(name, "logs") == 0 || strcmp(name, "lfs") == 0);
}

static bool is_part(const char *name, unsigned *parts)
{
    for (size_t i = 0; i < ARRAY_SIZE(repository_parts); i++)
        if (strcmp(name, repository_parts[i].name) == 0) {
            *parts |= repository_parts[i].part;
            return true;
        }
    return false;
}

bool look_is_plain(const struct look *look, const struct look_place *place, const struct kernel_dirent *entry)
{
    unsigned parts = 0;

    return entry->type != LISTED_UNKNOWN && strcmp(entry->name, ".git") != 0 &&
           !is_part(entry->name, &parts) && !is_bulk(place, entry->name) &&
           !look_names_find(look->names, place->path, entry->name, entry->type == LISTED_LINK);
}

bool look_new(const struct look *look, const struct stat *status)
{
    return status->st_ctim.tv_sec != look->since.tv_sec ? status->st_ctim.tv_sec > look->since.tv_sec
                                                        : status->st_ctim.tv_nsec >= look->since.tv_nsec;
}

bool look_fresh(const struct look *look, const struct look_place *place, const struct stat *status)
{
    return place->moved || look_new(look, status);
}

static bool is_changed(const struct look *look, int directory)
{
    struct stat status;

    return fstat(directory, &status) != 0 || look_new(look, &status);
}

/* To move a directory changes it, and the one that it gets into. Other things do that as well, so what was
 * there before is remembered where most of them happen. */
bool look_moved(const struct look *look, const struct look_place *place)
{
    struct stat now, before;

    for (size_t i = 0; i < look->before_count; i++)
        if (strcmp(look->before[i].path, place->path) == 0 && fstat(look->before[i].fd, &before) == 0)
            return fstat(place->fd, &now) != 0 || !stat_same(&before, &now);
    return place->up && is_changed(look, place->fd) && is_changed(look, place->up->fd);
}

/* May one of the directories on the way to ITEM, whose last name is in PLACE, have come to its name? */
static bool way_is_moved(const struct look *look, const struct look_place *place, const struct set_item *item)
{
    const char *way = strchr(item->value + 2, '/');

    for (; way && place; way = strchr(way + 1, '/'), place = place->up)
        if (look_moved(look, place))
            return true;
    return false;
}

bool look_stopped(struct look *look)
{
    look->entries++;
    if (!look->bound && look->most_entries && look->entries > look->most_entries)
        look->bound = "entries";
    return look->bound != NULL;
}

int look_say(struct look *look, const char *kind, const struct look_place *place, const char *name,
             const char *runs, const char *detail)
{
    _cleanup_free_ char *path = name ? look_join(place->path, name) : strdup(place->path);

    return path ? look->found(look->data, kind, path, runs, detail) : -ENOMEM;
}

static bool over_time(struct walk *walk)
{
    struct look *look = walk->look;

    if (look->most_ms == 0 || look->entries % CLOCK_EVERY != 0 ||
        clock_ms(CLOCK_MONOTONIC) - walk->start < (int64_t)look->most_ms)
        return false;
    look->bound = "seconds";
    return true;
}

/* --- paths ------------------------------------------------------------------------------------------------
 */

/* Takes `.`, `..` and repeated slashes out of PATH, as text. */
static void tidy_path(char *path)
{
    char *to = path;

    for (char *from = path; *from;) {
        size_t length;

        while (*from == '/')
            from++;
        length = strcspn(from, "/");
        if (length == 2 && from[0] == '.' && from[1] == '.') {
            while (to > path && *--to != '/')
                ;
        } else if (length > 0 && !(length == 1 && from[0] == '.')) {
            *to++ = '/';
            memmove(to, from, length);
            to += length;
        }
        from += length;
    }
    if (to == path)
        *to++ = '/';
    *to = '\0';
}

char *look_join(const char *from, const char *path)
{
    return path[0] == '/' ? strdup(path) : text_join(strcmp(from, "/") == 0 ? "" : from, "/", path, NULL);
}

const struct look_root *look_root_of(const struct look *look, const char *path)
{
    for (size_t i = 0; i < look->root_count; i++)
        if (path_contains(look->roots[i].path, path))
            return &look->roots[i];
    return NULL;
}

int look_open(const struct look *look, const char *path, int flags, char **ret_path)
{
    _cleanup_free_ char *tidy = strdup(path);
    const struct look_root *root;
    int fd;

    if (!tidy)
        return -ENOMEM;
    tidy_path(tidy);
    root = look_root_of(look, tidy);
    if (!root)
        return -EXDEV;
    fd = fcntl(root->fd, F_DUPFD_CLOEXEC, 0);
    for (char *name = tidy + strlen(root->path), *end; fd >= 0 && *name; name = end) {
        int next, errnum;
        bool last;

        name += *name == '/';
        end = name + strcspn(name, "/");
        last = *end == '\0';
        *end = '\0';
        next = openat(fd, name, last ? flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC : LOOK_DIRECTORY);
        errnum = errno;
        fd_close(fd);
        if (next < 0)
            return -errnum;
        fd = next;
        if (!last)
            *end = '/';
    }
    if (fd < 0)
        return -errno;
    if (ret_path)
        *ret_path = steal_pointer(&tidy);
    return fd;
}

/* --- the walk ---------------------------------------------------------------------------------------------
 */

static int walk_directory(struct walk *walk, const struct look_place *place, const struct set_item *inside,
                          int depth);

/* Does the survey say all of a directory that has none in it? */
static bool is_spared(const struct look_place *place, const char *name, const struct survey_place *known)
{
    struct stat status;

    return known && known->plain && known->count == 0 &&
           fstatat(place->fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && survey_holds(known, &status);
}

/* The directory @name, which may not be readable, or not be one any more. @known: by the survey, or NULL */
static int go_down(struct walk *walk, const struct look_place *place, const char *name,
                   const struct set_item *inside, const struct survey_place *known, int depth)
{
    struct look *look = walk->look;
    _cleanup_fd_ int fd = -1;
    _cleanup_free_ char *path = NULL;
    struct look_place below;

    if (depth >= LOOK_DEPTH) {
        look->deep = true;
        return 0;
    }
    if (is_spared(place, name, known))
        return 0;
    fd = openat(place->fd, name, LOOK_DIRECTORY);
    if (fd < 0) {
        if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)
            return 0;
        look->closed++;
        return 0;
    }
    path = look_join(place->path, name);
    if (!path)
        return -ENOMEM;
    below = (struct look_place){fd, path, known, place, place->linked, place->moved};
    if (inside && !below.moved)
        below.moved = look_moved(look, &below) || way_is_moved(look, place, inside);
    return walk_directory(walk, &below, inside, depth + 1);
}

/* `.git` in @place: a repository, or a file that names one. */
static int enter_git(struct walk *walk, const struct look_place *place, int depth)
{
    static const char *const nested[] = {"modules", "worktrees"};
    _cleanup_free_ char *path = look_join(place->path, ".git");
    struct look_place git;
    struct stat status;
    _cleanup_fd_ int fd = -1;
    int r;

    if (!path)
        return -ENOMEM;
    if (fstatat(place->fd, ".git", &status, AT_SYMLINK_NOFOLLOW) != 0)
        return 0;
    if (!S_ISDIR(status.st_mode))
        return look_git_file(walk->look, place, &status);
    fd = openat(place->fd, ".git", LOOK_DIRECTORY);
    if (fd < 0) {
        walk->look->closed++;
        return 0;
    }
    git = (struct look_place){
        .fd = fd, .path = path, .up = place, .linked = place->linked, .moved = place->moved};
    git.moved = git.moved || look_moved(walk->look, &git);
    r = look_repository(walk->look, &git, place->path);
    /* What it keeps for submodules and other work trees are repositories of their own. */
    for (size_t i = 0; i < ARRAY_SIZE(nested) && r == 0; i++)
        r = go_down(walk, &git, nested[i], NULL, NULL, depth + 1);
    return r;
}

/* The same of the directory FD, whose canonical name is PATH. */
static bool leads_moved(const struct look *look, const char *path, int fd)
{
    _cleanup_free_ char *above = look_join(path, "..");
    _cleanup_fd_ int up = above ? look_open(look, above, LOOK_DIRECTORY, NULL) : -1;

    if (up < 0) /* of a root nothing is above, and nobody can move it */
        return up != -EXDEV;
    return look_moved(look,
                      &(struct look_place){.fd = fd, .path = path, .up = &(struct look_place){.fd = up}});
}

/* NAME of the set, or a directory of one, is a link that was there: what it leads to may be new. What is
 * found behind it has the name that it has by the link. One that is found there in turn is not followed. */
static int follow_link(struct walk *walk, const struct look_place *place, const char *name,
                       const struct set_item *item, const struct set_item *inside, int depth)
{
    struct look *look = walk->look;
    _cleanup_free_ char *path = look_join(place->path, name), *tidy = NULL;
    _cleanup_fd_ int target = path && !place->linked ? look_follow(look, path, O_PATH, &tidy) : -1;
    _cleanup_fd_ int fd = -1;
    struct look_place below;
    struct stat status;
    bool whole; /* is all that it leads to of the set? */

    if (!path)
        return -ENOMEM;
    if (target < 0 || fstat(target, &status) != 0)
        return 0;
    whole = inside || look_names_find(look->names, place->path, name, false);
    if (!S_ISDIR(status.st_mode))
        return whole && look_new(look, &status) ? look_say(look, "named", place, name, item->why, "") : 0;
    fd = openat(target, ".", LOOK_DIRECTORY);
    if (fd < 0) {
        look->closed++;
        return 0;
    }
    below = (struct look_place){.fd = fd, .path = path, .linked = true};
    below.moved = leads_moved(look, tidy, fd);
    if (depth >= LOOK_DEPTH) {
        look->deep = true;
        return 0;
    }
    return walk_directory(walk, &below, whole ? item : NULL, depth + 1);
}

static int see_name(struct walk *walk, const struct look_place *place, const struct kernel_dirent *entry,
                    const struct set_item *inside, struct seen *seen, int depth)
{
    const char *name = entry->name;
    const struct set_item *item;
    struct stat status;
    bool directory = entry->type == LISTED_DIRECTORY;
    int r;

    if (!inside && look_is_plain(walk->look, place, entry)) {
        const struct survey_place *known =
            directory && place->known ? survey_below(walk->look->survey, place->known, name, &seen->cursor)
                                      : NULL;

        return directory ? go_down(walk, place, name, NULL, known, depth) : 0;
    }
    if (strcmp(name, ".git") == 0)
        return enter_git(walk, place, depth);
    is_part(name, &seen->parts);
    if (is_bulk(place, name))
        return 0;
    item =
        inside ? inside : look_names_find(walk->look->names, place->path, name, entry->type == LISTED_LINK);
    if ((item && !directory) || entry->type == LISTED_UNKNOWN) {
        if (fstatat(place->fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            return 0;
        directory = S_ISDIR(status.st_mode);
        if (item && !directory &&
            (look_fresh(walk->look, place, &status) || (!inside && way_is_moved(walk->look, place, item)))) {
            r = look_say(walk->look, "named", place, name, item->why, "");
            if (r != 0)
                return r;
        } else if (item && S_ISLNK(status.st_mode)) {
            return follow_link(walk, place, name, item, inside, depth);
        }
    }
    return directory ? go_down(walk, place, name, item, NULL, depth) : 0;
}

/* Return: NULL without memory. */
static struct room *room_at(struct walk *walk, int depth)
{
    static struct room first;

    if (!walk->rooms[depth])
        walk->rooms[depth] = depth == 0 ? &first : malloc(sizeof(struct room));
    return walk->rooms[depth];
}

/* The names of one listing. Return: 0, or what ends the walk. */
static int see_names(struct walk *walk, const struct look_place *place, const struct room *room, long size,
                     const struct set_item *inside, struct seen *seen, int depth)
{
    const struct kernel_dirent *entry;
    int r = 0;

    for (long at = 0; r == 0 && !walk->look->bound && (entry = listing_next(room->entries, size, &at));) {
        if (look_stopped(walk->look) || over_time(walk))
            break;
        r = see_name(walk, place, entry, inside, seen, depth);
    }
    return r;
}

/* A root that was a repository before: its settings or hooks are known. */
static bool was_repository(const struct look *look, const struct look_place *place)
{
    const size_t length = strlen(place->path);

    for (size_t i = 0; i < look->before_count; i++)
        if (strncmp(look->before[i].path, place->path, length) == 0 &&
            (strcmp(look->before[i].path + length, "/config") == 0 ||
             strcmp(look->before[i].path + length, "/hooks") == 0))
            return true;
    return false;
}

/* May the directory have become a repository since the run began, by one more name in it? Honest work changes
 * these as well, and objects most of all: with a submodule's, which is one already, that says nothing. */
static bool has_become(const struct look *look, const struct look_place *place)
{
    static const char *const parts[] = {"HEAD", "refs", "commondir", "objects"};
    const size_t count = ARRAY_SIZE(parts) - (strstr(place->path, "/.git/modules/") != NULL);
    struct stat status;
    bool fresh = false;

    for (size_t i = 0; i < count && !fresh; i++)
        fresh = fstatat(place->fd, parts[i], &status, AT_SYMLINK_NOFOLLOW) == 0 && look_new(look, &status);
    return fresh && is_changed(look, place->fd);
}

static int list_directory(struct walk *walk, const struct look_place *place, const struct set_item *inside,
                          int depth)
{
    struct room *room = room_at(walk, depth);
    struct seen seen = {0};
    long size = 0;
    int r = room ? 0 : -ENOMEM;

    while (r == 0 && !walk->look->bound &&
           (size = listing_read(place->fd, room->entries, sizeof(room->entries))) > 0)
        r = see_names(walk, place, room, size, inside, &seen, depth);
    if (size < 0 && size != -ENOENT) /* one that has been removed meanwhile has no names */
        walk->look->closed++;
    if (r == 0 && (seen.parts & HAS_HEAD) &&
        ((seen.parts & HAS_COMMON) || (seen.parts & (HAS_OBJECTS | HAS_REFS)) == (HAS_OBJECTS | HAS_REFS))) {
        struct look_place repository = *place;

        if (!was_repository(walk->look, place))
            repository.moved = place->moved || look_moved(walk->look, place) || has_become(walk->look, place);
        r = look_repository(walk->look, &repository, NULL);
    }
    return r;
}

/* One that the survey has listed, with the same names still in it. */
static int walk_known(struct walk *walk, const struct look_place *place, int depth)
{
    const struct survey *survey = walk->look->survey;
    int r = 0;

    for (uint32_t i = 0; i < place->known->count && r == 0 && !walk->look->bound; i++) {
        const struct survey_place *below = &survey->places[place->known->first + i];

        if (look_stopped(walk->look) || over_time(walk))
            break;
        r = go_down(walk, place, survey_name(survey, below), NULL, below, depth);
    }
    return r;
}

static int walk_directory(struct walk *walk, const struct look_place *place, const struct set_item *inside,
                          int depth)
{
    struct stat status;

    if (!inside && place->known && place->known->plain && fstat(place->fd, &status) == 0 &&
        survey_holds(place->known, &status))
        return walk_known(walk, place, depth);
    return list_directory(walk, place, inside, depth);
}

/* A root that is one file. */
static int see_file(struct walk *walk, const struct look_root *root, const struct stat *status)
{
    _cleanup_free_ char *directory = strdup(root->path);
    char *slash = directory ? strrchr(directory, '/') : NULL;
    const struct set_item *item;

    if (!slash)
        return directory ? -EINVAL : -ENOMEM;
    *slash = '\0';
    item = look_names_find(walk->look->names, directory, slash + 1, false);
    if (!item || !look_new(walk->look, status))
        return 0;
    return look_say(walk->look, "named", &(struct look_place){.fd = -1, .path = root->path}, NULL, item->why,
                    "");
}

int look_prepare(struct look *look)
{
    look->names = look_names_make(look->home);
    return look->names ? 0 : -ENOMEM;
}

/* By a descriptor of now: btrfs lists by an older one what was there when that was opened. One that may not
 * be opened any more is begun anew, which is the same but in a few kernels (6.5). */
static int walk_root(struct walk *walk, const struct look_root *root, const struct survey_place *known)
{
    _cleanup_fd_ int fd = openat(root->fd, ".", LOOK_DIRECTORY);

    if (fd < 0 && lseek(root->fd, 0, SEEK_SET) < 0)
        return -errno;
    return walk_directory(walk, &(struct look_place){fd < 0 ? root->fd : fd, root->path, known}, NULL, 0);
}

int look_trees(struct look *look)
{
    struct walk walk = {.look = look, .start = clock_ms(CLOCK_MONOTONIC)};
    int r = 0;

    for (size_t i = 0; i < look->root_count && r == 0 && !look->bound; i++) {
        const struct look_root *root = &look->roots[i];
        const struct survey *survey = look->survey;
        const struct survey_place *known = survey && i < survey->count ? &survey->places[i] : NULL;
        struct stat status;

        if (fstat(root->fd, &status) != 0)
            r = -errno;
        else if (S_ISDIR(status.st_mode))
            r = walk_root(&walk, root, known);
        else
            r = see_file(&walk, root, &status);
    }
    if (!look->bound && look->deep)
        look->bound = "depth";
    for (size_t i = 1; i < ARRAY_SIZE(walk.rooms); i++)
        free(walk.rooms[i]);
    return r > 0 ? 0 : r;
}
