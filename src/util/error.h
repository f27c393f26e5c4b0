/*
 * error.h - the one error object: caller-owned, of fixed size, filled without allocation.
 *
 * Functions return 0 or a negative errno. The text stands here: what, why, and the way out. An error is set
 * once, where it happens, and forwarded untouched.
 */
#ifndef CONFINE_UTIL_ERROR_H
#define CONFINE_UTIL_ERROR_H

#include <stdbool.h>
#include <stddef.h>

enum error_code {
    ERROR_NONE = 0,
    ERROR_SANDBOX_UNAVAILABLE, /* asked for and cannot be enforced */
    ERROR_ATTESTATION_FAILED,  /* a boundary that was set up does not hold */
    ERROR_POLICY_INVALID,
    ERROR_COMMAND_NOT_FOUND,
    ERROR_COMMAND_NOT_EXECUTABLE,
    ERROR_USAGE,
    ERROR_INTERNAL,
    ERROR_FS_SANDBOX_DENIED, /* what a fence refused to open */
    ERROR_COUNT
};

struct error {
    enum error_code code;
    int errnum;         /* errno behind it, 0 if none */
    char reason[48];    /* kebab-case word: `no-landlock`, `launcher-writable`, … */
    char surface[24];   /* the surface concerned, empty if none */
    char message[1024]; /* what and why; names from outside are quoted and escaped */
    char hint[512];     /* the way out, empty if there is none */
    bool structural; /* this machine cannot, today and tomorrow: another backend may be tried. False where it
                        may have been an accident, or somebody's doing. error_set() clears it */
};

/* error_name() - the public name of @code, `SANDBOX_UNAVAILABLE` and so on. */
const char *error_name(enum error_code code);

/*
 * error_set() - fill @error.
 * @errnum: errno behind it or 0
 * @reason: kebab-case word
 *
 * Return: -@errnum, or -EINVAL when @errnum is 0, for `return error_set(…)`.
 */
__attribute__((format(printf, 5, 6))) int error_set(struct error *error, enum error_code code, int errnum,
                                                    const char *reason, const char *format, ...);

/* error_hint() - add the way out to an error that is set. Return: -errnum or -EINVAL, as error_set(). */
__attribute__((format(printf, 2, 3))) int error_hint(struct error *error, const char *format, ...);

/* error_surface() - name the surface concerned. Return: as error_set(). */
int error_surface(struct error *error, const char *surface);

/* error_spent() - the way out where processes or open files have run out. Return: static; NULL: @errnum does
 * not say that. */
const char *error_spent(int errnum);

/* error_no_memory() - the error of a failed allocation. Return: -ENOMEM. */
int error_no_memory(struct error *error);

#endif
