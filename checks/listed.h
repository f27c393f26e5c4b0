/*
 * listed.h - what an order for hosts of a list says, and the acts that go there.
 */
#ifndef CONFINE_CHECKS_LISTED_H
#define CONFINE_CHECKS_LISTED_H

#include "attempt.h"

/* What the order says: path[0] and number[0] of what is not listed, path[2] and number[1] of what is;
 * number[2]: where the control's proxy listens; number[3]: whether all is listed that is below the name above
 * path[2]. */
#define OTHER(order)      ((order)->path[0])
#define OTHER_PORT(order) ((order)->number[0])
#define HOST(order)       ((order)->path[2])
#define HOST_PORT(order)  ((order)->number[1])

/* As the `act` of struct attempt: to the listed host, then to the other. */
typedef int listed_act(const struct order *order, struct answer *answer);

listed_act listed_stream, listed_tunnel, listed_absolute, listed_socks, listed_datagram, listed_quic,
    listed_metadata, listed_ask, listed_ask_text, listed_ask_stream, listed_ask_below, listed_ask_elsewhere,
    listed_tunnel_name, listed_confused, listed_confused_tunnel, listed_zero, listed_spellings, listed_hello,
    listed_hello_pieces, listed_hello_nameless, listed_hello_tunnel, listed_header, listed_header_twice,
    listed_header_late, listed_header_folded, listed_target, listed_absolute_header, listed_pipelined,
    listed_turn, listed_associate;

#endif
