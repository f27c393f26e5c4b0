/*
 * resolve_listing.c - what is in a directory, listed once: sets name far more than there is.
 *
 * Should:  answer `no` only for what was not there when the directory was listed as a whole.
 * Mustn't: cost more than the looks that it saves: a large directory is given up.
 */
#include "policy/resolve_internal.h"

#include <fcntl.h>
#include <unistd.h>

#define HOME_ENTRIES_MAX 2000
#define TOP_ENTRIES_MAX  40 /* beyond, looking for each name is as cheap */

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Names that are still to be taken. */
struct taking {
    struct strings *names;
    size_t most;
};

static int take_name(const char *name, void *data)
{
    struct taking *taking = data;

    return taking->names->count >= taking->most ? 1 : strings_add(taking->names, name);
}

/* Return: 0 with all names, sorted, 1 when there are more than MOST, or -errno. */
static int list_names(int directory, size_t most, struct strings *names)
{
    struct taking taking = {.names = names, .most = most};
    int r = directory_names(directory, take_name, &taking);

    if (r == 0 && names->count > 1)
        qsort(names->items, names->count, sizeof(char *), compare_names);
    return r;
}

/* One that cannot be listed, or is very large, stays incomplete. */
static int list_home(struct listing *listing, const char *home)
{
    _cleanup_fd_ int fd = openat(AT_FDCWD, home, O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool missing = fd < 0 && (errno == ENOENT || errno == ENOTDIR);
    /* What may not be entered holds nothing within the caller's reach. */
    bool closed = fd >= 0 && faccessat(fd, ".", X_OK, AT_EACCESS) != 0;
    int r = fd < 0 || closed ? 1 : list_names(fd, HOME_ENTRIES_MAX, &listing->names);

    listing->path = strdup(home);
    listing->complete = missing || closed || r == 0;
    return r == -ENOMEM || !listing->path ? -ENOMEM : 0;
}

int resolving_list_homes(struct resolving *resolving)
{
    struct strings homes = {0};
    int r = resolving->home_count > 0 ? 0 : resolving_expand(resolving, "~", &homes);

    for (size_t i = 0; i < homes.count && i < ARRAY_SIZE(resolving->homes) && r == 0; i++)
        if (list_home(&resolving->homes[resolving->home_count++], homes.items[i]) < 0)
            r = error_no_memory(resolving->error);
    strings_free(&homes);
    return r;
}

bool resolving_home_may_have(const struct resolving *resolving, const char *home, const char *place)
{
    for (size_t i = 0; i < resolving->home_count; i++)
        if (strcmp(resolving->homes[i].path, home) == 0)
            return listing_may_have(&resolving->homes[i], place);
    return true;
}

int resolving_list_top(struct resolving *resolving)
{
    int workspace = resolving->resolved->workspace_fd;
    int r = workspace < 0 ? 1 : list_names(workspace, TOP_ENTRIES_MAX, &resolving->top.names);

    resolving->top.complete = r == 0;
    return r == -ENOMEM ? error_no_memory(resolving->error) : 0;
}

bool listing_may_have(const struct listing *listing, const char *path)
{
    size_t length = strcspn(path, "/");
    char first[256], *key = first;

    if (!listing->complete || length >= sizeof(first))
        return true;
    memcpy(first, path, length);
    first[length] = '\0';
    return listing->names.count > 0 &&
           bsearch(&key, listing->names.items, listing->names.count, sizeof(char *), compare_names);
}

void listing_free(struct listing *listing)
{
    free(listing->path);
    strings_free(&listing->names);
    *listing = (struct listing){0};
}
