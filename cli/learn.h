/*
 * learn.h - what a command would have needed, as a policy for a person to read.
 */
#ifndef CONFINE_CLI_LEARN_H
#define CONFINE_CLI_LEARN_H

#include "cli/options.h"
#include "util/writer.h"

#include <jansson.h>

/* One line of a proposal. */
struct learned {
    const char *key; /* of the policy, static: `write`, `allow`, … */
    char *value;
    char *why;      /* the first refusal that asked for it */
    uint64_t count; /* refusals */
    size_t merged;  /* lines that became this one */
};

struct proposal {
    struct learned *items;
    size_t count;
    struct strings open;         /* refusals that no line of a policy allows, as phrases */
    struct strings by_mode;      /* those that the mode or owner of a file refuses as well */
    struct strings risky;        /* those whose line would hand over more than a command may have */
    const char *home, *env_home; /* NULL: not known. Neither is ever proposed, nor what is above */
    char *const *env;            /* the caller's */
};

#define PROPOSAL_LINES 10

/*
 * proposal_take() - the refusals of one report.
 *
 * Return: how many lines are new; or -ENOMEM.
 */
int proposal_take(struct proposal *proposal, const json_t *report);

/* proposal_generalise() - one directory for many files in it, but never a home, or what is above one, or a
 * directory at the very top. Return: 0 or -ENOMEM. */
int proposal_generalise(struct proposal *proposal);

/* proposal_words() - the same as options of a run: `--write=/x`. Return: 0 or -ENOMEM. */
int proposal_words(const struct proposal *proposal, struct strings *words);

/* proposal_write() - as a policy file. @report: of the run: workspace, mode and whether what may be read is
 * listed are its own. */
void proposal_write(const struct proposal *proposal, const json_t *report, struct writer *writer);

void proposal_free(struct proposal *proposal);

#endif
