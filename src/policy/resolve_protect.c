/*
 * resolve_protect.c - what is read-only inside a writable tree.
 *
 * A set yields to every path that is written down and contains what it names:
 * `--unprotect .vscode` means all of it. Between paths the deepest wins,
 * whatever the order; at the same path `unprotect` does.
 *
 * Should:  find what `.git` stands for where it is a file: the hooks of the
 *          common directory, and the file itself; hold what another mount shows
 *          of it in what is writable.
 * Mustn't: promise a writable hole in a protected tree: no backend can make it.
 */
#include "policy/resolve_internal.h"

#include <errno.h>
#include <unistd.h>

/* Objects that exist, by canonical name, and who named each. */
struct found {
    struct strings paths;
    struct strings names; /* as many: see resolved.protected_names */
    struct source *sources;
};

static void found_free(struct found *found)
{
    strings_free(&found->paths);
    strings_free(&found->names);
    free(found->sources);
}

/* @name: what `--unprotect` has to name, which for what another mount shows is the original */
static int found_add_as(struct resolving *resolving, struct found *found, const char *path, const char *name,
                        struct source source)
{
    if (!array_more(&found->sources, found->paths.count, sizeof(source)) ||
        strings_add(&found->names, name) < 0 || strings_add(&found->paths, path) < 0)
        return error_no_memory(resolving->error);
    found->sources[found->paths.count - 1] = source;
    return 0;
}

/* What no entry asks for no entry takes out. */
static int found_add(struct resolving *resolving, struct found *found, const char *path, struct source source)
{
    return found_add_as(resolving, found, path, source.listed ? path : "", source);
}

/* Can it be written because somebody asked for that? */
static bool is_asked(const struct resolved_path *path)
{
    return path->grant == GRANT_WRITE && !path->implied;
}

/* Is something below a home writable that somebody asked for? Else the `~` items of a set need no look. */
static bool writes_below_home(const struct resolving *resolving)
{
    const struct resolved *resolved = resolving->resolved;
    const char *homes[] = {resolved->home, resolving->env_home, resolving->command_home};

    for (size_t i = 0; i < resolved->path_count; i++)
        for (size_t j = 0; j < ARRAY_SIZE(homes); j++)
            if (is_asked(&resolved->paths[i]) && homes[j] && path_contains(homes[j], resolved->paths[i].path))
                return true;
    return false;
}

/* A cheap look before a name is made and opened: sets name far more than there is. */
static bool may_be_there(const struct resolving *resolving, const char *item, bool below_home)
{
    int workspace = resolving->resolved->workspace_fd;

    if (item[0] == '~')
        return below_home;
    if (strncmp(item, "./", 2) != 0 || (resolving->git_common && strncmp(item, "./.git/", 7) == 0))
        return true;
    return workspace >= 0 && listing_may_have(&resolving->top, item + 2) &&
           faccessat(workspace, item + 2, F_OK, 0) == 0;
}

/* No mount lies on a link: what it leads to is held, and the command can put another thing in its place. Nor
 * does one lie on the other names of a file. */
static int note_weakness(struct resolving *resolving, const struct opened *opened)
{
    struct resolved *resolved = resolving->resolved;
    int r = 0;

    for (size_t i = 0; i < opened->links.count && r == 0; i++) {
        if (!resolved_under_writable(resolved, opened->links.items[i]))
            continue;
        resolved->protected_weak = "symbolic-link";
        r = strings_addf(&resolved->protected_notes,
                         "not-protected: %s is a symbolic link in what is writable, and can be replaced",
                         QUOTE(opened->links.items[i]));
    }
    if (r == 0 && S_ISREG(opened->st.st_mode) && opened->st.st_nlink > 1 &&
        resolved_under_writable(resolved, opened->path)) {
        if (!resolved->protected_weak)
            resolved->protected_weak = "hard-links";
        r = strings_addf(&resolved->protected_notes,
                         "protected-hard-link: %s has other names (hard links), by which it can be changed",
                         QUOTE(opened->path));
    }
    return r < 0 ? error_no_memory(resolving->error) : 0;
}

