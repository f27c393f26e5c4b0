/*
 * resolve_surfaces.c - which surfaces are opened, required and named; which descriptors are passed.
 *
 * What a file or an option names must hold, or the run is refused. What a
 * built-in default asks, and what is marked as optional, is never named.
 */
#include "policy/policy_keys.h"
#include "policy/resolve_internal.h"

#include <fcntl.h>
#include <unistd.h>

/* --- words to surfaces --------------------------------------------------------------------------------- */

static int fail_surface(struct resolving *resolving, const struct asked *asked, const char *word)
{
    struct nearest nearest = {.word = word};

    for (size_t i = 0; i < SURFACE_COUNT; i++) {
        nearest_try(&nearest, surface_table[i].name);
        nearest_try(&nearest, surface_table[i].group);
    }
    error_set(resolving->error, ERROR_POLICY_INVALID, 0, "unknown-surface", "%s: there is no surface %s",
              asked->by, QUOTE(word));
    if (!nearest.best)
        return error_hint(resolving->error, "`confine probe` lists the surfaces");
    return error_hint(resolving->error, "did you mean `%s`?", nearest.best);
}

/* One of the two words would not hold. What stands in a group, or in full, may be opened: that is the
 * exception. */
static int fail_opened(struct resolving *resolving, const struct asked *asked, const char *word)
{
    error_set(resolving->error, ERROR_POLICY_INVALID, 0, "require-opened",
              "%s: %s is opened as well, and cannot be both", asked->by, QUOTE(word));
    return error_hint(resolving->error, "leave it out of `require` or out of `open`");
}

static int mark_word(struct resolving *resolving, const struct asked *asked, const char *word, bool *marks,
                     bool *group_marks)
{
    int surface = surface_by_name(word);

    if (surface >= 0) {
        if (marks == resolving->resolved->required && resolving->resolved->open[surface])
            return fail_opened(resolving, asked, word);
        marks[surface] = true;
        return 0;
    }
    if (!surface_is_group(word))
        return fail_surface(resolving, asked, word);
    for (size_t i = 0; i < SURFACE_COUNT; i++)
        group_marks[i] |= strcmp(surface_table[i].group, word) == 0;
    return 0;
}

/* One list of surfaces and groups, each entry one or several words; a group may mean less than its members.
 */
static int mark_list(struct resolving *resolving, enum list list, bool *marks, bool *group_marks, bool *full)
{
    const struct entries *entries = &resolving->policy->list[list];
    int r = 0;

    for (size_t i = 0; i < entries->count && r == 0; i++) {
        struct asked asked = asked_entry(&entries->items[i], list);
        const char *at = asked.value;

        if (!entry_in_force(entries, i))
            continue;
        do {
            _cleanup_free_ char *word = strndup(at, strcspn(at, ","));

            if (!word)
                return error_no_memory(resolving->error);
            at += strlen(word);
            if (full && strcmp(word, "full") == 0)
                *full = true;
            else
                r = mark_word(resolving, &asked, word, marks, group_marks);
        } while (r == 0 && *at++ == ',');
    }
    return r;
}

/* --- what is named ------------------------------------------------------------------------------------- */

/* --socket and --device are none of them: they ask that one object be reached, not that no other can be. */
static const struct {
    enum list list;
    enum surface surface;
} named_lists[] = {
    {LIST_HIDE, SURFACE_FS_HIDDEN},    {LIST_PROTECT, SURFACE_FS_PROTECTED},  {LIST_WRITE, SURFACE_FS_WRITE},
    {LIST_WRITE, SURFACE_FS_TRUNCATE}, {LIST_ENV_UNSET, SURFACE_ENV_SECRETS},
};

