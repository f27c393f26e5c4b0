/*
 * namespace-words.h - what of namespace-run reads its words, as one file. The rest of it is linked, and never
 * reached.
 */
#include "links/namespace-run.c"
#include "links/namespace_items.c"
#include "links/namespace_join.c"
#include "links/namespace_net.c"
#include "links/namespace_store.c"
