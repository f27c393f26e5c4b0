/*
 * opener.h - open, as the command's user, what somebody has allowed the command to open.
 */
#ifndef CONFINE_RUN_OPENER_H
#define CONFINE_RUN_OPENER_H

#include "observe/observe.h"

/* Why something is not opened. */
enum opener_verdict {
    OPENER_FAILED = 0, /* the opener itself; or the kernel, for an errno */
    OPENER_FINE,
    OPENER_CHANGED,     /* the name is another object's by now, or that of one that the command sees alone */
    OPENER_NO_FILE,     /* neither a regular file nor a directory to make one in */
    OPENER_OTHER_NAMES, /* a hard link: it would change under a name that nobody has seen */
    OPENER_SET_ID,
    OPENER_FILE_SYSTEM, /* none of the ordinary ones */
    OPENER_VERDICTS
};

struct opener_request {
    const struct resolved *resolved;
    enum observe_held kind;
    const char *path;     /* canonical */
    int object;           /* what the caller of the held call saw there: the file, or the directory */
    uint32_t flags, mode; /* as the call has them */
    pid_t pid;            /* whose umask counts */
    bool looks;           /* nothing is opened or made: would it be? */
};

/*
 * opener_run() - a process of its own finds the object by its name, sees that it is the same, and opens it.
 * @ret_fd: the descriptor, for an open that is not only looked at; else -1
 *
 * Return: what came of it, and where that is OPENER_FAILED @ret_errno.
 */
enum opener_verdict opener_run(const struct opener_request *request, int *ret_fd, int *ret_errno);

/* opener_word() - a verdict as a word; NULL: it is fine. */
const char *opener_word(enum opener_verdict verdict);

#endif
