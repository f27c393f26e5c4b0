/*
 * namespace_hidden.c - how a view of its own holds what is hidden.
 *
 * A mask is an empty object on the name, as it was found at the start: what
 * replaces it outside is seen. What somebody named is left out by its name, by
 * showing the directory that it is in anew without it (a cover), where that
 * directory is not to be written and holds no mount: a cover shows neither.
 * A masked directory with something granted in it keeps the way to that, and
 * nothing else.
 *
 * Should:  hold whatever is seen; a private place shows what is bound into it.
 * Mustn't: cover what the command may write, or call a mask a hold by name.
 */
#include "backend/namespace.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* What is known of a hidden path. */
struct view_known {
    const struct hidden *above; /* the nearest of the others that it lies in; NULL: none */
    size_t group;               /* index of the first one in the same directory */
    size_t member;              /* 1 + the index of the next one there; 0: none */
    bool inside;                /* it lies in another one, or is the same */
    bool left_out;              /* it has no name */
    bool nameless;              /* it, or what it lies in, has none */
    uint8_t hold;               /* enum view_hold */
};

static struct view_known *known_of(const struct builder *b, const struct hidden *hidden)
{
    return &b->known[hidden - b->resolved->hidden];
}

static bool is_read_in_private(const struct builder *b, const char *path)
{
    const struct resolved *resolved = b->resolved;

    for (size_t i = 0; i < resolved->path_count; i++)
        if (resolved->paths[i].grant == GRANT_READ && view_is_private(resolved->paths[i].path) &&
            view_within(path, resolved->paths[i].path))
            return true;
    for (size_t i = 0; i < resolved->view.kept.count; i++)
        if (view_within(path, resolved->view.kept.items[i]))
            return true;
    return false;
}

/* Of the view's own, so that nothing laid there beforehand is seen. */
static bool is_made_anew(const char *path)
{
    return view_within(path, "/proc") || view_is_base_device(path);
}

bool view_brings(const struct builder *b, const char *path)
{
    return !is_made_anew(path) && (view_shows(b, path) || is_read_in_private(b, path));
}

bool view_sees(const struct builder *b, const char *path)
{
    return is_made_anew(path) || view_brings(b, path);
}

/* Is something at or below PATH granted or shown? */
static bool holds_grant(const struct builder *b, const char *path)
{
    const struct resolved *resolved = b->resolved;

    for (size_t i = 0; i < b->granted; i++)
        if (resolved->paths[i].grant != GRANT_NONE && view_within(resolved->paths[i].path, path))
            return true;
    for (size_t i = 0; i < resolved->shown.count; i++)
        if (view_within(resolved->shown.items[i], path))
            return true;
    return false;
}

/* Is exactly PATH granted? */
static bool is_granted(const struct builder *b, const char *path)
{
    for (size_t i = 0; i < b->granted; i++)
        if (b->resolved->paths[i].grant != GRANT_NONE && strcmp(b->resolved->paths[i].path, path) == 0)
            return true;
    return false;
}

/* --- covers --------------------------------------------------------------------------------------------- */

/* Bytes of the name of the directory that it is in; 0: the root. */
static size_t parent_length(const struct hidden *hidden)
{
    return strlen(hidden->path) - strlen(hidden->name) - 1;
}

