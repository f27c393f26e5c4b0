/*
 * fuzz-hello.c - fuzz the reader of the first message of TLS.
 *
 * What the first bytes say is not taken back by those that follow, and a message says the same in whatever
 * records it comes.
 */
#include "network/client_hello.h"

#include <stdlib.h>

static void must(bool held, const char *what)
{
    if (!held) {
        fprintf(stderr, "hello: %s\n", what);
        abort();
    }
}

/* The same bytes in records of one byte, as long as they are handshake records. Return: their length. */
static size_t cut(const uint8_t *data, size_t size, unsigned char *to, size_t room)
{
    size_t at = 0, used = 0;

    while (at + 5 <= size && data[at] == 22 && data[at + 1] == 3) {
        size_t record = (size_t)data[at + 3] << 8 | data[at + 4];

        at += 5;
        for (; record > 0 && at < size && used + 6 <= room; record--) {
            memcpy(to + used, "\x16\3\1\0\1", 5);
            to[used + 5] = data[at++];
            used += 6;
        }
        if (record > 0)
            break;
    }
    return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned char records[HELLO_SIZE];
    char name[NAME_SIZE], other[NAME_SIZE], again[NAME_SIZE];
    int whole, pieces, looks = hello_looks(data, size);

    whole = hello_read(data, size, name);
    must(looks >= 0 || whole < 0, "it is read and does not look like it");
    for (size_t i = 0; i < size; i += 1 + i / 16) {
        unsigned char *copy = malloc(i ? i : 1);
        int early;

        must(copy != NULL, "no memory");
        memcpy(copy, data, i);
        early = hello_read(copy, i, other);
        must(early == 0 || (early == whole && strcmp(name, other) == 0), "what was said is taken back");
        free(copy);
    }
    must(name[0] == '\0' || (name_read(name, strlen(name), again) && strcmp(name, again) == 0),
         "a name that is not canonical");
    if (whole > 0) {
        pieces = hello_read(records, cut(data, size, records, sizeof(records)), other);
        must(pieces == 1 ? strcmp(name, other) == 0 : size * 6 > HELLO_SIZE,
             "in other records it is another");
    }
    return 0;
}
