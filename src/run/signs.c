/*
 * signs.c - see signs.h.
 *
 * A program that is refused something mostly says so in the words of the C library, at the end of a line and
 * behind a colon. So does one whose refusal is a file's mode, or that prints somebody else's words: a line
 * says nothing of a path, a process or a time, and a command that succeeds has said nothing at all.
 *
 * Mustn't: hold more than a line and a few that were found, whatever comes.
 */
#include "run/signs.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Do the words at @at begin a message? `cat: x: WORDS`, `[Errno 13] WORDS`, `x (WORDS)`. */
static bool begins(const char *line, size_t at)
{
    return at == 0 || line[at - 1] == '(' ||
           (at >= 2 && line[at - 1] == ' ' && (line[at - 2] == ':' || line[at - 2] == ']'));
}

/* Is the message over there, but for a place, a number or a name? */
static bool ends(const char *line, size_t length, size_t at)
{
    static const char *const tails[] = {" (", ")", " at ", ": ", ", ", "; "};

    while (length > at && strchr(".\r", line[length - 1])) /* strchr finds a NUL as well */
        length--;
    if (at >= length)
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(tails); i++)
        if (length - at >= strlen(tails[i]) && memcmp(line + at, tails[i], strlen(tails[i])) == 0)
            return true;
    return false;
}

const char *sign_of(const char *const *signatures, const char *line, size_t length)
{
    for (; *signatures; signatures++) {
        size_t words = strlen(*signatures);

        for (size_t at = 0; at + words <= length; at++)
            if (begins(line, at) && strncasecmp(line + at, *signatures, words) == 0 &&
                ends(line, length, at + words))
                return *signatures;
    }
    return NULL;
}

static void take_line(struct signs *signs)
{
    const char *signature = sign_of(signs->signatures, signs->line, signs->length);
    char line[512];
    struct sign *sign;

    if (!signature)
        return;
    signs->line[signs->length < SIGN_LINE ? signs->length : SIGN_LINE - 1] = '\0';
    text_quote(line, sizeof(line), signs->line, 200);
    for (size_t i = 0; i < signs->count; i++)
        if (strcmp(signs->signs[i].line, line) == 0) {
            signs->signs[i].count++;
            return;
        }
    sign = &signs->signs[signs->count];
    if (signs->count < SIGNS_MOST)
        *sign = (struct sign){.signature = signature, .line = strdup(line), .count = 1};
    if (signs->count < SIGNS_MOST && sign->line)
        signs->count++;
    else
        signs->lost++;
}

void signs_hear(struct signs *signs, const char *bytes, size_t size)
{
    while (signs->signatures && size > 0) {
        const char *stop = memchr(bytes, '\n', size);
        size_t length = stop ? (size_t)(stop - bytes) : size;
        size_t room = SIGN_LINE - signs->length, taken = length < room ? length : room;

        memcpy(signs->line + signs->length, bytes, taken);
        signs->length += taken;
        if (stop) {
            take_line(signs);
            signs->length = 0;
            length++;
        }
        bytes += length;
        size -= length;
    }
}

void signs_end(struct signs *signs, struct report *report, bool failed)
{
    struct denial_list *denials = &report->denials;

    if (!signs->signatures)
        return;
    if (signs->length > 0)
        take_line(signs);
    denials->heard = !denials->channel || strcmp(denials->channel, "none") == 0;
    failed = failed && denials->heard; /* the place has become free meanwhile: there is something better */
    if (denials->heard)
        denials->channel = "inferred";
    for (size_t i = 0; i < signs->count; i++) {
        struct sign *sign = &signs->signs[i];

        if (failed && denials_infer(denials, sign->signature, sign->line, sign->count) < 0)
            signs->lost++;
        free(sign->line);
    }
    denials->inferred_lost = failed ? signs->lost : 0;
    *signs = (struct signs){0};
}
