/*
 * http_head.c - see http_head.h. Pieces point into the caller's bytes; nothing is allocated.
 */
#include "network/http_head.h"

#include <errno.h>

#define CLOSE "Connection: close\r\n"

bool http_piece_is(const struct piece *piece, const char *text)
{
    size_t length = strlen(text);

    if (piece->length != length)
        return false;
    for (size_t i = 0; i < length; i++) {
        char byte = piece->at[i];

        if (byte >= 'A' && byte <= 'Z')
            byte = (char)(byte + ('a' - 'A'));
        if (byte != text[i])
            return false;
    }
    return true;
}

static bool is_token(char byte)
{
    return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') ||
           (byte && strchr("!#$%&'*+-.^_`|~", byte));
}

/* What may stand in a value: everything but controls; bytes above ASCII have no meaning to anybody. */
static bool is_value(char byte)
{
    return byte == '\t' || ((unsigned char)byte >= ' ' && byte != 0x7f);
}

/* The line at @at, without its end. Return: where the next one begins, 0: it goes on; -EBADMSG. */
static ssize_t read_line(const char *data, size_t length, size_t at, struct piece *ret_line)
{
    for (size_t i = at; i < length; i++) {
        if (data[i] == '\r') {
            if (i + 1 == length)
                return 0;
            if (data[i + 1] != '\n')
                return -EBADMSG;
            *ret_line = (struct piece){data + at, i - at};
            return (ssize_t)i + 2;
        }
        if (!is_value(data[i]))
            return -EBADMSG;
    }
    return 0;
}

/* A port without sign and leading zero. Return: false for none. */
static bool read_port(const char *text, size_t length, uint16_t *ret_port)
{
    unsigned long port = 0;

    if (length == 0 || length > 5 || text[0] == '0')
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        port = port * 10 + (unsigned long)(text[i] - '0');
    }
    *ret_port = (uint16_t)port;
    return port <= 65535;
}

/* NAME[:PORT] or [ADDRESS][:PORT]. @port: where there is none; 0 in CONNECT: there must be one. */
static int read_authority(const struct piece *from, uint16_t port, bool must, struct target *ret_target)
{
    const char *end = from->at + from->length, *colon = NULL;

    for (const char *at = from->at; at < end; at++) {
        if (*at == ']')
            colon = NULL;
        else if (*at == ':')
            colon = at;
    }
    if (from->length > 0 && from->at[0] == '[' && colon && colon[-1] != ']')
        colon = NULL;
    if (colon ? !read_port(colon + 1, (size_t)(end - colon - 1), &port) : must)
        return -EBADMSG;
    return target_read(from->at, (size_t)((colon ? colon : end) - from->at), true, port, ret_target)
               ? 0
               : -EAFNOSUPPORT;
}

/* Path and query: what is printable, but no fragment. */
static bool is_path(const struct piece *path)
{
    for (size_t i = 0; i < path->length; i++)
        if (path->at[i] <= ' ' || path->at[i] >= 0x7f || path->at[i] == '#')
            return false;
    return true;
}

static int read_absolute(const struct piece *uri, struct http_head *head)
{
    const char *end = uri->at + uri->length;
    const char *colon = memchr(uri->at, ':', uri->length);
    struct piece scheme = {uri->at, colon ? (size_t)(colon - uri->at) : 0}, authority;

    head->secure = colon && http_piece_is(&scheme, "https");
    if (!colon || (!head->secure && !http_piece_is(&scheme, "http")) || end - colon < 3 || colon[1] != '/' ||
        colon[2] != '/')
        return -EBADMSG;
    authority.at = colon + 3;
    authority.length = 0;
    while (authority.at + authority.length < end && !strchr("/?", authority.at[authority.length]))
        authority.length++;
    head->path =
        (struct piece){authority.at + authority.length, (size_t)(end - authority.at) - authority.length};
    head->form = HTTP_ABSOLUTE;
    return read_authority(&authority, head->secure ? 443 : 80, false, &head->target);
}

