/*
 * keyring.h - leave the caller's session keyring.
 *
 * Theory of operation. A keyring counts against its user's quota, 200 keys for all that the user runs: with
 * one for each start, some hundred commands at once would be refused, and so would the user's next login. So
 * all of a user's share one. It is empty, and its rights let nobody write to it, link to it or change them,
 * which makes it as good as one of its own.
 *
 * Should:  end in a keyring of which nothing of the caller's can be reached.
 * Mustn't: take one by its name. It is the user's, has these rights and is empty, as it is seen from inside
 * it; else one of its own is made. Another user's is found by that name as well where he lets everybody in,
 * and root could set its rights; but what he has begun to do to it before goes on.
 */
#ifndef CONFINE_LINKS_KEYRING_H
#define CONFINE_LINKS_KEYRING_H

#include "chain.h"
#include "kernel_abi.h"

#define KEYRING_NAME    "confine.empty"
#define KEYRING_DETAILS 128 /* bytes; a description that is longer is another keyring's */

/* Who has it, and its user, may see it, read what is in it and search it. */
#define KEYRING_RIGHTS 0x0b0b0000U

static inline long keyring_call(long operation, const void *place, size_t size)
{
    return kernel_call(SYS_keyctl, operation, KEY_SPEC_SESSION_KEYRING, KERNEL_PTR(place), (long)size, 0, 0);
}

/* A number of the kernel's before a `;`. One below 0 is none. Return: what stands behind that, or NULL. */
static inline const char *keyring_number(const char *text, uint32_t base, uint32_t *value)
{
    static const char digits[] = "0123456789abcdef";

    for (*value = 0; *text && *text != ';'; text++) {
        const char *digit = strchr(digits, *text);

        if (!digit || digit - digits >= (ptrdiff_t)base)
            return NULL;
        *value = *value * base + (uint32_t)(digit - digits);
    }
    return *text == ';' ? text + 1 : NULL;
}

/* Of the session keyring as it is now. Return: 0 where it is another than the one we joined, or another's. */
static inline uint32_t keyring_rights(void)
{
    static const char type[] = "keyring;";
    char text[KEYRING_DETAILS] = ""; /* type;user;group;rights;name */
    long length = keyring_call(KEYCTL_DESCRIBE, text, sizeof(text));
    const char *rest = text + sizeof(type) - 1;
    uint32_t user = 0, group = 0, rights = 0;

    if (length <= 0 || (size_t)length > sizeof(text) || text[length - 1] != '\0' ||
        strncmp(text, type, sizeof(type) - 1) != 0)
        return 0;
    rest = keyring_number(rest, 10, &user);
    rest = rest ? keyring_number(rest, 10, &group) : NULL;
    rest = rest ? keyring_number(rest, 16, &rights) : NULL;
    return rest && user == getuid() && strcmp(rest, KEYRING_NAME) == 0 ? rights : 0;
}

/* Into the one that the user's commands have in common, which is made where there is none. Return: whether it
 * is one of that kind, and empty. Which of the user's programs made it does not matter then. */
static inline bool keyring_share(void)
{
    uint32_t rights, number;

    if (kernel_call(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, KERNEL_PTR(KEYRING_NAME), 0, 0, 0, 0) < 0)
        return false;
    rights = keyring_rights();
    if (rights != 0 && rights != KEYRING_RIGHTS &&
        kernel_call(SYS_keyctl, KEYCTL_SETPERM, KEY_SPEC_SESSION_KEYRING, KEYRING_RIGHTS, 0, 0, 0) == 0)
        rights = keyring_rights();
    return rights == KEYRING_RIGHTS && keyring_call(KEYCTL_READ, &number, sizeof(number)) == 0;
}

/*
 * keyring_leave() - out of the caller's. @own: into one of its own, that it may write to.
 *
 * Where there are no keys (ENOSYS) there is nothing to leave behind; where a container's filter refuses the
 * call (EPERM), it refuses it to the command as well, whose own filter does so in every set.
 */
static inline void keyring_leave(const struct chain *chain, bool own)
{
    long serial;

    if (!own && keyring_share())
        return;
    serial = kernel_call(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0, 0);
    if (serial == -ENOSYS || serial == -EPERM)
        return;
    if (serial == -EDQUOT)
        chain_fatal(chain, "session keyring",
                    "this user's keys are used up (/proc/key-users; sysctl kernel.keys.maxkeys)");
    if (serial < 0)
        chain_fatal_errno(chain, "session keyring", (int)-serial);
    if (keyring_call(KEYCTL_GET_KEYRING_ID, NULL, 0) != serial)
        chain_fatal(chain, "session keyring", "the kernel reported success but the keyring is another");
}

#endif
