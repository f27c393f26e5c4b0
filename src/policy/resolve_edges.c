/*
 * resolve_edges.c - where the writing boundary is tried, and what --protect names.
 *
 * An edge is an existing name just outside a writable grant. rename(x, x) of it
 * changes nothing, succeeds where there is no boundary and is refused by one.
 *
 * Should:  take the directory right above each writable root first, so that a
 *          grant that landed one level too high is seen.
 * Mustn't: take a directory that lies in a writable grant: it would be refused
 *          by nothing, and the run with it.
 */
#include "policy/resolve_internal.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#define EDGES_MAX       6
#define EDGES_OF_GRANTS 4 /* the rest is left for the home and the system */

/* Looks for a name in a directory that leads to no writable grant. */
struct search {
    const struct resolved *resolved;
    const char *directory;
    char *found;
};

static int try_name(const char *name, void *data)
{
    struct search *search = data;
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s/%s", search->directory[1] ? search->directory : "", name);

    if (length < 0 || (size_t)length >= sizeof(path) || resolved_under_writable(search->resolved, path))
        return 0;
    search->found = strdup(name);
    return 1;
}

/* Some name in the directory FD that leads to no writable grant; NULL if it has none or cannot be listed. */
static char *find_entry(const struct resolved *resolved, int fd, const char *directory)
{
    struct search search = {.resolved = resolved, .directory = directory};

    return directory_names(fd, try_name, &search) == 1 ? search.found : NULL;
}

