/*
 * test-bypass-forms.h - what is asked for to get around a list, and the form that each language gives it.
 *
 * One table for the unit test, which has it refused, and for the fuzzers, which begin with it:
 * tests/fuzz/seeds.c.
 */
#ifndef CONFINE_NETWORK_TEST_BYPASS_FORMS_H
#define CONFINE_NETWORK_TEST_BYPASS_FORMS_H

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define FORM_SIZE 2048 /* room for each */

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

static inline size_t ask_length(const struct ask *row)
{
    return row->length ? row->length : strlen(row->text);
}

static inline unsigned ask_port(const struct ask *row)
{
    return row->port ? row->port : 443;
}

/*
 * form_…() - put a name, or an address as text, into the language. @room: FORM_SIZE
 *
 * Return: bytes; 0: it has no form there.
 */
static inline size_t form_dns(const char *name, size_t length, unsigned port, unsigned char *room)
{
    static const unsigned char head[12] = {0, 1, 1, 0, 0, 1}, type[4] = {0, 1 /* A */, 0, 1};
    size_t at = sizeof(head);

    (void)port;
    memcpy(room, head, sizeof(head));
    if (length >= 2 && memcmp(name + length - 2, "..", 2) == 0)
        return 0;
    for (size_t i = 0; i <= length;) {
        size_t label = 0;

        while (i + label < length && name[i + label] != '.')
            label++;
        if (label > 255 || at + label + 6 > 600)
            return 0;
        room[at++] = (unsigned char)label;
        memcpy(room + at, name + i, label);
        at += label;
        i += label + 1;
        if (label == 0)
            break;
    }
    if (room[at - 1] != 0 || (length > 0 && name[length - 1] != '.'))
        room[at++] = 0;
    memcpy(room + at, type, sizeof(type));
    return at + sizeof(type);
}

/* @format: with NAME where name and port stand */
static inline size_t form_http(const char *format, const char *name, size_t length, unsigned port,
                               unsigned char *room)
{
    size_t before = (size_t)(strstr(format, "NAME") - format);

    memcpy(room, format, before);
    memcpy(room + before, name, length);
    return before + length +
           (size_t)snprintf((char *)room + before + length, FORM_SIZE - before - length, ":%u%s", port,
                            format + before + 4);
}

static inline size_t form_connect(const char *name, size_t length, unsigned port, unsigned char *room)
{
    return form_http("CONNECT NAME HTTP/1.1\r\n\r\n", name, length, port, room);
}

static inline size_t form_absolute(const char *name, size_t length, unsigned port, unsigned char *room)
{
    return form_http("GET http://NAME/ HTTP/1.0\r\n\r\n", name, length, port, room);
}

static inline size_t put_port(unsigned port, unsigned char *room, size_t at)
{
    room[at] = (unsigned char)(port >> 8);
    room[at + 1] = (unsigned char)port;
    return at + 2;
}

static inline size_t form_socks(const char *name, size_t length, unsigned port, unsigned char *room)
{
    if (length > 255)
        return 0;
    memcpy(room, "\5\1\0\3", 4);
    room[4] = (unsigned char)length;
    memcpy(room + 5, name, length);
    return put_port(port, room, 5 + length);
}

static inline size_t form_socks_address(const char *text, size_t length, unsigned port, unsigned char *room)
{
    bool six = memchr(text, ':', length) != NULL;

    memcpy(room, six ? "\5\1\0\4" : "\5\1\0\1", 4);
    return inet_pton(six ? AF_INET6 : AF_INET, text, room + 4) == 1 ? put_port(port, room, six ? 20 : 8) : 0;
}

/* A ClientHello that asks for @name, in one record. */
static inline size_t form_hello(const char *name, size_t length, unsigned port, unsigned char *room)
{
    static const unsigned char middle[7] = {0, 0, 2, 0x13,
                                            1, 1, 0}; /* no session, one cipher, no compression */
    size_t list = 3 + length, extensions = 4 + 2 + list, body = 2 + 32 + sizeof(middle) + 2 + extensions,
           at = 9;

    (void)port;
    memcpy(room, "\x16\3\1", 3);
    put_port((unsigned)(4 + body), room, 3);
    room[5] = 1;
    room[6] = 0;
    put_port((unsigned)body, room, 7);
    memcpy(room + at, "\3\3", 2);
    memset(room + at + 2, 7, 32);
    memcpy(room + at + 34, middle, sizeof(middle));
    at = put_port((unsigned)extensions, room, at + 34 + sizeof(middle));
    at = put_port(0, room, at); /* server_name */
    at = put_port((unsigned)(2 + list), room, at);
    at = put_port((unsigned)list, room, at);
    room[at++] = 0;
    at = put_port((unsigned)length, room, at);
    memcpy(room + at, name, length);
    return at + length;
}

static const struct form {
    const char *fuzzer, *name;
    size_t (*put)(const char *name, size_t length, unsigned port, unsigned char *room);
} forms[] = {
    {"dns", "question", form_dns},
    {"head", "connect", form_connect},
    {"head", "absolute", form_absolute},
    {"head", "socks", form_socks},
    {"head", "socks-address", form_socks_address},
    {"hello", "hello", form_hello},
};

#endif
