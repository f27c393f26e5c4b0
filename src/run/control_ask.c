/*
 * control_ask.c - questions on the control channel, and their answers.
 */
#include "run/control_ask.h"

#include "run/approval.h"
#include "run/supervise.h"

#include <errno.h>
#include <string.h>

bool control_ask(struct control *control, uint32_t id, const struct denial *denial, bool reads,
                 const struct resolved *resolved)
{
    struct denial_list one = {0}; /* what would grant it is found where it is for all refusals */
    struct writer writer;

    if (!control->started)
        return false;
    control_begin_line(control, &writer, "ask");
    writer_integer(&writer, "id", id);
    writer_integer(&writer, "timeout_ms", (int64_t)resolved->policy->ask_ms);
    writer_bool(&writer, "reads", reads);
    if (denials_add(&one, resolved, denial, denial->address ? DENIAL_BY_NETWORK : DENIAL_BY_DEFAULT, 0) == 0)
        denial_write(&writer, &one.items[0]);
    else
        writer.text.failed = true;
    denials_free(&one);
    control_end_line(control, &writer, true);
    return true;
}

void control_answered(struct control *control, uint32_t id, bool allowed, const char *why)
{
    struct writer writer;

    if (!control->started)
        return;
    control_begin_line(control, &writer, "answered");
    writer_integer(&writer, "id", id);
    writer_bool(&writer, "allowed", allowed);
    writer_text(&writer, "reason", why);
    control_end_line(control, &writer, false);
}

int control_take_answer(struct control *control, const json_t *message, struct error *error)
{
    static const char *const answers[APPROVAL_ANSWERS] = {
        [APPROVAL_DENY] = "deny",
        [APPROVAL_DENY_LIKE] = "deny-like",
        [APPROVAL_ONCE] = "once",
        [APPROVAL_RUN] = "run",
    };
    const json_t *id = json_object_get(message, "id");
    const char *word = json_string_value(json_object_get(message, "answer"));

    if (!json_is_integer(id) || json_integer_value(id) < 1 || json_integer_value(id) > UINT32_MAX)
        return error_set(error, ERROR_USAGE, EINVAL, "bad-member",
                         "id: the number of a question must be here");
    for (unsigned i = 0; i < APPROVAL_ANSWERS && word; i++)
        if (strcmp(answers[i], word) == 0)
            return supervise_answer(control->supervision, (uint32_t)json_integer_value(id), i, error);
    return error_set(error, ERROR_USAGE, EINVAL, "bad-member",
                     "answer: once, run, deny or deny-like must be here");
}
