/*
 * handed.c - what weakens claims from outside the chain: descriptors that the caller hands to the command,
 * devices that are mounted where they cannot be taken out of what may be read.
 *
 * Should:  lower each surface that such a thing opens, whatever holds the rest of it.
 * Mustn't: refuse: a server of a socket unit, or a harness that gives a socket, is what the caller wants.
 */
#include "backend/backend.h"

#define ABI_SCOPES 6 /* from here on an abstract name outside is refused on any socket */
#define ABI_UNIX   9 /* and a pathname */

static void lower(struct plan *plan, const struct resolved *resolved, enum surface surface,
                  const char *reason)
{
    if (!resolved->open[surface])
        plan_lower(plan, surface, reason);
}

static void lower_sockets(const struct resolved *resolved, const struct host *host,
                          const struct handed *handed, const char *reason, struct plan *plan)
{
    const struct {
        bool given;
        enum surface surface;
    } rows[] = {
        {handed->tcp, SURFACE_NET_TCP},
        {handed->udp, SURFACE_NET_UDP},
        {handed->other, SURFACE_NET_OTHER},
        {handed->unix_name && host->landlock_abi < ABI_UNIX, SURFACE_UNIX_PATH},
        {handed->unix_name && host->landlock_abi < ABI_SCOPES, SURFACE_UNIX_ABSTRACT},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (rows[i].given)
            lower(plan, resolved, rows[i].surface, reason);
}

void backend_lower_handed(const struct resolved *resolved, const struct host *host, struct plan *plan)
{
    static const enum surface terminal[] = {SURFACE_TTY_READ, SURFACE_TTY_INJECT, SURFACE_TTY_STATE};

    lower_sockets(resolved, host, &host->standard, "socket-on-0-2", plan);
    lower_sockets(resolved, host, &resolved->passed, "socket-passed", plan);
    for (size_t i = 0; i < ARRAY_SIZE(terminal); i++)
        if (resolved->passed.terminal)
            lower(plan, resolved, terminal[i], "terminal-passed");
        else if (resolved->terminal_granted)
            lower(plan, resolved, terminal[i], "terminal-granted");
        else if (resolved->devices_elsewhere)
            lower(plan, resolved, terminal[i], "devices-elsewhere");
    if (resolved->devices_elsewhere)
        lower(plan, resolved, SURFACE_FS_DEVICE, "devices-elsewhere");
}
