/*
 * dns.h - answers to what is asked inside. Nothing is ever asked outside.
 *
 * Should:  answer at once, whatever was asked, so that nobody waits for a time-out.
 * Mustn't: forward anything: a name that is not listed would carry data out in its labels.
 */
#ifndef CONFINE_NETWORK_DNS_H
#define CONFINE_NETWORK_DNS_H

#include "network/decide.h"
#include "network/pool.h"

#define DNS_MESSAGE 512 /* bytes of an answer at most; the longest question fits */
#define DNS_TTL     10  /* s */

enum dns_said {
    DNS_NOTHING = 0, /* no answer: it is no question */
    DNS_REFUSED,     /* the name is not listed */
    DNS_ANSWERED,
    DNS_MALFORMED /* answered with an error */
};

/*
 * dns_answer() - the answer to one message.
 * @answer:   DNS_MESSAGE bytes
 * @ret_name: the name that was asked for, canonical where it has such a form, else empty
 */
enum dns_said dns_answer(const struct rules *rules, struct pool *pool, const unsigned char *message,
                         size_t length, unsigned char *answer, size_t *ret_length, char ret_name[NAME_SIZE]);

/* dns_type() - what kind of record was asked for, by the @answer to a question that had a name. */
unsigned dns_type(const unsigned char *answer);

#endif
