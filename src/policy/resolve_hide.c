/*
 * resolve_hide.c - which objects are hidden, and what hide-run needs to hold them.
 *
 * A Landlock layer takes READ_FILE from everything and grants it again to the
 * siblings of what is hidden, on every level from the root down. So a level is
 * a directory and the one name in it that leads to something hidden.
 *
 * Should:  say of each object that stays readable why it cannot be held.
 * Mustn't: make a level inside a writable grant (whatever the command creates
 *          there would be unreadable to it), below a hidden object (its
 *          siblings would be granted again), or of a directory that the command
 *          cannot list.
 */
#include "policy/resolve_internal.h"

#include <fcntl.h>
#include <unistd.h>

#define SIBLINGS_MAX     512
#define HOME_ENTRIES_MAX 2000

/* A directory above something hidden, looked at once. */
struct above {
    int fd; /* O_PATH; -1 once a level has taken it */
    char *path;
    struct stat st;
    size_t siblings; /* SIZE_MAX: cannot be listed */
    size_t level;    /* index into levels, SIZE_MAX: none */
};

/* What is in a home, listed once: a set names far more than there is. */
struct listing {
    char *home;
    struct strings names; /* sorted */
    bool complete;        /* else nothing is known, and every name has to be tried */
};

struct hiding {
    struct resolving *resolving;
    struct listing homes[4];
    size_t home_count;
    struct above *above;
    size_t above_count;
    struct strings shown;
};

static bool is_other_user(const struct hiding *hiding)
{
    return hiding->resolving->resolved->switch_user;
}

/* Do the mode bits let the command's user do one of BITS (of the `other` digit)? The owner could give itself
 * the right; its groups are not known, so the group's bits count. */
static bool may(const struct hiding *hiding, const struct stat *st, mode_t bits)
{
    uid_t uid = hiding->resolving->resolved->uid;

    return uid == 0 || st->st_uid == uid || (st->st_mode & (bits | bits << 3));
}

static int count_name(const char *name, void *data)
{
    size_t *count = data;

    (void)name;
    return ++*count > SIBLINGS_MAX ? 1 : 0;
}

static size_t count_siblings(const struct hiding *hiding, const struct above *above)
{
    size_t count = 0;

    if (is_other_user(hiding) && !may(hiding, &above->st, S_IROTH))
        return SIZE_MAX;
    return directory_names(above->fd, count_name, &count) < 0 ? SIZE_MAX : count;
}

/* The directory PATH, opened and counted once. Return: its index, or a negative errno with the error set. */
static int look_above(struct hiding *hiding, const char *path)
{
    struct above above = {.level = SIZE_MAX};
    struct opened opened;
    int r;

    for (size_t i = 0; i < hiding->above_count; i++)
        if (strcmp(hiding->above[i].path, path) == 0)
            return (int)i;
    r = path_open(path, &opened);
    if (r < 0)
        return error_set(hiding->resolving->error, ERROR_POLICY_INVALID, -r, "path-changed",
                         "the hidden paths: %s: %s", QUOTE(path), strerror(-r));
    above.fd = steal_fd(&opened.fd);
    above.path = steal_pointer(&opened.path);
    above.st = opened.st;
    opened_free(&opened);
    if (!array_more(&hiding->above, hiding->above_count, sizeof(above))) {
        fd_close(above.fd);
        free(above.path);
        return error_no_memory(hiding->resolving->error);
    }
    above.siblings = count_siblings(hiding, &above);
    hiding->above[hiding->above_count] = above;
    return (int)hiding->above_count++;
}