/* One name of a set: of these only what lies in a writable grant, or with @away what does not. */
static int collect_name(struct resolving *resolving, const char *name, struct source source,
                        struct found *found, bool away)
{
    _cleanup_opened_ struct opened one = {.fd = -1};

    if (path_open(name, &one) < 0)
        return 0;
    if (!away && note_weakness(resolving, &one) < 0)
        return -ENOMEM;
    if (resolved_under_writable(resolving->resolved, one.path) == away)
        return 0;
    return found_add(resolving, found, one.path, source);
}

static int collect_hooks(struct resolving *resolving, struct source source, struct found *found)
{
    static const struct set_item configured = {"core.hooksPath", "hooks that git runs", false};
    _cleanup_free_ char *hooks = NULL;
    int r = git_hooks(resolving, &hooks);

    source.item = &configured;
    return r == 0 && hooks ? collect_name(resolving, hooks, source, found, false) : r;
}

/* @away: what homes have of it where they cannot be written by their own names */
static int collect_set(struct resolving *resolving, const struct set *set, struct source source,
                       struct found *found, bool away)
{
    bool below_home = away || writes_below_home(resolving);
    int r = !away && strcmp(set->name, "@runs-later") == 0 ? collect_hooks(resolving, source, found) : 0;

    if (r == 0 && !resolving->top.complete)
        r = resolving_list_top(resolving);

    for (const struct set_item *item = set->items; item->value && r == 0; item++) {
        struct strings names = {0};

        if (away && item->value[0] != '~')
            continue;
        source.item = item;
        if (may_be_there(resolving, item->value, below_home))
            r = resolving_expand(resolving, item->value, &names);
        for (size_t j = 0; j < names.count && r == 0; j++)
            r = collect_name(resolving, names.items[j], source, found, away);
        strings_free(&names);
    }
    return r;
}

/* Is it worth looking for what merely is the default? Without mounts nothing of it can be held. */
static bool may_hold_default(const struct policy *policy)
{
    return policy->explain || !policy->backend || strcmp(policy->backend, "landlock") != 0;
}

/* The existing objects that one list names; @away: as above, of its sets alone. */
static int collect(struct resolving *resolving, enum list list, struct found *found, bool away)
{
    const struct entries *entries = &resolving->policy->list[list];
    int r = 0;

    for (size_t i = 0; i < entries->count && r >= 0; i++) {
        const struct entry *entry = &entries->items[i];
        struct asked asked = asked_entry(entry, list);
        const struct set *set = entry->value[0] == '@' ? set_by_name(entry->value) : NULL;
        _cleanup_opened_ struct opened opened = {.fd = -1};

        if (!entry_in_force(entries, i) ||
            (!may_hold_default(resolving->policy) && !origin_named(entry->origin)))
            continue;
        if (set || away) {
            r = set ? collect_set(resolving, set, source_of(list, i, NULL), found, away) : 0;
            continue;
        }
        asked.optional |= list == LIST_UNPROTECT;
        r = resolving_open(resolving, &asked, entry->base, &opened);
        if (r == 0 && list == LIST_PROTECT)
            r = note_weakness(resolving, &opened);
        if (r == 0)
            r = found_add(resolving, found, opened.path, source_of(list, i, NULL));
    }
    return r < 0 ? r : 0;
}

/* The rule at the top of this file. */
static bool is_unprotected(const struct found *unprotected, const char *path, const struct source *source)
{
    for (size_t i = 0; i < unprotected->paths.count; i++) {
        const char *other = unprotected->paths.items[i];

        if (strcmp(other, path) == 0 || (source->item && path_contains(other, path)))
            return true;
    }
    return false;
}

/* A writable hole in PATH: refused where PATH was written down; where a set names it, it gives way. Return:
 * 0, 1 when it gives way, or a negative errno with the error set. */