static int read_request_line(const struct piece *line, struct http_head *head)
{
    const char *end = line->at + line->length;
    const char *first = memchr(line->at, ' ', line->length);
    const char *second = first ? memchr(first + 1, ' ', (size_t)(end - first - 1)) : NULL;
    struct piece uri, version;

    if (!second)
        return -EBADMSG;
    head->method = (struct piece){line->at, (size_t)(first - line->at)};
    uri = (struct piece){first + 1, (size_t)(second - first - 1)};
    version = (struct piece){second + 1, (size_t)(end - second - 1)};
    for (size_t i = 0; i < head->method.length; i++)
        if (!is_token(head->method.at[i]))
            return -EBADMSG;
    if (head->method.length == 0 || head->method.length > 32 || uri.length == 0 || version.length != 8 ||
        memcmp(version.at, "HTTP/1.", 7) != 0 || (version.at[7] != '0' && version.at[7] != '1') ||
        !is_path(&uri))
        return -EBADMSG;
    head->minor = (unsigned)(version.at[7] - '0');
    if (head->method.length == 7 && memcmp(head->method.at, "CONNECT", 7) == 0) {
        head->form = HTTP_CONNECT;
        return read_authority(&uri, 0, true, &head->target);
    }
    if (uri.at[0] == '/' || (uri.length == 1 && uri.at[0] == '*')) {
        head->form = HTTP_ORIGIN;
        head->path = uri;
        return 0;
    }
    return read_absolute(&uri, head);
}

static int read_header(const struct piece *line, struct http_header *ret_header)
{
    size_t at = 0, end = line->length;

    while (at < line->length && is_token(line->at[at]))
        at++;
    if (at == 0 || at == line->length || line->at[at] != ':')
        return -EBADMSG; /* also a line that goes on, and a space before the colon */
    ret_header->name = (struct piece){line->at, at};
    at++;
    while (at < end && (line->at[at] == ' ' || line->at[at] == '\t'))
        at++;
    while (end > at && (line->at[end - 1] == ' ' || line->at[end - 1] == '\t'))
        end--;
    ret_header->value = (struct piece){line->at + at, end - at};
    return 0;
}

static int read_length(const struct piece *value, int64_t *ret_length)
{
    int64_t length = 0;

    if (value->length == 0 || value->length > 17)
        return -EBADMSG;
    for (size_t i = 0; i < value->length; i++) {
        if (value->at[i] < '0' || value->at[i] > '9')
            return -EBADMSG;
        length = length * 10 + (value->at[i] - '0');
    }
    *ret_length = length;
    return 0;
}

/* Is NAME:PORT of a Host header what the request itself asks for? */
static int read_host(const struct piece *value, struct http_head *head)
{
    struct target host;
    int error;

    if (head->has_host)
        return -EBADMSG;
    head->has_host = true;
    if (value->length == 0) { /* allowed where the target has no authority */
        head->other_host = head->form != HTTP_ORIGIN;
        return head->other_host ? 0 : -EBADMSG;
    }
    error = read_authority(value, 0, false, &host);
    if (error)
        return error;
    if (head->form == HTTP_ORIGIN) {
        head->target = host;
        return 0;
    }
    if (host.port == 0)
        host.port = head->form == HTTP_CONNECT ? head->target.port : head->secure ? 443 : 80;
    head->other_host = strcmp(host.name, head->target.name) != 0 || host.port != head->target.port;
    return 0;
}

/* Headers up to the empty line. Return: bytes of the head, 0: it goes on, -EBADMSG. */
static ssize_t read_headers(const char *data, size_t length, size_t at, bool request, struct http_head *head)
{
    bool has_length = false, has_coding = false;
    struct piece line;

    for (;;) {
        ssize_t next = read_line(data, length, at, &line);
        struct http_header *header = &head->headers[head->header_count];
        int error = 0;

        if (next <= 0)
            return next;
        if (line.length == 0) {
            if (has_length && has_coding)
                return -EBADMSG;
            return next;
        }
        if (head->header_count == HTTP_HEADERS || read_header(&line, header) != 0)
            return -EBADMSG;
        if (http_piece_is(&header->name, "content-length")) {
            error = has_length ? -EBADMSG : read_length(&header->value, &head->body);
            has_length = true;
        } else if (http_piece_is(&header->name, "transfer-encoding")) {
            if (has_coding || head->minor == 0 || !http_piece_is(&header->value, "chunked"))
                return -EBADMSG;
            has_coding = true;
            head->body = HTTP_CHUNKED;
        } else if (request && http_piece_is(&header->name, "host")) {
            error = read_host(&header->value, head);
        }
        if (error)
            return error;
        head->header_count++;
        at = (size_t)next;
    }
}

