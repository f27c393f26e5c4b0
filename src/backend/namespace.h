/*
 * namespace.h - what the files of the backend namespace share, and bubblewrap's, whose view is the same but
 * for what plan->foreign says.
 */
#ifndef CONFINE_BACKEND_NAMESPACE_H
#define CONFINE_BACKEND_NAMESPACE_H

#include "backend/build.h"

/* Are there layers of Landlock behind the mounts? They would refuse every mount of a sandbox inside. */
static inline bool has_landlock(const struct builder *b)
{
    return b->host->landlock_abi > 0 && !is_open(b, SURFACE_PRIV_USERNS);
}

/* Does the view put a directory of its own in this place, so that nothing of the host's is seen there? */
bool view_is_private(const char *path);

/* Is PATH seen inside as it is outside: not in a private place, or in a root that is put back there? */
bool view_shows(const struct builder *b, const char *path);

/* view_within() - is PATH this directory or below it? */
bool view_within(const char *path, const char *directory);

/* view_is_base_device() - a node that every fresh /dev has. */
bool view_is_base_device(const char *path);

/* view_refuse() - what no backend with a view can do: without /proc or filters, or opened as a whole. */
int view_refuse(const struct builder *b, struct error *error);

/* view_masks(), view_protects() - is the hidden object held by a mask; the protected path by a mount of its
 * own? */
bool view_masks(const struct builder *b, const struct hidden *hidden);
bool view_protects(const struct builder *b, const char *path);

/* namespace_chain.c: the words of the chain; and those behind the link that makes the view. */
void build_namespace_chain(struct builder *b);
void build_view_links(struct builder *b);

/* namespace_claims.c: each claim together with the check that will show it. */
void build_namespace_claims(struct builder *b);

#endif
