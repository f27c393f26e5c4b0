/*
 * talk.c - see talk.h.
 *
 * Should:  give up by itself where nobody answers.
 * Mustn't: decide anything: whether it arrived is seen where it should not.
 */
#include "talk.h"
#include "network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    PATIENCE_S = 10,
    MOMENT_MS = 200,
    NAMES_PORT = 53,
    MESSAGE = 1024,
    HEAD = 12,
    TYPE_A = 1,
    TYPE_AAAA = 28
};

/* --- connections -----------------------------------------------------------------------------------------
 */

static bool read_literal(const char *host, long port, union name *name, socklen_t *size)
{
    *name = (union name){.in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)}};
    *size = sizeof(name->in);
    if (inet_pton(AF_INET, host, &name->in.sin_addr) == 1)
        return true;
    *name = (union name){.in6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)}};
    *size = sizeof(name->in6);
    return inet_pton(AF_INET6, host, &name->in6.sin6_addr) == 1;
}

static int dial(const union name *name, socklen_t size, int type)
{
    struct timeval patience = {.tv_sec = PATIENCE_S};
    int fd = socket(name->any.sa_family, type | SOCK_CLOEXEC, 0), errnum;

    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (connect(fd, &name->any, size) == 0)
        return fd;
    errnum = errno;
    close(fd);
    return -errnum;
}

int talk_dial(const char *host, long port, int type)
{
    union name name;
    socklen_t size;
    int result;

    if (!read_literal(host, port, &name, &size)) {
        result = talk_ask(host, TYPE_A, false, &name);
        if (result == ENOENT)
            result = talk_ask(host, TYPE_AAAA, false, &name);
        if (result != 0)
            return -result;
        size = name.any.sa_family == AF_INET ? sizeof(name.in) : sizeof(name.in6);
        name.in.sin_port = htons((uint16_t)port); /* both have it in the same place */
    }
    return dial(&name, size, type);
}

int talk_say(int fd, const void *bytes, size_t size, char *ret_answer)
{
    char data[DATA_SIZE] = "";
    ssize_t got;

    if (send(fd, bytes, size, MSG_NOSIGNAL) != (ssize_t)size)
        return errno;
    got = recv(fd, data, sizeof(data) - 1, 0);
    if (ret_answer)
        memcpy(ret_answer, data, sizeof(data));
    return got > 0 ? 0 : got == 0 ? ENODATA : errno;
}

int talk_once(int fd, const void *bytes, size_t size)
{
    int result = fd < 0 ? -fd : talk_say(fd, bytes, size, NULL);

    if (fd >= 0)
        close(fd);
    return result;
}

int talk_stream(const char *host, long port, const char *text)
{
    return talk_once(talk_dial(host, port, SOCK_STREAM), text, strlen(text));
}

int talk_send(const char *host, long port, const void *bytes, size_t size)
{
    struct pollfd refused = {.events = POLLIN};
    int fd = talk_dial(host, port, SOCK_DGRAM), result = fd < 0 ? -fd : 0;

    if (result == 0 && send(fd, bytes, size, 0) < 0)
        result = errno;
    refused.fd = fd;
    /* Nobody has to answer; but that nobody listens is said. */
    if (result == 0 && poll(&refused, 1, MOMENT_MS) > 0 && recv(fd, (char[1]){0}, 1, MSG_DONTWAIT) < 0)
        result = errno;
    if (fd >= 0)
        close(fd);
    return result;
}

int talk_datagram(const char *host, long port, const char *text)
{
    return talk_send(host, port, text, strlen(text));
}

int talk_request(const char *host, long port, const char *text)
{
    char request[MESSAGE];

    snprintf(request, sizeof(request), "GET /%s HTTP/1.1\r\nHost: %s\r\n\r\n", text, host);
    return talk_once(talk_dial(host, port, SOCK_STREAM), request, strlen(request));
}

/* --- names -----------------------------------------------------------------------------------------------
 */

