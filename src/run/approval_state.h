/*
 * approval_state.h - what approval.c and approval_connect.c share. Nobody else includes this.
 */
#ifndef CONFINE_RUN_APPROVAL_STATE_H
#define CONFINE_RUN_APPROVAL_STATE_H

#include "run/approval.h"

/* approval_let_go_on() - the call goes on as if nobody had looked. */
void approval_let_go_on(const struct approval *approval, uint64_t call);

/* approval_refuse() - the same, and it is recorded as refused if it still waited. @label: see approval_held
 */
void approval_refuse(struct approval *approval, const struct observe_message *message, const char *label);

/* approval_ask() - put it as a question. @object, @label and @rule (of a connection; NULL: a path): taken
 * over if it is one. Return: is it one? */
bool approval_ask(struct approval *approval, const struct observe_message *message, int *object, char **label,
                  char **rule);

/* approval_recall() - what was answered for all of the run, of a path or of a label. */
const struct approval_memory *approval_recall(const struct approval *approval, const char *name);

/* approval_conclude() - the end of a question. @why: nobody's answer, but this; NULL: it is @answer */
void approval_conclude(struct approval *approval, struct approval_held *held, enum approval_answer answer,
                       const char *why);

/* --- approval_connect.c --- */

/* connect_hold() - a connection waits. */
void connect_hold(struct approval *approval, const struct observe_message *message);

/* connect_allow() - ask for the rule that would let it through. Return: NULL: an answer follows; else why
 * not, as a word. */
const char *connect_allow(struct approval *approval, struct approval_held *held);

/* connect_listens() - does anybody listen where it wants to go? */
bool connect_listens(const struct approval *approval, const struct observe_message *message);

/* connect_answered() - a rule is in force, or was refused (@refused: why not). */
void connect_answered(struct approval *approval, const char *rule, const struct error *refused);

#endif
