/*
 * output.c - what the battery says: one JSON object a line, for `confine check` to judge.
 *
 * Should:  escape every text.
 * Mustn't: judge.
 */
#include "battery.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static void print_text(const char *key, const char *text)
{
    printf("\"%s\":", key);
    if (!text) {
        printf("null");
        return;
    }
    putchar('"');
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == '"' || *text == '\\')
            printf("\\u%04x", (unsigned char)*text);
        else
            putchar(*text);
    putchar('"');
}

#define NAME(number)                                                                                         \
    {                                                                                                        \
        number, #number                                                                                      \
    }

static const char *errno_name(int errnum, char *buffer, size_t size)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {
        NAME(EPERM),         NAME(ENOENT),          NAME(ESRCH),        NAME(EINTR),
        NAME(EIO),           NAME(ENXIO),           NAME(E2BIG),        NAME(EBADF),
        NAME(EAGAIN),        NAME(ENOMEM),          NAME(EACCES),       NAME(EFAULT),
        NAME(EBUSY),         NAME(EEXIST),          NAME(EXDEV),        NAME(ENODEV),
        NAME(ENOTDIR),       NAME(EISDIR),          NAME(EINVAL),       NAME(EMFILE),
        NAME(ENOTTY),        NAME(ETXTBSY),         NAME(EFBIG),        NAME(ENOSPC),
        NAME(EROFS),         NAME(EMLINK),          NAME(EPIPE),        NAME(ENOSYS),
        NAME(ELOOP),         NAME(ENOTSOCK),        NAME(EOPNOTSUPP),   NAME(EAFNOSUPPORT),
        NAME(ENETUNREACH),   NAME(ECONNREFUSED),    NAME(ETIMEDOUT),    NAME(EHOSTUNREACH),
        NAME(EINPROGRESS),   NAME(EPROTONOSUPPORT), NAME(ENOKEY),       NAME(EDQUOT),
        NAME(EIDRM),         NAME(ENODATA),         NAME(EDESTADDRREQ), NAME(ENOTCONN),
        NAME(EADDRNOTAVAIL), NAME(ENOPROTOOPT),     NAME(ENOTEMPTY),    NAME(EISCONN),
        NAME(ECANCELED),     NAME(ENOLINK),         NAME(ECONNRESET),   NAME(ECONNABORTED),
        NAME(EPROTO),
    };

    for (size_t i = 0; i < ITEMS(names); i++)
        if (names[i].number == errnum)
            return names[i].name;
    snprintf(buffer, size, "E%d", errnum);
    return buffer;
}

static void print_attempt(const struct attempt *attempt)
{
    print_text("id", attempt->id);
    putchar(',');
    print_text("surface", surface_table[attempt->surface].name);
    putchar(',');
    print_text("call", attempt->call);
    putchar(',');
    print_text("what", attempt->what);
    putchar(',');
    print_text("why", attempt->why);
}

void output_list(void)
{
    for (const struct attempt_group *group = attempt_groups; group->name; group++)
        for (const struct attempt *attempt = group->attempts; attempt->id; attempt++) {
            printf("{\"type\":\"listed\",");
            print_text("group", group->name);
            putchar(',');
            print_attempt(attempt);
            printf("}\n");
        }
}

void output_attempt(const struct attempt *attempt, const char *verdict, const char *reason, const char *claim,
                    const struct trial *trial)
{
    char buffer[16];

    printf("{\"type\":\"attempt\",");
    print_attempt(attempt);
    putchar(',');
    print_text("verdict", verdict);
    putchar(',');
    print_text("errno", trial && trial->answer.errnum
                            ? errno_name(trial->answer.errnum, buffer, sizeof(buffer))
                            : NULL);
    printf(",\"signal\":%d,", trial ? trial->answer.signal : 0);
    print_text("reason", reason);
    if (claim) {
        putchar(',');
        print_text("claim", claim);
    }
    printf("}\n");
    fflush(stdout);
}

void output_run(int status, const char *report, size_t length)
{
    printf("{\"type\":\"run\",\"status\":%d,\"report\":", status);
    if (length == 0)
        printf("null");
    for (size_t i = 0; i < length; i++) /* a line end in JSON is always between two values */
        putchar(report[i] == '\n' ? ' ' : report[i]);
    printf("}\n");
    fflush(stdout);
}
