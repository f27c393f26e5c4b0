/*
 * address.h - what an address is: public, or one of those that no name may lead to.
 *
 * Should:  look through every form in which an IPv4 address stands in an IPv6 one.
 * Mustn't: call an address public that no row of the tables knows to be.
 */
#ifndef CONFINE_POLICY_ADDRESS_H
#define CONFINE_POLICY_ADDRESS_H

#include "policy/policy_rules.h"

struct address {
    bool six;
    unsigned char bytes[16]; /* of an IPv4 address the first four */
};

enum address_kind {
    ADDRESS_NEVER = 0,  /* this host, nowhere or everybody: no rule opens it */
    ADDRESS_LOOPBACK,   /* as well; it has a way of its own (`--forward`) */
    ADDRESS_LINK_LOCAL, /* a rule that names its range opens it, and all that follow */
    ADDRESS_METADATA,   /* where clouds hand out credentials */
    ADDRESS_SPECIAL,    /* translation, whose end cannot be seen; what is not assigned */
    ADDRESS_RESERVED,   /* documentation, benchmarks, later use: also opened by `private:` */
    ADDRESS_PRIVATE,    /* as well */
    ADDRESS_PUBLIC
};

/* A range of one kind. */
struct address_range {
    enum address_kind kind;
    unsigned bits;
};

/* address_unmap() - an IPv4-mapped one becomes IPv4; every other stays. */
void address_unmap(struct address *address);

/* address_parse() - of text, in the one spelling that everybody reads alike: dotted decimal of four numbers,
 * or IPv6 without brackets and zone. Return: true, or false for everything else. */
bool address_parse(const char *text, struct address *ret_address);

#define ADDRESS_TEXT 48
/* address_text() - Return: @buffer, ADDRESS_TEXT bytes. */
const char *address_text(const struct address *address, char *buffer);

/* address_range() - what @address is, and the narrowest range that says so. */
struct address_range address_range(const struct address *address);

/* address_in_rule() - does the address rule @rule hold @address? Ports are not looked at. */
bool address_in_rule(const struct rule *rule, const struct address *address);

#endif
