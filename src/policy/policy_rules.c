/*
 * policy_rules.c - read, write and intersect network rules.
 *
 * Should:  refuse what two readers could understand differently: empty labels, a last label of digits that is
 *          no address, ports with signs or leading zeros, letters that are not ASCII.
 * Mustn't: resolve a name.
 */
#include "policy/policy_rules.h"

#include "policy/address.h"

#include <arpa/inet.h>

/* A port at TEXT that ends at any byte of ENDS. Return: behind it, NULL if there is none. */
static const char *read_port(const char *text, const char *ends, uint16_t *ret_port)
{
    unsigned long port = 0;
    size_t digits = strspn(text, "0123456789");

    if (digits == 0 || digits > 5 || text[0] == '0' || !strchr(ends, text[digits]))
        return NULL;
    for (size_t i = 0; i < digits; i++)
        port = port * 10 + (unsigned long)(text[i] - '0');
    if (port > 65535)
        return NULL;
    *ret_port = (uint16_t)port;
    return text + digits;
}

bool ports_valid(const char *text)
{
    uint16_t port;
    const char *rest = read_port(text, ":", &port);

    return rest && (*rest == '\0' || ((rest = read_port(rest + 1, "", &port)) && *rest == '\0'));
}

static bool read_ports(const char *text, struct rule *rule)
{
    while (rule->port_count < RULE_PORTS) {
        text = read_port(text, ",", &rule->ports[rule->port_count]);
        if (!text)
            return false;
        rule->port_count++;
        if (*text == '\0')
            return true;
        text++;
    }
    return false;
}

static bool is_host_name(const char *name)
{
    size_t length = 0;
    bool digits = true;

    if (*name == '\0' || strlen(name) > 253)
        return false;
    for (const char *at = name;; at++) {
        bool letter = (*at >= 'a' && *at <= 'z') || *at == '-' || *at == '_';

        if (*at == '.' || *at == '\0') {
            if (length == 0 || length > 63 || at[-1] == '-')
                return false;
            if (*at == '\0')
                return !digits; /* a last label of digits would be read as an address by some */
            length = 0;
            digits = true;
            continue;
        }
        if (!letter && !(*at >= '0' && *at <= '9'))
            return false;
        if (length == 0 && *at == '-')
            return false;
        digits = digits && !letter;
        length++;
    }
}

/* A number up to MOST at TEXT, without leading zeros. Return: behind it; NULL: there is none. */
static const char *read_bits(const char *text, unsigned most, unsigned *ret_bits)
{
    size_t digits = strspn(text, "0123456789");
    unsigned bits = 0;

    if (digits == 0 || digits > 3 || (text[0] == '0' && digits > 1))
        return NULL;
    for (size_t i = 0; i < digits; i++)
        bits = bits * 10 + (unsigned)(text[i] - '0');
    *ret_bits = bits;
    return bits <= most ? text + digits : NULL;
}

/* `192.0.2.0/24` or `[2001:db8::]/32`, in rule->name. */
static bool read_address(struct rule *rule)
{
    unsigned char bytes[16];
    bool six = rule->name[0] == '[';
    char *slash = strchr(rule->name, '/');

    rule->bits = six ? 128 : 32;
    if (slash) {
        const char *end = read_bits(slash + 1, rule->bits, &rule->bits);

        if (!end || *end != '\0')
            return false;
        *slash = '\0';
    }
    if (six) {
        size_t length = strlen(rule->name);

        if (rule->name[length - 1] != ']')
            return false;
        rule->name[length - 1] = '\0';
        memmove(rule->name, rule->name + 1, length - 1);
    }
    rule->address = inet_pton(six ? AF_INET6 : AF_INET, rule->name, bytes) == 1;
    return rule->address;
}

