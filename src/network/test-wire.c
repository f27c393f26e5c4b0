/* test-wire.c - DNS, SOCKS and TLS byte by byte; the pool; the other proxy's address. */
#include "harness.h"

#include "network/client_hello.h"
#include "network/dns.h"
#include "network/pool.h"
#include "network/socks5.h"
#include "network/upstream.h"

static struct rules rules;
static struct pool pool;

static void begin(void)
{
    need(rules_add(&rules, "a.test") == 0 && rules_add(&rules, "*.w.test") == 0);
    need(pool_begin(&pool, "198.18.0.0/15", "fdc0:ffee:c0f1::/64") == 0);
}

/* --- DNS
 * ---------------------------------------------------------------------------------------------------- */

#define ANY_ID "\x12\x34"
#define QUERY  ANY_ID "\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
#define A_TEST                                                                                               \
    "\x01"                                                                                                   \
    "a\x04test\x00"
#define IN(TYPE)    "\x00" TYPE "\x00\x01"
#define BYTES(TEXT) TEXT, sizeof(TEXT) - 1

static const struct question {
    const char *name;
    const char *bytes;
    size_t length;
    enum dns_said said;
    unsigned code, answers;
} questions[] = {
    {"A", BYTES(QUERY A_TEST IN("\x01")), DNS_ANSWERED, 0, 1},
    {"AAAA", BYTES(QUERY A_TEST IN("\x1c")), DNS_ANSWERED, 0, 1},
    {"HTTPS", BYTES(QUERY A_TEST IN("\x41")), DNS_ANSWERED, 0, 0},
    {"SVCB", BYTES(QUERY A_TEST IN("\x40")), DNS_ANSWERED, 0, 0},
    {"TXT", BYTES(QUERY A_TEST IN("\x10")), DNS_ANSWERED, 0, 0},
    {"ANY", BYTES(QUERY A_TEST IN("\xff")), DNS_ANSWERED, 0, 0},
    {"capitals",
     BYTES(QUERY "\x01"
                 "A\x04TeSt\x00" IN("\x01")),
     DNS_ANSWERED, 0, 1},
    {"below a wildcard",
     BYTES(QUERY "\x01"
                 "b\x01"
                 "w\x04test\x00" IN("\x01")),
     DNS_ANSWERED, 0, 1},
    {"a service of a listed name",
     BYTES(QUERY "\x05_http\x04_tcp\x01"
                 "a\x04test\x00" IN("\x21")),
     DNS_ANSWERED, 0, 0},
    {"a service of another",
     BYTES(QUERY "\x05_http\x04_tcp\x01"
                 "b\x04test\x00" IN("\x21")),
     DNS_REFUSED, 3, 0},
    {"not listed",
     BYTES(QUERY "\x01"
                 "b\x04test\x00" IN("\x01")),
     DNS_REFUSED, 3, 0},
    {"a tunnel",
     BYTES(QUERY "\x06secret\x01"
                 "b\x04test\x00" IN("\x10")),
     DNS_REFUSED, 3, 0},
    {"a dot in a label",
     BYTES(QUERY "\x06"
                 "a.test\x00" IN("\x01")),
     DNS_REFUSED, 3, 0},
    {"NUL in a label",
     BYTES(QUERY "\x06"
                 "a\0.b.c\x04test\x00" IN("\x01")),
     DNS_REFUSED, 3, 0},
    {"the root", BYTES(QUERY "\x00" IN("\x02")), DNS_REFUSED, 3, 0},
    {"another class", BYTES(QUERY A_TEST "\x00\x01\x00\x03"), DNS_ANSWERED, 0, 0},
    {"another class of another name",
     BYTES(QUERY "\x01"
                 "b\x04test\x00\x00\x01\x00\x03"),
     DNS_REFUSED, 3, 0},
    {"with options",
     BYTES(ANY_ID "\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01" A_TEST IN(
         "\x01") "\x00\x00\x29\x10\x00\x00\x00\x00\x00\x00\x00"),
     DNS_ANSWERED, 0, 1},
    {"not listed, with options",
     BYTES(ANY_ID "\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01\x01"
                  "b\x04test\x00" IN("\x01") "\x00\x00\x29\x10\x00\x00\x00\x00\x00\x00\x00"),
     DNS_REFUSED, 3, 0},
    {"an answer", BYTES(ANY_ID "\x81\x80\x00\x01\x00\x00\x00\x00\x00\x00" A_TEST IN("\x01")), DNS_NOTHING, 0,
     0},
    {"too short", BYTES("\x12\x34\x01\x00"), DNS_NOTHING, 0, 0},
    {"no question", BYTES(ANY_ID "\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"), DNS_MALFORMED, 1, 0},
    {"two questions",
     BYTES(ANY_ID "\x01\x00\x00\x02\x00\x00\x00\x00\x00\x00" A_TEST IN("\x01") A_TEST IN("\x01")),
     DNS_MALFORMED, 1, 0},
    {"a pointer", BYTES(QUERY "\xc0\x0c" IN("\x01")), DNS_MALFORMED, 1, 0},
    {"a pointer behind a label",
     BYTES(QUERY "\x01"
                 "a\xc0\x0c" IN("\x01")),
     DNS_MALFORMED, 1, 0},
    {"a label that is too long",
     BYTES(QUERY "\x3f"
                 "a\x00" IN("\x01")),
     DNS_MALFORMED, 1, 0},
    {"no end",
     BYTES(QUERY "\x01"
                 "a\x04test"),
     DNS_MALFORMED, 1, 0},
    {"no type", BYTES(QUERY A_TEST), DNS_MALFORMED, 1, 0},
    {"half a class", BYTES(QUERY A_TEST "\x00\x01\x00"), DNS_MALFORMED, 1, 0},
    {"a notification", BYTES(ANY_ID "\x21\x00\x00\x01\x00\x00\x00\x00\x00\x00" A_TEST IN("\x06")),
     DNS_MALFORMED, 4, 0},
    {"an update", BYTES(ANY_ID "\x28\x00\x00\x01\x00\x00\x00\x00\x00\x00" A_TEST IN("\x06")), DNS_MALFORMED,
     4, 0},
};

