/*
 * socket_address.h - addresses as the kernel has them, and which of them are this machine's.
 */
#ifndef CONFINE_NETWORK_SOCKET_ADDRESS_H
#define CONFINE_NETWORK_SOCKET_ADDRESS_H

#include "policy/address.h"

#include <sys/socket.h>

/* address_read() - of a socket address; an IPv4-mapped one becomes IPv4. Return: false for other families. */
bool address_read(const struct sockaddr *from, struct address *ret_address);

/* address_port() - of one that address_read() takes. */
uint16_t address_port(const struct sockaddr *from);

/* address_socket() - for connect(). Return: its length. */
socklen_t address_socket(const struct address *address, uint16_t port, struct sockaddr_storage *ret_socket);

/* address_is_own() - is it one of this machine's, as far as this network namespace knows? Asked of the
 * kernel. Return: 1, 0, or -errno when it cannot be known. */
int address_is_own(const struct address *address);

#endif
