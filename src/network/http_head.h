/*
 * http_head.h - the head of one HTTP/1 request or answer, strictly.
 *
 * Should:  refuse whatever two readers could understand differently: line ends that are not CRLF, folded
 * lines, spaces around names, two lengths, two hosts, a transfer coding beside a length. Mustn't: look
 * further than the head.
 */
#ifndef CONFINE_NETWORK_HTTP_HEAD_H
#define CONFINE_NETWORK_HTTP_HEAD_H

#include "network/decide.h"

#define HTTP_HEAD     16384 /* bytes at most */
#define HTTP_HEADERS  128
#define HTTP_NO_BODY  0
#define HTTP_CHUNKED  (-1) /* its length is told piece by piece */
#define HTTP_TO_CLOSE (-2) /* an answer: as long as the connection */

enum http_form {
    HTTP_NONE = 0,
    HTTP_CONNECT,  /* CONNECT name:port */
    HTTP_ABSOLUTE, /* GET http://name/path */
    HTTP_ORIGIN,   /* GET /path, OPTIONS * */
};

struct piece {
    const char *at; /* in the head */
    size_t length;
};

struct http_header {
    struct piece name, value;
};

struct http_head {
    enum http_form form;  /* of a request */
    unsigned status;      /* of an answer */
    unsigned minor;       /* HTTP/1.0 or 1.1 */
    struct piece method;  /* of a request */
    struct piece path;    /* with the query; may be empty in absolute form */
    struct piece reason;  /* of an answer: everything behind the version */
    struct target target; /* of CONNECT and absolute form; else of Host, with port 0 where it names none */
    bool has_host;        /* there is a Host header */
    bool other_host;      /* it differs from the request's own target */
    bool secure;          /* `https://`: nothing that could be forwarded */
    int64_t body;         /* bytes, or HTTP_… */
    size_t header_count;
    struct http_header headers[HTTP_HEADERS];
};

/*
 * http_request() - read the head of a request.
 *
 * Return: its bytes, with the empty line; 0: it goes on; -EBADMSG: refused; -EAFNOSUPPORT: its target is no
 * name and no address.
 */
ssize_t http_request(const char *data, size_t length, struct http_head *ret_head);

/* http_answer() - the same for the head of an answer, to a request of @method. */
ssize_t http_answer(const char *data, size_t length, const char *method, struct http_head *ret_head);

/* http_looks() - can this be the beginning of a request of HTTP/1? Return: 1, 0: too short to know, -1: no.
 */
int http_looks(const char *data, size_t length);

/*
 * http_first_line() - does a line of HTTP/1 stand at the beginning, as the most lenient server would read it?
 *
 * Whatever white space parts its words, in whatever letters its method and version are. A line may end with
 * CR or LF.
 *
 * Return: 1, 0: the line goes on, -1: no.
 */
int http_first_line(const char *data, size_t length);

/* http_piece_is() - is it @text, whatever the case of its letters? */
bool http_piece_is(const struct piece *piece, const char *text);

/* What write_request() makes of a target. */
enum http_write {
    HTTP_WRITE_ORIGIN = 0, /* for the server itself */
    HTTP_WRITE_ABSOLUTE    /* for another proxy */
};

/*
 * http_write_request() - the head as it goes on: Host as in the target, nothing that is meant for us, and the
 * wish that the connection ends.
 * @extra: one more line with its CRLF, or ""
 */
void http_write_request(const struct http_head *head, const struct target *target, enum http_write form,
                        const char *extra, struct text *text);
void http_write_answer(const struct http_head *head, struct text *text);

/* Where a body ends. */
struct http_body {
    int64_t left; /* bytes of it or of this piece; HTTP_CHUNKED: a line of the coding comes */
    bool chunked;
    bool ended;
    unsigned state; /* within the coding */
    size_t line;    /* bytes of this line of the coding */
};
void http_body_begin(struct http_body *body, int64_t length);

/* http_body_take() - Return: how many of @length bytes belong to the body, or -EBADMSG. */
ssize_t http_body_take(struct http_body *body, const char *data, size_t length);

#endif
