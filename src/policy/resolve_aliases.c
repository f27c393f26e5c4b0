/*
 * resolve_aliases.c - other mounts by which a hidden or a protected object is seen: a bind mount, or a file
 * system that is mounted twice.
 *
 * A path in a file system is the root of the mount and what comes behind the
 * mount point. So where another mount of the same file system shows that path
 * is known without a search. Device and inode decide whether it is the object.
 *
 * Should:  cost no more than counting where no file system is mounted twice.
 * Mustn't: take an object for hidden because one of its names is.
 */
#include "policy/resolve_hiding.h"

/* What of @path comes behind @above, which contains it: empty, or with its slash. */
static const char *path_behind(const char *above, const char *path)
{
    return path + (above[1] ? strlen(above) : strcmp(path, "/") == 0);
}

/* BEHIND, which is empty or begins with a slash, below @above. NULL: out of memory. */
static char *path_join(const char *above, const char *behind)
{
    char *path;

    if (asprintf(&path, "%s%s", above[1] || !*behind ? above : "", behind) < 0)
        return NULL;
    return path;
}

bool aliases_possible(struct mount_table *mounts, dev_t device, int at, const char *name, const char *path)
{
    const struct mount_row *mount;
    size_t count = 0;

    for (size_t i = 0; i < mounts->repeated_count; i++)
        if (mounts->repeated[i].device == device)
            return mounts->repeated[i].more;
    mount = mounts_find(mounts, at, name, path);
    if (!mount)
        return false;
    for (size_t i = 0; i < mounts->count; i++)
        count += mounts->rows[i].device == mount->device;
    if (mounts->repeated_count < REPEATED_MOST) {
        mounts->repeated[mounts->repeated_count].device = device;
        mounts->repeated[mounts->repeated_count++].more = count > 1;
    }
    return count > 1;
}

/* Hides what @path leads to, if it is the object of hidden[INDEX], or with @mount a part of it that is
 * mounted there. Return: 0 or a negative errno with the error set. */
static int hide_alias(struct hiding *hiding, size_t index, const char *path, const struct mount_row *mount)
{
    struct resolving *resolving = hiding->resolving;
    struct resolved *resolved = resolving->resolved;
    struct hidden original = resolved->hidden[index]; /* the array grows */
    struct asked asked = {
        .by = "hide", .value = path, .named = original.named, .optional = original.optional};
    _cleanup_opened_ struct opened opened = {.fd = -1};
    size_t before = resolved->hidden_count;
    int r;

    if (strcmp(path, "/") == 0 || path_contains(original.path, path))
        return 0;
    r = path_open(path, &opened);
    if (r < 0) /* covered by another mount, or out of the caller's reach */
        return r == -ENOMEM ? error_no_memory(resolving->error) : 0;
    if (mount ? mounts_find(&resolving->mounts, opened.fd, "", path) != mount
              : opened.st.st_dev != original.device || opened.st.st_ino != original.inode)
        return 0;
    r = hide_object(hiding, &asked, &opened, original.source);
    if (resolved->hidden_count > before) {
        resolved->hidden[before].alias = true;
        resolved->hidden[index].shared |=
            granted_readable(resolved, original.path, NULL) || granted_readable(resolved, path, NULL);
    }
    return r;
}

int aliases_each(const struct mount_table *mounts, int at, const char *name, const char *full,
                 int (*visit)(const char *path, const struct mount_row *part, void *data), void *data)
{
    struct mount_row *own = mounts_find(mounts, at, name, full);
    _cleanup_free_ char *inner = NULL;
    int r = own ? mounts_name(mounts, own) : -ENOENT;

    if (r < 0 || !path_contains(own->point, full))
        return r == -ENOENT ? 0 : r;
    inner = path_join(own->root, path_behind(own->point, full));
    if (!inner)
        return -ENOMEM;
    for (size_t i = 0; i < mounts->count && r == 0; i++) {
        struct mount_row *other = &mounts->rows[i];
        _cleanup_free_ char *path = NULL;
        bool part;

        if (other == own || other->device != own->device)
            continue;
        r = mounts_name(mounts, other);
        if (r < 0) {
            r = r == -ENOENT ? 0 : r;
            continue;
        }
        part = !path_contains(other->root, inner);
        if (other->point[0] != '/' || (part && !path_contains(inner, other->root)))
            continue;
        path = path_join(other->point, part ? "" : path_behind(other->root, inner));
        r = path ? visit(path, part ? other : NULL, data) : -ENOMEM;
    }
    return r;
}

