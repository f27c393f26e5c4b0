/*
 * keyring.c - the session keyring as a command finds it, or leaves it to the next.
 *
 *     keyring
 *         prints its name, its rights, the keys in it, and whether one more is taken
 *
 *     keyring make NAME RIGHTS COMMAND [ARG]...
 *         joins the keyring NAME, puts a key in it, sets its rights (hexadecimal), and runs the rest
 *
 *     keyring bare NAME RIGHTS COMMAND [ARG]...
 *         the same without a key
 *
 *     keyring revoke
 *         gives it up: nobody finds it by its name any more
 *
 *     keyring fill COMMAND [ARG]...
 *         makes keys until the user's are used up, and runs the rest
 */
#include "../../links/kernel_abi.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEYCTL_REVOKE 3

static long call(long operation, const void *place, unsigned long value)
{
    return kernel_call(SYS_keyctl, operation, KEY_SPEC_SESSION_KEYRING, KERNEL_PTR(place), (long)value, 0, 0);
}

static long add(const char *name)
{
    return kernel_call(SYS_add_key, KERNEL_PTR("user"), KERNEL_PTR(name), KERNEL_PTR("x"), 1,
                       KEY_SPEC_SESSION_KEYRING, 0);
}

static int say(void)
{
    char text[256] = "";
    const char *rights, *name;
    char *end;
    long keys = call(KEYCTL_READ, NULL, 0), added;

    if (call(KEYCTL_DESCRIBE, text, sizeof(text)) < 0)
        return 99;
    name = strrchr(text, ';') + 1;
    text[name - text - 1] = '\0';
    rights = strrchr(text, ';') + 1;
    added = add("one-more");
    printf("%s %lx %ld %s\n", name, strtoul(rights, &end, 16), keys / 4,
           added > 0          ? "taken"
           : added == -EACCES ? "refused"
                              : strerror((int)-added));
    return 0;
}

static int make(char **rest, bool bare)
{
    if (kernel_call(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, KERNEL_PTR(rest[0]), 0, 0, 0, 0) < 0 ||
        (!bare && add("planted") < 0) ||
        kernel_call(SYS_keyctl, KEYCTL_SETPERM, KEY_SPEC_SESSION_KEYRING, (long)strtoul(rest[1], NULL, 16), 0,
                    0, 0) < 0)
        return 98;
    execvp(rest[2], rest + 2);
    return 99;
}

static int fill(char **rest)
{
    long added = 0;

    for (int i = 0; added >= 0 && i < 100000; i++) {
        char name[32];

        snprintf(name, sizeof(name), "filling-%d", i);
        added = add(name);
    }
    if (added != -EDQUOT)
        return 98;
    execvp(rest[0], rest);
    return 99;
}

int main(int argc, char **argv)
{
    if (argc == 1)
        return say();
    if (argc > 4 && strcmp(argv[1], "make") == 0)
        return make(argv + 2, false);
    if (argc > 4 && strcmp(argv[1], "bare") == 0)
        return make(argv + 2, true);
    if (argc == 2 && strcmp(argv[1], "revoke") == 0)
        return kernel_call(SYS_keyctl, KEYCTL_REVOKE, KEY_SPEC_SESSION_KEYRING, 0, 0, 0, 0) != 0;
    if (argc > 2 && strcmp(argv[1], "fill") == 0)
        return fill(argv + 2);
    return 97;
}
