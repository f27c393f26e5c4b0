/*
 * capability.h - giving up capabilities, and every way to get one back.
 *
 * Should:  read back each set; leave uid 0 with an exec that is one like any
 *          other's.
 * Mustn't: fail an ordinary uid for lack of CAP_SETPCAP (no_new_privs holds it:
 *          an exec gains nothing).
 */
#ifndef CONFINE_LINKS_CAPABILITY_H
#define CONFINE_LINKS_CAPABILITY_H

#include "chain.h"
#include "kernel_abi.h"

#define CAPABILITIES_MAX 64 /* the two words that version 3 has */
#define SETPCAP          8  /* CAP_SETPCAP */

/* Each with its lock, so that it cannot be taken back; KEEP_CAPS is locked off. */
#define WANTED_SECUREBITS                                                                                    \
    (SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |         \
     SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

/* Is any of the three user ids root's? An exec looks at all of them. Unreadable counts as root. */
static inline bool capability_is_root(void)
{
    uint32_t real = 0, effective = 0, saved = 0;

    if (kernel_call(SYS_getresuid, KERNEL_PTR(&real), KERNEL_PTR(&effective), KERNEL_PTR(&saved), 0, 0, 0) !=
        0)
        return true;
    return real == 0 || effective == 0 || saved == 0;
}

static inline int capability_get(struct capability_data data[2])
{
    struct capability_header header = {.version = CAPABILITY_VERSION_3};

    memset(data, 0xff, 2 * sizeof(*data)); /* an answer that nobody wrote reads as all of them */
    return (int)kernel_call(SYS_capget, KERNEL_PTR(&header), KERNEL_PTR(data), 0, 0, 0, 0);
}

/* Whether there is anything to gain from the bounding set: an ordinary uid without CAP_SETPCAP would only be
 * refused, 120 times. */
static inline bool capability_can_drop_bounding(void)
{
    struct capability_data data[2];

    return capability_is_root() || capability_get(data) != 0 || (data[0].effective & (1U << SETPCAP));
}

/* Does the kernel have no such capability? Asked twice: the loop must not end because of one answer. */
static inline bool is_past_last_capability(int capability)
{
    return prctl(PR_CAPBSET_READ, capability, 0, 0, 0) < 0 && errno == EINVAL;
}

/* Drops what may be dropped of the bounding set, also what is said not to be in it. Return: how many are
 * left.
 */
static inline int capability_drop_bounding(const struct chain *chain)
{
    int left = 0;

    for (int capability = 0;; capability++) {
        int dropped = prctl(PR_CAPBSET_DROP, capability, 0, 0, 0), why = errno;
        int held = prctl(PR_CAPBSET_READ, capability, 0, 0, 0);

        if (held < 0 && errno == EINVAL && capability > 0 && is_past_last_capability(capability))
            return left;
        if (held < 0)
            chain_fatal_errno(chain, "bounding set", errno);
        if (capability == CAPABILITIES_MAX)
            chain_fatal(chain, "bounding set", "the kernel reports more capabilities than there can be");
        if (dropped != 0 && why != EPERM)
            chain_fatal_errno(chain, "bounding set", why);
        if (held != 0 && dropped == 0)
            chain_fatal(chain, "bounding set", "the kernel reported success but dropped nothing");
        left += held != 0;
    }
}

/* Return: whether an exec by uid 0 is one like any other's from now on. */
static inline bool capability_set_securebits(const struct chain *chain)
{
    int before = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0), after;

    if (before < 0)
        chain_fatal_errno(chain, "securebits", errno);
    if (prctl(PR_SET_SECUREBITS, (before | WANTED_SECUREBITS) & ~SECBIT_KEEP_CAPS, 0, 0, 0) != 0 &&
        errno != EPERM)
        chain_fatal_errno(chain, "securebits", errno);
    after = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
    return after >= 0 && (after & WANTED_SECUREBITS) == WANTED_SECUREBITS && !(after & SECBIT_KEEP_CAPS);
}

static inline int capability_set(const struct capability_data data[2])
{
    struct capability_header header = {.version = CAPABILITY_VERSION_3};

    return (int)kernel_call(SYS_capset, KERNEL_PTR(&header), KERNEL_PTR(data), 0, 0, 0, 0);
}

/* Every set is empty, and stays so: what was not given up would be regained here. */
static inline void capability_check(const struct chain *chain)
{
    struct capability_data seen[2], one[2] = {{.permitted = 1}, {0}};
    int error = capability_get(seen);

    if (error)
        chain_fatal_errno(chain, "capget", -error);
    for (size_t i = 0; i < 2; i++)
        if (seen[i].effective || seen[i].permitted || seen[i].inheritable)
            chain_fatal(chain, "capabilities", "the kernel reported success but some are left");
    if (capability_set(one) != -EPERM)
        chain_fatal(chain, "capabilities", "one could be regained");
    /* The ambient set is empty as well: the kernel holds it within the permitted and the inheritable one. */
}

/*
 * capability_drop_all() - no_new_privs must be set already; then every set is emptied, for good.
 *
 * Ends the link where that cannot be done or does not show.
 */
static inline void capability_drop_all(const struct chain *chain)
{
    const struct capability_data nothing[2] = {{0}, {0}};
    bool plain;
    int left, error;

    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
        chain_fatal_errno(chain, "ambient set", errno);
    left = capability_can_drop_bounding() ? capability_drop_bounding(chain) : 0;
    plain = capability_set_securebits(chain);
    if (left > 0 && !plain && capability_is_root())
        chain_fatal(chain, "securebits",
                    "cannot be set without CAP_SETPCAP, and an exec by uid 0 could regain capabilities");
    error = capability_set(nothing);
    if (error)
        chain_fatal_errno(chain, "capset", -error);
    capability_check(chain);
}

#endif
