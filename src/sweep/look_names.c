/*
 * look_names.c - the paths of @runs-later, found by the last part of a name.
 *
 * `./a/b` of the set counts in every directory, not in the workspace's top alone: whoever opens a directory
 * below it as a project has what is in there run. `~/…` counts in the home.
 */
#include "sweep/look_internal.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 64

struct look_name {
    const struct set_item *item;
    const char *last; /* of the path; part of `text` */
    char *text;       /* what stands before it: `/.vscode` of ./.vscode/tasks.json, or a whole directory */
    bool whole;       /* `text` is the directory, not its end */
    bool way;         /* no path of the set, but a directory of one: only a link at it counts */
    struct look_name *next;
};

struct look_names {
    struct look_name *buckets[BUCKETS];
    bool first[256]; /* of some name: most names of a tree are told by it */
};

static unsigned bucket_of(const char *name)
{
    unsigned hash = 5381;

    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash % BUCKETS;
}

/* One name of ITEM: its last, or with @way the one before. Return: whether that could be done. */
static bool add_name(struct look_names *names, const struct set_item *item, const char *home, bool way)
{
    struct look_name *entry = calloc(1, sizeof(*entry));
    char *slash;

    if (!entry)
        return false;
    entry->item = item;
    entry->whole = item->value[0] == '~';
    /* `./.idea` becomes `/.idea`, `~/.bashrc` the home's. */
    entry->text = text_join(entry->whole ? home : "", item->value + 1, NULL);
    entry->way = way;
    slash = entry->text ? strrchr(entry->text, '/') : NULL;
    if (slash && way) {
        *slash = '\0';
        slash = strrchr(entry->text, '/');
    }
    if (!slash) {
        free(entry->text);
        free(entry);
        return false;
    }
    *slash = '\0';
    entry->last = slash + 1;
    entry->next = names->buckets[bucket_of(entry->last)];
    names->buckets[bucket_of(entry->last)] = entry;
    names->first[(unsigned char)entry->last[0]] = true;
    return true;
}

struct look_names *look_names_make(const char *home)
{
    struct look_names *names = calloc(1, sizeof(*names));
    const struct set *set = set_by_name("@runs-later");

    for (const struct set_item *item = names && set ? set->items : NULL; item && item->value; item++) {
        /* What is in a repository is look_repository.c's. */
        if (strcmp(item->value, "./.git") == 0 || strncmp(item->value, "./.git/", 7) == 0)
            continue;
        if (item->value[0] == '~' ? !home || item->value[1] != '/' : strncmp(item->value, "./", 2) != 0)
            continue;
        if (!add_name(names, item, home, false) ||
            (strchr(item->value + 2, '/') && !add_name(names, item, home, true))) {
            look_names_free(names);
            return NULL;
        }
    }
    return names;
}

void look_names_free(struct look_names *names)
{
    for (size_t i = 0; names && i < BUCKETS; i++)
        while (names->buckets[i]) {
            struct look_name *entry = names->buckets[i];

            names->buckets[i] = entry->next;
            free(entry->text);
            free(entry);
        }
    free(names);
}

const struct set_item *look_names_find(const struct look_names *names, const char *path, const char *name,
                                       bool link)
{
    if (!names->first[(unsigned char)name[0]])
        return NULL;
    for (const struct look_name *entry = names->buckets[bucket_of(name)]; entry; entry = entry->next) {
        size_t length = strlen(entry->text), whole = strlen(path);

        if (strcmp(entry->last, name) != 0 || (entry->way && !link))
            continue;
        if (entry->whole ? strcmp(entry->text, path) == 0
                         : length <= whole && strcmp(path + whole - length, entry->text) == 0)
            return entry->item;
    }
    return NULL;
}
