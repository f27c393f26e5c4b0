/*
 * client_hello.h - which name a TLS client asks for, from its first message.
 *
 * Mustn't: overlook a name because it was cut into several records, or because it stands there twice.
 */
#ifndef CONFINE_NETWORK_CLIENT_HELLO_H
#define CONFINE_NETWORK_CLIENT_HELLO_H

#include "network/decide.h"

#define HELLO_SIZE 16384 /* bytes at most, with the heads of the records */

/* hello_looks() - Return: 1: these are the first bytes of TLS; 0: too few to know; -1: they are not. */
int hello_looks(const unsigned char *data, size_t length);

/*
 * hello_read() - read a ClientHello from the first bytes of a connection.
 * @ret_name: canonical; empty: it asks for none
 *
 * Return: 1; 0: it goes on; -EBADMSG: it cannot be read, or its name is none.
 */
int hello_read(const unsigned char *data, size_t length, char ret_name[NAME_SIZE]);

#endif
