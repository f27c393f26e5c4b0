/*
 * landlock.h - what the files of the backend landlock share, and nobody else.
 */
#ifndef CONFINE_BACKEND_LANDLOCK_H
#define CONFINE_BACKEND_LANDLOCK_H

#include "backend/build.h"

/* AF_UNIX sockets are refused where no Landlock right tells them apart by path. */
static inline bool refuses_unix(const struct builder *b)
{
    return b->host->landlock_abi < ABI_UNIX && !is_open(b, SURFACE_UNIX_PATH) &&
           !is_open(b, SURFACE_UNIX_ABSTRACT);
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
