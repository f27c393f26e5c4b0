/*
 * check_judge.c - what crossed, held against what is claimed.
 *
 * Should:  call over-claim whatever crossed where the report says that nothing can.
 * Mustn't: count as held what had no control, was left out or went wrong.
 */
#include "cli/check.h"

#include "report/report.h"

#include <errno.h>
#include <string.h>

const char *verdict_name(enum verdict verdict)
{
    static const char *const names[VERDICT_COUNT] = {
        [VERDICT_ERROR] = "error",     [VERDICT_SKIPPED] = "skipped", [VERDICT_NO_CONTROL] = "no-control",
        [VERDICT_BLOCKED] = "blocked", [VERDICT_CROSSED] = "crossed",
    };

    return names[verdict];
}

const char *judgement_name(enum judgement judgement)
{
    static const char *const names[JUDGED_COUNT] = {
        [JUDGED_NOT_TRIED] = "not-tried",   [JUDGED_HELD] = "held",
        [JUDGED_DECLARED] = "declared",     [JUDGED_UNDER_CLAIM] = "under-claim",
        [JUDGED_OVER_CLAIM] = "over-claim",
    };

    return names[judgement];
}

enum verdict verdict_of(const json_t *attempt)
{
    const char *name = json_string_value(json_object_get(attempt, "verdict"));

    for (int i = 0; name && i < VERDICT_COUNT; i++)
        if (strcmp(verdict_name((enum verdict)i), name) == 0)
            return (enum verdict)i;
    return VERDICT_ERROR;
}

static enum surface_state state_by_name(const char *name)
{
    static const enum surface_state states[] = {STATE_PARTIAL, STATE_ENFORCED, STATE_ABSENT};

    for (size_t i = 0; name && i < ARRAY_SIZE(states); i++)
        if (strcmp(state_name(states[i]), name) == 0)
            return states[i];
    return STATE_OPEN;
}

static bool is_claimed(enum surface_state state)
{
    return state == STATE_ENFORCED || state == STATE_ABSENT;
}

static enum judgement judge_tally(const struct tally *tally)
{
    unsigned crossed = tally->verdicts[VERDICT_CROSSED], blocked = tally->verdicts[VERDICT_BLOCKED];

    if (crossed > 0)
        return tally->over_claims > 0 ? JUDGED_OVER_CLAIM : JUDGED_DECLARED;
    if (blocked == 0)
        return JUDGED_NOT_TRIED;
    return tally->state == STATE_OPEN ? JUDGED_UNDER_CLAIM : JUDGED_HELD;
}

/* A surface that is held in part is open to what its reason says, and to nothing else that is tried here. A
 * reason that is not in the table excuses everything. */
static const struct {
    const char *reason;
    const char *ids[3]; /* that it excuses */
} excuses[] = {
    {"sockets-of-later", {"NET-37"}},
    {"sockets-in-writable", {"NET-37", "NET-88"}},
    {"names-visible", {"FS-89"}},
    {"replaced-reappears", {"FS-89"}},
    {"nodes-on-disk", {"FS-36"}},
    {"mounts-of-later", {"FS-123"}},
    {"supervisor-killed", {"PROC-25", "SET-100", "SET-111"}},
};

static bool is_excused(const struct tally *tally, const char *id)
{
    if (tally->state != STATE_PARTIAL)
        return !is_claimed(tally->state);
    for (size_t i = 0; i < ARRAY_SIZE(excuses); i++) {
        if (!tally->reason || strcmp(excuses[i].reason, tally->reason) != 0)
            continue;
        for (size_t k = 0; k < ARRAY_SIZE(excuses[i].ids) && excuses[i].ids[k]; k++)
            if (id && strcmp(excuses[i].ids[k], id) == 0)
                return true;
        return false;
    }
    return true;
}

/* What one attempt came to, by itself. */
static enum judgement judge_attempt(enum verdict verdict, const struct tally *tally, const char *id)
{
    if (verdict == VERDICT_CROSSED)
        return is_excused(tally, id) ? JUDGED_DECLARED : JUDGED_OVER_CLAIM;
    return verdict == VERDICT_BLOCKED ? JUDGED_HELD : JUDGED_NOT_TRIED;
}

