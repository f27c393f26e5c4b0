/*
 * output.h - the file of --report: opened before anything runs, written when everything has ended.
 */
#ifndef CONFINE_CLI_OUTPUT_H
#define CONFINE_CLI_OUTPUT_H

#include "policy/resolve.h"

struct output {
    int fd; /* -1: none */
    const char *what, *name;
    bool regular; /* a file of ours: cut to its length when written */
};

#define OUTPUT_NONE ((struct output){.fd = -1})

/*
 * output_open() - open `FILE` or `fd:N`.
 * @what: for messages, what it is for: `report`; kept
 * @resolved: what the command may write; NULL when that is not known because resolving failed
 *
 * Return: 0, or a negative errno with @error. Nothing was changed then, but the file may have been created.
 */
int output_open(struct output *output, const char *what, const char *name, const struct resolved *resolved,
                struct error *error);

/* output_write() - all of @text, then close. Return: 0, or a negative errno with @error. */
int output_write(struct output *output, const struct text *text, struct error *error);

#endif
