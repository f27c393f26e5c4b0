/*
 * wall.h - what holds the two processes of the gateway.
 *
 * The chain that starts the program confines it: no other descriptor, the run's user, no capability,
 * no_new_privs, no file but the resolver's, the filter of the project. The
 * program refuses to work where it finds any of that missing, and adds what only it can know: the files are
 * gone once the resolver is on its own, and what either process has no use for is refused call by call.
 *
 * Should:  see each wall stand before anything is read from outside.
 * Mustn't: be a list of what is forbidden: what a later kernel adds is refused as well.
 */
#ifndef CONFINE_NETWORK_WALL_H
#define CONFINE_NETWORK_WALL_H

/* wall_attest() - is this process confined as the chain should have done? Return: NULL, or what is missing.
 */
const char *wall_attest(void);

/* wall_files() - no file can be reached by name any more. Return: NULL, or what could not be had. */
const char *wall_files(void);

/* wall_gateway(), wall_resolver() - only the calls that either process needs. Return: NULL, or what could not
 * be had. */
const char *wall_gateway(void);
const char *wall_resolver(void);

#endif
