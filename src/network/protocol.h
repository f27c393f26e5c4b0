/*
 * protocol.h - what supervisor and gateway say to each other.
 *
 * One AF_UNIX SOCK_SEQPACKET pair; `confine-gateway --channel N` has one end. A packet is one JSON object
 * with `type`, at most PROTOCOL_PACKET bytes, some with one descriptor (SCM_RIGHTS). What is unknown, has an
 * unknown key or lacks its descriptor ends the gateway: between the two nothing is guessed.
 *
 * The gateway starts unready: it confines itself, says `confined`, and reads nothing from outside before
 * `start`. The end of the channel ends it at once, and everything that it relays. If it dies, the channel
 * ends: nothing inside has another way out.
 *
 * supervisor -> gateway
 *
 *   start    {"rules": [RULE…], "upstream": URL|null, "pool4": RANGE|null, "pool6": RANGE|null}
 *            First, and once. Rules as rule_parse() takes them; ranges as `198.18.0.0/15`. A pool that is
 *            null: no address of that family is answered. Pools are at least /18 and /114. The first two
 *            addresses are nobody's, those up to base + 4096 the supervisor's (`name` of listen), and the
 *            next PROTOCOL_NAMES are given out to all other names. "asks": true (may be left out): names that
 *            no rule has get an address as well, because somebody is asked before anybody connects to it.
 *   listen   {"role": "tcp"|"dns"|"dns-tcp"|"proxy", "name": NAME (may be left out)}
 *            + listening socket (dns: bound datagram socket) made inside. tcp: any port; the destination is
 *            the accepted connection's own address. `name` (canonical; tcp only): the address of the socket
 *            is the one that DNS answers for it, and in the other family the one with the same distance from
 *            its base. An address that is not of the pool is no affair of DNS: what comes there is for
 * `name`. forward  {"port": HOSTPORT} + listening socket made inside; it leads to the host's 127.0.0.1 or
 * ::1. publish  {"port": INSIDE} + listening socket on the host's loopback; it leads to the same inside.
 *   socket   {"id": N} + fresh, unconnected TCP socket made inside; without a descriptor: there is none.
 *   allow    {"rule": RULE} one more, for what begins from now on. `allowed` or `allow-refused` answers.
 *   anew     {} somebody has begun to listen who has heard nothing yet: tell one by one again.
 *   tell     {} say what has been counted so far, and `told`.
 *   end      {} close everything, say what is left to say, and `ended`.
 *
 * gateway -> supervisor
 *
 *   confined       {} no file of the host can be reached any more, and the filter is on.
 *   ready          {} `start` was taken.
 *   failed         {"message": TEXT} the last word before it ends with 125.
 *   connection     {"id": N, "name": NAME|null, "address": TEXT|null, "port": N, "protocol": PROTOCOL,
 *                  "rule": RULE|null, "refused": REASON|null, "option": TEXT|null}
 *                  When decided. PROTOCOL: tcp, http, connect, socks5, dns, forward, publish. NAME is
 *                  canonical, or what was asked for, as text for a person, when it cannot be. `address` is
 *                  what was asked for where that was an address. `option` would have allowed it:
 *                  `--allow registry.example.org`. A refused one has no `closed`. dns: refused names only,
 *                  each once; then they are counted.
 *   closed         {"id": N, "address": TEXT|null, "sent": BYTES, "received": BYTES, "ms": N,
 *                  "error": TEXT|null, "refused": REASON|null, "option": TEXT|null}
 *                  `sent` by the command. `address` is the one that was dialled, or refused. `refused`: what
 *                  became clear only when the name was resolved, or when its first bytes came; it takes the
 *                  place of the one in `connection`.
 *   counted        {"name": NAME|null, "port": N, "protocol": PROTOCOL, "rule": RULE|null,
 *                  "refused": REASON|null, "option": TEXT|null, "connections": N, "sent": BYTES,
 *                  "received": BYTES, "failed": N, "error": TEXT|null}
 *                  What was added since the last `counted` with the same words: after PROTOCOL_ITEMS
 *                  connections of its kind, and for a name that is asked for again and again. "name": null:
 *                  everything that exceeds the bounds of the counting as well; what was refused of that is
 *                  a sum of its own ("refused": "various").
 *                  `failed`: of what was allowed, as many brought nothing back, the first of them because of
 *                  `error`.
 *   given          {"name": NAME, "four": ADDRESS|null, "six": ADDRESS|null} a name has got an address of its
 *                  own; the first PROTOCOL_ITEMS of them, each before it is answered.
 *   allowed        {"rule": RULE} as it was sent.
 *   allow-refused  {"rule": RULE, "reason": TEXT}
 *   listen-wanted  {"port": N, "name": NAME|null} ahead of `allowed`, for each port of the rule without a
 *                  listener: for that name, or for all where the rule names no single one.
 *   wants-socket   {"id": N, "family": 4|6} answered by `socket`.
 *   told           {} the answer to `tell`: whatever had come by then has been said.
 *   ended          {} the answer to `end`.
 *
 * REASON, an open list of words: see decide.c.
 */
#ifndef CONFINE_NETWORK_PROTOCOL_H
#define CONFINE_NETWORK_PROTOCOL_H

#define PROTOCOL_PACKET 65536 /* bytes */
#define PROTOCOL_ITEMS  1000  /* connections that are told one by one: of those allowed, and refused */
#define PROTOCOL_NAMES  8192  /* names that have an address at a time */
#define PROTOCOL_RULES  1024  /* rules in force, those of `allow` included */

#endif