TEST_EACH(question_has_its_answer, struct question, questions)
{
    unsigned char answer[DNS_MESSAGE] = {0};
    char name[NAME_SIZE];
    size_t length = 0;

    begin();
    check_int(
        dns_answer(&rules, &pool, (const unsigned char *)row->bytes, row->length, answer, &length, name),
        row->said);
    if (row->said == DNS_NOTHING)
        return;
    check(length >= 12 && length <= sizeof(answer));
    check(memcmp(answer, ANY_ID, 2) == 0 && answer[2] & 0x80);
    check_int(answer[3] & 15, row->code);
    check_int(answer[6] << 8 | answer[7], row->answers);
    check_int(answer[8] << 8 | answer[9], 0);
    check_int(answer[11], strstr(row->name, "with options") != NULL);
    if (row->said == DNS_REFUSED)
        check_int(dns_type(answer), row->bytes[row->length - (answer[11] ? 11 : 0) - 3]);
}

TEST(name_keeps_its_address)
{
    const unsigned char *query = (const unsigned char *)QUERY A_TEST IN("\x01");
    unsigned char first[DNS_MESSAGE], second[DNS_MESSAGE];
    size_t length = sizeof(QUERY A_TEST IN("\x01")) - 1, first_length, second_length;
    char name[NAME_SIZE];

    begin();
    check_int(dns_answer(&rules, &pool, query, length, first, &first_length, name), DNS_ANSWERED);
    check_int(dns_answer(&rules, &pool, query, length, second, &second_length, name), DNS_ANSWERED);
    check(first_length == second_length && memcmp(first, second, first_length) == 0);
    check_str(name, "a.test");
}