/* The error of the report that says why the command did not run. */
static int take_error(struct checked *checked)
{
    const json_t *error = json_object_get(checked->report, "error");
    const char *reason = json_string_value(json_object_get(error, "reason"));
    const char *message = json_string_value(json_object_get(error, "message"));
    const char *hint = json_string_value(json_object_get(error, "hint"));

    if (checked->error.code != ERROR_NONE)
        return -EINVAL;
    if (json_is_object(error)) {
        error_set(&checked->error, ERROR_SANDBOX_UNAVAILABLE, ENOSYS, reason ? reason : "unknown", "%s",
                  message ? message : "the confinement could not be started");
        return hint ? error_hint(&checked->error, "%s", hint) : -ENOSYS;
    }
    if (!checked->report)
        return error_set(&checked->error, ERROR_INTERNAL, EPROTO, "battery-failed",
                         "%s: the battery ended before a run had a report", checked->backend);
    return 0;
}

int judge(struct checked *checked)
{
    json_t *attempt, *surface;
    size_t i;
    int result = take_error(checked);

    if (result < 0)
        return result;
    snprintf(checked->backend, sizeof(checked->backend), "%s",
             json_string_value(json_object_get(checked->report, "backend")) ?: "none");
    json_array_foreach(json_object_get(checked->report, "surfaces"), i, surface)
    {
        const char *name = json_string_value(json_object_get(surface, "id"));
        int number = name ? surface_by_name(name) : -1;

        if (number < 0)
            continue;
        checked->tally[number].state = state_by_name(json_string_value(json_object_get(surface, "state")));
        checked->tally[number].reason = json_string_value(json_object_get(surface, "reason"));
    }
    json_array_foreach(checked->attempts, i, attempt)
    {
        const char *name = json_string_value(json_object_get(attempt, "surface"));
        int number = name ? surface_by_name(name) : -1;
        const char *claim = json_string_value(json_object_get(attempt, "claim"));
        enum verdict verdict = verdict_of(attempt);
        enum judgement judgement;

        if (number < 0)
            return error_set(&checked->error, ERROR_INTERNAL, EPROTO, "battery-failed",
                             "%s: the battery names no surface that there is", checked->backend);
        /* It was made in a run of its own that had more than the others: that one's report counts. */
        if (claim) {
            checked->tally[number].state = state_by_name(claim);
            checked->tally[number].reason = NULL;
        }
        judgement = judge_attempt(verdict, &checked->tally[number],
                                  json_string_value(json_object_get(attempt, "id")));
        checked->tally[number].verdicts[verdict]++;
        checked->tally[number].over_claims += judgement == JUDGED_OVER_CLAIM;
        if (json_object_set_new(attempt, "judgement", json_string(judgement_name(judgement))) != 0)
            return error_no_memory(&checked->error);
    }
    for (int s = 0; s < SURFACE_COUNT; s++)
        checked->tally[s].judgement = judge_tally(&checked->tally[s]);
    return 0;
}

unsigned judge_count(const struct checked *checked, enum verdict verdict)
{
    unsigned count = 0;

    for (int s = 0; s < SURFACE_COUNT; s++)
        count += checked->tally[s].verdicts[verdict];
    return count;
}

/* Why the first attempt that proves nothing does not; NULL: there is none. */
static const char *find_obstacle(const struct checked *checked)
{
    const json_t *attempt;
    size_t i;

    json_array_foreach(checked->attempts, i, attempt)
    {
        const char *reason = json_string_value(json_object_get(attempt, "reason"));

        if (reason && verdict_of(attempt) != VERDICT_BLOCKED && verdict_of(attempt) != VERDICT_CROSSED)
            return reason;
    }
    return NULL;
}

