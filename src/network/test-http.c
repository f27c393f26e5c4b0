/* test-http.c - heads of HTTP that two readers could understand differently, and where a body ends. */
#include "harness.h"

#include "network/http_head.h"

static const struct request {
    const char *name;
    const char *text;
    int answer; /* 1: a head; 0: it goes on; -errno */
    enum http_form form;
    const char *target;
    unsigned port;
} requests[] = {
    {"connect", "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n", 1, HTTP_CONNECT, "a.test", 443},
    {"connect of HTTP/1.0", "CONNECT a.test:22 HTTP/1.0\r\n\r\n", 1, HTTP_CONNECT, "a.test", 22},
    {"connect to IPv6", "CONNECT [2600::1]:443 HTTP/1.1\r\n\r\n", 1, HTTP_CONNECT, "2600::1", 443},
    {"connect without a port", "CONNECT a.test HTTP/1.1\r\n\r\n", -EBADMSG},
    {"connect with an empty port", "CONNECT a.test: HTTP/1.1\r\n\r\n", -EBADMSG},
    {"connect with a signed port", "CONNECT a.test:+443 HTTP/1.1\r\n\r\n", -EBADMSG},
    {"connect with a leading zero", "CONNECT a.test:0443 HTTP/1.1\r\n\r\n", -EBADMSG},
    {"connect with a large port", "CONNECT a.test:65979 HTTP/1.1\r\n\r\n", -EBADMSG},
    {"connect with a scheme", "CONNECT http://a.test:443 HTTP/1.1\r\n\r\n", -EAFNOSUPPORT},
    {"connect with a path", "CONNECT a.test:443/x HTTP/1.1\r\n\r\n", -EBADMSG},
    {"connect in small letters", "connect a.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n", -EBADMSG},
    {"absolute", "GET http://a.test/x?y HTTP/1.1\r\nHost: a.test\r\n\r\n", 1, HTTP_ABSOLUTE, "a.test", 80},
    {"absolute with a port", "GET http://A.test:8080 HTTP/1.1\r\nHost: a.test:8080\r\n\r\n", 1, HTTP_ABSOLUTE,
     "a.test", 8080},
    {"absolute in capitals", "GET HTTP://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", 1, HTTP_ABSOLUTE,
     "a.test", 80},
    {"absolute with a query only", "GET http://a.test?b HTTP/1.1\r\nHost: a.test\r\n\r\n", 1, HTTP_ABSOLUTE,
     "a.test", 80},
    {"absolute with an empty port", "GET http://a.test:/ HTTP/1.1\r\nHost: a.test\r\n\r\n", -EBADMSG},
    {"absolute with a user", "GET http://b@a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", -EAFNOSUPPORT},
    {"absolute with a fragment", "GET http://a.test/#b HTTP/1.1\r\nHost: a.test\r\n\r\n", -EBADMSG},
    {"another scheme", "GET ftp://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", -EBADMSG},
    {"no authority", "GET http:///x HTTP/1.1\r\nHost: a.test\r\n\r\n", -EAFNOSUPPORT},
    {"one slash", "GET http:/a.test/x HTTP/1.1\r\nHost: a.test\r\n\r\n", -EBADMSG},
    {"backslashes", "GET http:\\\\a.test/x HTTP/1.1\r\nHost: a.test\r\n\r\n", -EBADMSG},
    {"origin", "GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n", 1, HTTP_ORIGIN, "a.test", 0},
    {"origin with a port", "GET /x HTTP/1.1\r\nHost: a.test:81\r\n\r\n", 1, HTTP_ORIGIN, "a.test", 81},
    {"asterisk", "OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n", 1, HTTP_ORIGIN, "a.test", 0},
    {"no host", "GET /x HTTP/1.1\r\n\r\n", -EBADMSG},
    {"an empty host", "GET /x HTTP/1.1\r\nHost:\r\n\r\n", -EBADMSG},
    {"two hosts", "GET /x HTTP/1.1\r\nHost: a.test\r\nHost: a.test\r\n\r\n", -EBADMSG},
    {"two hosts in one", "GET /x HTTP/1.1\r\nHost: a.test, b.test\r\n\r\n", -EAFNOSUPPORT},
    {"a host with a user", "GET /x HTTP/1.1\r\nHost: b@a.test\r\n\r\n", -EAFNOSUPPORT},
    {"a host with a path", "GET /x HTTP/1.1\r\nHost: a.test/b\r\n\r\n", -EAFNOSUPPORT},
    {"a bare LF", "GET /x HTTP/1.1\nHost: a.test\n\n", -EBADMSG},
    {"a bare LF at the end", "GET /x HTTP/1.1\r\nHost: a.test\r\n\n", -EBADMSG},
    {"a bare CR", "GET /x HTTP/1.1\r\nHost: a.test\rX: b\r\n\r\n", -EBADMSG},
    {"a folded line", "GET /x HTTP/1.1\r\nHost: a.test\r\nX: a\r\n b\r\n\r\n", -EBADMSG},
    {"a folded first line", "GET /x HTTP/1.1\r\n Host: a.test\r\n\r\n", -EBADMSG},
    {"a space before the colon", "GET /x HTTP/1.1\r\nHost : a.test\r\n\r\n", -EBADMSG},
    {"a line without a colon", "GET /x HTTP/1.1\r\nHost: a.test\r\nX\r\n\r\n", -EBADMSG},
    {"a line without a name", "GET /x HTTP/1.1\r\nHost: a.test\r\n: b\r\n\r\n", -EBADMSG},
    {"two spaces", "GET  /x HTTP/1.1\r\nHost: a.test\r\n\r\n", -EBADMSG},
    {"a space in the path", "GET /x y HTTP/1.1\r\nHost: a.test\r\n\r\n", -EBADMSG},
    {"a tab in the path", "GET /x\ty HTTP/1.1\r\nHost: a.test\r\n\r\n", -EBADMSG},
    {"a byte above ASCII in the path", "GET /\xc3\xa9 HTTP/1.1\r\nHost: a.test\r\n\r\n", -EBADMSG},
    {"a control in a value", "GET /x HTTP/1.1\r\nHost: a.test\r\nX: \x01\r\n\r\n", -EBADMSG},
    {"no version", "GET /x\r\nHost: a.test\r\n\r\n", -EBADMSG},
    {"version 0.9", "GET /x HTTP/0.9\r\nHost: a.test\r\n\r\n", -EBADMSG},
    {"version 1.2", "GET /x HTTP/1.2\r\nHost: a.test\r\n\r\n", -EBADMSG},
    {"version 2", "PRI * HTTP/2.0\r\n\r\n", -EBADMSG},
    {"a small version", "GET /x http/1.1\r\nHost: a.test\r\n\r\n", -EBADMSG},
    {"a length and a coding",
     "POST /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", -EBADMSG},
    {"a coding and a length",
     "POST /x HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", -EBADMSG},
    {"two lengths", "POST /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
     -EBADMSG},
    {"two lengths in one", "POST /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3, 3\r\n\r\n", -EBADMSG},
    {"a signed length", "POST /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: +3\r\n\r\n", -EBADMSG},
    {"a negative length", "POST /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: -3\r\n\r\n", -EBADMSG},
    {"a hexadecimal length", "POST /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0x3\r\n\r\n", -EBADMSG},
    {"a huge length", "POST /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 99999999999999999999\r\n\r\n",
     -EBADMSG},
    {"an empty length", "POST /x HTTP/1.1\r\nHost: a.test\r\nContent-Length:\r\n\r\n", -EBADMSG},
    {"two codings", "POST /x HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", -EBADMSG},
    {"an unknown coding", "POST /x HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: identity\r\n\r\n",
     -EBADMSG},
    {"a coding that is hidden", "POST /x HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: xchunked\r\n\r\n",
     -EBADMSG},
    {"a coding in HTTP/1.0", "POST /x HTTP/1.0\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n",
     -EBADMSG},
    {"an empty line in front", "\r\nGET /x HTTP/1.1\r\nHost: a.test\r\n\r\n", -EBADMSG},
    {"nothing", "", 0},
    {"half a line", "GET /x HT", 0},
    {"half a head", "GET /x HTTP/1.1\r\nHost: a.test\r\n", 0},
    {"half a line end", "GET /x HTTP/1.1\r\nHost: a.test\r\n\r", 0},
};

