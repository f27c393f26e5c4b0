/*
 * control_take.h - the messages that come in on the control channel.
 */
#ifndef CONFINE_RUN_CONTROL_TAKE_H
#define CONFINE_RUN_CONTROL_TAKE_H

#include "run/control.h"

/* control_take_line() - obey one line, of @length bytes without its newline; an error is said in a line. */
void control_take_line(struct control *control, const char *text, size_t length);

#endif
