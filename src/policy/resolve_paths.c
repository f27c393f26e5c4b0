/*
 * resolve_paths.c - the names that a policy says: what each stands for, and what it leads to.
 *
 * Should:  know every link that led to an object, so that one which the command
 *          itself may replace is refused.
 */
#include "policy/resolve_internal.h"

int resolving_absolute(struct resolving *resolving, const struct asked *asked, const char *base, char **ret)
{
    const char *value = asked->value;
    int length;

    *ret = NULL;
    if (value[0] == '/') {
        *ret = strdup(value);
        return *ret ? 0 : error_no_memory(resolving->error);
    }
    if (value[0] == '~' && (value[1] == '/' || value[1] == '\0')) {
        if (!resolving->resolved->home) {
            error_set(resolving->error, ERROR_POLICY_INVALID, 0, "no-home",
                      "%s %s: user %u has no home: the password database has no entry", asked->by,
                      QUOTE(value), (unsigned)resolving->caller);
            return error_hint(resolving->error, "write the absolute path");
        }
        length = asprintf(ret, "%s%s", resolving->resolved->home, value + 1);
        return length < 0 ? error_no_memory(resolving->error) : 0;
    }
    if (value[0] == '\0') {
        error_set(resolving->error, ERROR_POLICY_INVALID, 0, "path-empty", "%s: the path is empty",
                  asked->by);
        return error_hint(resolving->error, "write `.` for the current directory");
    }
    if (!base)
        base = resolving->cwd;
    if (!base) {
        error_set(resolving->error, ERROR_POLICY_INVALID, ENOENT, "cwd-missing",
                  "%s %s: the current directory does not exist any more", asked->by, QUOTE(value));
        return error_hint(resolving->error, "change to another directory first");
    }
    length = asprintf(ret, "%s/%s", base, value);
    return length < 0 ? error_no_memory(resolving->error) : 0;
}

int strings_add_joined(struct strings *strings, const char *front, size_t length, const char *back)
{
    size_t more = strlen(back);
    char stack[256], *name = length + more < sizeof(stack) ? stack : malloc(length + more + 1);
    int r;

    if (!name)
        return -ENOMEM;
    memcpy(name, front, length);
    memcpy(name + length, back, more + 1);
    r = strings_add(strings, name);
    if (name != stack)
        free(name);
    return r;
}

/* The homes that `~` of a set stands for: the environment may only add. */
static int expand_home(struct resolving *resolving, const char *rest, struct strings *names)
{
    const char *homes[] = {resolving->resolved->home, env_value(resolving->env, "HOME"), resolving->env_home,
                           resolving->command_home};

    for (size_t i = 0; i < ARRAY_SIZE(homes); i++) {
        bool seen = !homes[i] || homes[i][0] != '/';

        for (size_t j = 0; j < i && !seen; j++)
            seen = homes[j] && strcmp(homes[i], homes[j]) == 0;
        if (!seen && strings_add_joined(names, homes[i], strlen(homes[i]), rest) < 0)
            return error_no_memory(resolving->error);
    }
    return 0;
}

/*
 * `$NAME/rest`: a variable may hold several paths, separated by colons. Or a single one with a colon in it:
 * which of the two it is depends on who reads it, and what is not there is in nobody's way.
 */
static int expand_variable(struct resolving *resolving, const char *item, struct strings *names)
{
    size_t length = strcspn(item + 1, "/");
    _cleanup_free_ char *name = strndup(item + 1, length);
    const char *value, *rest = item + 1 + length;

    if (!name)
        return error_no_memory(resolving->error);
    value = env_value(resolving->env, name);
    if (value && value[0] == '/' && strchr(value, ':') &&
        strings_add_joined(names, value, strlen(value), rest) < 0)
        return error_no_memory(resolving->error);
    while (value && *value) {
        size_t part = strcspn(value, ":");

        if (value[0] == '/' && strings_add_joined(names, value, part, rest) < 0)
            return error_no_memory(resolving->error);
        value += part;
        value += *value == ':';
    }
    return 0;
}

