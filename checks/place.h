/*
 * place.h - objects outside that attempts are made on, and what looks at them.
 */
#ifndef CONFINE_CHECKS_PLACE_H
#define CONFINE_CHECKS_PLACE_H

#include "attempt.h"

/* What is left when this process is killed is removed by another one, which knows it from here. */
enum leftover {
    LEFT_NONE = 0,
    LEFT_PROCESS,
    LEFT_TREE,
    LEFT_MEMORY,
    LEFT_SEMAPHORE,
    LEFT_QUEUE,
    LEFT_MQUEUE,
    LEFT_MOUNT,
    LEFT_FILE
};

/* janitor_start() - start the process that cleans up. Return: 0 or -errno. */
int janitor_start(void);
/* janitor_note() - remember an object. @name: of a tree, a file or a message queue, else NULL. */
void janitor_note(enum leftover kind, long id, const char *name);
void janitor_forget(enum leftover kind, long id, const char *name);
/* remove_tree() - remove @path and what is below; follows no link. */
void remove_tree(const char *path);

void fill_mark(char mark[MARK_SIZE]); /* random, ends the program when there are no random bytes */

/* place_file() - NAME in DIRECTORY with TEXT. Return: 0 or -errno; the path is in @path. */
int place_file(char path[PLACE_SIZE], const char *directory, const char *name, const char *text, mode_t mode);
/* place_join() - DIRECTORY/NAME. Return: 0 or -ENAMETOOLONG. */
int place_join(char path[PLACE_SIZE], const char *directory, const char *name);
/* place_above() - make the directories between @base, which is there, and the last name of @path. Return: 0
 * or an errno. */
int place_above(char path[PLACE_SIZE], const char *base);
/* place_read() - the first bytes of a file. Return: their number or -errno. */
int place_read(const char *path, char *data, size_t size);
/* place_write() - write @text in one piece to a file that is there. Return: 0 or an errno. */
int place_write(const char *path, const char *text);
/* place_mark() - write the mark of @order to @fd, which open() has answered. Return: 0 or an errno. */
int place_mark(int fd, const struct order *order);
/* place_find() - is there a name that begins so? Return: 1, 0 or -errno. */
int place_find(const char *directory, const char *beginning);
/* place_count() - how many names are there. Return: their number or -errno. */
int place_count(const char *directory);
/*
 * place_directory() - the trial's own directory, for what root makes in it: seen to be the command's user's,
 * so that no name that this user changes meanwhile leads root elsewhere. Return: a descriptor or -errno.
 */
int place_directory(const struct trial *trial);
/* place_keep() - hold a descriptor until the trial ends. @fd: -1 stands for errno. Return: 0 or -errno. */
int place_keep(struct trial *trial, int index, int fd);
/* place_option() - one more option for the trial's own run, of which it has OPTIONS. */
void place_option(struct trial *trial, const char *option);
/* place_skip() - Return: SKIP. */
int place_skip(struct trial *trial, const char *why);

/* place_victim() - path[0] is a file outside that holds "original". */
int place_victim(struct trial *trial);
/* look_changed() - path[0] holds anything else. look_gone(): it is not there. */
int look_changed(struct trial *trial);
int look_gone(struct trial *trial);
/*
 * place_aside() - the name in the workspace, if it is there, out of the way until place_back(); a trial has
 * one such name. place_back() - what was moved to the trial's mark stands where it was; what is there now is
 * removed. Return: 0 or -errno.
 */
int place_aside(struct trial *trial, const char *name);
int place_back(struct trial *trial, const char *name);
/* look_made() - path[2] exists. */
int look_made(struct trial *trial);
/* place_secret() - path[0] is a file outside that holds the secret. look_secret(): the answer has it. */
int place_secret(struct trial *trial);
int look_secret(struct trial *trial);

/*
 * place_process() - a process outside of the command's user, number[0]: with a descriptor number[1] onto a
 * pipe whose other end is fd[0], shared memory at number[2], the secret in its arguments and environment.
 */
int place_process(struct trial *trial);
/* place_alone() - the same, in no group of those that act. */
int place_alone(struct trial *trial);
/* place_read_process() - a file of that process in /proc. Return: as place_read(). */
int place_read_process(struct trial *trial, const char *name, char *text, size_t size);
/* place_helper() - a child that calls @work and ends with us. Return: 0 or -errno. */
int place_helper(struct trial *trial, int index, void (*work)(struct trial *trial));
/* place_end_helper() - end it before the trial ends. */
void place_end_helper(struct trial *trial, int index);
/* victim_main() - what that process does. */
int victim_main(char **argv);

#endif
