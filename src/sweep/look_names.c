/*
 * look_names.c - the paths of @runs-later, found by the last part of a name.
 *
 * `./a/b` of the set counts in every directory, not in the workspace's top alone: whoever opens a directory
 * below it as a project has what is in there run. `~/…` counts in the home.
 */
#include "sweep/look_internal.h"

#include <limits.h>
#include <string.h>

#define BUCKETS 64
#define NAMES   256 /* more than there are: one too many, and there is no look */

/* The directory is told by texts of the set and the home as they stand: a copy of each would take longer than
 * the look at a small tree. */
struct look_name {
    const struct set_item *item;
    struct look_name *next;
    unsigned char last_length; /* of the last part of the path */
    unsigned char text_length; /* of what stands before it: `/.vscode` of ./.vscode/tasks.json */
    bool way;                  /* no path of the set, but a directory of one: only a link at it counts */
};

struct look_names {
    const char *home;
    size_t home_length;
    size_t count;
    struct look_name names[NAMES];
    struct look_name *buckets[BUCKETS];
    bool first[256]; /* of some name: most names of a tree are told by it */
};

/* `./.idea` is `/.idea` anywhere, `~/.bashrc` the home's. */
static const char *text_of(const struct look_name *entry)
{
    return entry->item->value + 1;
}

static unsigned bucket_of(const char *name, size_t length)
{
    unsigned hash = 5381;

    for (size_t i = 0; i < length; i++)
        hash = hash * 33 + (unsigned char)name[i];
    return hash % BUCKETS;
}

/* Where the last part of the first LENGTH bytes of PATH begins. */
static size_t last_part(const char *path, size_t length)
{
    while (length > 0 && path[length - 1] != '/')
        length--;
    return length;
}

/* One name of ITEM: its last, or with @way the one before. Return: whether that could be done. */
static bool add_name(struct look_names *names, const struct set_item *item, bool way)
{
    const char *path = item->value + 1;
    size_t length = strlen(path), at = last_part(path, length);
    struct look_name *entry = &names->names[names->count];
    unsigned bucket;

    if (way) {
        length = at - 1;
        at = last_part(path, length);
    }
    if (names->count == NAMES || at == 0 || length > UCHAR_MAX)
        return false;
    names->count++;
    bucket = bucket_of(path + at, length - at);
    *entry = (struct look_name){.item = item,
                                .last_length = (unsigned char)(length - at),
                                .text_length = (unsigned char)(at - 1),
                                .way = way,
                                .next = names->buckets[bucket]};
    names->buckets[bucket] = entry;
    names->first[(unsigned char)path[at]] = true;
    return true;
}

const struct look_names *look_names_make(const char *home)
{
    static struct look_names names; /* once per process: it begins as zeros, of which few pages are touched */
    const struct set *set = set_by_name("@runs-later");

    names.home = home;
    names.home_length = home ? strlen(home) : 0;
    for (const struct set_item *item = set ? set->items : NULL; item && item->value; item++) {
        /* What is in a repository is look_repository.c's. */
        if (strcmp(item->value, "./.git") == 0 || strncmp(item->value, "./.git/", 7) == 0)
            continue;
        if (strcmp(item->value, "./" PLANTED_ASIDE) == 0) /* ours, and nobody runs what is in it */
            continue;
        if (item->value[0] == '~' ? !home || item->value[1] != '/' : strncmp(item->value, "./", 2) != 0)
            continue;
        if (!add_name(&names, item, false) || (strchr(item->value + 2, '/') && !add_name(&names, item, true)))
            return NULL;
    }
    return &names;
}

/* Is the directory PATH, of LENGTH bytes, the one that the entry names? */
static bool is_there(const struct look_names *names, const struct look_name *entry, const char *path,
                     size_t length)
{
    size_t before = length - entry->text_length;

    if (length < entry->text_length || memcmp(path + before, text_of(entry), entry->text_length) != 0)
        return false;
    return entry->item->value[0] != '~' ||
           (before == names->home_length && memcmp(path, names->home, before) == 0);
}

const struct set_item *look_names_find(const struct look_names *names, const char *path, const char *name,
                                       bool link)
{
    size_t length, whole;

    if (!names->first[(unsigned char)name[0]])
        return NULL;
    length = strlen(name);
    whole = strlen(path);
    for (const struct look_name *entry = names->buckets[bucket_of(name, length)]; entry; entry = entry->next)
        if (entry->last_length == length &&
            memcmp(text_of(entry) + entry->text_length + 1, name, length) == 0 && (!entry->way || link) &&
            is_there(names, entry, path, whole))
            return entry->item;
    return NULL;
}
