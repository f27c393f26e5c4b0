/*
 * test-bypass.c - every known way of asking for one thing and meaning another, in each language that a client
 * may speak.
 *
 * The rules are those of an ordinary build. A row says what is asked for; each dialect puts it into its own
 * form, reads it with the gateway's own reader, and the rules decide. Nothing of a row may be allowed, in
 * none of them.
 */
#include "harness.h"

#include "network/client_hello.h"
#include "network/decide.h"
#include "network/dns.h"
#include "network/http_head.h"
#include "network/pool.h"
#include "network/socks5.h"

#include <arpa/inet.h>

static const char *const listed[] = {"allowed.test",           "*.wild.test:443", "10.0.0.0/8:5432",
                                     "[2001:db8:1::]/48:5432", "ssh.test:22",     "private:corp.test"};

static struct rules rules;
static struct pool pool;

static void read_rules(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(listed); i++)
        need(rules_add(&rules, listed[i]) == 0);
    need(pool_begin(&pool, "198.18.0.0/15", "fdc0:ffee:c0f1::/64") == 0);
}

/* May TARGET be reached, as far as is known before it is resolved? */
static bool is_allowed(const struct target *target)
{
    struct verdict verdict;

    decide_target(&rules, target, &verdict);
    return verdict.reason == REASON_NONE;
}

static bool by_dns(const char *name, size_t length)
{
    unsigned char message[600] = {0, 1, 1, 0, 0, 1}, answer[DNS_MESSAGE];
    char read[NAME_SIZE];
    size_t at = 12, answer_length;

    if (length >= 2 && memcmp(name + length - 2, "..", 2) == 0)
        return false; /* it has no form in this dialect */
    for (size_t i = 0; i <= length;) {
        size_t label = 0;

        while (i + label < length && name[i + label] != '.')
            label++;
        if (label > 255 || at + label + 6 > sizeof(message))
            return false; /* nor has this */
        message[at++] = (unsigned char)label;
        memcpy(message + at, name + i, label);
        at += label;
        i += label + 1;
        if (label == 0)
            break;
    }
    if (message[at - 1] != 0 || (length > 0 && name[length - 1] != '.'))
        message[at++] = 0;
    message[at + 1] = 1; /* A */
    message[at + 3] = 1;
    return dns_answer(&rules, &pool, message, at + 4, answer, &answer_length, read) == DNS_ANSWERED &&
           (answer[3] & 15) == 0;
}

static bool by_http(const char *format, const char *name, size_t length, unsigned port)
{
    char head[2048], *at = strstr(format, "NAME"), text[16];
    struct http_head request;
    size_t before = (size_t)(at - format);

    memcpy(head, format, before);
    memcpy(head + before, name, length);
    at = head + before + length;
    snprintf(text, sizeof(text), ":%u", port);
    snprintf(at, sizeof(head) - before - length, "%s%s", text, format + before + 4);
    return http_request(head, before + length + strlen(at), &request) > 0 && !request.other_host &&
           !request.secure && is_allowed(&request.target);
}

static bool by_connect(const char *name, size_t length, unsigned port)
{
    return by_http("CONNECT NAME HTTP/1.1\r\n\r\n", name, length, port);
}

static bool by_absolute(const char *name, size_t length, unsigned port)
{
    return by_http("GET http://NAME/ HTTP/1.0\r\n\r\n", name, length, port);
}

static bool by_socks(const char *name, size_t length, unsigned port)
{
    unsigned char request[300] = {5, 1, 0, 3, (unsigned char)length};
    struct target target;

    if (length > 255)
        return false;
    memcpy(request + 5, name, length);
    request[5 + length] = (unsigned char)(port >> 8);
    request[6 + length] = (unsigned char)port;
    return socks_request(request, 7 + length, &target) > 0 && is_allowed(&target);
}

static bool by_socks_address(const char *text, unsigned port)
{
    unsigned char request[30] = {5, 1, 0};
    unsigned char bytes[16];
    struct target target;
    bool six = strchr(text, ':') != NULL;
    size_t length = six ? 16 : 4;

    if (inet_pton(six ? AF_INET6 : AF_INET, text, bytes) != 1)
        return false;
    request[3] = six ? 4 : 1;
    memcpy(request + 4, bytes, length);
    request[4 + length] = (unsigned char)(port >> 8);
    request[5 + length] = (unsigned char)port;
    return socks_request(request, 6 + length, &target) > 0 && is_allowed(&target);
}

