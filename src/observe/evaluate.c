/*
 * evaluate.c - what the kernel will say to a call, from the policy that it was told.
 *
 * Should:  follow the order in which the kernel asks: what an ordinary file system refuses by itself, a
 *          file's mode, a read-only mount of the machine's, is no refusal of the sandbox.
 *
 * The observer asks to tell of what the kernel has refused or will: no answer to it grants or refuses
 * anything. The fence (src/fence) asks before it opens, and there the answer is all that holds. So for it
 * (rules_fence()) nothing is left to a kernel that would ask again, and what is not known is refused.
 *
 * Mustn't: judge a name that may have been changed since: who decides by the answer has the object open.
 */
#include "observe/evaluate.h"

#include "policy/resolve_internal.h"

#include <string.h>

#define PORT_NAMES 53 /* where names are looked up */

static bool has_link(const struct plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->word_count; i++)
        if (plan->words[i].kind == WORD_TEXT && strcmp(plan->words[i].text, name) == 0)
            return true;
    return false;
}

static void add_place(struct rules *rules, const char *path)
{
    if (path && rules->place_count < PLACES_MOST)
        rules->places[rules->place_count++] = path;
}

void rules_make(struct rules *rules, const struct resolved *resolved, const struct plan *plan,
                const char *tmp)
{
    static const char *const own[] = {"/tmp", "/dev/shm", "/dev/pts"};

    *rules = (struct rules){
        .resolved = resolved,
        .view = plan->own_tmp != NULL,
        .layer = has_link(plan, "landlock-run"),
        .protects = plan->own_tmp != NULL && !plan->foreign && !resolved->open[SURFACE_FS_PROTECTED],
        .cut = plan->own_tmp != NULL && resolved->policy->network == NETWORK_NONE,
        .listed = plan->own_tmp != NULL && !resolved->session && resolved->policy->network == NETWORK_LISTED};
    add_place(rules, tmp);
    for (size_t i = 0; rules->view && i < ARRAY_SIZE(own); i++)
        add_place(rules, own[i]);
    for (size_t i = 0; i < resolved->cache_count && plan->overlays; i++)
        if (resolved->caches[i].place != SIZE_MAX)
            add_place(rules, resolved->paths[resolved->caches[i].place].path);
}

void rules_fence(struct rules *rules, const struct resolved *resolved)
{
    const char *backend = resolved->policy->backend;
    bool holds = resolved->mode != MODE_DANGER_FULL_ACCESS;

    *rules = (struct rules){.resolved = resolved,
                            .layer = holds,
                            .protects = holds && !resolved->open[SURFACE_FS_PROTECTED],
                            .decides = holds,
                            .apart = holds && !(backend && strcmp(backend, "landlock") == 0)};
}

bool rules_apart(const struct rules *rules, const char *path)
{
    return rules->apart && resolved_apart(rules->resolved, path);
}

bool rules_reaches(const struct rules *rules, const char *directory, const char *path)
{
    const struct resolved *resolved = rules->resolved;
    size_t length = strlen(directory);

    for (size_t i = 0; i < resolved->path_count; i++)
        if (resolved->paths[i].grant != GRANT_NONE && path_contains(directory, resolved->paths[i].path) &&
            path_contains(resolved->paths[i].path, path))
            return true;
    for (size_t i = 0; i < resolved->shown.count; i++)
        if (strlen(resolved->shown.items[i]) > length && path_contains(directory, resolved->shown.items[i]) &&
            path_contains(resolved->shown.items[i], path))
            return true;
    return false;
}

size_t rules_hidden(const struct rules *rules, const char *path)
{
    const struct resolved *resolved = rules->resolved;

    if (rules->decides && resolved->open[SURFACE_FS_HIDDEN])
        return 0;
    for (size_t i = 0; i < resolved->hidden_count; i++)
        if (path_contains(resolved->hidden[i].path, path) &&
            (rules->decides ? !rules_reaches(rules, resolved->hidden[i].path, path)
                            : !resolved->hidden[i].held))
            return i + 1;
    for (size_t i = 0; rules->decides && i < resolved->around_count; i++)
        if (path_contains(resolved->around[i].path, path) &&
            !rules_reaches(rules, resolved->around[i].path, path))
            return resolved->hidden_count + i + 1;
    return 0;
}

/* In a private place there is what the command makes there, and what is shown of outside: to be read. */
static bool shows_outside(const struct resolved *resolved, const char *place, const char *path)
{
    const struct strings *kept = &resolved->view.kept;

    for (size_t i = 0; i < kept->count; i++)
        if (path_contains(place, kept->items[i]) && path_contains(kept->items[i], path))
            return true;
    for (size_t i = 0; i < resolved->path_count; i++) {
        const struct resolved_path *granted = &resolved->paths[i];

        if (granted->grant == GRANT_READ && granted->named && path_contains(place, granted->path) &&
            path_contains(granted->path, path))
            return true;
    }
    return false;
}

/* @below: what is granted itself does not count. */
static bool is_writable(const struct rules *rules, const char *path, bool below)
{
    const struct resolved *resolved = rules->resolved;

    for (size_t i = 0; i < rules->place_count; i++)
        if (path_contains(rules->places[i], path) && !(below && strcmp(rules->places[i], path) == 0) &&
            !shows_outside(resolved, rules->places[i], path))
            return true;
    for (size_t i = 0; i < resolved->path_count; i++) {
        const struct resolved_path *granted = &resolved->paths[i];

        if ((granted->grant == GRANT_WRITE || granted->grant == GRANT_DEVICE) &&
            path_contains(granted->path, path) && !(below && strcmp(granted->path, path) == 0))
            return true;
    }
    return false;
}

bool rules_writable(const struct rules *rules, const char *path)
{
    return is_writable(rules, path, false);
}

