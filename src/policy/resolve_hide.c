/*
 * resolve_hide.c - which objects are hidden.
 *
 * Should:  look at what exists, once; a set names far more than there is.
 * Mustn't: hide what was shown by its name, or by a path that contains what a
 *          set names.
 */
#include "policy/resolve_hiding.h"

#include <fcntl.h>
#include <unistd.h>

/* Do the mode bits let the command's user do one of BITS (of the `other` digit)? The owner could give itself
 * the right; its groups are not known, so the group's bits count. */
bool hiding_may(const struct hiding *hiding, const struct stat *st, mode_t bits)
{
    uid_t uid = hiding->resolving->resolved->uid;

    return uid == 0 || st->st_uid == uid || (st->st_mode & (bits | bits << 3));
}

static int note_reach(struct hiding *hiding, size_t above, const char *name, void *data)
{
    bool *reaches = data;

    (void)name;
    *reaches = *reaches && hiding_may(hiding, &hiding->above[above].st, S_IXOTH);
    return 0;
}

/* Can the command's user read the object at all, as far as modes tell? */
static int is_readable(struct hiding *hiding, const struct opened *opened, bool *ret)
{
    *ret = hiding_may(hiding, &opened->st, S_IROTH | (S_ISDIR(opened->st.st_mode) ? S_IXOTH : 0));
    if (!*ret || !hiding->resolving->resolved->switch_user)
        return 0; /* the caller's own way there was just gone */
    return hiding_each_above(hiding, opened->path, note_reach, ret);
}

/* A set yields to every path to show that contains what it names. Between paths that are written down the
 * deepest wins, whatever the order; at the same path it is shown. */
static bool is_shown(const struct hiding *hiding, const char *path, const struct set_item *item)
{
    for (size_t i = 0; i < hiding->resolving->resolved->shown.count && item; i++)
        if (path_contains(hiding->resolving->resolved->shown.items[i], path))
            return true;
    return strings_have(&hiding->resolving->resolved->shown, path) ||
           strings_have(&hiding->resolving->read_named, path);
}

/* Looking for a file in a hidden directory, so that the directory can be tried at all. */
struct sampling {
    int directory;
    const char *name; /* of the directory */
    char *found;
};

static int try_sample(const char *name, void *data)
{
    struct sampling *sampling = data;
    struct stat st;

    if (fstatat(sampling->directory, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode) ||
        faccessat(sampling->directory, name, R_OK, AT_EACCESS) != 0)
        return 0;
    return asprintf(&sampling->found, "%s/%s", sampling->name, name) < 0 ? -ENOMEM : 1;
}

/* The file that stands for the object in the check. Return: 0 (also when there is none) or -ENOMEM. */
static int find_sample(struct hidden *hidden)
{
    struct sampling sampling = {.name = hidden->name};
    _cleanup_fd_ int directory = -1;
    int r;

    if (!hidden->readable || (!S_ISREG(hidden->type) && !S_ISDIR(hidden->type)))
        return 0;
    if (S_ISREG(hidden->type)) {
        hidden->sample = strdup(hidden->name);
        return hidden->sample ? 0 : -ENOMEM;
    }
    directory = openat(hidden->parent_fd, hidden->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0)
        return 0;
    sampling.directory = directory;
    r = directory_names(directory, try_sample, &sampling);
    hidden->sample = sampling.found;
    return r == -ENOMEM ? r : 0;
}

/* The directory of which PATH holds the name in its first LENGTH bytes, and which was not looked at yet.
 * Return: 0 or -errno, -ESTALE where the name leads elsewhere. */
static int add_parent(struct hiding *hiding, const char *path, size_t length, size_t *ret)
{
    struct resolved *resolved = hiding->resolving->resolved;
    _cleanup_free_ char *name = strndup(path, length);
    _cleanup_opened_ struct opened opened = {.fd = -1};
    struct hidden_parent parent;
    size_t index = resolved->parent_count;
    int r = name ? path_open(name, &opened) : -ENOMEM;

    if (r < 0)
        return r;
    if (strcmp(name, opened.path) != 0)
        return -ESTALE;
    if (!array_more(&resolved->parents, index, sizeof(parent)) ||
        !array_more(&hiding->ways, index, sizeof(*hiding->ways)) ||
        lookup_add(&hiding->by_parent, opened.path, length, index) < 0)
        return -ENOMEM;
    parent = (struct hidden_parent){.fd = steal_fd(&opened.fd),
                                    .path = steal_pointer(&opened.path),
                                    .device = opened.st.st_dev,
                                    .inode = opened.st.st_ino};
    resolved->parents[resolved->parent_count++] = parent;
    hiding->ways[index] = (struct way){0};
    *ret = index;
    return 0;
}