/* As an address that was dialled inside. */
static bool by_dialling(const char *text, unsigned port)
{
    struct target target;
    struct address address;

    if (!address_parse(text, &address))
        return false;
    target_set(&address, (uint16_t)port, &target);
    return is_allowed(&target);
}

struct ask {
    const char *name; /* of the test */
    const char *text;
    size_t length; /* 0: as long as the text */
    unsigned port; /* 0: 443 */
};

#define LONG_63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct ask bypasses[] = {
    {"another name", "evil.test"},
    {"a suffix in front", "evilallowed.test"},
    {"a suffix behind", "allowed.test.evil.test"},
    {"a prefix", "allowed.tes"},
    {"the parent", "test"},
    {"below a name that is no wildcard", "sub.allowed.test"},
    {"the apex of a wildcard", "wild.test"},
    {"a suffix of a wildcard", "evilwild.test"},
    {"behind a wildcard", "a.wild.test.evil.test"},
    {"the wildcard itself", "*.wild.test"},
    {"a star", "*"},
    {"two final dots", "allowed.test.."},
    {"an empty label", "allowed..test"},
    {"a dot in front", ".allowed.test"},
    {"nothing", ""},
    {"a dot", "."},
    {"NUL and a listed name", "evil.test\0.allowed.test", 23},
    {"a listed name and NUL", "allowed.test\0.evil.test", 23},
    {"a listed name and NUL at the end", "allowed.test\0", 13},
    {"CR LF", "allowed.test\r\nHost: evil.test", 0},
    {"a space", "allowed.test evil.test"},
    {"a space behind", "allowed.test "},
    {"a tab", "allowed.test\t"},
    {"user information", "allowed.test@evil.test"},
    {"user information with a password", "allowed.test:80@evil.test"},
    {"a percent", "allowed%2etest"},
    {"a slash", "evil.test/allowed.test"},
    {"a backslash", "evil.test\\allowed.test"},
    {"a question mark", "evil.test?allowed.test"},
    {"a fragment", "evil.test#allowed.test"},
    {"a full-width letter", "\xef\xbd\x81llowed.test"},
    {"an ideographic full stop", "allowed\xe3\x80\x82test"},
    {"the Kelvin sign", "\xe2\x84\xaa.allowed.test"},
    {"a long s", "te\xc5\xbft"},
    {"a soft hyphen", "allowed\xc2\xad.test"},
    {"a hyphen in front", "-allowed.test"},
    {"a hyphen behind", "allowed-.test"},
    {"a label of 64", LONG_63 "a.wild.test"},
    {"255 bytes", LONG_63 "." LONG_63 "." LONG_63 "." LONG_63 ".wild.test"},
    {"another port", "allowed.test", 0, 22},
    {"another port of another rule", "allowed.test", 0, 5432},
    {"a port of all rules but this", "ssh.test", 0, 443},
    {"port 0", "allowed.test", 0, 65536},
    {"an address", "93.184.216.34"},
    {"a listed range, another port", "10.1.2.3"},
    {"beside a listed range", "11.0.0.1", 0, 5432},
    {"loopback", "127.0.0.1", 0, 5432},
    {"all of loopback", "127.255.255.254"},
    {"localhost", "localhost"},
    {"this host", "0.0.0.0"},
    {"decimal", "2130706433"},
    {"octal", "0177.0.0.1"},
    {"hexadecimal", "0x7f.0.0.1"},
    {"hexadecimal in one", "0x7f000001"},
    {"two parts", "127.1"},
    {"three parts", "127.0.1"},
    {"five parts", "127.0.0.1.1"},
    {"a leading zero", "127.0.0.01"},
    {"an address with a final dot", "127.0.0.1."},
    {"a listed address, decimal", "167837955", 0, 5432},
    {"a listed address, octal", "012.1.2.3", 0, 5432},
    {"a listed address, short", "10.66051", 0, 5432},
    {"a name that ends in digits", "allowed.test.1"},
    {"a name that ends in 0x", "allowed.test.0x"},
    {"metadata", "169.254.169.254"},
    {"metadata, decimal", "2852039166"},
    {"metadata of others", "168.63.129.16"},
    {"metadata in the carriers' range", "100.100.100.200"},
    {"IPv6 loopback", "::1"},
    {"IPv6 loopback in brackets", "[::1]"},
    {"nowhere", "::"},
    {"mapped", "::ffff:127.0.0.1"},
    {"mapped in brackets", "[::ffff:127.0.0.1]"},
    {"mapped in hexadecimal", "[::ffff:7f00:1]"},
    {"mapped metadata", "[::ffff:169.254.169.254]"},
    {"compatible", "[::127.0.0.1]"},
    {"translated", "[64:ff9b::127.0.0.1]"},
    {"translated private", "[64:ff9b::10.1.2.3]", 0, 5432},
    {"6to4", "[2002:7f00:1::]"},
    {"Teredo", "[2001::1]"},
    {"link-local with a zone", "[fe80::1%eth0]"},
    {"a zone that hides a name", "[fe80::1%25allowed.test]"},
    {"link-local", "fe80::1"},
    {"IPv6 metadata", "[fd00:ec2::254]"},
    {"IPv6 metadata of others", "[fd20:ce::254]"},
    {"a bracket that does not close", "[::1"},
    {"a bracket that does not open", "::1]"},
    {"a name in brackets", "[allowed.test]"},
    {"IPv4 in brackets", "[10.1.2.3]", 0, 5432},
    {"multicast", "224.0.0.1"},
    {"broadcast", "255.255.255.255"},
};