bool rule_parse(const char *text, struct rule *ret_rule)
{
    static const char private[] = "private:";
    const char *colon, *end;
    size_t length;

    *ret_rule = (struct rule){.private = strncmp(text, private, sizeof(private) - 1) == 0};
    text += ret_rule->private ? sizeof(private) - 1 : 0;
    end = text[0] == '[' ? strchr(text, ']') : text;
    colon = end ? strchr(end, ':') : NULL;
    length = colon ? (size_t)(colon - text) : strlen(text);
    if (strncmp(text, "*.", 2) == 0) {
        ret_rule->wildcard = true;
        text += 2;
        length -= 2;
    }
    if (length == 0 || length >= sizeof(ret_rule->name))
        return false;
    for (size_t i = 0; i < length; i++)
        ret_rule->name[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] + ('a' - 'A')) : text[i];
    if (colon && !read_ports(colon + 1, ret_rule))
        return false;
    if (is_host_name(ret_rule->name)) {
        if (!colon) {
            ret_rule->ports[0] = 443;
            ret_rule->ports[1] = 80;
            ret_rule->port_count = 2;
        }
        return true;
    }
    return colon && !ret_rule->private && !ret_rule->wildcard && read_address(ret_rule);
}

static const struct useless {
    const char *network; /* whose addresses they are; NULL: all of the kind */
    enum address_kind kind;
    const char *why, *instead;
} useless[] = {
    {NETWORK_POOL4, 0, "inside, these addresses stand for names", "name the host"},
    {NETWORK_POOL6, 0, "inside, these addresses stand for names", "name the host"},
    {"::ffff:0:0/96", 0, "this is an IPv4 address", "write it as such"},
    {"fe80::/10", 0, "a link-local address needs a device, for which a rule has no place",
     "use another address of that host"},
    {NULL, ADDRESS_LOOPBACK, "a loopback address is the command's own inside",
     "--forward PORT leads to a port of this machine"},
    {NULL, ADDRESS_NEVER, "no connection leads to such an address",
     "a rule names hosts; 0.0.0.0/0 and [::]/0 are all of them"},
};

/* Is all of the rule in NETWORK, `10.0.0.0/8`? */
static bool is_within(const struct rule *rule, const char *network)
{
    struct rule outer = {.address = true, .bits = (unsigned)strtoul(strchr(network, '/') + 1, NULL, 10)};
    struct address address = {.six = strchr(rule->name, ':')};

    snprintf(outer.name, sizeof(outer.name), "%.*s", (int)strcspn(network, "/"), network);
    return rule->bits >= outer.bits &&
           inet_pton(address.six ? AF_INET6 : AF_INET, rule->name, address.bytes) == 1 &&
           address_in_rule(&outer, &address);
}

/* Is a bit set behind those that count? Then one address was meant, or another network. */
static bool has_host_bits(const struct rule *rule)
{
    const bool six = strchr(rule->name, ':');
    unsigned char bytes[16];

    if (inet_pton(six ? AF_INET6 : AF_INET, rule->name, bytes) != 1)
        return false;
    for (unsigned bit = rule->bits; bit < (six ? 128 : 32); bit++)
        if (bytes[bit / 8] & 0x80U >> bit % 8)
            return true;
    return false;
}

bool rule_useless(const struct rule *rule, const char **ret_why, const char **ret_instead)
{
    static const char own[] = "localhost";
    size_t length = strlen(rule->name);
    struct address_range range = {ADDRESS_PUBLIC, 0};
    struct address address;

    if (!rule->address) {
        *ret_why = "it is the command's own inside";
        *ret_instead = "--forward PORT leads to a port of this machine";
        return length >= sizeof(own) - 1 && strcmp(rule->name + length - (sizeof(own) - 1), own) == 0 &&
               (length == sizeof(own) - 1 || rule->name[length - sizeof(own)] == '.');
    }
    if (address_parse(rule->name, &address))
        range = address_range(&address);
    for (size_t i = 0; i < ARRAY_SIZE(useless); i++) {
        const struct useless *row = &useless[i];

        if (row->network ? !is_within(rule, row->network)
                         : range.kind != row->kind || rule->bits < range.bits)
            continue;
        *ret_why = row->why;
        *ret_instead = row->instead;
        return true;
    }
    if (!has_host_bits(rule))
        return false;
    *ret_why = "the address has bits behind those that /BITS counts";
    *ret_instead = "write the first address of the network, or the one address without /BITS";
    return true;
}