/* The directory in which OPENED is, and its name there: the same object, which needs no look where it was
 * opened FROM_PARENT. Return: 0 or a negative errno with the error set. */
static int find_parent(struct hiding *hiding, const struct opened *opened, bool from_parent,
                       struct hidden *hidden)
{
    const char *path = opened->path, *slash = strrchr(path, '/');
    struct error *error = hiding->resolving->error;
    size_t length = slash == path ? 1 : (size_t)(slash - path);
    struct stat st;
    int r = 0;

    if (!slash[1]) {
        error_set(error, ERROR_POLICY_INVALID, 0, "hide-too-wide", "--hide /: nothing would be left");
        return error_hint(error, "--readable listed hides all that is not the system's or named with --read");
    }
    hidden->parent = lookup_find(&hiding->by_parent, path, length);
    if (hidden->parent == LOOKUP_NONE)
        r = add_parent(hiding, path, length, &hidden->parent);
    if (r == 0) {
        hidden->parent_fd = hiding->resolving->resolved->parents[hidden->parent].fd;
        if (!from_parent && (fstatat(hidden->parent_fd, slash + 1, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
                             !stat_same(&st, &opened->st)))
            r = -ESTALE;
    }
    if (r == -ENOMEM)
        return error_no_memory(error);
    if (r < 0)
        return path_failed(error, "the hidden paths", path, -r);
    hidden->name = slash + 1;
    return 0;
}

/* Is there a backend that is to get the object itself? */
static bool keeps_objects(const struct resolving *resolving)
{
    const char *backend = resolving->policy->backend;

    return !backend || strcmp(backend, "landlock") != 0;
}

static int add_hidden(struct hiding *hiding, struct opened *opened, bool from_parent,
                      const struct asked *asked, struct source source)
{
    struct resolved *resolved = hiding->resolving->resolved;
    struct hidden hidden = {.fd = -1,
                            .parent_fd = -1,
                            .type = opened->st.st_mode & S_IFMT,
                            .device = opened->st.st_dev,
                            .inode = opened->st.st_ino,
                            .named = asked->named && !asked->optional,
                            .optional = asked->optional,
                            .source = source};
    size_t index = resolved->hidden_count;
    int r;

    if (!array_more(&resolved->hidden, index, sizeof(hidden)))
        return error_no_memory(hiding->resolving->error);
    r = find_parent(hiding, opened, from_parent, &hidden);
    if (r < 0)
        return r;
    if (lookup_add(&hiding->by_path, opened->path, strlen(opened->path), index) < 0)
        return error_no_memory(hiding->resolving->error);
    hidden.path = steal_pointer(&opened->path);
    if (keeps_objects(hiding->resolving))
        hidden.fd = steal_fd(&opened->fd);
    hidden.readable = faccessat(hidden.parent_fd, hidden.name, R_OK, AT_EACCESS) == 0;
    r = find_sample(&hidden);
    resolved->hidden[resolved->hidden_count++] = hidden; /* owned from here on */
    /* What is held is this name: Landlock knows the way to an object, not the object. */
    if (r == 0 && S_ISREG(opened->st.st_mode) && opened->st.st_nlink > 1)
        r = strings_addf(&resolved->warnings,
                         "hidden-hard-link: %s has other names (hard links), which are not hidden",
                         QUOTE(hidden.path));
    return r < 0 ? error_no_memory(hiding->resolving->error) : 0;
}

static int hide_opened(struct hiding *hiding, const struct asked *asked, struct opened *opened,
                       bool from_parent, struct source source)
{
    struct resolved *resolved = hiding->resolving->resolved;
    struct hidden *known;
    bool readable;
    size_t index;
    int r;

    if (is_shown(hiding, opened->path, source.item))
        return 0;
    index = lookup_find(&hiding->by_path, opened->path, strlen(opened->path));
    if (index != LOOKUP_NONE) {
        known = &resolved->hidden[index];
        if (!known->named)
            known->source = source;
        known->named |= asked->named && !asked->optional;
        return 0;
    }
    r = is_readable(hiding, opened, &readable);
    if (r < 0 || (!readable && (source.item || !asked->named)))
        return r;
    return add_hidden(hiding, opened, from_parent, asked, source);
}

int hide_object(struct hiding *hiding, const struct asked *asked, struct opened *opened, struct source source)
{
    return hide_opened(hiding, asked, opened, false, source);
}

int hiding_index(struct hiding *hiding)
{
    const struct resolved *resolved = hiding->resolving->resolved;
    int r = 0;

    lookup_free(&hiding->by_path);
    for (size_t i = 0; i < resolved->hidden_count && r == 0; i++)
        r = lookup_add(&hiding->by_path, resolved->hidden[i].path, strlen(resolved->hidden[i].path), i);
    return r < 0 ? error_no_memory(hiding->resolving->error) : 0;
}

/* `~/…` below every home, where its first component is there. */
static int expand_listed(struct resolving *resolving, const char *item, struct strings *names)
{
    for (size_t i = 0; i < resolving->home_count; i++) {
        const struct listing *home = &resolving->homes[i];

        if (listing_may_have(home, item + 2) &&
            strings_add_joined(names, home->path, strlen(home->path), item + 1) < 0)
            return error_no_memory(resolving->error);
    }
    return 0;
}

/* Every name of one item of a set. */
static int hide_names(struct hiding *hiding, const struct asked *asked, const struct strings *names,
                      struct source source)
{
    int r = 0;

