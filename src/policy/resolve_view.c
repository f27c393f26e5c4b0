/*
 * resolve_view.c - what a view of its own has to know of this machine: what must stay readable in places that
 * become private, what must change hands, what must not be reached.
 *
 * Distributions differ here. NixOS keeps its programs under /run; a resolver's file often lies there; files
 * of root appear as nobody's in a user namespace, and ssh refuses settings that somebody unknown owns.
 *
 * Should:  name only what is there.
 * Mustn't: keep a socket or a directory of sockets: those are asked for by name (--socket).
 */
#include "policy/resolve_internal.h"

#include "kernel/object.h"
#include "links/kernel_abi.h"
#include "policy/accounts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOCKETS_MAX 256
#define COPIES_MAX  64

/* Where programs and what they need to start may lie, besides the usual places. */
static const char *const kept_places[] = {
    "/run/current-system", "/run/booted-system",    "/run/wrappers",
    "/run/opengl-driver",  "/run/opengl-driver-32",
};

/* Files whose owner ssh looks at, named by their directory; links in it lead to where they really are. */
static const char *const owned_places[] = {"/etc/ssh/ssh_config.d"};

/* Adds the canonical name of PATH, if it is there. */
static int add_canonical(struct resolving *resolving, struct strings *list, const char *path, mode_t type)
{
    _cleanup_opened_ struct opened opened = {.fd = -1};
    int r = path_open(path, &opened);

    if (r == -ENOMEM)
        return error_no_memory(resolving->error);
    if (r < 0 || (type && (opened.st.st_mode & S_IFMT) != type) || strings_have(list, opened.path))
        return 0;
    return strings_add(list, opened.path) < 0 ? error_no_memory(resolving->error) : 0;
}

/* A place itself is the view's own: the command starts in that one. */
static bool is_place(const char *path)
{
    static const char *const places[] = {"/run", "/var/run", "/tmp", "/dev/shm", "/dev", "/proc"};

    for (size_t i = 0; i < ARRAY_SIZE(places); i++)
        if (strcmp(path, places[i]) == 0)
            return true;
    return strncmp(path, "/proc/", 6) == 0;
}

static int find_kept(struct resolving *resolving)
{
    struct resolved *resolved = resolving->resolved;
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(kept_places) && r == 0; i++)
        r = add_canonical(resolving, &resolved->view.kept, kept_places[i], 0);
    if (r == 0)
        r = add_canonical(resolving, &resolved->view.kept, "/etc/resolv.conf", S_IFREG);
    for (size_t i = 0; i < resolving->read_named.count && r == 0; i++)
        if (strings_add(&resolved->view.kept, resolving->read_named.items[i]) < 0)
            r = error_no_memory(resolving->error);
    /* The directory in which the command starts, so that it can. */
    if (r == 0 && resolved->cwd && strcmp(resolved->cwd, "/") != 0 && !is_place(resolved->cwd) &&
        strings_add(&resolved->view.kept, resolved->cwd) < 0)
        r = error_no_memory(resolving->error);
    return r;
}

static int find_copies(struct resolving *resolving)
{
    struct strings *copies = &resolving->resolved->view.copies;
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(owned_places) && r == 0; i++) {
        DIR *directory = resolving->resolved->uid == 0 ? NULL : opendir(owned_places[i]);

        for (struct dirent *entry; directory && r == 0 && copies->count < COPIES_MAX;) {
            char path[512];

            entry = readdir(directory);
            if (!entry)
                break;
            if (entry->d_name[0] == '.' ||
                (size_t)snprintf(path, sizeof(path), "%s/%s", owned_places[i], entry->d_name) >=
                    sizeof(path) ||
                access(path, R_OK) != 0)
                continue;
            r = add_canonical(resolving, copies, path, S_IFREG);
        }
        if (directory)
            closedir(directory);
    }
    return r;
}

/* Is the name one that the policy grants? */
static bool is_granted_socket(const struct resolved *resolved, const char *path)
{
    for (size_t i = 0; i < resolved->path_count; i++)
        if (resolved->paths[i].grant == GRANT_SOCKET && strcmp(resolved->paths[i].path, path) == 0)
            return true;
    return false;
}

