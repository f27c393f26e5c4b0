/*
 * judge.h - one announced call: read, resolved, evaluated, recorded.
 */
#ifndef CONFINE_OBSERVE_JUDGE_H
#define CONFINE_OBSERVE_JUDGE_H

#include "observe/evaluate.h"

#include "links/kernel_abi.h"

struct judge {
    struct rules rules;
    int listener, wire;
    uid_t uid;       /* the command's */
    pid_t self;      /* the observer */
    bool asks_first; /* before each call is received */
    bool holds;      /* what somebody may be asked about */
    bool holds_connects;
    bool tells_calls; /* which call a refusal was */
};

/* judge_call() - look at one call and record what will be refused of it. Nothing is answered here. Return:
 * true: the supervisor answers it. */
bool judge_call(const struct judge *judge, const struct notify_request *request);

/* judge_network() - part of it: connecting, binding, sending. @operation, @arguments: as the call has them
 */
void judge_network(const struct judge *judge, const struct notify_request *request,
                   enum denial_operation operation);

/* judge_refuse() - record a verdict on @name, if it is a refusal and the call is still there. */
void judge_refuse(const struct judge *judge, const struct notify_request *request,
                  enum denial_operation operation, const struct verdict *verdict, const char *name,
                  bool is_address, bool by_mode);

/* judge_make() - judge a name that is to be made, as part of another call. */
void judge_make(const struct judge *judge, const struct notify_request *request, const char *name);

#endif
