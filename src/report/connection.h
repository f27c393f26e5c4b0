/*
 * connection.h - what the command's network was used for, as its gateway tells.
 *
 * Texts in it come from outside: a name is what the command asked for.
 */
#ifndef CONFINE_REPORT_CONNECTION_H
#define CONFINE_REPORT_CONNECTION_H

#include "util/writer.h"

#include <stdint.h>

/* One connection, or all that have the same words beside their number. Texts are owned; NULL: there is none.
 */
struct connection {
    int64_t id; /* the gateway's number; -1: counted */
    char *name;
    char *address;  /* that was dialled, or was asked for */
    char *protocol; /* tcp, http, connect, socks5, dns, forward, publish */
    char *rule;     /* that allowed it */
    char *refused;  /* why not */
    char *option;   /* that would have allowed it */
    char *error;    /* how it ended, if not by an end; of counted ones, the first that brought nothing back */
    int64_t port;
    int64_t count;              /* 1, or as many as were counted */
    int64_t failed;             /* of counted ones: that were allowed, and brought nothing back */
    int64_t sent, received, ms; /* -1: not known */
};

struct connections {
    struct connection *items; /* in the order in which they began */
    size_t count;
    struct connection *counted;
    size_t counted_count;
};

/* connection_free() - the texts of one. connections_free() - everything. */
void connection_free(struct connection *connection);
void connections_free(struct connections *connections);

/* connections_find() - the connection of this number; the last ones are found first. Return: NULL: none. */
struct connection *connections_find(const struct connections *connections, int64_t id);

/*
 * connections_add() - take one over, with its texts. A counted one is added to the row with the same words.
 *
 * Return: 0, or -ENOMEM; then it is still the caller's.
 */
int connections_add(struct connections *connections, struct connection *connection);

/* connection_write() - one as a value of a larger text. @key: NULL in an array */
void connection_write(const struct connection *connection, struct writer *writer, const char *key);

/* connection_members() - the same without the braces. */
void connection_members(const struct connection *connection, struct writer *writer);

/* connections_at() - all of them: those that stand one by one, and then the counted ones. Return: NULL: there
 * are no more. */
const struct connection *connections_at(const struct connections *connections, size_t index);

/* connections_refused() - how many were refused, those that were counted included. */
int64_t connections_refused(const struct connections *connections);

/* connections_failed() - how many were allowed, and brought nothing back; those that were counted included.
 */
int64_t connections_failed(const struct connections *connections);

/*
 * connections_say_failed() - these, each name and reason once, for people and models: `NAME:PORT (REASON),
 * …`.
 * @most: as many of them, and no more; then that there are others
 * @cut: of a name, in bytes
 * @never: leave out what was reached another time
 */
void connections_say_failed(const struct connections *connections, size_t most, size_t cut, bool never,
                            struct text *text);

/* connections_total() - how many there were, names that were looked up and refused included. */
int64_t connections_total(const struct connections *connections);

#endif
