/*
 * survey.c - see survey.h.
 *
 * Theory of operation. To list names is nearly all that a look takes, and it can be done while nobody waits.
 * The names in a directory cannot change without its ctime, which the kernel sets and nobody else can. So a
 * directory that was listed whole, in which nothing mattered, and which is the same object with the same
 * ctime when the command has ended, needs no second listing: what mattered would still have to come into it.
 * What is in it is not trusted for anything else: its subdirectories are asked one by one.
 *
 * ctime is as coarse as the kernel's clock, or a second: a change just behind the listing could have the
 * stamp of one just before it. So the stamp has to be older than the listing by more than any of these.
 *
 * A place is known by the names that lead to it, because what a name means depends on them (tasks.json in a
 * directory .vscode): one that is moved to another name is not known there.
 *
 * The names in an encrypted directory do change without it, as soon as somebody gives the kernel its key.
 *
 * Should:  read what a place is before it lists it, so that all that changes later shows.
 * Mustn't: say a thing about a name that matters, or about a repository; trust a file system whose times
 *          somebody else writes, or whose changes another machine makes; take memory or time without bound.
 */
#include "sweep/survey.h"

#include "links/kernel_abi.h"
#include "sweep/listing.h"
#include "sweep/look_internal.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#define STATX_EMPTY_PATH 0x1000 /* AT_EMPTY_PATH */
#define STATX_ENCRYPTED  0x800  /* STATX_ATTR_ENCRYPTED */

#define PLACES_MOST 262144U
#define NAMES_MOST  (UINT64_C(32) * PLACES_MOST) /* bytes */
#define SEARCH_EACH 8 /* comparisons of names for each of a directory, on average */

/* A stamp that is older cannot come again. */
static const struct timespec settled = {.tv_sec = 2, .tv_nsec = 500000000};

static const uint64_t stamping[] = {
    0xef53,     /* ext2, ext3, ext4 */
    0x58465342, /* xfs */
    0x9123683e, /* btrfs */
    0x01021994, /* tmpfs */
    0x794c7630, /* overlayfs, which has a directory's times from the one above */
    0xf2f52010, /* f2fs */
    0xca451a4e, /* bcachefs */
    0x2fc12fc1, /* zfs */
};

struct surveying {
    struct survey *survey;
    const struct look *look;
    int go;
    dev_t device;  /* of the root */
    uint64_t left; /* names that it may still see */
    bool stopped;
};

enum survey_answer survey_ask(int go, int ms)
{
    struct pollfd pipe = {.fd = go, .events = POLLIN};
    int r = poll(&pipe, 1, ms);

    if (r == 0)
        return SURVEY_NOT_YET;
    return r == 1 && (pipe.revents & POLLIN) ? SURVEY_GO : SURVEY_NOBODY;
}

static bool is_before(const struct timespec *one, const struct timespec *two)
{
    return one->tv_sec != two->tv_sec ? one->tv_sec < two->tv_sec : one->tv_nsec < two->tv_nsec;
}

/* Is the stamp so old that no change from now on can have it? */
static bool is_settled(const struct timespec *changed)
{
    struct timespec limit;

    clock_gettime(CLOCK_REALTIME_COARSE, &limit); /* the one that stamps */
    limit.tv_sec -= settled.tv_sec;
    limit.tv_nsec -= settled.tv_nsec;
    if (limit.tv_nsec < 0) {
        limit.tv_sec--;
        limit.tv_nsec += 1000000000;
    }
    return is_before(changed, &limit);
}

/* Can its names become others by a key that is added? Whoever has it may add it, without any privilege. */
static bool is_encrypted(int directory)
{
    struct {
        uint32_t mask, block;
        uint64_t attributes;
        uint64_t rest[30];
    } object = {0}; /* struct statx, as far as it is read here */

    _Static_assert(sizeof(object) == 256, "struct statx");
    return kernel_call(SYS_statx, directory, KERNEL_PTR(""), STATX_EMPTY_PATH, 0, KERNEL_PTR(&object), 0) !=
               0 ||
           (object.attributes & STATX_ENCRYPTED);
}

/* Room for one more place, with nothing known of it. Return: whether there is. */
static bool add_place(struct surveying *surveying, const char *name)
{
    struct survey *survey = surveying->survey;

    if (survey->count == PLACES_MOST || survey->names.length > NAMES_MOST ||
        !array_more(&survey->places, survey->count, sizeof(*survey->places)))
        return false;
    survey->places[survey->count++] = (struct survey_place){.name = (uint32_t)survey->names.length};
    text_add_bytes(&survey->names, name, strlen(name) + 1);
    return !survey->names.failed;
}

/* What is in one piece of a listing: its directories become places. Return: whether that was within bounds.
 */
