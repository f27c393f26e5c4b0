/*
 * paths.h - what a name means to the command.
 */
#ifndef CONFINE_OBSERVE_PATHS_H
#define CONFINE_OBSERVE_PATHS_H

#include "observe/observe.h"

/* A name, resolved as the kernel would for that thread. */
struct target {
    int parent;              /* O_PATH: the directory that it is in; -1: not known */
    int object;              /* O_PATH; -1: there is none of this name */
    struct stat st;          /* of the object */
    int errnum;              /* why the kernel itself would refuse the way to it; 0: it would not */
    bool unreadable;         /* it could not be looked at */
    bool is_link;            /* the object is a symbolic link, and was not to be followed */
    bool outside;            /* it has no name: a pipe, a socket, something deleted */
    char path[OBSERVE_PATH]; /* canonical, in the command's view; its directory and name where it is missing,
                              * and those of what is missing on the way to it */
};

/*
 * target_resolve() - find what @name means.
 * @pid:       the thread
 * @directory: a descriptor of it, AT_FDCWD
 * @follow:    a link at the end is followed
 *
 * target_close() is due in any case; and base_forget() before the first name of each call.
 */
void target_resolve(struct target *target, pid_t pid, int directory, const char *name, bool follow);

/*
 * target_guess() - the canonical name, if that is known without opening anything: the directory has been seen
 * a moment ago. @follow: as above; then it is no link either.
 *
 * Return: true with path filled, and nothing else.
 */
bool target_guess(struct target *target, pid_t pid, int directory, const char *name, bool follow);

/* target_descriptor() - the same for what descriptor @fd of the thread is open on. */
void target_descriptor(struct target *target, pid_t pid, int fd);
void target_close(struct target *target);

/* path_of() - the canonical name of the object that our descriptor @fd is open on. Return: its length, or
 * -errno. */
ssize_t path_of(int fd, char *room, size_t size);

/* link_read() - readlinkat() with a NUL behind it. Return: its length, or -errno. */
ssize_t link_read(int directory, const char *name, char *room, size_t size);

/* open_only() - openat() for looking at something: by O_PATH, the only way that the observer may. Return: a
 * descriptor or -errno. */
int open_only(int directory, const char *name, int flags);

#endif
