/*
 * upstream.c - see upstream.h.
 */
#include "network/upstream.h"

#define SCHEME    "http://"
#define USER_MOST 600

static int hex_value(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    if (byte >= 'a' && byte <= 'f')
        return byte - 'a' + 10;
    return byte >= 'A' && byte <= 'F' ? byte - 'A' + 10 : -1;
}

/* USER:PASSWORD without its escapes. Return: bytes, -1: an escape is none, or it is too long. */
static int read_user(const char *text, size_t length, char *user)
{
    int count = 0;

    for (size_t i = 0; i < length; i++) {
        int byte = (unsigned char)text[i];

        if (byte == '%') {
            if (i + 2 >= length || hex_value(text[i + 1]) < 0 || hex_value(text[i + 2]) < 0)
                return -1;
            byte = hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]);
            i += 2;
        }
        if (count == USER_MOST || byte == 0)
            return -1;
        user[count++] = (char)byte;
    }
    return count;
}

const char *upstream_read(const char *url, struct upstream *ret_upstream)
{
    const char *host, *at, *colon, *end;
    struct text coded = {0};
    char user[USER_MOST];
    unsigned long port = 80;
    int length;

    *ret_upstream = (struct upstream){.set = true};
    if (strncmp(url, SCHEME, sizeof(SCHEME) - 1) != 0)
        return "it must begin with http://";
    host = url + sizeof(SCHEME) - 1;
    at = strrchr(host, '@');
    if (at) {
        length = read_user(host, (size_t)(at - host), user);
        if (length < 0 || !memchr(user, ':', (size_t)length))
            return "user and password are no USER:PASSWORD";
        text_add_base64(&coded, user, (size_t)length);
        if (coded.failed)
            return "there is no memory for its user and password";
        snprintf(ret_upstream->authorization, sizeof(ret_upstream->authorization),
                 "Proxy-Authorization: Basic %s\r\n", coded.data);
        text_free(&coded);
        host = at + 1;
    }
    end = host + strcspn(host, "/");
    if (end[0] == '/' && end[1] != '\0')
        return "a proxy has no path";
    colon = end;
    while (colon > host && colon[-1] >= '0' && colon[-1] <= '9')
        colon--;
    if (colon < end && colon > host + 1 && colon[-1] == ':') {
        port = strtoul(colon, NULL, 10);
        if (port == 0 || port > 65535 || end - colon > 5)
            return "its port is none";
        end = colon - 1;
    }
    if (!target_read(host, (size_t)(end - host), true, (uint16_t)port, &ret_upstream->target))
        return "its host is neither a name nor an address";
    return NULL;
}

void upstream_connect(const struct upstream *upstream, const struct target *target, struct text *text)
{
    bool six = target->is_address && strchr(target->name, ':');
    char authority[NAME_SIZE + 16];

    snprintf(authority, sizeof(authority), "%s%s%s:%u", six ? "[" : "", target->name, six ? "]" : "",
             target->port);
    text_addf(text, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", authority, authority,
              upstream->authorization);
}