/* Where somebody is asked before anybody connects: names that a rule could have. */
TEST(a_name_that_is_asked_about_has_an_address)
{
    static const struct {
        const char *bytes;
        size_t length;
        enum dns_said said;
    } rows[] = {
        {BYTES(QUERY "\x01"
                     "b\x04test\x00" IN("\x01")),
         DNS_ANSWERED},
        {BYTES(QUERY "\x04wpad\x00" IN("\x01")), DNS_REFUSED},
        {BYTES(QUERY "\x01"
                     "a\x09localhost\x00" IN("\x01")),
         DNS_REFUSED},
        {BYTES(QUERY "\x01"
                     "1\x01"
                     "1\x00" IN("\x01")),
         DNS_REFUSED},
    };
    unsigned char answer[DNS_MESSAGE];
    char name[NAME_SIZE];
    size_t length;

    begin();
    rules.asks = true;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        check_int(dns_answer(&rules, &pool, (const unsigned char *)rows[i].bytes, rows[i].length, answer,
                             &length, name),
                  rows[i].said);
}

TEST(longest_name_fits_in_an_answer)
{
    unsigned char query[300] = QUERY, answer[DNS_MESSAGE];
    size_t at = 12, length;
    char name[NAME_SIZE];

    begin();
    need(rules_add(&rules, "*.b") == 0);
    for (int i = 0; i < 4; i++) { /* three of 63, one of 57, `b`: 253 in text */
        query[at] = i < 3 ? 63 : 58;
        memset(query + at + 1, 'a', query[at]);
        at += 1u + query[at];
    }
    memcpy(query + at,
           "\x01"
           "b\x00\x00\x1c\x00\x01",
           7);
    check_int(dns_answer(&rules, &pool, query, at + 7, answer, &length, name), DNS_ANSWERED);
    check_int(strlen(name), 252);
    check_int(answer[7], 1);
}

/* --- the pool
 * ------------------------------------------------------------------------------------------------- */

TEST(address_leads_to_its_name)
{
    struct address address;
    const char *name = NULL;
    char text[ADDRESS_TEXT];

    begin();
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t number = pool_take(&pool, "a.test");

        check(pool_address(&pool, number, i == 1, &address));
        check_str(address_text(&address, text), i == 0 ? "198.18.16.1" : "fdc0:ffee:c0f1::1001");
        check_int(pool_find(&pool, &address, &name), 1);
        check_str(name, "a.test");
    }
    need(address_parse("198.18.16.2", &address));
    check_int(pool_find(&pool, &address, &name), 0);
    need(address_parse("198.18.0.0", &address));
    check_int(pool_find(&pool, &address, &name), -ENOENT);
    need(address_parse("198.19.255.255", &address));
    check_int(pool_find(&pool, &address, &name), -ENOENT);
    need(address_parse("93.184.216.34", &address));
    check_int(pool_find(&pool, &address, &name), -ENOENT);
}

TEST(pool_has_a_bound)
{
    char name[32];
    const char *found;
    struct address address;
    uint32_t first = 0, number = 0;

    begin();
    for (unsigned i = 0; i <= PROTOCOL_NAMES; i++) {
        snprintf(name, sizeof(name), "n%u.w.test", i);
        number = pool_take(&pool, name);
        need(number > POOL_PINNED && number <= POOL_MOST);
        first = i == 0 ? number : first;
        if (i == 1)
            check_int(pool_take(&pool, "n0.w.test"), first); /* it is used, so it stays */
    }
    check(pool_take(&pool, "n0.w.test") == first);
    check_int(number, first + 1); /* the one that was not used for longest had to go */
    need(pool_address(&pool, number, false, &address));
    check_int(pool_find(&pool, &address, &found), 1);
    check_str(found, name);
    check(pool_take(&pool, "n1.w.test") != first + 1);
}