static const struct {
    enum key key;
    enum surface surface;
} named_limits[] = {
    {KEY_LIMIT_TIME, SURFACE_LIMIT_TIME},
    {KEY_LIMIT_MEMORY, SURFACE_LIMIT_MEMORY},
    {KEY_LIMIT_PROCESSES, SURFACE_LIMIT_PROCESSES},
    {KEY_LIMIT_OUTPUT, SURFACE_LIMIT_OUTPUT},
    {KEY_LIMIT_FILE_SIZE, SURFACE_LIMIT_FILE_SIZE},
    {KEY_LIMIT_TMP_SIZE, SURFACE_LIMIT_TMP_SIZE},
    {KEY_LIMIT_CPU, SURFACE_LIMIT_CPU},
};

static bool is_list_named(const struct policy *policy, enum list list)
{
    const struct entries *entries = &policy->list[list];

    for (size_t i = 0; i < entries->count; i++)
        if (entry_in_force(entries, i) && origin_named(entries->items[i].origin) &&
            !entries->items[i].optional)
            return true;
    return false;
}

static uint64_t limit_value(const struct policy *policy, enum key key)
{
    return key == KEY_LIMIT_TIME        ? policy->limit_time_ms
           : key == KEY_LIMIT_MEMORY    ? policy->limit_memory
           : key == KEY_LIMIT_PROCESSES ? policy->limit_processes
           : key == KEY_LIMIT_OUTPUT    ? policy->limit_output
           : key == KEY_LIMIT_FILE_SIZE ? policy->limit_file_size
           : key == KEY_LIMIT_TMP_SIZE  ? policy->limit_tmp_size
                                        : policy->limit_cpu_ms;
}

static void mark_network(const struct policy *policy, bool *named)
{
    if (!origin_named(policy->origin[KEY_NETWORK]))
        return;
    if (policy->network == NETWORK_LISTED)
        named[SURFACE_NET_LISTED] = true;
    if (policy->network == NETWORK_NONE)
        named[SURFACE_NET_TCP] = named[SURFACE_NET_UDP] = named[SURFACE_NET_OTHER] = true;
}

static void mark_named(const struct policy *policy, bool *named)
{
    for (size_t i = 0; i < ARRAY_SIZE(named_lists); i++)
        named[named_lists[i].surface] |= is_list_named(policy, named_lists[i].list);
    for (size_t i = 0; i < ARRAY_SIZE(named_limits); i++)
        named[named_limits[i].surface] |=
            origin_named(policy->origin[named_limits[i].key]) && limit_value(policy, named_limits[i].key) > 0;
    mark_network(policy, named);
    if (policy->workspace && origin_named(policy->origin[KEY_WORKSPACE]))
        named[SURFACE_FS_WRITE] = named[SURFACE_FS_TRUNCATE] = true;
    if (policy->readable_listed && origin_named(policy->origin[KEY_READABLE]))
        named[SURFACE_FS_READ] = true;
    if (policy->env_clean && origin_named(policy->origin[KEY_ENV_CLEAN]))
        named[SURFACE_ENV_SECRETS] = true;
    if (policy->tty == TTY_PRIVATE && origin_named(policy->origin[KEY_TTY]))
        named[SURFACE_TTY_READ] = named[SURFACE_TTY_INJECT] = named[SURFACE_TTY_STATE] = true;
}

/* The first entry of @list in force that somebody named, and that says @surface where it says surfaces. */
static const struct origin *first_named(const struct policy *policy, enum list list, enum surface surface)
{
    const struct entries *entries = &policy->list[list];

    for (size_t i = 0; i < entries->count; i++) {
        const struct entry *entry = &entries->items[i];

        if (!entry_in_force(entries, i) || !origin_named(entry->origin) || entry->optional)
            continue;
        if (list != LIST_REQUIRE || strcmp(entry->value, surface_table[surface].name) == 0 ||
            strcmp(entry->value, surface_table[surface].group) == 0 || strcmp(entry->value, "full") == 0)
            return &entry->origin;
    }
    return NULL;
}

