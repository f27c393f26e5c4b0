/*
 * namespace_net.h - what the files that make a network share: namespace_net.c (the words, and who listens),
 * namespace_local.c (addresses and routes) and namespace_serve.c (the same while the command runs).
 */
#ifndef CONFINE_LINKS_NAMESPACE_NET_H
#define CONFINE_LINKS_NAMESPACE_NET_H

#include "kernel_net.h"
#include "namespace.h"

#include <netinet/in.h>
#include <sys/socket.h>

/* What a word says. */
struct net_place {
    sa_family_t family;
    uint8_t bytes[16];
    int number; /* bits, or the port */
    bool datagrams;
};

static inline size_t net_address_size(const struct net_place *place)
{
    return place->family == AF_INET ? 4 : 16;
}

enum form { FORM_ADDRESS, FORM_LOCAL, FORM_LISTEN, FORM_NAMELESS, FORM_COUNT };

struct net_form {
    const char *option, *usage;
    char before; /* what stands before the number */
    int most;
};

/* --- namespace_net.c --- */
extern const struct net_form net_forms[FORM_COUNT];

/* net_read_place() - read the value of an option; an IPv6 address stands in brackets. Return: whether it has
 * the form. */
bool net_read_place(const struct namespace *ns, enum form form, const char *word, struct net_place *place);

/* net_open_listener() - Return: a descriptor, or -errno. */
int net_open_listener(const struct net_place *place);

/* --- namespace_local.c --- */

/* net_raise_loopback() - loopback is up, or the link ends. */
void net_raise_loopback(const struct namespace *ns);

/* net_ask_local() - make one address or network local, by the socket for routes FD. Return: 0 or errno. */
int net_ask_local(const struct namespace *ns, int fd, const struct net_place *place, enum form form);

#endif
