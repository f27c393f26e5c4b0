/*
 * converting.h - a policy that is being made of somebody else's settings; for convert_*.c alone.
 */
#ifndef CONFINE_POLICY_CONVERTING_H
#define CONFINE_POLICY_CONVERTING_H

#include "util/json.h"

struct converting {
    const char *file;  /* for messages; borrowed, as all texts here */
    const char *whose; /* the name of the tool */
    const char *directory;
    json_t *policy;
    struct strings *notes;
    bool relative; /* some path was */
    int failed;    /* -ENOMEM */
};

/* converting_begin(), converting_end() - make the policy, and hand it on if all went well.
 * @result: of what stood between them. Return: 0, or a negative errno with @error. */
int converting_begin(struct converting *converting, struct error *error);
int converting_end(struct converting *converting, int result, json_t **ret, struct error *error);

/* converting_note() - one sentence, which begins with the name of the setting. */
__attribute__((format(printf, 2, 3))) void converting_note(struct converting *converting, const char *format,
                                                           ...);

/* converting_wrong() - the error that setting @name is not @what. Return: -EINVAL. */
int converting_wrong(const struct converting *converting, const char *name, const char *what,
                     struct error *error);

/* converting_set(), converting_add() - a value, which is taken, as @key of the policy, or of its object
 * @group; or behind those of that list. */
void converting_set(struct converting *converting, const char *group, const char *key, json_t *value);
void converting_add(struct converting *converting, const char *group, const char *key, json_t *value);

/* converting_each() - hands each text of the list @value to @one. Return: 0, or -EINVAL with @error. */
typedef void convert_text(struct converting *converting, const char *name, const char *text, const char *key);
int converting_each(struct converting *converting, const char *name, const json_t *value, const char *key,
                    convert_text *one, struct error *error);

/*
 * converting_full() - a path from setting @name: absolute or in the home, without `/` or `/` and two stars at
 * its end.
 *
 * Return: owned; NULL where it is a pattern, which is noted.
 */
char *converting_full(struct converting *converting, const char *name, const char *path);

/* converting_path() - @text under the list @key, if there is such a path. converting_writable() - the same
 * for what may be written: the first that is the directory is the workspace. */
void converting_path(struct converting *converting, const char *name, const char *text, const char *key);
void converting_writable(struct converting *converting, const char *name, const char *text, const char *key);

/* converting_rule() - @text as a rule of a listed network; @key is not looked at. */
void converting_rule(struct converting *converting, const char *name, const char *text, const char *key);

/* converting_empty() - does @value say nothing: false, null, an empty list? */
bool converting_empty(const json_t *value);

#endif
