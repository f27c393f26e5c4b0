/*
 * confine_mode.c - which mode is in force for one call.
 *
 * Should:  need nothing but its arguments, so that a harness can decide before it asks anybody or starts
 *          anything.
 * Mustn't: take an approval for more than it is: one that widens nothing is a mistake of the caller's, and
 *          what a person said yes to would not be what happens.
 */
#include "confine.h"

#include <stddef.h>
#include <string.h>

/* From the narrowest to the widest. */
static const char *const modes[] = {"read-only", "workspace-write", "danger-full-access"};

#define MODE_COUNT ((int)(sizeof(modes) / sizeof(modes[0])))

/* Return: its place among the modes, -1: no mode has that name. */
static int find_mode(const char *name)
{
    int i = MODE_COUNT - 1;

    while (i >= 0 && strcmp(modes[i], name) != 0)
        i--;
    return i;
}

int confine_effective_mode(const char *approved, const char *session, const char *deployment,
                           const char **ret_mode, const char **ret_from)
{
    const char *const asked[] = {deployment, session, approved};
    static const char *const from[] = {"default", "session", "approved"};
    const int usual = session ? 1 : 0, by = approved ? 2 : usual;
    int mode[3] = {0};

    if (!ret_mode || !ret_from)
        return CONFINE_E_ARGUMENT;
    *ret_mode = *ret_from = NULL;
    for (int i = 0; i < 3; i++) { /* a name that is wrong is wrong also where another one wins */
        mode[i] = asked[i] ? find_mode(asked[i]) : 0;
        if (mode[i] < 0)
            return CONFINE_E_ARGUMENT;
    }
    if (approved && mode[by] <= mode[usual])
        return CONFINE_E_REFUSED;
    *ret_mode = modes[mode[by]];
    *ret_from = from[by];
    return CONFINE_OK;
}