TEST(pinned_name_stays_where_it_is)
{
    struct address address, low, far, seen;
    const char *name;
    uint32_t before;

    begin();
    need(address_parse("198.18.0.2", &address) && address_parse("198.18.0.1", &low) &&
         address_parse("198.18.16.1", &far));
    before = pool_take(&pool, "a.test");
    check_int(pool_pin(&pool, "a.test", &low), -EINVAL);
    check_int(pool_pin(&pool, "a.test", &far), -EINVAL);
    check_int(pool_pin(&pool, "a.test", &address), 0);
    check_int(pool_pin(&pool, "a.test", &address), 0);
    check_int(pool_pin(&pool, "b.test", &address), -EEXIST);
    check_int(pool_take(&pool, "a.test"), 2);
    check_int(pool_find(&pool, &address, &name), 1);
    check_str(name, "a.test");
    need(pool_address(&pool, before, false, &seen));
    check_int(pool_find(&pool, &seen, &name), 0);
    need(pool_address(&pool, 2, true, &seen));
    check_int(pool_find(&pool, &seen, &name), 1);
    pool_end(&pool);
}

TEST(range_must_be_one)
{
    static const char *const wrong[] = {"198.18.0.0",    "198.18.0.0/",  "198.18.0.0/19", "198.18.0.1/15",
                                        "198.18.0.0/33", "198.18.0.0/x", "::/64",         "198.18/15"};

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        check_int(pool_begin(&pool, wrong[i], NULL), -EINVAL);
    check_int(pool_begin(&pool, NULL, "fd00::/115"), -EINVAL);
    check_int(pool_begin(&pool, NULL, NULL), 0);
}

/* --- SOCKS
 * ------------------------------------------------------------------------------------------------------ */

static const struct socks {
    const char *name;
    const char *bytes;
    size_t length;
    ssize_t answer;
} socks[] = {
    {"a name", BYTES("\5\1\0\3\6a.test\1\xbb"), 13},
    {"more behind it", BYTES("\5\1\0\3\6a.test\1\xbbxyz"), 13},
    {"IPv4", BYTES("\5\1\0\1\x5d\xb8\xd8\x22\0\x50"), 10},
    {"IPv6", BYTES("\5\1\0\4\x26\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\x50"), 22},
    {"BIND", BYTES("\5\2\0\3\6a.test\1\xbb"), -EOPNOTSUPP},
    {"UDP ASSOCIATE", BYTES("\5\3\0\1\0\0\0\0\0\0"), -EOPNOTSUPP},
    {"an unknown command", BYTES("\5\x7f\0\3\6a.test\1\xbb"), -EOPNOTSUPP},
    {"an unknown address", BYTES("\5\1\0\2\6a.test\1\xbb"), -EAFNOSUPPORT},
    {"another version", BYTES("\4\1\0\3\6a.test\1\xbb"), -EBADMSG},
    {"a reserved byte", BYTES("\5\1\1\3\6a.test\1\xbb"), -EBADMSG},
    {"an empty name", BYTES("\5\1\0\3\0\1\xbb"), -EAFNOSUPPORT},
    {"NUL", BYTES("\5\1\0\3\7a.test\0\1\xbb"), -EAFNOSUPPORT},
    {"port 0", BYTES("\5\1\0\3\6a.test\0\0"), -EBADMSG},
    {"half a name", BYTES("\5\1\0\3\6a.te"), 0},
    {"no port", BYTES("\5\1\0\3\6a.test\1"), 0},
};

TEST_EACH(socks_request_is_read_or_refused, struct socks, socks)
{
    struct target target;

    check_int(socks_request((const unsigned char *)row->bytes, row->length, &target), row->answer);
}

TEST(socks_greeting_must_offer_no_password)
{
    check_int(socks_greeting((const unsigned char *)"\5\1\0", 3), 3);
    check_int(socks_greeting((const unsigned char *)"\5\3\2\1\0", 5), 5);
    check_int(socks_greeting((const unsigned char *)"\5\3\2\1", 4), 0);
    check_int(socks_greeting((const unsigned char *)"\5\1\2", 3), -EBADMSG);
    check_int(socks_greeting((const unsigned char *)"\5\0", 2), -EBADMSG);
    check_int(socks_greeting((const unsigned char *)"\4\1", 2), -EBADMSG);
}

/* --- TLS
 * ---------------------------------------------------------------------------------------------------------
 */