    for (size_t i = 0; i < names->count && r == 0; i++) {
        _cleanup_opened_ struct opened opened = {.fd = -1};

        r = path_open(names->items[i], &opened);
        if (r == -ENOMEM)
            r = error_no_memory(hiding->resolving->error);
        else if (r < 0)
            r = 0; /* not there, or out of the caller's reach */
        else
            r = hide_object(hiding, asked, &opened, source);
    }
    return r;
}

/* A set stands for nothing of a home that nobody knows, and nothing is no answer to who relies on it. */
static int note_no_home(struct resolving *resolving)
{
    static const char text[] = "no-home: /etc/passwd has no home of this user and HOME names none, so "
                               "that credentials there are not hidden (set HOME, or name them: --hide PATH)";
    struct strings *warnings = &resolving->resolved->warnings;

    if (resolving->home_count > 0 || strings_have(warnings, text))
        return 0;
    return strings_add(warnings, text) < 0 ? error_no_memory(resolving->error) : 0;
}

static int hide_set(struct hiding *hiding, const struct asked *asked, const struct set *set,
                    struct source source)
{
    struct resolving *resolving = hiding->resolving;
    int r = resolving_list_homes(resolving);

    if (r == 0)
        r = note_no_home(resolving);
    for (const struct set_item *item = set->items; item->value && r == 0; item++) {
        struct strings names = {0};

        source.item = item;
        if (item->value[0] == '~' && item->value[1] == '/')
            r = expand_listed(resolving, item->value, &names);
        else if (!item->root_only || resolving->resolved->uid == 0)
            r = resolving_expand(resolving, item->value, &names);
        if (r == 0)
            r = hide_names(hiding, asked, &names, source);
        strings_free(&names);
    }
    return r;
}

/* Opens a path from the directory that it is in, where something else in that is hidden already: many are
 * named at once, and a whole name takes twice as long. Return: whether that was done; if not, for whatever
 * reason, the whole name is looked up. */
static bool open_from_parent(struct hiding *hiding, const char *path, struct opened *opened)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : "";
    size_t parent;

