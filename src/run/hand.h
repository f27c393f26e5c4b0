/*
 * hand.h - a process of ours in the command's network: sockets that are needed while the command runs, or by
 * a backend that cannot make them itself.
 */
#ifndef CONFINE_RUN_HAND_H
#define CONFINE_RUN_HAND_H

#include "policy/resolve.h"
#include "util/error.h"

struct hand {
    int user, net; /* the namespaces; -1: not known */
    int fd;        /* our end of its channel; -1: it is not there */
    pid_t pid;
};

#define HAND_NONE                                                                                            \
    {                                                                                                        \
        .user = -1, .net = -1, .fd = -1                                                                      \
    }

/* hand_look() - take the namespaces from the process @pid, which is one that may be looked at. Return: 0 or
 * -errno. */
int hand_look(struct hand *hand, pid_t pid);

/*
 * hand_start() - start it now, for a caller that cannot do it later. From then on it is this process or none:
 * the namespaces are let go.
 *
 * Return: 0 or -errno.
 */
int hand_start(struct hand *hand, const struct resolved *resolved);

/*
 * hand_ask() - one word of `namespace-run --serve`; starts the process when it is first needed.
 * @ret_fd: the descriptor, the caller's; NULL: none is expected
 *
 * Waits for the answer, which takes less than a millisecond, and two seconds at most. Return: 0 or -errno.
 */
int hand_ask(struct hand *hand, const struct resolved *resolved, const char *word, int *ret_fd);

/* hand_lost() - has one that was started ended by itself, or been given up? Not for one that starts when it
 * is asked. */
bool hand_lost(const struct hand *hand);

/* hand_end() - end it, and let the namespaces go. */
void hand_end(struct hand *hand);

#endif