static bool in_parent(const char *path, const struct hidden *hidden)
{
    size_t length = parent_length(hidden);

    return strncmp(path, hidden->path, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static bool same_parent(const struct hidden *one, const struct hidden *other)
{
    size_t length = parent_length(one);

    return parent_length(other) == length && memcmp(one->path, other->path, length) == 0;
}

static bool parent_is_private(const struct hidden *hidden)
{
    static const char *const places[] = {"/tmp", "/run", "/var/run", "/dev", "/proc"};
    size_t length = parent_length(hidden);

    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        size_t place = strlen(places[i]);

        if (in_parent(places[i], hidden) || (length >= place && view_within(hidden->path, places[i])))
            return true;
    }
    return false;
}

/* A rule of Landlock on what lies below an overlay does not reach what is seen of it. */
static bool parent_is_ruled(const struct builder *b, const struct hidden *hidden)
{
    for (size_t i = 0; i < b->resolved->path_count && b->resolved->policy->readable_listed; i++)
        if (b->resolved->paths[i].grant == GRANT_READ && in_parent(b->resolved->paths[i].path, hidden))
            return true;
    return false;
}

/* What holds the other one holds this one, as well and no better. */
static bool is_in_another(const struct builder *b, const struct hidden *hidden)
{
    const struct resolved *resolved = b->resolved;

    for (size_t i = 0; i < resolved->around_count; i++)
        if (view_within(hidden->path, resolved->around[i].path))
            return true;
    return known_of(b, hidden)->inside;
}

static bool parent_is_writable(const struct builder *b, const struct hidden *hidden)
{
    for (size_t i = 0; i < b->granted; i++) {
        const char *root = b->resolved->paths[i].path;
        size_t length = strlen(root);

        if (b->resolved->paths[i].grant == GRANT_WRITE && parent_length(hidden) >= length &&
            view_within(hidden->path, root))
            return true;
    }
    return false;
}

static bool is_left_out(const struct builder *b, const struct hidden *hidden)
{
    return hidden->named && hidden->plain_parent && parent_length(hidden) > 0 && !b->plan->foreign &&
           b->host->overlays != HOST_NO && !is_open(b, SURFACE_FS_HIDDEN) && !parent_is_private(hidden) &&
           !parent_is_writable(b, hidden) && !holds_grant(b, hidden->path) && !parent_is_ruled(b, hidden) &&
           !is_in_another(b, hidden);
}

/* --- which of them holds -------------------------------------------------------------------------------- */

bool view_masks(const struct builder *b, const struct hidden *hidden)
{
    const char *path = hidden->path;

    if (is_open(b, SURFACE_FS_HIDDEN) || is_made_anew(path) || is_granted(b, path))
        return false;
    if (b->plan->foreign)
        return view_shows(b, path) && !resolved_under_writable(b->resolved, path) && !holds_grant(b, path);
    return view_sees(b, path);
}

bool view_keeps(const struct builder *b, const struct hidden *hidden)
{
    return holds_grant(b, hidden->path);
}

static bool masks_around(const struct builder *b, const struct hidden *around)
{
    return !b->plan->foreign && view_masks(b, around);
}

/* Does PATH lie in the hidden DIRECTORY, and in nothing of it that is granted or shown? */
static bool is_gone_with(const struct builder *b, const char *path, const char *directory)
{
    const struct resolved *resolved = b->resolved;
    size_t length = strlen(directory);

    if (!view_within(path, directory) || path[length] == '\0')
        return false;
    for (size_t i = 0; i < resolved->path_count; i++)
        if (resolved->paths[i].grant != GRANT_NONE && strlen(resolved->paths[i].path) > length &&
            view_within(path, resolved->paths[i].path))
            return false;
    for (size_t i = 0; i < resolved->shown.count; i++)
        if (strlen(resolved->shown.items[i]) > length && view_within(path, resolved->shown.items[i]))
            return false;
    return true;
}

bool view_hides(const struct builder *b, const char *path)
{
    const struct resolved *resolved = b->resolved;

    for (size_t i = 0; i < resolved->around_count; i++)
        if (is_gone_with(b, path, resolved->around[i].path))
            return !is_open(b, SURFACE_FS_HIDDEN);
    for (size_t i = 0; i < resolved->hidden_count; i++)
        if (is_gone_with(b, path, resolved->hidden[i].path) || strcmp(path, resolved->hidden[i].path) == 0)
            return !is_open(b, SURFACE_FS_HIDDEN);
    return false;
}

/* Is it in a masked directory that keeps the way to something else? */
static bool is_around(const struct builder *b, const struct hidden *hidden)
{
    const struct resolved *resolved = b->resolved;
    const char *path = hidden->path;

    for (size_t i = 0; i < resolved->around_count; i++)
        if (masks_around(b, &resolved->around[i]) && is_gone_with(b, path, resolved->around[i].path))
            return true;
    for (hidden = known_of(b, hidden)->above; hidden; hidden = known_of(b, hidden)->above)
        if (is_gone_with(b, path, hidden->path) && view_keeps(b, hidden) && view_masks(b, hidden))
            return true;
    return false;
}

/* Is PATH, which is granted or shown, in a masked directory, so that it has to be put back there? */
bool view_puts_back(const struct builder *b, const char *path)
{
    const struct resolved *resolved = b->resolved;

    for (size_t i = 0; i < resolved->around_count; i++)
        if (view_within(path, resolved->around[i].path) && masks_around(b, &resolved->around[i]))
            return true;
    for (size_t i = 0; i < resolved->hidden_count; i++)
        if (view_within(path, resolved->hidden[i].path) && view_masks(b, &resolved->hidden[i]))
            return true;
    return false;
}

static enum view_hold find_hold(const struct builder *b, const struct hidden *hidden)
{
    if (is_open(b, SURFACE_FS_HIDDEN))
        return VIEW_HOLD_NONE;
    if (!view_sees(b, hidden->path))
        return VIEW_HOLD_UNSEEN;
    if (known_of(b, hidden)->nameless)
        return VIEW_HOLD_NAME;
    if (is_around(b, hidden))
        return VIEW_HOLD_AROUND;
    return view_masks(b, hidden) ? VIEW_HOLD_MASK : VIEW_HOLD_NONE;
}

enum view_hold view_holds(const struct builder *b, const struct hidden *hidden)
{
    return known_of(b, hidden)->hold;
}

/* --- what is found out once ----------------------------------------------------------------------------- */

/* As trees are listed: what lies in a directory stands right behind it. Of equals the first of them is first.
 */
static int compare_paths(const void *left, const void *right)
{
    const struct hidden *a = *(const struct hidden *const *)left, *b = *(const struct hidden *const *)right;
    const char *x = a->path, *y = b->path;

    while (*x && *x == *y) {
        x++;
        y++;
    }
    if (*x == *y)
        return (a > b) - (a < b);
    if (*x == '\0' || *y == '\0')
        return *x ? 1 : -1;
    if (*x == '/' || *y == '/')
        return *x == '/' ? -1 : 1;
    return (int)(unsigned char)*x - (int)(unsigned char)*y;
}

/* By the directory that they are in. */
static int compare_parents(const void *left, const void *right)
{
    const struct hidden *a = *(const struct hidden *const *)left, *b = *(const struct hidden *const *)right;
    size_t x = parent_length(a), y = parent_length(b);
    int difference = memcmp(a->path, b->path, x < y ? x : y);

    if (difference != 0)
        return difference;
    return x == y ? (a > b) - (a < b) : (x > y) - (x < y);
}

static void find_above(struct builder *b, const struct hidden **sorted)
{
    for (size_t i = 1; i < b->resolved->hidden_count; i++) {
        const struct hidden *above = sorted[i - 1];

        while (above && !view_within(sorted[i]->path, above->path))
            above = known_of(b, above)->above;
        known_of(b, sorted[i])->above = above;
        known_of(b, sorted[i])->inside = above;
        if (above && strcmp(above->path, sorted[i]->path) == 0)
            known_of(b, above)->inside = true;
    }
}

static void find_groups(struct builder *b, const struct hidden **sorted)
{
    const struct hidden *first = NULL;

    for (size_t i = 0; i < b->resolved->hidden_count; i++) {
        struct view_known *known = known_of(b, sorted[i]);

        if (!first || !same_parent(first, sorted[i]))
            first = sorted[i];
        else
            known_of(b, sorted[i - 1])->member = (size_t)(sorted[i] - b->resolved->hidden) + 1;
        known->group = (size_t)(first - b->resolved->hidden);
    }
}

int view_know(struct builder *b)
{
    size_t count = b->resolved->hidden_count;
    const struct hidden **sorted = calloc(count + 1, sizeof(*sorted));

    b->known = calloc(count + 1, sizeof(*b->known));
    if (!b->known || !sorted) {
        free(sorted);
        view_forget(b);
        return -ENOMEM;
    }
    for (size_t i = 0; i < b->resolved->path_count; i++)
        if (b->resolved->paths[i].grant != GRANT_NONE)
            b->granted = i + 1;
    for (size_t i = 0; i < count; i++)
        sorted[i] = &b->resolved->hidden[i];
    qsort(sorted, count, sizeof(*sorted), compare_paths);
    find_above(b, sorted);
    qsort(sorted, count, sizeof(*sorted), compare_parents);
    find_groups(b, sorted);
    qsort(sorted, count, sizeof(*sorted), compare_paths);
    for (size_t i = 0; i < count; i++) {
        struct view_known *known = known_of(b, sorted[i]);

        known->left_out = is_left_out(b, sorted[i]);
        known->nameless = known->left_out || (known->above && known_of(b, known->above)->nameless);
        known->hold = (uint8_t)find_hold(b, sorted[i]);
    }
    free(sorted);
    return 0;
}

void view_forget(struct builder *b)
{
    free(b->known);
    b->known = NULL;
}

const char *view_unheld(const struct builder *b, const struct hidden *hidden)
{
    if (is_made_anew(hidden->path))
        return "made-anew";
    if (hidden->held)
        return hidden->held;
    return view_shows(b, hidden->path) ? "contains-grant" : "private-place";
}

/* --- words and checks ----------------------------------------------------------------------------------- */

/* By its descriptor where there is one: a name may be something else's by the time of the mount. */
static void add_object(struct builder *b, const char *option, size_t object, const char *name)
{
    if (object > 0) {
        build_path(b, option, object - 1);
        return;
    }
    build_word(b, option);
    build_word(b, name);
}

static void add_covers(struct builder *b)
{
    const struct resolved *resolved = b->resolved;

    for (size_t i = 0; i < resolved->hidden_count; i++) {
        const struct hidden *hidden = &resolved->hidden[i];
        size_t group = b->known[i].group;
        char parent[PATH_MAX];
        bool first = b->known[i].left_out;

        for (size_t k = group; k < i && first; k++)
            first = b->known[k].group != group || !b->known[k].left_out;
        if (!first || parent_length(hidden) >= sizeof(parent))
            continue;
        memcpy(parent, hidden->path, parent_length(hidden));
        parent[parent_length(hidden)] = '\0';
        add_object(b, "--cover", hidden->directory, parent);
        for (size_t k = i + 1; k > 0; k = b->known[k - 1].member)
            if (b->known[k - 1].left_out) {
                build_word(b, "--name");
                build_word(b, resolved->hidden[k - 1].name);
            }
    }
}

void build_hidden(struct builder *b)
{
    const struct resolved *resolved = b->resolved;

    add_covers(b);
    for (size_t i = 0; i < resolved->around_count; i++)
        if (masks_around(b, &resolved->around[i]))
            add_object(b, "--hide", resolved->around[i].object, resolved->around[i].path);
    for (size_t i = 0; i < resolved->hidden_count; i++)
        if (view_holds(b, &resolved->hidden[i]) == VIEW_HOLD_MASK)
            add_object(b, "--hide", resolved->hidden[i].object, resolved->hidden[i].path);
}
