/*
 * confine_failure.c - did confine fail, or the command? For who has nothing but a status and a text.
 *
 * Should:  take the last line alone: whoever fails here says one, and nothing ran that could say more.
 * Mustn't: be called proof: a command can print the same line and end with the same status.
 */
#include "confine.h"
#include "confine_json.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What confine says of a run that goes on. */
static const char warning[] = "confine: warning: ";

/* The last line of TEXT that says something. @ret_length: without its end; 0: there is none */
static const char *last_line(const char *text, size_t *ret_length)
{
    const char *end = text + strlen(text), *start;

    while (end > text && (end[-1] == '\n' || end[-1] == '\r'))
        end--;
    start = end;
    while (start > text && start[-1] != '\n')
        start--;
    *ret_length = (size_t)(end - start);
    return start;
}

static bool holds(const char *line, size_t length, const char *signature)
{
    return *signature && memmem(line, length, signature, strlen(signature)) != NULL;
}

/* Does RULE, an object, name this status? null is any but 0. */
static bool has_status(const char *rule, int status)
{
    const char *value = json_look(rule, "status");

    return value && (*value == 'n' ? status != 0 : json_number(value, status + 1) == status);
}

int confine_match_runner_failure(const char *plan, int status, const char *output, const char **ret_line)
{
    const char *rules, *line;
    size_t length;

    if (!plan || !output || !ret_line)
        return CONFINE_E_ARGUMENT;
    *ret_line = NULL;
    rules = json_complete(plan) ? json_look(plan, "runner_failure_rules") : NULL;
    if (!rules || *rules != '[')
        return CONFINE_E_ARGUMENT;
    line = last_line(output, &length);
    if (strncmp(line, warning, sizeof(warning) - 1) == 0)
        return CONFINE_OK;
    for (const char *rule = json_first(rules); rule; rule = json_next(rule)) {
        char *signature;

        if (!has_status(rule, status))
            continue;
        signature = json_text(json_look(rule, "signature"));
        if (!signature)
            return CONFINE_E_MEMORY;
        if (holds(line, length, signature))
            *ret_line = line;
        free(signature);
        if (*ret_line)
            break;
    }
    return CONFINE_OK;
}
