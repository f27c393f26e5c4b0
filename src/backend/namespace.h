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

/* view_is_inner() - does the root @path lie in another one? The outermost is a mount, and the others with it.
 */
bool view_is_inner(const struct builder *b, const struct resolved_path *path);

/* view_within() - is PATH this directory or below it? */
bool view_within(const char *path, const char *directory);

/* view_is_base_device() - a node that every fresh /dev has. */
bool view_is_base_device(const char *path);

/* view_masks_proc() - is a mask laid on this mount of procfs? */
bool view_masks_proc(const struct builder *b, const char *path);

/* view_refuse() - what no backend with a view can do: without /proc or filters, or opened as a whole. */
int view_refuse(const struct builder *b, struct error *error);

/* view_protects() - is the protected path of this index held by a mount of its own? */
bool view_protects(const struct builder *b, size_t index);

/* --- namespace_hidden.c: what is hidden --- */

/* How a hidden path is held. */
enum view_hold {
    VIEW_HOLD_NONE = 0, /* it is seen */
    VIEW_HOLD_MASK,     /* an empty object lies on it or on what it is in, until that is replaced outside */
    VIEW_HOLD_AROUND,   /* it is in a masked directory that keeps the way to something else: it has no name */
    VIEW_HOLD_NAME,     /* it, or what it is in, has no name, whatever happens outside */
    VIEW_HOLD_UNSEEN,   /* it lies where the view is private */
};

/*
 * view_know() - find out once what is asked of the hidden paths again and again: each question alone would
 * look at all of them. To be called before any of the questions below.
 *
 * Return: 0, or -ENOMEM. What it allocates is given back by view_forget().
 */
int view_know(struct builder *b);
void view_forget(struct builder *b);

enum view_hold view_holds(const struct builder *b, const struct hidden *hidden);

/* view_brings() - is there in the view what is outside where PATH is: as it is there, or bound into a private
 * place? */
bool view_brings(const struct builder *b, const char *path);

/* view_sees() - the same, or something of the view's own. */
bool view_sees(const struct builder *b, const char *path);

/* view_hides() - is PATH in something hidden, and in nothing of that which is granted or shown? */
bool view_hides(const struct builder *b, const char *path);

/* view_masks() - may a mask be laid on it? view_keeps() - is something in it granted or shown, which the mask
 * keeps the way to? view_puts_back() - is @path such a thing? */
bool view_masks(const struct builder *b, const struct hidden *hidden);
bool view_keeps(const struct builder *b, const struct hidden *hidden);
bool view_puts_back(const struct builder *b, const char *path);

/* view_unheld() - why it is not held. Static. */
const char *view_unheld(const struct builder *b, const struct hidden *hidden);

/* build_hidden() - the words of namespace-run. */
void build_hidden(struct builder *b);

/* namespace_chain.c: the words of the chain; and those behind the link that makes the view. */
void build_namespace_chain(struct builder *b);
void build_view_links(struct builder *b);

/* namespace_claims.c: each claim together with the check that will show it. */
void build_namespace_claims(struct builder *b);

#endif