struct hidden_alias {
    struct hiding *hiding;
    size_t index;
};

static int visit_hidden(const char *path, const struct mount_row *part, void *data)
{
    const struct hidden_alias *alias = data;

    return hide_alias(alias->hiding, alias->index, path, part);
}

/* Return: 0, or a negative errno, without the error where the table is to be read again. */
static int find_aliases(struct hiding *hiding, size_t index)
{
    const struct hidden *hidden = &hiding->resolving->resolved->hidden[index];
    struct hidden_alias alias = {hiding, index};
    _cleanup_free_ char *path = strdup(hidden->path); /* the array grows */

    return path ? aliases_each(&hiding->resolving->mounts, hidden->parent_fd, hidden->name, path,
                               visit_hidden, &alias)
                : -ENOMEM;
}

/* Is nothing mounted below the directory that a named path is in? Then a view can show the directory anew,
 * without the name. */
static int look_beside(struct hiding *hiding, const struct hidden_parent *parent, struct way *way)
{
    const struct mount_table *mounts = &hiding->resolving->mounts;
    const struct mount_row *own = mounts_find(mounts, parent->fd, "", parent->path);
    bool plain;

    plain = own != NULL;
    for (size_t i = 0; i < mounts->count && plain; i++) {
        struct mount_row *row = &mounts->rows[i];
        int r = row->above == own->id && row != own ? mounts_name(mounts, row) : -ENOENT;

        if (r < 0 && r != -ENOENT)
            return r;
        plain = r == -ENOENT || !path_contains(parent->path, row->point);
    }
    way->plain = plain;
    way->beside = true;
    return 0;
}

static int note_beside(struct hiding *hiding, struct hidden *hidden)
{
    struct way *way = &hiding->ways[hidden->parent];
    int r = way->beside ? 0 : look_beside(hiding, &hiding->resolving->resolved->parents[hidden->parent], way);

    hidden->plain_parent = way->plain;
    return r;
}

static int look_at_all(void *data)
{
    struct hiding *hiding = data;
    struct resolved *resolved = hiding->resolving->resolved;
    struct mount_table *mounts = &hiding->resolving->mounts;
    size_t count = resolved->hidden_count; /* what is added has been found by its object */
    int r = 0;

    for (size_t i = 0; i < count && r == 0; i++) {
        const struct hidden *hidden = &resolved->hidden[i];
        size_t before = resolved->hidden_count;

        if (aliases_possible(mounts, hidden->device, hidden->parent_fd, hidden->name, hidden->path))
            r = find_aliases(hiding, i);
        for (size_t k = before; k < resolved->hidden_count; k++)
            resolved->hidden[k].shared = resolved->hidden[i].shared;
    }
    for (size_t i = 0; i < resolved->hidden_count && r == 0; i++)
        if (resolved->hidden[i].named)
            r = note_beside(hiding, &resolved->hidden[i]);
    return r;
}

int aliases_look(struct resolving *resolving, int (*look)(void *data), void *data, const char *what)
{
    int r = mounts_look(&resolving->mounts);

    if (r == 0)
        r = look(data);
    if (r < 0 && r != -ENOMEM && resolving->error->code == ERROR_NONE && !resolving->mounts.text) {
        mounts_from_text(&resolving->mounts);
        r = resolving->mounts.failed == 0 ? look(data) : resolving->mounts.failed;
    }
    if (r == -ENOMEM)
        return error_no_memory(resolving->error);
    if (r < 0 && resolving->error->code == ERROR_NONE) /* nothing is known */
        r = strings_addf(&resolving->resolved->warnings,
                         "mounts-unknown: what is mounted where cannot be seen (%s): %s by another mount",
                         strerror(-r), what) < 0
                ? error_no_memory(resolving->error)
                : 0;
    return r;
}

int hiding_aliases(struct hiding *hiding)
{
    struct resolving *resolving = hiding->resolving;

    if (resolving->resolved->hidden_count == 0)
        return 0;
    return aliases_look(resolving, look_at_all, hiding, "a hidden path may be readable");
}
