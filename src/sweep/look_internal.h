/*
 * look_internal.h - what the parts of the look share.
 */
#ifndef CONFINE_SWEEP_LOOK_INTERNAL_H
#define CONFINE_SWEEP_LOOK_INTERNAL_H

#include "policy/policy.h"
#include "sweep/look.h"

#include <fcntl.h>
#include <sys/stat.h>

#define LOOK_DEPTH   200 /* directories below one another, each with a descriptor */
#define LOOK_INCLUDE 4   /* files of settings that name one another */

#define LOOK_DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)

struct kernel_dirent;
struct survey_place;

/* One directory of the walk. */
struct look_place {
    int fd;
    const char *path;                 /* canonical */
    const struct survey_place *known; /* what the survey has seen here; NULL: nothing */
    const struct look_place *up;      /* the one that it is in; NULL: not known, or it is a root */
    bool linked;                      /* a link has led here */
    bool moved; /* it may have come here since the run began: what runs later of it is new, however old */
};

/* look_names.c: the set @runs-later, by the last component of each of its paths. */
struct look_names;

/* look_names_make() - once per process. @home: borrowed; NULL: none. Return: static; NULL where the set has
 * more than there is room for. */
const struct look_names *look_names_make(const char *home);

/*
 * look_names_find() - is @name in the directory @path one of them?
 * @link: it is a link: then a directory that leads to one of them counts, too
 *
 * Return: its row of the set, or NULL.
 */
const struct set_item *look_names_find(const struct look_names *names, const char *path, const char *name,
                                       bool link);

/* look.c: for the parts. */

/* look_is_plain() - is @entry of @place nothing to look at, unless it is a directory, for what is in it? */
bool look_is_plain(const struct look *look, const struct look_place *place,
                   const struct kernel_dirent *entry);
/* look_new() - did this change since the run began? */
bool look_new(const struct look *look, const struct stat *status);
/* look_fresh() - the same of what is in @place: or may it have come with the directory? */
bool look_fresh(const struct look *look, const struct look_place *place, const struct stat *status);
/* look_moved() - may the directory @place have come to its name since the run began? */
bool look_moved(const struct look *look, const struct look_place *place);
/* look_say() - one finding: @name in @place, or @place itself (NULL). Return: 0 or what ends the walk. */
int look_say(struct look *look, const char *kind, const struct look_place *place, const char *name,
             const char *runs, const char *detail);
/* look_stopped() - is a bound reached? One more name was seen. */
bool look_stopped(struct look *look);

/* look_join() - @path as it is seen from the directory @from. Return: owned by the caller; NULL without
 * memory. */
char *look_join(const char *from, const char *path);
/* look_root_of() - the tree that a canonical path is in, or NULL. */
const struct look_root *look_root_of(const struct look *look, const char *path);

/*
 * look_open() - a path below one of the roots, one component after the other, no link followed.
 * @path: canonical form, absolute; `.` and `..` in it are taken away first, as text
 * Return: a descriptor, -errno; -EXDEV outside of the roots.
 */
int look_open(const struct look *look, const char *path, int flags, char **ret_path);

/* look_links.c */

/* look_follow() - the same as look_open(), but links are followed as long as they stay below the roots. */
int look_follow(const struct look *look, const char *path, int flags, char **ret_path);

/* look_repository.c */

/* look_repository() - the repository in @directory (`.git` or bare). @tree: where its files are; NULL: bare.
 */
int look_repository(struct look *look, const struct look_place *directory, const char *tree);
/* look_git_file() - `.git` in @place, where it is no directory. */
int look_git_file(struct look *look, const struct look_place *place, const struct stat *status);

/* look_settings.c: the configuration @name in @directory, and what it leads to below the roots: files that it
 * includes, hooks. */
int look_settings(struct look *look, const struct look_place *directory, const char *name, const char *tree);
/* look_hooks() - every hook in @directory that is new. look_repository.c */
int look_hooks(struct look *look, const struct look_place *directory);

#endif
