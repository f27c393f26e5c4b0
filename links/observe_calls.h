/*
 * observe_calls.h - the calls that the observer looks at, and where their operands stand.
 *
 * One table for both sides: observe-run makes its filter of it, the observer
 * reads a notification by it.
 *
 * Should:  hold calls that change something by its name, and the network's.
 *          To bind is both: it makes the name of a Unix socket.
 * Mustn't: hold close, fork, read, write or anything else that is called in
 *          numbers: whoever waits for the observer can be interrupted. What
 *          takes a descriptor alone is left out as well: how it was opened has
 *          been looked at.
 */
#ifndef CONFINE_LINKS_OBSERVE_CALLS_H
#define CONFINE_LINKS_OBSERVE_CALLS_H

#include "kernel_abi.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>

/* What a call does to what it names. */
enum observe_act {
    OBSERVE_NOTHING = 0,
    OBSERVE_OPEN,      /* `extra`: argument with the flags, -1: those of creat */
    OBSERVE_MAKE,      /* a directory, a node or a link to a text: the name must be free */
    OBSERVE_DIRECTORY, /* the same: mkdir */
    OBSERVE_LINK,      /* of two names: the second one */
    OBSERVE_REMOVE,    /* `extra`: argument with AT_REMOVEDIR; -1: a file, -2: a directory */
    OBSERVE_RENAME,    /* of two names */
    OBSERVE_TRUNCATE,
    OBSERVE_CHANGE,  /* mode, owner, times, attributes. `extra`: argument with AT_ flags; -1: follows a link,
                        -2: does not; -3: `path` is a descriptor */
    OBSERVE_CONNECT, /* `directory`: the socket, `path`: the address, `extra`: its size */
    OBSERVE_BIND,    /* the same */
    OBSERVE_SEND,    /* the same, if there is an address */
    OBSERVE_EXECUTE, /* `extra`: as in CHANGE */
};

/* When it is looked at: whoever refuses nothing of a kind needs no notification of it. */
enum observe_when {
    OBSERVE_ALWAYS = 0,
    OBSERVE_METADATA, /* --metadata */
    OBSERVE_READING,  /* --reading */
    OBSERVE_NETWORK,  /* --network */
};

#define OBSERVE_CWD (-1) /* no argument with a directory */

struct observe_call {
    long nr;
    enum observe_act act;
    enum observe_when when;
    int directory, path; /* arguments */
    int directory_2, path_2;
    int extra;
};

#define ONE(CALL, ACT, WHEN, DIRECTORY, PATH, EXTRA)                                                         \
    {                                                                                                        \
        SYS_##CALL, OBSERVE_##ACT, OBSERVE_##WHEN, DIRECTORY, PATH, 0, 0, EXTRA                              \
    }
#define TWO(CALL, ACT, DIRECTORY, PATH, DIRECTORY_2, PATH_2, EXTRA)                                          \
    {                                                                                                        \
        SYS_##CALL, OBSERVE_##ACT, OBSERVE_ALWAYS, DIRECTORY, PATH, DIRECTORY_2, PATH_2, EXTRA               \
    }

static const struct observe_call observe_calls[] = {
    ONE(openat, OPEN, ALWAYS, 0, 1, 2),
    ONE(mkdirat, DIRECTORY, ALWAYS, 0, 1, -1),
    ONE(mknodat, MAKE, ALWAYS, 0, 1, -1),
    ONE(unlinkat, REMOVE, ALWAYS, 0, 1, 2),
    ONE(symlinkat, MAKE, ALWAYS, 1, 2, -1),
    TWO(linkat, LINK, 0, 1, 2, 3, 4),
    TWO(renameat2, RENAME, 0, 1, 2, 3, 4),
    ONE(truncate, TRUNCATE, ALWAYS, OBSERVE_CWD, 0, -1),
    ONE(fchmodat, CHANGE, METADATA, 0, 1, -1),
    ONE(fchmodat2, CHANGE, METADATA, 0, 1, 3),
    ONE(fchownat, CHANGE, METADATA, 0, 1, 4),
    ONE(utimensat, CHANGE, METADATA, 0, 1, 3),
    ONE(setxattr, CHANGE, METADATA, OBSERVE_CWD, 0, -1),
    ONE(lsetxattr, CHANGE, METADATA, OBSERVE_CWD, 0, -2),
    ONE(removexattr, CHANGE, METADATA, OBSERVE_CWD, 0, -1),
    ONE(lremovexattr, CHANGE, METADATA, OBSERVE_CWD, 0, -2),
    ONE(connect, CONNECT, NETWORK, 0, 1, 2),
    ONE(bind, BIND, ALWAYS, 0, 1, 2),
    ONE(sendto, SEND, NETWORK, 0, 4, 5),
    ONE(execve, EXECUTE, READING, OBSERVE_CWD, 0, -1),
    ONE(execveat, EXECUTE, READING, 0, 1, 4),
#ifdef SYS_renameat
    TWO(renameat, RENAME, 0, 1, 2, 3, -1),
#endif
#ifdef SYS_open /* those that only the older architecture has */
    ONE(open, OPEN, ALWAYS, OBSERVE_CWD, 0, 1),
    ONE(creat, OPEN, ALWAYS, OBSERVE_CWD, 0, -1),
    ONE(mkdir, DIRECTORY, ALWAYS, OBSERVE_CWD, 0, -1),
    ONE(mknod, MAKE, ALWAYS, OBSERVE_CWD, 0, -1),
    ONE(unlink, REMOVE, ALWAYS, OBSERVE_CWD, 0, -1),
    ONE(rmdir, REMOVE, ALWAYS, OBSERVE_CWD, 0, -2),
    ONE(symlink, MAKE, ALWAYS, OBSERVE_CWD, 1, -1),
    TWO(link, LINK, OBSERVE_CWD, 0, OBSERVE_CWD, 1, -1),
    TWO(rename, RENAME, OBSERVE_CWD, 0, OBSERVE_CWD, 1, -1),
    ONE(chmod, CHANGE, METADATA, OBSERVE_CWD, 0, -1),
    ONE(chown, CHANGE, METADATA, OBSERVE_CWD, 0, -1),
    ONE(lchown, CHANGE, METADATA, OBSERVE_CWD, 0, -2),
    ONE(utime, CHANGE, METADATA, OBSERVE_CWD, 0, -1),
    ONE(utimes, CHANGE, METADATA, OBSERVE_CWD, 0, -1),
    ONE(futimesat, CHANGE, METADATA, 0, 1, -1),
#endif
};

#define OBSERVE_CALLS (sizeof(observe_calls) / sizeof(observe_calls[0]))

#undef ONE
#undef TWO

/* An open that may be refused although reading is free has one of these. */
#define OBSERVE_WRITES (O_ACCMODE | O_CREAT | O_TRUNC | OPEN_TMPFILE_BIT)

/* observe_wanted() - is CALL looked at when these are asked for: bits of enum observe_when? */
static inline bool observe_wanted(const struct observe_call *call, unsigned asked)
{
    return call->when == OBSERVE_ALWAYS || (asked & 1U << call->when);
}

#endif
