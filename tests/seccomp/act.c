/*
 * act.c - makes one system call and says how it was answered: its errno, or 0.
 *
 * act native|x32|i386|arm32 NUMBER ARG*6. i386 enters by int 0x80, as any 64-bit
 * program may; x32 sets bit 30 of the number; arm32 is a program of 32 bits, whose
 * errnos are below 256.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
static long call_i386(long nr, const long *a)
{
    long answer;

    __asm__ volatile("int $0x80"
                     : "=a"(answer)
                     : "a"(nr), "b"(a[0]), "c"(a[1]), "d"(a[2]), "S"(a[3]), "D"(a[4])
                     : "memory", "r8", "r9", "r10", "r11");
    return answer;
}
#endif

#if defined(__aarch64__)
#include "../../checks/arm32.h"

static long call_arm32(long nr, const long *a)
{
    uint32_t code[] = {
        0xe59f002c,     0xe59f102c,     0xe59f202c,     0xe59f302c,
        0xe59f402c,     0xe59f502c, /* r0 to r5 = [13] to [18] */
        0xe59f7010,     0xef000000,     0xe2600000,     0xe3a07001,
        0xef000000,     ARM32_UDF, /* exit(errno), or stop */
        (uint32_t)nr,   (uint32_t)a[0], (uint32_t)a[1], (uint32_t)a[2],
        (uint32_t)a[3], (uint32_t)a[4], (uint32_t)a[5],
    };
    int answer = arm32_run(code, sizeof(code) / sizeof(*code));

    return answer == ENOEXEC ? -ENOSYS : -answer;
}
#endif

int main(int argc, char **argv)
{
    long a[6], nr, answer;

    if (argc != 9)
        return 2;
    nr = strtol(argv[2], NULL, 0);
    for (int i = 0; i < 6; i++)
        a[i] = (long)strtoull(argv[3 + i], NULL, 0);
    if (strcmp(argv[1], "x32") == 0)
        nr |= 0x40000000;
#if defined(__x86_64__)
    if (strcmp(argv[1], "i386") == 0) {
        answer = call_i386(nr, a);
        errno = answer < 0 ? (int)-answer : 0;
        answer = answer < 0 ? -1 : answer;
    } else
#elif defined(__aarch64__)
    if (strcmp(argv[1], "arm32") == 0) {
        answer = call_arm32(nr, a);
        errno = answer < 0 ? (int)-answer : 0;
        answer = answer < 0 ? -1 : answer;
    } else
#endif
        answer = syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
    printf("%d\n", answer == -1 ? errno : 0);
    return fflush(stdout) == 0 ? 0 : 2;
}