/* A user who is in no file has a name by a service, and inside none: git asks who it is, ssh ends. */
static int warn_unnamed(struct resolving *resolving)
{
    static const char *const services[] = {"/var/lib/sss/pipes/nss", "/run/nscd/socket"};
    struct resolved *resolved = resolving->resolved;
    const char *found = NULL;
    struct account account;
    struct stat st;

    if (account_find(resolving->passwd, resolved->uid, &account))
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(services); i++) {
        if (is_granted_socket(resolved, services[i]))
            return 0;
        if (!found && lstat(services[i], &st) == 0 && S_ISSOCK(st.st_mode))
            found = services[i];
    }
    if (found &&
        strings_addf(&resolved->warnings,
                     "user-unnamed: user %u is not in /etc/passwd and has no name inside (add --socket "
                     "%s, by which the service that knows it can be asked)",
                     (unsigned)resolved->uid, found) < 0)
        return error_no_memory(resolving->error);
    return 0;
}

bool is_private_place(const char *path)
{
    static const char *const places[] = {"/run/", "/var/run/", "/tmp/", "/dev/"};

    for (size_t i = 0; i < ARRAY_SIZE(places); i++)
        if (strncmp(path, places[i], strlen(places[i])) == 0)
            return true;
    return false;
}

bool is_in_private_place(const char *path)
{
    char below[PATH_MAX + 1];

    snprintf(below, sizeof(below), "%s/", path);
    return is_private_place(below);
}

bool resolved_apart(const struct resolved *resolved, const char *path)
{
    if (!is_in_private_place(path))
        return false;
    for (size_t i = 0; i < resolved->view.kept.count; i++)
        if (path_contains(resolved->view.kept.items[i], path))
            return false;
    for (size_t i = 0; i < resolved->path_count; i++) {
        const struct resolved_path *granted = &resolved->paths[i];

        if (granted->grant != GRANT_NONE && (granted->named || !granted->implied) &&
            is_in_private_place(granted->path) && path_contains(granted->path, path))
            return false;
    }
    return true;
}

#define LIST_PIECE 4096
#define UNIX_INODE                                                                                           \
    37 /* where the inode stands in a line of /proc/net/unix, behind the colon; then the name */

/* Is the socket of this name, as whoever listens on it has written it, seen in no view? The name may lead
 * through links. */
static bool is_socket_apart(const struct resolved *resolved, const char *name)
{
    int fd;

    if (!is_private_place(name) || resolved_under_writable(resolved, name) ||
        !resolved_apart(resolved, name) || strstr(name, "/../"))
        return false;
    fd = object_open(AT_FDCWD, name, 0, RESOLVE_NO_SYMLINKS);
    fd_close(fd);
    return fd != -ELOOP;
}

/* Takes a socket that a view would show, if there is one of this name. Return: 0, 1 when there are too many,
 * -ENOMEM with the error set. */
static int take_socket(const char *path, void *data)
{
    struct resolving *resolving = data;
    struct strings *sockets = &resolving->resolved->view.sockets;
    struct stat st;

    if (lstat(path, &st) != 0 || !S_ISSOCK(st.st_mode) || is_socket_apart(resolving->resolved, path) ||
        is_granted_socket(resolving->resolved, path))
        return 0;
    if (sockets->count == SOCKETS_MAX)
        return 1;
    return add_canonical(resolving, sockets, path, S_IFSOCK);
}

/* `/path`, `unix:///path`, `unix:path=/path,…`. Return: as take_socket(). */
static int take_variable(struct resolving *resolving, const char *name)
{
    const char *value = env_value(resolving->env, name);
    const char *begin = value ? strchr(value, '/') : NULL;
    char path[108]; /* a socket has no longer name */
    size_t length;

    while (begin && begin[1] == '/')
        begin++;
    length = begin ? strcspn(begin, ",;") : 0;
    if (length == 0 || length >= sizeof(path))
        return 0;
    memcpy(path, begin, length);
    path[length] = '\0';
    return take_socket(path, resolving);
}

/* The kernel's list has what somebody listens on in this network namespace. A container has sockets of
 * others, by a mount: the caller's variables tell of them, or they are mounts themselves. Return: as
 * take_socket(). */
static int find_foreign_sockets(struct resolving *resolving)
{
    static const char *const variables[] = {"SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST",
                                            "CONTAINER_HOST", "PULSE_SERVER"};
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(variables) && r == 0; i++)
        r = take_variable(resolving, variables[i]);
    if (r == 0)
        r = leaf_mounts(&resolving->mounts, take_socket, resolving);
    return r == -ENOMEM && resolving->error->code == ERROR_NONE ? error_no_memory(resolving->error) : r;
}

