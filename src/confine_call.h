/*
 * confine_call.h - the words and descriptors of one start of the program confine.
 */
#ifndef CONFINE_CONFINE_CALL_H
#define CONFINE_CONFINE_CALL_H

#include "confine.h"

/* What a start needs, made from what the caller gave. Descriptors of ours are closed again, on every way. */
struct call {
    const struct confine_options *options;
    const char **argv;
    size_t argc;
    int *places; /* what becomes which descriptor */
    size_t place_count;
    int null, policy;
    char (*numbers)[32]; /* texts of options that name a descriptor */
    size_t number_count;
};

/*
 * call_begin() - the words and places that every call has.
 * @options: NULL: all defaults
 * @verb: `run` and so on
 * @rest: how many words come at the end
 *
 * Return: CONFINE_OK, or another; call_end() is due either way.
 */
int call_begin(struct call *call, const struct confine_options *options, const char *verb, size_t rest);

/* call_word() - one more word. */
void call_word(struct call *call, const char *word);

/* call_place() - @fd goes behind the places that are there, and stands as a number in @option. */
void call_place(struct call *call, int fd, const char *option);

/* call_options() - the policy in a file, and the caller's words, which are stronger; then @rest behind `--`,
 * NULL: nothing. Return: as call_begin(). */
int call_options(struct call *call, const char *const *rest);

/* call_start() - start it. @ret_pidfd: see start_program(). Return: as that. */
int call_start(struct call *call, int *ret_pidfd);
void call_end(struct call *call);

/* call_count() - how many words there are; NULL has none. */
size_t call_count(const char *const *words);

/* call_file() - an empty file of ours in memory. Return: a descriptor, -1 with errno. */
int call_file(const char *name);

/* call_close() - close @fd unless it is negative, errno kept. Return: -1. */
int call_close(int fd);

#endif