TEST_EACH(request_is_read_or_refused, struct request, requests)
{
    struct http_head head;
    ssize_t answer = http_request(row->text, strlen(row->text), &head);

    if (row->answer <= 0) {
        check_int(answer, row->answer);
        return;
    }
    check_int(answer, (ssize_t)strlen(row->text));
    check_int(head.form, row->form);
    check_str(head.target.name, row->target);
    check_int(head.target.port, row->port);
    check(!head.other_host && !head.secure);
    /* In pieces it means the same. */
    for (size_t i = 0; i < strlen(row->text); i++)
        check_int(http_request(row->text, i, &head), 0);
}

TEST(another_host_is_seen)
{
    static const char *const others[] = {
        "GET http://a.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n",
        "GET http://a.test/ HTTP/1.1\r\nHost: a.test:81\r\n\r\n",
        "GET http://a.test/ HTTP/1.1\r\nHost:\r\n\r\n",
        "CONNECT a.test:443 HTTP/1.1\r\nHost: b.test\r\n\r\n",
        "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:80\r\n\r\n",
    };
    struct http_head head;

    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        check(http_request(others[i], strlen(others[i]), &head) > 0);
        check(head.other_host);
    }
}

TEST(head_has_bounds)
{
    static char text[HTTP_HEAD + 4096];
    struct http_head head;
    size_t length = (size_t)snprintf(text, sizeof(text), "GET /");

    memset(text + length, 'a', HTTP_HEAD);
    check_int(http_request(text, HTTP_HEAD, &head), -EBADMSG);
    check_int(http_request(text, HTTP_HEAD - 1, &head), 0);
    length = (size_t)snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: a.test\r\n");
    for (int i = 0; i < HTTP_HEADERS; i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "A: b\r\n");
    check_int(http_request(text, length, &head), -EBADMSG);
}