TEST_EACH(is_refused_in_every_dialect, struct ask, bypasses)
{
    size_t length = row->length ? row->length : strlen(row->text);
    unsigned port = row->port ? row->port : 443;

    read_rules();
    check(!by_connect(row->text, length, port));
    check(!by_absolute(row->text, length, port));
    check(!by_socks(row->text, length, port & 0xffff));
    check(!by_socks_address(row->text, port & 0xffff));
    check(!by_dialling(row->text, port & 0xffff));
    if (row->port == 0) /* a question has no port */
        check(!by_dns(row->text, length));
}

static const struct ask ordinary[] = {
    {"a name", "allowed.test"},
    {"its other port", "allowed.test", 0, 80},
    {"capitals", "ALLOWED.Test"},
    {"a final dot", "allowed.test."},
    {"below a wildcard", "a.wild.test"},
    {"far below a wildcard", "a.b.c-d_e.wild.test"},
    {"punycode", "xn--bcher-kva.wild.test"},
    {"a port of its own", "ssh.test", 0, 22},
};

TEST_EACH(is_allowed_in_every_dialect, struct ask, ordinary)
{
    size_t length = strlen(row->text);
    unsigned port = row->port ? row->port : 443;

    read_rules();
    check(by_connect(row->text, length, port));
    check(by_absolute(row->text, length, port));
    check(by_socks(row->text, length, port));
    check(by_dns(row->text, length));
}

TEST(listed_addresses_are_allowed_in_every_dialect)
{
    read_rules();
    check(by_connect("10.1.2.3", 8, 5432));
    check(by_absolute("10.1.2.3", 8, 5432));
    check(by_socks("10.1.2.3", 8, 5432));
    check(by_socks_address("10.1.2.3", 5432));
    check(by_socks_address("::ffff:10.1.2.3", 5432));
    check(by_dialling("10.255.255.254", 5432));
    check(by_connect("[2001:db8:1::5]", 15, 5432));
    check(by_dialling("2001:db8:1:ffff::", 5432));
    check(!by_dns("10.1.2.3", 8));
}

/* --- what a name leads to ---------------------------------------------------------------------------------
 */

