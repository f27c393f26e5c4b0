/*
 * pool.h - names and the addresses that stand for them inside.
 *
 * A name has a number, and the address with that distance from the beginning of either range. The low numbers
 * are the supervisor's, which pins a name to the address of its listener; all others are given out as names
 * are asked for. When those have run out, the name that has not been looked at for the longest time gives its
 * number up: bounded memory, and whoever still has the old address is led to another name that is listed too,
 * and is decided by that name.
 */
#ifndef CONFINE_NETWORK_POOL_H
#define CONFINE_NETWORK_POOL_H

#include "network/decide.h"
#include "network/loop.h"
#include "network/protocol.h"
#include "network/socket_address.h"

#define POOL_PINNED 4096 /* numbers below and this one are the supervisor's; 0 and 1 nobody's */
#define POOL_MOST   (POOL_PINNED + PROTOCOL_NAMES)

struct pool_name {
    struct node node; /* first; by last use; a pinned one is in no list */
    uint32_t next;    /* of the same hash, 0: none */
    char *text;       /* owned; NULL: no name has this number */
};

struct pool {
    bool have[2]; /* IPv4, IPv6 */
    struct address base[2];
    uint32_t fresh;          /* the number that was given to a name last; 0: somebody has heard of it */
    uint32_t used;           /* the numbers above POOL_PINNED up to here have been given out */
    struct pool_name *names; /* by number */
    uint32_t *heads;         /* by hash */
    struct node order;       /* the first has not been looked at for the longest time */
};

/* pool_begin() - @four, @six: ranges as `198.18.0.0/15`, NULL: none. Return: 0, -EINVAL or -ENOMEM. */
int pool_begin(struct pool *pool, const char *four, const char *six);

/* pool_take() - the number of @name, which is canonical; one of its own is given to it. Return: 0: no memory.
 */
uint32_t pool_take(struct pool *pool, const char *name);

/*
 * pool_pin() - @name is at @address from now on, in both families.
 *
 * Return: 0, -ENOENT when the address is not of the pool, -EINVAL when it is not of the supervisor's part,
 * -EEXIST when it is another name's, -ENOMEM.
 */
int pool_pin(struct pool *pool, const char *name, const struct address *address);

/* pool_address() - of the name with @number. Return: false: there is no range of this family. */
bool pool_address(const struct pool *pool, uint32_t number, bool six, struct address *ret_address);

/* pool_find() - what stands behind @address. Return: 1 and the name; 0: no name yet; -ENOENT: not of the
 * pool. */
int pool_find(struct pool *pool, const struct address *address, const char **ret_name);

void pool_end(struct pool *pool);

#endif
