/*
 * session.h - namespaces that several runs have in common, and the process that keeps them.
 *
 * A session is a keeper: a process that holds the namespaces' descriptors and is the parent of process 1. It
 * answers on a socket in a private directory of its user's, by the name of the session, and ends, with
 * everything in the session, when it is told to or when the session's owner ends.
 */
#ifndef CONFINE_RUN_SESSION_H
#define CONFINE_RUN_SESSION_H

#include "policy/resolve.h"
#include "util/error.h"
#include "util/util.h"

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#define SESSION_NAME      64 /* room for a name, NUL included */
#define SESSION_PUBLISHED 16 /* published ports that a keeper tells of */

/* The directory in which a user's sessions have their names. */
struct session_place {
    int fd; /* -1: there is none */
    char path[PATH_MAX];
};
#define SESSION_PLACE_NONE                                                                                   \
    {                                                                                                        \
        .fd = -1                                                                                             \
    }

/* What a keeper says of its session. It crosses a socket: no pointers, no holes. */
struct session_facts {
    uint32_t uid, gid; /* the commands' */
    uint32_t network;  /* enum network */
    int32_t init;      /* process 1, as seen outside */
    uint64_t tmp_size; /* bytes, 0: no limit was set */
    uint64_t gateway;  /* 1: there is one */
    uint64_t lost;     /* 1: what makes sockets in it for the gateway has ended: no port is published */
    uint64_t published_count; /* ports; of more than are listed here, too */
    struct {
        uint32_t host, inside;
    } published[SESSION_PUBLISHED];
    uint64_t decided[SESSION_DECIDED]; /* what is reached by the network: session_decision(); 0: none */
    uint64_t number[JOIN_COUNT];       /* inodes of the namespaces; 0: of a mount, or not there */
    int64_t owner;                     /* whose end is the session's */
    int64_t started;                   /* seconds since 1970 */
    int64_t age;                       /* seconds, the machine's sleep included */
};

struct session_entry {
    char name[SESSION_NAME];
    struct session_facts facts;
    struct error why; /* it has not said them: why, else ERROR_NONE */
};

struct session_process {
    pid_t pid;     /* as seen outside */
    pid_t inner;   /* as the session's own processes see it */
    char name[32]; /* chosen by the process: to be quoted */
};

enum session_place_why { SESSION_PLACE_JOIN = 0, SESSION_PLACE_LOOK, SESSION_PLACE_START };

/*
 * session_open_place() - find the directory, and remove what sessions left there that were killed.
 * @env: the caller's environment: XDG_RUNTIME_DIR
 * @why: SESSION_PLACE_START makes it; otherwise one that is not there is none (@place->fd is -1) and no
 * error. Whoever only joins leaves what is stale to others. Return: 0, or a negative errno with @error.
 */
int session_open_place(struct session_place *place, char *const *env, enum session_place_why why,
                       struct error *error);

/* session_check_name() - letters, digits, `.`, `_` and `-`, the first a letter or a digit, at most 63.
 * Return: 0, or a negative errno with @error. */
int session_check_name(const char *name, struct error *error);

/*
 * session_start() - make a session; its keeper is a child of this process that lives on.
 * @owner: the session ends when that process does; a pidfd, kept by the caller
 * @owner_pid: its number, for people
 * @ret_confirm: the session stays only if session_confirm() is called with this
 *
 * Return: 0 when commands can go into it, or a negative errno with @error and nothing left behind.
 */
int session_start(const struct session_place *place, const char *name, const struct resolved *resolved,
                  int owner, pid_t owner_pid, int *ret_confirm, struct error *error);

/* session_confirm() - the caller knows of the session: it may live. Closes @confirm. Return: 0 or -errno. */
int session_confirm(int confirm);

/*
 * session_ask() - ask a session's keeper for what a command needs to go into it; it answers while the caller
 * does something else.
 *
 * Return: the connection, or a negative errno with @error.
 */
int session_ask(const struct session_place *place, const char *name, struct error *error);

/*
 * session_join() - take the answer: descriptors, and what was decided when the session began.
 * @connection: of session_ask(); taken over: with a list it is where the gateway is heard (`told`)
 * @session: filled; its descriptors are the caller's, its name is @name
 *
 * Return: 0, or a negative errno with @error.
 */
int session_join(int connection, const char *name, struct session *session, struct error *error);

/* session_leave() - close the descriptors. */
void session_leave(struct session *session);

/*
 * session_allow() - a rule more for what all runs of a session reach, from now on.
 * @rule: in the one spelling of it
 *
 * Return: 0 when it is in force, or a negative errno with @error.
 */
int session_allow(const struct session_place *place, const char *name, const char *rule, struct error *error);

/*
 * session_decision() - a number for one thing that is decided of a session's network, the same for whatever
 * spelling of it.
 * @list: LIST_ALLOW, LIST_FORWARD or LIST_PUBLISH, of which @value is an entry; LIST_COUNT: the proxy outside
 *
 * Return: it, never 0.
 */
uint64_t session_decision(enum list list, const char *value);

/* session_end() - end a session. Return: 0 when its last process has been seen gone, or a negative errno with
 * @error. */
int session_end(const struct session_place *place, const char *name, struct error *error);

/*
 * session_list() - what lives, by name, or does not say whether it does.
 * @ret_entries: the caller's to free; NULL where there is none
 *
 * Return: 0, or a negative errno with @error.
 */
int session_list(const struct session_place *place, struct session_entry **ret_entries, size_t *ret_count,
                 struct error *error);

/*
 * session_processes() - the processes of a session but for process 1, by number.
 * @ret_processes: the caller's to free; NULL where there is none
 *
 * Return: 0 or -errno.
 */
int session_processes(const struct session_facts *facts, struct session_process **ret_processes,
                      size_t *ret_count);

#endif
