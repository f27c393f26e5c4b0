/*
 * fuzz-head.c - fuzz what a client says to the gateway's proxy: requests of HTTP and of SOCKS5, each up to a
 * line `--`. What begins with 5 is SOCKS.
 *
 * In pieces it means the same. A name is canonical, an address is one; what goes on is read as it was meant,
 * with the same target, and it is one request; a body ends at the same byte however it is cut.
 */
#include "network/http_head.h"
#include "network/socks5.h"

#include <errno.h>
#include <stdlib.h>

static void must(bool held, const char *what)
{
    if (!held) {
        fprintf(stderr, "head: %s\n", what);
        abort();
    }
}

static void check_target(const struct target *target)
{
    struct target again;
    bool six = target->is_address && strchr(target->name, ':');
    char text[NAME_SIZE + 2];

    snprintf(text, sizeof(text), "%s%s%s", six ? "[" : "", target->name, six ? "]" : "");
    must(target_read(text, strlen(text), true, target->port, &again), "a target that is none");
    must(again.is_address == target->is_address && strcmp(again.name, target->name) == 0,
         "a target that is not canonical");
}

static void check_written(const struct http_head *head, enum http_write form)
{
    struct text text = {0};
    struct target target = head->target;
    struct http_head again;

    if (target.port == 0)
        target.port = 80;
    http_write_request(head, &target, form, "", &text);
    must(!text.failed, "no memory");
    if (text.length < HTTP_HEAD && head->header_count + 1 < HTTP_HEADERS) {
        must(http_request(text.data, text.length, &again) == (ssize_t)text.length,
             "what goes on is no request");
        must(!again.other_host && strcmp(again.target.name, target.name) == 0, "what goes on is for another");
        must(again.target.port == target.port || (again.target.port == 0 && target.port == 80),
             "what goes on is for another port");
        must(again.body == head->body, "what goes on has another body");
    }
    text_free(&text);
}

static void check_body(int64_t length, const char *data, size_t size)
{
    struct http_body whole, pieces;
    ssize_t taken, sum = 0;

    http_body_begin(&whole, length);
    http_body_begin(&pieces, length);
    taken = http_body_take(&whole, data, size);
    for (size_t i = 0; i < size && sum >= 0; i++) {
        ssize_t one = http_body_take(&pieces, data + i, 1);

        sum = one < 0 ? one : sum + one;
    }
    must(taken == sum && (taken < 0 || whole.ended == pieces.ended), "in pieces the body is another");
    must(taken < 0 || (size_t)taken <= size, "more than there was");
    must(taken < 0 || length < 0 || taken <= length, "more than its length");
}

static void read_http(const char *data, size_t size)
{
    struct http_head head, part;
    ssize_t length = http_request(data, size, &head);

    for (size_t i = 0; i < size && (length <= 0 || i < (size_t)length); i++) {
        ssize_t early = i % 7 == 0 || i + 4 > size ? http_request(data, i, &part) : 0;

        must(early == 0 || (early < 0 && length < 0), "in pieces the head is another");
    }
    must(length <= (ssize_t)size && (length >= 0 || length == -EBADMSG || length == -EAFNOSUPPORT),
         "an answer that is none");
    must(length <= 0 || http_first_line(data, size) == 1, "a head without a first line");
    (void)http_looks(data, size);
    if (http_answer(data, size, "GET", &part) > 0) {
        struct text text = {0};

        http_write_answer(&part, &text);
        must(text.failed || text.length >= HTTP_HEAD || part.header_count + 1 >= HTTP_HEADERS ||
                 http_answer(text.data, text.length, "GET", &part) == (ssize_t)text.length,
             "what goes on is no answer");
        text_free(&text);
    }
    if (length <= 0)
        return;
    if (head.has_host || head.form != HTTP_ORIGIN)
        check_target(&head.target);
    check_body(head.body, data + length, size - (size_t)length);
    if (head.form != HTTP_CONNECT && !head.other_host && (head.has_host || head.form == HTTP_ABSOLUTE) &&
        !head.secure) {
        check_written(&head, HTTP_WRITE_ORIGIN);
        check_written(&head, HTTP_WRITE_ABSOLUTE);
    }
}

static void read_socks(const unsigned char *data, size_t size)
{
    struct target target;
    ssize_t greeting = socks_greeting(data, size), request = socks_request(data, size, &target);
    unsigned char reply[SOCKS_REPLY];

    for (size_t i = 1; i < size; i++) {
        struct target part;
        ssize_t early = socks_request(data, i, &part);

        must(socks_greeting(data, i) == 0 || socks_greeting(data, i) == greeting,
             "in pieces the greeting is another");
        must(early == 0 || early == request, "in pieces the request is another");
    }
    must(greeting <= (ssize_t)size && request <= (ssize_t)size, "more than there was");
    if (request > 0) {
        must(target.port != 0, "no port");
        check_target(&target);
    }
    socks_reply(request > 0 ? SOCKS_GRANTED : SOCKS_REFUSED, reply);
    must(reply[0] == SOCKS_VERSION && (reply[1] == 0) == (request > 0), "another answer");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (size_t at = 0; at < size;) {
        const uint8_t *end = memmem(data + at, size - at, "\n--\n", 4);
        size_t length = end ? (size_t)(end - data) - at : size - at;
        char *copy = malloc(length ? length : 1); /* exactly, so that a byte behind it is seen */

        must(copy != NULL, "no memory");
        memcpy(copy, data + at, length);
        if (length > 0 && copy[0] == SOCKS_VERSION)
            read_socks((unsigned char *)copy, length);
        else
            read_http(copy, length < 1500 ? length : 1500);
        free(copy);
        at += length + (end ? 4 : 0);
    }
    return 0;
}