ssize_t http_request(const char *data, size_t length, struct http_head *ret_head)
{
    struct piece line;
    ssize_t next = read_line(data, length, 0, &line), end;
    int error;

    *ret_head = (struct http_head){.body = HTTP_NO_BODY};
    if (next <= 0)
        return next < 0 || length < HTTP_HEAD ? next : -EBADMSG;
    error = read_request_line(&line, ret_head);
    if (error)
        return error;
    end = read_headers(data, length, (size_t)next, true, ret_head);
    if (end == 0 && length >= HTTP_HEAD)
        return -EBADMSG;
    if (end > 0 && ret_head->minor == 1 && !ret_head->has_host && ret_head->form != HTTP_CONNECT)
        return -EBADMSG;
    return end;
}

ssize_t http_answer(const char *data, size_t length, const char *method, struct http_head *ret_head)
{
    struct piece line;
    ssize_t next = read_line(data, length, 0, &line), end;

    *ret_head = (struct http_head){.body = HTTP_TO_CLOSE};
    if (next <= 0)
        return next < 0 || length < HTTP_HEAD ? next : -EBADMSG;
    if (line.length < 12 || memcmp(line.at, "HTTP/1.", 7) != 0 || (line.at[7] != '0' && line.at[7] != '1') ||
        line.at[8] != ' ' || (line.length > 12 && line.at[12] != ' '))
        return -EBADMSG;
    for (size_t i = 9; i < 12; i++) {
        if (line.at[i] < '0' || line.at[i] > '9')
            return -EBADMSG;
        ret_head->status = ret_head->status * 10 + (unsigned)(line.at[i] - '0');
    }
    ret_head->minor = (unsigned)(line.at[7] - '0');
    ret_head->reason = (struct piece){line.at + 9, line.length - 9};
    end = read_headers(data, length, (size_t)next, false, ret_head);
    if (end == 0 && length >= HTTP_HEAD)
        return -EBADMSG;
    if (ret_head->status / 100 == 1 || ret_head->status == 204 || ret_head->status == 304 ||
        strcmp(method, "HEAD") == 0)
        ret_head->body = HTTP_NO_BODY;
    return end;
}

int http_looks(const char *data, size_t length)
{
    size_t at = 0;
    const char *end;

    while (at < length && at <= 32 && data[at] >= 'A' && data[at] <= 'Z')
        at++;
    if (at == length && at <= 32)
        return 0;
    if (at == 0 || at > 32 || data[at] != ' ')
        return -1;
    end = memchr(data, '\n', length);
    if (!end)
        return 0;
    while (end > data && (end[-1] == '\r'))
        end--;
    return end - data >= 8 && memcmp(end - 8, "HTTP/1.", 7) == 0 ? 1 : -1;
}

/* The next word at @at, up to @end. Return: whether there is one. */
static bool next_word(const char **at, const char *end, struct piece *ret_word)
{
    while (*at < end && (unsigned char)**at <= ' ')
        (*at)++;
    ret_word->at = *at;
    while (*at < end && (unsigned char)**at > ' ')
        (*at)++;
    ret_word->length = (size_t)(*at - ret_word->at);
    return ret_word->length > 0;
}

static bool is_version(const struct piece *word)
{
    struct piece front = {word->at, 5};

    return word->length > 5 && http_piece_is(&front, "http/");
}

/* Are the words up to @end a request's first line? */
static bool is_first_line(const char *at, const char *end)
{
    struct piece word, last = {0};
    bool third = false;

    for (size_t words = 1; next_word(&at, end, &word); words++) {
        last = word;
        third = third || (words == 3 && is_version(&word));
    }
    return third || is_version(&last);
}

