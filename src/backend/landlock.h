/*
 * landlock.h - what the files of the backend landlock share, and nobody else.
 */
#ifndef CONFINE_BACKEND_LANDLOCK_H
#define CONFINE_BACKEND_LANDLOCK_H

#include "backend/backend.h"

/* The ABI that brought what the plan asks for. */
#define ABI_TRUNCATE 3
#define ABI_TCP      4
#define ABI_SCOPES   6
#define ABI_UNIX     9
#define ABI_UDP      10

struct builder {
    const struct resolved *resolved;
    const struct host *host;
    struct plan *plan;
    bool supervised;
    int failed; /* the first error, 0 if none */
};

static inline bool is_open(const struct builder *b, enum surface surface)
{
    return b->resolved->open[surface];
}

/* AF_UNIX sockets are refused where no Landlock right tells them apart by path. */
static inline bool refuses_unix(const struct builder *b)
{
    return b->host->landlock_abi < ABI_UNIX && !is_open(b, SURFACE_UNIX_PATH) &&
           !is_open(b, SURFACE_UNIX_ABSTRACT);
}

static inline bool cuts_network(const struct builder *b)
{
    return b->resolved->policy->network == NETWORK_NONE;
}

static inline bool has_guard(const struct builder *b)
{
    return b->supervised && b->host->landlock_abi >= ABI_SCOPES && !is_open(b, SURFACE_PROC_SIGNAL);
}

/* landlock_chain.c: the words of the chain. */
void build_chain(struct builder *b);

/* landlock_claims.c: each claim together with the check that will show it. */
void build_claims(struct builder *b);

#endif
