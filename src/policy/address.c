/*
 * address.c - ranges of addresses, from the registries of special ones and from what clouds document.
 *
 * See address.h. The tables are asked from the narrowest row to the widest.
 */
#include "policy/address.h"

#include <arpa/inet.h>

struct row {
    const char *base;
    unsigned bits;
    enum address_kind kind;
};

static const struct row rows4[] = {
    {"169.254.169.254", 32, ADDRESS_METADATA}, /* nearly every cloud */
    {"169.254.169.253", 32, ADDRESS_METADATA},
    {"169.254.169.123", 32, ADDRESS_METADATA},
    {"169.254.170.2", 32, ADDRESS_METADATA}, /* credentials of containers */
    {"169.254.170.23", 32, ADDRESS_METADATA},
    {"168.63.129.16", 32, ADDRESS_METADATA},
    {"100.100.100.200", 32, ADDRESS_METADATA},
    {"192.0.0.192", 32, ADDRESS_METADATA},
    {"255.255.255.255", 32, ADDRESS_NEVER},
    {"192.0.0.0", 24, ADDRESS_RESERVED},
    {"192.0.2.0", 24, ADDRESS_RESERVED},
    {"192.88.99.0", 24, ADDRESS_RESERVED},
    {"198.51.100.0", 24, ADDRESS_RESERVED},
    {"203.0.113.0", 24, ADDRESS_RESERVED},
    {"169.254.0.0", 16, ADDRESS_LINK_LOCAL},
    {"192.168.0.0", 16, ADDRESS_PRIVATE},
    {"198.18.0.0", 15, ADDRESS_RESERVED},
    {"172.16.0.0", 12, ADDRESS_PRIVATE},
    {"100.64.0.0", 10, ADDRESS_PRIVATE}, /* carriers' and overlay networks' */
    {"0.0.0.0", 8, ADDRESS_NEVER},
    {"10.0.0.0", 8, ADDRESS_PRIVATE},
    {"127.0.0.0", 8, ADDRESS_LOOPBACK},
    {"224.0.0.0", 4, ADDRESS_NEVER},
    {"240.0.0.0", 4, ADDRESS_RESERVED},
    {"0.0.0.0", 0, ADDRESS_PUBLIC},
};

static const struct row rows6[] = {
    {"::", 128, ADDRESS_NEVER},
    {"::1", 128, ADDRESS_LOOPBACK},
    {"fd20:ce::254", 128, ADDRESS_METADATA},
    {"100::", 64, ADDRESS_SPECIAL},
    {"64:ff9b:1::", 48, ADDRESS_SPECIAL}, /* translation within a site: where it leads cannot be seen */
    {"fd00:ec2::", 32, ADDRESS_METADATA},
    {"2001::", 32, ADDRESS_SPECIAL}, /* Teredo */
    {"2001:db8::", 32, ADDRESS_RESERVED},
    {"2001::", 23, ADDRESS_SPECIAL},
    {"3fff::", 20, ADDRESS_RESERVED},
    {"fe80::", 10, ADDRESS_LINK_LOCAL},
    {"fec0::", 10, ADDRESS_PRIVATE},
    {"ff00::", 8, ADDRESS_NEVER},
    {"fc00::", 7, ADDRESS_PRIVATE},
    {"2000::", 3, ADDRESS_PUBLIC},
    {"::", 0, ADDRESS_SPECIAL}, /* nobody has been given any of it */
};

/* Where in an IPv6 address an IPv4 one stands. It decides alone, but for the mapped form, which is IPv4. */
static const struct {
    const char *base;
    unsigned bits, at;
} wraps[] = {
    {"::ffff:0:0", 96, 12},                          /* mapped */
    {"::", 96, 12},                                  /* compatible */
    {"::ffff:0:0:0", 96, 12}, {"64:ff9b::", 96, 12}, /* NAT64 */
    {"2002::", 16, 2},                               /* 6to4 */
};

static bool same_bits(const unsigned char *a, const unsigned char *b, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;

    return memcmp(a, b, whole) == 0 && (rest == 0 || ((a[whole] ^ b[whole]) >> (8 - rest)) == 0);
}

static bool in_range(bool six, const char *base, unsigned bits, const unsigned char *bytes)
{
    unsigned char from[16];

    return inet_pton(six ? AF_INET6 : AF_INET, base, from) == 1 && same_bits(from, bytes, bits);
}

void address_unmap(struct address *address)
{
    if (address->six && in_range(true, wraps[0].base, wraps[0].bits, address->bytes)) {
        memmove(address->bytes, address->bytes + 12, 4);
        memset(address->bytes + 4, 0, 12);
        address->six = false;
    }
}

bool address_parse(const char *text, struct address *ret_address)
{
    *ret_address = (struct address){.six = strchr(text, ':') != NULL};
    if (inet_pton(ret_address->six ? AF_INET6 : AF_INET, text, ret_address->bytes) != 1)
        return false;
    address_unmap(ret_address);
    return true;
}

const char *address_text(const struct address *address, char *buffer)
{
    if (!inet_ntop(address->six ? AF_INET6 : AF_INET, address->bytes, buffer, ADDRESS_TEXT))
        buffer[0] = '\0';
    return buffer;
}

struct address_range address_range(const struct address *address)
{
    const struct row *rows = address->six ? rows6 : rows4;
    size_t count = address->six ? ARRAY_SIZE(rows6) : ARRAY_SIZE(rows4);
    bool end = address->six &&
               (in_range(true, "::", 128, address->bytes) || in_range(true, "::1", 128, address->bytes));

    for (size_t i = 0; address->six && !end && i < ARRAY_SIZE(wraps); i++)
        if (in_range(true, wraps[i].base, wraps[i].bits, address->bytes)) {
            struct address inside = {0};
            struct address_range range;

            memcpy(inside.bytes, address->bytes + wraps[i].at, 4);
            range = address_range(&inside);
            /* A rule that names the outer form says nothing of what is inside. */
            return range.kind == ADDRESS_PUBLIC ? range : (struct address_range){ADDRESS_NEVER, 128};
        }
    for (size_t i = 0; i < count; i++)
        if (in_range(address->six, rows[i].base, rows[i].bits, address->bytes))
            return (struct address_range){rows[i].kind, rows[i].bits};
    return (struct address_range){ADDRESS_NEVER, 128};
}

bool address_in_rule(const struct rule *rule, const struct address *address)
{
    return rule->address && (strchr(rule->name, ':') != NULL) == address->six &&
           in_range(address->six, rule->name, rule->bits, address->bytes);
}
