/*
 * hold.h - calls that are not answered here: the supervisor asks somebody, and answers them itself.
 */
#ifndef CONFINE_OBSERVE_HOLD_H
#define CONFINE_OBSERVE_HOLD_H

#include "observe/record.h"

#include "links/kernel_abi.h"

/* A call that could be let through by opening for it what it names. */
struct holding {
    enum observe_held kind;
    uint32_t flags, mode;
    int object; /* O_PATH: the file, or the directory that something is to be made in */
};

/*
 * hold_call() - hand a refused call to the supervisor.
 * @request: it stays unanswered
 *
 * Return: false: it could not be handed over, and is ours to answer.
 */
bool hold_call(int listener, int wire, const struct notify_request *request, const struct refusal *refusal,
               const struct holding *holding);

/* hold_release() - let all go on that may still be held: nobody is there any more who answers. */
void hold_release(int listener);

#endif