int resolving_expand(struct resolving *resolving, const char *item, struct strings *names)
{
    if (item[0] == '~')
        return expand_home(resolving, item + 1, names);
    if (item[0] == '$')
        return expand_variable(resolving, item, names);
    if (strncmp(item, "./", 2) == 0) { /* below the workspace, or what its `.git` stands for */
        bool git = resolving->git_common && strncmp(item, "./.git/", 7) == 0;
        const char *top = git ? resolving->git_common : resolving->resolved->workspace;

        if (strcmp(item, "./.git") == 0 && !resolving->git_file)
            return 0; /* a directory is what git works in */
        return top && strings_add_joined(names, top, strlen(top), item + (git ? 6 : 1)) < 0
                   ? error_no_memory(resolving->error)
                   : 0;
    }
    return strings_add(names, item) < 0 ? error_no_memory(resolving->error) : 0;
}

struct path_failure {
    int errnum;
    enum error_code code;
    const char *reason, *why, *hint, *hint_single;
};

static const struct path_failure path_failures[] = {
    {ENOENT, ERROR_POLICY_INVALID, "path-missing", "it does not exist",
     "create it first, or mark it as optional with a `?` at the end", "create it first"},
    {ENOTDIR, ERROR_POLICY_INVALID, "path-missing", "a component of it is not a directory",
     "correct the path, or mark it as optional with a `?` at the end", "correct the path"},
    {EACCES, ERROR_POLICY_INVALID, "path-unreachable", "a directory above it may not be entered",
     "run as a user who may, or leave it out", NULL},
    {ELOOP, ERROR_POLICY_INVALID, "link-loop", "too many symbolic links", "name the object itself", NULL},
    {ESTALE, ERROR_POLICY_INVALID, "path-changed", "it changed while it was looked at",
     "somebody is changing this path: end that first", NULL},
    {EMFILE, ERROR_SANDBOX_UNAVAILABLE, "too-many-files", "the limit on open files is reached",
     "raise it (ulimit -n), or name fewer paths", NULL},
    {ENFILE, ERROR_SANDBOX_UNAVAILABLE, "too-many-files", "the machine has no free file entry",
     "end what has many files open, or raise fs.file-max", NULL},
    {ENOMEM, ERROR_SANDBOX_UNAVAILABLE, "no-memory", "out of memory", "end what takes it", NULL},
    {0, ERROR_POLICY_INVALID, "path-unreachable", NULL, "correct the path", NULL},
};

static const struct path_failure *find_failure(int errnum)
{
    const struct path_failure *row = path_failures;

    while (row->errnum && row->errnum != errnum)
        row++;
    return row;
}

int path_failed(struct error *error, const char *what, const char *path, int errnum)
{
    const struct path_failure *row = find_failure(errnum);

    error_set(error, row->code, errnum, row->reason, "%s: %s: %s", what, QUOTE(path),
              row->why ? row->why : strerror(errnum));
    return row->hint ? error_hint(error, "%s", row->hint) : -errnum;
}

/* Does a name of @base, the directory of a policy file, start there? */
static bool starts_there(const struct asked *asked, const char *base)
{
    return base && asked->value[0] != '/' && asked->value[0] != '~';
}

static int fail_open(struct resolving *resolving, const struct asked *asked, const char *base, int errnum)
{
    const struct path_failure *row = find_failure(errnum);
    const char *home = resolving->resolved->home, *env_home = env_value(resolving->env, "HOME"), *hint;
    const char *how = "", *where = NULL;

    /* Whoever sees another home in the shell, or stands in the workspace, would look in the wrong place. */
    if (asked->value[0] == '~' && home && (!env_home || strcmp(home, env_home) != 0)) {
        how = ", where ~ is ";
        where = home;
    } else if (starts_there(asked, base)) {
        how = ", which starts at ";
        where = base;
    }
    error_set(resolving->error, row->code, errnum, row->reason, "%s %s%s%s: %s", asked->by,
              QUOTE(asked->value), how, where ? QUOTE(where) : "", row->why ? row->why : strerror(errnum));
    hint = asked->single && row->hint_single ? row->hint_single : row->hint;
    return hint ? error_hint(resolving->error, "%s", hint) : -errnum;
}

/* Return: 1, or -ENOMEM with the error set. */
static int skip_missing(struct resolving *resolving, const struct asked *asked, const char *base)
{
    bool named = starts_there(asked, base);
    struct text why = {0};
    int r;

    text_addf(&why, "it does not exist%s%s%s", named ? " (it starts at " : "", named ? QUOTE(base) : "",
              named ? ")" : "");
    r = why.failed ? error_no_memory(resolving->error) : resolving_skip(resolving, asked, why.data);
    text_free(&why);
    return r < 0 ? r : 1;
}

