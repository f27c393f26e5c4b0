/*
 * retreat.h - the observer gives up what it does not need.
 */
#ifndef CONFINE_OBSERVE_RETREAT_H
#define CONFINE_OBSERVE_RETREAT_H

#include "observe/observe.h"

struct sock_filter;

/* Where its two descriptors are afterwards. */
#define OBSERVE_LISTENER 0
#define OBSERVE_WIRE     1

/* retreat() - before the first call is looked at. Return: 0 or -errno; then nothing must be looked at. */
int retreat(const struct observe_setup *setup);

/* retreat_user() - become the command's user, without capabilities. Return: 0 or -errno; then nothing must be
 * done for it. */
int retreat_user(const struct resolved *resolved);

/* retreat_calls() - put the filter @code of @count instructions into force, for good. Return: 0 or -errno. */
int retreat_calls(struct sock_filter *code, size_t count);

#endif