void judge_nothing(const struct checked *checked, size_t count, struct text *text)
{
    const char *obstacle = NULL;
    size_t attempts = 0;

    for (size_t i = 0; i < count; i++) {
        attempts += json_array_size(checked[i].attempts);
        obstacle = obstacle ?: find_obstacle(&checked[i]);
    }
    if (attempts == 0)
        text_add(text, "nothing was tried: no attempt matches");
    else
        text_addf(text, "nothing was tried that proves anything: %zu attempt%s: %s", attempts,
                  attempts == 1 ? "" : "s", obstacle ?: "not known why");
}

unsigned judge_surfaces(const struct checked *checked, enum judgement judgement)
{
    unsigned count = 0;

    for (int s = 0; s < SURFACE_COUNT; s++)
        count += checked->tally[s].judgement == judgement;
    return count;
}

static int set_counts(json_t *object, const unsigned counts[VERDICT_COUNT])
{
    static const char *const keys[VERDICT_COUNT] = {
        [VERDICT_ERROR] = "errors",    [VERDICT_SKIPPED] = "skipped", [VERDICT_NO_CONTROL] = "no_control",
        [VERDICT_BLOCKED] = "blocked", [VERDICT_CROSSED] = "crossed",
    };
    int result = 0;

    for (int v = VERDICT_COUNT - 1; v >= 0; v--)
        result |= json_object_set_new(object, keys[v], json_integer(counts[v]));
    return result;
}

static json_t *surfaces_json(const struct checked *checked)
{
    json_t *array = json_array();
    int result = 0;

    for (int s = 0; s < SURFACE_COUNT && checked->error.code == ERROR_NONE; s++) {
        json_t *object = json_object();

        result |= json_object_set_new(object, "id", json_string(surface_table[s].name));
        result |= json_object_set_new(object, "state", json_string(state_name(checked->tally[s].state)));
        result |= json_object_set_new(object, "judgement",
                                      json_string(judgement_name(checked->tally[s].judgement)));
        result |= set_counts(object, checked->tally[s].verdicts);
        result |= json_array_append_new(array, object);
    }
    if (result == 0)
        return array;
    json_decref(array);
    return NULL;
}

static json_t *backend_json(const struct checked *checked)
{
    const struct error *error = &checked->error;
    bool usable = error->code == ERROR_NONE;
    unsigned counts[VERDICT_COUNT];
    json_t *object = json_object(), *totals = json_object();
    int result = 0;

    for (int v = 0; v < VERDICT_COUNT; v++)
        counts[v] = judge_count(checked, (enum verdict)v);
    result |= set_counts(totals, counts);
    result |=
        json_object_set_new(totals, "over_claims", json_integer(judge_surfaces(checked, JUDGED_OVER_CLAIM)));
    result |= json_object_set_new(totals, "under_claims",
                                  json_integer(judge_surfaces(checked, JUDGED_UNDER_CLAIM)));
    result |= json_object_set_new(object, "name", json_string(checked->backend));
    result |= json_object_set_new(object, "usable", json_boolean(usable));
    result |= json_object_set_new(object, "reason", usable ? json_null() : json_string(error->reason));
    result |= json_object_set_new(object, "message", usable ? json_null() : json_string(error->message));
    result |= json_object_set_new(object, "totals", totals);
    result |= json_object_set_new(object, "surfaces", surfaces_json(checked));
    result |= json_object_set(object, "attempts", checked->attempts);
    if (result == 0)
        return object;
    json_decref(object);
    return NULL;
}

json_t *judge_json(const struct checked *checked, size_t count)
{
    json_t *root = json_object(), *array = json_array();
    int result = json_object_set_new(root, "schema", json_string("confine/check/1"));

    result |= json_object_set_new(root, "version", json_string(CONFINE_VERSION));
    result |= json_object_set_new(root, "backends", array);
    for (size_t i = 0; result == 0 && i < count; i++)
        result |= json_array_append_new(array, backend_json(&checked[i]));
    if (result == 0)
        return root;
    json_decref(root);
    return NULL;
}

void checked_free(struct checked *checked)
{
    json_decref(checked->attempts);
    json_decref(checked->report);
    *checked = (struct checked){0};
}
