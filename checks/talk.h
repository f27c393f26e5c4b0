/*
 * talk.h - ways to tell somebody something who is reached by a name: what an act inside says, and hears.
 *
 * Each waits for an answer, or for the end of its connection: then what was said has come wherever it could.
 */
#ifndef CONFINE_CHECKS_TALK_H
#define CONFINE_CHECKS_TALK_H

#include "attempt.h"

union name;

/* A way to say @text to @host, a name or an address. Return: 0 when it was answered, else an errno. */
typedef int way(const char *host, long port, const char *text);

/* talk_ask() - ask the name server of this machine. @type: of DNS. Return: 0, ENOENT where there is no such
 * name or address, or another errno; of an address it is in @ret_address, with port 0. */
int talk_ask(const char *name, unsigned type, bool stream, union name *ret_address);
/* talk_ask_at() - the same of the server at @server, by UDP; an answer is of no interest. */
int talk_ask_at(const char *server, const char *name);

/* talk_dial() - Return: a connected socket, or -errno. */
int talk_dial(const char *host, long port, int type);
/* talk_say() - say it, and wait for an answer. @ret_answer: DATA_SIZE bytes of it; NULL. Return: 0 or an
 * errno. */
int talk_say(int fd, const void *bytes, size_t size, char *ret_answer);
/* talk_once() - the same, and it is closed. @fd: -errno stands for why there is none. */
int talk_once(int fd, const void *bytes, size_t size);

/* talk_send() - one datagram; an answer is of no interest. Return: 0 or an errno. */
int talk_send(const char *host, long port, const void *bytes, size_t size);

/* By themselves; as HTTP and its variable's proxy would; in SOCKS5; by UDP. */
way talk_stream, talk_request, talk_tunnel, talk_absolute, talk_socks, talk_datagram;

/* talk_authority() - HOST:PORT as it stands in a request: an IPv6 address in brackets. Return: @text. */
const char *talk_authority(const char *host, long port, char text[PLACE_SIZE]);
/* talk_proxy() - a connection to the proxy that `http_proxy` names. Return: a socket or -errno. */
int talk_proxy(void);
/* talk_tunnel_to() - what CONNECT to it gives there. Return: a socket or -errno. */
int talk_tunnel_to(const char *host, long port);
/* talk_greet_socks() - ask it for what @command does (1: to connect, 3: for datagrams), for @size bytes of a
 * name. Return: 0 or an errno; where it leads is in @ret_address. */
int talk_greet_socks(int fd, unsigned char command, const char *name, size_t size, long port,
                     union name *ret_address);
/* talk_socks_to() - talk_socks(), to a name of @size bytes, whatever they are. */
int talk_socks_to(const char *name, size_t size, long port, const char *text);
/* talk_hello() - a ClientHello for @name (NULL: for none) with @text for its random bytes. @pieces: records
 * that it comes in. Return: its length. */
size_t talk_hello(const char *name, const char text[MARK_SIZE], int pieces, unsigned char *bytes,
                  size_t size);

#endif