static int look_inside(struct resolving *resolving, const struct found *unprotected, const char *path,
                       const struct source *source)
{
    for (size_t i = 0; i < unprotected->paths.count; i++) {
        const char *hole = unprotected->paths.items[i];
        struct text by = {0};

        if (!path_contains(path, hole) || strcmp(path, hole) == 0 || unprotected->sources[i].item)
            continue;
        if (source->item)
            return strings_addf(&resolving->resolved->warnings,
                                "not-protected: %s, because %s in it is unprotected", QUOTE(path),
                                QUOTE(hole)) < 0
                       ? error_no_memory(resolving->error)
                       : 1;
        resolved_source(resolving->resolved, &unprotected->sources[i], &by);
        error_set(resolving->error, ERROR_POLICY_INVALID, 0, "unprotect-inside",
                  "%s %s: it lies in the protected %s, of which no part can be writable",
                  by.data ? by.data : "unprotect", QUOTE(hole), QUOTE(path));
        text_free(&by);
        return error_hint(resolving->error, "protect what is beside it instead");
    }
    return 0;
}

/* A policy file in force that the command could write is the policy of the next run. */
static int protect_policies(struct resolving *resolving, struct found *kept, struct found *elsewhere)
{
    const struct source source = {.what = "a policy file in force"};
    struct resolved *resolved = resolving->resolved;
    const struct strings *files = &resolving->policy->files;

    for (size_t i = 0; i < files->count; i++) {
        const char *slash = strrchr(files->items[i], '/');

        if (!resolved_under_writable(resolved, files->items[i])) {
            if (found_add(resolving, elsewhere, files->items[i], source) < 0)
                return -ENOMEM;
            continue;
        }
        if (!strings_have(&kept->paths, files->items[i]) &&
            found_add(resolving, kept, files->items[i], source) < 0)
            return -ENOMEM;
        /* The workspace's own can only narrow, and everybody who has one knows where it is. */
        if (strcmp(slash, "/.confine.json") != 0 &&
            strings_addf(&resolved->warnings, "policy-writable: %s lies in what the command may write",
                         QUOTE(files->items[i])) < 0)
            return error_no_memory(resolving->error);
    }
    return 0;
}

/* What other mounts show of one protected path. */
struct shown_twice {
    struct resolving *resolving;
    struct found *kept;
    struct source source;
    const char *original;
    const char *name; /* see found_add_as() */
    struct stat st;
};

/* What is protected is so by the name that another mount gives it in what is writable. */
static int protect_alias(const char *path, const struct mount_row *part, void *data)
{
    const struct shown_twice *shown = data;
    struct resolving *resolving = shown->resolving;
    _cleanup_opened_ struct opened opened = {.fd = -1};
    int r = path_contains(shown->original, path) ? -ENOENT : path_open(path, &opened);

    if (r < 0) /* covered by another mount, or out of the caller's reach */
        return r == -ENOMEM ? error_no_memory(resolving->error) : 0;
    if (part ? mounts_find(&resolving->mounts, opened.fd, "", path) != part
             : !stat_same(&opened.st, &shown->st))
        return 0;
    if (!resolved_under_writable(resolving->resolved, opened.path) ||
        strings_have(&shown->kept->paths, opened.path))
        return 0;
    return found_add_as(resolving, shown->kept, opened.path, shown->name, shown->source);
}

struct protecting {
    struct resolving *resolving;
    const struct found *unprotected;
    struct found *kept;
    struct found *elsewhere; /* is not writable by its own name */
};

/* Is it known that nothing shows what is on the file system of PATH twice, or that it is not there? Then it
 * need not be opened. */
static bool is_mounted_once(const struct mount_table *mounts, const char *path)
{
    struct stat st;

    if (lstat(path, &st) != 0)
        return errno == ENOENT;
    for (size_t i = 0; i < mounts->repeated_count; i++)
        if (mounts->repeated[i].device == st.st_dev)
            return !mounts->repeated[i].more;
    return false;
}

/* @from: what is looked at; of `kept` what is added meanwhile has been found by its object */
static int protect_shown(const struct protecting *protecting, const struct found *from)
{
    struct resolving *resolving = protecting->resolving;
    struct mount_table *mounts = &resolving->mounts;
    size_t count = from->paths.count;
    int r = 0;

    for (size_t i = 0; i < count && r == 0; i++) {
        _cleanup_opened_ struct opened opened = {.fd = -1};
        struct shown_twice shown = {.resolving = resolving,
                                    .kept = protecting->kept,
                                    .source = from->sources[i],
                                    .name = from->names.items[i]};

        if (is_mounted_once(mounts, from->paths.items[i]))
            continue;
        r = path_open(from->paths.items[i], &opened);
        if (r < 0) {
            r = r == -ENOMEM ? error_no_memory(resolving->error) : 0;
            continue;
        }
        shown.st = opened.st;
        shown.original = opened.path;
        if (aliases_possible(mounts, opened.st.st_dev, opened.fd, "", opened.path))
            r = aliases_each(mounts, opened.fd, "", opened.path, protect_alias, &shown);
    }
    return r;
}