TEST(request_goes_on_alone)
{
    static const char from[] =
        "POST http://a.test/x?y HTTP/1.1\r\nHost: A.test\r\nContent-Length: 3\r\nX-Named: 1\r\n"
        "Connection: keep-alive, x-named, Content-Length\r\nProxy-Authorization: secret\r\n"
        "Proxy-Connection: keep-alive\r\nTE: trailers\r\nUpgrade: h2c\r\nAccept: */*\r\n\r\n";
    struct http_head head;
    struct text text = {0};

    need(http_request(from, sizeof(from) - 1, &head) > 0);
    check_int(head.body, 3);
    http_write_request(&head, &head.target, HTTP_WRITE_ORIGIN, "", &text);
    check_str(text.data, "POST /x?y HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\nAccept: "
                         "*/*\r\nConnection: close\r\n\r\n");
    text_free(&text);
    http_write_request(&head, &head.target, HTTP_WRITE_ABSOLUTE, "Proxy-Authorization: ours\r\n", &text);
    check_str(text.data, "POST http://a.test/x?y HTTP/1.1\r\nHost: a.test\r\nProxy-Authorization: ours\r\n"
                         "Content-Length: 3\r\nAccept: */*\r\nConnection: close\r\n\r\n");
    text_free(&text);
}

static const struct {
    const char *from, *to;
} paths[] = {
    {"GET http://a.test HTTP/1.0\r\n\r\n", "GET / HTTP/1.0\r\nHost: a.test\r\nConnection: close\r\n\r\n"},
    {"GET http://a.test?b HTTP/1.0\r\n\r\n", "GET /?b HTTP/1.0\r\nHost: a.test\r\nConnection: close\r\n\r\n"},
    {"GET http://[2600::1]:81/ HTTP/1.0\r\n\r\n",
     "GET / HTTP/1.0\r\nHost: [2600::1]:81\r\nConnection: close\r\n\r\n"},
};

TEST(path_is_never_empty)
{
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        struct http_head head;
        struct text text = {0};

        need(http_request(paths[i].from, strlen(paths[i].from), &head) > 0);
        http_write_request(&head, &head.target, HTTP_WRITE_ORIGIN, "", &text);
        check_str(text.data, paths[i].to);
        text_free(&text);
    }
}