/* A name that is relative to where whoever has bound it was then, or to a descriptor of his: nobody else
 * knows what it names. */
static bool is_relative(const char *line)
{
    const char *colon = strchr(line, ':'), *name;

    if (!colon || strlen(colon) <= UNIX_INODE)
        return false;
    name = colon + UNIX_INODE;
    name += strspn(name, " ");
    name += strspn(name, "0123456789");
    if (name[0] != ' ' || name[1] == '@' || name[1] == '\n' || name[1] == '\0')
        return false;
    name++;
    return name[0] != '/' || path_contains("/proc", name) || path_contains("/dev/fd", name);
}

/* Every name of the kernel's list on which somebody listens: the flag of a listening socket is set. */
static int find_sockets(struct resolving *resolving)
{
    _cleanup_free_ char *room = malloc(LIST_PIECE);
    int r = find_foreign_sockets(resolving);
    bool unknown = r != 0;
    char line[512];
    FILE *list;

    if (r == -ENOMEM)
        return r;
    list = fopen("/proc/net/unix", "re");
    if (list && room)
        setvbuf(list, room, _IOFBF, LIST_PIECE); /* the kernel walks over all sockets for each piece */
    for (r = 0; list && r == 0 && fgets(line, sizeof(line), list);) {
        char *path = strchr(line, '/');

        unknown = unknown || is_relative(line);
        if (!path)
            continue;
        path[strcspn(path, "\n")] = '\0';
        r = take_socket(path, resolving);
    }
    resolving->resolved->view.sockets_unknown = unknown || !list || !feof(list);
    if (list)
        fclose(list);
    return r < 0 ? r : 0;
}

size_t resolved_forget_sockets(struct resolved *resolved)
{
    struct strings *sockets = &resolved->view.sockets;
    size_t kept = 0, before = sockets->count;
    struct stat st;

    for (size_t i = 0; i < before; i++)
        if (lstat(sockets->items[i], &st) != 0 && (errno == ENOENT || errno == ENOTDIR))
            free(sockets->items[i]);
        else
            sockets->items[kept++] = sockets->items[i];
    sockets->count = kept;
    return before - kept;
}

/* Takes the names that lead to a file system of the kernel's: another mount may cover one. */
static int keep_kernel(struct resolving *resolving, const struct strings *points, bool writable_only,
                       struct strings *kept)
{
    for (size_t i = 0; i < points->count; i++) {
        _cleanup_opened_ struct opened opened = {.fd = -1};
        struct mount_row *row;

        if (writable_only && !resolved_under_writable(resolving->resolved, points->items[i]))
            continue;
        if (path_open(points->items[i], &opened) < 0) /* out of the caller's reach */
            continue;
        row = mounts_find(&resolving->mounts, opened.fd, "", opened.path);
        if (row && (!row->point || strcmp(row->point, points->items[i]) != 0))
            continue;
        if (!strings_have(kept, opened.path) && strings_add(kept, opened.path) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* A tree that somebody builds a system in often has a /proc and a /sys of its own. */
static int find_kernel(struct resolving *resolving)
{
    struct resolved *resolved = resolving->resolved;
    struct strings processes = {0}, others = {0};
    int r = kernel_mounts(&resolving->mounts, resolved->uid == 0, &processes, &others);

    if (r < 0 && r != -ENOMEM) {
        resolved->view.procs_unknown = true;
        r = 0;
    }
    if (r == 0)
        r = keep_kernel(resolving, &processes, false, &resolved->view.procs);
    if (r == 0)
        r = keep_kernel(resolving, &others, true, &resolved->view.kernel);
    strings_free(&processes);
    strings_free(&others);
    return r < 0 ? error_no_memory(resolving->error) : 0;
}

int resolve_view(struct resolving *resolving)
{
    const char *backend = resolving->policy->backend;
    int r;

    if (resolving->resolved->mode == MODE_DANGER_FULL_ACCESS)
        return 0;
    r = find_kernel(resolving);
    if (r < 0 || (backend && strcmp(backend, "landlock") == 0))
        return r; /* no view of its own */
    r = find_kept(resolving);
    if (r == 0)
        r = find_copies(resolving);
    if (r == 0)
        r = warn_unnamed(resolving);
    return r < 0 ? r : find_sockets(resolving);
}
