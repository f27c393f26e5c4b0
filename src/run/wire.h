/*
 * wire.h - a check as attest-run gets it.
 */
#ifndef CONFINE_RUN_WIRE_H
#define CONFINE_RUN_WIRE_H

#include "run/attest.h"

/* wire_name() - put @name (NULL: none) into a check. */
void wire_name(struct channel_check *wire, const char *name);

/*
 * wire_canary() - fill in what the act of @attempt is done to.
 *
 * Descriptors that are sent are borrowed, or owned by @attestation.
 *
 * Return: whether there is such a canary. Without one the check is not made.
 */
bool wire_canary(struct attestation *attestation, struct attempt *attempt, const struct resolved *resolved);

#endif
