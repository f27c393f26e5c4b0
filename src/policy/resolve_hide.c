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

#define HOME_ENTRIES_MAX 2000

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

/* The directory in which OPENED is, and its name there: the same object. Return: 0 or a negative errno with
 * the error set. */
static int open_parent(struct hiding *hiding, const struct opened *opened, struct hidden *hidden)
{
    struct error *error = hiding->resolving->error;
    _cleanup_opened_ struct opened above = {.fd = -1};
    _cleanup_free_ char *parent = NULL;
    const char *name;
    struct stat st;
    int r = path_parent(opened->path, &parent, &name);

    if (r == -EINVAL)
        return error_set(error, ERROR_POLICY_INVALID, 0, "hide-too-wide", "--hide /: nothing would be left");
    if (r == 0)
        r = path_open(parent, &above);
    if (r == 0 && (fstatat(above.fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || st.st_dev != opened->st.st_dev ||
                   st.st_ino != opened->st.st_ino))
        r = -ESTALE;
    if (r == -ENOMEM)
        return error_no_memory(error);
    if (r < 0) {
        error_set(error, ERROR_POLICY_INVALID, -r, "path-changed", "the hidden paths: %s: %s",
                  QUOTE(opened->path), r == -ESTALE ? "it changed while it was looked at" : strerror(-r));
        return error_hint(error, "somebody is changing this path: end that first");
    }
    hidden->parent_fd = steal_fd(&above.fd);
    hidden->name = strdup(name);
    return hidden->name ? 0 : error_no_memory(error);
}

static int add_hidden(struct hiding *hiding, const struct opened *opened, const struct asked *asked,
                      struct source source)
{
    struct resolved *resolved = hiding->resolving->resolved;
    struct hidden hidden = {.parent_fd = -1,
                            .type = opened->st.st_mode & S_IFMT,
                            .device = opened->st.st_dev,
                            .inode = opened->st.st_ino,
                            .named = asked->named && !asked->optional,
                            .optional = asked->optional,
                            .source = source};
    int r;

    if (!array_more(&resolved->hidden, resolved->hidden_count, sizeof(hidden)))
        return error_no_memory(hiding->resolving->error);
    r = open_parent(hiding, opened, &hidden);
    if (r < 0) {
        fd_close(hidden.parent_fd);
        return r;
    }
    hidden.path = strdup(opened->path);
    hidden.readable = faccessat(hidden.parent_fd, hidden.name, R_OK, AT_EACCESS) == 0;
    r = hidden.path ? find_sample(&hidden) : -ENOMEM;
    resolved->hidden[resolved->hidden_count++] = hidden; /* owned from here on */
    /* What is held is this name: Landlock knows the way to an object, not the object. */
    if (r == 0 && S_ISREG(opened->st.st_mode) && opened->st.st_nlink > 1)
        r = strings_addf(&resolved->warnings,
                         "hidden-hard-link: %s has other names (hard links), which are not hidden",
                         QUOTE(opened->path));
    return r < 0 ? error_no_memory(hiding->resolving->error) : 0;
}

int hide_object(struct hiding *hiding, const struct asked *asked, const struct opened *opened,
                struct source source)
{
    struct resolved *resolved = hiding->resolving->resolved;
    bool readable;
    int r;

    if (is_shown(hiding, opened->path, source.item))
        return 0;
    for (size_t i = 0; i < resolved->hidden_count; i++)
        if (strcmp(resolved->hidden[i].path, opened->path) == 0) {
            if (!resolved->hidden[i].named)
                resolved->hidden[i].source = source;
            resolved->hidden[i].named |= asked->named && !asked->optional;
            return 0;
        }
    r = is_readable(hiding, opened, &readable);
    if (r < 0 || (!readable && (source.item || !asked->named)))
        return r;
    return add_hidden(hiding, opened, asked, source);
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static int take_name(const char *name, void *data)
{
    struct strings *names = data;

    return names->count >= HOME_ENTRIES_MAX ? 1 : strings_add(names, name);
}

/* Lists HOME into @listing. One that cannot be listed, or is very large, stays incomplete. */
static int list_home(struct listing *listing, const char *home)
{
    _cleanup_fd_ int fd = open(home, O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool missing = fd < 0 && (errno == ENOENT || errno == ENOTDIR);
    /* What may not be entered holds nothing within the caller's reach. */
    bool closed = fd >= 0 && faccessat(fd, ".", X_OK, AT_EACCESS) != 0;
    int r = fd < 0 || closed ? 1 : directory_names(fd, take_name, &listing->names);

    listing->home = strdup(home);
    listing->complete = missing || closed || r == 0;
    if (listing->names.count > 1)
        qsort(listing->names.items, listing->names.count, sizeof(char *), compare_names);
    return r == -ENOMEM || !listing->home ? -ENOMEM : 0;
}

static int list_homes(struct hiding *hiding)
{
    struct strings homes = {0};
    int r = resolving_expand(hiding->resolving, "~", &homes);

    for (size_t i = 0; i < homes.count && i < ARRAY_SIZE(hiding->homes) && r == 0; i++)
        if (list_home(&hiding->homes[hiding->home_count++], homes.items[i]) < 0)
            r = error_no_memory(hiding->resolving->error);
    strings_free(&homes);
    return r;
}

/* `~/…` below every home, where its first component is there. */
static int expand_listed(struct hiding *hiding, const char *item, struct strings *names)
{
    for (size_t i = 0; i < hiding->home_count; i++) {
        const struct listing *listing = &hiding->homes[i];
        char first[256] = "", *key = first;
        size_t length = strcspn(item + 2, "/");

        memcpy(first, item + 2, length < sizeof(first) ? length : 0);
        if (listing->complete &&
            (listing->names.count == 0 ||
             !bsearch(&key, listing->names.items, listing->names.count, sizeof(char *), compare_names)))
            continue;
        if (strings_add_joined(names, listing->home, strlen(listing->home), item + 1) < 0)
            return error_no_memory(hiding->resolving->error);
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

static int hide_set(struct hiding *hiding, const struct asked *asked, const struct set *set,
                    struct source source)
{
    struct resolving *resolving = hiding->resolving;
    int r = hiding->home_count > 0 ? 0 : list_homes(hiding);

    for (const struct set_item *item = set->items; item->value && r == 0; item++) {
        struct strings names = {0};

        source.item = item;
        if (strncmp(item->value, "~/", 2) == 0)
            r = expand_listed(hiding, item->value, &names);
        else if (!item->root_only || resolving->resolved->uid == 0)
            r = resolving_expand(resolving, item->value, &names);
        if (r == 0)
            r = hide_names(hiding, asked, &names, source);
        strings_free(&names);
    }
    return r;
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
    int r = find_shown(&hiding);

    for (size_t i = 0; i < entries->count && r == 0; i++)
        if (entry_in_force(entries, i))
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
    for (size_t i = 0; i < hiding.home_count; i++) {
        free(hiding.homes[i].home);
        strings_free(&hiding.homes[i].names);
    }
    free(hiding.around);
    return r;
}
