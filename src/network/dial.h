/*
 * dial.h - connect to the first of several addresses that answers.
 *
 * The next address is tried when one fails, or after 250 ms beside it; the first that is connected wins.
 *
 * Mustn't: reach an address that is not in the list it was given: everything in that was checked.
 */
#ifndef CONFINE_NETWORK_DIAL_H
#define CONFINE_NETWORK_DIAL_H

#include "network/loop.h"
#include "network/resolve.h"
#include "network/socket_address.h"

struct dial_attempt {
    struct watch watch; /* first */
    struct dial *dial;
};

struct dial {
    struct timer next; /* first */
    struct timer end;
    struct loop *loop;
    void *owner; /* of the one who calls */
    bool shared; /* its socket may be somebody else's as well */
    uint16_t port;
    size_t count, tried, open;
    int error; /* of the last attempt that failed: -errno */
    struct address addresses[RESOLVE_ADDRESSES];
    struct dial_attempt attempts[RESOLVE_ADDRESSES];
    /* Once. Success: @error is 0, @fd the caller's, at @at in the list. */
    void (*call)(struct dial *dial, int fd, size_t at, int error);
};

/* dial_begin() - addresses, count, port, loop and call are set; the call may come before this returns. */
void dial_begin(struct dial *dial);

/* dial_begin_with() - one address by a socket that is there already; it is taken over. */
void dial_begin_with(struct dial *dial, int fd);

/* dial_end() - drop all attempts. Nothing is called any more. */
void dial_end(struct dial *dial);

#endif
