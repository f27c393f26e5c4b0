/*
 * resolve_edges.c - where the writing boundary is tried.
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
    _cleanup_free_ char *path = text_join(search->directory[1] ? search->directory : "", "/", name, NULL);

    if (!path || resolved_under_writable(search->resolved, path))
        return 0;
    for (size_t i = 0; i < search->resolved->hidden_count; i++)
        if (strcmp(search->resolved->hidden[i].path, path) == 0)
            return 0; /* inside it may have no name, which says nothing about writing */
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
    if (home && home != resolving->env_home) { /* which is canonical; add_edge() sees whether it still is */
        if (path_open(home, &opened) < 0)
            return 0;
        home = opened.path;
    }
    r = home ? add_edge(resolving, home, NULL, false) : 0;
    return r < 0 || !home ? r : add_edge_above(resolving, home, false);
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
    return r;
}