static const struct lead {
    const char *name;
    const char *address;
    enum reason plain, private; /* for a name, and for one of `private:` */
} leads[] = {
    {"public", "93.184.216.34", REASON_NONE, REASON_NONE},
    {"public IPv6", "2606:2800:220:1::1", REASON_NONE, REASON_NONE},
    {"translated public", "64:ff9b::93.184.216.34", REASON_NONE, REASON_NONE},
    {"ten", "10.200.0.1", REASON_PRIVATE, REASON_NONE},
    {"172.16", "172.31.255.255", REASON_PRIVATE, REASON_NONE},
    {"beside 172.16", "172.32.0.1", REASON_NONE, REASON_NONE},
    {"192.168", "192.168.1.1", REASON_PRIVATE, REASON_NONE},
    {"carriers", "100.64.0.1", REASON_PRIVATE, REASON_NONE},
    {"beside carriers", "100.128.0.1", REASON_NONE, REASON_NONE},
    {"unique local", "fd12:3456::1", REASON_PRIVATE, REASON_NONE},
    {"site local", "fec0::1", REASON_PRIVATE, REASON_NONE},
    {"mapped private", "::ffff:10.0.0.1", REASON_PRIVATE, REASON_NONE},
    {"loopback", "127.0.0.1", REASON_LOOPBACK, REASON_LOOPBACK},
    {"loopback's last", "127.255.255.255", REASON_LOOPBACK, REASON_LOOPBACK},
    {"loopback of IPv6", "::1", REASON_LOOPBACK, REASON_LOOPBACK},
    {"mapped loopback", "::ffff:127.0.0.1", REASON_LOOPBACK, REASON_LOOPBACK},
    {"compatible loopback", "::127.0.0.1", REASON_NEVER, REASON_NEVER},
    {"translated loopback", "64:ff9b::127.0.0.1", REASON_NEVER, REASON_NEVER},
    {"translated private", "64:ff9b::10.0.0.1", REASON_NEVER, REASON_NEVER},
    {"6to4 of private", "2002:a00:1::1", REASON_NEVER, REASON_NEVER},
    {"6to4 of metadata", "2002:a9fe:a9fe::1", REASON_NEVER, REASON_NEVER},
    {"translation of a site", "64:ff9b:1::1", REASON_SPECIAL, REASON_SPECIAL},
    {"link-local", "169.254.1.1", REASON_LINK_LOCAL, REASON_LINK_LOCAL},
    {"link-local of IPv6", "fe80::1", REASON_LINK_LOCAL, REASON_LINK_LOCAL},
    {"metadata", "169.254.169.254", REASON_METADATA, REASON_METADATA},
    {"metadata of containers", "169.254.170.2", REASON_METADATA, REASON_METADATA},
    {"metadata of Azure", "168.63.129.16", REASON_METADATA, REASON_METADATA},
    {"metadata of Alibaba", "100.100.100.200", REASON_METADATA, REASON_METADATA},
    {"metadata of Oracle", "192.0.0.192", REASON_METADATA, REASON_METADATA},
    {"metadata of Amazon", "fd00:ec2::254", REASON_METADATA, REASON_METADATA},
    {"metadata of Google", "fd20:ce::254", REASON_METADATA, REASON_METADATA},
    {"nowhere", "0.0.0.0", REASON_NEVER, REASON_NEVER},
    {"this network", "0.1.2.3", REASON_NEVER, REASON_NEVER},
    {"nowhere of IPv6", "::", REASON_NEVER, REASON_NEVER},
    {"multicast", "239.1.1.1", REASON_NEVER, REASON_NEVER},
    {"multicast of IPv6", "ff02::1", REASON_NEVER, REASON_NEVER},
    {"broadcast", "255.255.255.255", REASON_NEVER, REASON_NEVER},
    {"reserved", "240.0.0.1", REASON_RESERVED, REASON_NONE},
    {"documentation", "203.0.113.7", REASON_RESERVED, REASON_NONE},
    {"our own pool", "198.18.16.1", REASON_RESERVED, REASON_NONE},
    {"documentation of IPv6", "2001:db8::1", REASON_RESERVED, REASON_NONE},
    {"Teredo", "2001:0:1::1", REASON_SPECIAL, REASON_SPECIAL},
    {"discard", "100::1", REASON_SPECIAL, REASON_SPECIAL},
    {"not assigned", "4000::1", REASON_SPECIAL, REASON_SPECIAL},
};

TEST_EACH(leads_to_what_it_may, struct lead, leads)
{
    struct target target = {.name = "allowed.test", .port = 443};
    struct verdict verdict;
    struct address address;
    char option[OPTION_SIZE], again[OPTION_SIZE];

    read_rules();
    need(address_parse(row->address, &address));
    decide_target(&rules, &target, &verdict);
    need(verdict.reason == REASON_NONE);
    check_int(decide_address(&rules, &target, &verdict, &address, option), row->plain);
    /* What is offered works; credentials are not offered, nor what no rule can name. */
    check(row->plain != REASON_METADATA || !option[0]);
    if (strncmp(option, "--allow ", 8) == 0) {
        need(rules_add(&rules, option + 8) == 0);
        decide_target(&rules, &target, &verdict);
        check_int(verdict.reason, REASON_NONE);
        check_int(decide_address(&rules, &target, &verdict, &address, again), REASON_NONE);
        rules.count--;
        decide_target(&rules, &target, &verdict);
    }
    if (row->plain == REASON_PRIVATE || row->plain == REASON_RESERVED)
        check_str(option, "--allow private:allowed.test");
    snprintf(target.name, sizeof(target.name), "corp.test");
    decide_target(&rules, &target, &verdict);
    need(verdict.reason == REASON_NONE && verdict.private);
    check_int(decide_address(&rules, &target, &verdict, &address, option), row->private);
}