/* Calls @visit for every directory above PATH, from the root down, with the name in it that leads on. */
static int each_above(struct hiding *hiding, const char *path,
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

/* --- which objects ------------------------------------------------------------------------------------- */

static int note_reach(struct hiding *hiding, size_t above, const char *name, void *data)
{
    bool *reaches = data;

    (void)name;
    *reaches = *reaches && may(hiding, &hiding->above[above].st, S_IXOTH);
    return 0;
}

/* Can the command's user read the object at all, as far as modes tell? */
static int is_readable(struct hiding *hiding, const struct opened *opened, bool *ret)
{
    *ret = may(hiding, &opened->st, S_IROTH | (S_ISDIR(opened->st.st_mode) ? S_IXOTH : 0));
    if (!*ret || !is_other_user(hiding))
        return 0; /* the caller's own way there was just gone */
    return each_above(hiding, opened->path, note_reach, ret);
}

/* A set yields to every path to show that contains what it names. Between paths that are written down the
 * deepest wins, whatever the order; at the same path it is shown. */
static bool is_shown(const struct hiding *hiding, const char *path, const struct set_item *item)
{
    for (size_t i = 0; i < hiding->shown.count && item; i++)
        if (path_contains(hiding->shown.items[i], path))
            return true;
    return strings_have(&hiding->shown, path) || strings_have(&hiding->resolving->read_named, path);
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

static int add_hidden(struct hiding *hiding, const struct opened *opened, const struct asked *asked,
                      struct source source)
{
    struct resolved *resolved = hiding->resolving->resolved;
    struct hidden hidden = {.parent_fd = -1,
                            .type = opened->st.st_mode & S_IFMT,
                            .named = asked->named && !asked->optional,
                            .optional = asked->optional,
                            .source = source};
    _cleanup_free_ char *parent = NULL;
    const char *name;
    int r = path_parent(opened->path, &parent, &name);

    if (r == -EINVAL)
        return error_set(hiding->resolving->error, ERROR_POLICY_INVALID, 0, "hide-too-wide",
                         "--hide /: nothing would be left");
    if (r == 0 && !array_more(&resolved->hidden, resolved->hidden_count, sizeof(hidden)))
        r = -ENOMEM;
    if (r == 0) {
        hidden.parent_fd = open(parent, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        hidden.path = strdup(opened->path);
        hidden.name = strdup(name);
        r = hidden.path && hidden.name ? 0 : -ENOMEM;
        hidden.readable = hidden.parent_fd >= 0 && faccessat(hidden.parent_fd, name, R_OK, AT_EACCESS) == 0;
        if (r == 0)
            r = find_sample(&hidden);
        resolved->hidden[resolved->hidden_count++] = hidden; /* owned from here on */
        /* What is held is this name: Landlock knows the way to an object, not the object. */
        if (r == 0 && S_ISREG(opened->st.st_mode) && opened->st.st_nlink > 1)
            r = strings_addf(&resolved->warnings,
                             "hidden-hard-link: %s has other names (hard links), which are not hidden",
                             QUOTE(opened->path));
    }
    return r < 0 ? error_no_memory(hiding->resolving->error) : 0;
}

static int hide_object(struct hiding *hiding, const struct asked *asked, const struct opened *opened,
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
            r = strings_add(&hiding->shown, opened.path) < 0
                    ? error_no_memory(resolving->error)
                    : resolving_note_links(resolving, &asked, &opened);
            if (r == 0)
                r = resolving_except(resolving, opened.path, source_of(LIST_SHOW, i, NULL));
        }
        strings_free(&names);
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

static int add_level(struct hiding *hiding, size_t at, const char *name, void *data)
{
    struct resolving *resolving = hiding->resolving;
    struct resolved *resolved = resolving->resolved;
    struct above *above = &hiding->above[at];
    struct strings *except;

    (void)data;
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
    if (!strings_have(except, name) && strings_add(except, name) < 0)
        return error_no_memory(resolving->error);
    return 0;
}

/* Is something granted in HIDDEN, so that hiding it would take the grant away? */
static bool holds_grant(const struct resolving *resolving, const struct hiding *hiding, const char *path)
{
    const struct resolved *resolved = resolving->resolved;

    for (size_t i = 0; i < resolved->path_count; i++)
        if (resolved->paths[i].grant != GRANT_NONE && path_contains(path, resolved->paths[i].path))
            return true;
    for (size_t i = 0; i < resolving->read_named.count; i++)
        if (path_contains(path, resolving->read_named.items[i]))
            return true;
    for (size_t i = 0; i < hiding->shown.count; i++)
        if (path_contains(path, hiding->shown.items[i]))
            return true;
    return false;
}

static bool is_granted(const struct resolved *resolved, const char *path)
{
    for (size_t i = 0; i < resolved->path_count; i++)
        if ((resolved->paths[i].grant == GRANT_READ || resolved->paths[i].grant == GRANT_WRITE) &&
            path_contains(resolved->paths[i].path, path))
            return true;
    return false;
}

static int find_hold(struct hiding *hiding, struct hidden *hidden)
{
    const struct resolved *resolved = hiding->resolving->resolved;
    int r;

    if (holds_grant(hiding->resolving, hiding, hidden->path))
        hidden->held = "contains-grant";
    else if (resolved_under_writable(resolved, hidden->path))
        hidden->held = "inside-writable";
    if (hidden->held || !is_granted(resolved, hidden->path))
        return 0;
    r = each_above(hiding, hidden->path, note_trouble, &hidden->held);
    if (r < 0 || hidden->held)
        return r;
    return each_above(hiding, hidden->path, add_level, NULL);
}

/* What may stay unhidden is noted when it does. */
static int hold(struct hiding *hiding, struct hidden *hidden)
{
    int r = find_hold(hiding, hidden);

    if (r == 0 && hidden->held && hidden->optional &&
        resolved_skip(hiding->resolving->resolved, "--hide", hidden->path, hidden->held) < 0)
        r = error_no_memory(hiding->resolving->error);
    return r;
}

static int compare_hidden(const void *left, const void *right)
{
    const struct hidden *a = left, *b = right;

    return strcmp(a->path, b->path);
}

/* Outermost first: what lies in something held needs nothing of its own. */
static int hold_all(struct hiding *hiding)
{
    struct resolved *resolved = hiding->resolving->resolved;
    int r = 0;

    if (resolved->hidden_count > 1)
        qsort(resolved->hidden, resolved->hidden_count, sizeof(*resolved->hidden), compare_hidden);
    for (size_t i = 0; i < resolved->hidden_count && r == 0; i++) {
        struct hidden *hidden = &resolved->hidden[i];
        bool covered = false;

        for (size_t j = 0; j < i && !covered; j++)
            covered = !resolved->hidden[j].held && path_contains(resolved->hidden[j].path, hidden->path);
        if (!covered)
            r = hold(hiding, hidden);
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
        r = hold_all(&hiding);
    for (size_t i = 0; i < hiding.above_count; i++) {
        fd_close(hiding.above[i].fd);
        free(hiding.above[i].path);
    }
    free(hiding.above);
    for (size_t i = 0; i < hiding.home_count; i++) {
        free(hiding.homes[i].home);
        strings_free(&hiding.homes[i].names);
    }
    strings_free(&hiding.shown);
    return r;
}
