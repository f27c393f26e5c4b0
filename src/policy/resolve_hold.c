/*
 * resolve_hold.c - what hides: the levels that hide-run needs, and why an object cannot be held.
 *
 * A Landlock layer takes READ_FILE from everything and grants it again to the
 * siblings of what is hidden, on every level from the root down. So a level is
 * a directory and the one name in it that leads to something hidden.
 *
 * Should:  say of each object that stays readable why it cannot be held; where
 *          something in a hidden directory is granted or shown, hide what
 *          stands beside that.
 * Mustn't: make a level inside a writable grant (whatever the command creates
 *          there would be unreadable to it), below a hidden object (its
 *          siblings would be granted again), or of a directory that the command
 *          cannot list.
 */
#include "policy/resolve_hiding.h"

#include <fcntl.h>
#include <unistd.h>

static int count_name(const char *name, void *data)
{
    size_t *count = data;

    (void)name;
    return ++*count > SIBLINGS_MAX ? 1 : 0;
}

static size_t count_siblings(const struct hiding *hiding, const struct above *above)
{
    size_t count = 0;

    if (hiding->resolving->resolved->switch_user && !hiding_may(hiding, &above->st, S_IROTH))
        return SIZE_MAX;
    return directory_names(above->fd, count_name, &count) < 0 ? SIZE_MAX : count;
}

static int fail_changed(struct hiding *hiding, const char *path, int errnum)
{
    return path_failed(hiding->resolving->error, "the hidden paths", path, errnum);
}

static int above_fd(const struct hiding *hiding, const struct above *above)
{
    const struct resolved *resolved = hiding->resolving->resolved;

    return above->level == SIZE_MAX ? above->fd : resolved->paths[resolved->levels[above->level].path].fd;
}

/* Opens the directory PATH from the one above it, so that every level is what the level above leads to, even
 * while somebody swaps names. Return: 0 or a negative errno with the error set. */
static int look_above(struct hiding *hiding, const char *path);

static int open_above(struct hiding *hiding, const char *path, struct above *above)
{
    _cleanup_free_ char *parent = NULL;
    const char *name;
    int up, r = path_parent(path, &parent, &name);

    if (r == -ENOMEM)
        return error_no_memory(hiding->resolving->error);
    if (r < 0) {
        above->fd = path_open_at(AT_FDCWD, "/", O_DIRECTORY);
    } else {
        up = look_above(hiding, parent);
        if (up < 0)
            return up;
        above->fd = path_open_at(above_fd(hiding, &hiding->above[up]), name, O_DIRECTORY | O_NOFOLLOW);
    }
    if (above->fd < 0 || fstat(above->fd, &above->st) != 0)
        return fail_changed(hiding, path, above->fd < 0 ? -above->fd : errno);
    above->path = strdup(path);
    return above->path ? 0 : error_no_memory(hiding->resolving->error);
}

/* The directory PATH, opened and counted once. Return: its index, or a negative errno with the error set. */
static int look_above(struct hiding *hiding, const char *path)
{
    struct above above = {.fd = -1, .level = SIZE_MAX};
    size_t index = lookup_find(&hiding->by_above, path, strlen(path));
    int r;

    if (index != LOOKUP_NONE)
        return (int)index;
    r = open_above(hiding, path, &above);
    if (r == 0 && (!array_more(&hiding->above, hiding->above_count, sizeof(above)) ||
                   lookup_add(&hiding->by_above, above.path, strlen(path), hiding->above_count) < 0))
        r = error_no_memory(hiding->resolving->error);
    if (r < 0) {
        fd_close(above.fd);
        free(above.path);
        return r;
    }
    above.siblings = count_siblings(hiding, &above);
    hiding->above[hiding->above_count] = above;
    return (int)hiding->above_count++;
}