/* A home by the name of another mount. Return: 1 where something of it may be written by that. */
static int note_home(const char *path, const struct mount_row *part, void *data)
{
    const struct resolved *resolved = data;

    (void)part;
    for (size_t i = 0; i < resolved->path_count; i++)
        if (is_asked(&resolved->paths[i]) &&
            (path_contains(path, resolved->paths[i].path) || path_contains(resolved->paths[i].path, path)))
            return 1;
    return 0;
}

/* Return: 1 where what is writable may show something of a home; 0; or a negative errno. */
static int shows_home(struct resolving *resolving)
{
    struct mount_table *mounts = &resolving->mounts;
    const char *homes[] = {resolving->resolved->home, resolving->env_home, resolving->command_home};
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(homes) && r == 0; i++) {
        _cleanup_opened_ struct opened opened = {.fd = -1};
        bool seen = !homes[i];

        for (size_t j = 0; j < i && !seen; j++)
            seen = text_same(homes[i], homes[j]);
        if (seen || is_mounted_once(mounts, homes[i]) || path_open(homes[i], &opened) < 0)
            continue;
        if (aliases_possible(mounts, opened.st.st_dev, opened.fd, "", opened.path))
            r = aliases_each(mounts, opened.fd, "", opened.path, note_home, resolving->resolved);
    }
    return r;
}

/* What sets name in homes, which is looked at only where it can be written by another name. */
static int add_homes(const struct protecting *protecting)
{
    struct found found = {0};
    int r = collect(protecting->resolving, LIST_PROTECT, &found, true);

    for (size_t i = 0; i < found.paths.count && r == 0; i++)
        if (!is_unprotected(protecting->unprotected, found.paths.items[i], &found.sources[i]))
            r = found_add(protecting->resolving, protecting->elsewhere, found.paths.items[i],
                          found.sources[i]);
    found_free(&found);
    return r;
}

static int protect_aliases(void *data)
{
    const struct protecting *protecting = data;
    int r = shows_home(protecting->resolving);

    if (r > 0)
        r = add_homes(protecting);
    if (r == 0)
        r = protect_shown(protecting, protecting->kept);
    return r == 0 ? protect_shown(protecting, protecting->elsewhere) : r;
}

/* Is there anything that could be written by another name? */
static bool writes(const struct resolved *resolved)
{
    for (size_t i = 0; i < resolved->path_count; i++)
        if (is_asked(&resolved->paths[i]))
            return true;
    return false;
}

int resolve_protected(struct resolving *resolving)
{
    struct resolved *resolved = resolving->resolved;
    struct found unprotected = {0}, asked = {0}, kept = {0}, elsewhere = {0};
    int r = collect(resolving, LIST_PROTECT, &asked, false);

    if (r == 0)
        r = resolving_check_links(resolving); /* what is written down must hold */
    if (r == 0)
        r = collect(resolving, LIST_UNPROTECT, &unprotected, false);
    for (size_t i = 0; i < unprotected.paths.count && r == 0; i++)
        r = resolving_except(resolving, unprotected.paths.items[i], unprotected.sources[i]);
    for (size_t i = 0; i < asked.paths.count && r == 0; i++) {
        const char *path = asked.paths.items[i];

        if (is_unprotected(&unprotected, path, &asked.sources[i]) || strings_have(&kept.paths, path))
            continue;
        if (!resolved_under_writable(resolved, path)) {
            r = found_add(resolving, &elsewhere, path, asked.sources[i]);
            continue;
        }
        r = look_inside(resolving, &unprotected, path, &asked.sources[i]);
        if (r == 0)
            r = found_add(resolving, &kept, path, asked.sources[i]);
        r = r > 0 ? 0 : r;
    }
    if (r == 0)
        r = protect_policies(resolving, &kept, &elsewhere);
    if (r == 0 && (kept.paths.count + elsewhere.paths.count > 0 || writes(resolved)))
        r = aliases_look(resolving, protect_aliases,
                         &(struct protecting){resolving, &unprotected, &kept, &elsewhere},
                         "a protected path may be written");
    found_free(&elsewhere);
    found_free(&asked);
    found_free(&unprotected);
    resolved->protected_paths = kept.paths;
    resolved->protected_names = kept.names;
    resolved->protected_by = kept.sources;
    return r;
}