/* A ClientHello with these extensions, as one handshake message. Return: its bytes. */
static size_t make_hello(unsigned char *to, const char *extensions, size_t length)
{
    size_t body = 2 + 32 + 1 + 4 + 2 + (extensions ? 2 + length : 0), at;

    to[0] = 1;
    to[1] = 0;
    to[2] = (unsigned char)(body >> 8);
    to[3] = (unsigned char)body;
    memcpy(to + 4, "\3\3", 2);
    memset(to + 6, 7, 32);
    memcpy(to + 38, "\0\0\2\x13\1\1\0", 7);
    at = 45;
    if (extensions) {
        to[at] = (unsigned char)(length >> 8);
        to[at + 1] = (unsigned char)length;
        memcpy(to + at + 2, extensions, length);
    }
    return 4 + body;
}

/* The message in records of at most SIZE bytes. */
static size_t make_records(unsigned char *to, const unsigned char *message, size_t length, size_t size)
{
    size_t at = 0;

    for (size_t i = 0; i < length; i += size) {
        size_t part = length - i < size ? length - i : size;

        memcpy(to + at, "\x16\3\1", 3);
        to[at + 3] = (unsigned char)(part >> 8);
        to[at + 4] = (unsigned char)part;
        memcpy(to + at + 5, message + i, part);
        at += 5 + part;
    }
    return at;
}

static const struct hello {
    const char *name;
    const char *extensions;
    size_t length;
    int answer;
    const char *server;
} hellos[] = {
    {"a name", BYTES("\0\0\0\x0b\0\x09\0\0\6a.test"), 1, "a.test"},
    {"capitals", BYTES("\0\0\0\x0b\0\x09\0\0\6A.TEST"), 1, "a.test"},
    {"a final dot", BYTES("\0\0\0\x0c\0\x0a\0\0\7a.test."), 1, "a.test"},
    {"behind another", BYTES("\0\x2b\0\3\2\3\4\0\0\0\x0b\0\x09\0\0\6a.test"), 1, "a.test"},
    {"before another", BYTES("\0\0\0\x0b\0\x09\0\0\6a.test\0\x2b\0\3\2\3\4"), 1, "a.test"},
    {"no name", BYTES("\0\x2b\0\3\2\3\4"), 1, ""},
    {"an empty list of extensions", "", 0, 1, ""},
    {"no extensions", NULL, 0, 1, ""},
    {"two names", BYTES("\0\0\0\x14\0\x12\0\0\6a.test\0\0\6b.test"), -EBADMSG, ""},
    {"two extensions", BYTES("\0\0\0\x0b\0\x09\0\0\6a.test\0\0\0\x0b\0\x09\0\0\6b.test"), -EBADMSG, ""},
    {"another kind", BYTES("\0\0\0\x0b\0\x09\1\0\6a.test"), -EBADMSG, ""},
    {"NUL", BYTES("\0\0\0\x0b\0\x09\0\0\6a\0test"), -EBADMSG, ""},
    {"an address",
     BYTES("\0\0\0\x0c\0\x0a\0\0\7"
           "1.2.3.4"),
     -EBADMSG, ""},
    {"an empty name", BYTES("\0\0\0\5\0\3\0\0\0"), -EBADMSG, ""},
    {"an empty extension", BYTES("\0\0\0\0"), -EBADMSG, ""},
    {"a list that is too short", BYTES("\0\0\0\x0b\0\x08\0\0\6a.test"), -EBADMSG, ""},
    {"a list that is too long", BYTES("\0\0\0\x0b\0\x0a\0\0\6a.test"), -EBADMSG, ""},
    {"an extension that is too long", BYTES("\0\0\0\x0c\0\x09\0\0\6a.test"), -EBADMSG, ""},
    {"half an extension", BYTES("\0\0\0"), -EBADMSG, ""},
};

TEST_EACH(client_hello_names_its_server, struct hello, hellos)
{
    unsigned char message[400], records[4000];
    size_t length = make_hello(message, row->extensions, row->length), whole;
    char name[NAME_SIZE];

    /* However it is cut. */
    for (size_t size = 1; size <= length; size = size < 8 ? size + 1 : size * 2) {
        whole = make_records(records, message, length, size);
        check_int(hello_read(records, whole, name), row->answer);
        check(row->answer < 0 || strcmp(name, row->server) == 0);
    }
    whole = make_records(records, message, length, 400);
    for (size_t i = 1; i < whole; i++)
        check_int(hello_read(records, i, name), 0);
}