int hiding_each_above(struct hiding *hiding, const char *path,
                      int (*visit)(struct hiding *hiding, size_t above, const char *name, void *data),
                      void *data)
{
    int r = 0;

    for (const char *slash = path; slash && r == 0; slash = strchr(slash + 1, '/')) {
        _cleanup_free_ char *directory = strndup(path, slash == path ? 1 : (size_t)(slash - path));
        _cleanup_free_ char *name = strndup(slash + 1, strcspn(slash + 1, "/"));

        if (!directory || !name)
            return error_no_memory(hiding->resolving->error);
        r = look_above(hiding, directory);
        if (r >= 0)
            r = visit(hiding, (size_t)r, name, data);
    }
    return r;
}

/* --- what holds them ----------------------------------------------------------------------------------- */

static int note_trouble(struct hiding *hiding, size_t above, const char *name, void *data)
{
    const char **held = data;

    (void)name;
    if (hiding->above[above].siblings == SIZE_MAX)
        *held = "not-listable";
    else if (hiding->above[above].siblings > SIBLINGS_MAX && !*held)
        *held = "too-many-siblings";
    return 0;
}

/* DATA: whether the name is known not to be there. */
static int add_level(struct hiding *hiding, size_t at, const char *name, void *data)
{
    struct resolving *resolving = hiding->resolving;
    struct resolved *resolved = resolving->resolved;
    struct above *above = &hiding->above[at];
    const bool *alone = data;
    struct strings *except;

    if (above->level == SIZE_MAX) {
        struct opened opened = {.fd = above->fd, .path = strdup(above->path), .st = above->st};
        size_t index;

        above->fd = -1;
        if (!opened.path ||
            !array_more(&resolved->levels, resolved->level_count, sizeof(*resolved->levels)) ||
            resolving_add(resolving, &opened, GRANT_NONE, false, true, &index) < 0) {
            opened_free(&opened);
            return error_no_memory(resolving->error);
        }
        above->level = resolved->level_count++;
        resolved->levels[above->level] = (struct hide_level){.path = index};
    }
    except = &resolved->levels[above->level].except;
    if ((*alone || !strings_have(except, name)) && strings_add(except, name) < 0)
        return error_no_memory(resolving->error);
    return 0;
}

/* Is something granted in HIDDEN, so that hiding it would take the grant away? */
static bool holds_grant(const struct resolving *resolving, const char *path)
{
    const struct resolved *resolved = resolving->resolved;

    for (size_t i = 0; i < resolved->path_count; i++)
        if (resolved->paths[i].grant != GRANT_NONE && path_contains(path, resolved->paths[i].path))
            return true;
    for (size_t i = 0; i < resolving->read_named.count; i++)
        if (path_contains(path, resolving->read_named.items[i]))
            return true;
    for (size_t i = 0; i < resolved->shown.count; i++)
        if (path_contains(path, resolved->shown.items[i]))
            return true;
    return false;
}

/* What stands in the way of levels, and whether they lead to the directory in which the object was seen.
 * Return: 0 or a negative errno with the error set. */
static int look_at_way(struct hiding *hiding, const struct hidden *hidden, struct way *way)
{
    const struct hidden_parent *parent = &hiding->resolving->resolved->parents[hidden->parent];
    int r = hiding_each_above(hiding, hidden->path, note_trouble, &way->trouble), above;

    if (r == 0 && !way->trouble) {
        above = look_above(hiding, parent->path);
        if (above < 0)
            return above;
        if (parent->device != hiding->above[above].st.st_dev ||
            parent->inode != hiding->above[above].st.st_ino)
            return fail_changed(hiding, hidden->path, ESTALE);
        way->above = (size_t)above;
    }
    way->looked = r == 0;
    return r;
}

static int find_hold(struct hiding *hiding, struct hidden *hidden)
{
    const struct resolved *resolved = hiding->resolving->resolved;
    struct way *way = &hiding->ways[hidden->parent];
    bool alone = way->led; /* no other is hidden by this name, and those that lie in it come later */
    int r;

    if (holds_grant(hiding->resolving, hidden->path))
        hidden->held = "contains-grant";
    else if (resolved_under_writable(resolved, hidden->path))
        hidden->held = "inside-writable";
    if (hidden->held || resolved->open[SURFACE_FS_HIDDEN] ||
        !(hidden->shared || granted_readable(resolved, hidden->path, NULL)))
        return 0;
    r = way->looked ? 0 : look_at_way(hiding, hidden, way);
    if (r == 0)
        hidden->held = way->trouble;
    if (r < 0 || hidden->held)
        return r;
    if (alone)
        return add_level(hiding, way->above, hidden->name, &alone);
    way->led = true;
    return hiding_each_above(hiding, hidden->path, add_level, &alone);
}