const struct origin *resolved_asks(const struct resolved *resolved, enum surface surface)
{
    const struct policy *policy = resolved->policy;
    const struct origin *origin = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(named_limits) && !origin; i++)
        if (named_limits[i].surface == surface && limit_value(policy, named_limits[i].key) > 0)
            origin = &policy->origin[named_limits[i].key];
    for (size_t i = 0; i < ARRAY_SIZE(named_lists) && !origin; i++)
        if (named_lists[i].surface == surface)
            origin = first_named(policy, named_lists[i].list, surface);
    return origin ? origin : first_named(policy, LIST_REQUIRE, surface);
}

/* A list that nobody has to obey is accepted only where there is one. */
static int refuse_open_list(struct resolving *resolving)
{
    static const enum surface surface = SURFACE_NET_LISTED;

    if (!resolving->resolved->open[surface] || resolving->policy->network == NETWORK_LISTED)
        return 0;
    error_set(resolving->error, ERROR_POLICY_INVALID, EINVAL, "not-openable",
              "--open %s: it cannot be opened without a list", surface_table[surface].name);
    error_surface(resolving->error, surface_table[surface].name);
    return error_hint(resolving->error, "name what may be reached: --allow RULE; or use --network host");
}

/* A word about the end of a limit that there is not. */
static int check_output_end(struct resolving *resolving)
{
    const struct policy *policy = resolving->policy;

    if (!policy->limit_output_end || policy->limit_output)
        return 0;
    policy_refuse(resolving->error, &policy->origin[KEY_LIMIT_OUTPUT_END], "output-end-alone",
                  "output_end is what happens at the limit of output, and there is none");
    return error_hint(resolving->error, "add one: --limit output=16M,output_end=true");
}

int resolve_surfaces(struct resolving *resolving)
{
    struct resolved *resolved = resolving->resolved;
    int r = mark_list(resolving, LIST_OPEN, resolved->open, resolved->open, NULL);

    if (r == 0)
        r = mark_list(resolving, LIST_REQUIRE, resolved->required, resolved->required_group,
                      &resolved->require_full);
    if (r == 0)
        r = check_output_end(resolving);
    if (r < 0 || resolved->mode == MODE_DANGER_FULL_ACCESS)
        return r; /* nothing is named where everything is open: --require refuses by itself */
    mark_named(resolving->policy, resolved->named);
    return refuse_open_list(resolving);
}

/* --- descriptors --------------------------------------------------------------------------------------- */

static int fail_descriptor(struct resolving *resolving, const struct asked *asked, const char *why)
{
    error_set(resolving->error, ERROR_POLICY_INVALID, EBADF, "descriptor-invalid", "%s %s: %s", asked->by,
              QUOTE(asked->value), why);
    return error_hint(resolving->error, "give the number of an open descriptor above 2");
}

int resolve_pass_fds(struct resolving *resolving)
{
    struct resolved *resolved = resolving->resolved;
    const struct entries *entries = &resolving->policy->list[LIST_PASS_FD];

    for (size_t i = 0; i < entries->count; i++) {
        struct asked asked = asked_entry(&entries->items[i], LIST_PASS_FD);
        char *end;
        long fd = strtol(asked.value, &end, 10);

        if (end == asked.value || *end || asked.value[0] < '0' || asked.value[0] > '9' || fd > 1 << 24)
            return fail_descriptor(resolving, &asked, "not a descriptor number");
        if (fd <= STDERR_FILENO)
            return fail_descriptor(resolving, &asked, "0 to 2 are passed anyway");
        if (fcntl((int)fd, F_GETFD) < 0)
            return fail_descriptor(resolving, &asked, "it is not open");
        if (!array_more(&resolved->pass_fds, resolved->pass_fd_count, sizeof(int)))
            return error_no_memory(resolving->error);
        resolved->pass_fds[resolved->pass_fd_count++] = (int)fd;
        handed_look(&resolved->passed, (int)fd);
    }
    return 0;
}