int resolving_note_links(struct resolving *resolving, const struct asked *asked, const struct opened *opened)
{
    for (size_t i = 0; i < opened->links.count; i++) {
        struct led led = {.link = strdup(opened->links.items[i]),
                          .grants = asked->grants,
                          .root = opened->root_links >> i & 1};

        if (asprintf(&led.what, "%s %s", asked->by, QUOTE(asked->value)) < 0)
            led.what = NULL;
        if (!led.link || !led.what || !array_more(&resolving->led, resolving->led_count, sizeof(led))) {
            free(led.link);
            free(led.what);
            return error_no_memory(resolving->error);
        }
        resolving->led[resolving->led_count++] = led;
    }
    return 0;
}

int resolving_open(struct resolving *resolving, const struct asked *asked, const char *base,
                   struct opened *opened)
{
    _cleanup_free_ char *absolute = NULL;
    int r = resolving_absolute(resolving, asked, base, &absolute);

    *opened = (struct opened){.fd = -1};
    if (r < 0)
        return r;
    r = path_open(absolute, opened);
    if ((r == -ENOENT || r == -ENOTDIR) && asked->optional)
        return skip_missing(resolving, asked, base);
    if (r < 0)
        return fail_open(resolving, asked, base, -r);
    r = resolving_note_links(resolving, asked, opened);
    if (r < 0)
        opened_free(opened);
    return r;
}

int resolving_add(struct resolving *resolving, struct opened *opened, enum grant grant, bool named,
                  bool implied, size_t *ret_index)
{
    struct resolved *resolved = resolving->resolved;

    if (!array_more(&resolved->paths, resolved->path_count, sizeof(*resolved->paths)))
        return error_no_memory(resolving->error);
    if (ret_index)
        *ret_index = resolved->path_count;
    resolved->paths[resolved->path_count++] = (struct resolved_path){
        .fd = steal_fd(&opened->fd),
        .path = steal_pointer(&opened->path),
        .device = opened->st.st_dev,
        .inode = opened->st.st_ino,
        .type = opened->st.st_mode & S_IFMT,
        .grant = grant,
        .named = named,
        .implied = implied,
    };
    return 0;
}

/*
 * May an earlier command have made this link? It was confined to a writable root, and what is too wide for
 * one holds no such link: `~/project` is the user's own, `~/src/project` may not be. A link of root's is
 * nobody's who was not root.
 */
static bool may_be_planted(struct resolving *resolving, const struct led *led)
{
    struct asked asked = {.value = led->link, .named = true};
    struct error before = *resolving->error;
    _cleanup_free_ char *directory = NULL;
    const char *name;
    bool wide;

    if (!led->grants || (led->root && resolving->resolved->uid != 0))
        return false;
    if (path_parent(led->link, &directory, &name) < 0)
        return true;
    wide = refuse_wide_write(resolving, &asked, directory) < 0;
    *resolving->error = before;
    return !wide;
}

static int fail_planted(struct resolving *resolving, const struct led *led)
{
    error_set(resolving->error, ERROR_POLICY_INVALID, ELOOP, "link-in-grant",
              "%s leads through the symbolic link %s, which an earlier command may have made", led->what,
              QUOTE(led->link));
    return error_hint(resolving->error, "name the object that you mean, without the link");
}

int resolving_check_links(struct resolving *resolving)
{
    const struct resolved *resolved = resolving->resolved;

    for (size_t i = 0; i < resolving->led_count; i++) {
        for (size_t j = 0; j < resolved->path_count; j++) {
            const struct resolved_path *path = &resolved->paths[j];
            const struct led *led = &resolving->led[i];

            if (path->grant != GRANT_WRITE || !path_contains(path->path, led->link))
                continue;
            error_set(resolving->error, ERROR_POLICY_INVALID, ELOOP, "link-in-writable",
                      "%s leads through the symbolic link %s, which stands below the writable %s", led->what,
                      QUOTE(led->link), QUOTE(path->path));
            return error_hint(resolving->error, "name the object that you mean, without the link");
        }
        if (may_be_planted(resolving, &resolving->led[i]))
            return fail_planted(resolving, &resolving->led[i]);
    }
    return 0;
}
