/*
 * retreat.h - the observer gives up what it does not need.
 */
#ifndef CONFINE_OBSERVE_RETREAT_H
#define CONFINE_OBSERVE_RETREAT_H

#include "observe/observe.h"

struct sock_filter;

/* Where its descriptors are afterwards. */
#define OBSERVE_LISTENER 0
#define OBSERVE_WIRE     1
#define OBSERVE_READER   2 /* if there is one */

/* retreat() - before the first call is looked at. Return: 0 or -errno; then nothing must be looked at. */
int retreat(const struct observe_setup *setup);

/* retreat_user() - become the command's user, without capabilities. Return: 0 or -errno; then nothing must be
 * done for it. */
int retreat_user(const struct resolved *resolved);

/* retreat_below() - the same, of which nobody can read the memory, and which ends with @supervisor, its
 * parent, unless it @outlives that. Return: 0 or -errno. */
int retreat_below(const struct resolved *resolved, pid_t supervisor, bool outlives);

/* retreat_list() - the beginning of a filter: a call of another machine's ends the process, and one of the
 * @count that are @listed goes through. Return: how many instructions of @code, which has room for
 * RETREAT_BEGIN and two for each of them, are filled. */
#define RETREAT_BEGIN 4
size_t retreat_list(struct sock_filter *code, const long *listed, size_t count);

/* retreat_calls() - put the filter @code of @count instructions into force, for good. Return: 0 or -errno. */
int retreat_calls(struct sock_filter *code, size_t count);

#endif
