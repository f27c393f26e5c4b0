/*
 * session_peers.h - who has connected to a session's keeper and is still to speak, or to be answered.
 *
 * Should:  take runs that start together: all of them have connected before the first has spoken.
 * Mustn't: keep others out for one that says nothing: it loses its place when that has been needed for a
 * while.
 */
#ifndef CONFINE_RUN_SESSION_PEERS_H
#define CONFINE_RUN_SESSION_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEERS 256

struct peer {
    int fd;         /* -1: free */
    bool ends;      /* asked for the end, and is told when it has come */
    bool joins;     /* asked to join, and waits for room for its descriptors */
    uint64_t since; /* supervise_now_ns() */
};

struct peers {
    size_t most; /* as many as leave this process enough descriptors for its work */
    struct peer peer[PEERS];
};

/* peers_clear() - all of them are free. */
void peers_clear(struct peers *peers);

/* peers_room() - can one more be taken, if need be for one that has kept silent too long? */
bool peers_room(const struct peers *peers);

/* peers_join() - does anybody wait for room? */
bool peers_join(const struct peers *peers);

/* peers_late() - has this one, which waits for room, waited long enough? Whoever asked hears of it before its
 * own patience ends. */
bool peers_late(const struct peer *peer);

/* peers_take() - the next that waits at @listener, which does not block. Nothing is done where there is none,
 * or no place. */
void peers_take(struct peers *peers, int listener);

#endif
