/*
 * resolve_grants.c - workspace, grants, start directory.
 *
 * Should:  end with grants of which none lies inside another of the same kind.
 * Mustn't: widen: the workspace is what was named, never the current directory.
 */
#include "policy/resolve_internal.h"

#include "kernel/object.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

static int fail_directory(struct resolving *resolving, const struct asked *asked)
{
    error_set(resolving->error, ERROR_POLICY_INVALID, ENOTDIR, "not-a-directory", "%s %s: not a directory",
              asked->by, QUOTE(asked->value));
    return error_hint(resolving->error, "name a directory");
}

static int open_directory(struct resolving *resolving, const struct asked *asked, const char *base,
                          struct opened *opened)
{
    int r = resolving_open(resolving, asked, base, opened);

    if (r == 0 && !S_ISDIR(opened->st.st_mode)) {
        opened_free(opened);
        r = fail_directory(resolving, asked);
    }
    return r;
}

static int fail_git(struct resolving *resolving, const struct asked *asked, const char *from)
{
    error_set(resolving->error, ERROR_POLICY_INVALID, ENOENT, "no-repository",
              "%s @git: no directory from %s upwards holds a .git", asked->by, QUOTE(from));
    if (resolving->policy->workspace_base)
        return error_hint(resolving->error,
                          "in a file it is the repository that the file lies in: leave it out there, and say "
                          "--workspace @git");
    return error_hint(resolving->error, "change into a repository, or name the directory with --workspace");
}