TEST(what_is_no_client_hello_is_refused)
{
    static unsigned char large[HELLO_SIZE + 10];
    unsigned char message[100], records[200];
    char name[NAME_SIZE];
    size_t length = make_hello(message, NULL, 0), whole;

    message[0] = 2; /* a ServerHello */
    whole = make_records(records, message, length, 100);
    check_int(hello_read(records, whole, name), -EBADMSG);
    message[0] = 1;
    message[38] = 33; /* a session that is too long */
    whole = make_records(records, message, length, 100);
    check_int(hello_read(records, whole, name), -EBADMSG);
    check_int(hello_read((const unsigned char *)"\x16\3\1\0\0", 5, name), -EBADMSG);
    check_int(hello_read((const unsigned char *)"\x16\3\1\xff\xff\1", 6, name), -EBADMSG);
    make_hello(message, NULL, 0);
    whole = make_records(records, message, length, 10);
    records[15] = 23; /* data between its records */
    check_int(hello_read(records, whole, name), -EBADMSG);
    memcpy(large, "\x16\3\1\x40\0\1\0\x3f\xfc", 9); /* as long as may be, and never done */
    check_int(hello_read(large, HELLO_SIZE - 1, name), 0);
    check_int(hello_read(large, HELLO_SIZE, name), -EBADMSG);
    check_int(hello_looks((const unsigned char *)"\x16", 1), 0);
    check_int(hello_looks((const unsigned char *)"\x16\3", 2), 0);
    check_int(hello_looks((const unsigned char *)"\x16\3\1", 3), 1);
    check_int(hello_looks((const unsigned char *)"\x17\3\1", 3), -1);
}

/* --- the other proxy
 * ----------------------------------------------------------------------------------------- */

static const struct proxy {
    const char *name;
    const char *url;
    const char *host; /* NULL: refused */
    unsigned port;
    const char *authorization;
} proxies[] = {
    {"a name", "http://proxy.corp:3128", "proxy.corp", 3128, ""},
    {"the usual port", "http://proxy.corp", "proxy.corp", 80, ""},
    {"a slash", "http://proxy.corp:3128/", "proxy.corp", 3128, ""},
    {"an address", "http://10.0.0.1:3128", "10.0.0.1", 3128, ""},
    {"IPv6", "http://[fd00::1]:3128", "fd00::1", 3128, ""},
    {"IPv6 without a port", "http://[fd00::1]", "fd00::1", 80, ""},
    {"a password", "http://u:p@proxy.corp:3128", "proxy.corp", 3128, "Proxy-Authorization: Basic dTpw\r\n"},
    {"an escaped password", "http://u:p%40%3A@proxy.corp", "proxy.corp", 80,
     "Proxy-Authorization: Basic dTpwQDo=\r\n"},
    {"another scheme", "https://proxy.corp", NULL, 0, ""},
    {"SOCKS", "socks5://proxy.corp", NULL, 0, ""},
    {"a path", "http://proxy.corp/x", NULL, 0, ""},
    {"no host", "http://", NULL, 0, ""},
    {"port 0", "http://proxy.corp:0", NULL, 0, ""},
    {"a large port", "http://proxy.corp:70000", NULL, 0, ""},
    {"a user alone", "http://u@proxy.corp", NULL, 0, ""},
    {"a broken escape", "http://u:p%4@proxy.corp", NULL, 0, ""},
};

TEST_EACH(upstream_is_read_or_refused, struct proxy, proxies)
{
    struct upstream upstream;
    const char *wrong = upstream_read(row->url, &upstream);

    check_int(wrong == NULL, row->host != NULL);
    if (wrong)
        return;
    check_str(upstream.target.name, row->host);
    check_int(upstream.target.port, row->port);
    check_str(upstream.authorization, row->authorization);
}