bool rules_renamable(const struct rules *rules, const char *path)
{
    return is_writable(rules, path, true);
}

size_t rules_protected(const struct rules *rules, const char *path, bool around)
{
    const struct strings *held = &rules->resolved->protected_paths;

    for (size_t i = 0; rules->protects && i < held->count; i++)
        if (path_contains(held->items[i], path) || (around && path_contains(path, held->items[i])))
            return i + 1;
    return 0;
}

/* Without mounts hidden files keep their names, and the directories that have them can be listed. */
static bool lists_hidden(const struct rules *rules, const struct object *object)
{
    return S_ISDIR(object->type) && !rules->view && !rules->decides;
}

/* By name; where reading is not restricted everything is that is not hidden.
 * @ret_hidden: 1 + the index of what is hidden and holds it, else 0 */
static bool is_readable(const struct rules *rules, const struct object *object, size_t *ret_hidden)
{
    const struct resolved *resolved = rules->resolved;
    const char *path = object->path;

    *ret_hidden = lists_hidden(rules, object) ? 0 : rules_hidden(rules, path);
    if (*ret_hidden)
        return false;
    if (!resolved->policy->readable_listed || rules_writable(rules, path))
        return true;
    for (size_t i = 0; i < resolved->path_count; i++) {
        const struct resolved_path *granted = &resolved->paths[i];

        if ((granted->grant == GRANT_READ || granted->grant == GRANT_SHOW) &&
            path_contains(granted->path, path))
            return true;
    }
    return false;
}

static bool is_special(mode_t type)
{
    return S_ISCHR(type) || S_ISBLK(type) || S_ISFIFO(type) || S_ISSOCK(type);
}

static enum surface surface_of(enum denial_operation operation, const struct object *object)
{
    if (operation == DENIAL_METADATA)
        return SURFACE_FS_METADATA;
    if (operation == DENIAL_TRUNCATE)
        return SURFACE_FS_TRUNCATE;
    if (operation == DENIAL_WRITE && (S_ISCHR(object->type) || S_ISBLK(object->type)))
        return SURFACE_FS_DEVICE;
    if (operation == DENIAL_WRITE && S_ISFIFO(object->type))
        return SURFACE_FS_SPECIAL;
    return SURFACE_FS_WRITE;
}

struct verdict evaluate_change(const struct rules *rules, enum denial_operation operation,
                               const struct object *object)
{
    struct verdict verdict = {.surface = surface_of(operation, object)};
    bool moves = operation == DENIAL_REMOVE || operation == DENIAL_RENAME;
    bool opens = operation == DENIAL_WRITE && is_special(object->type); /* no mount refuses that */
    /* What is protected below a name that may not be moved anyway is not the reason. */
    size_t held = rules_protected(rules, object->path,
                                  moves && (object->granted || is_writable(rules, object->path, true)));
    size_t hidden = rules->decides ? rules_hidden(rules, object->path) : 0;

    if (hidden) {
        verdict = (struct verdict){ANSWER_REFUSED, SURFACE_FS_HIDDEN, DENIAL_BY_HIDE, hidden - 1};
        return verdict;
    }
    if (held) {
        verdict.answer = object->mode_first && object->by_mode ? ANSWER_BY_MODE : ANSWER_REFUSED;
        verdict.surface = SURFACE_FS_PROTECTED;
        verdict.rule = DENIAL_BY_PROTECT;
        verdict.index = held - 1;
        return verdict;
    }
    if (object->granted || is_writable(rules, object->path, object->as_name))
        return verdict;
    if (rules->view && object->read_only && object->read_only_outside && !opens)
        return verdict; /* so it is for everybody on this machine */
    if (object->mode_first && object->by_mode)
        verdict.answer = ANSWER_BY_MODE;
    else if ((rules->view && object->read_only && !opens) ||
             (rules->layer && operation != DENIAL_METADATA && (object->exists || object->arrives || !moves)))
        verdict.answer = ANSWER_REFUSED;
    return verdict;
}

struct verdict evaluate_read(const struct rules *rules, const struct object *object)
{
    struct verdict verdict = {.surface = SURFACE_FS_READ};
    size_t hidden;

    if (object->granted || is_readable(rules, object, &hidden))
        return verdict;
    if (object->by_mode) {
        verdict.answer = ANSWER_BY_MODE;
        return verdict;
    }
    verdict.answer = ANSWER_REFUSED;
    if (hidden) {
        verdict.surface = SURFACE_FS_HIDDEN;
        verdict.rule = DENIAL_BY_HIDE;
        verdict.index = hidden - 1;
    }
    return verdict;
}

struct verdict evaluate_network(const struct rules *rules, enum denial_operation operation,
                                const struct peer *peer)
{
    struct verdict verdict = {.surface = peer->datagram ? SURFACE_NET_UDP : SURFACE_NET_TCP,
                              .rule = DENIAL_BY_NETWORK};
    bool inside = peer->loopback || (operation == DENIAL_BIND && peer->any);

    /* A loopback of its own is the command's; but nobody answers for names there. */
    if (operation != DENIAL_BIND && inside && peer->port == PORT_NAMES)
        inside = false;
    if (rules->cut && peer->inet && !inside)
        verdict.answer = ANSWER_REFUSED;
    /* A datagram's connection is made all the same: a libc asks so which address would be its own. */
    if (rules->listed && peer->inet && !peer->loopback && operation != DENIAL_BIND && !peer->listened &&
        !(peer->datagram && peer->local && operation == DENIAL_CONNECT)) {
        verdict.answer = ANSWER_REFUSED;
        if (!peer->datagram)
            verdict.surface = SURFACE_NET_LISTED;
    }
    return verdict;
}