static int hold(struct hiding *hiding, struct hidden *hidden)
{
    int r = find_hold(hiding, hidden);

    if (hidden->held && hidden->alias)
        hidden->held = "other-mount";
    return r;
}

static int compare_hidden(const void *left, const void *right)
{
    const struct hidden *a = left, *b = right;

    return strcmp(a->path, b->path);
}

/* --- what stands beside a grant ------------------------------------------------------------------------ */

/* Is it exactly PATH that is granted or shown? */
static bool is_shown_itself(const struct hiding *hiding, const char *path)
{
    const struct resolved *resolved = hiding->resolving->resolved;

    for (size_t i = 0; i < resolved->path_count; i++)
        if (resolved->paths[i].grant != GRANT_NONE && strcmp(path, resolved->paths[i].path) == 0)
            return true;
    return strings_have(&hiding->resolving->read_named, path) || strings_have(&resolved->shown, path);
}

struct beside {
    struct hiding *hiding;
    const struct hidden *around; /* a copy: the array grows */
    int directory;
};

/* One entry of a hidden directory: hidden, unless it is what is granted. Links lead to objects with names of
 * their own. */
static int hide_beside(const char *name, void *data)
{
    struct beside *beside = data;
    struct asked asked = {.by = "hide", .named = beside->around->named, .optional = beside->around->optional};
    _cleanup_opened_ struct opened opened = {.fd = -1};

    opened.fd = path_open_at(beside->directory, name, O_NOFOLLOW);
    if (opened.fd < 0)
        return opened.fd == -ENOENT ? 0 : opened.fd;
    if (fstat(opened.fd, &opened.st) != 0)
        return -errno;
    if (asprintf(&opened.path, "%s/%s", beside->around->path, name) < 0) {
        opened.path = NULL;
        return -ENOMEM;
    }
    if (S_ISLNK(opened.st.st_mode) || is_shown_itself(beside->hiding, opened.path))
        return 0;
    asked.value = opened.path;
    return hide_object(beside->hiding, &asked, &opened, beside->around->source);
}

/* Once for the outermost. */
static int warn_around(struct hiding *hiding, const char *path)
{
    if (hiding->around && path_contains(hiding->around, path))
        return 0;
    free(hiding->around);
    hiding->around = strdup(path);
    if (!hiding->around)
        return -ENOMEM;
    return strings_addf(&hiding->resolving->resolved->warnings,
                        "hidden-around: %s holds something that is granted: what else is in it now is hidden "
                        "one by one, a new name there may not be",
                        QUOTE(path));
}

/* Something in hidden[INDEX] is granted or shown: its place is taken by what stands beside that, where it is
 * a directory that can be listed and is not too large. Return: 1 then, 0, or a negative errno with the error
 * set. */
static int hide_around(struct hiding *hiding, size_t index)
{
    struct resolved *resolved = hiding->resolving->resolved;
    struct hidden around = resolved->hidden[index];
    struct beside beside = {.hiding = hiding, .around = &around, .directory = -1};
    int above, r;

    if (!S_ISDIR(around.type) || is_shown_itself(hiding, around.path) ||
        resolved_under_writable(resolved, around.path))
        return 0;
    above = look_above(hiding, around.path);
    if (above < 0)
        return above;
    if (hiding->above[above].siblings > SIBLINGS_MAX)
        return 0; /* also when it cannot be listed */
    beside.directory = above_fd(hiding, &hiding->above[above]);
    r = directory_names(beside.directory, hide_beside, &beside);
    if (r == 0)
        r = warn_around(hiding, around.path);
    if (r < 0 && hiding->resolving->error->code == ERROR_NONE)
        return error_set(hiding->resolving->error, ERROR_POLICY_INVALID, -r, "path-unreachable",
                         "the hidden path %s: %s", QUOTE(around.path), strerror(-r));
    if (r < 0)
        return r;
    if (!array_more(&resolved->around, resolved->around_count, sizeof(around)))
        return error_no_memory(hiding->resolving->error);
    resolved->around[resolved->around_count++] = around;
    resolved->hidden_count--;
    memmove(&resolved->hidden[index], &resolved->hidden[index + 1],
            (resolved->hidden_count - index) * sizeof(around));
    r = hiding_index(hiding);
    return r < 0 ? r : 1;
}