/* Where this machine asks. The file is a link on many. */
static void find_server(union name *name, socklen_t *size)
{
    char text[4096] = "", server[64] = "127.0.0.1";
    int fd = open("/etc/resolv.conf", O_RDONLY | O_CLOEXEC);
    const char *line = fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 ? strstr(text, "nameserver") : NULL;

    if (fd >= 0)
        close(fd);
    if (line && sscanf(line, "nameserver %63s", server) != 1)
        server[0] = '\0';
    if (!read_literal(server, NAMES_PORT, name, size))
        read_literal("127.0.0.1", NAMES_PORT, name, size);
}

/* Return: bytes of the question, 0: that is no name. */
static size_t write_question(const char *name, unsigned type, unsigned char *message)
{
    static const unsigned char head[HEAD] = {0x12, 0x34, 1, 0, 0, 1};
    size_t at = HEAD;

    memcpy(message, head, sizeof(head));
    for (const char *label = name; *label; label += strcspn(label, ".")) {
        label += *label == '.';
        if (strcspn(label, ".") == 0 || strcspn(label, ".") > 63 || at > 300)
            return 0;
        message[at++] = (unsigned char)strcspn(label, ".");
        memcpy(message + at, label, strcspn(label, "."));
        at += strcspn(label, ".");
    }
    message[at++] = 0;
    message[at++] = (unsigned char)(type >> 8);
    message[at++] = (unsigned char)type;
    message[at++] = 0;
    message[at++] = 1;
    return at;
}

/* The first address of TYPE in an answer whose question had LENGTH bytes; names there are pointers. */
static int read_answer(const unsigned char *message, size_t length, size_t question, unsigned type,
                       union name *address)
{
    if (length < question || message[3] & 15)
        return ENOENT;
    for (size_t at = question; at + HEAD <= length && message[at] >= 0xc0;) {
        size_t size = (size_t)message[at + 10] << 8 | message[at + 11];
        bool six = type == TYPE_AAAA;

        if (at + HEAD + size > length)
            break;
        if (message[at + 3] == type && size == (six ? 16 : 4)) {
            *address = (union name){.any = {.sa_family = six ? AF_INET6 : AF_INET}};
            memcpy(six ? (void *)&address->in6.sin6_addr : (void *)&address->in.sin_addr, message + at + HEAD,
                   size);
            return 0;
        }
        at += HEAD + size;
    }
    return ENOENT;
}

int talk_ask(const char *name, unsigned type, bool stream, union name *ret_address)
{
    unsigned char message[2 + MESSAGE], *start = message + 2, reply[2 + MESSAGE];
    size_t length = write_question(name, type, start), before = stream ? 2 : 0;
    union name server;
    socklen_t size;
    ssize_t got;
    int fd, result = 0;

    find_server(&server, &size);
    fd = length ? dial(&server, size, stream ? SOCK_STREAM : SOCK_DGRAM) : -EINVAL;
    if (fd < 0)
        return -fd;
    message[0] = (unsigned char)(length >> 8);
    message[1] = (unsigned char)length;
    if (send(fd, stream ? message : start, length + before, MSG_NOSIGNAL) < 0)
        result = errno;
    got = result ? -1 : recv(fd, reply, sizeof(reply), 0);
    if (result == 0)
        result = got < (ssize_t)(HEAD + before)
                     ? (got < 0 ? errno : ENODATA)
                     : read_answer(reply + before, (size_t)got - before, length, type, ret_address);
    close(fd);
    return result;
}

int talk_ask_at(const char *server, const char *name)
{
    unsigned char message[MESSAGE];

    return talk_send(server, NAMES_PORT, message, write_question(name, TYPE_A, message));
}

/* --- proxies ---------------------------------------------------------------------------------------------
 */

int talk_proxy(void)
{
    const char *variable = getenv("http_proxy");
    char host[64];
    long port;

    if (!variable || sscanf(variable, "http://%63[^:/]:%ld", host, &port) != 2)
        return -ENOENT;
    return talk_dial(host, port, SOCK_STREAM);
}

const char *talk_authority(const char *host, long port, char text[PLACE_SIZE])
{
    bool bare = strchr(host, ':') && host[0] != '[';

    snprintf(text, PLACE_SIZE, "%s%s%s:%ld", bare ? "[" : "", host, bare ? "]" : "", port);
    return text;
}

