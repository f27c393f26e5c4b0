/*
 * control_ask.h - questions on the control channel, and their answers.
 */
#ifndef CONFINE_RUN_CONTROL_ASK_H
#define CONFINE_RUN_CONTROL_ASK_H

#include "run/control.h"

#include <jansson.h>

/* control_ask() - put the question @id about a call that is held. @reads: would the file be read as well?
 * Return: has it been put? Before `started` it is not. */
bool control_ask(struct control *control, uint32_t id, const struct denial *denial, bool reads,
                 const struct resolved *resolved);

/* control_answered() - tell what has become of a question that was put. @why: static, why it was not allowed
 * although nobody denied it; NULL: it was answered */
void control_answered(struct control *control, uint32_t id, bool allowed, const char *why);

/* control_take_answer() - an `answer` came in. Return: 0, or a negative errno with @error. */
int control_take_answer(struct control *control, const json_t *message, struct error *error);

#endif
