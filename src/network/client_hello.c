/*
 * client_hello.c - see client_hello.h. The message is put together from its records first.
 */
#include "network/client_hello.h"

#include <errno.h>

#define RECORD_HANDSHAKE 22
#define RECORD_HEAD      5
#define CLIENT_HELLO     1
#define MESSAGE_HEAD     4
#define SERVER_NAME      0
#define HOST_NAME        0

/* What is left to read of the message. */
struct bytes {
    const unsigned char *at;
    size_t left;
};

int hello_looks(const unsigned char *data, size_t length)
{
    if (length >= 1 && data[0] != RECORD_HANDSHAKE)
        return -1;
    if (length >= 2 && data[1] != 3)
        return -1;
    return length >= 3;
}

static bool take(struct bytes *from, size_t length, struct bytes *ret_part)
{
    if (from->left < length)
        return false;
    *ret_part = (struct bytes){from->at, length};
    from->at += length;
    from->left -= length;
    return true;
}

/* A part with its length in front, of @size bytes. */
static bool take_part(struct bytes *from, size_t size, struct bytes *ret_part)
{
    struct bytes head;
    size_t length = 0;

    if (!take(from, size, &head))
        return false;
    for (size_t i = 0; i < size; i++)
        length = length << 8 | head.at[i];
    return take(from, length, ret_part);
}

/* The payloads of the records, one behind the other. Return: 1 when MESSAGE is whole; 0: it goes on;
 * -EBADMSG. */
static int join_records(const unsigned char *data, size_t length, unsigned char *message, size_t *ret_length)
{
    size_t at = 0, joined = 0, whole = 0;

    while (at < length) {
        size_t record, part;

        if (data[at] != RECORD_HANDSHAKE || (at + 1 < length && data[at + 1] != 3))
            return -EBADMSG;
        if (length - at < RECORD_HEAD)
            break;
        record = (size_t)data[at + 3] << 8 | data[at + 4];
        if (record == 0 || record > HELLO_SIZE)
            return -EBADMSG;
        at += RECORD_HEAD;
        part = record < length - at ? record : length - at;
        memcpy(message + joined, data + at, part);
        joined += part;
        at += part;
        if (joined >= 1 && message[0] != CLIENT_HELLO)
            return -EBADMSG;
        if (joined < MESSAGE_HEAD)
            continue;
        whole = MESSAGE_HEAD + ((size_t)message[1] << 16 | (size_t)message[2] << 8 | message[3]);
        if (whole > HELLO_SIZE)
            return -EBADMSG;
        if (joined >= whole) {
            *ret_length = whole;
            return 1;
        }
    }
    return length >= HELLO_SIZE ? -EBADMSG : 0;
}

/* The one host name of a server_name extension. */
static int read_server_name(struct bytes extension, char ret_name[NAME_SIZE])
{
    struct bytes list, type, name;

    if (!take_part(&extension, 2, &list) || extension.left || !take(&list, 1, &type) ||
        !take_part(&list, 2, &name) || list.left || type.at[0] != HOST_NAME ||
        !name_read((const char *)name.at, name.left, ret_name))
        return -EBADMSG;
    return 0;
}

int hello_read(const unsigned char *data, size_t length, char ret_name[NAME_SIZE])
{
    unsigned char message[HELLO_SIZE];
    struct bytes rest = {message, 0}, part, extensions, type;
    bool named = false;
    int whole = join_records(data, length < HELLO_SIZE ? length : HELLO_SIZE, message, &rest.left);

    ret_name[0] = '\0';
    if (whole <= 0)
        return whole;
    if (!take(&rest, MESSAGE_HEAD + 2 + 32, &part) || !take_part(&rest, 1, &part) || part.left > 32 ||
        !take_part(&rest, 2, &part) || !take_part(&rest, 1, &part))
        return -EBADMSG;
    if (rest.left == 0)
        return 1; /* as old as TLS 1.0: no extensions */
    if (!take_part(&rest, 2, &extensions) || rest.left)
        return -EBADMSG;
    while (extensions.left) {
        if (!take(&extensions, 2, &type) || !take_part(&extensions, 2, &part))
            return -EBADMSG;
        if (type.at[0] != 0 || type.at[1] != SERVER_NAME)
            continue;
        if (named || read_server_name(part, ret_name) != 0)
            return -EBADMSG;
        named = true;
    }
    return 1;
}
