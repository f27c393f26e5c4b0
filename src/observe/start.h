/*
 * start.h - the execs by which a run starts its command.
 */
#ifndef CONFINE_OBSERVE_START_H
#define CONFINE_OBSERVE_START_H

#include "policy/resolve.h"

/* start_expect() - @command, a word of the caller's, is about to be executed, as @resolved has its
 * environment and directory. Both are borrowed. */
void start_expect(const struct resolved *resolved, const char *command);

/* start_next() - the name of the next exec, absolute, into @room of @size bytes. Return: is one due? */
bool start_next(char *room, size_t size);

/* start_over() - the command runs: nothing is due any more. */
void start_over(void);

#endif
