/*
 * helper.h - programs of ours that work beside a run: the gateway, the look at the tree. Each is confined,
 * by our own links or by a wall of its own, before it reads a byte.
 */
#ifndef CONFINE_RUN_HELPER_H
#define CONFINE_RUN_HELPER_H

#include "policy/resolve.h"

#include <sys/types.h>

/* What a helper gets: nothing but this. */
struct helper {
    const char *program;      /* in libexec/confine, such as `confine-sweep` */
    const char *const *words; /* its own, NULL-terminated; NULL: none */
    const int *readable; /* O_PATH descriptors of what it may read; with `walled` its words say what else */
    size_t readable_count;
    const int *keep; /* descriptors that it has under their numbers, besides 0 to 2 */
    size_t keep_count;
    int standard[3];           /* what become 0, 1 and 2 */
    const char *const *opened; /* groups of the filter that stay open, NULL-terminated; NULL: none */
    bool walled;               /* it confines itself, to the descriptors that its words name */
    bool scoped;               /* Landlock can hold signals and abstract sockets here (ABI 6) */
    uid_t uid;                 /* whose it is, where the caller is root */
    gid_t gid;
};

/*
 * helper_start() - start one.
 * @resolved: its writable grants must not reach the program; NULL: not looked at
 *
 * Landlock, the filter and no capability stand around it, or it ends with 125 and a line on its 2.
 * Return: the pid, a child of the caller's; or -errno with @error: `missing-launcher`, `launcher-writable`,
 * `no-helper`.
 */
pid_t helper_start(const struct helper *helper, const struct resolved *resolved, struct error *error);

#endif