/* From an opened directory upwards to the first one that holds `.git`. */
static int climb_to_git(struct resolving *resolving, const struct asked *asked, struct opened *at)
{
    _cleanup_free_ char *from = strdup(at->path);
    struct stat st;

    if (!from)
        return error_no_memory(resolving->error);
    while (fstatat(at->fd, ".git", &st, AT_SYMLINK_NOFOLLOW) != 0) {
        int up = openat(at->fd, "..", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        char *slash = strrchr(at->path, '/');

        if (up < 0 || fstat(up, &at->st) != 0) {
            fd_close(up);
            return error_set(resolving->error, ERROR_POLICY_INVALID, errno, "path-unreachable",
                             "%s @git: the directory above %s: %s", asked->by, QUOTE(at->path),
                             strerror(errno));
        }
        fd_close(at->fd);
        at->fd = up;
        if (at->path[1] == '\0')
            return fail_git(resolving, asked, from);
        slash[slash == at->path] = '\0';
    }
    return 0;
}

static int open_git(struct resolving *resolving, const struct asked *asked, const char *base,
                    struct opened *workspace)
{
    struct asked start = *asked;
    _cleanup_opened_ struct opened at = {.fd = -1};
    int r;

    start.value = ".";
    r = open_directory(resolving, &start, base, &at);
    if (r == 0)
        r = climb_to_git(resolving, asked, &at);
    if (r < 0)
        return r;
    start.value = at.path; /* climbing went by descriptor, the name must lead to the same directory */
    r = open_directory(resolving, &start, NULL, workspace);
    if (r == 0 && !stat_same(&workspace->st, &at.st)) {
        opened_free(workspace);
        r = error_set(resolving->error, ERROR_POLICY_INVALID, ESTALE, "path-changed",
                      "%s @git: %s changed while it was looked at", asked->by, QUOTE(at.path));
    }
    return r;
}

int open_workspace(struct resolving *resolving, struct opened *workspace)
{
    const struct policy *policy = resolving->policy;
    struct asked asked = asked_key(policy, KEY_WORKSPACE, policy->workspace);
    int r;

    asked.grants = true;
    *workspace = (struct opened){.fd = -1};
    if (!policy->workspace)
        return 0;
    if (policy->workspace[0] == '@' && strcmp(policy->workspace, "@git") != 0) {
        error_set(resolving->error, ERROR_POLICY_INVALID, EINVAL, "bad-value",
                  "%s %s: no set can be the workspace", asked.by, QUOTE(policy->workspace));
        return error_hint(resolving->error, "name a directory; one of that name is written ./%s",
                          QUOTE(policy->workspace));
    }
    if (strcmp(policy->workspace, "@git") == 0)
        r = open_git(resolving, &asked, policy->workspace_base, workspace);
    else
        r = open_directory(resolving, &asked, policy->workspace_base, workspace);
    if (r == 0 && policy->mode != MODE_DANGER_FULL_ACCESS) {
        r = refuse_wide(resolving, &asked, workspace->path);
        if (r < 0)
            opened_free(workspace);
    }
    return r;
}

/* A workspace that nobody can write makes a command fail in ways that look like the boundary's doing. */
static int warn_unwritable(struct resolving *resolving, const struct opened *workspace)
{
    struct resolved *resolved = resolving->resolved;
    mode_t bits = workspace->st.st_uid == resolved->uid ? S_IWUSR : S_IWGRP | S_IWOTH;
    bool read_only = faccessat(workspace->fd, ".", W_OK, AT_EACCESS) != 0 && errno == EROFS;
    const char *why = read_only ? "its file system is read-only" : "its mode does not allow it";

    if (!read_only && workspace->st.st_mode & bits)
        return 0;
    return strings_addf(&resolved->warnings, "workspace-read-only: user %u cannot write %s: %s",
                        (unsigned)resolved->uid, QUOTE(workspace->path), why) < 0
               ? error_no_memory(resolving->error)
               : 0;
}

int resolve_workspace_grant(struct resolving *resolving)
{
    struct resolved *resolved = resolving->resolved;
    bool writes = resolved->mode == MODE_WORKSPACE_WRITE;
    _cleanup_opened_ struct opened workspace = {.fd = -1};
    struct asked asked = asked_key(resolving->policy, KEY_WORKSPACE, resolving->policy->workspace);
    int r = open_workspace(resolving, &workspace);

    if (r == 0)
        r = resolve_user(resolving, &workspace);
    if (r < 0 || workspace.fd < 0)
        return r;
    if (resolved->mode != MODE_DANGER_FULL_ACCESS && resolved->switch_user) {
        r = refuse_wide(resolving, &asked, workspace.path); /* the home of that user is known only now */
        if (r < 0)
            return r;
    }
    resolved->workspace = strdup(workspace.path);
    resolved->workspace_fd = fd_copy(workspace.fd, 3);
    if (!resolved->workspace)
        return error_no_memory(resolving->error);
    if (resolved->workspace_fd < 0)
        return path_failed(resolving->error, "the workspace", resolved->workspace, errno);
    if (resolved->mode == MODE_DANGER_FULL_ACCESS)
        return 0;
    r = writes ? warn_unwritable(resolving, &workspace) : 0;
    if (r < 0)
        return r;
    r = resolving_add(resolving, &workspace, writes ? GRANT_WRITE : GRANT_READ, asked.named, false, NULL);
    if (r < 0)
        return r;
    resolved->paths[resolved->path_count - 1].source.what = "the workspace";
    return resolve_git(resolving, asked.named);
}

/* --- lists of paths ------------------------------------------------------------------------------------ */

/* How the entries of one list become grants. */
struct list_rule {
    enum list list;
    enum grant grant;
    int (*refuse)(struct resolving *resolving, const struct asked *asked, const struct opened *opened);
};

static int refuse_write(struct resolving *resolving, const struct asked *asked, const struct opened *opened)
{
    if (S_ISCHR(opened->st.st_mode) || S_ISBLK(opened->st.st_mode) || S_ISSOCK(opened->st.st_mode)) {
        bool socket = S_ISSOCK(opened->st.st_mode);

        error_set(resolving->error, ERROR_POLICY_INVALID, EINVAL, "not-a-file", "%s %s: it is a %s",
                  asked->by, QUOTE(asked->value), socket ? "socket" : "device node");
        return error_hint(resolving->error, "grant it with %s", socket ? "--socket" : "--device");
    }
    return refuse_wide_write(resolving, asked, opened->path);
}

static const struct list_rule list_rules[] = {
    {LIST_READ, GRANT_READ, NULL},
    {LIST_WRITE, GRANT_WRITE, refuse_write},
    {LIST_DEVICES, GRANT_DEVICE, refuse_device},
    {LIST_SOCKETS, GRANT_SOCKET, refuse_socket},
};

static int grant_path(struct resolving *resolving, const struct list_rule *rule, struct asked *asked,
                      const char *base, bool implied, struct source source)
{
    _cleanup_opened_ struct opened opened = {.fd = -1};
    int r;

    /* Reading is no more than everybody has, unless what may be read is listed. */
    asked->grants = asked->named && (rule->grant != GRANT_READ || resolving->policy->readable_listed);
    r = resolving_open(resolving, asked, base, &opened);
    if (r != 0)
        return r;
    if (rule->refuse)
        r = rule->refuse(resolving, asked, &opened);
    if (r == 0 && rule->grant == GRANT_READ && asked->named && !implied &&
        strings_add(&resolving->read_named, opened.path) < 0)
        r = error_no_memory(resolving->error);
    if (r == 0)
        r = resolving_add(resolving, &opened, rule->grant, asked->named, implied, NULL);
    if (r == 0)
        resolving->resolved->paths[resolving->resolved->path_count - 1].source = source;
    return r;
}

/* Every item of a set that exists. Return: how many, or a negative errno with the error set. */
static int grant_set(struct resolving *resolving, const struct list_rule *rule, const struct asked *asked,
                     const struct set *set, struct source source)
{
    int r = 0, found = 0;

    for (const struct set_item *item = set->items; item->value && r >= 0; item++) {
        struct strings names = {0};

        source.item = item;
        r = resolving_expand(resolving, item->value, &names);
        for (size_t i = 0; i < names.count && r >= 0; i++) {
            _cleanup_opened_ struct opened probe = {.fd = -1};
            struct asked one = *asked;

            if (path_open(names.items[i], &probe) < 0)
                continue; /* what a set names need not be there */
            one.value = names.items[i];
            r = grant_path(resolving, rule, &one, NULL, !asked->named, source);
            found += r == 0;
        }
        strings_free(&names);
    }
    return r < 0 ? r : found;
}

/* Nothing of SET is there: where it was looked for is mostly the answer, a variable that sudo took away. */
static int fail_empty(struct resolving *resolving, const struct asked *asked, const struct set *set)
{
    struct text places = {0};

    for (const struct set_item *item = set->items; item->value; item++)
        text_addf(&places, "%s%s", places.length ? ", " : "", item->value);
    error_set(resolving->error, ERROR_POLICY_INVALID, ENOENT, "path-missing", "%s %s: nothing of it exists",
              asked->by, set->name);
    error_hint(resolving->error,
               "start the agent first, or mark it as optional with a `?`; it is looked for at %s",
               places.data ? places.data : set->what);
    text_free(&places);
    return -ENOENT;
}

static int grant_entry(struct resolving *resolving, const struct list_rule *rule, const struct entry *entry)
{
    struct asked asked = asked_entry(entry, rule->list);
    struct source source =
        source_of(rule->list, (size_t)(entry - resolving->policy->list[rule->list].items), NULL);
    const struct set *set;
    int r;

    if (entry->value[0] != '@')
        return grant_path(resolving, rule, &asked, entry->base, false, source);
    set = set_by_name(entry->value);
    if (!set) {
        error_set(resolving->error, ERROR_POLICY_INVALID, 0, "unknown-set", "%s %s: there is no such set",
                  asked.by, QUOTE(entry->value));
        return error_hint(resolving->error, "`confine policy` prints the sets; a file of that name is ./%s",
                          QUOTE(entry->value));
    }
    r = grant_set(resolving, rule, &asked, set, source);
    if (r != 0 || rule->grant == GRANT_READ)
        return r < 0 ? r : 0;
    if (asked.optional)
        return resolving_skip(resolving, &asked, "nothing of it exists");
    return fail_empty(resolving, &asked, set);
}

/* Return: 0 for what is optional, which is skipped. */
static int refuse_write_in_read_only(struct resolving *resolving, const struct entry *entry)
{
    struct asked asked = asked_entry(entry, LIST_WRITE);

    if (asked.optional)
        return resolving_skip(resolving, &asked, "nothing is writable in the mode read-only");
    error_set(resolving->error, ERROR_POLICY_INVALID, 0, "read-only-write",
              "%s %s: nothing is writable in the mode read-only", asked.by, QUOTE(asked.value));
    return error_hint(resolving->error, "add --mode workspace-write, or leave it out");
}

static int grant_list(struct resolving *resolving, const struct list_rule *rule)
{
    const struct entries *entries = &resolving->policy->list[rule->list];
    bool refused = rule->grant == GRANT_WRITE && resolving->resolved->mode == MODE_READ_ONLY,
         taken_back = false;
    int r = 0;

    for (size_t i = 0; i < entries->count; i++)
        taken_back |= entries->items[i].remove;
    for (size_t i = 0; i < entries->count && r >= 0; i++) {
        if (taken_back && !entry_in_force(entries, i)) /* which looks at all the others */
            continue;
        r = refused ? refuse_write_in_read_only(resolving, &entries->items[i])
                    : grant_entry(resolving, rule, &entries->items[i]);
    }
    return r < 0 ? r : 0;
}

/* What is readable, and the devices without which hardly a program works. */
static int grant_implied(struct resolving *resolving)
{
    static const struct list_rule read = {LIST_READ, GRANT_READ, NULL};
    static const struct source everything = {.what = "readable all"}, system = {.what = "@system"};
    struct asked asked = {.by = "built-in read", .value = "@system"};
    const struct set *set = set_by_name("@system");
    int r = 0;

    if (!resolving->policy->readable_listed) {
        asked.value = "/";
        r = grant_path(resolving, &read, &asked, NULL, true, everything);
    } else if (!set) {
        return error_set(resolving->error, ERROR_INTERNAL, 0, "no-system-set", "the set @system is missing");
    } else {
        r = grant_set(resolving, &read, &asked, set, system);
    }
    for (const char *const *node = object_nodes; *node && r >= 0; node++) {
        _cleanup_opened_ struct opened probe = {.fd = -1};

        if (path_open(*node, &probe) < 0 || !S_ISCHR(probe.st.st_mode))
            continue; /* a container may lack some */
        r = resolving_add(resolving, &probe, GRANT_DEVICE, false, true, NULL);
    }
    return r < 0 ? r : 0;
}

static int grant_tmp(struct resolving *resolving)
{
    static const struct list_rule rule = {LIST_WRITE, GRANT_WRITE, refuse_write};
    const struct policy *policy = resolving->policy;
    struct asked asked = asked_key(policy, KEY_TMP, policy->tmp_directory ? policy->tmp_directory : "");
    _cleanup_opened_ struct opened opened = {.fd = -1};
    int r;

    if (policy->tmp != TMP_DIRECTORY)
        return 0;
    asked.grants = true;
    r = open_directory(resolving, &asked, NULL, &opened);
    if (r == 0)
        r = rule.refuse(resolving, &asked, &opened);
    if (r == 0) {
        resolving->resolved->tmp_directory = strdup(opened.path);
        if (!resolving->resolved->tmp_directory)
            r = error_no_memory(resolving->error);
    }
    if (r == 0)
        r = resolving_add(resolving, &opened, rule.grant, asked.named, false, NULL);
    if (r == 0)
        resolving->resolved->paths[resolving->resolved->path_count - 1].source.what = "the temp directory";
    return r;
}

int resolve_grants(struct resolving *resolving)
{
    int r = grant_implied(resolving);

    for (size_t i = 0; i < ARRAY_SIZE(list_rules) && r == 0; i++)
        r = grant_list(resolving, &list_rules[i]);
    if (r == 0)
        r = grant_tmp(resolving);
    return r;
}

/* --- merging ------------------------------------------------------------------------------------------- */

/* Canonical order in which everything below a directory follows it directly: `/` sorts before all else. */
static int compare_paths(const void *left, const void *right)
{
    const struct resolved_path *const *a = left, *const *b = right;
    const unsigned char *x = (const unsigned char *)(*a)->path, *y = (const unsigned char *)(*b)->path;

    while (*x && *x == *y)
        x++, y++;
    if (*x == *y)
        return (*a > *b) - (*a < *b); /* equal names keep their order */
    return *x == '\0' ? -1 : *y == '\0' ? 1 : (*x == '/' ? 1 : *x + 1) - (*y == '/' ? 1 : *y + 1);
}

/* Is PATH already covered by what encloses it? */
static bool is_covered(const struct resolved_path *path, const struct resolved_path *write,
                       const struct resolved_path *read, const struct resolved_path *same)
{
    switch (path->grant) {
    case GRANT_WRITE:
        return write && path_contains(write->path, path->path);
    case GRANT_READ:
        return (write && path_contains(write->path, path->path)) ||
               (read && path_contains(read->path, path->path));
    case GRANT_DEVICE:
    case GRANT_SOCKET:
        return same && same->grant == path->grant && strcmp(same->path, path->path) == 0;
    case GRANT_NONE:
    default:
        return false;
    }
}

static void drop_covered(struct resolved_path **sorted, size_t count)
{
    struct resolved_path *write = NULL, *read = NULL, *same = NULL;

    for (size_t i = 0; i < count; i++) {
        struct resolved_path *path = sorted[i];

        if (is_covered(path, write, read, same)) {
            if (path->grant == GRANT_WRITE && path->named)
                write->named = true;
            if (path->grant == GRANT_DEVICE || path->grant == GRANT_SOCKET)
                same->named |= path->named;
            path->grant = GRANT_NONE; /* taken out below */
            continue;
        }
        if (path->grant == GRANT_WRITE)
            write = path;
        else if (path->grant == GRANT_READ)
            read = path;
        else
            same = path;
    }
}

/* Keeps the outermost of nested grants. Runs before anything points at a path by its index. */
int merge_grants(struct resolving *resolving)
{
    struct resolved *resolved = resolving->resolved;
    _cleanup_free_ struct resolved_path **sorted =
        calloc(resolved->path_count + 1, sizeof(struct resolved_path *));
    size_t kept = 0;

    if (!sorted)
        return error_no_memory(resolving->error);
    for (size_t i = 0; i < resolved->path_count; i++)
        sorted[i] = &resolved->paths[i];
    qsort(sorted, resolved->path_count, sizeof(struct resolved_path *), compare_paths);
    drop_covered(sorted, resolved->path_count);
    for (size_t i = 0; i < resolved->path_count; i++) {
        struct resolved_path *path = &resolved->paths[i];

        if (path->grant == GRANT_NONE) {
            fd_close(path->fd);
            free(path->path);
        } else {
            resolved->paths[kept++] = *path;
        }
    }
    resolved->path_count = kept;
    return 0;
}

bool granted_readable(const struct resolved *resolved, const char *path, const char *within)
{
    for (size_t i = 0; i < resolved->path_count; i++) {
        const struct resolved_path *grant = &resolved->paths[i];

        if ((grant->grant == GRANT_READ || grant->grant == GRANT_WRITE) && path_contains(grant->path, path) &&
            (!within || path_contains(within, grant->path)))
            return true;
    }
    return false;
}

/* --- the start directory ------------------------------------------------------------------------------- */

static int refuse_cwd(struct resolving *resolving, const char *by, const char *path)
{
    error_set(resolving->error, ERROR_POLICY_INVALID, EACCES, "cwd-unreadable",
              "%s %s: the command may not read the directory that it would start in", by, QUOTE(path));
    return error_hint(resolving->error, "add --read for it, or start elsewhere with --chdir");
}

int resolve_cwd(struct resolving *resolving)
{
    struct resolved *resolved = resolving->resolved;
    const struct policy *policy = resolving->policy;
    struct asked asked = asked_key(policy, KEY_CHDIR, policy->chdir);
    _cleanup_opened_ struct opened opened = {.fd = -1};
    int r;

    if (!policy->chdir) {
        bool here =
            resolving->cwd && (!resolved->workspace || path_contains(resolved->workspace, resolving->cwd));

        asked.value = here ? resolving->cwd : resolved->workspace ? resolved->workspace : ".";
        snprintf(asked.by, sizeof(asked.by), "%s",
                 resolved->workspace && !here ? "the workspace" : "the start directory");
    }
    if (resolved->workspace &&
        strcmp(asked.value, resolved->workspace) == 0) { /* mostly: it is open already */
        opened.fd = fd_copy(resolved->workspace_fd, 3);
        opened.path = strdup(resolved->workspace);
        r = opened.path ? 0 : error_no_memory(resolving->error);
        if (r == 0 && opened.fd < 0)
            r = path_failed(resolving->error, asked.by, opened.path, errno);
    } else {
        r = open_directory(resolving, &asked, NULL, &opened);
    }
    if (r < 0)
        return r;
    if (resolved->mode != MODE_DANGER_FULL_ACCESS && !granted_readable(resolved, opened.path, NULL))
        return refuse_cwd(resolving, asked.by, asked.value);
    resolved->cwd_fd = steal_fd(&opened.fd);
    resolved->cwd = steal_pointer(&opened.path);
    return 0;
}

/* Where it is hidden, a link would fail to enter it, or the command would read nothing of its own directory.
 */
int resolve_hidden_cwd(struct resolving *resolving)
{
    const struct resolved *resolved = resolving->resolved;
    struct asked asked = asked_key(resolving->policy, KEY_CHDIR, "");

    for (size_t i = 0; i < resolved->hidden_count; i++)
        if (path_contains(resolved->hidden[i].path, resolved->cwd) &&
            !granted_readable(resolved, resolved->cwd, resolved->hidden[i].path))
            return refuse_cwd(resolving, resolving->policy->chdir ? asked.by : "the start directory",
                              resolved->cwd);
    return 0;
}
