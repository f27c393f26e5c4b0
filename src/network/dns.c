/*
 * dns.c - one question in, one answer out; see dns.h.
 *
 * A listed name has an address in the pool, and nothing else: HTTPS, SVCB, MX and all others are answered as
 * empty, so that nobody learns another name or port from them. Whatever is not listed does not exist. REFUSED
 * would be the honest word, but one C library (musl) takes it for no answer and waits for five seconds. There
 * is no SOA in the answer, so that nobody remembers it: the name may be allowed meanwhile.
 *
 * Parsed by hand: a question has no pointer in its name, and everything else in a message is of no interest.
 */
#include "network/dns.h"

#define HEADER     12
#define QUESTION   4 /* type and class, behind the name */
#define TYPE_A     1
#define TYPE_AAAA  28
#define TYPE_OPT   41
#define CLASS_IN   1
#define NO_ERROR   0
#define FORM_ERROR 1
#define SERV_FAIL  2
#define NO_NAME    3
#define NOT_IMPL   4

static unsigned read_16(const unsigned char *at)
{
    return (unsigned)at[0] << 8 | at[1];
}

static void write_16(unsigned char *at, unsigned value)
{
    at[0] = (unsigned char)(value >> 8);
    at[1] = (unsigned char)value;
}

/* The name at @at, as text. Return: bytes behind which it ends, 0: there is none. Empty text: not canonical.
 */
static size_t read_name(const unsigned char *message, size_t length, size_t at, char ret_name[NAME_SIZE])
{
    char text[NAME_SIZE];
    size_t used = 0, from = at;

    ret_name[0] = '\0';
    while (at < length && message[at] != 0) {
        size_t label = message[at];

        if (label > 63 || at + 1 + label >= length || at + 1 + label - from > 254)
            return 0;
        memcpy(text + used, message + at + 1, label);
        /* A dot in a label would make two of it. */
        if (memchr(text + used, '.', label))
            text[used] = ' ';
        used += label;
        text[used++] = '.';
        at += 1 + label;
    }
    if (at >= length)
        return 0;
    if (!name_read(text, used, ret_name))
        ret_name[0] = '\0';
    return at + 1;
}

/* Has the message an OPT record? Then the answer has one. It is the only one of an ordinary question. */
static bool has_options(const unsigned char *message, size_t length, size_t at)
{
    return read_16(message + 10) == 1 && at + 11 <= length && message[at] == 0 &&
           read_16(message + at + 1) == TYPE_OPT;
}

/* An address record, its name a pointer to the question's. */
static size_t write_record(unsigned char *at, const struct address *address)
{
    size_t bytes = address->six ? 16 : 4;

    write_16(at, 0xc000 | HEADER);
    write_16(at + 2, address->six ? TYPE_AAAA : TYPE_A);
    write_16(at + 4, CLASS_IN);
    write_16(at + 6, 0);
    write_16(at + 8, DNS_TTL);
    write_16(at + 10, (unsigned)bytes);
    memcpy(at + 12, address->bytes, bytes);
    return 12 + bytes;
}

/* @refused: says so, to those who look (an extended error: 15, blocked). */
static size_t write_options(unsigned char *at, bool refused)
{
    static const unsigned char options[] = {0, 0, TYPE_OPT, 4, 208 /* 1232 bytes */, 0, 0, 0, 0, 0, 0};
    static const char why[] = "not on the list of confine";

    memcpy(at, options, sizeof(options));
    if (!refused)
        return sizeof(options);
    write_16(at + 9, 4 + 2 + sizeof(why) - 1);
    write_16(at + 11, 15);
    write_16(at + 13, 2 + sizeof(why) - 1);
    write_16(at + 15, 15);
    memcpy(at + 17, why, sizeof(why) - 1);
    return 17 + sizeof(why) - 1;
}

/* The head of an answer to @message. */
static void write_header(const unsigned char *message, unsigned code, unsigned questions,
                         unsigned char *answer)
{
    memset(answer, 0, HEADER);
    memcpy(answer, message, 2);
    /* An answer, authoritative; the question's kind and its wish for recursion; recursion is to be had. */
    answer[2] = (unsigned char)(0x84 | (message[2] & 0x79));
    answer[3] = (unsigned char)(0x80 | code);
    write_16(answer + 4, questions);
}

/* Is NAME one of the services of a listed name, `_http._tcp.example.org`? There is nothing to be said of
 * them. */
static bool is_service(const struct rules *rules, const char *name)
{
    const char *owner = name;

    while (owner[0] == '_' && strchr(owner, '.'))
        owner = strchr(owner, '.') + 1;
    return owner != name && decide_name(rules, owner);
}

enum dns_said dns_answer(const struct rules *rules, struct pool *pool, const unsigned char *message,
                         size_t length, unsigned char *answer, size_t *ret_length, char ret_name[NAME_SIZE])
{
    struct address address;
    unsigned type, code = NO_ERROR;
    size_t end, at;

    ret_name[0] = '\0';
    if (length < HEADER || message[2] & 0x80)
        return DNS_NOTHING;
    *ret_length = HEADER;
    end = read_16(message + 4) == 1 ? read_name(message, length, HEADER, ret_name) : 0;
    if (message[2] & 0x78 || end == 0 || end + QUESTION > length) {
        write_header(message, message[2] & 0x78 ? NOT_IMPL : FORM_ERROR, 0, answer);
        ret_name[0] = '\0';
        return DNS_MALFORMED;
    }
    at = end + QUESTION;
    memcpy(answer + HEADER, message + HEADER, at - HEADER);
    *ret_length = at;
    type = read_16(message + end);
    if (ret_name[0] == '\0') {
        code = NO_NAME;
    } else if (!decide_name(rules, ret_name)) {
        code = is_service(rules, ret_name) ? NO_ERROR : NO_NAME;
    } else if (read_16(message + end + 2) == CLASS_IN && (type == TYPE_A || type == TYPE_AAAA)) {
        uint32_t number = pool_take(pool, ret_name);

        if (number == 0)
            code = SERV_FAIL;
        else if (pool_address(pool, number, type == TYPE_AAAA, &address))
            *ret_length += write_record(answer + at, &address);
    }
    write_header(message, code, 1, answer);
    write_16(answer + 6, *ret_length > at ? 1 : 0);
    if (has_options(message, length, at)) {
        *ret_length += write_options(answer + *ret_length, code == NO_NAME);
        write_16(answer + 10, 1);
    }
    return code == NO_NAME ? DNS_REFUSED : DNS_ANSWERED;
}

unsigned dns_type(const unsigned char *answer)
{
    size_t at = HEADER;

    while (answer[at] != 0)
        at += 1 + (size_t)answer[at];
    return read_16(answer + at + 1);
}