int http_first_line(const char *data, size_t length)
{
    static const char other[] = "PRI * HTTP/2.0\r\n";
    const char *carriage = memchr(data, '\r', length), *end = memchr(data, '\n', length);

    if (length >= sizeof(other) - 1 && memcmp(data, other, sizeof(other) - 1) == 0)
        return -1;
    if (carriage && length == sizeof(other) - 2 && memcmp(data, other, length) == 0)
        return 0; /* it may still become the other one */
    if (carriage && is_first_line(data, carriage))
        return 1;
    return !end ? 0 : is_first_line(data, end) ? 1 : -1;
}

/* What concerns the connection to us and not the request; Connection may name more. */
static bool is_hop(const struct http_head *head, const struct piece *name)
{
    static const char *const hops[] = {
        "connection", "proxy-connection",    "keep-alive",         "te",  "upgrade",
        "trailer",    "proxy-authorization", "proxy-authenticate", "host"};

    for (size_t i = 0; i < ARRAY_SIZE(hops); i++)
        if (http_piece_is(name, hops[i]))
            return true;
    for (size_t i = 0; i < head->header_count; i++) {
        const struct piece *value = &head->headers[i].value;

        if (!http_piece_is(&head->headers[i].name, "connection"))
            continue;
        for (size_t at = 0; at < value->length;) {
            struct piece word = {value->at + at, 0};
            char text[64];

            while (at < value->length && value->at[at] != ',' && value->at[at] != ' ')
                at++;
            word.length = (size_t)(value->at + at - word.at);
            while (at < value->length &&
                   (value->at[at] == ',' || value->at[at] == ' ' || value->at[at] == '\t'))
                at++;
            if (word.length != name->length || word.length >= sizeof(text))
                continue;
            for (size_t j = 0; j < name->length; j++)
                text[j] = name->at[j] >= 'A' && name->at[j] <= 'Z' ? (char)(name->at[j] + 32) : name->at[j];
            text[name->length] = '\0';
            /* The length of the body is not the connection's, whatever it says. */
            if (strcmp(text, "content-length") != 0 && strcmp(text, "transfer-encoding") != 0 &&
                http_piece_is(&word, text))
                return true;
        }
    }
    return false;
}

static void write_headers(const struct http_head *head, const char *last, struct text *text)
{
    for (size_t i = 0; i < head->header_count; i++) {
        const struct http_header *header = &head->headers[i];

        if (is_hop(head, &header->name))
            continue;
        text_add_bytes(text, header->name.at, header->name.length);
        text_add(text, ": ");
        text_add_bytes(text, header->value.at, header->value.length);
        text_add(text, "\r\n");
    }
    text_addf(text, "%s\r\n", last);
}

static void write_authority(const struct target *target, struct text *text)
{
    bool six = target->is_address && strchr(target->name, ':');

    text_addf(text, "%s%s%s", six ? "[" : "", target->name, six ? "]" : "");
    if (target->port != 80)
        text_addf(text, ":%u", target->port);
}

void http_write_request(const struct http_head *head, const struct target *target, enum http_write form,
                        const char *extra, struct text *text)
{
    bool whole = head->path.length == 1 && head->path.at[0] == '*';

    text_add_bytes(text, head->method.at, head->method.length);
    text_add(text, " ");
    if (form == HTTP_WRITE_ABSOLUTE) {
        text_add(text, "http://");
        write_authority(target, text);
    }
    if ((head->path.length == 0 || head->path.at[0] == '?') && !whole)
        text_add(text, "/");
    if (!(whole && form == HTTP_WRITE_ABSOLUTE))
        text_add_bytes(text, head->path.at, head->path.length);
    text_addf(text, " HTTP/1.%u\r\nHost: ", head->minor);
    write_authority(target, text);
    text_addf(text, "\r\n%s", extra);
    write_headers(head, CLOSE, text);
}

void http_write_answer(const struct http_head *head, struct text *text)
{
    text_addf(text, "HTTP/1.%u ", head->minor);
    text_add_bytes(text, head->reason.at, head->reason.length);
    text_add(text, "\r\n");
    write_headers(head, head->status / 100 == 1 ? "" : CLOSE, text); /* something follows a 100 */
}
