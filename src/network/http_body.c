/*
 * http_body.c - where the body of a request ends, so that nothing behind it goes to the same server. See
 * http_head.h.
 */
#include "network/http_head.h"

#include <errno.h>

#define LINE_MAX_BYTES 256 /* of the coding; extensions that are longer nobody needs */
#define TRAILER_BYTES  8192

enum state {
    STATE_SIZE = 0, /* digits of a length */
    STATE_EXTENSION,
    STATE_SIZE_END, /* behind CR */
    STATE_DATA,
    STATE_DATA_CR, /* behind the data */
    STATE_DATA_LF,
    STATE_TRAILER, /* at the beginning of a line */
    STATE_TRAILER_LINE,
    STATE_TRAILER_LF,
    STATE_END_LF
};

void http_body_begin(struct http_body *body, int64_t length)
{
    *body = (struct http_body){.chunked = length == HTTP_CHUNKED, .left = length > 0 ? length : 0};
    body->ended = length == HTTP_NO_BODY;
}

static int digit_value(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    if (byte >= 'a' && byte <= 'f')
        return byte - 'a' + 10;
    return byte >= 'A' && byte <= 'F' ? byte - 'A' + 10 : -1;
}

static int take_size(struct http_body *body, char byte)
{
    int digit = digit_value(byte);

    if (digit >= 0) {
        if (++body->line > 12)
            return -EBADMSG;
        body->left = body->left * 16 + digit;
    } else if (body->line == 0 || (byte != '\r' && byte != ';')) {
        return -EBADMSG;
    } else {
        body->state = byte == ';' ? STATE_EXTENSION : STATE_SIZE_END;
        body->line = 0;
    }
    return 0;
}

/* Lines of the coding: one byte at a time. Return: 0 or -EBADMSG. */
static int take_byte(struct http_body *body, char byte)
{
    switch ((enum state)body->state) {
    case STATE_SIZE:
        return take_size(body, byte);
    case STATE_EXTENSION:
        if (++body->line > LINE_MAX_BYTES || (byte != '\r' && byte != '\t' && (unsigned char)byte < ' '))
            return -EBADMSG;
        body->state = byte == '\r' ? STATE_SIZE_END : STATE_EXTENSION;
        return 0;
    case STATE_SIZE_END:
        body->state = body->left > 0 ? STATE_DATA : STATE_TRAILER;
        body->line = 0;
        return byte == '\n' ? 0 : -EBADMSG;
    case STATE_DATA_CR:
        body->state = STATE_DATA_LF;
        return byte == '\r' ? 0 : -EBADMSG;
    case STATE_DATA_LF:
        body->state = STATE_SIZE;
        return byte == '\n' ? 0 : -EBADMSG;
    case STATE_TRAILER:
    case STATE_TRAILER_LINE:
        if (++body->line > TRAILER_BYTES || byte == '\n' || byte == '\0')
            return -EBADMSG;
        if (byte == '\r')
            body->state = body->state == STATE_TRAILER ? STATE_END_LF : STATE_TRAILER_LF;
        else
            body->state = STATE_TRAILER_LINE;
        return 0;
    case STATE_TRAILER_LF:
        body->state = STATE_TRAILER;
        return byte == '\n' ? 0 : -EBADMSG;
    case STATE_END_LF:
        body->ended = true;
        return byte == '\n' ? 0 : -EBADMSG;
    case STATE_DATA:
        break;
    }
    return -EBADMSG;
}

ssize_t http_body_take(struct http_body *body, const char *data, size_t length)
{
    size_t at = 0;

    while (at < length && !body->ended) {
        if (!body->chunked || body->state == STATE_DATA) {
            size_t part = (uint64_t)body->left < length - at ? (size_t)body->left : length - at;

            at += part;
            body->left -= (int64_t)part;
            if (body->left == 0 && body->chunked)
                body->state = STATE_DATA_CR;
            body->ended = body->left == 0 && !body->chunked;
            continue;
        }
        if (take_byte(body, data[at]) != 0)
            return -EBADMSG;
        at++;
    }
    return (ssize_t)at;
}