/* What is wrong with PORTS, which are none: `443,80`. */
static const char *ports_mistake(const char *ports)
{
    size_t count = 0;
    uint16_t port;

    if (strchr(ports, ',') && strpbrk(ports, ".:"))
        return "a comma stands between ports; one rule for each host";
    if (ports[0] >= '0' && ports[0] <= '9' && strchr(ports, '-'))
        return "there are no ranges of ports: NAME:443,444 names each";
    for (const char *at = ports; (at = read_port(at, ",", &port)); at++)
        if (++count > RULE_PORTS || *at == '\0')
            break;
    return count > RULE_PORTS ? "a rule has at most 16 ports; write a second one"
                              : "a port is a number from 1 to 65535, without leading zeros";
}

/* The same of NAME, if it is an address in front of whatever: `192.0.2.0/24:443`, `[2001:db8::1]:443`. */
static const char *address_mistake(const char *name, bool private)
{
    const bool six = name[0] == '[';
    const size_t length = strcspn(name + six, six ? "]" : ":/");
    const char *rest = name + six + length;
    char text[ADDRESS_TEXT];
    struct address address;
    unsigned bits;

    if (length >= sizeof(text) || (six && *rest != ']'))
        return NULL;
    snprintf(text, sizeof(text), "%.*s", (int)length, name + six);
    if (!address_parse(text, &address) || six != (strchr(text, ':') != NULL))
        return NULL;
    rest += six;
    if (private)
        return six ? "an address is named without private: [ADDRESS]:443"
                   : "an address is named without private: ADDRESS:443";
    if (*rest == '/' && !(rest = read_bits(rest + 1, six ? 128 : 32, &bits)))
        return "/BITS is a number up to 32, of an IPv6 address up to 128";
    if (*rest == '\0')
        return six ? "an address needs a port: [ADDRESS]:443 or [ADDRESS]/BITS:443"
                   : "an address needs a port: ADDRESS:443 or ADDRESS/BITS:443";
    return *rest == ':' ? ports_mistake(rest + 1) : NULL;
}

/* `2001:db8::1`, `::/0:443` or `2001:db8::1:443`: where the address ends cannot be told. */
static bool is_bare_six(const char *name)
{
    const size_t length = strspn(name, "0123456789abcdefABCDEF:.");
    const char *twice = strstr(name, "::");
    size_t colons = 0;

    for (size_t i = 0; i < length; i++)
        colons += name[i] == ':';
    return (name[length] == '\0' || name[length] == '/') && (colons >= 7 || (twice && twice < name + length));
}

/* USER:PASSWORD, whose escapes are hexadecimal and no NUL. */
static bool is_user(const char *text, size_t length)
{
    static const char hexadecimal[] = "0123456789abcdefABCDEF";

    for (size_t i = 0; i < length; i++)
        if (text[i] == '%' &&
            (i + 2 >= length || !strchr(hexadecimal, text[i + 1]) || !strchr(hexadecimal, text[i + 2]) ||
             (text[i + 1] == '0' && text[i + 2] == '0')))
            return false;
    return memchr(text, ':', length);
}

bool proxy_valid(const char *text)
{
    static const char scheme[] = "http://";
    const char *host = text + sizeof(scheme) - 1, *at;
    char place[sizeof(((struct rule *)NULL)->name) + 8];
    struct rule rule;
    size_t length;

    if (strncmp(text, scheme, sizeof(scheme) - 1) != 0)
        return false;
    at = strrchr(host, '@');
    if (at && !is_user(host, (size_t)(at - host)))
        return false;
    host = at ? at + 1 : host;
    length = strcspn(host, "/");
    if (length >= sizeof(place) || (host[length] == '/' && host[length + 1] != '\0'))
        return false;
    snprintf(place, sizeof(place), "%.*s", (int)length, host);
    /* As in a rule; only a name without a port has two of them. */
    return rule_parse(place, &rule) && rule.port_count == 1 && !rule.private && !rule.wildcard;
}

