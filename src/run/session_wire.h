/*
 * session_wire.h - what is said between a keeper and whoever asks it, and the names of its files.
 *
 * One SOCK_SEQPACKET connection, one request with the lock file opened for writing (SCM_RIGHTS), one reply.
 * Whoever can open that file for writing may do with the session what he likes: a command that is confined
 * can see the directory at most, and another user not even that.
 */
#ifndef CONFINE_RUN_SESSION_WIRE_H
#define CONFINE_RUN_SESSION_WIRE_H

#include "run/session.h"

#include <sys/un.h>

#define SESSION_VERSION 4

#define SESSION_LOCK   ".lock"
#define SESSION_SOCKET ".socket"

enum session_request_kind {
    SESSION_NOTHING = 0,
    SESSION_INFO, /* the facts */
    SESSION_JOIN, /* the facts, and the namespaces in the order of enum channel_join. With a list, what the
                     gateway says of connections follows, until the connection ends: SESSION_WORD_ */
    SESSION_END,  /* answered when the last process is gone */
    SESSION_HEAR, /* the facts, and what follows them; nothing where there is no gateway */
};

/* What a run that hears the gateway may send: a packet that begins with one of these. */
enum session_word {
    SESSION_WORD_TELL = 't',  /* asks for what has been counted so far */
    SESSION_WORD_ALLOW = 'a', /* a rule follows, for all runs; answered by the gateway's own packet */
};
#define SESSION_WORD_MOST 4096 /* bytes of such a packet */

struct session_request {
    uint32_t version;
    uint32_t kind;
};

struct session_reply {
    uint32_t version;
    int32_t errnum; /* 0: done */
    struct session_facts facts;
};

/* session_file() - NAME with SUFFIX. Return: @buffer. */
#define SESSION_FILE (SESSION_NAME + sizeof(SESSION_SOCKET))
const char *session_file(char buffer[SESSION_FILE], const char *name, const char *suffix);

/* session_address() - the socket of a session, whatever the length of the directory's name. */
void session_address(const struct session_place *place, const char *name, struct sockaddr_un *address);

/*
 * session_lock() - take a name for as long as the descriptor is open somewhere.
 *
 * Return: the lock file, open for writing; -EWOULDBLOCK: a keeper has it; or another -errno.
 */
int session_lock(const struct session_place *place, const char *name);

/* session_remove() - remove the files of a session whose lock the caller holds. */
void session_remove(const struct session_place *place, const char *name);

/* session_receive() - one packet, sent by channel_send(), with up to JOIN_COUNT descriptors. @fds: filled
 * with -1 behind the last one. Return: 0, or -errno (-ECONNRESET: closed, -EAGAIN: nothing there in time). */
int session_receive(int fd, void *data, size_t size, int fds[JOIN_COUNT], size_t *ret_count);

/*
 * session_keep() - the keeper's life, in a process of its own.
 * @lock: the lock file, held
 * @owner: pidfd of the owner
 * @report: a struct error goes there (code ERROR_NONE: it lives), and a byte must come back
 */
_Noreturn void session_keep(const struct session_place *place, const char *name,
                            const struct resolved *resolved, int lock, int owner, pid_t owner_pid,
                            int report);

#endif
