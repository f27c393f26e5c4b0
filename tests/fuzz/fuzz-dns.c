/*
 * fuzz-dns.c - fuzz what is asked of the gateway's name server: messages as they come by TCP, each with its
 * length in front.
 *
 * An answer is one that the C library can read, to the question that was asked. An address stands in it only
 * for a listed name, and leads back to that name.
 */
#include "network/dns.h"

#include <arpa/nameser.h>
#include <stdlib.h>

static struct rules rules;
static struct pool pool;

static void must(bool held, const char *what)
{
    if (!held) {
        fprintf(stderr, "dns: %s\n", what);
        abort();
    }
}

static void check_record(ns_msg *message, const char *name)
{
    struct address address = {0};
    const char *found = NULL;
    ns_rr record;

    must(ns_parserr(message, ns_s_an, 0, &record) == 0, "a record that cannot be read");
    must(ns_rr_type(record) == ns_t_a || ns_rr_type(record) == ns_t_aaaa, "a record of another kind");
    address.six = ns_rr_type(record) == ns_t_aaaa;
    must(ns_rr_rdlen(record) == (address.six ? 16 : 4), "an address of another size");
    memcpy(address.bytes, ns_rr_rdata(record), ns_rr_rdlen(record));
    must(pool_find(&pool, &address, &found) == 1 && strcmp(found, name) == 0, "an address of another name");
}

static void ask(const unsigned char *question, size_t length)
{
    unsigned char answer[DNS_MESSAGE];
    char name[NAME_SIZE], again[NAME_SIZE];
    size_t answer_length = 0;
    enum dns_said said = dns_answer(&rules, &pool, question, length, answer, &answer_length, name);
    ns_msg message;

    must(name[0] == '\0' || (name_read(name, strlen(name), again) && strcmp(name, again) == 0),
         "a name that is not canonical");
    if (said == DNS_NOTHING)
        return;
    must(answer_length <= sizeof(answer), "too long an answer");
    must(ns_initparse(answer, (int)answer_length, &message) == 0, "an answer that cannot be read");
    must(ns_msg_id(message) == (question[0] << 8 | question[1]) && ns_msg_getflag(message, ns_f_qr),
         "no answer to this");
    must(ns_msg_count(message, ns_s_an) <= 1 && ns_msg_count(message, ns_s_ns) == 0,
         "more than was asked for");
    if (said == DNS_REFUSED)
        must(ns_msg_getflag(message, ns_f_rcode) == ns_r_nxdomain && ns_msg_count(message, ns_s_an) == 0,
             "a refusal that is none");
    if (said == DNS_ANSWERED)
        must(decide_name(&rules, name) || name[0] == '_', "an answer for a name that is not listed");
    if (ns_msg_count(message, ns_s_an) == 1) {
        must(said == DNS_ANSWERED, "an address in a refusal");
        check_record(&message, name);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (rules.count == 0)
        must(rules_add(&rules, "allowed.test") == 0 && rules_add(&rules, "*.wild.test:443") == 0 &&
                 pool_begin(&pool, "198.18.0.0/15", "fdc0:ffee:c0f1::/64") == 0,
             "no rules");
    for (size_t at = 0; at + 2 <= size;) {
        size_t length = (size_t)data[at] << 8 | data[at + 1];
        unsigned char *message;

        if (length > size - at - 2)
            length = size - at - 2;
        message = malloc(length ? length : 1); /* exactly, so that a byte behind it is seen */
        must(message != NULL, "no memory");
        memcpy(message, data + at + 2, length);
        ask(message, length);
        at += 2 + length;
        free(message);
    }
    return 0;
}