int talk_tunnel_to(const char *host, long port)
{
    char request[2 * MESSAGE], there[PLACE_SIZE], answer[DATA_SIZE];
    int fd = talk_proxy(), result;

    if (fd < 0)
        return fd;
    talk_authority(host, port, there);
    snprintf(request, sizeof(request), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", there, there);
    result = talk_say(fd, request, strlen(request), answer);
    if (result == 0 && !strstr(answer, " 200 "))
        result = EACCES;
    if (result == 0)
        return fd;
    close(fd);
    return -result;
}

int talk_tunnel(const char *host, long port, const char *text)
{
    return talk_once(talk_tunnel_to(host, port), text, strlen(text));
}

int talk_absolute(const char *host, long port, const char *text)
{
    char request[2 * MESSAGE], there[PLACE_SIZE];

    talk_authority(host, port, there);
    snprintf(request, sizeof(request), "GET http://%s/%s HTTP/1.1\r\nHost: %s\r\n\r\n", there, text, there);
    return talk_once(talk_proxy(), request, strlen(request));
}

int talk_greet_socks(int fd, unsigned char command, const char *name, size_t size, long port,
                     union name *ret_address)
{
    unsigned char message[MESSAGE] = {5, command, 0, 3, (unsigned char)size};
    char answer[DATA_SIZE] = "";
    int result = talk_say(fd, "\5\1\0", 3, answer);

    if (result == 0 && (answer[0] != 5 || answer[1] != 0))
        result = EPROTO;
    memcpy(message + 5, name, size);
    message[5 + size] = (unsigned char)(port >> 8);
    message[6 + size] = (unsigned char)port;
    if (result == 0)
        result = talk_say(fd, message, 7 + size, answer);
    if (result == 0 && answer[1] != 0)
        result = EACCES;
    *ret_address = (union name){.in = {.sin_family = AF_INET}};
    memcpy(&ret_address->in.sin_addr, answer + 4, 4);
    memcpy(&ret_address->in.sin_port, answer + 8, 2);
    return result;
}

int talk_socks_to(const char *name, size_t size, long port, const char *text)
{
    union name ignored;
    int fd = talk_proxy(), result = fd < 0 ? -fd : talk_greet_socks(fd, 1, name, size, port, &ignored);

    if (result == 0)
        return talk_once(fd, text, strlen(text));
    if (fd >= 0)
        close(fd);
    return result;
}

int talk_socks(const char *host, long port, const char *text)
{
    return talk_socks_to(host, strlen(host), port, text);
}

/* --- TLS -------------------------------------------------------------------------------------------------
 */

static size_t put(unsigned char *bytes, size_t at, const void *more, size_t size)
{
    memcpy(bytes + at, more, size);
    return at + size;
}

static void put_length(unsigned char *at, size_t length)
{
    at[0] = (unsigned char)(length >> 8);
    at[1] = (unsigned char)length;
}

size_t talk_hello(const char *name, const char text[MARK_SIZE], int pieces, unsigned char *bytes, size_t size)
{
    static const unsigned char begin[] = {1, 0, 0, 0, 3, 3}, ciphers[] = {0, 0, 2, 0x13, 1, 1, 0};
    static const unsigned char record[] = {22, 3, 1, 0, 0};
    unsigned char message[512];
    size_t length = put(message, 0, begin, sizeof(begin)), extensions, done = 0, at = 0;

    length = put(message, length, text, MARK_SIZE - 1);
    length = put(message, length, ciphers, sizeof(ciphers));
    extensions = length;
    length += 2;
    if (name) {
        put_length(message + length, 0); /* server_name */
        put_length(message + length + 2, strlen(name) + 5);
        put_length(message + length + 4, strlen(name) + 3);
        message[length + 6] = 0;
        put_length(message + length + 7, strlen(name));
        length = put(message, length + 9, name, strlen(name));
    }
    put_length(message + extensions, length - extensions - 2);
    put_length(message + 2, length - 4);
    for (int i = pieces; i > 0 && at + sizeof(record) + length < size; i--) {
        /* Not within the random bytes, which are to be found again. */
        size_t piece = i == pieces && pieces > 1 ? extensions : (length - done) / (size_t)i;

        at = put(bytes, at, record, sizeof(record));
        put_length(bytes + at - 2, piece);
        at = put(bytes, at, message + done, piece);
        done += piece;
    }
    return at;
}