TEST(answer_says_that_it_ends)
{
    static const char from[] =
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\nKeep-Alive: 5\r\n\r\nhi";
    struct http_head head;
    struct text text = {0};

    check_int(http_answer(from, sizeof(from) - 1, "GET", &head), sizeof(from) - 3);
    check_int(head.status, 200);
    check_int(head.body, 2);
    http_write_answer(&head, &text);
    check_str(text.data, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n");
    text_free(&text);
    check_int(http_answer("HTTP/1.1 20\r\n\r\n", 15, "GET", &head), -EBADMSG);
    check_int(http_answer("HTTP/1.1 2000\r\n\r\n", 17, "GET", &head), -EBADMSG);
    check_int(http_answer("ICY 200 OK\r\n\r\n", 14, "GET", &head), -EBADMSG);
}

static const struct body {
    const char *name;
    int64_t length;
    const char *text;
    ssize_t taken; /* -EBADMSG: refused */
    bool ended;
} bodies[] = {
    {"none", HTTP_NO_BODY, "GET /", 0, true},
    {"a length", 3, "abcGET /", 3, true},
    {"more to come", 30, "abc", 3, false},
    {"chunks", HTTP_CHUNKED, "3\r\nabc\r\n0\r\n\r\nGET /", 13, true},
    {"large digits", HTTP_CHUNKED, "A\r\n0123456789\r\n0\r\n\r\n", 20, true},
    {"an extension", HTTP_CHUNKED, "3;a=b\r\nabc\r\n0\r\n\r\n", 17, true},
    {"a trailer", HTTP_CHUNKED, "0\r\nA: b\r\n\r\nGET /", 11, true},
    {"no size", HTTP_CHUNKED, "\r\nabc", -EBADMSG},
    {"a signed size", HTTP_CHUNKED, "-3\r\nabc\r\n", -EBADMSG},
    {"a size with 0x", HTTP_CHUNKED, "0x3\r\nabc\r\n", -EBADMSG},
    {"a space", HTTP_CHUNKED, "3 \r\nabc\r\n", -EBADMSG},
    {"a huge size", HTTP_CHUNKED, "1234567890abc\r\n", -EBADMSG},
    {"a bare LF", HTTP_CHUNKED, "3\nabc\n0\n\n", -EBADMSG},
    {"a bare LF in an extension", HTTP_CHUNKED, "3;a\nabc\r\n", -EBADMSG},
    {"more than it says", HTTP_CHUNKED, "3\r\nabcd\r\n", -EBADMSG},
    {"a bare LF in a trailer", HTTP_CHUNKED, "0\r\nA: b\n\r\n", -EBADMSG},
};

TEST_EACH(body_ends_where_it_says, struct body, bodies)
{
    struct http_body body;
    ssize_t taken = 0;

    http_body_begin(&body, row->length);
    check_int(http_body_take(&body, row->text, strlen(row->text)), row->taken);
    check(row->taken < 0 || body.ended == row->ended);
    http_body_begin(&body, row->length);
    for (size_t i = 0; i < strlen(row->text) && taken >= 0; i++) {
        ssize_t one = http_body_take(&body, row->text + i, 1);

        taken = one < 0 ? one : taken + one;
    }
    check_int(taken, row->taken);
}

static const struct look {
    const char *name;
    const char *text;
    int answer;
} looks[] = {
    {"a request", "GET / HTTP/1.1\r\n", 1},
    {"a request without CR", "GET / HTTP/1.1\n", 1},
    {"half a request", "GET / HT", 0},
    {"nothing", "", 0},
    {"a word", "GET", 0},
    {"another protocol", "EHLO a.test\r\n", -1},
    {"SSH", "SSH-2.0-x\r\n", -1},
    {"HTTP/2", "PRI * HTTP/2.0\r\n", -1},
    {"small letters", "get / HTTP/1.1\r\n", -1},
    {"a binary protocol", "\x16\x03\x01", -1},
    {"a method of its own", "FROB / HTTP/1.0\r\n", 1},
};

TEST_EACH(request_is_told_from_others, struct look, looks)
{
    check_int(http_looks(row->text, strlen(row->text)), row->answer);
}

static const struct look lines[] = {
    {"a request", "GET / HTTP/1.1\r\n", 1},
    {"a bare LF", "GET / HTTP/1.1\n", 1},
    {"a bare CR", "GET / HTTP/1.1\rHost: a.test\r\r", 1},
    {"a CR in the line", "GET /\rx HTTP/1.1\nHost: a.test\n\n", 1},
    {"a CR alone", "hello\r", 0},
    {"half a request", "GET / HT", 0},
    {"a whole one without its end", "GET / HTTP/1.1", 0},
    {"nothing", "", 0},
    {"small letters", "get / HTTP/1.1\r\n", 1},
    {"a small version", "GET / http/1.1\r\n", 1},
    {"a method of signs", "M-SEARCH / HTTP/1.1\r\n", 1},
    {"a method of digits", "0GET / HTTP/1.1\r\n", 1},
    {"a method with a control", "\x01GET / HTTP/1.1\r\n", 1},
    {"a space in front", " GET / HTTP/1.1\r\n", 1},
    {"tabs", "GET\t/\tHTTP/1.1\r\n", 1},
    {"vertical tabs", "GET\v/\vHTTP/1.1\r\n", 1},
    {"many spaces", "GET   /   HTTP/1.1   \r\n", 1},
    {"a space behind", "GET / HTTP/1.1 \r\n", 1},
    {"a word behind", "GET / HTTP/1.1 x\r\n", 1},
    {"a space in the path", "GET /a b HTTP/1.1\r\n", 1},
    {"no path", "GET HTTP/1.1\r\n", 1},
    {"an odd version", "GET / HTTP/01.01\r\n", 1},
    {"version 0.9, written", "GET / HTTP/0.9\r\n", 1},
    {"HTTP/2", "PRI * HTTP/2.0\r\n", -1},
    {"not quite HTTP/2", "PRI * HTTP/2.0 \r\n", 1},
    {"another protocol", "EHLO a.test\r\n", -1},
    {"SSH", "SSH-2.0-x\r\n", -1},
    {"RTSP", "OPTIONS * RTSP/1.0\r\n", -1},
    {"a line of a server's log", "192.0.2.1 - - [x] \"GET / HTTP/1.1\" 200 5 \"-\" \"curl\"\n", -1},
    {"a binary protocol", "\x01\x02\x03\n", -1},
};

TEST_EACH(first_line_is_read_as_the_most_lenient_server_does, struct look, lines)
{
    check_int(http_first_line(row->text, strlen(row->text)), row->answer);
}
