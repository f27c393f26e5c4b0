/*
 * upstream.h - another proxy, through which everything goes (`--upstream
 * http://[USER:PASSWORD@]HOST[:PORT]`).
 *
 * It is asked for the name that was checked, and looks for its address itself: so the addresses of names are
 * not checked here, and what an internal name leads to is the proxy's affair. Addresses that were asked for
 * as such are checked.
 */
#ifndef CONFINE_NETWORK_UPSTREAM_H
#define CONFINE_NETWORK_UPSTREAM_H

#include "network/decide.h"

struct upstream {
    bool set;
    struct target target;     /* its own; no rule is needed for it */
    char authorization[1024]; /* a line of the head with its CRLF, or empty */
};

/* upstream_read() - Return: NULL, or what is wrong with @url. The password is not shown. */
const char *upstream_read(const char *url, struct upstream *ret_upstream);

/* upstream_connect() - the request for @target. */
void upstream_connect(const struct upstream *upstream, const struct target *target, struct text *text);

#endif
