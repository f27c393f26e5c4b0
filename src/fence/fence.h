/*
 * fence.h - files opened for somebody else, under a policy: what it refuses is not opened, and what is opened
 * is what was decided on.
 *
 * decide.c says what is allowed on an object that is open, open.c finds, makes and opens one, change.c makes
 * and removes names, serve.c does so for whoever holds the other end of a socket.
 */
#ifndef CONFINE_FENCE_FENCE_H
#define CONFINE_FENCE_FENCE_H

#include "observe/evaluate.h"

#include <sys/stat.h>

/* A hidden or a protected object, known whatever name leads to it. */
struct fence_mark {
    int fd; /* O_PATH, owned: so that its number stays its own */
    dev_t device;
    ino_t inode;
    enum denial_rule rule; /* DENIAL_BY_HIDE or DENIAL_BY_PROTECT */
    size_t index;          /* as in struct verdict */
    const char *path;      /* of the policy */
};

struct fence {
    const struct resolved *resolved; /* borrowed */
    struct rules rules;
    struct fence_mark *marks;
    size_t mark_count;
};

#define FENCE_TRIES 400 /* somebody who changes things all the time must not keep us for ever */

/* What is wanted: names of the protocol stand in serve.c. */
enum {
    FENCE_READ = 1 << 0,
    FENCE_WRITE = 1 << 1,
    FENCE_APPEND = 1 << 2,
    FENCE_CREATE = 1 << 3,
    FENCE_EXCLUSIVE = 1 << 4,
    FENCE_TRUNCATE = 1 << 5,
    FENCE_DIRECTORY = 1 << 6, /* or nothing */
    FENCE_NOFOLLOW = 1 << 7,
};

/* An object, or where one could be made. Descriptors are O_PATH and owned. */
struct fence_object {
    int fd;     /* -1: there is none of this name */
    int parent; /* the directory that it is in; -1: it is the root */
    struct stat st;
    bool arrives;            /* something is to be moved here */
    char path[OBSERVE_PATH]; /* canonical */
};

#define FENCE_OBJECT_NONE                                                                                    \
    {                                                                                                        \
        .fd = -1, .parent = -1                                                                               \
    }

struct fence_answer {
    int fd;     /* what was opened, owned by the caller; -1: nothing */
    int errnum; /* what the system refused, without the policy; 0: nothing */
    bool denied;
    struct verdict verdict; /* if denied */
    bool by_mode;           /* if denied: the mode of a file or directory refuses as well */
    enum denial_operation operation;
    char path[OBSERVE_PATH]; /* canonical; what was opened, or denied */
};

/* fence_init() - @resolved must stay. fence_free() is due either way. Return: 0, or why what the policy names
 * cannot be looked at, as -errno. */
int fence_init(struct fence *fence, const struct resolved *resolved);
void fence_free(struct fence *fence);

/*
 * fence_name() - the name of @object->fd, and the directory that it is in, which is seen to have it.
 *
 * Return: 0; -EAGAIN: it has been moved or removed meanwhile; or another -errno.
 */
int fence_name(struct fence_object *object);
void fence_release(struct fence_object *object);

/*
 * fence_allows() - is @operation allowed on @object? If not, @answer says so.
 *
 * It must be open, or the directory that it is to be made in must be.
 */
bool fence_allows(const struct fence *fence, const struct fence_object *object,
                  enum denial_operation operation, struct fence_answer *answer);

/*
 * fence_open() - find, decide, open.
 * @path: relative ones begin in the start directory of the policy
 * @flags: FENCE_...
 * @mode: of what is made, less the umask
 * @answer: filled
 */
void fence_open(const struct fence *fence, const char *path, unsigned flags, mode_t mode,
                struct fence_answer *answer);

/*
 * fence_entry() - the directory that @path names something in, and the name.
 * @object: gets `parent` and `path`, nothing is looked for there
 * @name: OBSERVE_PATH bytes
 * @slash: one stood behind it
 * @answer: if the policy refuses to say what is wrong with the way
 *
 * Return: 0; -EAGAIN: it has changed meanwhile; -ECANCELED: @answer says so; or another -errno.
 */
int fence_entry(const struct fence *fence, const char *path, struct fence_object *object, char *name,
                bool *slash, struct fence_answer *answer);

enum fence_act { FENCE_MAKE_DIRECTORY = 0, FENCE_REMOVE, FENCE_RENAME };

struct fence_change {
    enum fence_act act;
    const char *path;
    const char *to; /* FENCE_RENAME: the new name, which is taken from what has it */
    mode_t mode;    /* FENCE_MAKE_DIRECTORY: less the umask */
};

/* fence_change() - make a directory, remove a file or an empty directory, or rename. A link is what is meant,
 * and not what it leads to. @answer: filled */
void fence_change(const struct fence *fence, const struct fence_change *change, struct fence_answer *answer);

/*
 * fence_ready() - can files be opened so here? The kernel must have openat2(), and /proc must be its own.
 *
 * Return: 0, or a negative errno with @error.
 */
int fence_ready(struct error *error);

/*
 * fence_serve() - become the user of the policy, and answer on @socket until its other end is closed.
 * @socket: SOCK_SEQPACKET
 *
 * Return: 0, or a negative errno with @error, and then nothing was said on the socket.
 */
int fence_serve(const struct resolved *resolved, int socket, struct error *error);

/* fence_refuse() - say on @socket that there will be no fence, and why. Who does not listen is not told. */
void fence_refuse(int socket, const struct error *error);

#endif
