/*
 * handed.h - what a descriptor that the command gets lets it reach, past everything that is refused later.
 */
#ifndef CONFINE_KERNEL_HANDED_H
#define CONFINE_KERNEL_HANDED_H

#include <stdbool.h>

/* Zero is the modest value of a fact, not of a claim: an unknown socket counts as one of every kind. */
struct handed {
    bool regular;   /* a file, whose flags are shared with whoever else has it open */
    bool read_only; /* such a file, to be read only: by /proc/self/fd it can be opened anew for writing */
    bool directory; /* what lies in it and around it is reached on the mounts that it was opened on */
    bool terminal;  /* can be read, and its modes changed */
    bool tcp;       /* an INET stream: connects anew, listens, accepts */
    bool udp;       /* an INET datagram socket: sends to any address */
    bool other;     /* any other family, or raw */
    bool unix_name; /* an AF_UNIX socket that is bound to no peer: reaches any name */
};

/*
 * handed_look() - add what FD gives to @handed.
 *
 * Looks by fstat and getsockopt only: nothing of the descriptor changes.
 */
void handed_look(struct handed *handed, int fd);

#endif
