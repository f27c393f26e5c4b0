/*
 * decide.h - may the command reach this name, or this address, on this port?
 *
 * What was asked for is parsed once into canonical form; what has none is refused. Only that form is compared
 * with rules, shown, and handed to the resolver.
 *
 * Should:  say with every refusal which option would have allowed it, where there is one.
 * Mustn't: let an address match a rule of a name, or a name one of an address.
 */
#ifndef CONFINE_NETWORK_DECIDE_H
#define CONFINE_NETWORK_DECIDE_H

#include "network/socket_address.h"

#define NAME_SIZE   256 /* a canonical name and its NUL */
#define OPTION_SIZE 320 /* `--allow private:NAME:PORT` */

/* Why not. `reasons[]` has the words. */
enum reason {
    REASON_NOT_LISTED = 0, /* no rule has this name or address */
    REASON_PORT,           /* a rule has it, with other ports */
    REASON_BAD_NAME,       /* no host name: bytes, lengths, a last label of digits */
    REASON_PRIVATE,        /* it is, or leads to, a private address */
    REASON_LOOPBACK,
    REASON_LINK_LOCAL,
    REASON_METADATA,
    REASON_SPECIAL,
    REASON_RESERVED,
    REASON_OWN,           /* an address of this machine */
    REASON_NEVER,         /* an address that no rule can open */
    REASON_TLS_NAME,      /* the ClientHello asks for another name */
    REASON_TLS_NO_NAME,   /* it asks for none where a name was reached */
    REASON_TLS_BAD,       /* it cannot be read */
    REASON_HTTP_HOST,     /* the request is for another host */
    REASON_BAD_REQUEST,   /* of HTTP or SOCKS: two readers could understand it differently */
    REASON_NOT_SUPPORTED, /* UDP ASSOCIATE, BIND, `https://` in a request, … */
    REASON_VARIOUS,       /* of a sum without a name: more than are told apart */
    REASON_COUNT,
    REASON_NONE = REASON_COUNT /* it may */
};
extern const char *const reasons[REASON_COUNT];

struct rules {
    struct rule *items;
    size_t count;
    bool asks; /* somebody is asked outside about whoever connects: names that no rule has get an address, too
                */
};

/* rules_add() - one more. Return: 0, -EINVAL for what is no rule, -E2BIG, -ENOMEM. */
int rules_add(struct rules *rules, const char *text);

/* Where to. */
struct target {
    bool is_address;
    struct address address; /* of an address */
    char name[NAME_SIZE];   /* canonical; of an address its text */
    uint16_t port;
};

/*
 * target_read() - @length bytes of what a client asked for.
 * @brackets: whether an IPv6 address stands in them (HTTP) or bare (SOCKS)
 *
 * Return: true, or false when it is neither a host name nor an address.
 */
bool target_read(const char *text, size_t length, bool brackets, uint16_t port, struct target *ret_target);
void target_set(const struct address *address, uint16_t port, struct target *ret_target);

/* name_read() - @length bytes to canonical form: lower case, without the final dot. Return: false for no
 * name. */
bool name_read(const char *text, size_t length, char ret_name[NAME_SIZE]);

struct verdict {
    enum reason reason; /* REASON_NONE: allowed */
    size_t rule;        /* index of the one that allows; of an address not known before it is resolved */
    bool private;       /* the name may lead to private addresses */
    char option[OPTION_SIZE]; /* empty: there is none */
};

/* decide_target() - by the rules alone; for an address by what it is as well. */
void decide_target(const struct rules *rules, const struct target *target, struct verdict *ret_verdict);

/* decide_name() - does any rule have this name, on whatever port, or could one that is asked about? */
bool decide_name(const struct rules *rules, const char *name);

/* decide_option() - what would allow @name; empty where nothing would. */
void decide_option(const char *name, char ret_option[OPTION_SIZE]);

/* decide_address() - may @target, which decide_target() allowed, be reached at @address, to which its name
 * led? Return: REASON_NONE or why not; then @ret_option says what would allow it. */
enum reason decide_address(const struct rules *rules, const struct target *target,
                           const struct verdict *verdict, const struct address *address,
                           char ret_option[OPTION_SIZE]);

#endif
