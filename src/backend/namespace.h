/*
 * namespace.h - what the files of the backend namespace share, and nobody else.
 */
#ifndef CONFINE_BACKEND_NAMESPACE_H
#define CONFINE_BACKEND_NAMESPACE_H

#include "backend/build.h"

/* Are there layers of Landlock behind the mounts? */
static inline bool has_landlock(const struct builder *b)
{
    return b->host->landlock_abi > 0;
}

/* Does the view put a directory of its own in this place, so that nothing of the host's is seen there? */
bool view_is_private(const char *path);

/* Is PATH seen inside as it is outside: not in a private place, or in a root that is put back there? */
bool view_shows(const struct builder *b, const char *path);

/* view_masks(), view_protects() - is the hidden object held by a mask; the protected path by a mount of its
 * own? */
bool view_masks(const struct builder *b, const struct hidden *hidden);
bool view_protects(const struct builder *b, const char *path);

/* namespace_chain.c: the words of the chain. */
void build_namespace_chain(struct builder *b);

/* namespace_claims.c: each claim together with the check that will show it. */
void build_namespace_claims(struct builder *b);

#endif