static int hide_around_all(struct hiding *hiding)
{
    struct resolved *resolved = hiding->resolving->resolved;
    int r = 0;

    for (size_t i = 0; i < resolved->hidden_count && r >= 0; i += r == 0)
        r = holds_grant(hiding->resolving, resolved->hidden[i].path) ? hide_around(hiding, i) : 0;
    return r < 0 ? r : 0;
}

/* Is one of the directories that PATH lies in held itself? */
static bool is_covered(const struct lookup *held, const char *path)
{
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/'))
        if (lookup_find(held, path, (size_t)(slash - path)) != LOOKUP_NONE)
            return true;
    return false;
}

/* Outermost first: what lies in something held needs nothing of its own. */
int hiding_hold(struct hiding *hiding)
{
    struct resolved *resolved = hiding->resolving->resolved;
    int r = hide_around_all(hiding);
    struct lookup held = {0};

    if (resolved->hidden_count > 1)
        qsort(resolved->hidden, resolved->hidden_count, sizeof(*resolved->hidden), compare_hidden);
    for (size_t i = 0; i < resolved->hidden_count && r == 0; i++) {
        struct hidden *hidden = &resolved->hidden[i];

        if (!is_covered(&held, hidden->path))
            r = hold(hiding, hidden);
        if (r == 0 && !hidden->held && lookup_add(&held, hidden->path, strlen(hidden->path), i) < 0)
            r = error_no_memory(hiding->resolving->error);
    }
    lookup_free(&held);
    return r;
}

/* --- for backends that mount ---------------------------------------------------------------------------- */

/* One more descriptor, which the chain gets. Takes FD over. Return: 0 or a negative errno with the error set.
 */
static int keep_object(struct resolving *resolving, int fd, const char *path, const struct stat *st,
                       size_t *ret)
{
    struct opened opened = {.fd = fd, .path = strdup(path), .st = *st};
    int r = opened.path ? resolving_add(resolving, &opened, GRANT_NONE, false, true, ret)
                        : error_no_memory(resolving->error);

    *ret += r == 0; /* 0 means none */
    opened_free(&opened);
    return r;
}

static int keep_parent(struct resolving *resolving, struct hidden_parent *parent)
{
    const struct stat st = {.st_mode = S_IFDIR, .st_dev = parent->device, .st_ino = parent->inode};
    int fd = fd_copy(parent->fd, 3);

    if (fd < 0)
        return path_failed(resolving->error, "the hidden paths", parent->path, errno);
    return keep_object(resolving, fd, parent->path, &st, &parent->kept);
}

static int keep_objects(struct resolving *resolving, struct hidden *list, size_t count)
{
    int r = 0;

    for (size_t i = 0; i < count && r == 0; i++) {
        struct hidden *hidden = &list[i];
        const struct stat st = {.st_mode = hidden->type, .st_dev = hidden->device, .st_ino = hidden->inode};
        struct hidden_parent *parent = &resolving->resolved->parents[hidden->parent];

        if (hidden->fd < 0)
            continue;
        r = keep_object(resolving, steal_fd(&hidden->fd), hidden->path, &st, &hidden->object);
        if (r == 0 && parent->kept == 0)
            r = keep_parent(resolving, parent);
        hidden->directory = parent->kept;
    }
    return r;
}

int resolve_hidden_objects(struct resolving *resolving)
{
    struct resolved *resolved = resolving->resolved;
    int r = keep_objects(resolving, resolved->hidden, resolved->hidden_count);

    return r == 0 ? keep_objects(resolving, resolved->around, resolved->around_count) : r;
}