const char *rule_mistake(const char *text)
{
    const char *name = strncmp(text, "private:", 8) == 0 ? text + 8 : text;
    const size_t length = strcspn(name, ":");
    const char *address = address_mistake(name, name != text);

    for (const char *at = name; *at; at++)
        if ((unsigned char)*at >= 0x80)
            return "write the name as it is looked up: xn--...";
    if (strstr(text, "://"))
        return "name the host alone, without http:// and what follows it";
    if (is_bare_six(name))
        return "an IPv6 address stands in brackets: [ADDRESS]:443 or [ADDRESS]/BITS:443";
    if (address)
        return address;
    if (strcmp(name, "*") == 0 || strncmp(name, "*:", 2) == 0)
        return "*.example.com is every name below example.com; --network host leaves everything open";
    if (strchr(name, '*') && strncmp(name, "*.", 2) != 0)
        return "a star stands for whole names, in front: *.example.com";
    if (strchr(name, '/') && !(name[0] >= '0' && name[0] <= '9') && name[0] != '[')
        return "name the host alone: what is asked of it cannot be told apart";
    if (length > 1 && name[length - 1] == '.')
        return "leave out the dot at the end";
    if (memchr(name, ',', length))
        return "a comma stands between ports; one rule for each host";
    return name[length] == ':' && length > 0 && name[0] != '[' ? ports_mistake(name + length + 1) : NULL;
}

bool rule_has_name(const struct rule *rule, const char *name)
{
    size_t length = strlen(name), rule_length = strlen(rule->name);

    if (rule->address)
        return false;
    if (!rule->wildcard)
        return strcmp(rule->name, name) == 0;
    return length > rule_length + 1 && name[length - rule_length - 1] == '.' &&
           strcmp(name + length - rule_length, rule->name) == 0;
}

/* Does OUTER, a wildcard, hold every name that INNER means? */
static bool holds_name(const struct rule *outer, const struct rule *inner)
{
    size_t outer_length = strlen(outer->name), inner_length = strlen(inner->name);

    if (!outer->wildcard || outer->address || inner->address)
        return false;
    if (inner->wildcard && strcmp(outer->name, inner->name) == 0)
        return true;
    return inner_length > outer_length + 1 && inner->name[inner_length - outer_length - 1] == '.' &&
           strcmp(inner->name + inner_length - outer_length, outer->name) == 0;
}

bool rule_meet(const struct rule *a, const struct rule *b, struct rule *ret_rule)
{
    bool same = a->wildcard == b->wildcard && a->address == b->address && a->bits == b->bits &&
                strcmp(a->name, b->name) == 0;
    const struct rule *inner = same || holds_name(b, a) ? a : b;

    if (!same && !holds_name(a, b) && !holds_name(b, a))
        return false;
    *ret_rule = *inner;
    ret_rule->private = a->private && b->private;
    ret_rule->port_count = 0;
    for (size_t i = 0; i < a->port_count; i++)
        for (size_t j = 0; j < b->port_count; j++)
            if (a->ports[i] == b->ports[j] && ret_rule->port_count < RULE_PORTS) {
                ret_rule->ports[ret_rule->port_count++] = a->ports[i];
                break;
            }
    return ret_rule->port_count > 0;
}

void rule_text(const struct rule *rule, struct text *text)
{
    bool six = rule->address && strchr(rule->name, ':');

    text_addf(text, "%s%s%s%s%s", rule->private ? "private:" : "", rule->wildcard ? "*." : "", six ? "[" : "",
              rule->name, six ? "]" : "");
    if (rule->address)
        text_addf(text, "/%u", rule->bits);
    for (size_t i = 0; i < rule->port_count; i++)
        text_addf(text, "%s%u", i ? "," : ":", rule->ports[i]);
}
