/*
 * audit_record.h - the kernel's audit records, and those of one run among them.
 *
 * Should:  give what belongs to the run's own layer of Landlock.
 * Mustn't: keep anything of another one: its paths are other people's.
 */
#ifndef CONFINE_OBSERVE_AUDIT_RECORD_H
#define CONFINE_OBSERVE_AUDIT_RECORD_H

#include "observe/observe.h"

#define AUDIT_WAITING 8 /* refusals of which the call is not known yet */

/* One refusal. */
struct audit_refusal {
    uint64_t serial; /* of the event; 0: none */
    uint64_t domain;
    uint64_t rights; /* LANDLOCK_FS_…; 0: something else than files */
    bool called;     /* the next three are known */
    int32_t pid;     /* the process, as its first namespace has it */
    uint32_t call;
    uint64_t arguments[4];
    char executable[OBSERVE_PROGRAM];
    char path[OBSERVE_PATH]; /* of a name that is to be made or taken away the directory; empty: none */
};

struct audit_look {
    int32_t pid;      /* who has laid the layer; 0: not known yet */
    uint64_t domain;  /* the layer; 0: nothing has been told of it */
    bool gone;        /* it has gone, and all has been told: */
    uint64_t refused; /* so often it has refused */
    bool doubted;     /* the command's own process has laid another one under our program's name: whose
                         refusals these are, nobody can tell */
    struct audit_refusal waiting[AUDIT_WAITING];
    size_t next;
};

/*
 * audit_take() - one record.
 * @type: AUDIT_TYPE_…; anything else is nothing
 * @text: @size bytes, without an end; from the kernel, with names that anybody may have chosen
 */
void audit_take(struct audit_look *look, unsigned type, const char *text, size_t size);

/* audit_next() - a refusal of the run's of which all is known, or at the @end all that ever will be. Return:
 * false: there is none. */
bool audit_next(struct audit_look *look, bool end, struct audit_refusal *refusal);

/* audit_operation() - what a refusal was about, in the words of the report. @ret_surface: what refused;
 * @ret_within: the path is the directory in which it was to happen. Return: DENIAL_NOTHING where that is no
 * file. */
enum denial_operation audit_operation(const struct audit_refusal *refusal, enum surface *ret_surface,
                                      bool *ret_within);

#endif
