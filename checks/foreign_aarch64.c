/*
 * foreign_aarch64.c - the calls of 32-bit programs, by one: on arm64 only a program that is one makes them.
 */
#include "arm32.h"
#include "attempt.h"
#include "foreign.h"
#include "network.h"

int foreign_send(long port, const char *mark)
{
    enum { SIZE = 29, NAME, MARK = NAME + 4, WORDS = MARK + (MARK_SIZE + 3) / 4 };
    static const uint32_t send[] = {
        0xe3a00002, 0xe3a01002, 0xe3a02000,                         /* socket(AF_INET, SOCK_DGRAM, 0) */
        0xe59f7058, 0xef000000, 0xe3500000, 0xba00000f, 0xe1a04000, /* r7 = [27]; a failure goes to [23] */
        0xe28f1050, 0xe3a02010, 0xe59f7040, 0xef000000, 0xe3500000, /* connect(fd, [30], 16); r7 = [28] */
        0xba000008, 0xe1a00004, 0xe28f1044, 0xe59f202c, 0xe3a07004, /* write(fd, [34], [29]) */
        0xef000000, 0xe3500000, 0xba000001, 0xe3a00000, 0xea000000, /* exit(0) */
        0xe2600000, 0xe3a07001, 0xef000000, ARM32_UDF,              /* [23]: exit(errno), or stop */
        281,        283,                                            /* socket, connect */
    };
    struct sockaddr_in name = {.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)port),
                               .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    uint32_t code[WORDS] = {0};

    _Static_assert(sizeof(send) == SIZE * sizeof(*send) && WORDS <= ARM32_WORDS,
                   "what the instructions name");
    memcpy(code, send, sizeof(send));
    code[SIZE] = MARK_SIZE - 1;
    memcpy(code + NAME, &name, sizeof(name));
    memcpy(code + MARK, mark, MARK_SIZE);
    return arm32_run(code, WORDS);
}
