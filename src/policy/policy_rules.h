/*
 * policy_rules.h - network rules as text: NAME[:PORT[,PORT]…], *.NAME[:…], ADDRESS[/BITS]:PORT,
 * private:NAME[:PORT…].
 */
#ifndef CONFINE_POLICY_POLICY_RULES_H
#define CONFINE_POLICY_POLICY_RULES_H

#include "util/util.h"

#include <stdint.h>

#define RULE_PORTS 16

/* Where names are: the address is the machine's own there, and the first of the network. */
#define NETWORK_POOL4  "198.18.0.0/15" /* for measurements (RFC 2544): nobody's */
#define NETWORK_SELF4  "198.18.0.1/15"
#define NETWORK_POOL6  "fdc0:ffee:c0f1::/64" /* a local one (RFC 4193) */
#define NETWORK_SELF6  "[fdc0:ffee:c0f1::1]/64"
#define NETWORK_LOCAL6 "[fdc0:ffee:c0f1::]/64"

struct rule {
    bool private;  /* the name may resolve to private addresses */
    bool wildcard; /* `*.`: every name below, not the name itself */
    bool address;  /* `name` is an address, `bits` of it count */
    unsigned bits;
    char name[256]; /* in lower case, without `*.`, brackets and bits */
    uint16_t ports[RULE_PORTS];
    size_t port_count;
};

/* rule_parse() - Return: true, or false for what is no rule; @ret_rule is undefined then. A name without a
 * port means 443 and 80; an address must have one. */
bool rule_parse(const char *text, struct rule *ret_rule);

/*
 * rule_useless() - can a rule that was read not be followed, whatever it meets?
 * @ret_why:     static: completes `RULE: `
 * @ret_instead: static: what to say instead
 *
 * Return: whether it is so. A network that merely holds such addresses is followed for all others.
 */
bool rule_useless(const struct rule *rule, const char **ret_why, const char **ret_instead);

/* rule_mistake() - what is meant by a text that is no rule, where that can be told. Return: what to say
 * instead, static, or NULL. */
const char *rule_mistake(const char *text);

/* rule_has_name() - is it one for @name, which is in lower case? Ports are not looked at. */
bool rule_has_name(const struct rule *rule, const char *name);

/* rule_meet() - what both allow. Addresses meet only when they are the same: less than could be, never more.
 * Return: true, or false when nothing is left. */
bool rule_meet(const struct rule *a, const struct rule *b, struct rule *ret_rule);

/* rule_text() - append @rule in the spelling that rule_parse() reads. */
void rule_text(const struct rule *rule, struct text *text);

/* proxy_valid() - is it http://[USER:PASSWORD@]HOST:PORT? Signs of user and password may be escaped, `%40`.
 */
bool proxy_valid(const char *text);

/* ports_valid() - is it PORT or PORT:PORT? */
bool ports_valid(const char *text);

#endif
