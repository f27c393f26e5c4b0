/*
 * gateway_shared.c - the gateway of a session, as one of its runs hears it.
 *
 * Theory of operation. One gateway serves all runs of a session, and a connection says nothing of the run
 * that it came from: the address is the session's, and whoever it belongs to may live on behind a run. So a
 * run hears of all that comes while it is there; the keeper passes on what the gateway says about
 * connections and rules that are added, and nothing else. Whether it is this run's, only the time says, and
 * the report says so (`shared`).
 *
 * Should:  hear, at the end, what the gateway has only counted so far.
 * Mustn't: end the run when nothing more can be heard.
 */
#include "run/gateway.h"

#include "run/session_wire.h"

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
    if (session->lost && strings_addf(&report->warnings,
                                      "session-ports: what publishes ports of session %s has ended: none is "
                                      "reached, and no rule can be added, until it is started anew",
                                      session->name) < 0)
        return error_no_memory(&report->error);
    gateway->fd = fd_copy(session->told, 3);
    if (gateway->fd >= 0)
        return 0;
    return error_set(&report->error, ERROR_SANDBOX_UNAVAILABLE, errno, "session-silent",
                     "session %s: its keeper cannot be heard: %s", session->name, strerror(errno));
}

/* For all runs of the session: the gateway is theirs. */
static int allow_rule(void *self, const char *rule, struct error *error)
{
    struct gateway *gateway = self;
    struct text word = {0};
    int r = gateway_may_allow(gateway, error);

    if (r < 0)
        return r;
    text_addf(&word, "%c%s", SESSION_WORD_ALLOW, rule);
    r = word.failed || strings_add(&gateway->asked, rule) < 0 ? -ENOMEM
        : word.length > SESSION_WORD_MOST                     ? -EMSGSIZE
        : gateway->fd < 0                                     ? -ECONNRESET
                          : channel_send(gateway->fd, word.data, word.length, NULL, 0);
    text_free(&word);
    if (r >= 0)
        return 0;
    return error_set(error, ERROR_SANDBOX_UNAVAILABLE, -r, "session-silent",
                     "allow: the keeper of session %s cannot be told: %s", gateway->resolved->session->name,
                     strerror(-r));
}

static void end_hearing(void *self)
{
    const char word = SESSION_WORD_TELL;
    struct gateway *gateway = self;

    gateway->told = false;
    if (gateway->fd < 0 || channel_send(gateway->fd, &word, sizeof(word), NULL, 0) < 0 ||
        !gateway_await(gateway, &gateway->told))
        strings_add(&gateway->report->warnings,
                    "session-silent: not all was heard of the session's network; the connections in the "
                    "report may not be all");
    gateway_stop_hearing(gateway);
    strings_free(&gateway->asked);
    strings_free(&gateway->unheard);
}

const struct part_calls gateway_shared_part = {
    .start = gateway_start_hearing, .go = gateway_go_hearing, .allow = allow_rule, .end = end_hearing};
