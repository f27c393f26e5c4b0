/*
 * socks5.h - the two messages of a SOCKS client (RFC 1928), without a password: nobody but the command can
 * reach us.
 */
#ifndef CONFINE_NETWORK_SOCKS5_H
#define CONFINE_NETWORK_SOCKS5_H

#include "network/decide.h"

#define SOCKS_VERSION 5

/* Answers of RFC 1928. */
enum socks_answer {
    SOCKS_GRANTED = 0,
    SOCKS_FAILED = 1,
    SOCKS_REFUSED = 2,
    SOCKS_NETWORK = 3,
    SOCKS_HOST = 4,
    SOCKS_CONNECTION = 5,
    SOCKS_COMMAND = 7,
    SOCKS_ADDRESS = 8
};

/* socks_greeting() - Return: bytes of the greeting; 0: it goes on; -EBADMSG: no greeting, or one without our
 * method. */
ssize_t socks_greeting(const unsigned char *data, size_t length);

/*
 * socks_request() - where to.
 *
 * Return: bytes of the request; 0: it goes on; -EBADMSG: not readable; -EOPNOTSUPP: a command that is not
 * CONNECT; -EAFNOSUPPORT: a name that is none, or an unknown kind of address.
 */
ssize_t socks_request(const unsigned char *data, size_t length, struct target *ret_target);

#define SOCKS_REPLY 10
/* socks_reply() - SOCKS_REPLY bytes. */
void socks_reply(enum socks_answer answer, unsigned char *reply);

#endif
