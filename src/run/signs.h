/*
 * signs.h - lines of the command's error output that read like a refusal, where nobody can see refusals.
 */
#ifndef CONFINE_RUN_SIGNS_H
#define CONFINE_RUN_SIGNS_H

#include "report/report.h"

#define SIGNS_MOST 16
#define SIGN_LINE  1024 /* so much of a line is looked at */

struct sign {
    const char *signature; /* static */
    char *line;            /* owned */
    uint64_t count;
};

struct signs {
    const char *const *signatures; /* of the backend, ends with NULL; NULL: nobody listens */
    char line[SIGN_LINE];
    size_t length;
    struct sign signs[SIGNS_MOST];
    size_t count;
    uint64_t lost; /* lines for which there was no room */
};

/* sign_of() - which of the @signatures does this line end its message with? Return: it, or NULL. */
const char *sign_of(const char *const *signatures, const char *line, size_t length);

/* signs_hear() - more of the output, in the pieces in which it comes. */
void signs_hear(struct signs *signs, const char *bytes, size_t size);

/* signs_end() - the command has ended: what it said goes into the @report if it @failed, and is forgotten. */
void signs_end(struct signs *signs, struct report *report, bool failed);

#endif
