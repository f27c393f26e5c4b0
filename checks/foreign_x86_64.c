/*
 * foreign_x86_64.c - the calls of 32-bit programs, by int 0x80: any program may.
 */
#include "attempt.h"
#include "foreign.h"
#include "network.h"

#include "links/kernel_abi.h"

#include <errno.h>
#include <string.h>

static long call_32(long number, long a, long b, long c, long d, long e)
{
    long result;

    __asm__ volatile("push %%rbp; mov %6, %%rbp; int $0x80; pop %%rbp" /* the sixth argument is not used */
                     : "=a"(result)
                     : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d), "r"((long)0), "D"(e)
                     : "memory", "r8", "r9", "r10", "r11");
    return result;
}

/* Memory that a 32-bit pointer reaches: this program is not moved. */
static struct sockaddr_in low_name;
static char low_mark[MARK_SIZE];
static uint32_t low_arguments[3];

/* What the calls point to. Return: whether they can. */
static bool fill_low(long port, const char *mark)
{
    low_name = (struct sockaddr_in){.sin_family = AF_INET,
                                    .sin_port = htons((uint16_t)port),
                                    .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    memcpy(low_mark, mark, MARK_SIZE);
    return !((uintptr_t)&low_name >> 32 | (uintptr_t)low_mark >> 32 | (uintptr_t)low_arguments >> 32);
}

int foreign_send(long port, const char *mark)
{
    long fd = call_32(359 /* socket */, AF_INET, SOCK_DGRAM, 0, 0, 0), result;

    if (fd < 0)
        return (int)-fd;
    if (!fill_low(port, mark))
        return ENOSYS;
    result = call_32(362 /* connect */, fd, KERNEL_PTR(&low_name), sizeof(low_name), 0, 0);
    if (result < 0)
        return (int)-result;
    result = call_32(4 /* write */, fd, KERNEL_PTR(low_mark), MARK_SIZE - 1, 0, 0);
    return result < 0 ? (int)-result : 0;
}

static int call_32_socket(int which, long a, long b, long c)
{
    low_arguments[0] = (uint32_t)a;
    low_arguments[1] = (uint32_t)b;
    low_arguments[2] = (uint32_t)c;
    return (int)call_32(102 /* socketcall */, which, KERNEL_PTR(low_arguments), 0, 0, 0);
}

int foreign_send_old(long port, const char *mark)
{
    bool low = fill_low(port, mark);
    int fd = low ? call_32_socket(1 /* socket */, AF_INET, SOCK_DGRAM, 0) : -ENOSYS, result;

    if (fd < 0)
        return -fd;
    result = call_32_socket(3 /* connect */, fd, KERNEL_PTR(&low_name), sizeof(low_name));
    if (result == 0)
        result = (int)call_32(4 /* write */, fd, KERNEL_PTR(low_mark), MARK_SIZE - 1, 0, 0);
    return result < 0 ? -result : 0;
}
