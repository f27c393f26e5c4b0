/*
 * network.h - names of sockets, and somebody outside who listens.
 */
#ifndef CONFINE_CHECKS_NETWORK_H
#define CONFINE_CHECKS_NETWORK_H

#include "attempt.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Room for any name of a socket. */
union name {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    struct sockaddr_un local;
};

/* socket_connect() - connect, and say the mark. Return: 0 or an errno. */
int socket_connect(const struct order *order, const union name *name, socklen_t size, int type, int protocol);

/* look_accepted() - somebody connected to fd[0] and said the mark. look_received(): a datagram with it came
 * there. */
int look_accepted(struct trial *trial);
int look_received(struct trial *trial);

#endif
