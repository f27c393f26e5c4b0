/*
 * test-bypass.c - every known way of asking for one thing and meaning another, in each language that a client
 * may speak: the rows of test-bypass-forms.h.
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
#include "network/test-bypass-forms.h"

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
    unsigned char message[FORM_SIZE], answer[DNS_MESSAGE];
    char read[NAME_SIZE];
    size_t answer_length, size = form_dns(name, length, 0, message);

    return size > 0 &&
           dns_answer(&rules, &pool, message, size, answer, &answer_length, read) == DNS_ANSWERED &&
           (answer[3] & 15) == 0;
}

static bool by_http(size_t (*form)(const char *, size_t, unsigned, unsigned char *), const char *name,
                    size_t length, unsigned port)
{
    unsigned char head[FORM_SIZE];
    size_t size = form(name, length, port, head);
    struct http_head request;

    return http_request((const char *)head, size, &request) > 0 && !request.other_host && !request.secure &&
           is_allowed(&request.target);
}

static bool by_connect(const char *name, size_t length, unsigned port)
{
    return by_http(form_connect, name, length, port);
}

static bool by_absolute(const char *name, size_t length, unsigned port)
{
    return by_http(form_absolute, name, length, port);
}

/* A request as @form has it, behind what greets. */
static bool by_socks_form(size_t (*form)(const char *, size_t, unsigned, unsigned char *), const char *name,
                          size_t length, unsigned port)
{
    unsigned char request[FORM_SIZE];
    size_t size = form(name, length, port, request);
    struct target target;

    return size > 0 && socks_request(request, size, &target) > 0 && is_allowed(&target);
}

static bool by_socks(const char *name, size_t length, unsigned port)
{
    return by_socks_form(form_socks, name, length, port);
}

static bool by_socks_address(const char *text, unsigned port)
{
    return by_socks_form(form_socks_address, text, strlen(text), port);
}

/* On a connection to a listed name: is this name taken for it? */
static bool by_hello(const char *name, size_t length)
{
    unsigned char hello[FORM_SIZE];
    char read[NAME_SIZE];
    size_t size = form_hello(name, length, 0, hello);

    return hello_read(hello, size, read) == 1 && strcmp(read, "allowed.test") == 0;
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
    if (row->port == 0) { /* neither a question nor a ClientHello has a port */
        check(!by_dns(row->text, length));
        check(!by_hello(row->text, length));
    }
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

TEST(client_hello_asks_for_the_listed_name)
{
    check(by_hello("allowed.test", 12));
    check(by_hello("ALLOWED.Test.", 13));
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

static const struct hint {
    const char *name, *option;
} hints[] = {
    {"evil.test", "--allow evil.test"},
    {"db.internal", "--allow private:db.internal"},
    {"nas.home.arpa", "--allow private:nas.home.arpa"},
    {"build.corp", "--allow private:build.corp"},
    {"build", "--allow private:build"},
    {"internal", "--allow private:internal"},
    {"notinternal.test", "--allow notinternal.test"},
    {"x.notinternal", "--allow x.notinternal"},
    {"internal.example", "--allow internal.example"},
    {"localhost", ""},
};

TEST_EACH(first_refusal_says_what_will_do, struct hint, hints)
{
    struct target target = {.port = 443};
    struct verdict verdict;
    char option[OPTION_SIZE];

    read_rules();
    decide_option(row->name, option);
    check_str(option, row->option);
    snprintf(target.name, sizeof(target.name), "%s", row->name);
    decide_target(&rules, &target, &verdict);
    check_int(verdict.reason, REASON_NOT_LISTED);
    check_str(verdict.option, row->option[0] ? row->option : "--forward 443");
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
