/*
 * world.h - a small Internet of an attempt's own: every address of it leads to one server, which keeps in
 * mind whether the mark of the attempt came there.
 *
 * The run of an attempt (a confinement, or the control) is started in it: with a list of hosts nothing of the
 * machine's own network would do, since a list leads to no loopback, and what is on it may not be here.
 */
#ifndef CONFINE_CHECKS_WORLD_H
#define CONFINE_CHECKS_WORLD_H

#include "attempt.h"

#define WORLD_HOST      "93.184.7.7" /* where names lead of which nothing else is said */
#define WORLD_OWN       "93.184.0.1" /* of the machine itself */
#define WORLD_RESOLVER  "93.184.53.53"
#define WORLD_PROXY     "93.184.9.9" /* of a proxy that refuses nobody */
#define WORLD_PORTS     3
#define WORLD_NAME_SIZE 256

enum heard {
    HEARD_NOTHING = 0,
    HEARD_STREAM,   /* by TCP */
    HEARD_DATAGRAM, /* by UDP */
    HEARD_QUESTION, /* by a name server, as a part of the name */
    HEARD_COUNT
};

struct world {
    const char *name;        /* of which is said where it leads */
    const char *four, *six;  /* there; NULL: it has no address of the kind */
    const char *turned;      /* whoever asks for /turn is sent there */
    long ports[WORLD_PORTS]; /* of the server; 0: none */
    long proxy_port;
    bool no_witness; /* nothing that is listed can be reached there: that its name is asked for is enough */
};

/*
 * world_make() - of a prepare: make it, and have the trial's own run start in it.
 *
 * Return: 0, SKIP, or -errno.
 */
int world_make(struct trial *trial, const struct world *world);

/* world_join() - in the process that becomes a run, with all rights of the caller: step into it. */
void world_join(const struct trial *trial);

/*
 * world_heard() - of a look: did the mark come to the server as @kind?
 *
 * Return: 1, 0, or -errno: not even what is listed was reached, so that it says nothing.
 */
int world_heard(struct trial *trial, enum heard kind);

/* witness_write() - what is said to a host that is listed. */
void witness_write(const struct order *order, char ret_witness[MARK_SIZE]);

/* What the server and who asks it have in common: world_serve.c. */
struct world_memory {
    uint32_t marks[HEARD_COUNT], witnesses[HEARD_COUNT];
    uint32_t asked; /* questions for the name */
};

/* world_serve() - the server, in the world's own process. @sync: a byte is answered once all that came is
 * read. Does not return. */
_Noreturn void world_serve(const struct trial *trial, const struct world *world, int sync);

#endif