static bool take_names(struct surveying *surveying, const struct look_place *directory, const void *room,
                       long size, bool *plain)
{
    const struct kernel_dirent *entry;

    for (long at = 0; (entry = listing_next(room, size, &at));) {
        if (surveying->left-- == 0)
            return false;
        if (!look_is_plain(surveying->look, directory, entry))
            *plain = false; /* nor is it gone into */
        else if (entry->type == LISTED_DIRECTORY && !add_place(surveying, entry->name))
            return false;
    }
    return true;
}

/* The names of @directory become the place @at. Return: whether all of them were seen. */
static bool list_place(struct surveying *surveying, const struct look_place *directory, size_t at)
{
    static _Alignas(struct kernel_dirent) char room[32768];
    struct survey *survey = surveying->survey;
    const size_t first = survey->count;
    struct stat before;
    bool plain;
    long size;

    if (fstat(directory->fd, &before) != 0 || before.st_dev != surveying->device)
        return false;
    plain = is_settled(&before.st_ctim) && !is_encrypted(directory->fd);
    if (lseek(directory->fd, 0, SEEK_SET) < 0) /* btrfs lists what was there at an open, or at this */
        return false;
    do {
        if (survey_ask(surveying->go, 0) != SURVEY_NOT_YET) {
            surveying->stopped = true;
            return false;
        }
        size = listing_read(directory->fd, room, sizeof(room));
        if (size > 0 && !take_names(surveying, directory, room, size, &plain)) {
            surveying->stopped = true;
            return false;
        }
    } while (size > 0);
    if (size < 0)
        return false;
    survey->places[at] = (struct survey_place){.device = before.st_dev,
                                               .inode = before.st_ino,
                                               .changed = before.st_ctim,
                                               .first = (uint32_t)first,
                                               .count = (uint32_t)(survey->count - first),
                                               .name = survey->places[at].name,
                                               .plain = plain};
    return true;
}

static void survey_directory(struct surveying *surveying, const struct look_place *directory, size_t at,
                             int depth)
{
    struct survey *survey = surveying->survey;

    if (!list_place(surveying, directory, at) || depth >= LOOK_DEPTH)
        return;
    for (uint32_t i = 0; i < survey->places[at].count && !surveying->stopped; i++) {
        const size_t below = survey->places[at].first + i;
        const char *name = survey_name(survey, &survey->places[below]);
        _cleanup_fd_ int fd = openat(directory->fd, name, LOOK_DIRECTORY);
        _cleanup_free_ char *path = fd < 0 ? NULL : look_join(directory->path, name);

        if (path)
            survey_directory(surveying, &(struct look_place){.fd = fd, .path = path}, below, depth + 1);
    }
}

/* Are its times the kernel's own? */
static bool is_stamped(int root)
{
    struct statfs status;

    if (fstatfs(root, &status) != 0)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(stamping); i++)
        if ((uint64_t)status.f_type == stamping[i])
            return true;
    return false;
}

void survey_trees(struct survey *survey, const struct look *look, int go)
{
    struct surveying surveying = {.survey = survey,
                                  .look = look,
                                  .go = go,
                                  .left = look->most_entries ? look->most_entries : UINT64_MAX};

    for (size_t i = 0; i < look->root_count; i++)
        if (!add_place(&surveying, ""))
            surveying.stopped = true;
    for (size_t i = 0; i < look->root_count && !surveying.stopped; i++) {
        const struct look_root *root = &look->roots[i];
        /* The look reads on from where the root's own descriptor stands. */
        _cleanup_fd_ int fd = openat(root->fd, ".", LOOK_DIRECTORY);
        struct stat status;

        if (fd < 0 || fstat(fd, &status) != 0 || !is_stamped(fd))
            continue;
        surveying.device = status.st_dev;
        survey_directory(&surveying, &(struct look_place){.fd = fd, .path = root->path}, i, 0);
    }
}

void survey_free(struct survey *survey)
{
    free(survey->places);
    text_free(&survey->names);
    *survey = (struct survey){0};
}

bool survey_holds(const struct survey_place *place, const struct stat *status)
{
    return place->plain && place->device == status->st_dev && place->inode == status->st_ino &&
           place->changed.tv_sec == status->st_ctim.tv_sec &&
           place->changed.tv_nsec == status->st_ctim.tv_nsec;
}

const struct survey_place *survey_below(const struct survey *survey, const struct survey_place *place,
                                        const char *name, struct survey_cursor *cursor)
{
    for (uint32_t i = 0; i < place->count && cursor->tried < (uint64_t)place->count * SEARCH_EACH; i++) {
        const struct survey_place *below = &survey->places[place->first + cursor->at];

        cursor->tried++;
        cursor->at = cursor->at + 1 < place->count ? cursor->at + 1 : 0;
        if (strcmp(survey_name(survey, below), name) == 0)
            return below;
    }
    return NULL;
}

const char *survey_name(const struct survey *survey, const struct survey_place *place)
{
    return survey->names.data + place->name;
}
