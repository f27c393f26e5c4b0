/*
 * session.h - a command's place in a session, as options and policy say it.
 */
#ifndef CONFINE_CLI_SESSION_H
#define CONFINE_CLI_SESSION_H

#include "cli/options.h"
#include "policy/resolve.h"

/*
 * session_take_early() - ask the session that --session names, if it does; it answers meanwhile.
 * @env: the caller's environment
 *
 * Return: 0, or a negative errno with @error.
 */
int session_take_early(const struct options *options, char *const *env, struct error *error);

/*
 * session_take() - join the session that was asked.
 * @ret_session: points to the session, or is NULL where none is named; lives until session_give_back()
 *
 * Return: 0, or a negative errno with @error.
 */
int session_take(const struct options *options, const struct session **ret_session, struct error *error);

/* session_give_back() - close what the two above have opened: what they returned is void then. */
void session_give_back(void);

/*
 * session_fit() - what the session has decided becomes the policy's; what was named and differs is refused.
 * @session: NULL: only that nothing asks for one is looked at
 *
 * Return: 0, or a negative errno with @error.
 */
int session_fit(const struct session *session, struct policy *policy, struct error *error);

/* session_fit_mode() - one mode confines nothing. Return: 0, or a negative errno with @error. */
int session_fit_mode(const struct resolved *resolved, struct error *error);

/* session_fit_user() - a session has one user. Return: 0, or a negative errno with @error. */
int session_fit_user(const struct session *session, const struct resolved *resolved, struct error *error);

#endif