static const struct opening {
    const char *name;
    const char *rule, *address;
    enum reason reason;
} openings[] = {
    {"everything is no private address", "0.0.0.0/0:80", "10.0.0.1", REASON_PRIVATE},
    {"everything is no metadata", "0.0.0.0/0:80", "169.254.169.254", REASON_METADATA},
    {"everything is public", "0.0.0.0/0:80", "93.184.216.34", REASON_NONE},
    {"link-local is no metadata", "169.254.0.0/16:80", "169.254.169.254", REASON_METADATA},
    {"link-local", "169.254.0.0/16:80", "169.254.1.1", REASON_NONE},
    {"metadata by its name", "169.254.169.254/32:80", "169.254.169.254", REASON_NONE},
    {"carriers are no metadata", "100.64.0.0/10:80", "100.100.100.200", REASON_METADATA},
    {"private", "192.168.0.0/16:80", "192.168.7.7", REASON_NONE},
    {"a part of private", "192.168.7.0/24:80", "192.168.8.7", REASON_PRIVATE},
    {"more than private", "192.0.0.0/8:80", "192.168.7.7", REASON_PRIVATE},
    {"loopback", "127.0.0.1/32:80", "127.0.0.1", REASON_LOOPBACK},
    {"nowhere", "0.0.0.0/32:80", "0.0.0.0", REASON_NEVER},
    {"mapped", "10.0.0.0/8:80", "::ffff:10.0.0.1", REASON_NONE},
    {"unique local", "[fc00::]/7:80", "fd12::1", REASON_NONE},
    {"unique local is no metadata", "[fc00::]/7:80", "fd00:ec2::254", REASON_METADATA},
    {"documentation", "203.0.113.0/24:80", "203.0.113.7", REASON_NONE},
    {"another port", "93.184.216.34/32:81", "93.184.216.34", REASON_PORT},
    {"IPv6 for IPv4", "[::]/0:80", "93.184.216.34", REASON_NOT_LISTED},
    {"translated private by its form", "[64:ff9b::]/96:80", "64:ff9b::10.0.0.1", REASON_NEVER},
};

TEST_EACH(rule_opens_what_it_names, struct opening, openings)
{
    struct target target;
    struct verdict verdict;
    struct address address;
    char option[OPTION_SIZE];

    need(rules_add(&rules, row->rule) == 0);
    need(rules_add(&rules, "allowed.test:80") == 0);
    need(address_parse(row->address, &address));
    target_set(&address, 80, &target);
    decide_target(&rules, &target, &verdict);
    check_int(verdict.reason, row->reason);
    /* A rule of an address opens it for a name that leads there as well. */
    target = (struct target){.name = "allowed.test", .port = 80};
    decide_target(&rules, &target, &verdict);
    check((decide_address(&rules, &target, &verdict, &address, option) == REASON_NONE) ==
          (row->reason == REASON_NONE || row->reason == REASON_PORT || row->reason == REASON_NOT_LISTED));
}

TEST(own_addresses_are_refused)
{
    struct target target = {.name = "corp.test", .port = 443};
    struct verdict verdict;
    struct address address, other;
    char option[OPTION_SIZE], text[ADDRESS_TEXT], rule[ADDRESS_TEXT + 8];
    struct sockaddr_storage name;
    socklen_t length = sizeof(name);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    /* Any address that the machine has: the one by which it would leave. Without a way out: loopback alone.
     */
    need(address_parse("192.0.2.1", &other));
    length = address_socket(&other, 9, &name);
    if (fd < 0 || connect(fd, (struct sockaddr *)&name, length) != 0)
        test_skip("this machine has no address");
    length = sizeof(name);
    need(getsockname(fd, (struct sockaddr *)&name, &length) == 0 &&
         address_read((struct sockaddr *)&name, &address));
    check_int(address_is_own(&address), 1);
    check_int(address_is_own(&other), 0);
    read_rules();
    decide_target(&rules, &target, &verdict);
    check_int(decide_address(&rules, &target, &verdict, &address, option), REASON_OWN);
    snprintf(rule, sizeof(rule), "%s:443", address_text(&address, text));
    need(rules_add(&rules, rule) == 0);
    check_int(decide_address(&rules, &target, &verdict, &address, option), REASON_NONE);
}