/* @name NULL: some entry. What does not exist or is doubled is left out. */
static int add_edge(struct resolving *resolving, const char *directory, const char *name, bool named)
{
    struct resolved *resolved = resolving->resolved;
    _cleanup_opened_ struct opened opened = {.fd = -1};
    struct edge edge = {.named = named};
    struct stat st;
    int r;

    for (size_t i = 0; i < resolved->edge_count; i++)
        if (strcmp(resolved->edges[i].parent, directory) == 0) {
            resolved->edges[i].named |= named;
            return 0;
        }
    if (resolved->edge_count >= EDGES_MAX || resolved_under_writable(resolved, directory))
        return 0;
    r = path_open(directory, &opened);
    if (r == -ENOMEM)
        return error_no_memory(resolving->error);
    if (r < 0 || !S_ISDIR(opened.st.st_mode) || strcmp(opened.path, directory) != 0)
        return 0; /* gone, or not by this name: no edge */
    if (name && fstatat(opened.fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        edge.name = strdup(name);
    else
        edge.name = find_entry(resolved, opened.fd, directory);
    edge.parent = strdup(directory);
    if (!edge.parent || !array_more(&resolved->edges, resolved->edge_count, sizeof(edge))) {
        free(edge.parent);
        free(edge.name);
        return error_no_memory(resolving->error);
    }
    edge.parent_fd = steal_fd(&opened.fd);
    resolved->edges[resolved->edge_count++] = edge;
    return 0;
}

static int add_edge_above(struct resolving *resolving, const char *path, bool named)
{
    _cleanup_free_ char *parent = NULL;
    const char *name;
    int r = path_parent(path, &parent, &name);

    if (r == -ENOMEM)
        return error_no_memory(resolving->error);
    return r < 0 ? 0 : add_edge(resolving, parent, name, named);
}

/* The edges of the writable grants, named ones or the others, up to MOST edges in all. */
static int add_grant_edges(struct resolving *resolving, bool named, size_t most)
{
    const struct resolved *resolved = resolving->resolved;
    int r = 0;

    for (size_t i = 0; i < resolved->path_count && resolved->edge_count < most && r == 0; i++)
        if (resolved->paths[i].grant == GRANT_WRITE && resolved->paths[i].named == named)
            r = add_edge_above(resolving, resolved->paths[i].path, named);
    return r;
}

static int add_home_edges(struct resolving *resolving)
{
    const char *home = resolving->resolved->switch_user ? resolving->command_home : resolving->env_home;
    _cleanup_opened_ struct opened opened = {.fd = -1};
    int r;

    if (!home)
        home = resolving->resolved->home;
    if (!home || path_open(home, &opened) < 0)
        return 0;
    r = add_edge(resolving, opened.path, NULL, false);
    return r < 0 ? r : add_edge_above(resolving, opened.path, false);
}

/* --- what --protect names ------------------------------------------------------------------------------ */

static bool is_unprotected(const struct strings *unprotected, const char *path)
{
    for (size_t i = 0; i < unprotected->count; i++)
        if (path_contains(unprotected->items[i], path))
            return true;
    return false;
}

/* Is something below a home writable that somebody asked for? Else the `~` items of a set need no look. */
static bool writes_below_home(const struct resolving *resolving)
{
    const struct resolved *resolved = resolving->resolved;
    const char *homes[] = {resolved->home, resolving->env_home, resolving->command_home};

    for (size_t i = 0; i < resolved->path_count; i++)
        for (size_t j = 0; j < ARRAY_SIZE(homes); j++)
            if (resolved->paths[i].grant == GRANT_WRITE && !resolved->paths[i].implied && homes[j] &&
                path_contains(homes[j], resolved->paths[i].path))
                return true;
    return false;
}

/* A cheap look before a name is made and opened: sets name far more than there is. */
static bool may_be_there(const struct resolving *resolving, const char *item, bool below_home)
{
    int workspace = resolving->resolved->workspace_fd;

    if (item[0] == '~')
        return below_home;
    return strncmp(item, "./", 2) != 0 || (workspace >= 0 && faccessat(workspace, item + 2, F_OK, 0) == 0);
}

/* The existing objects that one list names, by canonical name; of sets only what lies in a writable grant.
 * What merely is the default is looked up only for who explains the policy: no backend here can hold it. */
static int collect(struct resolving *resolving, enum list list, struct strings *paths)
{
    const struct entries *entries = &resolving->policy->list[list];
    bool below_home = writes_below_home(resolving);
    int r = 0;

    for (size_t i = 0; i < entries->count && r >= 0; i++) {
        const struct entry *entry = &entries->items[i];
        struct asked asked = asked_entry(entry, list);
        const struct set *set = entry->value[0] == '@' ? set_by_name(entry->value) : NULL;
        struct strings names = {0};
        _cleanup_opened_ struct opened opened = {.fd = -1};

        if (!entry_in_force(entries, i) || (!resolving->policy->explain && !origin_named(entry->origin)))
            continue;
        for (const struct set_item *item = set ? set->items : NULL; item && item->value && r == 0; item++)
            if (may_be_there(resolving, item->value, below_home))
                r = resolving_expand(resolving, item->value, &names);
        for (size_t j = 0; j < names.count && r == 0; j++) {
            _cleanup_opened_ struct opened one = {.fd = -1};

            if (resolved_under_writable(resolving->resolved, names.items[j]) &&
                path_open(names.items[j], &one) == 0 && strings_add(paths, one.path) < 0)
                r = error_no_memory(resolving->error);
        }
        strings_free(&names);
        if (set || r < 0)
            continue;
        asked.optional |= list == LIST_UNPROTECT;
        r = resolving_open(resolving, &asked, entry->base, &opened);
        if (r == 0 && strings_add(paths, opened.path) < 0)
            r = error_no_memory(resolving->error);
        r = r > 0 ? 0 : r;
    }
    return r;
}

static int resolve_protected(struct resolving *resolving)
{
    struct strings *protected = &resolving->resolved->protected_paths, unprotected = {0}, asked = {0};
    int r = collect(resolving, LIST_PROTECT, &asked);

    if (r == 0 && asked.count > 0)
        r = collect(resolving, LIST_UNPROTECT, &unprotected);
    for (size_t i = 0; i < asked.count && r == 0; i++)
        if (!is_unprotected(&unprotected, asked.items[i]) && !strings_have(protected, asked.items[i]) &&
            resolved_under_writable(resolving->resolved, asked.items[i]) &&
            strings_add(protected, asked.items[i]) < 0)
            r = error_no_memory(resolving->error);
    strings_free(&asked);
    strings_free(&unprotected);
    return r;
}

int resolve_edges(struct resolving *resolving)
{
    struct resolved *resolved = resolving->resolved;
    int r = 0;

    if (resolved->workspace && resolved->mode == MODE_READ_ONLY) /* here the workspace itself is outside */
        r = add_edge(resolving, resolved->workspace, NULL, true);
    if (r == 0)
        r = add_grant_edges(resolving, true, EDGES_OF_GRANTS - 1);
    if (r == 0)
        r = add_grant_edges(resolving, false, EDGES_OF_GRANTS);
    if (r == 0)
        r = add_home_edges(resolving);
    if (r == 0)
        r = add_edge(resolving, "/etc", "passwd", false);
    return r == 0 ? resolve_protected(resolving) : r;
}
