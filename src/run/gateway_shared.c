/*
 * gateway_shared.c - the gateway of a session, as one of its runs hears it.
 *
 * Theory of operation. One gateway serves all runs of a session, and a connection says nothing of the run
 * that it came from: the address is the session's, and whoever it belongs to may live on behind a run. So a
 * run hears of all that comes while it is there; the keeper passes on what the gateway says about
 * connections, and nothing else. Whether it is this run's, only the time says, and the report says so
 * (`shared`).
 *
 * Should:  hear, at the end, what the gateway has only counted so far.
 * Mustn't: end the run when nothing more can be heard, or let it change what other runs reach.
 */
#include "run/gateway.h"

#include <errno.h>
#include <string.h>

int gateway_share(struct gateway *gateway, const struct plan *plan, const struct resolved *resolved,
                  struct report *report)
{
    const struct session *session = resolved->session;

    if (!session || session->told < 0)
        return 0;
    gateway->plan = plan;
    gateway->resolved = resolved;
    gateway->report = report;
    gateway->shared = true;
    gateway->fd = fd_copy(session->told, 3);
    if (gateway->fd >= 0)
        return 0;
    return error_set(&report->error, ERROR_SANDBOX_UNAVAILABLE, errno, "session-silent",
                     "session %s: its keeper cannot be heard: %s", session->name, strerror(errno));
}

static int allow_rule(void *self, const char *rule, struct error *error)
{
    const struct gateway *gateway = self;
    const char *name = gateway->resolved->session->name;

    error_set(error, ERROR_USAGE, EPERM, "session-decides",
              "allow: what session %s reaches was decided when it was started, for all of its runs", name);
    return error_hint(error, "confine session end %s, and confine session start %s with --allow %s", name,
                      name, rule);
}

static void end_hearing(void *self)
{
    struct gateway *gateway = self;

    gateway->told = false;
    /* The word that asks for it is any. */
    if (gateway->fd < 0 || channel_send(gateway->fd, "t", 1, NULL, 0) < 0 ||
        !gateway_await(gateway, &gateway->told))
        strings_add(&gateway->report->warnings,
                    "session-silent: not all was heard of the session's network; the connections in the "
                    "report may not be all");
    gateway_stop_hearing(gateway);
}

const struct part_calls gateway_shared_part = {
    .start = gateway_start_hearing, .go = gateway_go_hearing, .allow = allow_rule, .end = end_hearing};
