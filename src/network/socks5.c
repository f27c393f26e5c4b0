/*
 * socks5.c - see socks5.h.
 */
#include "network/socks5.h"

#include <errno.h>

#define METHOD_NONE  0
#define CONNECT      1
#define ADDRESS_4    1
#define ADDRESS_NAME 3
#define ADDRESS_6    4

ssize_t socks_greeting(const unsigned char *data, size_t length)
{
    if (length >= 1 && data[0] != SOCKS_VERSION)
        return -EBADMSG;
    if (length < 2 || length < 2 + (size_t)data[1])
        return 0;
    return memchr(data + 2, METHOD_NONE, data[1]) ? 2 + (ssize_t)data[1] : -EBADMSG;
}

ssize_t socks_request(const unsigned char *data, size_t length, struct target *ret_target)
{
    size_t from = 4, bytes, end;
    uint16_t port;

    *ret_target = (struct target){0};
    if (length < 5)
        return length >= 1 && data[0] != SOCKS_VERSION ? -EBADMSG : 0;
    if (data[0] != SOCKS_VERSION || data[2] != 0)
        return -EBADMSG;
    if (data[3] == ADDRESS_4)
        bytes = 4;
    else if (data[3] == ADDRESS_6)
        bytes = 16;
    else if (data[3] == ADDRESS_NAME)
        bytes = data[from++];
    else
        return -EAFNOSUPPORT;
    end = from + bytes + 2;
    if (length < end)
        return 0;
    port = (uint16_t)(data[end - 2] << 8 | data[end - 1]);
    if (data[3] == ADDRESS_NAME) {
        if (!target_read((const char *)data + from, bytes, false, port, ret_target))
            return -EAFNOSUPPORT;
    } else {
        struct sockaddr_storage socket;
        struct address address = {.six = bytes == 16};

        memcpy(address.bytes, data + from, bytes);
        address_socket(&address, port, &socket);
        address_read((struct sockaddr *)&socket, &address); /* a mapped one becomes what it is */
        target_set(&address, port, ret_target);
    }
    if (data[1] != CONNECT)
        return -EOPNOTSUPP;
    return port ? (ssize_t)end : -EBADMSG;
}

void socks_reply(enum socks_answer answer, unsigned char *reply)
{
    memset(reply, 0, SOCKS_REPLY);
    reply[0] = SOCKS_VERSION;
    reply[1] = (unsigned char)answer;
    reply[3] = ADDRESS_4;
}
