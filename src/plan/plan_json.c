/*
 * plan_json.c - a plan and its claims as JSON.
 *
 * Should:  give the same bytes for the same plan; print names where the run will put descriptors.
 * Mustn't: lose a surface: one that has no claim is printed as open.
 */
#include "plan/plan_json.h"

#include <errno.h>

void plan_surfaces_write(struct writer *writer, const char *key, const struct claim *claims)
{
    static const struct claim nothing = {.reason = "not-planned"};

    writer_array(writer, key);
    for (int s = 0; s < SURFACE_COUNT; s++) {
        const struct claim *claim = claims ? &claims[s] : &nothing;

        writer_object(writer, NULL);
        writer_text(writer, "id", surface_table[s].name);
        writer_text(writer, "state", state_name(claim->state));
        writer_integer(writer, "tried", claim->tried);
        if (claim->approved > 0)
            writer_integer(writer, "approved", (int64_t)claim->approved);
        writer_text(writer, "reason", claim->reason);
        writer_array(writer, "by");
        for (size_t i = 0; i < claim->by_count; i++) {
            writer_object(writer, NULL);
            writer_text(writer, "mechanism", mechanism_name(claim->by[i].mechanism));
            writer_text(writer, "evidence", evidence_name(claim->by[i].evidence));
            writer_end(writer);
        }
        writer_end(writer);
        writer_end(writer);
    }
    writer_end(writer);
}

json_t *plan_surfaces_json(const struct claim *claims)
{
    struct writer writer = {0};

    plan_surfaces_write(&writer, NULL, claims);
    return writer_value(&writer);
}

const char *plan_word_text(const struct word *word, const struct resolved *resolved)
{
    static const char *const fixed[WORD_COMMAND + 1] = {
        [WORD_CHANNEL] = "CHANNEL",   [WORD_LIVENESS] = "LIVENESS", [WORD_STDERR] = "STDERR",
        [WORD_TMP] = "TMP",           [WORD_SENTINEL] = "SENTINEL", [WORD_LAUNCHER] = "confine-launch",
        [WORD_TERMINAL] = "TERMINAL", [WORD_ONTO] = "TERMINAL",     [WORD_JOIN] = "SESSION",
        [WORD_NAMELESS] = "NAMELESS",
    };

    if (word->kind == WORD_TEXT || word->kind == WORD_MASK || word->kind == WORD_MASK_IF_THERE)
        return word->text;
    if (word->kind == WORD_PATH)
        return word->path < resolved->path_count ? resolved->paths[word->path].path : "PATH";
    return fixed[word->kind];
}

json_t *plan_chain_json(const struct plan *plan, const struct resolved *resolved, char *const *command)
{
    json_t *array = json_array();
    int result = 0;

    for (size_t i = 0; array && i < plan->word_count; i++) {
        const char *text = plan_word_text(&plan->words[i], resolved);

        if (text)
            result = value_append_text(array, text);
        for (size_t j = 0; !result && plan->words[i].kind == WORD_COMMAND && command && command[j]; j++)
            result = value_append_text(array, command[j]);
        if (result < 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}