    if (path[0] != '/' || slash == path || !*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return false;
    parent = lookup_find(&hiding->by_parent, path, (size_t)(slash - path));
    if (parent == LOOKUP_NONE)
        return false;
    opened->fd = path_open_at(hiding->resolving->resolved->parents[parent].fd, name, O_NOFOLLOW);
    opened->path = strdup(path);
    if (opened->fd >= 0 && opened->path && fstat(opened->fd, &opened->st) == 0 &&
        !S_ISLNK(opened->st.st_mode))
        return true;
    opened_free(opened);
    return false;
}

static int hide_entry(struct hiding *hiding, size_t index)
{
    const struct entry *entry = &hiding->resolving->policy->list[LIST_HIDE].items[index];
    struct source source = source_of(LIST_HIDE, index, NULL);
    struct asked asked = asked_entry(entry, LIST_HIDE);
    _cleanup_opened_ struct opened opened = {.fd = -1};
    const struct set *set = entry->value[0] == '@' ? set_by_name(entry->value) : NULL;
    int r;

    if (set)
        return hide_set(hiding, &asked, set, source);
    if (open_from_parent(hiding, entry->value, &opened))
        return hide_opened(hiding, &asked, &opened, true, source);
    r = resolving_open(hiding->resolving, &asked, entry->base, &opened);
    return r == 0 ? hide_object(hiding, &asked, &opened, source) : r < 0 ? r : 0;
}

static int find_shown(struct hiding *hiding)
{
    const struct entries *entries = &hiding->resolving->policy->list[LIST_SHOW];
    struct resolving *resolving = hiding->resolving;
    int r = 0;

    for (size_t i = 0; i < entries->count && r == 0; i++) {
        const struct entry *entry = &entries->items[i];
        struct asked asked = asked_entry(entry, LIST_SHOW);
        const struct set *set = entry->value[0] == '@' ? set_by_name(entry->value) : NULL;
        struct strings names = {0};
        char *absolute;

        if (!entry_in_force(entries, i))
            continue;
        for (const struct set_item *item = set ? set->items : NULL; item && item->value && r == 0; item++)
            r = resolving_expand(resolving, item->value, &names);
        if (!set) {
            r = resolving_absolute(resolving, &asked, entry->base, &absolute);
            if (r == 0 && strings_add(&names, absolute) < 0)
                r = error_no_memory(resolving->error);
            free(absolute);
        }
        for (size_t j = 0; j < names.count && r == 0; j++) {
            _cleanup_opened_ struct opened opened = {.fd = -1};

            if (path_open(names.items[j], &opened) < 0)
                continue;
            asked.grants = !set;
            r = strings_add(&hiding->resolving->resolved->shown, opened.path) < 0
                    ? error_no_memory(resolving->error)
                    : resolving_note_links(resolving, &asked, &opened);
            if (r == 0)
                r = resolving_except(resolving, opened.path, source_of(LIST_SHOW, i, NULL));
        }
        strings_free(&names);
    }
    return r;
}

int resolve_hidden(struct resolving *resolving)
{
    const struct entries *entries = &resolving->policy->list[LIST_HIDE];
    struct hiding hiding = {.resolving = resolving};
    bool taken_back = false;
    int r = find_shown(&hiding);

    for (size_t i = 0; i < entries->count; i++)
        taken_back |= entries->items[i].remove;
    for (size_t i = 0; i < entries->count && r == 0; i++)
        if (!taken_back || entry_in_force(entries, i)) /* which looks at all the others */
            r = hide_entry(&hiding, i);
    if (r == 0)
        r = resolving_check_links(resolving);
    if (r == 0)
        r = hiding_aliases(&hiding);
    if (r == 0)
        r = hiding_hold(&hiding);
    for (size_t i = 0; i < resolving->read_named.count && r == 0;
         i++) /* last: a set does not yield to them */
        if (strings_add(&resolving->resolved->shown, resolving->read_named.items[i]) < 0)
            r = error_no_memory(resolving->error);
    for (size_t i = 0; i < hiding.above_count; i++) {
        fd_close(hiding.above[i].fd);
        free(hiding.above[i].path);
    }
    free(hiding.above);
    free(hiding.around);
    free(hiding.ways);
    lookup_free(&hiding.by_above);
    lookup_free(&hiding.by_parent);
    lookup_free(&hiding.by_path);
    return r;
}