/* --- what would take it out ------------------------------------------------------------------------------
 */

/* A change that was refused. */
struct change {
    const struct resolved *resolved;
    size_t index; /* of what is protected: what refused it, maybe by another name of the object */
    const char *path;
    bool around;
};

/* Does what is protected at INDEX refuse it? */
static bool refuses_change(const struct change *change, size_t index)
{
    const char *held = change->resolved->protected_paths.items[index];

    return index == change->index || path_contains(held, change->path) ||
           (change->around && path_contains(change->path, held));
}

static bool is_one_of(const struct unprotects *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->names[i], name) == 0)
            return true;
    return false;
}

/* Does PATH lie in something that is named? */
static bool is_inside(const struct unprotects *names, const char *path)
{
    for (size_t i = 0; i < names->count; i++)
        if (path_contains(names->names[i], path))
            return true;
    return false;
}

/* Does one of the names lie in PATH? */
static bool holds_one(const struct unprotects *names, const char *path)
{
    for (size_t i = 0; i < names->count; i++)
        if (path_contains(path, names->names[i]))
            return true;
    return false;
}

/* Is `--unprotect NAME` for each of the names enough, and accepted? Of what is written down no part can be
 * open; and where a set gives way to a hole in it, a name would open more than it says. */
static bool is_enough(const struct change *change, const struct unprotects *names)
{
    const struct resolved *resolved = change->resolved;

    for (size_t i = 0; i < resolved->protected_paths.count; i++) {
        const char *other = resolved->protected_names.items[i];

        if (is_one_of(names, other))
            continue;
        if (*other && holds_one(names, other))
            return false;
        if (refuses_change(change, i) &&
            !(*other && resolved->protected_by[i].item && is_inside(names, other)))
            return false;
    }
    return true;
}

/* A directory of a set, and what is written down in it: neither is enough without the other. */
static bool find_two(const struct change *change, struct unprotects *names)
{
    const struct strings *all = &change->resolved->protected_names;

    names->count = UNPROTECTS_MOST;
    for (size_t i = 0; i < all->count; i++) {
        if (!*all->items[i] || !refuses_change(change, i))
            continue;
        names->names[0] = all->items[i];
        for (size_t j = 0; j < all->count; j++) {
            names->names[1] = all->items[j];
            if (j != i && path_contains(all->items[i], all->items[j]) && refuses_change(change, j) &&
                is_enough(change, names))
                return true;
        }
    }
    return false;
}

static bool find_one(const struct change *change, struct unprotects *names)
{
    const struct strings *all = &change->resolved->protected_names;

    names->count = 1;
    for (size_t i = 0; i < all->count; i++) {
        names->names[0] = all->items[i];
        if (*all->items[i] && refuses_change(change, i) && is_enough(change, names))
            return true;
    }
    names->names[0] = change->path;
    return change->around && is_enough(change, names);
}

bool resolved_unprotects(const struct resolved *resolved, size_t index, const char *path, bool around,
                         struct unprotects *ret)
{
    const struct change change = {resolved, index, path, around};
    const struct policy *policy = resolved->policy;

    if ((policy->locked_lists >> LIST_PROTECT | policy->locked_lists >> LIST_UNPROTECT) & 1)
        return false;
    for (size_t i = 0; i < policy->files.count;
         i++) /* one in force is protected again, whoever asked before */
        if (strcmp(path, policy->files.items[i]) == 0 ||
            (around && path_contains(path, policy->files.items[i])))
            return false;
    return find_one(&change, ret) || find_two(&change, ret);
}
